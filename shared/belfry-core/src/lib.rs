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

/// Declares an enum of payloads, for consumers that accept several event types.
///
/// ```
/// # use belfry_core::{entity, messages, Message, Payload};
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Serialize, Deserialize)] struct Copy { shelf_mark: String }
/// # entity!(Copy in "copies" by shelf_mark);
/// # macro_rules! payload { ($name:ident) => {
/// #     #[derive(Serialize, Deserialize)] struct $name { shelf_mark: String }
/// #     impl Payload for $name {
/// #         const TYPE: &'static str = stringify!($name);
/// #         type Of = Copy;
/// #         fn subject(&self) -> &str { &self.shelf_mark }
/// #     }
/// # } }
/// # payload!(BookBorrowed);
/// # payload!(BookReturned);
/// messages! {
///     /// What the reminders are told.
///     enum Loan {
///         BookBorrowed,
///         BookReturned,
///     }
/// }
/// assert_eq!(Loan::TYPES, ["BookBorrowed", "BookReturned"]);
/// ```
#[macro_export]
macro_rules! messages {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$about:meta])* $payload:ident),+ $(,)? }) => {
        $(#[$meta])*
        $vis enum $name {
            $($(#[$about])* $payload($payload)),+
        }

        impl $crate::Message for $name {
            const TYPES: &'static [&'static str] = &[$(<$payload as $crate::Payload>::TYPE),+];

            fn read(event: &$crate::Event) -> ::core::result::Result<Self, ::serde_json::Error> {
                match event.event_type.as_str() {
                    $(<$payload as $crate::Payload>::TYPE => $crate::Message::read(event).map(Self::$payload),)+
                    other => Err(<::serde_json::Error as ::serde::de::Error>::unknown_variant(
                        other,
                        <Self as $crate::Message>::TYPES,
                    )),
                }
            }
        }
    };
}
