//! Table of recipients: one item per user type and user.

use domain::id::compose;
use domain::recipient::Recipient;
use domain::{Audience, UserId};
use serde::Serialize;

use crate::Ledger;
use crate::attempt::{Fate, fate};
use crate::error::LedgerError;
use crate::item::to_item;

/// The table.
#[derive(Debug, Clone)]
pub struct Recipients {
    table: String,
}

#[derive(Serialize)]
struct Row<'a> {
    recipient: String,
    #[serde(flatten)]
    details: &'a Recipient,
}

/// The text that names a recipient in keys.
pub(crate) fn recipient_key(audience: Audience, user_id: &UserId) -> String {
    compose(&[audience.as_str(), user_id.as_str()])
}

impl Recipients {
    /// The table of this name.
    pub fn new(table: impl Into<String>) -> Self {
        Self { table: table.into() }
    }

    /// Stores the recipient in place of what stands there.
    pub async fn put(&self, ledger: &Ledger, recipient: &Recipient) -> Result<(), LedgerError> {
        let row = Row { recipient: recipient_key(recipient.user_type, &recipient.user_id), details: recipient };
        let item = to_item(&row)?;
        ledger
            .attempt(|| async {
                match ledger.client.put_item().table_name(&self.table).set_item(Some(item.clone())).send().await {
                    Ok(_) => Fate::Done(()),
                    Err(error) => fate(&error),
                }
            })
            .await
    }
}
