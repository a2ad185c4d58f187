//! What happened to one thing: Belfry's own events of it, then those that sources handed in under the same name.

use harness::{Stack, announcement};
use reqwest::StatusCode;
use serde_json::{Value, json};

fn types(page: &Value) -> Vec<&str> {
    page["events"].as_array().expect("events").iter().map(|event| event["event_type"].as_str().expect("text")).collect()
}

#[tokio::test]
async fn an_aggregates_events_are_listed_newest_first_with_who_did_it() {
    let stack = Stack::start().await;
    let shop = stack.shop().await;
    shop.grant("k-1", "u", "s").await;
    let revoke = json!({"user_id": "u", "stock_keeping_unit": "s", "reason": "REFUND", "purchase_id": "p-1"});
    shop.command("/v1/entitlements/revokes", "k-2", &revoke).await;
    shop.grant("k-3", "u", "other").await;
    let operator = stack.operator().await;
    let page = operator.get("/v1/events?aggregate_type=Entitlement&aggregate_id=u%23s").await.json();
    assert_eq!(types(&page), ["EntitlementRevoked", "EntitlementGranted"], "{page}");
    let newest = &page["events"][0];
    assert_eq!(
        (&newest["version"], &newest["actor"], &newest["handed_in"]),
        (&2.into(), &"shop".into(), &false.into())
    );
    assert_eq!(page["next_cursor"], Value::Null);
    let story = operator.get(&format!("/v1/events/{}", newest["event_id"].as_str().expect("an id"))).await.json();
    assert_eq!(story["aggregate_id"], "u#s", "from the list to the story, and back");
}

#[tokio::test]
async fn pages_go_from_our_own_events_to_those_of_sources_and_miss_none() {
    let stack = Stack::start().await;
    let shop = stack.shop().await;
    shop.grant("k-1", "u", "s").await;
    let revoke = json!({"user_id": "u", "stock_keeping_unit": "s", "reason": "REFUND", "purchase_id": "p-1"});
    shop.command("/v1/entitlements/revokes", "k-2", &revoke).await;
    for id in ["e-1", "e-2", "e-3"] {
        let mut event = announcement(id, "u", "t");
        event["aggregate_type"] = json!("Entitlement");
        event["aggregate_id"] = json!("u#s");
        assert_eq!(stack.source().await.hand_in(&event).await.status, StatusCode::ACCEPTED);
    }
    let operator = stack.operator().await;
    for limit in [1, 2, 3, 5, 100] {
        let mut seen = Vec::new();
        let mut cursor = String::new();
        loop {
            let path = format!("/v1/events?aggregate_type=Entitlement&aggregate_id=u%23s&limit={limit}{cursor}");
            let page = operator.get(&path).await.json();
            let events = page["events"].as_array().expect("events");
            assert!(events.len() <= limit, "{page}");
            seen.extend(events.iter().map(|event| (event["handed_in"] == true, event["event_type"].clone())));
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        let handed_in: Vec<bool> = seen.iter().map(|(handed_in, _)| *handed_in).collect();
        assert_eq!(handed_in, [false, false, true, true, true], "limit {limit}: {seen:?}");
    }
}

#[tokio::test]
async fn what_is_asked_wrongly_or_by_somebody_else_is_refused() {
    let stack = Stack::start().await;
    let operator = stack.operator().await;
    let nothing = operator.get("/v1/events?aggregate_type=Order&aggregate_id=none").await.json();
    assert_eq!(nothing, json!({"events": [], "next_cursor": null}));
    for query in [
        "",
        "?aggregate_type=Order",
        "?aggregate_id=o",
        "?aggregate_type=&aggregate_id=o",
        "?aggregate_type=T&aggregate_id=i&cursor=x",
    ] {
        assert_eq!(operator.get(&format!("/v1/events{query}")).await.code(), "BAD_REQUEST", "{query}");
    }
    assert_eq!(stack.shop().await.get("/v1/events?aggregate_type=T&aggregate_id=i").await.code(), "FORBIDDEN");
}
