//! Dead letters: kept with their reason, found, redriven to the consumer that failed and to no other, discarded.

use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::future::join_all;
use harness::{Caller, Fault, Stack, announcement};
use local::Options;
use reqwest::StatusCode;
use serde_json::{Value, json};

async fn letters(operator: &Caller, query: &str) -> Vec<Value> {
    operator.all(&format!("/v1/dead-letters{query}"), "dead_letters").await
}

/// A stack that has given up on these events, whose consumer would succeed now.
async fn given_up(events: usize) -> Stack {
    let settings = [("BELFRY_RECEIVE_COUNT".to_owned(), "1".to_owned())].into();
    let stack = Stack::behind_a_proxy_with(Options { settings, ..Options::default() }).await;
    let source = stack.source().await;
    for n in 0..events {
        stack.proxy().break_next("TransactWriteItems", &[Fault::Throttled; 8]);
        let accepted = source.hand_in(&announcement(&format!("e-{n}"), "u-1", &format!("t-{n}"))).await;
        assert_eq!(accepted.status, StatusCode::ACCEPTED);
        stack.idle().await;
    }
    assert_eq!((stack.count("dead-letters").await, stack.count("notifications").await), (events, 0));
    stack
}

#[tokio::test]
async fn a_redriven_message_is_done_once_by_the_consumer_that_failed() {
    let stack = given_up(1).await;
    let operator = stack.operator().await;
    let letter = letters(&operator, "?status=OPEN").await.remove(0);
    let id = letter["dead_letter_id"].as_str().expect("an id");
    let redriven = operator.order(&format!("/v1/dead-letters/{id}/redrive"), "r-1").await;
    assert_eq!((redriven.status, redriven.json()["status"].as_str()), (StatusCode::OK, Some("REDRIVEN")));
    assert_eq!(redriven.json()["handled_by"], "omar");
    stack.idle().await;
    assert_eq!(stack.customer("u-1").await.inbox_titles().await, ["t-0"]);
    // The same request again is a replay, another one is told who was first; neither sends anything.
    assert!(operator.order(&format!("/v1/dead-letters/{id}/redrive"), "r-1").await.replayed);
    let late = operator.order(&format!("/v1/dead-letters/{id}/redrive"), "r-2").await;
    assert_eq!((late.status, late.code().as_str()), (StatusCode::CONFLICT, "ALREADY_HANDLED"));
    assert!(late.json()["message"].as_str().expect("text").contains("already REDRIVEN by omar at"), "{}", late.text);
    stack.redeliver("e-0", 2).await;
    stack.idle().await;
    assert_eq!(stack.count("notifications").await, 1);
    assert_eq!(stack.count("dead-letters").await, 1);
}

#[tokio::test]
async fn what_was_done_meanwhile_is_not_done_again_by_a_redrive() {
    let stack = given_up(1).await;
    // The message comes a second time and succeeds, while the dead letter of the first is still open.
    stack.redeliver("e-0", 1).await;
    assert_eq!(stack.count("notifications").await, 1);
    let operator = stack.operator().await;
    let id = letters(&operator, "").await[0]["dead_letter_id"].as_str().expect("an id").to_owned();
    assert_eq!(operator.order(&format!("/v1/dead-letters/{id}/redrive"), "r").await.status, StatusCode::OK);
    stack.idle().await;
    assert_eq!(stack.customer("u-1").await.inbox_titles().await, ["t-0"]);
    assert_eq!(stack.metric("DuplicatesSkipped").await, 1, "the redriven message came, and was a duplicate");
}

#[tokio::test]
async fn twenty_operators_at_once_redrive_it_once() {
    let stack = given_up(1).await;
    let operator = stack.operator().await;
    let id = letters(&operator, "").await[0]["dead_letter_id"].as_str().expect("an id").to_owned();
    let path = format!("/v1/dead-letters/{id}/redrive");
    let keys: Vec<String> = (0..20).map(|n| format!("r-{n}")).collect();
    let answers = join_all(keys.iter().map(|key| operator.order(&path, key))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == StatusCode::OK).count(), 1);
    assert_eq!(answers.iter().filter(|answer| answer.code() == "ALREADY_HANDLED").count(), 19);
    stack.idle().await;
    assert_eq!(stack.count("notifications").await, 1);
    assert_eq!(stack.metric("DuplicatesSkipped").await, 0, "one message was sent");
}

