//! `POST /v1/events`: a source system hands an event in, or up to 25 of them.
//!
//! One round trip: a transaction of one conditional put per event, two write units per event and KiB. The event id is
//! the key: what stands there already with the same content is left out and the rest goes on; with another content the
//! whole is refused and nothing of it is written.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use belfry_http::{Detail, JsonBody};
use domain::announcement::{ANNOUNCEMENT, Announcement};
use domain::id::SourceName;
use domain::routing::Routes;
use domain::{Event, EventId, Fingerprint, Time, Trace, event_types};
use ledger::{LedgerError, Outcome};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::http::error::{ApiError, Code, ErrorBody};
use crate::http::identity::{Allowed, EventsWrite};
use crate::{Api, Shared};

/// The most events in one call.
const MOST: usize = 25;

/// Hands events in.
#[utoipa::path(
    post,
    path = "/v1/events",
    security(("jwt" = ["events:write"])),
    request_body(content = HandedIn, description = "one event, or a list of up to 25"),
    responses(
        (status = 202, description = "accepted, now or before", body = Accepted),
        (status = 400, description = "not an event, or a type that no route knows", body = ErrorBody),
        (status = 403, description = "the scope is missing, or the type is Belfry's own", body = ErrorBody),
        (status = 409, description = "an event of this id stands there with another content", body = ErrorBody),
    )
)]
pub async fn hand_in_events(
    State(api): Shared,
    Allowed { caller, .. }: Allowed<EventsWrite>,
    axum::Extension(trace): axum::Extension<Trace>,
    body: JsonBody<Value>,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let is_list = body.json.is_array();
    let handed_in = parse(&body.json)?;
    let now = Time::now();
    let events = handed_in.into_iter().map(|(place, handed_in, json)| {
        let content = Fingerprint::of_json("EVENT", "", json)?;
        Ok((place, handed_in.into_event(&caller.identity.subject, &trace, now), content))
    });
    let events: Vec<(String, Event, Fingerprint)> = events.collect::<Result<_, ApiError>>()?;
    let accepted = api.hand_in(&events).await?;
    let answer =
        if is_list { serde_json::json!({"events": accepted}) } else { serde_json::to_value(accepted.first())? };
    Ok((StatusCode::ACCEPTED, Json(answer)))
}

/// An event as a source hands it in.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HandedIn {
    /// Its id, which makes handing it in twice harmless.
    #[schema(value_type = String)]
    event_id: EventId,
    /// What happened.
    #[schema(value_type = String)]
    event_type: SourceName,
    /// The kind of thing it happened to.
    #[schema(value_type = String)]
    aggregate_type: SourceName,
    /// The thing it happened to.
    #[schema(value_type = String)]
    aggregate_id: SourceName,
    /// When; now, where it is not said.
    #[schema(value_type = Option<String>, format = DateTime)]
    occurred_at: Option<Time>,
    /// The type's own fields.
    #[schema(value_type = Object)]
    payload: Map<String, Value>,
}

/// An event that is stored, and goes to everybody who is subscribed to it.
#[derive(Debug, Serialize, ToSchema)]
pub struct Accepted {
    #[schema(value_type = String)]
    event_id: EventId,
    /// It had been handed in before, and has no second effect.
    duplicate: bool,
}

/// Each event with its place in the body and the JSON that it was. All that is wrong with any of them is told at once.
fn parse(body: &Value) -> Result<Vec<(String, HandedIn, &Value)>, ApiError> {
    let events: Vec<(String, &Value)> = match body {
        Value::Array(list) if list.is_empty() || list.len() > MOST => {
            return Err(ApiError::field("body", format!("must be one event or a list of 1 to {MOST}")));
        }
        Value::Array(list) => list.iter().enumerate().map(|(index, json)| (format!("[{index}]."), json)).collect(),
        one => vec![(String::new(), one)],
    };
    let mut parsed = Vec::with_capacity(events.len());
    let mut wrong = Vec::new();
    let mut ids = BTreeSet::new();
    for (place, json) in events {
        match belfry_http::read::<HandedIn>(json) {
            Err(detail) => wrong.push(Detail { field: format!("{place}{}", detail.field), ..detail }),
            Ok(handed_in) => {
                if !ids.insert(handed_in.event_id.clone()) {
                    let problem = "must not appear twice in one list".to_owned();
                    wrong.push(Detail { field: format!("{place}event_id"), problem });
                }
                parsed.push((place, handed_in, json));
            }
        }
    }
    if !wrong.is_empty() {
        return Err(ApiError::fields(wrong));
    }
    // Whose an event is comes before whether anybody wants it.
    if let Some((_, handed_in, _)) =
        parsed.iter().find(|(_, handed_in, _)| event_types::own(handed_in.event_type.as_str()))
    {
        let message = format!("{} is reported by Belfry alone", handed_in.event_type.as_str());
        return Err(ApiError::new(Code::Forbidden, message));
    }
    let routes = Routes::load().map_err(|error| ApiError::unexpected(&error))?;
    let wrong: Vec<Detail> =
        parsed.iter().flat_map(|(place, handed_in, _)| misfits(place, handed_in, routes)).collect();
    if wrong.is_empty() { Ok(parsed) } else { Err(ApiError::fields(wrong)) }
}

