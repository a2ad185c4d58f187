//! `belfry verify` as a person runs it: output, target and exit code.

use axum::http::HeaderMap;
use harness::{ask_dynamodb, clients};
use serde_json::{Value, json};

use crate::belfry::{Belfry, Environment, call, command};

/// Exit code, standard output and standard error.
fn verify(arguments: &[&str], environment: &Environment) -> (Option<i32>, String, String) {
    let output = command(&[&["verify"], arguments].concat(), environment).output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// An idle host with demo data, and the environment with its DynamoDB endpoint.
async fn at_rest() -> (Belfry, Vec<(String, String)>) {
    let host = Belfry::start(&["--port", "0", "--demo"], &[]);
    let client = clients::http();
    let idle = call(&client, client.get(format!("{}/local/idle?timeout=60", host.url()))).await;
    assert_eq!(idle, json!({"idle": true}));
    let endpoints = call(&client, client.get(format!("{}/local/endpoints", host.url()))).await;
    let dynamodb = endpoints["dynamodb"].as_str().expect("a URL").to_owned();
    (host, vec![("AWS_ENDPOINT_URL_DYNAMODB".to_owned(), dynamodb)])
}

/// Calls DynamoDB directly.
async fn dynamodb(environment: &Environment, operation: &str, request: &Value) {
    let client = clients::http();
    let (status, answer) = ask_dynamodb(&client, &environment[0].1, operation, request).await;
    assert!(status.is_success(), "{operation}: {answer}");
}

#[tokio::test]
async fn verify_succeeds_if_all_invariants_hold() {
    let (host, environment) = at_rest().await;
    let url = host.url().to_owned();
    for (arguments, environment) in [(vec!["--host", &url], &[][..]), (vec!["--grace", "0"], &environment[..])] {
        let (code, said, progress) = verify(&arguments, environment);
        assert_eq!(code, Some(0), "{said}{progress}");
        assert!(said.trim_end().ends_with("everything holds"), "{said}");
        let of_events = progress.lines().find_map(|line| line.strip_prefix("belfry-local-events: "));
        assert!(of_events.is_some_and(|rows| rows.ends_with(" rows, 0 violations")), "table by table: {progress}");
    }
}

#[tokio::test]
async fn violation_is_a_line_without_an_address_and_exit_code_1() {
    let (host, environment) = at_rest().await;
    let gone = json!({
        "TableName": "belfry-local-entitlements", "Key": {"user_id": {"S": "chen"}, "stock_keeping_unit": {"S": "premium"}},
    });
    dynamodb(&environment, "DeleteItem", &gone).await;
    let (code, said, _) = verify(&["--segments", "2"], &environment);
    assert_eq!(code, Some(1), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].starts_with("event-has-aggregate: belfry-local-events event_id "), "{said}");
    assert!(lines[0].ends_with("expected Entitlement chen#premium of version 1 or later, found none"), "{said}");
    assert!(lines[1].starts_with("answer-has-effect: belfry-local-idempotency-keys caller_key "), "{said}");
    assert!(lines.last().is_some_and(|last| last.ends_with("2 violations")), "{said}");
    assert!(!said.contains('@'), "{said}");
    let (code, said, _) = verify(&["--format", "json", "--host", host.url()], &[]);
    let report: Value = serde_json::from_str(&said).expect("one document");
    assert_eq!((code, report["findings"].as_array().map(Vec::len)), (Some(1), Some(2)), "{said}");
    assert_eq!(report["findings"][0]["invariant"], "event-has-aggregate");
}

/// A proxy to DynamoDB that changes the espresso's stock whenever somebody reads the holds.
async fn restless(environment: &Environment) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let environment = environment.to_vec();
    let pass_on = move |headers: HeaderMap, body: String| async move {
        if body.contains("belfry-local-holds") {
            let moved = json!({
                "TableName": "belfry-local-stock", "Key": {"stock_keeping_unit": {"S": "espresso"}},
                "UpdateExpression": "ADD #v :one", "ExpressionAttributeNames": {"#v": "version"},
                "ExpressionAttributeValues": {":one": {"N": "1"}},
            });
            dynamodb(&environment, "UpdateItem", &moved).await;
        }
        let answer = clients::http().post(&environment[0].1).headers(headers).body(body).send().await;
        answer.expect("an answer").bytes().await.expect("all of it")
    };
    tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(pass_on)).await });
    url
}

#[tokio::test(flavor = "multi_thread")]
async fn unit_that_changes_during_every_check_is_exit_code_3() {
    let (host, environment) = at_rest().await;
    let restless = [("AWS_ENDPOINT_URL_DYNAMODB".to_owned(), restless(&environment).await)];
    let (code, said, progress) = tokio::task::block_in_place(|| verify(&["--grace", "0"], &restless));
    assert_eq!(code, Some(3), "{said}{progress}");
    assert!(said.starts_with("undecided: the stock of espresso changed during every check"), "{said}");
    drop(host);
}

#[tokio::test]
async fn unreadable_tables_are_exit_code_2() {
    let (host, environment) = at_rest().await;
    let nowhere = [("AWS_ENDPOINT_URL_DYNAMODB".to_owned(), "http://127.0.0.1:1".to_owned())];
    let settings = [environment.as_slice(), &[("BELFRY_EVENT_RETENTION".to_owned(), "long".to_owned())]].concat();
    for (arguments, environment, expected) in [
        (vec!["--stack", "another"], &environment[..], "another-events"),
        (vec![], &settings[..], "BELFRY_EVENT_RETENTION"),
        (vec!["--host", "http://127.0.0.1:1"], &nowhere[..], "127.0.0.1:1"),
    ] {
        let (code, said, problem) = verify(&arguments, environment);
        assert_eq!((code, said.as_str()), (Some(2), ""), "{problem}");
        assert!(problem.contains(expected), "{problem}");
    }
    drop(host);
}
