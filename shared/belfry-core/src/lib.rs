#![doc = include_str!("../README.md")]

pub mod backoff;
mod command;
pub mod commit;
mod context;
pub mod dead_letter;
pub mod endpoint;
mod entity;
pub mod envelope;
mod event;
pub mod id;
pub mod item;
mod read;
mod request;
pub mod saga;
pub mod settings;
mod time;
mod trace;

pub use backoff::{Backoff, RetryPolicy};
pub use command::{Command, Failure, Found, Keep, Refusal};
pub use commit::{Change, Commit, Write};
pub use context::{Context, derived_id, execution_of};
pub use dead_letter::DeadLetter;
pub use entity::{Entity, Revision, Stored, VERSION, WRITTEN_BY};
pub use event::{Event, EventDraft, IntoEvent, Message, Never, OutboxStatus, Payload, Stamp};
pub use id::EventId;
pub use item::{AttributeValue, Corrupt, Item, Key, Place, Table, Unwritable};
pub use read::{FoundItems, Get, GetItem, GetRow, ReadSet, Wanted, get};
pub use request::{Caller, Fingerprint, IdempotencyKey, NotAKey, Request, StoredResponse};
pub use saga::Step;
pub use settings::{BadSetting, BadSettings, Settings};
pub use time::{NotATimestamp, Timestamp};
pub use trace::{NotATrace, Trace};

/// Implements [`Entity`] for a type whose key attributes are `String` fields.
///
/// ```
/// use belfry_core::entity;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Copy {
///     shelf_mark: String,
///     reader: String,
/// }
/// entity!(Copy in "copies" by shelf_mark);
///
/// #[derive(Serialize, Deserialize)]
/// struct Reminder {
///     reader: String,
///     shelf_mark: String,
/// }
/// entity!(Reminder in "reminders" by (reader, shelf_mark));
/// ```
#[macro_export]
macro_rules! entity {
    ($type:ident in $table:literal by $hash:ident) => {
        impl $crate::Entity for $type {
            const TABLE: $crate::Table = $crate::Table::new($table, stringify!($hash));
            const KIND: &'static str = stringify!($type);
            type Id<'a> = &'a str;

            fn key(id: &str) -> $crate::Key {
                id.into()
            }

            fn id(&self) -> &str {
                &self.$hash
            }
        }
    };
    ($type:ident in $table:literal by ($hash:ident, $range:ident)) => {
        impl $crate::Entity for $type {
            const TABLE: $crate::Table = $crate::Table::new($table, stringify!($hash)).range(stringify!($range));
            const KIND: &'static str = stringify!($type);
            type Id<'a> = (&'a str, &'a str);

            fn key((hash, range): (&str, &str)) -> $crate::Key {
                $crate::Key::pair(hash, range)
            }

            fn id(&self) -> (&str, &str) {
                (&self.$hash, &self.$range)
            }
        }
    };
}
