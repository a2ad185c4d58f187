//! The application of these tests: a library that lends copies of books.

use belfry_aws::{
    Command, Commit, Context, Entity, Found, Get, Keep, Payload, Refusal, Stored, StoredResponse, entity,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Copy {
    pub shelf_mark: String,
    pub reader: Option<String>,
}
entity!(Copy in "copies" by shelf_mark);

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BookBorrowed {
    pub shelf_mark: String,
    pub reader: String,
}

impl Payload for BookBorrowed {
    const TYPE: &'static str = "BookBorrowed";
    type Of = Copy;

    fn subject(&self) -> &str {
        &self.shelf_mark
    }
}

#[derive(Debug, thiserror::Error)]
pub enum NotLent {
    #[error("lent to {0}")]
    LentTo(String),
    #[error("{0} may not borrow")]
    Blocked(String),
    #[error("the shelf is being sorted")]
    Busy,
}

impl Refusal for NotLent {
    fn keep(&self) -> Keep {
        match self {
            Self::LentTo(_) => Keep::Store,
            Self::Blocked(_) => Keep::DoNotStore,
            Self::Busy => Keep::RetryLater,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Borrow {
    pub shelf_mark: String,
    pub reader: String,
}

impl Command for Borrow {
    const NAME: &'static str = "borrow";
    type Reads = Get<Copy>;
    type Output = u64;
    type Refusal = NotLent;

    fn reads(&self) -> Get<Copy> {
        Copy::by_id(&self.shelf_mark).assume_absent()
    }

    fn decide(&self, copy: Found<Self>, ctx: &Context) -> Result<Commit<u64>, NotLent> {
        if self.reader == "thief" {
            return Err(NotLent::Blocked(self.reader.clone()));
        }
        if let Some(reader) = copy.as_ref().and_then(|copy| copy.reader.clone()) {
            return Err(if reader == "sorter" { NotLent::Busy } else { NotLent::LentTo(reader) });
        }
        let lent = Copy { shelf_mark: self.shelf_mark.clone(), reader: Some(self.reader.clone()) };
        let lent = belfry_aws::Revision::of(copy.as_ref(), lent);
        let event = BookBorrowed { shelf_mark: self.shelf_mark.clone(), reader: self.reader.clone() };
        Ok(ctx.commit().put(&lent).event(event).output(lent.version()))
    }
}

pub fn borrow(shelf_mark: &str, reader: &str) -> Borrow {
    Borrow { shelf_mark: shelf_mark.to_owned(), reader: reader.to_owned() }
}

pub fn respond(end: Result<&u64, &NotLent>) -> StoredResponse {
    match end {
        Ok(version) => StoredResponse::json(201, version),
        Err(refusal) => StoredResponse::json(409, &refusal.to_string()),
    }
}

/// Returns a copy.
pub struct Return(pub String);

impl Command for Return {
    const NAME: &'static str = "return";
    type Reads = Get<Copy>;
    type Output = u64;
    type Refusal = std::convert::Infallible;

    fn reads(&self) -> Get<Copy> {
        Copy::by_id(&self.0)
    }

    fn decide(&self, copy: Option<Stored<Copy>>, ctx: &Context) -> Result<Commit<u64>, Self::Refusal> {
        let Some(copy) = copy else { return Ok(ctx.commit().output(0)) };
        let returned = copy.becomes(Copy { reader: None, ..Copy::clone(&copy) });
        Ok(ctx.commit().put(&returned).output(returned.version()))
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Reminder {
    pub reader: String,
    pub shelf_mark: String,
}
entity!(Reminder in "reminders" by (reader, shelf_mark));

pub const TABLES: [belfry_aws::Table; 2] = [Copy::TABLE, Reminder::TABLE];
