//! Stock: the reserved and sold stock of a unit matches the holds of its orders.
//!
//! A sum over a table is not a snapshot. But every change of a unit raises its version, so if the version is the same
//! before and after the holds were read, the sum belongs to that version. A mismatch is reported if it is found twice
//! in a row.

use std::collections::BTreeMap;

use belfry_core::Stored;
use domain::stock::{Hold, HoldStatus, Stock};
use domain::{StockKeepingUnit, Time};
use ledger::survey::{Seen, Survey, Whole};
use ledger::{Key, LedgerError};

use crate::ReadError;
use crate::check::{Beside, Check, Notes};
use crate::finding::{Finding, Invariant};
use crate::terms::Terms;
use crate::walk::Walk;

/// How often a changing unit is checked.
const ROUNDS: u32 = 4;

/// The sum of a unit's holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Held {
    reserved: u128,
    sold: u128,
}

/// Units, and the mismatch of each in the round before.
type Units = BTreeMap<StockKeepingUnit, Option<Held>>;

/// A unit alone: it can be read, and no number is negative.
#[derive(Debug)]
pub(crate) struct StockCase;

impl Check for StockCase {
    type Row = Stored<Stock>;

    fn table(survey: &Survey) -> &Whole<Stored<Stock>> {
        &survey.stock
    }

    async fn beside(_: &Survey, rows: Vec<Seen<Stored<Stock>>>) -> Result<Vec<(Key, Self)>, LedgerError> {
        Ok(rows.into_iter().map(|seen| (seen.key, Self)).collect())
    }

    fn check(&self, _: &Terms, _: Time, _: &mut Notes) {}
}

pub(crate) async fn verify(walk: &mut Walk<'_>) -> Result<(), ReadError> {
    let survey = walk.survey;
    let table = survey.stock.name().to_owned();
    let read_error = |source| ReadError { table: table.clone(), source };
    let mut units = Units::new();
    let note = |stock: &Stored<Stock>| {
        units.insert(stock.stock_keeping_unit.clone(), None);
    };
    walk.whole(&survey.stock, &format!("{table} (units)"), note).await.map_err(read_error)?;
    let mut findings = Vec::new();
    for round in 0..ROUNDS {
        if units.is_empty() {
            break;
        }
        if round > 0 {
            tokio::time::sleep(walk.pace.settle).await;
        }
        // Each round reads all holds, which takes time.
        let what = format!("{table} compared with {}, round {} of {ROUNDS} at most", survey.holds.name(), round + 1);
        let (rows, found) = compare(walk, &mut units, &what).await.map_err(read_error)?;
        findings.extend(found);
        walk.progress(&what, rows, units.len() + findings.len(), true);
    }
    walk.report.undecided.extend(units.into_keys().map(String::from));
    walk.report.findings.extend(findings);
    Ok(())
}

/// Runs one round and removes the decided units. Returns the number of holds and the violations.
async fn compare(walk: &Walk<'_>, units: &mut Units, what: &str) -> Result<(u64, Vec<Finding>), LedgerError> {
    let survey = walk.survey;
    let before = read(survey, units).await?;
    let mut held: BTreeMap<StockKeepingUnit, Held> = BTreeMap::new();
    let add = |hold: &Stored<Hold>| {
        for line in &hold.lines {
            let quantity = u128::from(u64::from(line.quantity));
            let held = held.entry(line.stock_keeping_unit.clone()).or_default();
            match hold.status {
                HoldStatus::Reserved => held.reserved += quantity,
                HoldStatus::Sold => held.sold += quantity,
                HoldStatus::Released | HoldStatus::Closed => {}
            }
        }
    };
    let rows = walk.whole(&survey.holds, what, add).await?;
    let after = read(survey, units).await?;
    let mut findings = Vec::new();
    units.retain(|unit, found_before| {
        let (Some(first), Some(stock)) = (before.get(unit), after.get(unit)) else { return false };
        let held = held.get(unit).copied().unwrap_or_default();
        if first.version() != stock.version() {
            *found_before = None;
            return true;
        }
        if is_right(stock, held) {
            return false;
        }
        if *found_before != Some(held) {
            *found_before = Some(held);
            return true;
        }
        findings.push(Finding {
            invariant: Invariant::StockAddsUp,
            table: survey.stock.name().to_owned(),
            key: survey.stock.place(unit).to_string(),
            expected: format!("reserved {} and sold {}, the sum of all holds", held.reserved, held.sold),
            found: format!("reserved {} and sold {}", stock.reserved, stock.sold),
        });
        false
    });
    Ok((rows, findings))
}

fn is_right(stock: &Stock, held: Held) -> bool {
    (u128::from(stock.reserved), u128::from(stock.sold)) == (held.reserved, held.sold)
}

/// The current units. One that cannot be read is reported by its own check.
async fn read(survey: &Survey, units: &Units) -> Result<BTreeMap<StockKeepingUnit, Stored<Stock>>, LedgerError> {
    let keys: Vec<Key> = units.keys().map(|unit| survey.stock.place(unit)).collect();
    let found = survey.read(keys).await?;
    let stock = |unit: &StockKeepingUnit| match Beside::of(&survey.stock, &found, &survey.stock.place(unit)) {
        Beside::Row(stock) => Some((unit.clone(), stock)),
        Beside::Absent | Beside::Unreadable => None,
    };
    Ok(units.keys().filter_map(stock).collect())
}
