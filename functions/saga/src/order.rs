//! Logs what the other services report on the order, and completes or fails it.
//!
//! One get of the order and one transaction: the order under the condition of its version, its own event if it ends, and
//! the mark. News that comes late, or in another order, is logged and changes nothing.

use belfry_aws::lambda::Start;
use belfry_aws::tables::{EVENTS, OF_CONSUMERS};
use belfry_aws::{Consumer, Delivery, Effect, Entity, Failure, Handler, consumer};
use domain::order::{self, News, Order};
use domain::routing::Queue;
use store::metrics;

/// Handles what orders hear.
#[derive(Debug)]
pub struct Hears;

/// The consumer of the queue `order`.
pub fn function(start: &mut Start) -> Consumer<News, Hears> {
    let belfry = store::belfry(start, OF_CONSUMERS.into_iter().chain([EVENTS, Order::TABLE]));
    consumer(&belfry, Queue::Order.name(), Hears)
}

impl Handler<News> for Hears {
    async fn handle(&self, delivery: Delivery<News>) -> Result<Effect, Failure> {
        let news = &delivery.message;
        let order = delivery.belfry().get::<Order>(news.order_id()).await?;
        let order = order.ok_or_else(|| Failure::Reject("no such order".to_owned()))?;
        let (commit, ended) = order::hear(&order, news, &delivery.event, delivery.context()).split();
        let effect = Effect::commit(commit);
        let Some(status) = ended else { return Ok(effect) };
        let metrics = delivery.belfry().metrics().clone();
        Ok(effect.then(async move { metrics::saga_ended(&metrics, status) }))
    }
}
