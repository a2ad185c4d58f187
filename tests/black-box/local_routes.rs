//! The fixed points of the local host.

use std::time::Duration;

use harness::{Fault, Stack, clients};
use reqwest::{Method, StatusCode};
use serde_json::json;

#[tokio::test]
async fn poison_in_a_queue_holds_nobody_else_up() {
    let stack = Stack::start().await;
    for body in ["not json", "{}", "\u{1F514}", "[]"] {
        let injected =
            stack.call(Method::POST, "/local/inject", Some(json!({"queue": "fanout-customer", "body": body}))).await;
        assert_eq!(injected.status, StatusCode::OK, "{}", injected.text);
    }
    stack.shop().await.grant("k", "u-1", "premium").await;
    let customer = stack.customer("u-1").await;
    // The poison stays in the queue until its receives are used up, so idle is not the condition here.
    let told = async { while customer.inbox_titles().await.is_empty() {} };
    tokio::time::timeout(Duration::from_secs(60), told).await.expect("the customer is told");
    assert_eq!(stack.count("notifications").await, 1);
}

#[tokio::test]
async fn providers_answer_in_their_own_shape_keep_what_they_got_and_fail_when_told() {
    let stack = Stack::start().await;
    let endpoints = stack.call(Method::GET, "/local/endpoints", None).await.json();
    let hook = format!("{}/services/T/B/s", endpoints["providers"].as_str().expect("a URL"));
    let client = clients::http();
    let post = async || client.post(&hook).json(&json!({"text": "hello"})).send().await.expect("an answer").status();

    let fault = json!({"target": "SLACK", "mode": "unavailable", "times": 1});
    assert_eq!(stack.call(Method::POST, "/local/faults", Some(fault)).await.status, StatusCode::OK);
    assert_eq!(post().await, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(post().await, StatusCode::OK);

    let sent = stack.call(Method::GET, "/local/sent?channel=SLACK", None).await.json();
    let outcomes: Vec<_> =
        sent["sent"].as_array().expect("a list").iter().map(|sent| sent["outcome"].clone()).collect();
    assert_eq!(outcomes, ["unavailable", "accepted"]);
    assert_eq!(sent["sent"][1]["body"], "hello");
    assert_eq!(stack.call(Method::GET, "/local/sent?channel=EMAIL", None).await.json(), json!({"sent": []}));
}

#[tokio::test]
async fn local_routes_say_what_is_wrong_with_a_request() {
    let stack = Stack::start().await;
    let cases = [
        ("/local/tokens", json!({"sub": "u", "user_type": "NOBODY"}), StatusCode::BAD_REQUEST),
        ("/local/tokens", json!({"sub": "u", "user_type": "CUSTOMER", "extra": 1}), StatusCode::BAD_REQUEST),
        ("/local/faults", json!({"target": "FAX", "mode": "ok"}), StatusCode::BAD_REQUEST),
        ("/local/inject", json!({"queue": "nowhere", "body": "b"}), StatusCode::NOT_FOUND),
        ("/local/redeliver", json!({"event_id": "never-seen", "times": 1}), StatusCode::NOT_FOUND),
        ("/local/redeliver", json!({"event_id": "e", "times": 0}), StatusCode::BAD_REQUEST),
    ];
    for (path, body, status) in cases {
        let refused = stack.call(Method::POST, path, Some(body.clone())).await;
        assert_eq!(refused.status, status, "{path} {body}: {}", refused.text);
        assert!(!refused.code().is_empty(), "{path} {body}");
    }
    assert_eq!(stack.call(Method::GET, "/local/sent?channel=FAX", None).await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn idle_gives_up_when_it_is_told_to() {
    let stack = Stack::behind_a_proxy().await;
    stack.proxy().break_next("TransactWriteItems", &[Fault::None, Fault::HeldBefore]);
    stack.shop().await.grant("k", "u", "s").await;
    stack.proxy().held().await;
    let busy = stack.call(Method::GET, "/local/idle?timeout=0.2", None).await;
    assert_eq!(busy.status, StatusCode::GATEWAY_TIMEOUT);
}

#[tokio::test]
async fn a_functions_environment_is_told_to_whoever_runs_its_binary() {
    let stack = Stack::start().await;
    let one = stack.call(Method::GET, "/local/environment?function=SweepFunction", None).await;
    assert!(one.text.contains("BELFRY_EVENTS_TABLE='belfry-local-events'\n"), "{}", one.text);
    let all = stack.call(Method::GET, "/local/environment", None).await.json();
    let variables = all["SweepFunction"].as_object().expect("variables");
    assert_eq!(one.text.lines().count(), variables.len());
    assert!(variables.contains_key("AWS_ENDPOINT_URL_DYNAMODB") && variables.contains_key("AWS_ACCESS_KEY_ID"));
    let none = stack.call(Method::GET, "/local/environment?function=Nobody", None).await;
    assert_eq!((none.status, none.code().as_str()), (StatusCode::NOT_FOUND, "NOT_FOUND"));
}

#[tokio::test]
async fn the_http_function_is_invoked_with_an_event_of_api_gateways() {
    let stack = Stack::start().await;
    let event: serde_json::Value =
        serde_json::from_str(include_str!("../../infra/events/api-grant.json")).expect("a sample");
    let mut bodies = Vec::new();
    for replayed in [None, Some("true")] {
        let body = json!({"function": "ApiFunction", "event": event});
        let answer = stack.call(Method::POST, "/local/invoke", Some(body)).await.json();
        let response = &answer["response"];
        assert_eq!((&response["statusCode"], &response["isBase64Encoded"]), (&json!(200), &json!(false)), "{answer}");
        assert_eq!(response["headers"]["idempotency-replayed"].as_str(), replayed, "{answer}");
        bodies.push(response["body"].as_str().expect("a body").to_owned());
    }
    assert_eq!(bodies[0], bodies[1]);
    assert_eq!(stack.count("events").await, 1);
    let body = json!({"function": "ApiFunction", "event": {"not": "an event"}});
    let answer = stack.call(Method::POST, "/local/invoke", Some(body)).await.json();
    assert!(answer["error"].is_string(), "{answer}");
}
