//! What rows are checked against, and how fast they are read.

use std::num::NonZeroU16;
use std::time::Duration;

use domain::Time;
use runtime::{BadSetting, Settings};

/// Rows that expire within this time are not checked: what they refer to may be gone already.
const SOON: Duration = Duration::from_secs(3_600);

/// What may be unfinished or expired.
#[derive(Debug, Clone)]
pub struct Terms {
    /// How long after its due time something may be unfinished.
    pub grace: Duration,
    /// Events recorded before this time are not checked against the routes of this build.
    pub since: Option<Time>,
    /// The retention of published events. Unlimited if `None`.
    pub events_kept: Option<Duration>,
    /// The retention of processed marks.
    pub marks_kept: Duration,
    /// The retention of notifications and finished sends. Unlimited if `None`.
    pub notifications_kept: Option<Duration>,
}

impl Terms {
    /// Reads the retention settings of the functions.
    pub fn from_settings(settings: &Settings, grace: Duration) -> Result<Self, BadSetting> {
        Ok(Self {
            grace,
            since: None,
            events_kept: settings.event_retention()?,
            marks_kept: settings.processed_retention()?,
            notifications_kept: settings.notification_retention()?,
        })
    }

    /// Whether something due at this time should be finished.
    pub(crate) fn is_overdue(&self, due: Time, now: Time) -> bool {
        due.plus(self.grace) < now
    }

    /// Whether events of this time were routed by this build.
    pub(crate) fn is_routed(&self, recorded_at: Time) -> bool {
        self.since.is_none_or(|since| recorded_at >= since)
    }

    /// Whether an event of this time must still exist.
    pub(crate) fn keeps_event(&self, recorded_at: Time, now: Time) -> bool {
        is_kept(recorded_at, self.events_kept, now)
    }

    /// Whether a mark of this time must still exist.
    pub(crate) fn keeps_mark(&self, processed_at: Time, now: Time) -> bool {
        is_kept(processed_at, Some(self.marks_kept), now)
    }

    /// Whether a dead letter handled at this time must still exist.
    pub(crate) fn keeps_letter(&self, handled_at: Time, now: Time) -> bool {
        is_kept(handled_at, Some(ledger::survey::DEAD_LETTERS_KEPT), now)
    }

    /// Whether a notification of this time must still exist.
    pub(crate) fn keeps_told(&self, told_at: Time, now: Time) -> bool {
        is_kept(told_at, self.notifications_kept, now)
    }
}

fn is_kept(since: Time, kept: Option<Duration>, now: Time) -> bool {
    kept.is_none_or(|kept| !is_expiring(Some(since.plus(kept)), now))
}

/// Whether DynamoDB has deleted it or will soon.
pub(crate) fn is_expiring(expires_at: Option<Time>, now: Time) -> bool {
    expires_at.is_some_and(|expires_at| expires_at <= now.plus(SOON))
}

/// How fast the tables are read.
#[derive(Debug, Clone)]
pub struct Pace {
    /// How many segments of a table are read concurrently.
    pub segments: NonZeroU16,
    /// The most rows per second, over all segments.
    pub rows_per_second: Option<NonZeroU16>,
    /// The pause before suspects are checked again.
    pub settle: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { segments: NonZeroU16::MIN, rows_per_second: None, settle: Duration::from_secs(1) }
    }
}

/// The progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The table, or the step.
    pub table: &'a str,
    /// The rows so far.
    pub rows: u64,
    /// The suspects, or the violations once the table is done.
    pub suspects: usize,
    /// Whether the table is done.
    pub done: bool,
}
