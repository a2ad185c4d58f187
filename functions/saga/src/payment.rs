//! The payments: `OrderValidated` → charged once, or declined; `OrderCancelled` → refunded if charged, or never charged.
//!
//! The charge is an outside effect: the provider makes an intent, its id is stored, and only then that id is confirmed,
//! each call with a key that is the same however often it is made. So a crash anywhere repeats calls that the provider
//! recognises, and a day later, when it has forgotten the keys, what is confirmed is still the one intent that is stored.
//! Whether a payment that was called off while it was charged is charged or not, the provider decides: an intent is
//! confirmed or cancelled, and never both.
//!
//! Reads: the payment. Writes: the intent's id by itself; the outcome with its event and the mark in one transaction. A
//! charge that is to be refunded is recorded by itself before it is.

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use aws_types::SdkConfig;
use domain::id::Line;
use domain::order::{
    CANCELLED, OrderCancelled, OrderValidated, PAID, PAYMENT_FAILED, PaymentFailed, REFUNDED, VALIDATED,
};
use domain::payment::{Intent, Payment as Standing, PaymentState};
use domain::routing::Queue;
use domain::{Event, Fresh, Time};
use ledger::{Events, Ledger, LedgerError, Outcome, Payments, Write};
use messaging::{Consumer, Effect, Failure, Source};
use payments::{CancelledIntent, Confirmed, PaymentError as NotDone, PaymentProvider};
use runtime::{BadSetting, Metrics, Settings};
use uuid::Uuid;

use crate::report::{Of, event, not_ours, payload};

/// How many steps one delivery takes at most; each is stored, so the next delivery goes on where it ended.
const STEPS: u32 = 8;

/// The service, with what it needs for every batch.
#[derive(Debug)]
pub struct Payment {
    consumer: Consumer,
    events: Events,
    payments: Payments,
    provider: PaymentProvider,
}

/// What an event asks for.
enum Asked {
    /// To charge what was reserved.
    Charge(OrderValidated),
    /// To charge nothing, or to pay it back.
    CallOff(OrderCancelled),
}

impl Asked {
    fn order_id(&self) -> Uuid {
        match self {
            Self::Charge(validated) => validated.order_id,
            Self::CallOff(cancelled) => cancelled.order_id,
        }
    }
}

/// What a step came to.
enum Stepped {
    /// This is what remains to be committed with the mark.
    Done(Vec<Write>),
    /// Something is stored, or somebody else has stored something: look again.
    Again,
}

impl Payment {
    /// Reads the tables' names, the queue's URL, what the provider needs, and what the frame reads.
    pub fn new(
        settings: &Settings,
        ledger: Ledger,
        sqs: aws_sdk_sqs::Client,
        metrics: Metrics,
        aws: &SdkConfig,
    ) -> Result<Self, BadSetting> {
        let sources = vec![Source::from_settings(settings, Queue::Payment)?];
        Ok(Self {
            consumer: Consumer::new(settings, ledger, sqs, metrics, sources)?,
            events: Events::new(settings.text("BELFRY_EVENTS_TABLE")?).with_grace(settings.stream_grace()?),
            payments: Payments::new(settings.text("BELFRY_PAYMENTS_TABLE")?),
            provider: PaymentProvider::from_settings(settings, aws)?,
        })
    }

    /// One batch.
    pub async fn handle(&self, batch: SqsEvent) -> SqsBatchResponse {
        self.consumer.consume(batch, |delivery| async move { self.effect(&delivery.event).await }).await
    }

    async fn effect(&self, heard: &Event) -> Result<Effect, Failure> {
        let asked = match heard.event_type.as_str() {
            VALIDATED => Asked::Charge(payload(heard)?),
            CANCELLED => Asked::CallOff(payload(heard)?),
            _ => return not_ours(heard),
        };
        let writes = self.until_done(&asked, heard).await?;
        Ok(Effect { writes, ..Effect::default() })
    }

    /// Takes step after step, each on what stands there then.
    async fn until_done(&self, asked: &Asked, heard: &Event) -> Result<Vec<Write>, Failure> {
        for _ in 0..STEPS {
            let standing = self.payments.get(self.consumer.ledger(), &asked.order_id()).await?;
            let stepped = match asked {
                Asked::Charge(validated) => self.charge(standing, validated, heard).await?,
                Asked::CallOff(cancelled) => self.call_off(standing, cancelled.order_id, heard).await?,
            };
            if let Stepped::Done(writes) = stepped {
                return Ok(writes);
            }
        }
        Err(Failure::Retry(format!("not done after {STEPS} steps")))
    }

