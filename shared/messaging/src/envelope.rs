//! The envelope of an event on a queue: CloudEvents 1.0, JSON format.

use domain::id::EventId;
use domain::{Event, Time, Trace, schemas};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the CloudEvents specification that is spoken.
const SPECVERSION: &str = "1.0";

/// The wire form. Extension attributes are lower case without separators, as the specification demands.
#[derive(Debug, Serialize, Deserialize)]
struct Envelope {
    specversion: String,
    id: EventId,
    source: String,
    #[serde(rename = "type")]
    event_type: String,
    subject: String,
    time: Time,
    datacontenttype: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dataschema: Option<String>,
    aggregatetype: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    aggregateversion: Option<u64>,
    recordedat: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    actor: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    traceparent: Option<String>,
    data: Value,
}

/// A message that is not an event: no later attempt will make it one.
#[derive(Debug, thiserror::Error)]
pub enum NotAnEvent {
    /// Not the shape of an envelope. Where, but not what: the error's own text may quote the body.
    #[error("not a CloudEvents envelope: {:?} error at line {} column {}", .0.classify(), .0.line(), .0.column())]
    Unreadable(#[source] serde_json::Error),
    /// A version of the specification that this build does not read.
    #[error("unknown specversion")]
    UnknownVersion,
}

/// Writes an event as a message body.
pub fn write(event: &Event) -> Result<String, serde_json::Error> {
    let body = serde_json::to_string(&Envelope {
        specversion: SPECVERSION.to_owned(),
        id: event.event_id.clone(),
        source: format!("/belfry/{}", event.aggregate_type),
        event_type: event.event_type.clone(),
        subject: event.aggregate_id.clone(),
        time: event.occurred_at,
        datacontenttype: "application/json".to_owned(),
        dataschema: schemas::id(&event.event_type),
        aggregatetype: event.aggregate_type.clone(),
        aggregateversion: event.version,
        recordedat: event.recorded_at,
        actor: event.actor.clone(),
        traceparent: event.traceparent.as_ref().map(Trace::to_string),
        data: event.payload.clone(),
    })?;
    // The two characters that SQS refuses in a body, and that JSON need not escape.
    Ok(body.replace('\u{fffe}', "\\ufffe").replace('\u{ffff}', "\\uffff"))
}

/// Reads a message body.
pub fn read(body: &str) -> Result<Event, NotAnEvent> {
    let envelope: Envelope = serde_json::from_str(body).map_err(NotAnEvent::Unreadable)?;
    if envelope.specversion != SPECVERSION {
        return Err(NotAnEvent::UnknownVersion);
    }
    Ok(Event {
        event_id: envelope.id,
        event_type: envelope.event_type,
        aggregate_type: envelope.aggregatetype,
        aggregate_id: envelope.subject,
        version: envelope.aggregateversion,
        occurred_at: envelope.time,
        recorded_at: envelope.recordedat,
        actor: envelope.actor,
        // A broken trace context is no reason to lose an event.
        traceparent: envelope.traceparent.as_deref().and_then(|text| Trace::parse(text).ok()),
        payload: envelope.data,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event() -> Event {
        Event {
            event_id: EventId::parse("e-1").expect("an id"),
            event_type: "EntitlementGranted".to_owned(),
            aggregate_type: "Entitlement".to_owned(),
            aggregate_id: "u#sku".to_owned(),
            version: Some(3),
            occurred_at: Time::parse("2026-01-31T12:00:00Z").expect("a time"),
            recorded_at: Time::parse("2026-01-31T12:00:01Z").expect("a time"),
            actor: Some("shop".to_owned()),
            traceparent: Trace::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").ok(),
            payload: serde_json::json!({"user_id": "u"}),
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        assert_eq!(read(&write(&event()).expect("a body")).expect("an event"), event());
    }

    #[test]
    fn the_required_attributes_of_cloudevents_are_there() {
        let body: Value = serde_json::from_str(&write(&event()).expect("a body")).expect("json");
        assert_eq!(body["specversion"], "1.0");
        assert_eq!(body["id"], "e-1");
        assert_eq!(body["type"], "EntitlementGranted");
        assert_eq!(body["source"], "/belfry/Entitlement");
        assert_eq!(body["dataschema"], "urn:belfry:schema:EntitlementGranted");
        assert_eq!(body["time"], "2026-01-31T12:00:00.000Z");
    }

    #[test]
    fn characters_that_sqs_refuses_are_escaped() {
        let mut strange = event();
        strange.payload = serde_json::json!({"reason": "\u{fffe}\u{ffff}\u{10ffff}"});
        let body = write(&strange).expect("a body");
        assert!(!body.contains(['\u{fffe}', '\u{ffff}']), "{body}");
        assert_eq!(read(&body).expect("an event"), strange);
    }

    #[test]
    fn a_refusal_does_not_quote_the_body() {
        let problem = read("\"alice@example.com\"").expect_err("not an envelope").to_string();
        assert_eq!(problem, "not a CloudEvents envelope: Data error at line 1 column 19");
    }

    #[test]
    fn what_is_not_an_envelope_is_refused() {
        let newer = write(&event()).expect("a body").replace("\"specversion\":\"1.0\"", "\"specversion\":\"2.0\"");
        assert!(matches!(read(&newer), Err(NotAnEvent::UnknownVersion)));
        for body in ["", "{}", "[]", "not json", "{\"specversion\":\"1.0\"}"] {
            assert!(matches!(read(body), Err(NotAnEvent::Unreadable(_))), "{body}");
        }
    }
}
