//! The audit: every accepted command has exactly one effect, and everything that follows from it is there once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use belfry_core::Stored;
use domain::entitlement::Entitlement;
use domain::order::{Order, OrderStatus};
use domain::reservation::Reservation;
use domain::stock::Stock;
use harness::verified_with;
use ledger::survey::{Place, Segment, Survey, Whole};
use serde_json::Value;
use verify::Report;

use super::Soak;
use super::asked::{Asked, Inner};
use super::handing_in::event_id;
use super::people::{UNITS, stock};
use super::schedule::Op;
use super::steps::unit;

/// Every row of a table.
pub(super) async fn all<T>(survey: &Survey, table: &Whole<T>) -> Vec<T> {
    let mut rows = Vec::new();
    let mut place = Some(Place::beginning(Segment { index: 0, of: 1 }));
    while let Some(from) = place {
        let slice = survey.page(table, &from, 500).await.expect("the table can be read");
        rows.extend(
            slice.rows.into_iter().map(|row| row.unwrap_or_else(|bad| panic!("{}: {}", bad.key, bad.problem)).row),
        );
        place = slice.next;
    }
    rows
}

impl Soak {
    /// What is wrong; nothing, if all is well. Everything must have come to rest.
    pub async fn audit(&self) -> Vec<String> {
        let survey = self.world.survey();
        let mut wrong = std::mem::take(&mut self.log.lock().violations);
        wrong.extend(self.same_bytes());
        let report = verified_with(&survey, Duration::ZERO, Duration::ZERO).await;
        wrong.extend(verified(&report));
        {
            let inner = self.log.lock();
            let unanswered = inner.asked.iter().filter(|(_, asked)| asked.answers.is_empty());
            wrong.extend(unanswered.map(|(n, _)| format!("step {n}: never answered")));
        }
        let entitlements = all(&survey, &survey.entitlements).await;
        wrong.extend(entitlements_are_right(&self.log.lock(), &entitlements));
        let reservations = all(&survey, &survey.reservations).await;
        wrong.extend(reservations_are_right(&self.log.lock(), &reservations));
        let orders = all(&survey, &survey.orders).await;
        wrong.extend(orders_are_right(&self.log.lock(), &orders));
        wrong.extend(self.money_is_right(&survey, &orders).await);
        wrong.extend(stock_is_right(&all(&survey, &survey.stock).await));
        let events = all(&survey, &survey.events).await;
        let handed_in = events.iter().filter(|row| row.entry.event_type.as_deref() == Some("Announcement"));
        let handed_in = handed_in.map(|row| row.entry.event_id.to_string()).collect();
        wrong.extend(handed_in_is_right(&self.log.lock(), &handed_in));
        wrong.extend(self.everybody_is_told(&survey, &events).await);
        wrong
    }
}

/// What the tables say by themselves. At rest nothing moves, so what could not be judged is wrong, too.
fn verified(report: &Report) -> Vec<String> {
    let mut wrong: Vec<String> = report.findings.iter().map(|finding| format!("verify: {finding}")).collect();
    wrong.extend(report.undecided.iter().map(|unit| format!("verify: {unit} undecided, at rest")));
    for (count, what) in [
        (report.not_looked_at, "suspects not looked at again"),
        (report.under_way, "under way, at rest"),
        (report.waiting, "for an operator, at rest"),
    ] {
        if count > 0 {
            wrong.push(format!("verify: {count} {what}"));
        }
    }
    wrong
}

/// Accepted commands of these kinds, by what the answer says they were about.
fn accepted(log: &Inner, is_meant: impl Fn(&Op) -> bool) -> Vec<(&usize, &Asked, Value)> {
    let meant = log.asked.iter().filter(|(_, asked)| is_meant(&asked.op));
    meant.filter_map(|(n, asked)| Some((n, asked, asked.accepted()?))).collect()
}

/// Each grant and revoke that was accepted is one version.
fn entitlements_are_right(log: &Inner, rows: &[Stored<Entitlement>]) -> Vec<String> {
    let mut versions: BTreeMap<(String, String), Vec<u64>> = BTreeMap::new();
    for (_, _, answer) in accepted(log, |op| matches!(op, Op::Grant { .. } | Op::Revoke { .. })) {
        let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
        let version = answer["version"].as_u64().unwrap_or_default();
        versions.entry((text("user_id"), text("stock_keeping_unit"))).or_default().push(version);
    }
    let mut wrong = Vec::new();
    for row in rows {
        let key = (row.user_id.to_string(), row.stock_keeping_unit.to_string());
        let mut answered = versions.remove(&key).unwrap_or_default();
        answered.sort_unstable();
        if !answered.iter().copied().eq(1..=row.version()) {
            wrong.push(format!("entitlement {key:?}: version {}, answered versions {answered:?}", row.version()));
        }
    }
    wrong.extend(versions.into_keys().map(|key| format!("entitlement {key:?}: answered, and not there")));
    wrong
}

