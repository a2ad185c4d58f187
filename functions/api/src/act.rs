//! `POST /v1/notifications/{id}/actions`: somebody acts on what their group was told, and the first one counts.
//!
//! Whoever handles it stands on the event notification, which the group shares, under the condition that nobody does;
//! everybody else gets 409 ALREADY_HANDLED with who was first. CONFIRMED and REJECTED on a requested reservation decide it
//! in the same transaction, under the condition of its version; so of an action and a call of `decide_reservation` at the
//! same time one wins, and where the reservation does not allow the step nothing is handled either. Acting is reading.
//!
//! | caller | answer |
//! |---|---|
//! | not the notification's recipient | 404 |
//! | no longer of the group that was told | 403, since what they do would count for the group |
//! | may not decide the reservation (`reservation_rights`) | as there |
//!
//! Three round trips: the row, which says what it shows; all that the decision rests on, with the key; the transaction. A
//! fourth for an action that may decide a reservation, which the event notification names. At most the row, the event
//! notification, the group's read, the reservation, two events and the key: fourteen write units.

use axum::extract::State;
use axum::response::Response;
use belfry_aws::{Context, EventDraft, EventId, Stamp};
use belfry_http::{InPath, JsonBody};
use domain::action::{Action, ActionRefused, NotificationActed, decides, handled};
use domain::live::News;
use domain::notification::{HandledBy, NotificationView};
use domain::reservation::{Reservation, ReservationRefusal, Step};
use domain::{Fresh, Trace};
use ledger::command::{Answer, Begin, Command, Decision};
use ledger::{Corrupt, Found, Key, LedgerError, Versioned};
use uuid::Uuid;

use crate::addressed::{Addressed, Standing, unknown};
use crate::http::error::{ApiError, Code, ErrorBody};
use crate::http::identity::Caller;
use crate::http::ledger::Keyed;
use crate::reservations::rights::{may_take, visible};
use crate::{Api, Shared};

/// Acts on one of the caller's own notifications, for the whole group.
#[utoipa::path(
    post,
    path = "/v1/notifications/{id}/actions",
    params(("id" = String, Path), ("Idempotency-Key" = String, Header, description = "1 to 255 visible ASCII characters")),
    request_body(content = Object, description = "action_type: CONFIRMED, REJECTED, POSTPONED, DISMISSED or CUSTOM; note: up to 1000 characters"),
    responses(
        (status = 200, body = NotificationView),
        (status = 400, description = "it cannot be acted on, or the body is wrong", body = ErrorBody),
        (status = 403, description = "the caller has left the group that was told", body = ErrorBody),
        (status = 404, description = "not in the caller's inbox", body = ErrorBody),
        (status = 409, description = "ALREADY_HANDLED with handled_by, or RESERVATION_STATE_CONFLICT", body = ErrorBody),
    )
)]
pub async fn act(
    State(api): Shared,
    InPath(id): InPath<String>,
    keyed: Keyed,
    body: JsonBody<Action>,
) -> Result<Response, ApiError> {
    let request = keyed.with_body(&body.json)?;
    let addressed = api.addressed(&keyed.caller, &id).await?;
    let action = body.parsed;
    let told = if action.action_type.step().is_some() { addressed.told().await? } else { None };
    let decides = told.map(|told| decides(&told, action.action_type)).transpose()?.flatten();
    let command = Act { addressed, action, decides, caller: &keyed.caller, trace: &keyed.trace, api: &api };
    let news = api.tell_listeners(&command.addressed, News::Handled);
    api.execute_then("act", &request, &command, news).await
}

struct Act<'a> {
    addressed: Addressed<'a>,
    action: Action,
    decides: Option<(Uuid, Step)>,
    caller: &'a Caller,
    trace: &'a Trace,
    api: &'a Api,
}

/// How a decision ends that is not to be.
enum Refusal {
    /// By who asks for what: not stored.
    Declined(ApiError),
    /// By how things stand: stored.
    Refused(ApiError),
}

