//! Under which terms the tables are judged, and how fast they are read.

use std::num::NonZeroU16;
use std::time::Duration;

use domain::Time;
use runtime::{BadSetting, Settings};

/// What stands shortly before its expiry is not held to anything: what belongs to it was written moments before, and may
/// be gone moments earlier.
const SOON: Duration = Duration::from_secs(3_600);

/// What may be under way, and what may have expired.
#[derive(Debug, Clone)]
pub struct Terms {
    /// How long after its time something may still be under way.
    pub grace: Duration,
    /// What was recorded before is not held to the routes of this build, which may be newer.
    pub since: Option<Time>,
    /// How long published events are kept; for ever without it.
    pub events_kept: Option<Duration>,
    /// How long processed marks are kept.
    pub marks_kept: Duration,
    /// How long notifications and ended sends are kept; for ever without it.
    pub notifications_kept: Option<Duration>,
}

impl Terms {
    /// Reads how long things are kept from the same settings as the functions do.
    pub fn from_settings(settings: &Settings, grace: Duration) -> Result<Self, BadSetting> {
        Ok(Self {
            grace,
            since: None,
            events_kept: settings.event_retention()?,
            marks_kept: settings.processed_retention()?,
            notifications_kept: settings.notification_retention()?,
        })
    }

    /// Whether something whose time was `due` should be done by now.
    pub(crate) fn is_overdue(&self, due: Time, now: Time) -> bool {
        due.plus(self.grace) < now
    }

    /// Whether the routes of this build are those that something of this time went by.
    pub(crate) fn is_routed(&self, recorded_at: Time) -> bool {
        self.since.is_none_or(|since| recorded_at >= since)
    }

    /// Whether an event of this age must still be there.
    pub(crate) fn keeps_event(&self, recorded_at: Time, now: Time) -> bool {
        is_kept(recorded_at, self.events_kept, now)
    }

    /// Whether a mark of this age must still be there.
    pub(crate) fn keeps_mark(&self, processed_at: Time, now: Time) -> bool {
        is_kept(processed_at, Some(self.marks_kept), now)
    }

    /// Whether a dead letter that was handled at this time must still be there.
    pub(crate) fn keeps_letter(&self, handled_at: Time, now: Time) -> bool {
        is_kept(handled_at, Some(ledger::survey::DEAD_LETTERS_KEPT), now)
    }

    /// Whether what was told at this time must still be there.
    pub(crate) fn keeps_told(&self, told_at: Time, now: Time) -> bool {
        is_kept(told_at, self.notifications_kept, now)
    }
}

fn is_kept(since: Time, kept: Option<Duration>, now: Time) -> bool {
    kept.is_none_or(|kept| !is_going(Some(since.plus(kept)), now))
}

/// Whether DynamoDB has deleted it, or will before long.
pub(crate) fn is_going(expires_at: Option<Time>, now: Time) -> bool {
    expires_at.is_some_and(|expires_at| expires_at <= now.plus(SOON))
}

/// How fast the tables are read.
#[derive(Debug, Clone)]
pub struct Pace {
    /// How many parts of a table are read side by side.
    pub segments: NonZeroU16,
    /// How many rows a second at most, all segments together.
    pub rows_per_second: Option<NonZeroU16>,
    /// How long to wait before suspects are looked at again.
    pub settle: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { segments: NonZeroU16::MIN, rows_per_second: None, settle: Duration::from_secs(1) }
    }
}

/// How far the reading has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The table, or what is done with it.
    pub table: &'a str,
    /// Its rows so far.
    pub rows: u64,
    /// How many of them look wrong and will be looked at again, or are.
    pub suspects: usize,
    /// Whether the table is done.
    pub done: bool,
}
