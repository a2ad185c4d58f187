//! One event from the HTTP call to the inbox, whatever is repeated on the way.

use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use futures_util::future::join_all;
use harness::{Answer, Caller, Stack};
use reqwest::StatusCode;
use serde_json::json;

#[tokio::test]
async fn a_grant_reaches_the_inbox() {
    let stack = Stack::start().await;
    let granted = stack.shop().await.grant("k", "u-1", "premium").await;
    assert_eq!(granted.status, StatusCode::OK);
    assert_eq!(granted.json()["status"], "ACTIVE");
    assert_eq!(granted.json()["version"], 1);
    stack.idle().await;

    let customer = stack.customer("u-1").await;
    let inbox = customer.get("/v1/inbox").await.json();
    assert_eq!(inbox["unread_count"], 1);
    assert_eq!(inbox["next_cursor"], json!(null));
    let told = &inbox["notifications"][0];
    assert_eq!(told["title"], "premium is yours");
    assert_eq!(told["body"], "You now have access to premium (purchase p-1).");
    assert_eq!(told["event_type"], "EntitlementGranted");
    assert_eq!(told["properties"]["source"], "PURCHASE");
    assert_eq!(told["properties"]["source_id"], "p-1");
    assert_eq!(told["properties"]["version"], 1);
    assert_eq!((&told["is_read"], &told["read_by"], &told["handled_by"]), (&json!(false), &json!(null), &json!(null)));
    assert_eq!(told.get("sends"), None, "sends are for operators");

    let entitlements = customer.get("/v1/users/u-1/entitlements").await.json();
    assert_eq!(entitlements["entitlements"][0]["stock_keeping_unit"], "premium");

    let operator = stack.caller("omar", "ADMIN_USER", &["operate"]).await;
    let debug = operator.get("/debug/notification/inbox/u-1?user_type=CUSTOMER").await.json();
    assert_eq!(debug["notifications"][0]["notification_id"], told["notification_id"]);
    let skipped = |channel: &str| json!({"channel": channel, "status": "SKIPPED", "attempt_count": 0, "last_error": "no address", "sent_at": null});
    assert_eq!(debug["notifications"][0]["sends"], json!([skipped("EMAIL"), skipped("PUSH")]));
}

#[tokio::test]
async fn the_same_grant_twice_is_one_notification_and_the_same_answer() {
    let stack = Stack::start().await;
    let shop = stack.shop().await;
    let first = shop.grant("k", "u-1", "premium").await;
    stack.idle().await;
    let second = shop.grant("k", "u-1", "premium").await;
    stack.idle().await;

    assert_eq!((first.status, first.replayed), (StatusCode::OK, false));
    assert_eq!((second.status, second.replayed), (StatusCode::OK, true));
    assert_eq!(first.text, second.text);
    assert_eq!(stack.count("events").await, 1);
    assert_eq!(stack.customer("u-1").await.inbox_titles().await, ["premium is yours"]);
}

/// A customer who has been told of a grant, their inbox, and the event.
async fn told(stack: &Stack) -> (Caller, Answer, String) {
    stack.shop().await.grant("k", "u-1", "premium").await;
    stack.idle().await;
    let customer = stack.customer("u-1").await;
    let inbox = customer.get("/v1/inbox").await;
    let event_id = inbox.json()["notifications"][0]["event_id"].as_str().expect("an event id").to_owned();
    (customer, inbox, event_id)
}

#[tokio::test]
async fn a_record_and_a_message_delivered_again_are_still_one_notification() {
    let stack = Stack::start().await;
    let (customer, inbox, event_id) = told(&stack).await;

    // The stream record and the queue message, ten times each, all at once.
    assert_eq!(stack.redeliver(&event_id, 10).await, 20);
    stack.idle().await;

    assert_eq!(customer.get("/v1/inbox").await, inbox);
    assert_eq!(stack.count("notifications").await, 1);
    assert_eq!(stack.count("event-notifications").await, 1);
    assert_eq!(stack.count("processed").await, 1);
}

