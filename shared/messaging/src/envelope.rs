//! The envelope of an event on a queue: CloudEvents 1.0, JSON format.

use domain::id::EventId;
use domain::{Event, Time};
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
    dataschema: String,
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
    /// Not the shape of an envelope.
    #[error("not a CloudEvents envelope: {0}")]
    Unreadable(#[from] serde_json::Error),
    /// A version of the specification that this build does not read.
    #[error("unknown specversion")]
    UnknownVersion,
}

/// Writes an event as a message body.
pub fn write(event: &Event) -> Result<String, serde_json::Error> {
    serde_json::to_string(&Envelope {
        specversion: SPECVERSION.to_owned(),
        id: event.event_id.clone(),
        source: format!("/belfry/{}", event.aggregate_type),
        event_type: event.event_type.clone(),
        subject: event.aggregate_id.clone(),
        time: event.occurred_at,
        datacontenttype: "application/json".to_owned(),
        dataschema: format!("/schemas/{}", event.event_type),
        aggregatetype: event.aggregate_type.clone(),
        aggregateversion: event.version,
        recordedat: event.recorded_at,
        actor: event.actor.clone(),
        traceparent: event.traceparent.clone(),
        data: event.payload.clone(),
    })
}

/// Reads a message body.
pub fn read(body: &str) -> Result<Event, NotAnEvent> {
    let envelope: Envelope = serde_json::from_str(body)?;
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
        traceparent: envelope.traceparent,
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
            traceparent: None,
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
        assert_eq!(body["time"], "2026-01-31T12:00:00.000Z");
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
