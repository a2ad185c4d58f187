//! Requests with an idempotency key.

use std::time::Instant;

use axum::extract::{FromRequest, FromRequestParts, Request as HttpRequest};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use belfry_aws::{Caller, Fingerprint, IdempotencyKey, NotAKey, Request, Trace, lambda};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::body::{JsonBody, NoBody};
use crate::error::{ErrorCode, HttpError};

const HEADER: &str = "Idempotency-Key";

/// A request with an idempotency key and a JSON body.
///
/// Refuses, in this order: nobody is known to call (401), no key (400), another media type (415), a body that is too large
/// (413), a body that cannot be read (400).
#[derive(Debug)]
pub struct Keyed<T> {
    /// What identifies the request.
    pub request: Request,
    /// Its body.
    pub body: T,
}

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for Keyed<T> {
    type Rejection = HttpError;

    async fn from_request(request: HttpRequest, _: &S) -> Result<Self, HttpError> {
        let (parts, body) = request.into_parts();
        let keyed = KeyedParts::of(&parts)?;
        let body = JsonBody::read(&parts.headers, body).await?;
        Ok(Self { request: keyed.request(&body.json)?, body: body.parsed })
    }
}

/// A request with an idempotency key and no body, or an empty object.
#[derive(Debug)]
pub struct KeyedNoBody(
    /// What identifies the request.
    pub Request,
);

impl<S: Sync> FromRequest<S> for KeyedNoBody {
    type Rejection = HttpError;

    async fn from_request(request: HttpRequest, _: &S) -> Result<Self, HttpError> {
        let (parts, body) = request.into_parts();
        let keyed = KeyedParts::of(&parts)?;
        let body = NoBody::read(body).await?;
        Ok(Self(keyed.request(&body.json)?))
    }
}

/// What identifies a request before its body is read, for bodies of other kinds.
#[derive(Debug)]
pub struct KeyedParts {
    caller: Caller,
    key: IdempotencyKey,
    method: Method,
    path: String,
    trace: Option<Trace>,
    deadline: Option<Instant>,
}

impl KeyedParts {
    fn of(parts: &Parts) -> Result<Self, HttpError> {
        let unknown = || HttpError::new(ErrorCode::UNAUTHENTICATED, "no valid token");
        let context = parts.extensions.get::<lambda_http::Context>();
        Ok(Self {
            caller: parts.extensions.get::<Caller>().cloned().ok_or_else(unknown)?,
            key: key(&parts.headers)?,
            method: parts.method.clone(),
            path: parts.uri.path().to_owned(),
            trace: parts.extensions.get::<Trace>().cloned(),
            deadline: context.and_then(|context| lambda::deadline(context.deadline)),
        })
    }

    /// The request, once its body is known as JSON.
    pub fn request(&self, json: &Value) -> Result<Request, HttpError> {
        let Self { caller, key, method, path, trace, deadline } = self;
        let fingerprint = Fingerprint::of_json(method.as_str(), path, json);
        Ok(Request {
            caller: caller.clone(),
            key: key.clone(),
            fingerprint: fingerprint.map_err(|error| HttpError::unexpected(&error))?,
            trace: trace.clone(),
            deadline: *deadline,
        })
    }
}

impl<S: Sync> FromRequestParts<S> for KeyedParts {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, HttpError> {
        Self::of(parts)
    }
}

fn key(headers: &HeaderMap) -> Result<IdempotencyKey, HttpError> {
    let key = headers.get(HEADER).ok_or_else(|| HttpError::field(HEADER, "header is required"))?;
    let text = key.to_str().map_err(|_| HttpError::field(HEADER, NotAKey))?;
    IdempotencyKey::parse(text).map_err(|not| HttpError::field(HEADER, not))
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use serde_json::json;

    use super::*;

    fn request(key: Option<&str>, media_type: &str, caller: Option<&str>) -> HttpRequest {
        let mut request = HttpRequest::post("/loans").header("content-type", media_type);
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let mut request = request.body(Body::from(r#"{"copy": "QA76"}"#)).expect("a request");
        if let Some(subject) = caller {
            request.extensions_mut().insert(Caller { issuer: "i".to_owned(), subject: subject.to_owned() });
        }
        request
    }

    async fn keyed(request: HttpRequest) -> Result<Keyed<Value>, HttpError> {
        Keyed::from_request(request, &()).await
    }

    #[tokio::test]
    async fn a_request_is_its_caller_its_key_and_what_it_asks_for() {
        let Keyed { request: found, body } =
            keyed(request(Some("k-1"), "application/json", Some("ada"))).await.expect("a request");
        assert_eq!((found.caller.subject.as_str(), found.key.as_str()), ("ada", "k-1"));
        assert_eq!(body, json!({"copy": "QA76"}));
        let expected = Fingerprint::of_json("POST", "/loans", &body).expect("a fingerprint");
        assert_eq!((found.fingerprint, found.deadline), (expected, None));
    }

    #[tokio::test]
    async fn who_calls_is_asked_before_the_key_and_the_key_before_the_body() {
        for (given, code) in [
            (request(None, "text/plain", None), ErrorCode::UNAUTHENTICATED),
            (request(None, "text/plain", Some("ada")), ErrorCode::BAD_REQUEST),
            (request(Some("a b"), "text/plain", Some("ada")), ErrorCode::BAD_REQUEST),
            (request(Some("k"), "text/plain", Some("ada")), ErrorCode::UNSUPPORTED_MEDIA_TYPE),
        ] {
            assert_eq!(keyed(given).await.expect_err("refused").code(), code);
        }
        let refused = keyed(request(None, "application/json", Some("ada"))).await.expect_err("refused");
        assert_eq!(refused.message(), "Idempotency-Key: header is required");
    }

    #[tokio::test]
    async fn no_attempt_starts_after_lambdas_deadline() {
        let mut given = request(Some("k"), "application/json", Some("ada"));
        let mut context = lambda_http::Context::default();
        context.deadline = u64::MAX / 2;
        given.extensions_mut().insert(context);
        assert!(keyed(given).await.expect("a request").request.deadline.is_some());
    }
}
