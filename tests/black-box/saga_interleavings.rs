//! Random interleavings of several orders' messages, on the real decisions of all three services, against a reference: what
//! stock and money must be, given nothing but how the orders ended.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use belfry_core::saga::StepCommand;
use belfry_core::{Commit, Context, Message, Payload};
use domain::order::{
    self, CancelReason, IntentId, Line, News, Order, OrderCancelled, OrderCompleted, OrderPaid, OrderPlaced,
    OrderRejected, OrderStatus, OrderValidated, PaymentFailed, PaymentRefunded, StockReleased, StockSold,
};
use domain::payment::{Answer, Asked, Call, Next, Payment, answered, next};
use domain::routing::{Queue, Routes};
use domain::stock::{ReserveStock, Stock};
use domain::{Event, StockKeepingUnit, Time, UserId};
use proptest::prelude::*;
use uuid::Uuid;

use crate::memory::Memory;

const ORDERS: usize = 5;
const STOCK: u64 = 7;

/// An intent of the provider.
#[derive(Debug, Default)]
struct Intent {
    order: Uuid,
    charged: u32,
    refunded: u32,
    cancelled: bool,
}

struct World {
    memory: Memory,
    orders: Vec<Uuid>,
    intents: Vec<Intent>,
    /// Every message that was ever published to a queue; any of them may be delivered at any time, again and again.
    messages: Vec<(Queue, Event)>,
    processed: BTreeSet<(Queue, String)>,
}

/// What the scheduler does next.
#[derive(Debug, Clone)]
enum Turn {
    Deliver { which: prop::sample::Index, crashes: bool, declines: bool },
    Cancel(prop::sample::Index),
}

fn turn() -> impl Strategy<Value = Turn> {
    let deliver = (any::<prop::sample::Index>(), any::<bool>(), prop::bool::weighted(0.2));
    prop_oneof![
        9 => deliver.prop_map(|(which, crashes, declines)| Turn::Deliver { which, crashes, declines }),
        1 => any::<prop::sample::Index>().prop_map(Turn::Cancel),
    ]
}

fn unit() -> StockKeepingUnit {
    StockKeepingUnit::parse("a").expect("a unit")
}

impl World {
    fn new(quantities: &[u64]) -> Self {
        let (memory, processed) = (Memory::default(), BTreeSet::new());
        let mut world = Self { memory, orders: Vec::new(), intents: Vec::new(), messages: Vec::new(), processed };
        let currency = "EUR".to_owned();
        let updated_at = Time::now();
        world.memory.insert(
            1,
            Stock {
                stock_keeping_unit: unit(),
                available: STOCK,
                reserved: 0,
                sold: 0,
                unit_price: 3,
                currency,
                updated_at,
            },
        );
        for quantity in quantities {
            let line = Line { stock_keeping_unit: unit(), quantity: (*quantity).try_into().expect("a quantity") };
            let user = UserId::parse("u").expect("an id");
            let ctx = Context::begin();
            let placed = order::place(user, vec![line], Duration::from_secs(1), &ctx);
            world.orders.push(placed.as_output().order_id);
            assert!(world.commit(&placed, &ctx));
        }
        world
    }

    /// Writes a commit, and publishes its events to the queues that the routes name, as the relay does.
    fn commit<T>(&mut self, commit: &Commit<T>, ctx: &Context) -> bool {
        let Some(events) = self.memory.commit(commit, ctx) else { return false };
        let routes = Routes::load().expect("routes");
        for event in events {
            let queues = routes.queues(&event.event_type, &event.payload).filter(|queue| queue.audience().is_none());
            self.messages.extend(queues.map(|queue| (queue, event.clone())));
        }
        true
    }

    fn order(&self, order_id: Uuid) -> belfry_core::Stored<Order> {
        self.memory.get::<Order>(order_id).expect("an order")
    }

    fn cancel(&mut self, order_id: Uuid) {
        let ctx = Context::begin();
        if let Ok(cancelled) = order::cancel(&self.order(order_id), CancelReason::Requested, &ctx) {
            assert!(self.commit(&cancelled, &ctx));
        }
    }

    /// One delivery: skipped if it is marked, marked if it is done.
    fn deliver(&mut self, which: usize, crashes: bool, declines: bool) {
        let (queue, event) = self.messages[which].clone();
        let mark = (queue, event.event_id.to_string());
        if self.processed.contains(&mark) {
            return;
        }
        let ctx = Context::begin();
        let done = match queue {
            Queue::Inventory => {
                let command = StepCommand::read(Arc::new(ReserveStock), &event).expect("a readable event");
                let commit = self.memory.decide(&command, &ctx).expect("no contradiction");
                self.commit(&commit, &ctx)
            }
            Queue::Payment => self.payment(&event, &ctx, crashes, declines).is_some(),
            _ => {
                let news = News::read(&event).expect("news");
                let commit = order::hear(&self.order(news.order_id()), &news, &event, &ctx);
                self.commit(&commit, &ctx)
            }
        };
        if done {
            self.processed.insert(mark);
        }
    }

