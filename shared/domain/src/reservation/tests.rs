use std::time::Duration;

use belfry_core::{EventId, Stored};
use proptest::prelude::*;
use serde_json::json;

use super::*;

const STATUSES: [ReservationStatus; 4] = [
    ReservationStatus::Requested,
    ReservationStatus::Accepted,
    ReservationStatus::Rejected,
    ReservationStatus::Cancelled,
];

fn asked(now: Time) -> ReservationRequest {
    let slot_time = now.plus(Duration::from_secs(3_600));
    let body = json!({"customer_id": "ugo", "restaurant_id": "r-1", "party_size": 4, "slot_time": slot_time});
    serde_json::from_value(body).expect("a body")
}

fn requested(now: Time) -> Reservation {
    Reservation::request(Uuid::now_v7(), asked(now), now).expect("a reservation")
}

#[test]
fn each_step_is_taken_from_where_it_begins_and_refused_everywhere_else() {
    use ReservationStatus::{Accepted, Cancelled, Rejected, Requested};
    let allowed = [
        (Requested, Step::Accept, Accepted),
        (Requested, Step::Reject, Rejected),
        (Requested, Step::Cancel, Cancelled),
        (Accepted, Step::Cancel, Cancelled),
    ];
    for status in STATUSES {
        for step in [Step::Accept, Step::Reject, Step::Cancel] {
            let to = allowed.iter().find(|(from, taken, _)| (*from, *taken) == (status, step)).map(|(_, _, to)| *to);
            assert_eq!(decide(status, step), to.ok_or(StepRefused { status }), "{step:?} from {status:?}");
        }
    }
}

#[test]
fn a_refusal_names_the_state() {
    let refused = decide(ReservationStatus::Accepted, Step::Reject).expect_err("refused");
    assert_eq!(refused.to_string(), "already ACCEPTED");
}

#[test]
fn nobody_has_decided_a_new_reservation() {
    let now = Time::now();
    let reservation = requested(now);
    assert_eq!(reservation.status, ReservationStatus::Requested);
    assert_eq!((reservation.decided_by, reservation.created_at), (None, now));
}

#[test]
fn a_time_that_has_begun_cannot_be_asked_for() {
    let now = Time::now();
    for (slot_time, passed) in
        [(now, true), (now.minus(Duration::from_millis(1)), true), (now.plus(Duration::from_millis(1)), false)]
    {
        let asked = ReservationRequest { slot_time, ..asked(now) };
        assert_eq!(Reservation::request(Uuid::now_v7(), asked, now).is_err(), passed, "{slot_time}");
    }
}

#[test]
fn the_event_has_an_id_of_its_own_and_the_whole_reservation() {
    let now = Time::now();
    let before = Stored::at(1, requested(now));
    let accepted = before.becomes(before.after(Step::Accept, "rosa", now).expect("accepted"));
    let event_id = EventId::parse("e-1").expect("an id");
    let event = Reservation::event(&accepted, Stamp { event_id, now });
    assert_eq!((&*event.event_type, event.version), (ACCEPTED, Some(2)));
    assert_eq!((&*event.aggregate_type, event.aggregate_id), ("Reservation", accepted.reservation_id.to_string()));
    assert_eq!(
        event.payload,
        Ok(json!({
            "event_id": "e-1", "event_type": ACCEPTED, "occurred_at": now,
            "reservation_id": accepted.reservation_id, "customer_id": "ugo", "restaurant_id": "r-1", "party_size": 4,
            "slot_time": accepted.asked.slot_time, "status": "ACCEPTED", "version": 2, "decided_by": "rosa",
        }))
    );
}

#[test]
fn every_status_has_a_name_as_serde_writes_it_and_an_event_that_is_our_own() {
    for status in STATUSES {
        assert_eq!(json!(status), status.as_str());
        assert!(crate::event_types::own(status.event_type()), "{}", status.event_type());
    }
}

#[test]
fn a_party_is_of_1_to_100() {
    for (number, fits) in [(0, false), (1, true), (100, true), (101, false), (u64::MAX, false)] {
        assert_eq!(PartySize::try_from(number).is_ok(), fits, "{number}");
    }
    for wrong in [json!("4"), json!(-1), json!(2.5), json!(null)] {
        assert!(serde_json::from_value::<PartySize>(wrong.clone()).is_err(), "{wrong}");
    }
}

proptest! {
    #[test]
    fn no_step_changes_what_was_requested(
        steps in proptest::collection::vec(prop::sample::select(vec![Step::Accept, Step::Reject, Step::Cancel]), 0..8)
    ) {
        let now = Time::now();
        let begun = requested(now);
        let mut reservation = begun.clone();
        let mut changes = 0;
        for (index, step) in steps.into_iter().enumerate() {
            match reservation.after(step, &index.to_string(), now) {
                Err(refused) => prop_assert_eq!(refused.status, reservation.status),
                Ok(next) => {
                    changes += 1;
                    prop_assert_eq!(&next.asked, &begun.asked);
                    prop_assert_eq!(next.decided_by.clone(), Some(index.to_string()));
                    reservation = next;
                }
            }
        }
        // Accept, then cancel: no reservation has a longer life.
        prop_assert!(changes <= 2);
        let stored = serde_json::to_value(&reservation).expect("an item");
        prop_assert_eq!(serde_json::from_value::<Reservation>(stored).expect("a reservation"), reservation);
    }
}