#[tokio::test]
async fn a_message_that_comes_after_its_mark_is_gone_still_tells_nobody_twice() {
    let stack = Stack::start().await;
    let (customer, inbox, event_id) = told(&stack).await;
    let mark = format!("fanout:CUSTOMER#{event_id}");
    let delete = stack.dynamodb().await.delete_item().table_name("belfry-local-processed");
    let deleted = delete.key("consumer_event", AttributeValue::S(mark)).return_values(ReturnValue::AllOld).send().await;
    assert!(deleted.expect("an answer").attributes.is_some(), "the mark was there");

    stack.redeliver(&event_id, 5).await;
    stack.idle().await;
    assert_eq!(customer.get("/v1/inbox").await, inbox, "the rows are unique by themselves");
    assert_eq!(stack.count("processed").await, 1);
}

#[tokio::test]
async fn fifty_racing_equal_requests_have_one_effect_and_fifty_equal_answers() {
    let stack = Stack::start().await;
    let shop = stack.shop().await;
    let answers = join_all((0..50).map(|_| shop.grant("k", "u-1", "premium"))).await;
    stack.idle().await;

    assert!(answers.iter().all(|answer| answer.status == StatusCode::OK), "{answers:?}");
    assert!(answers.iter().all(|answer| answer.text == answers[0].text));
    assert_eq!(answers.iter().filter(|answer| !answer.replayed).count(), 1, "one took effect, the others replay it");
    assert_eq!(stack.count("events").await, 1);
    assert_eq!(stack.count("idempotency-keys").await, 1);
    assert_eq!(stack.customer("u-1").await.inbox_titles().await, ["premium is yours"]);
}

#[tokio::test]
async fn fifty_racing_requests_with_keys_of_their_own_have_one_winner() {
    let stack = Stack::start().await;
    let shop = stack.shop().await;
    let keys: Vec<String> = (0..50).map(|n| format!("k-{n}")).collect();
    let answers = join_all(keys.iter().map(|key| shop.grant(key, "u-1", "premium"))).await;
    stack.idle().await;

    assert_eq!(answers.iter().filter(|answer| answer.status == StatusCode::OK).count(), 1);
    let refused: Vec<_> = answers.iter().filter(|answer| answer.status == StatusCode::CONFLICT).collect();
    assert_eq!(refused.len(), 49);
    assert!(refused.iter().all(|answer| answer.code() == "ENTITLEMENT_STATE_CONFLICT"));
    assert_eq!(stack.count("events").await, 1);
    assert_eq!(stack.customer("u-1").await.inbox_titles().await.len(), 1);

    // A refusal is an answer too: it is stored, and replayed byte for byte.
    let again = join_all(keys.iter().map(|key| shop.grant(key, "u-1", "premium"))).await;
    assert!(again.iter().all(|answer| answer.replayed));
    let texts = |answers: &[Answer]| answers.iter().map(|answer| answer.text.clone()).collect::<Vec<_>>();
    assert_eq!(texts(&answers), texts(&again));
}

#[tokio::test]
async fn a_key_used_for_another_request_is_a_conflict_and_has_no_effect() {
    let stack = Stack::start().await;
    let shop = stack.shop().await;
    shop.grant("k", "u-1", "premium").await;
    let other = shop.grant("k", "u-1", "basic").await;
    assert_eq!((other.status, other.code().as_str()), (StatusCode::CONFLICT, "IDEMPOTENCY_KEY_CONFLICT"));
    assert_eq!(stack.count("entitlements").await, 1);

    // The same bytes in another order are the same request.
    let body = json!({"purchase_id": "p-1", "reason": "PURCHASE", "stock_keeping_unit": "premium", "user_id": "u-1"});
    assert!(shop.command("/v1/entitlements/grants", "k", &body).await.replayed);
}