    /// One step of a payment; `None` while it is not done. A worker that crashes does so after a call, before its answer is
    /// stored.
    fn payment(&mut self, event: &Event, ctx: &Context, crashes: bool, declines: bool) -> Option<()> {
        let asked = Asked::read(event).expect("a readable event");
        let payment = self.memory.get::<Payment>(asked.order_id());
        let mut todo = next(&asked, payment.as_ref(), ctx);
        loop {
            match todo {
                Next::Call(call) => {
                    let answer = self.provider(asked.order_id(), &call, declines);
                    if crashes {
                        return None;
                    }
                    todo = answered(&asked, payment.as_ref(), &call, answer, ctx).expect("an answer to the call");
                }
                Next::Store(commit) => {
                    assert!(self.commit(&commit, ctx));
                    return None;
                }
                Next::Done(commit) => return self.commit(&commit, ctx).then_some(()),
            }
        }
    }

    fn provider(&mut self, order: Uuid, call: &Call, declines: bool) -> Answer {
        let (Call::Confirm(id) | Call::Cancel { intent_id: id, .. } | Call::Refund(id)) = call else {
            // Without its key the provider makes another intent, which nobody ever confirms.
            self.intents.push(Intent { order, ..Intent::default() });
            return Answer::Created(IntentId::parse((self.intents.len() - 1).to_string()).expect("an id"));
        };
        let intent = &mut self.intents[id.as_str().parse::<usize>().expect("a number")];
        match call {
            Call::Refund(_) => {
                // The second time it says that it was refunded already.
                intent.refunded = 1;
                Answer::Refunded
            }
            _ if intent.charged > 0 => Answer::Charged,
            _ if intent.cancelled => Answer::Cancelled,
            Call::Confirm(_) if declines => Answer::Declined("declined"),
            Call::Confirm(_) => {
                intent.charged = 1;
                Answer::Charged
            }
            _ => {
                intent.cancelled = true;
                Answer::Cancelled
            }
        }
    }

    /// Delivers everything until nothing is left to do.
    fn come_to_rest(&mut self) {
        let mut at = 0;
        while at < self.messages.len() {
            // A payment takes several steps, each of them one delivery.
            for _ in 0..8 {
                self.deliver(at, false, false);
            }
            at += 1;
        }
    }

    fn piles(&self) -> [u64; 3] {
        let stock = self.memory.get::<Stock>(&unit()).expect("the unit");
        [stock.available, stock.reserved, stock.sold]
    }

    /// What the reference says, from how the orders ended.
    fn check(&self) {
        let mut sold = 0;
        let mut money: BTreeMap<Uuid, (u32, u32)> = BTreeMap::new();
        for intent in &self.intents {
            let (charged, refunded) = money.entry(intent.order).or_default();
            *charged += intent.charged;
            *refunded += intent.refunded;
        }
        for id in &self.orders {
            let order = self.order(*id);
            let (charged, refunded) = money.get(id).copied().unwrap_or_default();
            match order.status {
                OrderStatus::Completed => {
                    sold += u64::from(order.lines[0].quantity);
                    assert_eq!((charged, refunded), (1, 0), "{order:?}");
                }
                OrderStatus::Failed | OrderStatus::Cancelled => {
                    assert!(charged <= 1 && charged == refunded, "{charged} {refunded} {order:?}");
                }
                OrderStatus::Placed | OrderStatus::Validated => panic!("not ended: {order:?}"),
            }
        }
        assert_eq!(self.piles(), [STOCK - sold, 0, sold]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn stock_and_money_are_what_the_orders_say(
        quantities in prop::collection::vec(1_u64..4, ORDERS),
        schedule in prop::collection::vec(turn(), 0..120),
    ) {
        let mut world = World::new(&quantities);
        for turn in schedule {
            match turn {
                Turn::Deliver { which, crashes, declines } => {
                    let which = which.index(world.messages.len());
                    world.deliver(which, crashes, declines);
                }
                Turn::Cancel(which) => world.cancel(world.orders[which.index(world.orders.len())]),
            }
            prop_assert_eq!(world.piles().iter().sum::<u64>(), STOCK, "at every step");
        }
        world.come_to_rest();
        world.check();
    }
}

#[test]
fn every_event_of_the_saga_has_a_consumer() {
    let routes = Routes::load().expect("routes");
    for event_type in [
        OrderPlaced::TYPE,
        OrderValidated::TYPE,
        OrderRejected::TYPE,
        OrderPaid::TYPE,
        PaymentFailed::TYPE,
        OrderCompleted::TYPE,
        OrderCancelled::TYPE,
        StockSold::TYPE,
        StockReleased::TYPE,
        PaymentRefunded::TYPE,
    ] {
        let payload = serde_json::json!({"customer_id": "u"});
        let mut heard = routes.queues(event_type, &payload);
        assert!(heard.any(|queue| queue.audience().is_none()), "{event_type}");
    }
}
