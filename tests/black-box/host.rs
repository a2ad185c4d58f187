//! The host: what it refuses to start with, and what it keeps when the engines live on.

use engine::{Engine, Ports};
use harness::Stack;
use local::{Endpoints, Host, HostError, Options};
use reqwest::{Method, StatusCode};

const TEMPLATE: &str = include_str!("../../infra/template.yaml");

async fn problem(template: String) -> String {
    let options = Options { port: 0, template: Some(template), ..Options::default() };
    Host::start(options).await.expect_err("a bad template").to_string()
}

#[tokio::test]
async fn a_mistake_in_the_template_names_its_entry() {
    let misspelt = problem(TEMPLATE.replace("BisectBatchOnFunctionError", "BisectBatchOnError")).await;
    assert!(misspelt.contains("OutboxStreamFunction") && misspelt.contains("BisectBatchOnError"), "{misspelt}");
    let count = problem(
        TEMPLATE.replace("maxReceiveCount: !FindInMap [Stages, !Ref Stage, ReceiveCount]", "maxReceiveCount: 5000"),
    )
    .await;
    assert!(count.contains("FanoutCustomerQueue") && count.contains("maxReceiveCount"), "{count}");
    let unknown = problem(TEMPLATE.replace("Binary: fanout", "Binary: fan-out")).await;
    assert!(unknown.contains("FanoutFunction") && unknown.contains("fan-out"), "{unknown}");
}

#[tokio::test]
async fn a_missing_or_wrong_setting_names_its_variable() {
    let missing = problem(
        TEMPLATE
            .replace("          BELFRY_KEY_TTL: !FindInMap [Stages, !Ref Stage, KeyTtl]\n", "")
            .replace("BELFRY_RECIPIENTS_TABLE", "BELFRY_RECIPIENT_TABLE"),
    )
    .await;
    assert!(missing.contains("ApiFunction: BELFRY_RECIPIENTS_TABLE is not set"), "{missing}");
    let wrong = problem(TEMPLATE.replace("KeyTtl: 24h", "KeyTtl: a day")).await;
    assert!(wrong.contains("BELFRY_KEY_TTL must be a duration such as 30s or 24h, but is \"a day\""), "{wrong}");
    for (name, value) in [
        ("BELFRY_BACKOFF_BASE", "soon"),
        ("BELFRY_BACKOFF_MAX", "0ms"),
        ("BELFRY_BACKOFF_MIN", "-1s"),
        ("BELFRY_BACKOFF_JITTER_MIN", "half"),
        ("BELFRY_BACKOFF_JITTER_MAX", "0.1"),
        ("BELFRY_OUTBOX_BATCH", "201"),
        ("BELFRY_OUTBOX_LEASE", "0s"),
        ("BELFRY_OUTBOX_MAX_ATTEMPTS", "0"),
        ("BELFRY_OUTBOX_GRACE", "a minute"),
        ("BELFRY_RECEIVE_COUNT", "none"),
        ("BELFRY_EVENT_RETENTION", "1h"),
        ("BELFRY_PROCESSED_RETENTION", "13d"),
        ("BELFRY_RETENTION_ENABLED", "yes"),
        ("BELFRY_KEY_TTL", "59s"),
    ] {
        let settings = [(name.to_owned(), value.to_owned())].into();
        let refused = Host::start(Options { port: 0, settings, ..Options::default() }).await;
        let problem = refused.expect_err("a wrong setting").to_string();
        assert!(problem.contains(&format!("{name} must be ")) && problem.contains(value), "{problem}");
    }
}

#[tokio::test]
async fn a_taken_port_is_said_so() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("an address").port();
    let refused = Host::start(Options { port, ..Options::default() }).await;
    assert!(matches!(refused, Err(HostError::PortTaken { port: named }) if named == port));
}

