//! The protocol of a payment: what to do next, given what is stored and what the provider answered.
//!
//! [`next`] looks at what is stored. If it names a [`Call`], [`answered`] says what its answer means. Whoever runs this
//! makes one call at a time, and looks again at what is stored after every [`Next::Store`] and after every lost race.

use belfry_core::{Commit, Context, Stored};
use uuid::Uuid;

use super::{Intent, Payment, PaymentState};
use crate::id::{Line, NotALine};
use crate::order::{IntentId, Money, OrderCancelled, OrderPaid, OrderValidated, PaymentFailed, PaymentRefunded};

belfry_core::messages! {
    /// What an event asks of the payment.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum Asked {
        /// To charge what was reserved.
        OrderValidated,
        /// To charge nothing, or to refund it.
        OrderCancelled,
    }
}

impl Asked {
    /// The order.
    pub fn order_id(&self) -> Uuid {
        match self {
            Self::OrderValidated(validated) => validated.order_id,
            Self::OrderCancelled(cancelled) => cancelled.order_id,
        }
    }
}

/// A call to the provider.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Call {
    /// Create an intent to charge this much.
    Create(Money),
    /// Confirm the intent, which charges it.
    Confirm(IntentId),
    /// Cancel the intent, so that it can no longer be charged.
    Cancel {
        /// The intent.
        intent_id: IntentId,
        /// Why its charge was declined, if it was. A declined intent can be confirmed again until it is cancelled.
        declined: Option<&'static str>,
    },
    /// Refund what was charged.
    Refund(IntentId),
}

impl Call {
    /// The idempotency key of this call about an order: the same however often it is made.
    pub fn key(&self, order_id: Uuid) -> String {
        let call = match self {
            Self::Create(_) => "intent",
            Self::Confirm(_) => "confirm",
            Self::Cancel { .. } => "cancel",
            Self::Refund(_) => "refund",
        };
        format!("belfry-{order_id}-{call}")
    }
}

/// What the provider answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Answer {
    /// It has this intent.
    Created(IntentId),
    /// The customer is charged.
    Charged,
    /// The card was declined, for this reason.
    Declined(&'static str),
    /// The intent is cancelled and cannot be charged.
    Cancelled,
    /// The charge is refunded.
    Refunded,
}

/// What to do next.
#[derive(Debug)]
pub enum Next {
    /// Make this call.
    Call(Call),
    /// Commit this by itself, and look again.
    Store(Commit<()>),
    /// Commit this with the processed mark.
    Done(Commit<()>),
}

/// The provider's answer is none to this call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the payment provider answered {answer} to {call}")]
pub struct Misfit {
    call: String,
    answer: String,
}

/// What to do, given what is stored.
pub fn next(asked: &Asked, payment: Option<&Stored<Payment>>, ctx: &Context) -> Next {
    let Some(payment) = payment else {
        return match asked {
            Asked::OrderValidated(validated) => Next::Call(Call::Create(validated.total.clone())),
            Asked::OrderCancelled(cancelled) => {
                let closed = Payment::new(cancelled.order_id, PaymentState::Closed, ctx);
                Next::Done(ctx.commit().create(&closed))
            }
        };
    };
    let charges = matches!(asked, Asked::OrderValidated(_));
    match &payment.state {
        // It was cancelled, or all of this was done before.
        PaymentState::Closed | PaymentState::Declined(_) | PaymentState::Refunded(_) => Next::Done(ctx.commit()),
        PaymentState::Charged(_) if charges && !payment.refund_wanted => Next::Done(ctx.commit()),
        PaymentState::Charged(intent) => Next::Call(Call::Refund(intent.intent_id.clone())),
        // Whether it was charged by now, the provider knows.
        PaymentState::Intended(intent) if payment.refund_wanted => {
            Next::Call(Call::Cancel { intent_id: intent.intent_id.clone(), declined: None })
        }
        PaymentState::Intended(intent) if charges => Next::Call(Call::Confirm(intent.intent_id.clone())),
        // First the wish, so that whoever is charging at this moment refunds it.
        PaymentState::Intended(_) => {
            let wish = Payment { refund_wanted: true, updated_at: ctx.now(), ..Payment::clone(payment) };
            Next::Store(ctx.commit().put(&payment.becomes(wish)))
        }
    }
}