#[tokio::test]
async fn what_fails_again_is_open_again_and_what_is_discarded_stays_so() {
    let stack = Stack::start().await;
    stack.inject("fanout-customer", "poison").await;
    stack.idle().await;
    let operator = stack.operator().await;
    let first = letters(&operator, "").await.remove(0);
    let path = format!("/v1/dead-letters/{}", first["dead_letter_id"].as_str().expect("an id"));
    operator.order(&format!("{path}/redrive"), "r").await;
    stack.idle().await;
    // A message that is no event has no id to be recognised by: it is a dead letter of its own.
    let open = letters(&operator, "?status=OPEN").await;
    assert_eq!(open.len(), 1);
    assert_ne!(open[0]["dead_letter_id"], first["dead_letter_id"]);
    let path = format!("/v1/dead-letters/{}", open[0]["dead_letter_id"].as_str().expect("an id"));
    assert_eq!(operator.order(&format!("{path}/discard"), "d").await.json()["status"], "DISCARDED");
    assert_eq!(operator.order(&format!("{path}/redrive"), "r-2").await.code(), "ALREADY_HANDLED");
    assert_eq!(operator.get(&path).await.json()["handled_by"], "omar");
    assert!(letters(&operator, "?status=OPEN").await.is_empty());
}

#[tokio::test]
async fn past_the_marks_retention_a_redrive_is_refused() {
    let stack = given_up(1).await;
    let operator = stack.operator().await;
    let id = letters(&operator, "").await[0]["dead_letter_id"].as_str().expect("an id").to_owned();
    let update = stack.dynamodb().await.update_item().table_name("belfry-local-dead-letters");
    let update = update.key("dead_letter_id", AttributeValue::S(id.clone())).update_expression("SET since = :old");
    let long_ago = domain::Time::now().minus(std::time::Duration::from_secs(30 * 86_400 + 1)).to_string();
    update.expression_attribute_values(":old", AttributeValue::S(long_ago)).send().await.expect("it is old now");
    let refused = operator.order(&format!("/v1/dead-letters/{id}/redrive"), "r").await;
    assert_eq!((refused.status, refused.code().as_str()), (StatusCode::CONFLICT, "TOO_OLD"));
    let body = json!({"ids": [id]});
    assert_eq!(operator.command("/v1/dead-letters/redrive", "r-many", &body).await.status, StatusCode::ACCEPTED);
    stack.idle().await;
    assert_eq!(stack.count("notifications").await, 0, "a job does not redrive it either");
    assert_eq!(letters(&operator, "?status=OPEN").await.len(), 1);
}

#[tokio::test]
async fn lists_are_filtered_and_come_in_pages_newest_first() {
    let stack = Stack::start().await;
    let operator = stack.operator().await;
    for n in 0..7 {
        stack.inject("fanout-customer", &format!("poison {n}")).await;
        stack.idle().await;
    }
    let between = domain::Time::now();
    stack.inject("fanout-customer", "{\"specversion\": \"2.0\"}").await;
    stack.inject("redrives", "poison for another queue").await;
    stack.idle().await;
    let all = letters(&operator, "?limit=4").await;
    assert_eq!(all.len(), 9);
    let times: Vec<&str> = all.iter().map(|letter| letter["created_at"].as_str().expect("a time")).collect();
    assert!(times.is_sorted_by(|newer, older| newer >= older), "{times:?}");
    let mut ids: Vec<&Value> = all.iter().map(|letter| &letter["dead_letter_id"]).collect();
    ids.dedup();
    assert_eq!(ids.len(), 9);
    for (query, count) in [
        ("?queue=redrives", 1),
        ("?queue=fanout-customer&limit=3", 8),
        ("?reason=line%201%20column%201", 8),
        ("?event_type=Announcement", 0),
        ("?status=REDRIVEN", 0),
        (&format!("?since={between}"), 2),
        (&format!("?until={between}&limit=2"), 7),
        (&format!("?since={between}&queue=redrives"), 1),
        (&format!("?since={between}&until={between}"), 0),
    ] {
        assert_eq!(letters(&operator, query).await.len(), count, "{query}");
    }
    for query in ["?status=LOST", "?since=yesterday", "?limit=0", "?cursor=nonsense!"] {
        let refused = operator.get(&format!("/v1/dead-letters{query}")).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{query}");
    }
    assert_eq!(operator.get("/v1/dead-letters/none").await.code(), "NOT_FOUND");
}

