//! Who is let in, and what they may touch.

use harness::{Stack, clients};
use reqwest::{Method, StatusCode};
use serde_json::json;

#[tokio::test]
async fn without_a_good_token_nobody_gets_in() {
    let stack = Stack::start().await;
    let inbox = format!("{}/v1/inbox", stack.url());
    let client = clients::http();
    let run_out = json!({"sub": "u", "user_type": "CUSTOMER", "expires_in": -1});
    let run_out = stack.token(run_out).await;
    let other = Stack::start().await;
    let foreign = json!({"sub": "u", "user_type": "CUSTOMER"});
    let foreign = other.token(foreign).await;
    let requests = [
        ("no token", client.get(&inbox)),
        ("nonsense", client.get(&inbox).bearer_auth("nonsense")),
        ("another scheme", client.get(&inbox).basic_auth("u", Some("p"))),
        ("run out", client.get(&inbox).bearer_auth(run_out)),
        ("signed by somebody else", client.get(&inbox).bearer_auth(foreign)),
    ];
    for (case, request) in requests {
        let response = request.send().await.expect("an answer");
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{case}");
        let body: serde_json::Value = response.json().await.expect("json");
        assert_eq!(body["code"], "UNAUTHENTICATED", "{case}");
    }
}

#[tokio::test]
async fn health_and_openapi_need_no_token() {
    let stack = Stack::start().await;
    assert_eq!(stack.call(Method::GET, "/health", None).await.json(), json!({"status": "ok"}));
    let openapi = stack.call(Method::GET, "/openapi.json", None).await.json();
    for path in [
        "/v1/entitlements/grants",
        "/v1/users/{user_id}/entitlements",
        "/v1/recipients/{user_type}/{user_id}",
        "/v1/inbox",
        "/debug/notification/inbox/{user_id}",
    ] {
        assert!(openapi["paths"][path].is_object(), "{path} is not described");
    }
    assert_eq!(stack.call(Method::GET, "/", None).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_missing_scope_is_forbidden_and_a_foreign_id_is_not_found() {
    let stack = Stack::start().await;
    stack.shop().await.grant("k", "u-1", "premium").await;
    stack.idle().await;
    let stranger = stack.customer("u-2").await;
    let refused = [
        (stranger.grant("k", "u-2", "premium").await, StatusCode::FORBIDDEN, "FORBIDDEN"),
        (stranger.get("/debug/notification/inbox/u-1?user_type=CUSTOMER").await, StatusCode::FORBIDDEN, "FORBIDDEN"),
        (stranger.get("/v1/users/u-1/entitlements").await, StatusCode::NOT_FOUND, "NOT_FOUND"),
        (stranger.get("/v1/users/nobody/entitlements").await, StatusCode::NOT_FOUND, "NOT_FOUND"),
    ];
    for (answer, status, code) in refused {
        assert_eq!((answer.status, answer.code().as_str()), (status, code));
    }
    assert!(stranger.inbox_titles().await.is_empty());
    // The same id of another kind of user is somebody else.
    assert!(stack.caller("u-1", "ADMIN_USER", &[]).await.inbox_titles().await.is_empty());
}