/// What to do after a call that [`next`] or this function named, given the same payment.
pub fn answered(
    asked: &Asked,
    payment: Option<&Stored<Payment>>,
    call: &Call,
    answer: Answer,
    ctx: &Context,
) -> Result<Next, Misfit> {
    let misfit = |answer: &Answer| Misfit { call: format!("{call:?}"), answer: format!("{answer:?}") };
    let intent = payment.and_then(|payment| Some((payment, payment.state.intent()?)));
    Ok(match (call, answer, intent, asked) {
        (
            Call::Create(total),
            Answer::Created(intent_id),
            _,
            Asked::OrderValidated(OrderValidated { order_id, customer_id, .. }),
        ) => {
            let intent = Intent { intent_id, customer_id: customer_id.clone(), total: total.clone() };
            Next::Store(ctx.commit().create(&Payment::new(*order_id, PaymentState::Intended(intent), ctx)))
        }
        (Call::Confirm(_) | Call::Cancel { declined: Some(_), .. }, Answer::Charged, Some((payment, intent)), _) => {
            Next::Done(charged(payment, intent, ctx))
        }
        (Call::Confirm(intent_id), Answer::Declined(reason), ..) => {
            Next::Call(Call::Cancel { intent_id: intent_id.clone(), declined: Some(reason) })
        }
        // A cancel by the customer stores its wish first, and then this is not stored: the version has changed. So it was an
        // attempt before this one, which was declined and crashed before it could say so.
        (Call::Confirm(_), Answer::Cancelled, Some((payment, intent)), _) => {
            Next::Done(declined(payment, intent, "declined", ctx).map_err(|_| misfit(&Answer::Cancelled))?)
        }
        (Call::Cancel { declined: Some(reason), .. }, Answer::Cancelled, Some((payment, intent)), _) => {
            Next::Done(declined(payment, intent, reason, ctx).map_err(|_| misfit(&Answer::Declined(reason)))?)
        }
        (Call::Cancel { declined: None, .. }, Answer::Cancelled, Some((payment, _)), _) => {
            Next::Done(ctx.commit().put(&payment.becomes(payment.with(PaymentState::Closed, ctx))))
        }
        (Call::Cancel { declined: None, .. }, Answer::Charged, Some((payment, intent)), _) => {
            Next::Store(charged(payment, intent, ctx))
        }
        (Call::Refund(_), Answer::Refunded, Some((payment, intent)), _) => {
            let refunded = PaymentRefunded {
                order_id: payment.order_id,
                customer_id: intent.customer_id.clone(),
                total: intent.total.clone(),
            };
            let next = payment.with(PaymentState::Refunded(intent.clone()), ctx);
            Next::Done(ctx.commit().put(&payment.becomes(next)).event(refunded))
        }
        (_, answer, ..) => return Err(misfit(&answer)),
    })
}

fn charged(payment: &Stored<Payment>, intent: &Intent, ctx: &Context) -> Commit<()> {
    let paid =
        OrderPaid { order_id: payment.order_id, customer_id: intent.customer_id.clone(), total: intent.total.clone() };
    ctx.commit().put(&payment.becomes(payment.with(PaymentState::Charged(intent.clone()), ctx))).event(paid)
}

fn declined(payment: &Stored<Payment>, intent: &Intent, reason: &str, ctx: &Context) -> Result<Commit<()>, NotALine> {
    let reason = Line::parse(reason)?;
    let failed = PaymentFailed { order_id: payment.order_id, customer_id: intent.customer_id.clone(), reason };
    let next = payment.with(PaymentState::Declined(intent.clone()), ctx);
    Ok(ctx.commit().put(&payment.becomes(next)).event(failed))
}

impl Payment {
    fn new(order_id: Uuid, state: PaymentState, ctx: &Context) -> Self {
        Self { order_id, state, refund_wanted: false, updated_at: ctx.now() }
    }

    fn with(&self, state: PaymentState, ctx: &Context) -> Self {
        Self { state, updated_at: ctx.now(), ..self.clone() }
    }
}

impl PaymentState {
    fn intent(&self) -> Option<&Intent> {
        match self {
            Self::Intended(intent) | Self::Charged(intent) | Self::Declined(intent) | Self::Refunded(intent) => {
                Some(intent)
            }
            Self::Closed => None,
        }
    }
}
