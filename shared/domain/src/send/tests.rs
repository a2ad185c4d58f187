use uuid::Uuid;

use super::*;

fn policy() -> DeliveryPolicy {
    DeliveryPolicy {
        lease: Duration::from_secs(30),
        max_attempts: 5,
        give_up_after: Duration::from_secs(6 * 3_600),
        when_uncertain: WhenUncertain::Resend,
        backoff: Backoff::default(),
        grace: Duration::from_secs(60),
    }
}

fn at(seconds: u64) -> Time {
    Time::parse("2026-01-01T00:00:00Z").expect("a time").plus(Duration::from_secs(seconds))
}

fn fresh() -> ChannelSend {
    let notification = Notification {
        notification_id: Uuid::nil(),
        audience: Audience::Customer,
        user_id: UserId::parse("u").expect("an id"),
        event_id: EventId::parse("e").expect("an id"),
        group: "user:u".to_owned(),
        created_at: at(0),
        told_at: at(0),
        shared_read: false,
        read_at: None,
    };
    ChannelSend::new((&notification, Channel::Email), ("T", None), None, (at(0), Duration::from_secs(60)))
}

fn taken(send: &ChannelSend, by: u128, now: Time) -> ChannelSend {
    match send.claim(Uuid::from_u128(by), None, &policy(), now) {
        Claim::Taken(taken) => *taken,
        other => panic!("not taken: {other:?}"),
    }
}

#[test]
fn a_live_lease_makes_others_wait_and_a_dead_one_counts_as_an_attempt() {
    let first = taken(&fresh(), 1, at(1));
    assert!(first.is_held_by(Uuid::from_u128(1)));
    assert_eq!(first.claim(Uuid::from_u128(2), None, &policy(), at(2)), Claim::Wait(at(31)));
    let second = taken(&first, 2, at(31));
    assert!(second.is_held_by(Uuid::from_u128(2)) && !second.is_held_by(Uuid::from_u128(1)));
    assert_eq!(second.attempt_count, 1);
    assert_eq!(second.last_error.as_deref(), Some("its worker died"));
}

#[test]
fn a_dead_lease_is_an_operators_case_where_the_channel_holds() {
    let hold = DeliveryPolicy { when_uncertain: WhenUncertain::Hold, ..policy() };
    let dead = taken(&fresh(), 1, at(0));
    let Claim::GivenUp(held) = dead.claim(Uuid::from_u128(2), None, &hold, at(30)) else { panic!("not given up") };
    assert_eq!(held.state, SendState::Uncertain { next_retry_at: None });
    assert_eq!(held.claim(Uuid::from_u128(3), None, &hold, at(99)), Claim::Settled);
}

#[test]
fn a_worker_that_always_dies_ends_in_failed_and_not_for_ever() {
    let mut send = fresh();
    for death in 0..5 {
        send = taken(&send, death, at(40 * u64::try_from(death).expect("small")));
    }
    let Claim::GivenUp(failed) = send.claim(Uuid::nil(), None, &policy(), at(1_000)) else { panic!("not given up") };
    assert!(matches!(failed.state, SendState::Failed { .. }));
    assert_eq!(failed.attempt_count, 5);
}

#[test]
fn five_failures_count_and_outages_do_not() {
    let mut send = taken(&fresh(), 1, at(0));
    for attempt in 1..5 {
        send = send.after(&AttemptOutcome::Failed("HTTP 500".to_owned()), &policy(), at(attempt), 0.5);
        assert!(matches!(send.state, SendState::Pending { next_retry_at: Some(_) }), "{:?}", send.state);
        send = send.after(&AttemptOutcome::Unavailable("HTTP 429".to_owned(), None), &policy(), at(attempt), 0.5);
        assert!(matches!(send.state, SendState::Pending { next_retry_at: Some(_) }), "{:?}", send.state);
    }
    assert_eq!((send.attempt_count, send.postponed), (4, 4));
    send = send.after(&AttemptOutcome::Failed("HTTP 500".to_owned()), &policy(), at(5), 0.5);
    assert_eq!((send.state, send.attempt_count), (SendState::Failed { ended_at: at(5) }, 5));
}

#[test]
fn an_outage_is_borne_for_six_hours_and_no_longer() {
    let away = AttemptOutcome::Unavailable("connection refused".to_owned(), None);
    let send = taken(&fresh(), 1, at(0));
    let just_before = send.after(&away, &policy(), at(6 * 3_600 - 1), 0.5);
    assert!(matches!(just_before.state, SendState::Pending { .. }));
    let then = send.after(&away, &policy(), at(6 * 3_600), 0.5);
    assert!(matches!(then.state, SendState::Failed { .. }));
}

#[test]
fn a_provider_that_names_a_time_is_not_asked_before() {
    let away = AttemptOutcome::Unavailable("HTTP 429".to_owned(), Some(Duration::from_secs(120)));
    let send = taken(&fresh(), 1, at(0)).after(&away, &policy(), at(0), 0.5);
    assert_eq!(send.state, SendState::Pending { next_retry_at: Some(at(120)) });
    assert_eq!(send.claim(Uuid::nil(), None, &policy(), at(119)), Claim::Wait(at(120)));
    assert!(matches!(send.claim(Uuid::nil(), None, &policy(), at(120)), Claim::Taken(_)));
}

