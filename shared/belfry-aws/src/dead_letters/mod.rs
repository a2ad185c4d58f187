//! Dead letters: recording, listing and redriving the messages that consumers gave up on.

mod function;
mod list;
mod record;
mod redrive;

pub use function::{DeadLetters, dead_letters};
pub use list::Order;
pub use record::{CRASHED, RecordDeadLetter, Recorder, recorder};
pub use redrive::{ATTRIBUTE as REDRIVE_ATTRIBUTE, QUEUE as REDRIVES, Redrive, Redriver, redriver};
