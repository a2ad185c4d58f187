//! All intents and refunds, and the operations on them. No HTTP, idempotency keys or faults.

use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Form;
use super::intent::Intent;
use super::refusal::Refusal;
use crate::sent::PaymentCall;

/// An operation, parsed from method and path.
pub(super) enum Operation<'a> {
    CreateIntent,
    Confirm(&'a str),
    Cancel(&'a str),
    ReadIntent(&'a str),
    ListIntents,
    CreateRefund,
    ListRefunds,
}

/// Whether a charge succeeds.
#[derive(Clone, Copy)]
pub(super) enum Card {
    Good,
    Declined,
}

/// Intents and refunds, oldest first.
#[derive(Default)]
pub(super) struct Store {
    intents: Vec<Intent>,
    refunds: Vec<Value>,
}

impl<'a> Operation<'a> {
    pub(super) fn parse(call: &'a PaymentCall) -> Option<Self> {
        let path: Vec<&str> = call.path.strip_prefix("/v1/")?.split('/').collect();
        match (call.method.as_str(), path.as_slice()) {
            ("POST", ["payment_intents"]) => Some(Self::CreateIntent),
            ("POST", ["payment_intents", id, "confirm"]) => Some(Self::Confirm(id)),
            ("POST", ["payment_intents", id, "cancel"]) => Some(Self::Cancel(id)),
            ("GET", ["payment_intents", id]) => Some(Self::ReadIntent(id)),
            ("GET", ["payment_intents"]) => Some(Self::ListIntents),
            ("POST", ["refunds"]) => Some(Self::CreateRefund),
            ("GET", ["refunds"]) => Some(Self::ListRefunds),
            _ => None,
        }
    }

    /// Stripe ignores the idempotency key of a read.
    pub(super) fn is_write(&self) -> bool {
        match self {
            Self::CreateIntent | Self::Confirm(_) | Self::Cancel(_) | Self::CreateRefund => true,
            Self::ReadIntent(_) | Self::ListIntents | Self::ListRefunds => false,
        }
    }
}

impl Store {
    pub(super) fn perform(
        &mut self,
        operation: Operation<'_>,
        form: &Form,
        card: Card,
        now: Timestamp,
    ) -> Result<Value, Refusal> {
        match operation {
            Operation::CreateIntent => self.create_intent(form, now),
            Operation::Confirm(id) => {
                let intent = self.intent(id, "intent")?;
                intent.confirm(card)?;
                Ok(intent.to_json())
            }
            Operation::Cancel(id) => {
                let intent = self.intent(id, "intent")?;
                intent.cancel(now)?;
                Ok(intent.to_json())
            }
            Operation::ReadIntent(id) => Ok(self.intent(id, "intent")?.to_json()),
            Operation::ListIntents => page("/v1/payment_intents", self.intents.iter().rev().map(Intent::to_json), form),
            Operation::CreateRefund => self.create_refund(form, now),
            Operation::ListRefunds => page("/v1/refunds", self.refunds.iter().rev().cloned(), form),
        }
    }

    fn create_intent(&mut self, form: &Form, now: Timestamp) -> Result<Value, Refusal> {
        let amount = positive(form, "amount")?.ok_or(Refusal::MissingParameter("amount"))?;
        let currency = required(form, "currency")?.to_ascii_lowercase();
        let intent = Intent::new(amount, currency, metadata(form), now);
        let json = intent.to_json();
        self.intents.push(intent);
        Ok(json)
    }

    fn create_refund(&mut self, form: &Form, now: Timestamp) -> Result<Value, Refusal> {
        let intent = self.intent(required(form, "payment_intent")?, "payment_intent")?;
        let charge = intent.refund()?;
        let refund = json!({
            "id": format!("re_{}", Uuid::now_v7().simple()),
            "object": "refund",
            "amount": intent.amount,
            "charge": charge,
            "created": now.as_second(),
            "currency": intent.currency,
            "metadata": metadata(form),
            "payment_intent": intent.id,
            "status": "succeeded",
        });
        self.refunds.push(refund.clone());
        Ok(refund)
    }

    fn intent(&mut self, id: &str, param: &'static str) -> Result<&mut Intent, Refusal> {
        self.intents.iter_mut().find(|intent| intent.id == id).ok_or(Refusal::NoSuchIntent { param })
    }
}

fn required<'a>(form: &'a Form, name: &'static str) -> Result<&'a str, Refusal> {
    form.get(name).map(String::as_str).filter(|value| !value.is_empty()).ok_or(Refusal::MissingParameter(name))
}

fn positive(form: &Form, name: &'static str) -> Result<Option<u64>, Refusal> {
    form.get(name)
        .map(|value| match value.parse() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(Refusal::InvalidInteger(name)),
        })
        .transpose()
}

fn metadata(form: &Form) -> Form {
    form.iter()
        .filter_map(|(name, value)| {
            let name = name.strip_prefix("metadata[")?.strip_suffix(']')?;
            Some((name.to_owned(), value.clone()))
        })
        .collect()
}

/// Returns one page of a list, newest first. `starting_after` names the last item of the page before.
fn page(url: &str, newest_first: impl Iterator<Item = Value>, form: &Form) -> Result<Value, Refusal> {
    let limit = match positive(form, "limit")? {
        None => 10,
        Some(limit @ 1..=100) => limit as usize,
        Some(_) => return Err(Refusal::InvalidInteger("limit")),
    };
    let mut rest = newest_first;
    if let Some(last_seen) = form.get("starting_after") {
        rest.by_ref().find(|item| item["id"] == last_seen.as_str());
    }
    let data: Vec<Value> = rest.by_ref().take(limit).collect();
    let has_more = rest.next().is_some();
    Ok(json!({ "object": "list", "url": url, "has_more": has_more, "data": data }))
}
