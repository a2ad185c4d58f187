//! `POST /loans`: lends a copy to a reader, once per idempotency key.
//!
//! One round trip, three items: the copy, the event, the response.

use belfry_aws::{
    Belfry, Command, Commit, Context, Entity, Found, Get, Keep, Payload, Refusal, StoredResponse, entity,
};
use belfry_http::axum::extract::State;
use belfry_http::{ErrorCode, HttpError, Keyed};
use serde::{Deserialize, Serialize};

/// A copy of a book that is lent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Copy {
    /// Where it stands when it is there.
    pub shelf_mark: String,
    /// Who has it.
    pub reader: String,
}
entity!(Copy in "copies" by shelf_mark);

/// A copy was lent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BookBorrowed {
    /// The copy.
    pub shelf_mark: String,
    /// Who has it.
    pub reader: String,
}

impl Payload for BookBorrowed {
    const TYPE: &'static str = "BookBorrowed";
    type Of = Copy;

    fn subject(&self) -> &str {
        &self.shelf_mark
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Borrow {
    shelf_mark: String,
    reader: String,
}

#[derive(Debug, thiserror::Error)]
#[error("lent to {0}")]
pub struct LentTo(String);

impl Refusal for LentTo {
    fn keep(&self) -> Keep {
        Keep::Store
    }
}

pub async fn post(State(belfry): State<Belfry>, Keyed { request, body }: Keyed<Borrow>) -> belfry_http::Result {
    let executed = belfry.execute(&request, &body, |end| match end {
        Ok(copy) => StoredResponse::json(201, copy),
        Err(lent) => HttpError::new(ErrorCode::new(409, "ALREADY_LENT"), lent.to_string()).stored(),
    });
    Ok(executed.await?.into())
}

impl Command for Borrow {
    const NAME: &'static str = "borrow";
    type Reads = Get<Copy>;
    type Output = Copy;
    type Refusal = LentTo;

    fn reads(&self) -> Get<Copy> {
        Copy::by_id(&self.shelf_mark).assume_absent()
    }

    fn decide(&self, lent: Found<Self>, ctx: &Context) -> Result<Commit<Copy>, LentTo> {
        if let Some(copy) = lent {
            return Err(LentTo(copy.reader.clone()));
        }
        let copy = Copy { shelf_mark: self.shelf_mark.clone(), reader: self.reader.clone() };
        let event = BookBorrowed { shelf_mark: self.shelf_mark.clone(), reader: self.reader.clone() };
        Ok(ctx.commit().create(&copy).event(event).output(copy))
    }
}
