//! The local API gateway: checks the token as API Gateway's authorizer does, and passes the claims in the request
//! context.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use domain::Audience;
use lambda_http::request::RequestContext;
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::activity::Activity;
use crate::template::{Access, HttpApi};
use crate::tokens::TokenKey;

const ISSUER: &str = "https://belfry.local";
const AUDIENCE: &str = "belfry";
const TOKEN_HOURS: i64 = 12;

/// Issues and checks tokens.
#[derive(Clone)]
pub struct Gateway {
    key: TokenKey,
    /// To find the routes that need no token.
    api: Arc<HttpApi>,
    activity: Activity,
}

/// The body of `POST /local/tokens`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenRequest {
    sub: String,
    user_type: Audience,
    #[serde(default)]
    scopes: Vec<String>,
    #[serde(default)]
    name: Option<String>,
    /// In seconds. Negative for an expired token.
    #[serde(default)]
    expires_in: Option<i64>,
}

impl TokenRequest {
    pub fn operator(sub: &str, scopes: &[&str]) -> Self {
        let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        Self { sub: sub.to_owned(), user_type: Audience::AdminUser, scopes, name: None, expires_in: None }
    }
}

impl Gateway {
    pub fn new(api: HttpApi, activity: Activity) -> Self {
        Self { key: TokenKey::random(), api: Arc::new(api), activity }
    }

    /// Issues a token with the claims of an identity provider.
    pub fn issue(&self, request: &TokenRequest) -> String {
        let now = jiff::Timestamp::now().as_second();
        let mut claims = json!({
            "iss": ISSUER,
            "aud": AUDIENCE,
            "iat": now,
            "exp": now.saturating_add(request.expires_in.unwrap_or(TOKEN_HOURS * 3_600)),
            "sub": request.sub,
            "user_type": request.user_type,
            "scope": request.scopes.join(" "),
        });
        if let Some(name) = &request.name {
            claims["name"] = json!(name);
        }
        self.key.sign(&claims)
    }

    fn check(&self, headers: &HeaderMap) -> Option<Map<String, Value>> {
        let header = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
        let token = header.strip_prefix("Bearer ").or_else(|| header.strip_prefix("bearer "))?;
        self.key.claims(token.trim(), jiff::Timestamp::now().as_second())
    }
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway").finish_non_exhaustive()
    }
}

/// Passes a request with its claims to the function, or answers 401.
pub async fn authorize(State(gateway): State<Gateway>, mut request: Request<Body>, next: Next) -> Response {
    // Reads are not counted: a page that polls would keep the host busy forever.
    let _running = (!request.method().is_safe()).then(|| gateway.activity.begin());
    let route = gateway.api.route(request.method().as_str(), request.uri().path());
    let claims = match gateway.check(request.headers()) {
        Some(claims) => Some(claims),
        None if route.is_some_and(|route| route.access == Access::Open) => None,
        None => return unauthenticated(),
    };
    join_repeated(request.headers_mut());
    let route_key = route.map_or_else(|| "$default".to_owned(), |route| format!("{} {}", route.method, route.path));
    match context(&request, &route_key, claims) {
        Ok(context) => request.extensions_mut().insert(context),
        Err(_) => return unauthenticated(),
    };
    next.run(request).await
}

/// API Gateway joins repeated headers with commas.
fn join_repeated(headers: &mut HeaderMap) {
    let names: Vec<_> = headers.keys().filter(|name| headers.get_all(*name).iter().count() > 1).cloned().collect();
    for name in names {
        let values: Vec<&[u8]> = headers.get_all(&name).iter().map(HeaderValue::as_bytes).collect();
        if let Ok(joined) = HeaderValue::from_bytes(&values.join(&b","[..])) {
            headers.insert(name, joined);
        }
    }
}

/// The request context as API Gateway sends it: claims are texts, and lists become `[a b]`.
fn context(
    request: &Request<Body>,
    route_key: &str,
    claims: Option<Map<String, Value>>,
) -> serde_json::Result<RequestContext> {
    let text = |value: Value| match value {
        Value::String(text) => text,
        Value::Array(items) => {
            let items: Vec<String> =
                items.iter().map(|item| item.as_str().map_or(item.to_string(), str::to_owned)).collect();
            format!("[{}]", items.join(" "))
        }
        other => other.to_string(),
    };
    let claims = claims.map(|claims| claims.into_iter().map(|(name, value)| (name, Value::String(text(value)))));
    let authorizer = claims.map(|claims| json!({"jwt": {"claims": claims.collect::<Map<_, _>>(), "scopes": null}}));
    let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    let path = percent_decode_str(request.uri().path()).decode_utf8_lossy();
    let context = json!({
        "routeKey": route_key,
        "accountId": crate::aws::ACCOUNT,
        "apiId": "local",
        "domainName": header(header::HOST),
        "stage": "$default",
        "requestId": uuid::Uuid::now_v7().to_string(),
        "authorizer": authorizer,
        "timeEpoch": jiff::Timestamp::now().as_millisecond(),
        "http": {
            "method": request.method().as_str(),
            "path": path,
            "protocol": "HTTP/1.1",
            "sourceIp": "127.0.0.1",
            "userAgent": header(header::USER_AGENT),
        },
    });
    Ok(RequestContext::ApiGatewayV2(serde_json::from_value(context)?))
}

fn unauthenticated() -> Response {
    let body = json!({"code": "UNAUTHENTICATED", "message": "no valid token"});
    let mut response = (StatusCode::UNAUTHORIZED, axum::Json(body)).into_response();
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    if let Ok(request_id) = HeaderValue::from_str(&uuid::Uuid::now_v7().to_string()) {
        response.headers_mut().insert("x-request-id", request_id);
    }
    response
}
