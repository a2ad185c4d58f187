//! The calls: create, confirm and cancel an intent, refund its charge.
//!
//! Each is one request where all goes well; at most three, and for confirm and cancel as many again to read the intent.

use std::time::Duration;

use aws_types::SdkConfig;
use domain::order::{IntentId, Money};
use outside::{endpoint, http, time_limit};
use runtime::{BadSetting, Secret, Settings};

use crate::account::Account;
use crate::answer::{Answer, State};
use crate::call::{ATTEMPTS, Call, Way};
use crate::{NotDone, Reason};

const SECRET: &str = "BELFRY_PAYMENT_SECRET";
const STRIPE: &str = "https://api.stripe.com";

/// The payment provider.
#[derive(Debug)]
pub struct PaymentProvider {
    way: Way,
}

/// How a confirmation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmed {
    /// The customer was charged, by this call or before.
    Succeeded,
    /// The card was declined: nothing was charged.
    Declined {
        /// The decline code if it is a known one that may be told, or `declined`.
        reason: &'static str,
    },
    /// The intent was cancelled before: nothing was charged, nor can it be.
    Cancelled,
}

/// How a cancellation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelledIntent {
    /// The intent is cancelled, by this call or before, and cannot be charged any more.
    Cancelled,
    /// Too late: the customer was charged.
    Charged,
}

impl PaymentProvider {
    /// `BELFRY_PAYMENT_SECRET`, the secret with the provider's key; `BELFRY_PAYMENT_URL`, if it is not Stripe's.
    pub fn from_settings(settings: &Settings, aws: &SdkConfig) -> Result<Self, BadSetting> {
        let limit = time_limit(settings)?;
        let account = Secret::from_settings(settings, aws, SECRET, Account::parse)?;
        let base = endpoint(settings, "BELFRY_PAYMENT_URL")?.map_or_else(|| STRIPE.to_owned(), String::from);
        let base = base.trim_end_matches('/').to_owned();
        Ok(Self { way: Way { client: http::client(limit), base, account, limit } })
    }

    /// How long one call may take in all.
    pub fn longest_call(&self) -> Duration {
        self.way.limit * ATTEMPTS
    }

    /// Makes an intent to charge `total` for an order. Nothing is charged yet.
    pub async fn create(&self, order_id: &str, total: &Money, key: &str) -> Result<IntentId, NotDone> {
        let (amount, currency) = (total.amount.to_string(), total.currency.to_ascii_lowercase());
        let form = [("amount", amount.as_str()), ("currency", &currency), ("metadata[order_id]", order_id)];
        match self.way.call().post("/v1/payment_intents", &form, key).await? {
            Answer::Done(intent) => {
                IntentId::parse(intent.id).map_err(|_| NotDone::Refused(Reason::word("an answer without an id")))
            }
            Answer::Not(status, failure) => Err(NotDone::Refused(failure.reason(status))),
        }
    }

    /// Charges what the intent was made for.
    pub async fn confirm(&self, intent: &IntentId, key: &str) -> Result<Confirmed, NotDone> {
        match self.change(intent, "confirm", key).await? {
            State::Succeeded => Ok(Confirmed::Succeeded),
            State::Cancelled => Ok(Confirmed::Cancelled),
            State::Declined(reason) => Ok(Confirmed::Declined { reason }),
            // The charge is under way, or somebody else's confirmation overtook ours.
            State::Open(word @ ("processing" | "requires_confirmation")) => Err(NotDone::Transient(Reason::word(word))),
            State::Open(word) => Err(NotDone::Refused(Reason::word(word))),
        }
    }

    /// Closes an intent, so that it cannot be charged any more.
    pub async fn cancel(&self, intent: &IntentId, key: &str) -> Result<CancelledIntent, NotDone> {
        match self.change(intent, "cancel", key).await? {
            State::Succeeded => Ok(CancelledIntent::Charged),
            State::Cancelled => Ok(CancelledIntent::Cancelled),
            State::Declined(word) | State::Open(word) => Err(NotDone::Transient(Reason::word(word))),
        }
    }

    /// Gives back all that was charged. Once it was given back, by this call or before, that is so.
    pub async fn refund(&self, intent: &IntentId, key: &str) -> Result<(), NotDone> {
        match self.way.call().post("/v1/refunds", &[("payment_intent", intent.as_str())], key).await? {
            Answer::Done(refund) => match refund.status.as_str() {
                "failed" | "canceled" => Err(NotDone::Refused(Reason::word("the refund failed"))),
                _ => Ok(()),
            },
            Answer::Not(_, failure) if failure.is_already_refunded() => Ok(()),
            Answer::Not(status, failure) => Err(NotDone::Refused(failure.reason(status))),
        }
    }

    /// Asks for a change of the intent, and gives its state after that.
    async fn change(&self, intent: &IntentId, verb: &str, key: &str) -> Result<State, NotDone> {
        let call = self.way.call();
        let told = match call.post(&format!("/v1/payment_intents/{intent}/{verb}"), &[], key).await {
            Ok(Answer::Done(intent)) => Some(intent.state()),
            Ok(Answer::Not(402, failure)) if failure.is_of_the_card() => return Ok(State::Declined(failure.decline())),
            Ok(Answer::Not(status, failure)) if status == 402 || failure.is_unexpected_state() => failure.state(),
            Ok(Answer::Not(status, failure)) => return Err(NotDone::Refused(failure.reason(status))),
            Err(NotDone::Transient(reason)) => {
                // What was asked for may still be under way, so only a state that cannot change tells anything.
                let state = state(&call, intent, 1).await.ok().filter(State::is_final);
                return state.ok_or(NotDone::Transient(reason));
            }
            Err(refused) => return Err(refused),
        };
        match told.filter(State::is_final) {
            Some(state) => Ok(state),
            None => state(&call, intent, ATTEMPTS).await,
        }
    }
}

async fn state(call: &Call<'_>, intent: &IntentId, attempts: u32) -> Result<State, NotDone> {
    match call.get(&format!("/v1/payment_intents/{intent}"), attempts).await? {
        Answer::Done(intent) => Ok(intent.state()),
        Answer::Not(status, failure) => Err(NotDone::Refused(failure.reason(status))),
    }
}
