//! Converts HTTP requests to API Gateway events (payload format 2.0) and function responses to HTTP responses, and the
//! reverse for an in-process function that is invoked with an event.

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lambda_http::request::RequestContext;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};
use tower::ServiceExt;

use crate::functions::Invocable;

const LARGEST_REQUEST: usize = 10 * 1024 * 1024;

/// Routes that invoke a function for every request.
pub fn routes(function: Invocable) -> Router {
    Router::new().fallback(pass_on).with_state(function)
}

async fn pass_on(State(function): State<Invocable>, request: Request) -> Response {
    let event = match event(request).await {
        Ok(event) => event,
        Err(status) => return status.into_response(),
    };
    let answer = function.invoke(event).await.and_then(|answer| response(&answer));
    answer.unwrap_or_else(|problem| {
        tracing::error!(function = function.name, problem, "function failed; answered 500");
        let body = json!({"message": "Internal Server Error"});
        (StatusCode::INTERNAL_SERVER_ERROR, axum::Json(body)).into_response()
    })
}

async fn event(request: Request) -> Result<Value, StatusCode> {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, LARGEST_REQUEST).await.map_err(|_| StatusCode::PAYLOAD_TOO_LARGE)?;
    let context = parts.extensions.get::<RequestContext>().map(serde_json::to_value);
    let context = context.transpose().map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?.unwrap_or_default();
    let text = |value: &HeaderValue| value.to_str().map(str::to_owned).ok();
    let headers = parts.headers.iter().filter(|(name, _)| *name != COOKIE);
    let headers: Map<_, _> =
        headers.filter_map(|(name, value)| Some((name.to_string(), text(value)?.into()))).collect();
    let cookies = parts.headers.get_all(COOKIE).iter().filter_map(text);
    let cookies: Vec<String> =
        cookies.flat_map(|all| all.split([';', ',']).map(|one| one.trim().to_owned()).collect::<Vec<_>>()).collect();
    let mut event = json!({
        "version": "2.0",
        "routeKey": context["routeKey"],
        // API Gateway decodes escapes.
        "rawPath": percent_decode_str(parts.uri.path()).decode_utf8_lossy(),
        "rawQueryString": parts.uri.query().unwrap_or_default(),
        "headers": headers,
        "requestContext": context,
        "isBase64Encoded": false,
    });
    if !cookies.is_empty() {
        event["cookies"] = json!(cookies);
    }
    if !body.is_empty() {
        (event["body"], event["isBase64Encoded"]) = encoded(&body);
    }
    Ok(event)
}

/// The body in JSON, and whether it is base64.
fn encoded(body: &[u8]) -> (Value, Value) {
    match std::str::from_utf8(body) {
        Ok(text) => (text.into(), false.into()),
        Err(_) => (STANDARD.encode(body).into(), true.into()),
    }
}

fn response(answer: &Value) -> Result<Response, String> {
    let Some(status) = answer.get("statusCode") else {
        // API Gateway answers 200 with a response that has no status.
        return Ok(axum::Json(answer).into_response());
    };
    let status = status.as_u64().and_then(|status| StatusCode::from_u16(u16::try_from(status).ok()?).ok());
    let body = answer["body"].as_str().unwrap_or_default();
    let body = match answer["isBase64Encoded"].as_bool() {
        Some(true) => STANDARD.decode(body).map_err(|error| format!("body: {error}"))?,
        _ => body.as_bytes().to_vec(),
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status.ok_or("statusCode is not an HTTP status")?;
    let headers = answer["headers"].as_object().into_iter().flatten();
    for (name, value) in headers.filter_map(|(name, value)| Some((name, value.as_str()?))) {
        let name: HeaderName = name.parse().map_err(|_| format!("{name} is not a valid header name"))?;
        response.headers_mut().insert(name, value.parse().map_err(|_| "a header value is not valid")?);
    }
    for cookie in answer["cookies"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        response.headers_mut().append(SET_COOKIE, cookie.parse().map_err(|_| "a cookie is not valid")?);
    }
    Ok(response)
}

/// Invokes an in-process HTTP function with an event, as its `main` does.
pub async fn invoke(routes: Router, event: Value) -> Result<Value, String> {
    let request = lambda_http::request::from_str(&event.to_string()).map_err(|error| error.to_string())?;
    let request = belfry_http::raw_path::restore(request).map(|body| Body::from(body.to_vec()));
    let response = routes.oneshot(request).await.unwrap_or_else(|never| match never {});
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.map_err(|error| error.to_string())?;
    Ok(answer(parts.status, &parts.headers, &body))
}

fn answer(status: StatusCode, headers: &HeaderMap, body: &Bytes) -> Value {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let plain = headers.iter().filter(|(name, _)| *name != SET_COOKIE);
    let plain: Map<_, _> = plain.map(|(name, value)| (name.to_string(), text(value).into())).collect();
    let cookies: Vec<String> = headers.get_all(SET_COOKIE).iter().map(text).collect();
    let (body, is_base64) = encoded(body);
    json!({"statusCode": status.as_u16(), "headers": plain, "cookies": cookies, "body": body, "isBase64Encoded": is_base64})
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn event_of(request: axum::http::request::Builder, body: impl Into<Body>) -> Value {
        event(request.body(body.into()).expect("a request")).await.expect("an event")
    }

    #[tokio::test]
    async fn a_request_becomes_an_event_in_format_2() {
        let request = Request::post("/v1/users/a%23b?x=1&y=%20").header("cookie", "a=1; b=2").header("x-one", "1");
        let event = event_of(request, "{\"ü\": 1}").await;
        let expected = json!({
            "version": "2.0", "routeKey": null, "rawPath": "/v1/users/a#b", "rawQueryString": "x=1&y=%20",
            "headers": {"x-one": "1"}, "cookies": ["a=1", "b=2"], "requestContext": null,
            "body": "{\"ü\": 1}", "isBase64Encoded": false,
        });
        assert_eq!(event, expected);
        let binary = event_of(Request::post("/"), vec![0xff, 0x00]).await;
        assert_eq!((&binary["body"], &binary["isBase64Encoded"]), (&json!("/wA="), &json!(true)));
        let empty = event_of(Request::get("/"), Body::empty()).await;
        assert_eq!(empty.get("body"), None);
    }

    #[tokio::test]
    async fn an_answer_becomes_a_response() {
        let made = response(&json!({
            "statusCode": 201, "headers": {"x-one": "1"}, "cookies": ["a=1", "b=2"], "body": "/wA=", "isBase64Encoded": true,
        }));
        let made = made.expect("a response");
        assert_eq!((made.status(), &made.headers()["x-one"]), (StatusCode::CREATED, &HeaderValue::from_static("1")));
        assert_eq!(made.headers().get_all(SET_COOKIE).iter().count(), 2);
        assert_eq!(to_bytes(made.into_body(), 10).await.expect("a body"), [0xff, 0x00].as_slice());
        let bare = response(&json!({"any": "thing"})).expect("a response");
        assert_eq!(bare.status(), StatusCode::OK);
        for wrong in
            [json!({"statusCode": "x"}), json!({"statusCode": 99999}), json!({"statusCode": 200, "headers": {" ": ""}})]
        {
            assert!(response(&wrong).is_err(), "{wrong}");
        }
    }
}
