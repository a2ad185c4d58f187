//! Some of the breakage matrix (`cargo run --bin breakage` has all of it), and that it can find something.

use futures_util::FutureExt;
use tools::breakage::{Row, Scene, UseCase, Verdict, matrix, use_cases};

/// A use case of each kind of function, and one whose outcome changes two records.
const PLAYED: [&str; 5] =
    ["grant", "customer told", "order charged", "text message sent", "push token that is dead: forgotten"];

fn wrong(rows: &[Row]) -> Vec<String> {
    let cells = rows.iter().flat_map(|row| row.cells.iter().flatten().map(move |cell| (row, cell)));
    cells.filter(|(_, cell)| matches!(cell.verdict, Verdict::Wrong(_))).map(|cell| format!("{cell:?}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_call_is_broken_the_effects_are_those_of_an_unbroken_run() {
    let mut played = use_cases();
    played.retain(|use_case| PLAYED.contains(&use_case.name));
    assert_eq!(played.len(), PLAYED.len());
    let rows = matrix(played, 2, |_| {}).await;
    assert!(rows.len() > PLAYED.len(), "{rows:?}");
    assert_eq!(wrong(&rows), [""; 0]);
}

/// A ticket for a live socket is new each time: the one request without a key that has an effect, and a caller whose
/// answer is lost gets another ticket.
fn a_ticket(_: &Scene) -> futures_util::future::BoxFuture<'_, serde_json::Value> {
    let sample = include_str!("../../infra/events/api-live-ticket.json");
    async { serde_json::from_str(sample).expect("JSON") }.boxed()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_its_effect_again_when_it_is_repeated_is_found_out() {
    let tickets = UseCase {
        name: "ticket",
        function: "ApiFunction",
        prepare: a_ticket,
        leaves: &[("live-tickets", 2)],
        unknown: None,
    };
    let rows = matrix(vec![tickets], 2, |_| {}).await;
    assert!(wrong(&rows).iter().any(|cell| cell.contains("live-tickets: 3 and not 2")), "{rows:?}");
}
