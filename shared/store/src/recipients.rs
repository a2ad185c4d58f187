//! Recipients, as decisions read them.

use belfry_aws::id::compose;
use belfry_aws::{GetRow, Table};
use domain::recipient::Recipient;
use domain::{Audience, UserId};

/// The table.
pub const TABLE: Table = Table::new("recipients", "recipient");

/// Reads a recipient's record.
pub type RecipientRecord = GetRow<Recipient>;

/// Reads the record of this recipient.
pub fn by_id(audience: Audience, user_id: &UserId) -> RecipientRecord {
    TABLE.at(compose(&[audience.as_str(), user_id.as_str()])).read_as()
}
