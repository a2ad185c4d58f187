//! Charges an order once, or not at all; refunds it when it was cancelled meanwhile.
//!
//! Consumes `OrderValidated` and `OrderCancelled`. What to do next is decided by `domain::payment`: the provider creates an
//! intent, its id is stored, and only then that id is confirmed, each call with a key that is the same however often it is
//! made. So a crash anywhere repeats calls that the provider recognises, and a day later, when it has forgotten the keys, the
//! one intent that is stored is still the only one that is confirmed. If a payment was cancelled while it was charged, the
//! provider decides which came first: an intent is confirmed or cancelled, and never both.
//!
//! One get of the payment for each step. An intent's id, the wish to be refunded, and a charge that will be refunded are
//! each committed by themselves; the outcome commits with its event and the mark.

use belfry_aws::lambda::Start;
use belfry_aws::tables::{EVENTS, OF_CONSUMERS};
use belfry_aws::{BadSetting, Consumer, Delivery, Effect, Entity, Failure, Handler, consumer};
use domain::payment::{Answer, Asked, Call, Next, Payment, answered, next};
use domain::routing::Queue;
use payments::{CancelledIntent, Confirmed, PaymentError, PaymentProvider};
use uuid::Uuid;

/// How many times one delivery looks at what is stored. Each step is stored, so the next delivery continues there.
const MAX_STEPS: usize = 8;

/// Charges and refunds.
#[derive(Debug)]
pub struct Charges {
    // None only if a setting is wrong, and then the function does not start.
    provider: Option<PaymentProvider>,
}

/// The consumer of the queue `payment`.
pub fn function(start: &mut Start) -> Consumer<Asked, Charges> {
    let belfry = store::belfry(start, OF_CONSUMERS.into_iter().chain([EVENTS, Payment::TABLE]));
    let settings = start.settings.between("", "").map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let provider = PaymentProvider::from_settings(&settings, &start.aws);
    let provider = provider.map_err(|mistake| start.settings.mistake(BadSetting::new(mistake.to_string()))).ok();
    consumer(&belfry, Queue::Payment.name(), Charges { provider })
}

impl Handler<Asked> for Charges {
    async fn handle(&self, delivery: Delivery<Asked>) -> Result<Effect, Failure> {
        let (asked, belfry) = (&delivery.message, delivery.belfry());
        for step in 0..MAX_STEPS {
            let payment = belfry.get::<Payment>(asked.order_id()).await?;
            let ctx = delivery.context().at(belfry.now());
            let mut todo = next(asked, payment.as_ref(), &ctx);
            while let Next::Call(call) = &todo {
                let answer = self.call(asked.order_id(), call).await?;
                let ctx = ctx.at(belfry.now());
                todo = answered(asked, payment.as_ref(), call, answer, &ctx)
                    .map_err(|misfit| Failure::Retry(misfit.to_string()))?;
            }
            match todo {
                Next::Done(commit) => return Ok(Effect::commit(commit)),
                // Whether this is stored or somebody else was first: what is stored decides.
                Next::Store(commit) => drop(belfry.commit(&ctx.part(step), commit).await?),
                Next::Call(_) => {}
            }
        }
        Err(Failure::Retry(format!("not done after {MAX_STEPS} steps")))
    }
}

impl Charges {
    async fn call(&self, order_id: Uuid, call: &Call) -> Result<Answer, Failure> {
        let no_provider = || Failure::Retry("the payment provider is not configured".to_owned());
        let (provider, key) = (self.provider.as_ref().ok_or_else(no_provider)?, call.key(order_id));
        let answer = match call {
            Call::Create(total) => provider.create(&order_id.to_string(), total, &key).await.map(Answer::Created),
            Call::Confirm(intent_id) => provider.confirm(intent_id, &key).await.map(|confirmed| match confirmed {
                Confirmed::Succeeded => Answer::Charged,
                Confirmed::Declined { reason } => Answer::Declined(reason),
                Confirmed::Cancelled => Answer::Cancelled,
            }),
            Call::Cancel { intent_id, .. } => provider.cancel(intent_id, &key).await.map(|cancelled| match cancelled {
                CancelledIntent::Cancelled => Answer::Cancelled,
                CancelledIntent::Charged => Answer::Charged,
            }),
            Call::Refund(intent_id) => provider.refund(intent_id, &key).await.map(|()| Answer::Refunded),
        };
        // A transient failure is retried; a refusal is somebody's mistake.
        answer.map_err(|not_done| match not_done {
            PaymentError::Transient(reason) => Failure::Retry(format!("payment provider: {reason}")),
            PaymentError::Refused(reason) => Failure::Reject(format!("payment provider refused: {reason}")),
        })
    }
}