#[tokio::test]
async fn many_are_redriven_by_a_job_after_a_dry_run_that_changes_nothing() {
    let stack = given_up(5).await;
    stack.inject("fanout-customer", "poison").await;
    stack.idle().await;
    let operator = stack.operator().await;
    let filter = json!({"event_type": "Announcement"});
    let dry = operator.command("/v1/dead-letters/redrive", "dry", &json!({"filter": filter, "dry_run": true})).await;
    assert_eq!((dry.status, dry.json()), (StatusCode::OK, json!({"matched": 5})));
    assert_eq!(letters(&operator, "?status=OPEN").await.len(), 6);

    let job = operator.command("/v1/dead-letters/redrive", "wet", &json!({"filter": filter})).await;
    assert_eq!((job.status, job.json()["matched"].as_u64()), (StatusCode::ACCEPTED, Some(5)));
    let again = operator.command("/v1/dead-letters/redrive", "wet", &json!({"filter": filter})).await;
    assert_eq!((again.replayed, again.text), (true, job.text.clone()));
    stack.idle().await;
    assert_eq!(stack.customer("u-1").await.inbox_titles().await.len(), 5);
    assert_eq!(letters(&operator, "?status=OPEN").await.len(), 1, "the poison did not match");
    let job_id = job.json()["job_id"].as_str().expect("an id").to_owned();
    let story = operator.get(&format!("/v1/events/{job_id}")).await.json();
    assert_eq!(
        (story["event_type"].as_str(), story["status"].as_str()),
        (Some("DeadLettersRedriveRequested"), Some("PUBLISHED"))
    );
}

#[tokio::test]
async fn a_job_of_several_parts_redrives_each_once_and_not_what_fails_again() {
    let stack = Stack::start().await;
    let operator = stack.operator().await;
    // No event: each of them fails again, as a dead letter of its own.
    join_all((0..230).map(|n| {
        let stack = &stack;
        async move { stack.inject("fanout-customer", &format!("poison {n}")).await }
    }))
    .await;
    stack.idle().await;
    let job =
        operator.command("/v1/dead-letters/redrive", "job", &json!({"filter": {"queue": "fanout-customer"}})).await;
    assert_eq!(job.json()["matched"], 230);
    stack.idle().await;
    assert_eq!(letters(&operator, "?status=REDRIVEN&limit=100").await.len(), 230);
    assert_eq!(
        letters(&operator, "?status=OPEN&limit=100").await.len(),
        230,
        "what failed again waits for an operator"
    );
    let events = stack.column("events", "event_type").await;
    assert_eq!(events.iter().filter(|event_type| *event_type == "DeadLettersRedriveRequested").count(), 3);
    assert_eq!(events.iter().filter(|event_type| *event_type == "DeadLetterRedriven").count(), 230);
}

#[tokio::test]
async fn what_died_without_a_word_is_recorded_and_unique_by_event() {
    let stack = given_up(1).await;
    let operator = stack.operator().await;
    let body = letters(&operator, "").await[0]["body"].as_str().expect("a body").to_owned();
    // The same event on the DLQ, twice, beside the dead letter that the consumer wrote itself; and one nobody can read.
    for message in [body.as_str(), body.as_str(), "never heard of"] {
        stack.inject("fanout-customer-dlq", message).await;
    }
    stack.idle().await;
    let all = letters(&operator, "").await;
    assert_eq!(all.len(), 2, "{all:?}");
    let silent = all.iter().find(|letter| letter["body"] == "never heard of").expect("recorded");
    assert_eq!(
        (silent["queue"].as_str(), silent["consumer"].as_str()),
        (Some("fanout-customer"), Some("fanout:CUSTOMER"))
    );
    assert!(silent["reason"].as_str().expect("a reason").starts_with("consumer crashed"), "{silent}");
}

#[tokio::test]
async fn what_died_after_it_was_done_is_no_dead_letter() {
    let stack = given_up(1).await;
    let operator = stack.operator().await;
    let letter = letters(&operator, "").await.remove(0);
    let path = format!("/v1/dead-letters/{}", letter["dead_letter_id"].as_str().expect("an id"));
    operator.order(&format!("{path}/redrive"), "r").await;
    stack.idle().await;
    assert_eq!(stack.count("notifications").await, 1);
    // The first delivery turns up in the DLQ after all.
    stack.inject("fanout-customer-dlq", letter["body"].as_str().expect("a body")).await;
    stack.idle().await;
    assert_eq!(operator.get(&path).await.json()["status"], "REDRIVEN");
    assert!(letters(&operator, "?status=OPEN").await.is_empty());
}

#[tokio::test]
async fn a_consumer_that_cannot_reach_the_dead_letters_leaves_the_message_to_its_queue() {
    let settings = [("BELFRY_BACKOFF_BASE".to_owned(), "1ms".to_owned())].into();
    let stack = Stack::behind_a_proxy_with(Options { settings, ..Options::default() }).await;
    // Poison: every receive tries to write the dead letter and fails, five times; then the redrive policy takes it.
    stack.proxy().break_next("PutItem", &[Fault::Throttled; 40]);
    stack.inject("fanout-customer", "poison").await;
    stack.idle().await;
    let all = letters(&stack.operator().await, "").await;
    assert_eq!(all.len(), 1);
    assert!(all[0]["reason"].as_str().expect("a reason").starts_with("consumer crashed"), "{}", all[0]);
}
