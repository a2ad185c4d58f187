//! Reads each table page by page, with the related rows of each page, and then the suspects again.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use domain::Time;
use futures_util::future::try_join_all;
use ledger::survey::{Place, Segment, Survey, Unreadable, Whole};
use ledger::{Key, LedgerError};

use crate::ReadError;
use crate::check::{Check, Notes};
use crate::finding::{Finding, Invariant};
use crate::report::Report;
use crate::terms::{Pace, Progress, Terms};

/// The page size. Each segment holds one page and its related rows in memory.
const PAGE: u16 = 100;

/// The page size if no rows are kept.
const PAGE_OF_WHOLE: u16 = 500;

/// How often suspects are checked again.
const ROUNDS: u32 = 3;

/// The most suspects of a table that are checked again.
const MOST_SUSPECTS: usize = 10_000;

/// A run.
pub(crate) struct Walk<'a> {
    pub survey: &'a Survey,
    pub pace: &'a Pace,
    pub report: Report,
    terms: &'a Terms,
    on_progress: &'a dyn Fn(&Progress<'_>),
}

#[derive(Default)]
struct Shared {
    rows: Cell<u64>,
    suspects: RefCell<Vec<Key>>,
    notes: RefCell<Notes>,
}

impl<'a> Walk<'a> {
    pub fn new(survey: &'a Survey, terms: &'a Terms, pace: &'a Pace, on_progress: &'a dyn Fn(&Progress<'_>)) -> Self {
        Self { survey, pace, report: Report::default(), terms, on_progress }
    }

    pub async fn table<C: Check>(&mut self) -> Result<(), ReadError> {
        let table = C::table(self.survey).name().to_owned();
        let read_error = |source| ReadError { table: table.clone(), source };
        let shared = Shared::default();
        let of = self.pace.segments.get();
        let segments = (0..of).map(|index| self.segment::<C>(Segment { index, of }, &shared));
        try_join_all(segments).await.map_err(read_error)?;
        let Shared { rows, suspects, notes } = shared;
        let (notes, mut suspects) = (notes.into_inner(), suspects.into_inner());
        self.report.not_looked_at += suspects.len().saturating_sub(MOST_SUSPECTS) as u64;
        suspects.truncate(MOST_SUSPECTS);
        let findings = self.again::<C>(suspects).await.map_err(read_error)?;
        self.progress(&table, rows.get(), findings.len(), true);
        self.report.findings.extend(findings);
        self.report.rows.insert(table, rows.get());
        self.report.waiting += notes.waiting;
        self.report.under_way += notes.in_progress;
        for (currency, more) in notes.money {
            let money = self.report.money.entry(currency).or_default();
            money.charged += more.charged;
            money.completed += more.completed;
        }
        Ok(())
    }

    pub fn progress(&self, table: &str, rows: u64, suspects: usize, done: bool) {
        (self.on_progress)(&Progress { table, rows, suspects, done });
    }

    /// The shortest time for a page of a segment that keeps all segments within the rate.
    fn beat(&self, page: u16) -> Duration {
        let rows = f64::from(page) * f64::from(self.pace.segments.get());
        self.pace.rows_per_second.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(rows / f64::from(rate.get())))
    }

    /// Calls `each` for every readable row of a table, at the same pace.
    pub async fn whole<T>(&self, table: &Whole<T>, what: &str, each: impl FnMut(&T)) -> Result<u64, LedgerError> {
        let (rows, each) = (Cell::new(0), RefCell::new(each));
        let (rows, each, of) = (&rows, &each, self.pace.segments.get());
        let segments = (0..of).map(|index| async move {
            let mut place = Some(Place::beginning(Segment { index, of }));
            while let Some(from) = place {
                let beat = tokio::time::Instant::now() + self.beat(PAGE_OF_WHOLE);
                let slice = self.survey.page(table, &from, PAGE_OF_WHOLE).await?;
                rows.set(rows.get() + slice.rows.len() as u64);
                slice.rows.iter().flatten().for_each(|seen| (each.borrow_mut())(&seen.row));
                self.progress(what, rows.get(), 0, false);
                place = slice.next;
                tokio::time::sleep_until(beat).await;
            }
            Ok::<(), LedgerError>(())
        });
        try_join_all(segments).await?;
        Ok(rows.get())
    }

    async fn segment<C: Check>(&self, segment: Segment, shared: &Shared) -> Result<(), LedgerError> {
        let table = C::table(self.survey);
        let mut place = Some(Place::beginning(segment));
        while let Some(from) = place {
            let beat = tokio::time::Instant::now() + self.beat(PAGE);
            let slice = self.survey.page(table, &from, PAGE).await?;
            shared.rows.set(shared.rows.get() + slice.rows.len() as u64);
            let mut readable = Vec::with_capacity(slice.rows.len());
            for row in slice.rows {
                match row {
                    Ok(seen) => readable.push(seen),
                    Err(Unreadable { key, .. }) => shared.suspects.borrow_mut().push(key),
                }
            }
            for (key, case) in C::beside(self.survey, readable).await? {
                let mut notes = shared.notes.borrow_mut();
                let before = notes.broken.len();
                case.check(self.terms, Time::now(), &mut notes);
                if notes.broken.len() > before {
                    // Reported only if it is still wrong when it is checked again.
                    notes.broken.truncate(before);
                    shared.suspects.borrow_mut().push(key);
                }
            }
            self.progress(table.name(), shared.rows.get(), shared.suspects.borrow().len(), false);
            place = slice.next;
            tokio::time::sleep_until(beat).await;
        }
        Ok(())
    }

    /// Checks suspects again and returns those that were wrong each time.
    async fn again<C: Check>(&self, mut suspects: Vec<Key>) -> Result<Vec<Finding>, LedgerError> {
        let table = C::table(self.survey);
        let mut findings = Vec::new();
        for _ in 0..ROUNDS {
            if suspects.is_empty() {
                return Ok(Vec::new());
            }
            tokio::time::sleep(self.pace.settle).await;
            findings = Vec::new();
            let mut still = Vec::new();
            for some in suspects.chunks(PAGE.into()) {
                let found = self.survey.read(some.iter().cloned()).await?;
                let mut readable = Vec::new();
                for key in some {
                    match table.among(&found, key) {
                        None => {}
                        Some(Ok(seen)) => readable.push(seen),
                        Some(Err(Unreadable { key, problem })) => {
                            findings.push(finding(table.name(), &key, "an item that can be read", problem.problem));
                            still.push(key);
                        }
                    }
                }
                for (key, case) in C::beside(self.survey, readable).await? {
                    let mut notes = Notes::default();
                    case.check(self.terms, Time::now(), &mut notes);
                    if !notes.broken.is_empty() {
                        still.push(key.clone());
                    }
                    findings.extend(notes.broken.into_iter().map(|broken| Finding {
                        invariant: broken.invariant,
                        table: table.name().to_owned(),
                        key: key.to_string(),
                        expected: broken.expected,
                        found: broken.found,
                    }));
                }
            }
            suspects = still;
        }
        Ok(findings)
    }
}

fn finding(table: &str, key: &Key, expected: &str, found: String) -> Finding {
    let (table, expected) = (table.to_owned(), expected.to_owned());
    Finding { invariant: Invariant::Readable, table, key: key.to_string(), expected, found }
}
