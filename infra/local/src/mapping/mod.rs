//! Event source mappings and schedules: what Lambda runs between an event source and a function.

mod attribute;
mod checkpoint;
mod filter;
mod queue;
mod redelivery;
mod schedule;
mod scheduled;
mod stream;
mod stream_batch;

pub use filter::{Filter, FilterError, passes};
pub use schedule::{Schedule, ScheduleError};

pub(crate) use checkpoint::Checkpoints;
pub(crate) use queue::QueuePoller;
pub(crate) use redelivery::{Redelivered, redeliver};
pub(crate) use scheduled::Scheduled;
pub(crate) use stream::{Drained, StreamPoller};
pub(crate) use stream_batch::OnFailure;
