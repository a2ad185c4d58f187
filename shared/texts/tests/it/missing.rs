use domain::Audience;
use domain::routing::Routes;
use serde_json::{Value, json};
use texts::{Language, Reader, RenderError};

use crate::{payload, texts};

fn reader() -> Reader {
    Reader::new(Language::It, None)
}

/// The payload without one of its fields.
fn without(event_type: &str, field: &str) -> Value {
    let mut payload = payload(event_type);
    payload.as_object_mut().expect("an object").remove(field).expect("the field");
    payload
}

#[test]
fn missing_variable_is_named_without_values() {
    let texts = texts();
    let missing = |event_type, field: &str| {
        texts
            .inbox(event_type, Audience::Customer, &reader(), &without(event_type, field))
            .expect_err("a missing field")
    };
    for (event_type, field) in [
        ("ReservationRequested", "party_size"),
        ("ReservationRequested", "slot_time"),
        ("OrderCompleted", "total"),
        ("OrderFailed", "reason"),
    ] {
        let problem = missing(event_type, field);
        assert!(matches!(&problem, RenderError::MissingVariable { variable, .. } if variable == field), "{problem}");
    }
    assert_eq!(
        missing("ReservationRequested", "slot_time").to_string(),
        "template ReservationRequested/CUSTOMER/inbox.it.txt:body: variable slot_time is missing"
    );
}

#[test]
fn null_is_missing_in_every_channel() {
    let texts = texts();
    let mut null = payload("ReservationRequested");
    null["slot_time"] = Value::Null;
    let (event_type, audience) = ("ReservationRequested", Audience::RestaurantUser);
    let problems = [
        texts.inbox(event_type, audience, &reader(), &null).err(),
        texts.email(event_type, audience, &reader(), &null).err(),
        texts.push(event_type, audience, &reader(), &null).err(),
        texts.sms(event_type, audience, &reader(), &null).err(),
        texts.slack(event_type, audience, &reader(), &null).err(),
    ];
    for problem in problems {
        let problem = problem.expect("a missing variable").to_string();
        assert!(problem.ends_with("variable slot_time is missing"), "{problem}");
    }
}

#[test]
fn optional_field_is_left_out() {
    let direct = without("ReservationRequested", "agency_id");
    for route in Routes::load().expect("routes").iter().filter(|route| route.concerns(&direct)) {
        if route.event_type == "ReservationRequested" {
            let text = texts().email("ReservationRequested", route.audience, &reader(), &direct).expect("a mail").text;
            assert!(!text.contains("agenzia"), "{text}");
        }
    }
}

#[test]
fn wrong_type_is_reported_with_what_was_expected() {
    let texts = texts();
    let problem = |event_type, field: &str, value: Value| {
        let mut payload = payload(event_type);
        payload[field] = value;
        let said =
            texts.inbox(event_type, Audience::Customer, &reader(), &payload).expect_err("a wrong type").to_string();
        assert!(!said.contains("secret"), "{said}");
        said
    };
    let when = problem("ReservationAccepted", "slot_time", json!("secret"));
    assert!(when.ends_with("line 3: when expects an RFC 3339 time"), "{when}");
    for total in [
        json!("secret"),
        json!({"amount": "secret", "currency": "EUR"}),
        json!({"amount": 1, "currency": "secret"}),
        json!({"amount": 1}),
    ] {
        let money = problem("OrderCompleted", "total", total);
        assert!(money.contains("money expects {amount, currency}"), "{money}");
    }
}

#[test]
fn text_without_route_is_an_error() {
    let texts = texts();
    let empty = json!({});
    let unknown = texts.inbox("NobodyKnowsThis", Audience::Customer, &reader(), &empty).expect_err("no route");
    assert_eq!(unknown.to_string(), "no inbox template of NobodyKnowsThis for CUSTOMER");
    let unsent = texts.sms("OrderFailed", Audience::Customer, &reader(), &empty).expect_err("no SMS");
    assert_eq!(unsent.to_string(), "no SMS template of OrderFailed for CUSTOMER");
}
