//! The inventory: `OrderPlaced`, `OrderCompleted`, `PaymentFailed`, `OrderCancelled` → stock moves with the order's hold.
//!
//! Reads: the hold and, for a placed order, the stock of its lines, in one batch. Writes: the hold under the condition of
//! its version, each line's stock by arithmetic under the condition that there is enough (and, when it is reserved, that
//! the price is what was read), the event and the mark: at most 53 items.
//!
//! Guarantees: every line is reserved or none; what an order holds is sold or released, once; `available + reserved +
//! sold` of a unit stays what it is. A release before the reservation leaves the hold CLOSED.

use std::collections::BTreeMap;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use domain::order::{
    CANCELLED, COMPLETED, Money, OrderCancelled, OrderCompleted, OrderPlaced, OrderRejected, OrderValidated,
    PAYMENT_FAILED, PLACED, PaymentFailed, PricedLine, REJECTED, RELEASED, SOLD, StockMoved, VALIDATED,
};
use domain::routing::Queue;
use domain::stock::{Hold, Reserve, Settle, Stock, release, reserve, sell};
use domain::{Event, Fresh, StockKeepingUnit, Time};
use ledger::{Events, Holds, Ledger, LedgerError, Stocks, Write};
use messaging::{Consumer, Effect, Failure, Source};
use runtime::{BadSetting, Metrics, Settings};
use uuid::Uuid;

use crate::report::{Of, event, not_ours, payload};

/// The service, with what it needs for every batch.
#[derive(Debug)]
pub struct Inventory {
    consumer: Consumer,
    events: Events,
    stocks: Stocks,
    holds: Holds,
}

/// How a line of stock is moved.
type Move = fn(&Stocks, &PricedLine, Time) -> Result<Write, LedgerError>;

impl Inventory {
    /// Reads the tables' names, the queue's URL, and what the frame reads.
    pub fn new(
        settings: &Settings,
        ledger: Ledger,
        sqs: aws_sdk_sqs::Client,
        metrics: Metrics,
    ) -> Result<Self, BadSetting> {
        let sources = vec![Source::from_settings(settings, Queue::Inventory)?];
        Ok(Self {
            consumer: Consumer::new(settings, ledger, sqs, metrics, sources)?,
            events: Events::new(settings.text("BELFRY_EVENTS_TABLE")?).with_grace(settings.stream_grace()?),
            stocks: Stocks::new(settings.text("BELFRY_STOCK_TABLE")?),
            holds: Holds::new(settings.text("BELFRY_HOLDS_TABLE")?),
        })
    }

    /// One batch.
    pub async fn handle(&self, batch: SqsEvent) -> SqsBatchResponse {
        self.consumer.consume(batch, |delivery| async move { self.effect(&delivery.event).await }).await
    }

    async fn effect(&self, heard: &Event) -> Result<Effect, Failure> {
        match heard.event_type.as_str() {
            PLACED => self.placed(heard).await,
            COMPLETED => {
                let completed: OrderCompleted = payload(heard)?;
                let order_id = Uuid::parse_str(&completed.order_id);
                let order_id = order_id.map_err(|_| Failure::Reject("order_id is not a UUID".to_owned()))?;
                let settle = sell(self.hold(order_id).await?.as_ref());
                self.settle(settle, (SOLD, Stocks::sell), heard)
            }
            PAYMENT_FAILED => {
                let failed: PaymentFailed = payload(heard)?;
                self.release(failed.order_id, heard).await
            }
            CANCELLED => {
                let cancelled: OrderCancelled = payload(heard)?;
                self.release(cancelled.order_id, heard).await
            }
            _ => not_ours(heard),
        }
    }

    async fn placed(&self, heard: &Event) -> Result<Effect, Failure> {
        let placed: OrderPlaced = payload(heard)?;
        let units = placed.lines.iter().map(|line| &line.stock_keeping_unit);
        let mut keys: Vec<_> = units.clone().map(|unit| self.stocks.key(unit)).collect();
        keys.push(self.holds.key(&placed.order_id));
        let found = self.consumer.ledger().get_all(&keys).await?;
        let hold = self.holds.among(&found, &placed.order_id).map_err(LedgerError::from)?;
        let mut stock: BTreeMap<StockKeepingUnit, Stock> = BTreeMap::new();
        for unit in units {
            if let Some(known) = self.stocks.among(&found, unit).map_err(LedgerError::from)? {
                stock.insert(unit.clone(), known);
            }
        }
        let fresh = Fresh::new();
        match reserve(&placed, &stock, hold.as_ref()) {
            Reserve::Nothing => Ok(Effect::default()),
            Reserve::Reject(reason) => {
                let OrderPlaced { order_id, customer_id, .. } = placed;
                let of = Of { kind: "Hold", service: "inventory", order_id, version: None };
                let rejected = OrderRejected { order_id, customer_id, reason };
                let writes = vec![event(&self.events, (REJECTED, &rejected), of, heard, &fresh)?];
                Ok(Effect { writes, ..Effect::default() })
            }
            Reserve::Hold { hold, total } => {
                let writes = self.reserved(&placed, &hold, &total, (heard, &fresh))?;
                Ok(Effect { writes, ..Effect::default() })
            }
        }
    }

    fn reserved(
        &self,
        placed: &OrderPlaced,
        hold: &Hold,
        total: &Money,
        (heard, fresh): (&Event, &Fresh),
    ) -> Result<Vec<Write>, LedgerError> {
        let mut writes = vec![self.holds.put(hold)?];
        for line in &hold.lines {
            writes.push(self.stocks.reserve(line, &total.currency, fresh.now)?);
        }
        let validated = OrderValidated {
            order_id: placed.order_id,
            customer_id: placed.customer_id.clone(),
            lines: hold.lines.clone(),
            total: total.clone(),
        };
        writes.push(event(&self.events, (VALIDATED, &validated), of(hold), heard, fresh)?);
        Ok(writes)
    }

    async fn release(&self, order_id: Uuid, heard: &Event) -> Result<Effect, Failure> {
        let settle = release(order_id, self.hold(order_id).await?.as_ref());
        self.settle(settle, (RELEASED, Stocks::release), heard)
    }

    /// Stores what becomes of a hold, and moves its lines.
    fn settle(&self, settle: Settle, (event_type, moves): (&str, Move), heard: &Event) -> Result<Effect, Failure> {
        let writes = match settle {
            Settle::Nothing => Vec::new(),
            Settle::Broken(problem) => return Err(Failure::Reject(problem.to_owned())),
            Settle::Close(hold) => vec![self.holds.put(&hold)?],
            Settle::Move(hold) => {
                let fresh = Fresh::new();
                let mut writes = vec![self.holds.put(&hold)?];
                for line in &hold.lines {
                    writes.push(moves(&self.stocks, line, fresh.now)?);
                }
                let moved = StockMoved { order_id: hold.order_id, lines: hold.lines.clone() };
                writes.push(event(&self.events, (event_type, &moved), of(&hold), heard, &fresh)?);
                writes
            }
        };
        Ok(Effect { writes, ..Effect::default() })
    }

    async fn hold(&self, order_id: Uuid) -> Result<Option<Hold>, LedgerError> {
        self.holds.get(self.consumer.ledger(), &order_id).await
    }
}

fn of(hold: &Hold) -> Of {
    Of { kind: "Hold", service: "inventory", order_id: hold.order_id, version: Some(hold.version) }
}
