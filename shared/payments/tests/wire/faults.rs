//! Faults of the provider.

use std::time::{Duration, Instant};

use payments::{CancelledIntent, Confirmed, PaymentError};
use providers::{Mode, Outcome};
use tokio::net::TcpSocket;

use crate::{IMPATIENT, PATIENT, Stage, intent, provider, total};

/// The transient faults, and the error of a call that outlasts its attempts.
const TRANSIENT: [(Mode, &str); 4] = [
    (Mode::Error, "transient error: api_error (HTTP 500)"),
    (Mode::Unavailable, "transient error: rate_limit (HTTP 429)"),
    (Mode::Timeout, "transient error: no answer within the time limit"),
    (Mode::DropAnswer, "transient error: connection closed before the answer"),
];

fn patience(mode: Mode) -> &'static str {
    if mode == Mode::Timeout { IMPATIENT } else { PATIENT }
}

#[tokio::test]
async fn lasting_fault_fails_each_call_after_its_attempts_without_a_second_effect() {
    for (mode, expected) in TRANSIENT {
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
            let error = end.expect_err(what);
            assert_eq!(error.to_string(), expected, "{mode:?} {what}");
            assert!(matches!(error, PaymentError::Transient(_)));
        }
        // Three attempts each; cancel and confirm then look once, if there is time left.
        let requests = stage.sent().len() - before;
        assert_eq!(requests, if mode == Mode::Timeout { 12 } else { 14 }, "{mode:?}");
        assert!(stage.done("/cancel") <= 1 && stage.done("/payment_intents") <= 2);
    }
}

#[tokio::test]
async fn every_call_outlasts_a_passing_fault() {
    for (mode, _) in TRANSIENT {
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
async fn decline_is_repeated_under_its_key_and_leaves_the_intent_open() {
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
async fn charge_whose_answers_were_all_lost_is_found_by_reading() {
    let stage = Stage::start().await;
    let intent = stage.created().await;
    stage.fault(Mode::DropAnswer, 3);
    assert_eq!(stage.provider.confirm(&intent, "confirm").await, Ok(Confirmed::Succeeded));
    assert_eq!(stage.sent().last().unwrap().payment.as_ref().unwrap().method, "GET");
    assert_eq!(stage.done("/confirm"), 1);
}

#[tokio::test]
async fn call_takes_at_most_three_time_limits() {
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
async fn refused_connection_is_transient() {
    // Bound but not listening, so that no other process gets the port.
    let bound = TcpSocket::new_v4().unwrap();
    bound.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let client = provider(&format!("http://{}", bound.local_addr().unwrap()), PATIENT);
    let error = client.refund(&intent(), "refund").await.unwrap_err();
    assert_eq!(error.to_string(), "transient error: cannot connect");
}
