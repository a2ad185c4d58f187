//! `POST /v1/unsubscribe/{signed}`: what a mail program calls when its reader clicks "unsubscribe" (RFC 8058). No token
//! and no key: the link is signed, and unsubscribing twice is unsubscribing.
//!
//! One read, one write of the recipient. From then on no mail of any kind goes to them; what else they wish stays, and
//! `PUT /v1/inbox/preferences` takes it back.

use axum::Json;
use axum::extract::State;
use axum::response::Html;
use belfry_http::InPath;
use domain::recipient::{Channel, Recipient};
use domain::unsubscribe::UnsubscribeKey;
use domain::{Audience, UserId};
use runtime::secrets::Versions;
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::error::{ApiError, Code, ErrorBody};
use crate::{Api, Shared};

/// Stops all mail to the recipient whom the link names.
#[utoipa::path(
    post,
    path = "/v1/unsubscribe/{signed}",
    params(("signed" = String, Path, description = "as in the mail's List-Unsubscribe header")),
    security(()),
    responses((status = 200, body = Unsubscribed), (status = 404, body = ErrorBody), (status = 503, body = ErrorBody))
)]
pub async fn unsubscribe(State(api): Shared, InPath(signed): InPath<String>) -> Result<Json<Unsubscribed>, ApiError> {
    let (audience, user_id) = api.named(&signed).await?;
    let opt_out = |recipient: &Recipient| {
        let details = recipient.details.opted_out_of(Channel::Email);
        (details != recipient.details).then(|| Recipient { details, ..recipient.clone() })
    };
    // A recipient who is gone gets no mail either.
    api.recipients.amend(&api.commands.ledger, (audience, &user_id), opt_out).await?;
    Ok(Json(Unsubscribed { unsubscribed: true }))
}

/// For mail programs that open the link instead: a page with the button. Nothing changes by looking at it, since
/// programs that check mail for dangers look at every link.
#[utoipa::path(
    get,
    path = "/v1/unsubscribe/{signed}",
    params(("signed" = String, Path)),
    security(()),
    responses(
        (status = 200, content_type = "text/html", body = String),
        (status = 404, body = ErrorBody),
        (status = 503, body = ErrorBody),
    )
)]
pub async fn ask_to_unsubscribe(
    State(api): Shared,
    InPath(signed): InPath<String>,
) -> Result<Html<&'static str>, ApiError> {
    api.named(&signed).await?;
    Ok(Html(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>Unsubscribe</title><p>Stop all mail to this address?</p>\
         <form method=\"post\"><button>Unsubscribe</button></form></html>",
    ))
}

/// The answer, for whoever reads it.
#[derive(Debug, Serialize, ToSchema)]
pub struct Unsubscribed {
    unsubscribed: bool,
}

impl Api {
    /// Whom a link names: it was signed with the current version of the secret, or with the one before.
    async fn named(&self, signed: &str) -> Result<(Audience, UserId), ApiError> {
        if let Some(named) = named_by(&self.unsubscribe_secret.versions().await?, signed) {
            return Ok(named);
        }
        // Whoever signs may know of a rotation already.
        let named = named_by(&self.unsubscribe_secret.refetched().await?, signed);
        named.ok_or_else(|| ApiError::new(Code::NotFound, "no such link"))
    }
}

fn named_by(keys: &Versions<UnsubscribeKey>, signed: &str) -> Option<(Audience, UserId)> {
    std::iter::once(&keys.current).chain(&keys.previous).find_map(|key| key.open(signed))
}
