//! `belfry verify` on a stack where everything has happened: it holds, nothing is written, and what is planted is named.

mod planted;
mod scene;

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use harness::{Stack, verified};

use scene::busy;

/// What a reader may call.
const READS: [&str; 4] = ["BatchGetItem", "GetItem", "Query", "Scan"];

fn number(value: i64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

#[tokio::test]
async fn a_busy_stack_holds_and_is_only_read() {
    let stack = Stack::behind_a_proxy_with(scene::hasty()).await;
    busy(&stack).await;
    // Straight from the engine for whoever is still polling, through a proxy of its own for the check.
    let proxy = harness::Proxy::start(stack.dynamodb_url()).await;
    let report = verified(scene::client(proxy.url()), Duration::ZERO).await;
    assert!(report.holds(), "{report}");
    assert_eq!((report.undecided.len(), report.under_way), (0, 0), "{report}");
    assert_eq!(report.money["EUR"].charged, report.money["EUR"].completed, "{report}");
    for (table, rows) in &report.rows {
        assert!(*rows > 0, "{table} has nothing to check");
    }
    let mut called: Vec<String> = proxy.take_recorded().into_iter().map(|(_, operation)| operation).collect();
    called.sort();
    called.dedup();
    assert!(called.iter().all(|operation| READS.contains(&operation.as_str())), "{called:?}");
    assert!(report.to_string().ends_with("everything holds"), "{report}");
}

#[tokio::test]
async fn what_is_under_way_is_no_error_and_becomes_one_past_its_grace() {
    let options =
        local::Options { template: Some(harness::template_without(harness::CUSTOMER_MAPPING)), ..scene::hasty() };
    let stack = Stack::with(options).await;
    let granted = stack.shop().await.grant("k", "ugo", "premium").await;
    assert_eq!(granted.status, reqwest::StatusCode::OK, "{}", granted.text);
    stack.idle().await;
    let patient = verified(stack.dynamodb().await, Duration::from_secs(900)).await;
    assert!(patient.holds(), "{patient}");
    assert_eq!(patient.under_way, 1, "the customers' fan-out does not come: {patient}");
    let report = stack.verify().await;
    let [finding] = report.findings.as_slice() else { panic!("{report}") };
    assert!(finding.to_string().contains("a mark or a dead letter of fanout:CUSTOMER"), "{finding}");
}

/// The unit moves while its holds are read, in every round: whoever is told of a page of them moves it.
#[tokio::test(flavor = "multi_thread")]
async fn a_unit_that_never_stands_still_is_undecided_and_that_is_not_holding() {
    let stack = Stack::with(scene::hasty()).await;
    busy(&stack).await;
    let client = stack.dynamodb().await;
    let survey = ledger::survey::Survey::of_stack(ledger::Ledger::new(client.clone()), "belfry-local");
    let pace = verify::Pace { settle: Duration::ZERO, segments: 3.try_into().expect("three"), ..Default::default() };
    let unit = stack.items("stock").await.remove(0)["stock_keeping_unit"].clone();
    let pages = std::cell::Cell::new(0);
    let moves = |progress: &verify::Progress<'_>| {
        if progress.done || !progress.table.starts_with("belfry-local-stock compared with belfry-local-holds, round ") {
            return;
        }
        pages.set(pages.get() + 1);
        let update = client.update_item().table_name("belfry-local-stock").key("stock_keeping_unit", unit.clone());
        let update = update.update_expression("ADD #v :one").expression_attribute_names("#v", "version");
        let update = update.expression_attribute_values(":one", number(1));
        let moved = async { update.send().await.expect("it moves") };
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(moved));
    };
    let terms = harness::terms(Duration::ZERO);
    let report = verify::verify(&survey, &terms, &pace, moves).await.expect("it can be read");
    assert_eq!(report.undecided, [unit.as_s().expect("a name").as_str()], "{report}");
    assert_eq!(report.verdict(), verify::Verdict::Undecided, "{report}");
    assert!(report.to_string().ends_with("no violations, but 1 undecided"), "{report}");
    assert_eq!(pages.get(), 12, "a page of each segment in each of four rounds");
    let still = stack.verify().await;
    assert!(still.holds(), "{still}");
}

#[tokio::test]
async fn a_table_in_segments_and_at_a_rate_is_the_same_table() {
    let stack = Stack::with(scene::hasty()).await;
    let shop = stack.shop().await;
    for n in 0..30 {
        shop.grant(&format!("k-{n}"), "ugo", &format!("unit-{n}")).await;
    }
    stack.idle().await;
    let survey = ledger::survey::Survey::of_stack(ledger::Ledger::new(stack.dynamodb().await), "belfry-local");
    let pace = verify::Pace {
        segments: 3.try_into().expect("three"),
        rows_per_second: Some(10_000.try_into().expect("a rate")),
        ..verify::Pace::default()
    };
    let report = verify::verify(&survey, &harness::terms(Duration::ZERO), &pace, |_| {}).await.expect("it can be read");
    assert!(report.holds(), "{report}");
    assert_eq!(report, stack.verify().await);
    assert_eq!(report.rows["belfry-local-events"], 30);
}
