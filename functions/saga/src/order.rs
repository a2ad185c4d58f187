//! The orders: what the others report → the order, which alone decides between completing and failing.
//!
//! Reads: the order. Writes: the order under the condition of its version, its own event where it came to its end, and
//! the mark. What comes late, or in another order, is written down and changes nothing.

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use domain::order::{Heard, News};
use domain::routing::Queue;
use domain::{Event, Fresh};
use ledger::{Events, Ledger, Orders};
use messaging::{Consumer, Effect, Failure, Source};
use runtime::metrics::SagaEnded;
use runtime::{BadSetting, Metrics, Settings};

use crate::report::not_ours;

/// The service, with what it needs for every batch.
#[derive(Debug)]
pub struct Order {
    consumer: Consumer,
    metrics: Metrics,
    events: Events,
    orders: Orders,
}

impl Order {
    /// Reads the tables' names, the queue's URL, and what the frame reads.
    pub fn new(
        settings: &Settings,
        ledger: Ledger,
        sqs: aws_sdk_sqs::Client,
        metrics: Metrics,
    ) -> Result<Self, BadSetting> {
        let sources = vec![Source::from_settings(settings, Queue::Order)?];
        Ok(Self {
            consumer: Consumer::new(settings, ledger, sqs, metrics.clone(), sources)?,
            metrics,
            events: Events::new(settings.text("BELFRY_EVENTS_TABLE")?).with_grace(settings.stream_grace()?),
            orders: Orders::new(settings.text("BELFRY_ORDERS_TABLE")?),
        })
    }

    /// One batch.
    pub async fn handle(&self, batch: SqsEvent) -> SqsBatchResponse {
        self.consumer.consume(batch, |delivery| async move { self.effect(&delivery.event).await }).await
    }

    async fn effect(&self, heard: &Event) -> Result<Effect, Failure> {
        let Some(news) = News::parse(heard) else { return not_ours(heard) };
        let news =
            news.map_err(|error| Failure::Reject(format!("payload of {} cannot be read: {error}", heard.event_type)))?;
        let order = self.orders.get(self.consumer.ledger(), &news.order_id()).await?;
        let order = order.ok_or_else(|| Failure::Reject("no such order".to_owned()))?;
        let heard = order.hear(&news, heard, &Fresh::new());
        let Heard { order, event } = heard.map_err(|error| Failure::Reject(error.to_string()))?;
        let mut writes = vec![self.orders.put(&order)?];
        let Some(event) = event else { return Ok(Effect { writes, ..Effect::default() }) };
        writes.push(self.events.put(&event)?);
        let (metrics, ended) = (self.metrics.clone(), SagaEnded::of(order.status));
        let count = async move { metrics.saga(ended) };
        Ok(Effect { writes, after_commit: Some(Box::pin(count)) })
    }
}
