//! The schemas of events, for anybody who writes a reader.

use harness::{Stack, clients};
use reqwest::{Method, StatusCode};
use serde_json::Value;

#[tokio::test]
async fn every_event_in_the_inbox_has_a_schema_that_anybody_can_read() {
    let stack = Stack::start().await;
    stack.shop().await.grant("k", "u-1", "premium").await;
    stack.idle().await;
    let inbox = stack.customer("u-1").await.get("/v1/inbox").await.json();
    let told = &inbox["notifications"][0];
    let event_type = told["event_type"].as_str().expect("an event type");
    let response =
        clients::http().get(format!("{}/schemas/{event_type}", stack.url())).send().await.expect("an answer");
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["content-type"], "application/schema+json");
    let schema: Value = response.json().await.expect("JSON");
    assert_eq!(schema["$id"], format!("urn:belfry:schema:{event_type}"));
    for required in schema["required"].as_array().expect("required fields") {
        let field = required.as_str().expect("a name");
        assert!(!told["properties"][field].is_null(), "{field} is promised, but missing in {told}");
    }
}

#[tokio::test]
async fn what_is_no_event_type_has_no_schema_and_opens_no_other_route() {
    let stack = Stack::start().await;
    let unknown = stack.call(Method::GET, "/schemas/Nobody", None).await;
    assert_eq!((unknown.status, unknown.code().as_str()), (StatusCode::NOT_FOUND, "NOT_FOUND"));
    for (method, path) in [
        (Method::POST, "/schemas/EntitlementGranted"),
        (Method::GET, "/schemas/EntitlementGranted/more"),
        (Method::GET, "/schemas/"),
        (Method::GET, "/schemas"),
    ] {
        let refused = stack.call(method, path, None).await;
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{path}");
    }
}
