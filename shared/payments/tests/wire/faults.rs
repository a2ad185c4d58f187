//! A provider that misbehaves.

use std::time::{Duration, Instant};

use payments::{CancelledIntent, Confirmed, NotDone};
use providers::{Mode, Outcome};
use tokio::net::TcpSocket;

use crate::{IMPATIENT, PATIENT, Stage, intent, provider, total};

/// Each fault that passes, and how it reads when it does not.
const PASSING: [(Mode, &str); 4] = [
    (Mode::Error, "failed for now: api_error (HTTP 500)"),
    (Mode::Unavailable, "failed for now: rate_limit (HTTP 429)"),
    (Mode::Timeout, "failed for now: no answer in time"),
    (Mode::DropAnswer, "failed for now: the connection broke before the answer"),
];

fn patience(mode: Mode) -> &'static str {
    if mode == Mode::Timeout { IMPATIENT } else { PATIENT }
}

#[tokio::test]
async fn a_fault_that_lasts_ends_each_call_after_its_attempts_and_has_had_no_second_effect() {
    for (mode, expected) in PASSING {
        let stage = Stage::start().await;
        let intent = stage.created().await;
        let client = provider(&stage.url, patience(mode));
        stage.fault(mode, None);
        let before = stage.sent().len();
        let ends = [
            client.create("o-2", &total(), "create-2").await.map(drop),
            client.refund(&intent, "refund").await,
            client.cancel(&intent, "cancel").await.map(drop),
            client.confirm(&intent, "confirm").await.map(drop),
        ];
        for (end, what) in ends.into_iter().zip(["create", "refund", "cancel", "confirm"]) {
            let not_done = end.expect_err(what);
            assert_eq!(not_done.to_string(), expected, "{mode:?} {what}");
            assert!(matches!(not_done, NotDone::Transient(_)));
        }
        // Three attempts each; cancel and confirm then look once, if there is time left.
        let requests = stage.sent().len() - before;
        assert_eq!(requests, if mode == Mode::Timeout { 12 } else { 14 }, "{mode:?}");
        assert!(stage.done("/cancel") <= 1 && stage.done("/payment_intents") <= 2);
    }
}

#[tokio::test]
async fn a_fault_that_passes_is_outlasted_by_every_call() {
    for (mode, _) in PASSING {
        let stage = Stage::start().await;
        let client = provider(&stage.url, patience(mode));
        stage.fault(mode, 2);
        let intent = client.create("o-1", &total(), "create").await.unwrap();
        stage.fault(mode, 2);
        assert_eq!(client.confirm(&intent, "confirm").await, Ok(Confirmed::Succeeded), "{mode:?}");
        stage.fault(mode, 2);
        assert_eq!(client.cancel(&intent, "cancel").await, Ok(CancelledIntent::Charged), "{mode:?}");
        stage.fault(mode, 2);
        assert_eq!(client.refund(&intent, "refund").await, Ok(()), "{mode:?}");
        let done = ["/payment_intents", "/confirm", "/cancel", "/refunds"].map(|end| stage.done(end));
        assert_eq!(done, [1, 1, 0, 1], "{mode:?}");
    }
}

#[tokio::test]
async fn a_declined_card_is_declined_again_under_its_key_and_leaves_the_rest_alone() {
    let stage = Stage::start().await;
    stage.fault(Mode::Reject, None);
    let intent = stage.created().await;
    let declined = Ok(Confirmed::Declined { reason: "generic_decline" });
    assert_eq!(stage.provider.confirm(&intent, "confirm").await, declined);
    stage.fault(Mode::Ok, None);
    assert_eq!(stage.provider.confirm(&intent, "confirm").await, declined);
    let outcomes: Vec<Outcome> = stage.sent().into_iter().map(|sent| sent.outcome).collect();
    assert_eq!(outcomes, [Outcome::Accepted, Outcome::Rejected, Outcome::Replayed]);
    assert_eq!(stage.provider.cancel(&intent, "cancel").await, Ok(CancelledIntent::Cancelled));
    assert_eq!(stage.done("/confirm"), 0);
}

#[tokio::test]
async fn a_charge_whose_answers_were_all_lost_is_found_by_looking() {
    let stage = Stage::start().await;
    let intent = stage.created().await;
    stage.fault(Mode::DropAnswer, 3);
    assert_eq!(stage.provider.confirm(&intent, "confirm").await, Ok(Confirmed::Succeeded));
    assert_eq!(stage.sent().last().unwrap().payment.as_ref().unwrap().method, "GET");
    assert_eq!(stage.done("/confirm"), 1);
}

#[tokio::test]
async fn a_call_takes_no_more_than_three_time_limits() {
    let stage = Stage::start().await;
    stage.fault(Mode::Timeout, None);
    let client = provider(&stage.url, IMPATIENT);
    let begun = Instant::now();
    client.confirm(&intent(), "confirm").await.unwrap_err();
    let taken = begun.elapsed();
    assert!(taken > Duration::from_secs(2), "{taken:?}");
    // A busy machine may be late in noticing.
    assert!(taken < client.longest_call() + Duration::from_secs(2), "{taken:?}");
}

#[tokio::test]
async fn nobody_listening_is_transient() {
    // Bound and not listening, so that nobody else can get the port meanwhile.
    let bound = TcpSocket::new_v4().unwrap();
    bound.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let client = provider(&format!("http://{}", bound.local_addr().unwrap()), PATIENT);
    let not_done = client.refund(&intent(), "refund").await.unwrap_err();
    assert_eq!(not_done.to_string(), "failed for now: no connection");
}