impl Act<'_> {
    /// The notification after the action.
    fn acted(&self, before: &Standing, fresh: &Fresh) -> Result<Standing, Refusal> {
        let user_id = &self.addressed.user_id;
        if !before.told.is_of_group(user_id, before.record.as_ref()) {
            let message = "not for this caller, who has left the group that was told";
            return Err(Refusal::Declined(ApiError::new(Code::Forbidden, message)));
        }
        let name = self.addressed.name(before);
        let action_type = self.action.action_type;
        let by = HandledBy { user_id: user_id.clone(), name, action_type, at: fresh.now };
        let read = self.addressed.read(before, fresh);
        let told = handled(&read.told, by).map_err(|refused| {
            let message = refused.to_string();
            match refused {
                ActionRefused::NotActionable => Refusal::Declined(ApiError::new(Code::BadRequest, message)),
                ActionRefused::AlreadyHandled(first) => Refusal::Refused(ApiError::already_handled(message, &first)),
            }
        })?;
        Ok(Standing { told, ..read })
    }

    /// The reservation after the action, where it decides one.
    fn decided(
        &self,
        before: &Standing,
        reservation: Option<&Versioned<Reservation>>,
        fresh: &Fresh,
    ) -> Result<Option<Versioned<Reservation>>, Refusal> {
        let Some((_, step)) = self.decides else { return Ok(None) };
        let record = before.record.as_ref();
        let declined = |refusal: ReservationRefusal| Refusal::Declined(refusal.into());
        let version = reservation.map_or(0, |reservation| reservation.version) + 1;
        let reservation = reservation.map(|reservation| &reservation.entity);
        let reservation = visible(self.caller, record, reservation).map_err(declined)?;
        may_take(self.caller, record, reservation, step).map_err(declined)?;
        let next = reservation.after(step, &self.caller.identity.subject, fresh.now);
        let next = next.map_err(|refused| Refusal::Refused(ReservationRefusal::from(refused).into()))?;
        Ok(Some(Versioned { entity: next, version }))
    }
}

impl Command for Act<'_> {
    type Known = (Option<Standing>, Option<Versioned<Reservation>>);

    fn begin(&self) -> Begin {
        Begin::Read
    }

    fn reads(&self) -> Vec<Key> {
        let reservation = self.decides.map(|(id, _)| self.api.reservations.key(&id));
        self.addressed.reads().into_iter().chain(reservation).collect()
    }

    fn known(&self, found: &Found) -> Result<Self::Known, Corrupt> {
        let reservation = self.decides.map(|(id, _)| self.api.reservations.among(found, &id));
        Ok((self.addressed.standing(found)?, reservation.transpose()?.flatten()))
    }

    fn decide(&self, (before, reservation): &Self::Known, fresh: &Fresh) -> Result<Decision, LedgerError> {
        let Some(before) = before else { return Ok(Decision::Decline(unknown().into_answer()?)) };
        let acted = self.acted(before, fresh);
        let decided = acted.and_then(|after| Ok((after, self.decided(before, reservation.as_ref(), fresh)?)));
        let (after, decided) = match decided {
            Ok(decided) => decided,
            Err(Refusal::Declined(declined)) => return Ok(Decision::Decline(declined.into_answer()?)),
            Err(Refusal::Refused(refused)) => return Ok(Decision::Refuse(refused.into_answer()?)),
        };
        let by = &self.addressed.user_id;
        let id = after.row.notification_id;
        let mut events = vec![NotificationActed::event(&after.told, id, by, &self.action, fresh)?];
        let mut writes = self.addressed.writes(before, &after)?;
        if let Some(decided) = decided {
            writes.push(self.api.reservations.put(&decided)?);
            let event_id = EventId::from(fresh.next().event_id);
            let ctx = Context::new(fresh.now, fresh.event_id).with_actor(self.caller.identity.subject.as_str());
            let draft = decided.changed(decided.version, Stamp { event_id: event_id.clone(), now: fresh.now });
            let draft = EventDraft { event_id: Some(event_id), ..draft };
            events.push(draft.stamped(&ctx, Some(decided.version)).map_err(|error| LedgerError::Unwritable(error.0))?);
        }
        for event in &mut events {
            event.traceparent = Some(self.trace.clone());
        }
        Ok(Decision::Commit { writes, events, answer: Answer::json(200, &after.into_view())? })
    }
}