#[test]
fn what_is_unknown_is_sent_again_or_held() {
    let unknown = AttemptOutcome::Unknown("no answer in time".to_owned());
    let send = taken(&fresh(), 1, at(0));
    let resent = send.after(&unknown, &policy(), at(0), 0.5);
    assert_eq!(resent.state, SendState::Uncertain { next_retry_at: Some(at(1)) });
    assert!(!resent.state.is_given_up());
    let held = send.after(&unknown, &DeliveryPolicy { when_uncertain: WhenUncertain::Hold, ..policy() }, at(0), 0.5);
    assert!(held.state.is_given_up() && held.state.ended_at().is_none());
}

#[test]
fn a_redrive_opens_what_was_given_up_once_and_nothing_else() {
    let redrive = Some(Uuid::from_u128(7));
    let sent = taken(&fresh(), 1, at(0)).after(&AttemptOutcome::Sent, &policy(), at(1), 0.5);
    assert_eq!(sent.claim(Uuid::nil(), redrive, &policy(), at(2)), Claim::Settled);
    let failed =
        taken(&fresh(), 1, at(0)).after(&AttemptOutcome::Refused("HTTP 400".to_owned()), &policy(), at(1), 0.5);
    assert_eq!(failed.claim(Uuid::nil(), None, &policy(), at(2)), Claim::Settled);
    let Claim::Taken(open) = failed.claim(Uuid::nil(), redrive, &policy(), at(2)) else { panic!("not opened") };
    assert_eq!((open.attempt_count, open.opened_at), (0, at(2)));
    let again = open.after(&AttemptOutcome::Refused("HTTP 400".to_owned()), &policy(), at(3), 0.5);
    assert_eq!(again.claim(Uuid::nil(), redrive, &policy(), at(4)), Claim::Settled);
}

#[test]
fn a_late_message_of_an_older_redrive_opens_nothing() {
    let refused = AttemptOutcome::Refused("HTTP 400".to_owned());
    let (first, second) = (Some(Uuid::from_u128(7)), Some(Uuid::from_u128(8)));
    let mut send = taken(&fresh(), 1, at(0)).after(&refused, &policy(), at(1), 0.5);
    for redrive in [first, second] {
        let Claim::Taken(open) = send.claim(Uuid::nil(), redrive, &policy(), at(2)) else { panic!("not opened") };
        send = open.after(&refused, &policy(), at(3), 0.5);
    }
    assert_eq!(send.claim(Uuid::nil(), first, &policy(), at(4)), Claim::Settled);
    assert!(!send.is_opened_by(second) && !send.is_opened_by(None));
    assert!(send.is_opened_by(Some(Uuid::from_u128(9))));
}

#[test]
fn what_an_operator_discards_is_at_its_end_if_it_was_held() {
    let hold = DeliveryPolicy { when_uncertain: WhenUncertain::Hold, ..policy() };
    let send = taken(&fresh(), 1, at(0));
    assert_eq!(send.discarded(at(1)), None);
    let held = send.after(&AttemptOutcome::Unknown("no answer in time".to_owned()), &hold, at(1), 0.5);
    let ended = held.discarded(at(2)).expect("it was held");
    assert_eq!(ended.state, SendState::Failed { ended_at: at(2) });
    assert_eq!(ended.last_error.as_deref(), Some("no answer in time; discarded by an operator"));
    assert_eq!(ended.discarded(at(3)), None);
}

#[test]
fn what_is_sent_for_again_and_again_is_stuck_until_somebody_tries_it() {
    let mut send = fresh();
    for _ in 0..4 {
        send = send.enqueued_again(Duration::from_secs(60), at(0));
    }
    assert!(!send.is_stuck());
    send = send.enqueued_again(Duration::from_secs(60), at(0));
    assert!(send.is_stuck() && taken(&send, 1, at(9_000)).is_stuck());
    assert!(!send.after(&AttemptOutcome::Failed("HTTP 500".to_owned()), &policy(), at(1), 0.5).is_stuck());
}

#[test]
fn a_sweeper_that_has_sent_for_it_comes_later_each_time() {
    let mut send = fresh();
    let mut waits = Vec::new();
    for _ in 0..8 {
        send = send.enqueued_again(Duration::from_secs(60), at(0));
        waits.push(send.due_at.since(at(0)).as_secs());
    }
    assert_eq!(waits, [120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600]);
}

#[test]
fn a_claim_that_ends_before_the_sweeper_comes_leaves_the_sweepers_index_alone() {
    let send = fresh();
    assert_eq!(taken(&send, 1, at(0)).due_at, send.due_at);
    assert_eq!(taken(&send, 1, at(50)).due_at, at(80));
}

#[test]
fn attempts_are_remembered_but_not_without_end() {
    let mut send = fresh();
    for second in 0..40 {
        send = send.after(&AttemptOutcome::Unavailable("HTTP 503".to_owned(), None), &policy(), at(second), 0.5);
    }
    assert_eq!(send.attempts.len(), 20);
    assert_eq!(send.attempts.last().map(|attempt| attempt.at), Some(at(39)));
}