/// What is wrong with an event of this type: nobody knows the type, or its payload is not what the type's readers need.
fn misfits(place: &str, handed_in: &HandedIn, routes: &Routes) -> Vec<Detail> {
    let event_type = handed_in.event_type.as_str();
    if !routes.knows(event_type) {
        let problem = format!("no route knows the type {event_type}");
        return vec![Detail { field: format!("{place}event_type"), problem }];
    }
    if event_type != ANNOUNCEMENT {
        return Vec::new();
    }
    match Announcement::parse(&Value::Object(handed_in.payload.clone())) {
        Ok(announcement) => {
            let audience = announcement.to().audience();
            let told = routes.route(event_type, audience).is_some();
            let problem = format!("no route tells {audience} of announcements");
            if told { Vec::new() } else { vec![Detail { field: format!("{place}payload.audience"), problem }] }
        }
        Err(not) => {
            let detail = |(field, problem)| Detail { field: format!("{place}{field}"), problem };
            not.0.into_iter().map(detail).collect()
        }
    }
}

impl HandedIn {
    fn into_event(self, actor: &str, trace: &Trace, now: Time) -> Event {
        Event {
            event_id: self.event_id,
            event_type: self.event_type.to_string(),
            aggregate_type: self.aggregate_type.to_string(),
            aggregate_id: self.aggregate_id.to_string(),
            version: None,
            occurred_at: self.occurred_at.unwrap_or(now),
            recorded_at: now,
            actor: Some(actor.to_owned()),
            traceparent: Some(trace.clone()),
            payload: Value::Object(self.payload),
        }
    }
}

impl Api {
    async fn hand_in(&self, events: &[(String, Event, Fingerprint)]) -> Result<Vec<Accepted>, ApiError> {
        let ledger = &self.commands.ledger;
        let mut new: Vec<&(String, Event, Fingerprint)> = events.iter().collect();
        while !new.is_empty() {
            let writes = new.iter().map(|(_, event, content)| self.commands.events.hand_in(event, content));
            let writes = writes.collect::<Result<Vec<_>, _>>()?;
            let Outcome::Raced(raced) = ledger.commit(&writes).await? else { break };
            let mut conflicts = Vec::new();
            let mut known = Vec::new();
            for ((place, event, content), write) in new.iter().zip(&writes) {
                match raced.standing(write.key()) {
                    None if raced.lost(write.key()) => return Err(LedgerError::Contended { attempts: 1 }.into()),
                    None => {}
                    Some(standing) if self.commands.events.is_same(standing, content)? => known.push(&event.event_id),
                    Some(_) => conflicts.push(Detail {
                        field: format!("{place}event_id"),
                        problem: format!("{} stands for another event", event.event_id),
                    }),
                }
            }
            if !conflicts.is_empty() {
                return Err(ApiError::with_details(Code::EventConflict, conflicts));
            }
            new.retain(|(_, event, _)| !known.contains(&&event.event_id));
        }
        for (_, event, _) in &new {
            tracing::info!(event_id = %event.event_id, event_type = event.event_type, "event handed in");
        }
        self.metrics.events_in(new.len(), events.len() - new.len());
        let is_new = |event: &Event| new.iter().any(|(_, other, _)| other.event_id == event.event_id);
        let accepted = |event: &Event| Accepted { event_id: event.event_id.clone(), duplicate: !is_new(event) };
        Ok(events.iter().map(|(_, event, _)| accepted(event)).collect())
    }
}

#[cfg(test)]
mod tests {
    use belfry_http::ErrorCode;
    use serde_json::json;

    use super::*;

    fn announcement(event_id: &str) -> Value {
        json!({
            "event_id": event_id, "event_type": "Announcement", "aggregate_type": "Campaign", "aggregate_id": "c-1",
            "payload": {"title": "Hello", "body": "World", "audience": "CUSTOMER", "user_id": "u-1"},
        })
    }

    fn problem(body: &Value) -> (ErrorCode, String) {
        let error = parse(body).expect_err("refused");
        (error.code(), error.message().to_owned())
    }

    #[test]
    fn one_event_and_a_list_are_taken() {
        assert_eq!(parse(&announcement("e")).expect("one").len(), 1);
        let list: Vec<Value> = (0..25).map(|n| announcement(&format!("e-{n}"))).collect();
        assert_eq!(parse(&json!(list)).expect("a list").len(), 25);
    }

    #[test]
    fn what_is_not_an_event_names_its_field() {
        let list: Vec<Value> = (0..26).map(|n| announcement(&format!("e-{n}"))).collect();
        for (body, expected) in [
            (json!([]), "body: must be one event or a list of 1 to 25"),
            (json!(list), "body: must be one event or a list of 1 to 25"),
            (json!([announcement("e"), announcement("e")]), "[1].event_id: must not appear twice in one list"),
            (json!("text"), "body: must be an object"),
        ] {
            let (code, message) = problem(&body);
            assert_eq!(code, ErrorCode::BAD_REQUEST);
            assert!(message.starts_with(expected), "{message}");
        }
    }

    #[test]
    fn nobody_can_forge_what_belfry_reports_and_an_unknown_type_is_named() {
        let of_type = |event_type: &str| {
            let mut event = announcement("e");
            event["event_type"] = json!(event_type);
            event
        };
        for own in ["OrderPaid", "EntitlementGranted", "DeadLetterRedriven"] {
            assert_eq!(problem(&of_type(own)).0, ErrorCode::FORBIDDEN, "{own}");
        }
        let (code, message) = problem(&of_type("Unheard"));
        assert_eq!((code, message.as_str()), (ErrorCode::BAD_REQUEST, "event_type: no route knows the type Unheard"));
    }

    #[test]
    fn an_announcement_is_checked_at_the_door() {
        let mut nobody = announcement("e");
        nobody["payload"] = json!({"title": "", "body": "b", "audience": "CUSTOMER"});
        let (code, message) = problem(&json!([nobody]));
        assert_eq!(code, ErrorCode::BAD_REQUEST);
        assert!(message.starts_with("[0].payload.title: "), "{message}");
    }
}
