//! Pages of lists: `limit` (1 to 100, 50 by default) and an opaque `cursor`.

use std::collections::HashMap;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use belfry_aws::Timestamp;

use crate::error::HttpError;
use crate::extract::InQuery;

/// The page of a list that a request asks for: the query parameters `limit` and `cursor`.
#[derive(Debug)]
pub struct Paging {
    /// The most rows that the page may have.
    pub limit: u16,
    /// The sort key of the row that the page starts after.
    pub after: Option<String>,
}

impl Paging {
    /// Checks that the cursor of a list in time order holds a time and an id, as in `2026-01-31T12:00:00.000Z#7`.
    pub fn check_time_order(&self) -> Result<(), HttpError> {
        let Some(after) = &self.after else { return Ok(()) };
        let is_row = after.split_once('#').is_some_and(|(time, id)| {
            let is_time = Timestamp::parse(time).is_ok_and(|parsed| parsed.to_string() == time);
            is_time && !id.is_empty() && id.is_ascii()
        });
        if is_row { Ok(()) } else { Err(bad_cursor()) }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Paging {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpError> {
        let InQuery(query) = InQuery::<HashMap<String, String>>::from_request_parts(parts, state).await?;
        let limit = match query.get("limit") {
            None => 50,
            Some(text) => {
                let limit = text.parse().ok().filter(|limit| (1..=100).contains(limit));
                limit.ok_or_else(|| HttpError::field("limit", "must be a whole number from 1 to 100"))?
            }
        };
        let after = query.get("cursor").map(|cursor| read_cursor(cursor)).transpose()?;
        Ok(Self { limit, after })
    }
}

/// The cursor of the page that starts after the row with this sort key. It holds the sort key alone: the partition comes
/// from the request's path and token, so a cursor leads nobody into another caller's list.
pub fn cursor(sort_key: &str) -> String {
    URL_SAFE_NO_PAD.encode(sort_key)
}

fn read_cursor(cursor: &str) -> Result<String, HttpError> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok();
    let key = bytes.and_then(|bytes| String::from_utf8(bytes).ok()).filter(|key| (1..=1024).contains(&key.len()));
    key.ok_or_else(bad_cursor)
}

/// The error for a cursor that no response contained.
pub fn bad_cursor() -> HttpError {
    HttpError::field("cursor", "must be a cursor from a previous response")
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    async fn paging(query: &str) -> Result<Paging, HttpError> {
        let (mut parts, ()) = Request::get(format!("/?{query}")).body(()).expect("a request").into_parts();
        Paging::from_request_parts(&mut parts, &()).await
    }

    #[tokio::test]
    async fn a_page_has_a_limit_and_may_start_after_a_row() {
        let first = paging("").await.expect("a page");
        assert_eq!((first.limit, first.after), (50, None));
        let next = paging(&format!("limit=3&cursor={}", cursor("row#7"))).await.expect("a page");
        assert_eq!((next.limit, next.after.as_deref()), (3, Some("row#7")));
        assert!(next.check_time_order().is_err());
        let in_time = paging(&format!("cursor={}", cursor("2026-01-31T12:00:00.000Z#7"))).await.expect("a page");
        assert!(in_time.check_time_order().is_ok());
        for wrong in ["limit=0", "limit=101", "limit=many", "cursor=%21", "cursor="] {
            assert!(paging(wrong).await.is_err(), "{wrong}");
        }
    }
}
