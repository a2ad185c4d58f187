//! What people wish to hear, put by themselves, and what a recipient record may name.

use harness::Stack;
use local::Options;
use reqwest::StatusCode;
use serde_json::{Value, json};

const PREFERENCES: &str = "/v1/inbox/preferences";

fn wish(event_type: &str, channel: &str) -> Value {
    json!({"event_type": event_type, "channel": channel, "enabled": false})
}

#[tokio::test]
async fn people_put_their_own_preferences_and_nothing_else_of_their_record() {
    let stack = Stack::start().await;
    let record = json!({"name": "Ugo", "email": "ugo@example.com", "locale": "it", "time_zone": "Europe/Rome"});
    stack.recipient("CUSTOMER", "ugo", record.clone()).await;
    stack.recipient("ADMIN_USER", "ugo", json!({"name": "Another Ugo"})).await;
    let ugo = stack.customer("ugo").await;
    let wishes = json!([wish("*", "SMS"), wish("OrderFailed", "*")]);
    let put = ugo.put(PREFERENCES, &json!({"preferences": wishes})).await;
    assert_eq!(put.status, StatusCode::OK, "{}", put.text);
    let shown = ugo.get("/v1/recipients/CUSTOMER/ugo").await;
    assert_eq!(put.json(), shown.json());
    assert_eq!(shown.json()["preferences"], wishes);
    for (field, value) in record.as_object().expect("an object") {
        assert_eq!(&shown.json()[field], value, "{field}");
    }
    assert_eq!(ugo.put(PREFERENCES, &json!({"preferences": wishes})).await.text, put.text);
    let namesake = stack.caller("ugo", "ADMIN_USER", &[]).await;
    assert_eq!(namesake.get("/v1/recipients/ADMIN_USER/ugo").await.json()["preferences"], json!([]));
    assert_eq!(ugo.put(PREFERENCES, &json!({"preferences": []})).await.json()["preferences"], json!([]));

    let nobody = stack.customer("nobody").await.put(PREFERENCES, &json!({"preferences": []})).await;
    assert_eq!((nobody.status, nobody.code().as_str()), (StatusCode::NOT_FOUND, "NOT_FOUND"));
    assert!(nobody.json()["message"].as_str().expect("text").contains("recipient record"), "{}", nobody.text);
    assert_eq!(stack.count("recipients").await, 2, "nobody comes into being by wishing");
}

#[tokio::test]
async fn a_wish_about_what_nobody_is_told_of_is_named() {
    let stack = Stack::start().await;
    stack.recipient("CUSTOMER", "ugo", json!({"name": "Ugo"})).await;
    let (ugo, clerk) = (stack.customer("ugo").await, stack.caller("clerk", "ADMIN_USER", &["recipients:write"]).await);
    let many: Vec<Value> = (0..101).map(|_| wish("*", "*")).collect();
    for (wishes, field, told) in [
        (json!([wish("*", "*"), wish("Nonsense", "*")]), "preferences[1].event_type", "Nonsense"),
        (json!([wish("NotificationActed", "*")]), "preferences[0].event_type", "NotificationActed"),
        (json!([wish("*", "FAX")]), "preferences[0].channel", ""),
        (json!(many), "preferences", "100"),
    ] {
        let body = json!({"preferences": wishes});
        let mut record = body.clone();
        record["name"] = json!("Ugo");
        for refused in [ugo.put(PREFERENCES, &body).await, clerk.put("/v1/recipients/CUSTOMER/ugo", &record).await] {
            assert_eq!((refused.status, refused.code().as_str()), (StatusCode::BAD_REQUEST, "BAD_REQUEST"));
            let detail = &refused.json()["details"][0];
            assert_eq!(detail["field"], field, "{}", refused.text);
            assert!(detail["problem"].as_str().expect("text").contains(told), "{}", refused.text);
        }
    }
    assert_eq!(ugo.put(PREFERENCES, &json!({"preferences": [], "name": "Ugolino"})).await.code(), "BAD_REQUEST");
}

#[tokio::test]
async fn a_record_that_is_put_at_the_same_time_is_not_overwritten() {
    let stack = Stack::start().await;
    let clerk = stack.caller("clerk", "ADMIN_USER", &["recipients:write"]).await;
    let ugo = stack.customer("ugo").await;
    let path = "/v1/recipients/CUSTOMER/ugo";
    clerk.put(path, &json!({"name": "Before"})).await;
    for round in 0..20 {
        let name = format!("Ugo {round}");
        let (record, wishes) = (json!({"name": name}), json!({"preferences": [wish("*", "SMS")]}));
        let (put, wished) = tokio::join!(clerk.put(path, &record), ugo.put(PREFERENCES, &wishes));
        assert_eq!((put.status, wished.status), (StatusCode::OK, StatusCode::OK), "{} {}", put.text, wished.text);
        assert_eq!(clerk.get(path).await.json()["name"], name, "round {round}");
    }
}

#[tokio::test]
async fn a_record_names_a_time_zone_that_exists_and_a_webhook_that_may_be_posted_to() {
    let strict = Options {
        settings: [("BELFRY_SLACK_HOSTS".to_owned(), "hooks.slack.com".to_owned())].into(),
        ..Options::default()
    };
    // The local host hands every webhook to its stand-in, whatever host it names.
    for (stack, elsewhere) in [(Stack::start().await, 200), (Stack::with(strict).await, 400)] {
        let clerk = stack.caller("clerk", "ADMIN_USER", &["recipients:write"]).await;
        for (field, value, status) in [
            ("time_zone", "Europe/Rome", 200),
            ("time_zone", "Europe/Atlantis", 400),
            ("time_zone", "Moon", 400),
            ("slack_webhook_url", "https://hooks.slack.com/services/a/b/c", 200),
            ("slack_webhook_url", "http://127.0.0.1:9001/services/a/b/c", elsewhere),
            ("slack_webhook_url", "http://hooks.slack.com/services/a/b/c", 400),
            ("slack_webhook_url", "https://hooks.slack.com@example.com/", 400),
            ("slack_webhook_url", "https://example.com/", elsewhere),
        ] {
            let answer = clerk.put("/v1/recipients/ADMIN_USER/omar", &json!({"name": "Omar", field: value})).await;
            assert_eq!(answer.status.as_u16(), status, "{value}: {}", answer.text);
            if status == 400 {
                assert_eq!(answer.json()["details"][0]["field"], field, "{value}: {}", answer.text);
            }
        }
    }
}