#[tokio::test]
async fn a_key_belongs_to_its_caller() {
    let stack = Stack::start().await;
    let (one, other) = (stack.shop().await, stack.caller("other", "ADMIN_USER", &["commands:write"]).await);
    assert_eq!(one.grant("k", "u-1", "premium").await.status, StatusCode::OK);
    let granted = other.grant("k", "u-2", "premium").await;
    assert_eq!((granted.status, granted.replayed), (StatusCode::OK, false));

    // Nor do a caller and a key that look like another caller and another key meet.
    let (one, other) = (stack.shop().await, stack.caller("shop#a", "ADMIN_USER", &["commands:write"]).await);
    assert!(!one.grant("a#b", "u-3", "premium").await.replayed);
    let granted = other.grant("b", "u-4", "premium").await;
    assert_eq!((granted.status, granted.replayed), (StatusCode::OK, false), "{}", granted.text);
}

#[tokio::test]
async fn the_inbox_and_the_entitlements_come_in_pages() {
    let stack = Stack::start().await;
    let shop = stack.shop().await;
    let units: Vec<String> = (0..7).map(|n| format!("unit-{n}")).collect();
    for unit in &units {
        assert_eq!(shop.grant(unit, "u-1", unit).await.status, StatusCode::OK);
    }
    stack.idle().await;
    let customer = stack.customer("u-1").await;
    for (path, list, field, newest_first) in [
        ("/v1/inbox?limit=3", "notifications", "title", true),
        ("/v1/users/u-1/entitlements?limit=3", "entitlements", "stock_keeping_unit", false),
    ] {
        let mut seen = Vec::new();
        let mut sizes = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = customer.get(&format!("{path}{cursor}")).await.json();
            let rows = page[list].as_array().expect("rows").clone();
            sizes.push(rows.len());
            seen.extend(rows.iter().map(|row| row[field].as_str().expect("text").replace(" is yours", "")));
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        let mut expected = units.clone();
        if newest_first {
            expected.reverse();
        }
        assert_eq!(seen, expected, "{path}");
        assert_eq!(sizes, [3, 3, 1], "{path}");
    }
    assert_eq!(customer.get("/v1/inbox?unread=true").await.json()["notifications"].as_array().map(Vec::len), Some(7));
    assert_eq!(customer.get("/v1/inbox?unread=false").await.json()["notifications"], json!([]));
}

#[tokio::test]
async fn what_has_expired_is_not_in_the_inbox_whether_or_not_it_is_deleted() {
    let stack = Stack::start().await;
    let shop = stack.shop().await;
    for unit in ["old", "new"] {
        shop.grant(unit, "u-1", unit).await;
        stack.idle().await;
    }
    let customer = stack.customer("u-1").await;
    assert_eq!(customer.inbox_titles().await, ["new is yours", "old is yours"]);
    let inbox = customer.get("/v1/inbox").await.json();
    let id = inbox["notifications"][1]["notification_id"].as_str().expect("an id");
    let key = [("recipient", "CUSTOMER#u-1"), ("notification_id", id)];
    // To the second: TTL deletes what lies before now, and later than that.
    let now = AttributeValue::N(domain::Time::now().as_seconds().to_string());
    crate::live::change(&stack, "notifications", &key, "SET expires_at = :value", now).await;
    assert_eq!(stack.count("notifications").await, 2);
    let inbox = customer.get("/v1/inbox?limit=1").await.json();
    assert_eq!((&inbox["unread_count"], &inbox["notifications"][0]["title"]), (&json!(1), &json!("new is yours")));
    assert_eq!(customer.inbox_titles().await, ["new is yours"]);
    assert_eq!(customer.order("/v1/inbox/read-all", "r").await.status, StatusCode::OK);
    assert_eq!(customer.get("/v1/inbox").await.json()["unread_count"], 0);
}
