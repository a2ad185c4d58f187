//! `POST /suggestions`: a plain handler. What it returns is committed with the key and the response.

use belfry_aws::{Belfry, StoredResponse, entity};
use belfry_http::Keyed;
use belfry_http::axum::extract::State;
use serde::{Deserialize, Serialize};

/// A book that a reader wants the library to buy.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Suggestion {
    /// Its id.
    pub id: String,
    /// The book.
    pub title: String,
}
entity!(Suggestion in "suggestions" by id);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suggest {
    title: String,
}

pub async fn post(State(belfry): State<Belfry>, Keyed { request, body }: Keyed<Suggest>) -> belfry_http::Result {
    let title = &body.title;
    let executed = belfry.idempotent(&request, async |tx| {
        // Derived from the execution: the same in every attempt.
        let suggestion = Suggestion { id: tx.id(0).to_string(), title: title.clone() };
        Ok(tx.commit().create(&suggestion).output(StoredResponse::json(201, &suggestion)))
    });
    Ok(executed.await?.into())
}
