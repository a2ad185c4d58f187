//! One announcement to ten thousand admins, and DynamoDB breaks off in the middle: everybody is told once, whoever has
//! an address is reached once.

use std::collections::{BTreeMap, BTreeSet};

use domain::recipient::Recipient;
use futures_util::stream::{self, StreamExt};
use harness::{Fault, Stack};
use ledger::{Ledger, Recipients};
use reqwest::{Method, StatusCode};
use serde_json::json;

const ADMINS: usize = 10_000;
/// One in so many has an address.
const REACHABLE: usize = 25;

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_admins_are_told_once_though_the_fan_out_breaks_in_the_middle() {
    let stack = Stack::behind_a_proxy().await;
    store_admins(&stack).await;

    // Throttled for longer than the ledger's patience lasts; and later an answer is lost, so that a chunk that is
    // written is tried again.
    let middle = [vec![Fault::None; 250], vec![Fault::Throttled; 10], vec![Fault::None; 50], vec![Fault::AnswerLost]];
    stack.proxy().break_next_with("TransactWriteItems", "belfry-local-notifications", &middle.concat());
    let announcement = json!({
        "event_id": "e", "event_type": "Announcement", "aggregate_type": "Notice", "aggregate_id": "n",
        "payload": {"title": "t", "body": "b", "audience": "ADMIN_USER", "channels": ["EMAIL"]},
    });
    let answer = stack.source().await.hand_in(&announcement).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.text);
    let idle = stack.call(Method::GET, "/local/idle?timeout=300", None).await;
    assert_eq!(idle.status, StatusCode::OK, "{}", idle.text);
    assert_eq!(stack.proxy().unmet(), 0, "it broke");

    let everybody: BTreeSet<String> = (0..ADMINS).map(user_id).collect();
    let told = stack.column("notifications", "user_id").await;
    assert_eq!(told.len(), ADMINS, "nobody is told twice");
    assert_eq!(told.into_iter().collect::<BTreeSet<_>>(), everybody, "nobody is left out");
    let mut sends: BTreeMap<String, usize> = BTreeMap::new();
    for status in stack.column("sends", "status").await {
        *sends.entry(status).or_default() += 1;
    }
    let reachable = ADMINS / REACHABLE;
    let expected = [("SENT".to_owned(), reachable), ("SKIPPED".to_owned(), ADMINS - reachable)];
    assert_eq!(sends, BTreeMap::from(expected));
    let mut reached = stack.sent("EMAIL").await;
    reached.sort();
    let addresses = (0..ADMINS).filter_map(email).map(|email| (email, "accepted".to_owned()));
    assert_eq!(reached, addresses.collect::<Vec<_>>(), "every address is reached once");
    assert_eq!(stack.column("processed", "consumer").await, ["fanout:ADMIN_USER"]);
    assert_eq!(stack.count("dead-letters").await, 0);
}

/// Straight into the tables: ten thousand requests would take longer than everything that is tested here.
async fn store_admins(stack: &Stack) {
    let ledger = Ledger::new(stack.dynamodb().await);
    let recipients = Recipients::new("belfry-local-recipients", "belfry-local-members");
    let (ledger, recipients) = (&ledger, &recipients);
    let store = |n: usize| async move {
        let admin = json!({"user_type": "ADMIN_USER", "user_id": user_id(n), "name": "A", "email": email(n)});
        let admin: Recipient = serde_json::from_value(admin).expect("a recipient");
        recipients.put(ledger, &admin).await.expect("stored");
    };
    stream::iter(0..ADMINS).for_each_concurrent(16, store).await;
}

fn user_id(n: usize) -> String {
    format!("a-{n:05}")
}

fn email(n: usize) -> Option<String> {
    n.is_multiple_of(REACHABLE).then(|| format!("a{n:05}@example.com"))
}
