//! The calls: create, confirm and cancel an intent, and refund its charge.
//!
//! Without errors, each is one request. A call makes at most three, and confirm and cancel up to three more to read the
//! intent.

use std::time::Duration;

use aws_types::SdkConfig;
use domain::order::{IntentId, Money};
use provider_http::{endpoint, time_limit};
use runtime::{BadSetting, Secret, Settings};

use crate::account::Account;
use crate::answer::{Answer, IntentState};
use crate::call::{ATTEMPTS, Api, Call};
use crate::{PaymentError, Reason};

const SECRET: &str = "BELFRY_PAYMENT_SECRET";
const STRIPE: &str = "https://api.stripe.com";

/// The payment provider.
#[derive(Debug)]
pub struct PaymentProvider {
    api: Api,
}

/// The result of a confirmation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmed {
    /// The customer was charged, by this call or an earlier one.
    Succeeded,
    /// The card was declined: nothing was charged.
    Declined {
        /// The decline code, or `declined` if it is unknown or must not be disclosed.
        reason: &'static str,
    },
    /// The intent was cancelled earlier and cannot be charged.
    Cancelled,
}

/// The result of a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelledIntent {
    /// The intent is cancelled, by this call or an earlier one, and cannot be charged.
    Cancelled,
    /// The customer was already charged.
    Charged,
}

impl PaymentProvider {
    /// Reads `BELFRY_PAYMENT_SECRET`, the secret with the API key, and optionally `BELFRY_PAYMENT_URL`.
    pub fn from_settings(settings: &Settings, aws: &SdkConfig) -> Result<Self, BadSetting> {
        let limit = time_limit(settings)?;
        let account = Secret::from_settings(settings, aws, SECRET, Account::parse)?;
        let base = endpoint(settings, "BELFRY_PAYMENT_URL")?.map_or_else(|| STRIPE.to_owned(), String::from);
        let base = base.trim_end_matches('/').to_owned();
        Ok(Self { api: Api { client: provider_http::client(limit), base, account, limit } })
    }

    /// Returns the longest time that a call may take.
    pub fn longest_call(&self) -> Duration {
        self.api.limit * ATTEMPTS
    }

    /// Creates an intent to charge `total` for an order. Nothing is charged yet.
    pub async fn create(&self, order_id: &str, total: &Money, key: &str) -> Result<IntentId, PaymentError> {
        let (amount, currency) = (total.amount.to_string(), total.currency.to_ascii_lowercase());
        let form = [("amount", amount.as_str()), ("currency", &currency), ("metadata[order_id]", order_id)];
        match self.api.call().post("/v1/payment_intents", &form, key).await? {
            Answer::Done(intent) => {
                IntentId::parse(intent.id).map_err(|_| PaymentError::Refused(Reason::text("answer has no valid id")))
            }
            Answer::Refused(status, failure) => Err(PaymentError::Refused(failure.reason(status))),
        }
    }

    /// Charges the intent.
    pub async fn confirm(&self, intent: &IntentId, key: &str) -> Result<Confirmed, PaymentError> {
        match self.transition(intent, "confirm", key).await? {
            IntentState::Succeeded => Ok(Confirmed::Succeeded),
            IntentState::Cancelled => Ok(Confirmed::Cancelled),
            IntentState::Declined(reason) => Ok(Confirmed::Declined { reason }),
            // The charge is in progress, or a concurrent confirmation is.
            IntentState::Open(word @ ("processing" | "requires_confirmation")) => {
                Err(PaymentError::Transient(Reason::text(word)))
            }
            IntentState::Open(word) => Err(PaymentError::Refused(Reason::text(word))),
        }
    }

    /// Cancels an intent, so that it cannot be charged.
    pub async fn cancel(&self, intent: &IntentId, key: &str) -> Result<CancelledIntent, PaymentError> {
        match self.transition(intent, "cancel", key).await? {
            IntentState::Succeeded => Ok(CancelledIntent::Charged),
            IntentState::Cancelled => Ok(CancelledIntent::Cancelled),
            IntentState::Declined(word) | IntentState::Open(word) => Err(PaymentError::Transient(Reason::text(word))),
        }
    }

    /// Refunds the whole charge. Succeeds if an earlier call refunded it.
    pub async fn refund(&self, intent: &IntentId, key: &str) -> Result<(), PaymentError> {
        match self.api.call().post("/v1/refunds", &[("payment_intent", intent.as_str())], key).await? {
            Answer::Done(refund) => match refund.status.as_str() {
                "failed" | "canceled" => Err(PaymentError::Refused(Reason::text("refund failed"))),
                _ => Ok(()),
            },
            Answer::Refused(_, failure) if failure.is_already_refunded() => Ok(()),
            Answer::Refused(status, failure) => Err(PaymentError::Refused(failure.reason(status))),
        }
    }

    /// Requests a transition of the intent and returns the resulting state.
    async fn transition(&self, intent: &IntentId, verb: &str, key: &str) -> Result<IntentState, PaymentError> {
        let call = self.api.call();
        let reported = match call.post(&format!("/v1/payment_intents/{intent}/{verb}"), &[], key).await {
            Ok(Answer::Done(intent)) => Some(intent.state()),
            Ok(Answer::Refused(402, failure)) if failure.is_card_error() => {
                return Ok(IntentState::Declined(failure.decline()));
            }
            Ok(Answer::Refused(status, failure)) if status == 402 || failure.is_unexpected_state() => failure.state(),
            Ok(Answer::Refused(status, failure)) => return Err(PaymentError::Refused(failure.reason(status))),
            Err(PaymentError::Transient(reason)) => {
                // The transition may still be in progress, so only a final state counts.
                let state = read_state(&call, intent, 1).await.ok().filter(IntentState::is_final);
                return state.ok_or(PaymentError::Transient(reason));
            }
            Err(refused) => return Err(refused),
        };
        match reported.filter(IntentState::is_final) {
            Some(state) => Ok(state),
            None => read_state(&call, intent, ATTEMPTS).await,
        }
    }
}

async fn read_state(call: &Call<'_>, intent: &IntentId, attempts: u32) -> Result<IntentState, PaymentError> {
    match call.get(&format!("/v1/payment_intents/{intent}"), attempts).await? {
        Answer::Done(intent) => Ok(intent.state()),
        Answer::Refused(status, failure) => Err(PaymentError::Refused(failure.reason(status))),
    }
}
