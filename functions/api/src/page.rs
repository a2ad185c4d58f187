//! Lists: `limit` (1 to 100, 50 by default) and an opaque `cursor`.

use std::collections::HashMap;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::Time;

use crate::asked::InQuery;
use crate::error::ApiError;

/// Which page of a list is asked for.
#[derive(Debug)]
pub struct Paging {
    /// How many rows at most.
    pub limit: u16,
    /// Begin behind the row of this sort key.
    pub after: Option<String>,
}

impl<S: Send + Sync> FromRequestParts<S> for Paging {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let InQuery(query) = InQuery::<HashMap<String, String>>::from_request_parts(parts, state).await?;
        let limit = match query.get("limit") {
            None => 50,
            Some(text) => {
                let limit = text.parse().ok().filter(|limit| (1..=100).contains(limit));
                limit.ok_or_else(|| ApiError::field("limit", "must be a whole number from 1 to 100"))?
            }
        };
        let after = query.get("cursor").map(|cursor| read_cursor(cursor)).transpose()?;
        Ok(Self { limit, after })
    }
}

/// The cursor behind a row. It holds the row's sort key alone: the partition comes from the request's own path
/// and token, so a cursor leads nobody into another user's list.
pub fn cursor(sort_key: &str) -> String {
    URL_SAFE_NO_PAD.encode(sort_key)
}

fn read_cursor(cursor: &str) -> Result<String, ApiError> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok();
    let key = bytes.and_then(|bytes| String::from_utf8(bytes).ok()).filter(|key| (1..=1024).contains(&key.len()));
    key.ok_or_else(bad_cursor)
}

/// The refusal of a cursor that no answer gave.
pub fn bad_cursor() -> ApiError {
    ApiError::field("cursor", "must be a cursor that an answer gave")
}

/// Checks the place that a cursor of a list in time order holds: a time, and an id.
pub fn place(after: Option<&str>) -> Result<(), ApiError> {
    let is_place = |after: &str| {
        let (time, id) = after.split_once('#')?;
        (Time::parse(time).is_ok_and(|parsed| parsed.to_string() == time) && !id.is_empty() && id.is_ascii())
            .then_some(())
    };
    after.map_or(Some(()), is_place).ok_or_else(bad_cursor)
}
