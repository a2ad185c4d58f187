//! A payment intent and its states:
//!
//! ```text
//! requires_confirmation ──confirm──▶ succeeded
//!        │        └──confirm, declined──▶ requires_payment_method ──confirm──▶ succeeded
//!        └──cancel──▶ canceled ◀──cancel──┘
//! ```
//! Every intent has a payment method: it can be confirmed as soon as it exists, and again after a decline. A refund
//! returns the whole charge.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::refusal::Refusal;
use super::store::Card;

pub(super) struct Intent {
    pub(super) id: String,
    pub(super) currency: String,
    pub(super) amount: u64,
    metadata: BTreeMap<String, String>,
    created: i64,
    state: State,
}

enum State {
    RequiresConfirmation,
    RequiresPaymentMethod,
    Succeeded { charge: String, is_refunded: bool },
    Canceled { at: i64 },
}

impl Intent {
    pub(super) fn new(amount: u64, currency: String, metadata: BTreeMap<String, String>, now: Timestamp) -> Self {
        Self {
            id: format!("pi_{}", Uuid::now_v7().simple()),
            currency,
            amount,
            metadata,
            created: now.as_second(),
            state: State::RequiresConfirmation,
        }
    }

    pub(super) fn confirm(&mut self, card: Card) -> Result<(), Refusal> {
        match (&self.state, card) {
            (State::Succeeded { .. } | State::Canceled { .. }, _) => {
                return Err(self.unexpected("confirm"));
            }
            (State::RequiresConfirmation | State::RequiresPaymentMethod, Card::Declined) => {
                self.state = State::RequiresPaymentMethod;
                return Err(Refusal::Declined { intent: self.to_json() });
            }
            (State::RequiresConfirmation | State::RequiresPaymentMethod, Card::Good) => {}
        }
        self.state = State::Succeeded { charge: format!("ch_{}", Uuid::now_v7().simple()), is_refunded: false };
        Ok(())
    }

    pub(super) fn cancel(&mut self, now: Timestamp) -> Result<(), Refusal> {
        match self.state {
            State::Succeeded { .. } | State::Canceled { .. } => Err(self.unexpected("cancel")),
            State::RequiresConfirmation | State::RequiresPaymentMethod => {
                self.state = State::Canceled { at: now.as_second() };
                Ok(())
            }
        }
    }

    /// Refunds the whole charge. Returns the charge's id.
    pub(super) fn refund(&mut self) -> Result<String, Refusal> {
        match &mut self.state {
            State::Succeeded { is_refunded: true, .. } => Err(Refusal::AlreadyRefunded),
            State::Succeeded { charge, is_refunded } => {
                *is_refunded = true;
                Ok(charge.clone())
            }
            _ => Err(Refusal::NothingToRefund),
        }
    }

    fn unexpected(&self, verb: &'static str) -> Refusal {
        Refusal::UnexpectedState { verb, intent: self.to_json() }
    }

    /// Returns the intent in Stripe's format.
    pub(super) fn to_json(&self) -> Value {
        let mut json = json!({
            "id": self.id,
            "object": "payment_intent",
            "amount": self.amount,
            "amount_received": 0,
            "canceled_at": null,
            "capture_method": "automatic",
            "confirmation_method": "automatic",
            "created": self.created,
            "currency": self.currency,
            "last_payment_error": null,
            "latest_charge": null,
            "livemode": false,
            "metadata": self.metadata,
        });
        match &self.state {
            State::RequiresConfirmation => json["status"] = "requires_confirmation".into(),
            State::RequiresPaymentMethod => {
                json["status"] = "requires_payment_method".into();
                json["last_payment_error"] = json!({
                    "type": "card_error",
                    "code": "card_declined",
                    "decline_code": "generic_decline",
                    "message": "Your card was declined.",
                });
            }
            State::Succeeded { charge, .. } => {
                json["status"] = "succeeded".into();
                json["amount_received"] = self.amount.into();
                json["latest_charge"] = charge.as_str().into();
            }
            State::Canceled { at } => {
                json["status"] = "canceled".into();
                json["canceled_at"] = (*at).into();
            }
        }
        json
    }
}
