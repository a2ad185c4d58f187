//! Entitlements: grants, revokes, versions, lists and history.

use harness::{Answer, Caller, Stack};
use reqwest::StatusCode;
use serde_json::{Value, json};

async fn revoke(shop: &Caller, key: &str, user_id: &str, unit: &str) -> Answer {
    let body = json!({"user_id": user_id, "stock_keeping_unit": unit, "reason": "REFUND", "purchase_id": "p-1"});
    shop.command("/v1/entitlements/revokes", key, &body).await
}

#[tokio::test]
async fn an_entitlement_goes_on_with_its_version_through_grants_and_revokes() {
    let stack = Stack::start().await;
    let shop = stack.shop().await;
    let steps = [
        (revoke(&shop, "k0", "u", "s").await, 409, "never granted"),
        (shop.grant("k1", "u", "s").await, 200, "1"),
        (shop.grant("k2", "u", "s").await, 409, "already ACTIVE"),
        (revoke(&shop, "k3", "u", "s").await, 200, "2"),
        (revoke(&shop, "k4", "u", "s").await, 409, "already REVOKED"),
        (shop.grant("k5", "u", "s").await, 200, "3"),
        // Replays of everything before, whatever the state is by now.
        (revoke(&shop, "k0", "u", "s").await, 409, "never granted"),
        (shop.grant("k2", "u", "s").await, 409, "already ACTIVE"),
        (revoke(&shop, "k3", "u", "s").await, 200, "2"),
        (revoke(&shop, "k4", "u", "s").await, 409, "already REVOKED"),
    ];
    for (index, (answer, status, said)) in steps.iter().enumerate() {
        assert_eq!(answer.status.as_u16(), *status, "step {index}: {}", answer.text);
        assert_eq!(answer.replayed, index >= 6, "step {index}");
        if *status == 409 {
            assert_eq!(
                (answer.code().as_str(), answer.json()["message"].as_str()),
                ("ENTITLEMENT_STATE_CONFLICT", Some(*said))
            );
        } else {
            assert_eq!(answer.json()["version"].to_string(), *said, "step {index}");
        }
    }
    stack.idle().await;
    let titles = stack.customer("u").await.inbox_titles().await;
    assert_eq!(titles, ["s is yours", "s has ended", "s is yours"]);

    let history = stack.customer("u").await.get("/v1/users/u/entitlements/s/history").await.json();
    let entries: Vec<(Value, Value, Value)> = history["events"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|event| (event["event_type"].clone(), event["version"].clone(), event["source"].clone()))
        .collect();
    let entry = |kind: &str, version: u64, source: &str| (json!(kind), json!(version), json!(source));
    assert_eq!(
        entries,
        [
            entry("EntitlementGranted", 3, "PURCHASE"),
            entry("EntitlementRevoked", 2, "REFUND"),
            entry("EntitlementGranted", 1, "PURCHASE"),
        ]
    );
    assert_eq!(history["events"][0]["actor"], "shop");
    assert_eq!(history["events"][0]["source_id"], "p-1");
}

#[tokio::test]
async fn history_pages_stay_stable_while_entries_are_added() {
    let stack = Stack::start().await;
    let shop = stack.shop().await;
    let change = async |number: usize| {
        let key = format!("k{number}");
        let answer =
            if number % 2 == 1 { shop.grant(&key, "u", "s").await } else { revoke(&shop, &key, "u", "s").await };
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    };
    for number in 1..=7 {
        change(number).await;
    }
    let path = "/v1/users/u/entitlements/s/history?limit=3";
    let versions = |page: &Value| -> Vec<u64> {
        page["events"].as_array().expect("a list").iter().filter_map(|event| event["version"].as_u64()).collect()
    };
    let customer = stack.customer("u").await;
    let first = customer.get(path).await.json();
    assert_eq!(versions(&first), [7, 6, 5]);
    change(8).await;
    change(9).await;
    let second =
        customer.get(&format!("{path}&cursor={}", first["next_cursor"].as_str().expect("a cursor"))).await.json();
    assert_eq!(versions(&second), [4, 3, 2]);
    let third =
        customer.get(&format!("{path}&cursor={}", second["next_cursor"].as_str().expect("a cursor"))).await.json();
    assert_eq!(versions(&third), [1]);
    assert_eq!(third["next_cursor"], json!(null));
    for cursor in ["%21", "YQ", "Iw", "eCN5", "MSM"] {
        assert_eq!(customer.get(&format!("{path}&cursor={cursor}")).await.code(), "BAD_REQUEST", "{cursor}");
    }
}

#[tokio::test]
async fn a_list_goes_on_behind_its_cursor_while_rows_are_added() {
    let stack = Stack::start().await;
    let shop = stack.shop().await;
    for unit in ["b", "d", "f", "h"] {
        shop.grant(unit, "u", unit).await;
    }
    let customer = stack.customer("u").await;
    let units = |page: &Value| -> Vec<String> {
        let rows = page["entitlements"].as_array().expect("a list");
        rows.iter().map(|row| row["stock_keeping_unit"].as_str().expect("text").to_owned()).collect()
    };
    let first = customer.get("/v1/users/u/entitlements?limit=2").await.json();
    assert_eq!(units(&first), ["b", "d"]);
    shop.grant("a", "u", "a").await;
    shop.grant("g", "u", "g").await;
    let cursor = first["next_cursor"].as_str().expect("a cursor");
    let second = customer.get(&format!("/v1/users/u/entitlements?limit=100&cursor={cursor}")).await.json();
    assert_eq!(units(&second), ["f", "g", "h"], "nothing twice, and what came behind the cursor is there");
    // A cursor holds no user: with somebody else's token or path it leads into their list, not into this one.
    let other = stack.customer("v").await;
    assert_eq!(units(&other.get(&format!("/v1/users/v/entitlements?cursor={cursor}")).await.json()), [""; 0]);
}

#[tokio::test]
async fn twenty_racing_revokes_and_grants_never_skip_or_repeat_a_version() {
    let stack = Stack::start().await;
    let shop = stack.shop().await;
    let commands = (0..20).map(|number| {
        let shop = shop.clone();
        async move {
            let key = format!("k{number}");
            if number % 2 == 0 { shop.grant(&key, "u", "s").await } else { revoke(&shop, &key, "u", "s").await }
        }
    });
    let answers = futures_util::future::join_all(commands).await;
    let mut versions: Vec<u64> = answers
        .iter()
        .filter(|answer| answer.status == StatusCode::OK)
        .filter_map(|answer| answer.json()["version"].as_u64())
        .collect();
    versions.sort_unstable();
    assert!(!versions.is_empty(), "at least the first one takes effect");
    assert_eq!(versions, (1..=versions.len() as u64).collect::<Vec<_>>());
    assert!(answers.iter().all(|answer| [200, 409, 503].contains(&answer.status.as_u16())), "{answers:?}");
    assert_eq!(stack.count("events").await, versions.len());
}