/// What was created is there once, and nothing else is.
fn created_once<'a>(what: &str, answered: &[&'a str], there: &BTreeSet<String>) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut seen: BTreeSet<&'a str> = BTreeSet::new();
    for id in answered {
        if !seen.insert(id) {
            wrong.push(format!("{what} {id}: two commands were answered with it"));
        }
        if !there.contains(*id) {
            wrong.push(format!("{what} {id}: answered, and not there"));
        }
    }
    let strangers = there.iter().filter(|id| !seen.contains(id.as_str()));
    wrong.extend(strangers.map(|id| format!("{what} {id}: there, and no command was answered with it")));
    wrong
}

/// Each accepted step, by whichever door, is one version.
fn reservations_are_right(log: &Inner, rows: &[Stored<Reservation>]) -> Vec<String> {
    let created = accepted(log, |op| matches!(op, Op::Reserve { .. }));
    let ids: Vec<&str> = created.iter().filter_map(|(_, _, answer)| answer["reservation_id"].as_str()).collect();
    let there = rows.iter().map(|row| row.reservation_id.to_string()).collect();
    let mut wrong = created_once("reservation", &ids, &there);
    let mut steps: BTreeMap<String, u64> = BTreeMap::new();
    for (_, _, answer) in accepted(log, |op| matches!(op, Op::Decide { .. })) {
        *steps.entry(answer["reservation_id"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
    }
    let mut acted: BTreeMap<String, u64> = BTreeMap::new();
    for (_, asked, answer) in accepted(log, |op| matches!(op, Op::Act { .. })) {
        let id = answer["properties"]["reservation_id"].as_str().unwrap_or_default().to_owned();
        let decides = matches!(asked.op, Op::Act { action: "CONFIRMED" | "REJECTED", .. });
        *steps.entry(id.clone()).or_default() += u64::from(decides);
        *acted.entry(id).or_default() += 1;
    }
    for row in rows {
        let id = row.reservation_id.to_string();
        let answered = 1 + steps.get(&id).copied().unwrap_or_default();
        if answered != row.version() {
            wrong.push(format!("reservation {id}: version {}, {answered} accepted commands", row.version()));
        }
    }
    let twice = acted.iter().filter(|(_, times)| **times > 1);
    wrong.extend(twice.map(|(id, times)| format!("reservation {id}: {times} were first to act on it")));
    wrong
}

/// Each order that was accepted is there once, and one that was called off is cancelled.
fn orders_are_right(log: &Inner, rows: &[Stored<Order>]) -> Vec<String> {
    let created = accepted(log, |op| matches!(op, Op::Place { .. }));
    let ids: Vec<&str> = created.iter().filter_map(|(_, _, answer)| answer["order_id"].as_str()).collect();
    let there = rows.iter().map(|row| row.order_id.to_string()).collect();
    let mut wrong = created_once("order", &ids, &there);
    let mut cancels: BTreeMap<String, u64> = BTreeMap::new();
    for (_, _, answer) in accepted(log, |op| matches!(op, Op::Cancel { .. })) {
        *cancels.entry(answer["order_id"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
    }
    for row in rows {
        let times = cancels.get(&row.order_id.to_string()).copied().unwrap_or_default();
        if times > 1 || (times == 1 && row.status != OrderStatus::Cancelled) {
            wrong.push(format!("order {}: called off {times} times, and {}", row.order_id, row.status.as_str()));
        }
        if !row.status.is_final() {
            wrong.push(format!("order {}: {} at rest", row.order_id, row.status.as_str()));
        }
    }
    wrong
}

/// Of what nobody has filled up since the beginning, as much is there as was then.
fn stock_is_right(rows: &[Stored<Stock>]) -> Vec<String> {
    let fixed: BTreeMap<String, u64> = (0..UNITS - 1).map(|of| (unit(of), stock(of))).collect();
    let wrong = rows.iter().filter_map(|row| {
        let Stock { stock_keeping_unit, available, reserved, sold, .. } = &**row;
        let all = fixed.get(stock_keeping_unit.as_str())?;
        let is_right = *reserved == 0 && available + reserved + sold == *all;
        (!is_right).then(|| format!("{stock_keeping_unit}: {available} + {reserved} + {sold} of {all}"))
    });
    wrong.collect()
}

/// What was accepted at the door is there once, and nothing else is.
fn handed_in_is_right(log: &Inner, there: &BTreeSet<String>) -> Vec<String> {
    let ids: Vec<String> = log.handed_in.iter().filter(|(_, accepted)| **accepted).map(|(n, _)| event_id(*n)).collect();
    created_once("event", &ids.iter().map(String::as_str).collect::<Vec<_>>(), there)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_verify_could_not_judge_is_wrong_at_rest() {
        assert_eq!(verified(&Report::default()), Vec::<String>::new());
        let report = Report {
            undecided: vec!["unit-3".to_owned()],
            not_looked_at: 2,
            under_way: 3,
            waiting: 4,
            ..Report::default()
        };
        assert_eq!(
            verified(&report),
            [
                "verify: unit-3 undecided, at rest",
                "verify: 2 suspects not looked at again",
                "verify: 3 under way, at rest",
                "verify: 4 for an operator, at rest",
            ]
        );
    }
}