    /// One step towards a charge.
    async fn charge(
        &self,
        payment: Option<Standing>,
        validated: &OrderValidated,
        heard: &Event,
    ) -> Result<Stepped, Failure> {
        let order_id = validated.order_id;
        let Some(payment) = payment else {
            let key = Standing::key(order_id, "intent");
            let intent = self.provider.create(&order_id.to_string(), &validated.total, &key).await.map_err(fate)?;
            let intended = Standing::intended(validated, intent, Time::now());
            return self.store(vec![self.payments.put(&intended)?]).await;
        };
        let intent = match &payment.state {
            // It was called off, or somebody has done all this.
            PaymentState::Closed | PaymentState::Declined(_) | PaymentState::Refunded(_) => {
                return Ok(Stepped::Done(Vec::new()));
            }
            PaymentState::Charged(_) if payment.refund_wanted => return self.refund(&payment, heard).await,
            PaymentState::Charged(_) => return Ok(Stepped::Done(Vec::new())),
            PaymentState::Intended(_) if payment.refund_wanted => return self.resolve(&payment, heard).await,
            PaymentState::Intended(intent) => intent,
        };
        match self.provider.confirm(&intent.intent_id, &Standing::key(order_id, "confirm")).await.map_err(fate)? {
            Confirmed::Succeeded => Ok(Stepped::Done(self.charged(&payment, intent, heard)?)),
            // A cancel by the customer stores its wish first, and then this is not stored: the version has changed. So it
            // was an attempt before this one, which was declined and died before it could say so.
            Confirmed::Cancelled => self.declined(&payment, intent, "declined", heard),
            Confirmed::Declined { reason } => {
                // An intent that was declined can be confirmed again: not this one, once it is cancelled.
                let cancelled = self.provider.cancel(&intent.intent_id, &Standing::key(order_id, "cancel")).await;
                match cancelled.map_err(fate)? {
                    CancelledIntent::Cancelled => self.declined(&payment, intent, reason, heard),
                    CancelledIntent::Charged => Ok(Stepped::Done(self.charged(&payment, intent, heard)?)),
                }
            }
        }
    }

    fn declined(&self, payment: &Standing, intent: &Intent, reason: &str, heard: &Event) -> Result<Stepped, Failure> {
        let fresh = Fresh::new();
        let declined = payment.becomes(PaymentState::Declined(intent.clone()), fresh.now);
        let reason = Line::parse(reason).map_err(|error| Failure::Reject(error.to_string()))?;
        let (order_id, customer_id) = (payment.order_id, intent.customer_id.clone());
        let failed = PaymentFailed { order_id, customer_id, reason };
        let report = event(&self.events, (PAYMENT_FAILED, &failed), of(&declined), heard, &fresh)?;
        Ok(Stepped::Done(vec![self.payments.put(&declined)?, report]))
    }

    /// One step towards nothing being charged, or everything being paid back.
    async fn call_off(&self, payment: Option<Standing>, order_id: Uuid, heard: &Event) -> Result<Stepped, Failure> {
        let now = Time::now();
        let Some(payment) = payment else {
            return Ok(Stepped::Done(vec![self.payments.put(&Standing::closed(order_id, now))?]));
        };
        match &payment.state {
            PaymentState::Closed | PaymentState::Declined(_) | PaymentState::Refunded(_) => {
                Ok(Stepped::Done(Vec::new()))
            }
            PaymentState::Charged(_) => self.refund(&payment, heard).await,
            // First the wish, so that whoever is charging at this moment refunds it.
            PaymentState::Intended(_) if !payment.refund_wanted => {
                self.store(vec![self.payments.put(&payment.wanting_refund(now))?]).await
            }
            PaymentState::Intended(_) => self.resolve(&payment, heard).await,
        }
    }

    /// A payment that was called off while it may have been charged: the provider knows.
    async fn resolve(&self, payment: &Standing, heard: &Event) -> Result<Stepped, Failure> {
        let PaymentState::Intended(intent) = &payment.state else { return Ok(Stepped::Again) };
        let key = Standing::key(payment.order_id, "cancel");
        match self.provider.cancel(&intent.intent_id, &key).await.map_err(fate)? {
            CancelledIntent::Cancelled => {
                let closed = payment.becomes(PaymentState::Closed, Time::now());
                Ok(Stepped::Done(vec![self.payments.put(&closed)?]))
            }
            CancelledIntent::Charged => self.store(self.charged(payment, intent, heard)?).await,
        }
    }

    /// Pays back what was charged.
    async fn refund(&self, payment: &Standing, heard: &Event) -> Result<Stepped, Failure> {
        let PaymentState::Charged(intent) = &payment.state else { return Ok(Stepped::Again) };
        self.provider.refund(&intent.intent_id, &Standing::key(payment.order_id, "refund")).await.map_err(fate)?;
        let fresh = Fresh::new();
        let refunded = payment.becomes(PaymentState::Refunded(intent.clone()), fresh.now);
        let report = intent.refunded(payment.order_id);
        let report = event(&self.events, (REFUNDED, &report), of(&refunded), heard, &fresh)?;
        Ok(Stepped::Done(vec![self.payments.put(&refunded)?, report]))
    }

    fn charged(&self, payment: &Standing, intent: &Intent, heard: &Event) -> Result<Vec<Write>, LedgerError> {
        let fresh = Fresh::new();
        let charged = payment.becomes(PaymentState::Charged(intent.clone()), fresh.now);
        let report = event(&self.events, (PAID, &intent.paid(payment.order_id)), of(&charged), heard, &fresh)?;
        Ok(vec![self.payments.put(&charged)?, report])
    }

    /// Stores a step by itself; where somebody else was first, what they stored decides.
    async fn store(&self, writes: Vec<Write>) -> Result<Stepped, Failure> {
        match self.consumer.ledger().commit(&writes).await? {
            Outcome::Committed | Outcome::Raced(_) => Ok(Stepped::Again),
        }
    }
}

fn of(payment: &Standing) -> Of {
    Of { kind: "Payment", service: "payment", order_id: payment.order_id, version: Some(payment.version) }
}

/// What may pass is tried again; what the provider refuses is somebody's mistake.
fn fate(not_done: NotDone) -> Failure {
    match not_done {
        NotDone::Transient(reason) => Failure::Retry(format!("payment provider: {reason}")),
        NotDone::Refused(reason) => Failure::Reject(format!("payment provider refused: {reason}")),
    }
}