#[tokio::test]
async fn a_second_host_on_the_same_engines_goes_on_where_the_first_stopped() {
    let engine = Engine::start(Ports::default()).await.expect("engines");
    let endpoints = Endpoints { dynamodb: engine.dynamodb_url().to_owned(), sqs: engine.sqs_url().to_owned() };
    let options = || Options { endpoints: Some(endpoints.clone()), ..Options::default() };
    for round in 1..=3 {
        let stack = Stack::with(options()).await;
        let granted = stack.shop().await.grant(&format!("k-{round}"), "u-1", &format!("unit-{round}")).await;
        assert_eq!(granted.status, reqwest::StatusCode::OK);
        // The host goes before the event is through; the next one finds it in the stream or in the queue.
        stack.stop().await;
    }
    let stack = Stack::with(options()).await;
    stack.idle().await;
    let mut titles = stack.customer("u-1").await.inbox_titles().await;
    titles.sort();
    assert_eq!(titles, ["unit-1 is yours", "unit-2 is yours", "unit-3 is yours"]);
}

#[tokio::test]
async fn a_table_of_an_earlier_template_is_said_to_lack_its_index() {
    let engine = Engine::start(Ports::default()).await.expect("engines");
    let endpoints = Endpoints { dynamodb: engine.dynamodb_url().to_owned(), sqs: engine.sqs_url().to_owned() };
    let options = |template: &str| Options {
        port: 0,
        endpoints: Some(endpoints.clone()),
        template: Some(template.to_owned()),
        ..Options::default()
    };
    let earlier = TEMPLATE.replace("        - IndexName: unread\n", "        - IndexName: read\n");
    Stack::with(options(&earlier)).await.stop().await;
    let refused = Host::start(options(TEMPLATE)).await.expect_err("an earlier table").to_string();
    assert!(refused.contains("belfry-local-notifications") && refused.contains("has no index unread"), "{refused}");
}

#[tokio::test]
async fn two_stacks_on_the_same_engines_do_not_see_each_other() {
    let engine = Engine::start(Ports::default()).await.expect("engines");
    let endpoints = Endpoints { dynamodb: engine.dynamodb_url().to_owned(), sqs: engine.sqs_url().to_owned() };
    let stack = async |name: &str| {
        Stack::with(Options { endpoints: Some(endpoints.clone()), stack: name.to_owned(), ..Options::default() }).await
    };
    let (one, other) = (stack("one").await, stack("other").await);
    one.shop().await.grant("k", "u-1", "premium").await;
    one.idle().await;
    other.idle().await;
    assert_eq!(one.customer("u-1").await.inbox_titles().await.len(), 1);
    assert!(other.customer("u-1").await.inbox_titles().await.is_empty());
}

#[tokio::test]
async fn the_demo_has_recipients_of_all_four_kinds_and_something_in_the_inbox() {
    let stack = Stack::with(Options { demo: true, ..Options::default() }).await;
    stack.idle().await;
    assert_eq!(stack.count("recipients").await, 6);
    // Two grants, and the reservation that she asked for; the restaurant's staff can act on it.
    assert_eq!(stack.customer("carla").await.inbox_titles().await.len(), 3);
    assert_eq!(stack.caller("rosa", "RESTAURANT_USER", &[]).await.inbox_titles().await.len(), 1);
    let stock = stack.operator().await.get("/v1/inventory/espresso").await.json();
    assert_eq!((&stock["available"], &stock["sold"]), (&98.into(), &2.into()), "an order has come to its end");
    let people = stack.call(Method::GET, "/local/people", None).await.json();
    assert_eq!(people["people"].as_array().map(Vec::len), Some(6));

    let events = stack.count("events").await;
    assert_eq!(stack.call(Method::POST, "/local/demo", None).await.status, StatusCode::OK);
    stack.idle().await;
    assert_eq!(stack.count("events").await, events, "filled in twice, there once");
    assert_eq!(stack.operator().await.get("/v1/inventory/espresso").await.json(), stock);
}
