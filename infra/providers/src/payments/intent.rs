//! A payment intent and its states:
//!
//! ```text
//! requires_confirmation ──confirm──▶ succeeded
//!        │        └──confirm, declined──▶ requires_payment_method ──confirm──▶ succeeded
//!        └──cancel──▶ canceled ◀──cancel──┘
//! ```
//! A payment method is taken for granted: an intent is ready to be confirmed as soon as it exists, and a declined one
//! can be confirmed again.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::book::Card;
use super::refusal::Refusal;

pub(super) struct Intent {
    pub(super) id: String,
    pub(super) currency: String,
    amount: u64,
    metadata: BTreeMap<String, String>,
    created: i64,
    state: State,
}

enum State {
    RequiresConfirmation,
    RequiresPaymentMethod,
    Succeeded { charge: String, refunded: u64 },
    Canceled { at: i64, reason: Option<String> },
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
                return Err(Refusal::Declined { intent: self.shown() });
            }
            (State::RequiresConfirmation | State::RequiresPaymentMethod, Card::Good) => {}
        }
        self.state = State::Succeeded { charge: format!("ch_{}", Uuid::now_v7().simple()), refunded: 0 };
        Ok(())
    }

    pub(super) fn cancel(&mut self, reason: Option<String>, now: Timestamp) -> Result<(), Refusal> {
        match self.state {
            State::Succeeded { .. } | State::Canceled { .. } => Err(self.unexpected("cancel")),
            State::RequiresConfirmation | State::RequiresPaymentMethod => {
                let at = now.as_second();
                self.state = State::Canceled { at, reason };
                Ok(())
            }
        }
    }

    /// Takes `amount`, or all that is left, back from the charge. Gives the charge and the amount.
    pub(super) fn refund(&mut self, amount: Option<u64>) -> Result<(String, u64), Refusal> {
        let State::Succeeded { charge, refunded } = &mut self.state else {
            return Err(Refusal::NothingToRefund);
        };
        let left = self.amount - *refunded;
        let amount = amount.unwrap_or(left);
        if left == 0 {
            return Err(Refusal::AlreadyRefunded);
        }
        if amount > left {
            return Err(Refusal::RefundTooLarge);
        }
        *refunded += amount;
        Ok((charge.clone(), amount))
    }

    fn unexpected(&self, verb: &'static str) -> Refusal {
        Refusal::UnexpectedState { verb, intent: self.shown() }
    }

    /// The intent as Stripe shows it.
    pub(super) fn shown(&self) -> Value {
        let mut shown = json!({
            "id": self.id,
            "object": "payment_intent",
            "amount": self.amount,
            "amount_received": 0,
            "canceled_at": null,
            "cancellation_reason": null,
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
            State::RequiresConfirmation => shown["status"] = "requires_confirmation".into(),
            State::RequiresPaymentMethod => {
                shown["status"] = "requires_payment_method".into();
                shown["last_payment_error"] = json!({
                    "type": "card_error",
                    "code": "card_declined",
                    "decline_code": "generic_decline",
                    "message": "Your card was declined.",
                });
            }
            State::Succeeded { charge, .. } => {
                shown["status"] = "succeeded".into();
                shown["amount_received"] = self.amount.into();
                shown["latest_charge"] = charge.as_str().into();
            }
            State::Canceled { at, reason } => {
                shown["status"] = "canceled".into();
                shown["canceled_at"] = (*at).into();
                shown["cancellation_reason"] = reason.as_deref().into();
            }
        }
        shown
    }
}
