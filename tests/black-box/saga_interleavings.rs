//! Random interleavings of several orders' messages, on the real decisions of all three services, against a reference: what
//! stock and money must be, told from nothing but where the orders ended.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::order::{
    CANCELLED, COMPLETED, CancelReason, IntentId, Line, News, Order, OrderCancelled, OrderCompleted, OrderPlaced,
    OrderStatus, OrderValidated, PAID, PAYMENT_FAILED, PLACED, PaymentFailed, REFUNDED, REJECTED, RELEASED, SOLD,
    StockMoved, VALIDATED,
};
use domain::payment::{Payment, PaymentState};
use domain::routing::{Queue, Routes};
use domain::stock::{Hold, Reserve, Settle, Stock, release, reserve, sell};
use domain::{Event, Fresh, StockKeepingUnit, Time, UserId};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

const ORDERS: usize = 5;
const STOCK: u64 = 7;

/// The provider: what each intent has come to.
#[derive(Debug, Default)]
struct Provider {
    intents: BTreeMap<IntentId, Intent>,
}

#[derive(Debug, Default)]
struct Intent {
    order: Uuid,
    charged: u32,
    refunded: u32,
    cancelled: bool,
}

struct World {
    stock: Stock,
    orders: BTreeMap<Uuid, Order>,
    holds: BTreeMap<Uuid, Hold>,
    payments: BTreeMap<Uuid, Payment>,
    provider: Provider,
    /// Everything that was ever published to a queue; any of it may come at any time, again and again.
    messages: Vec<(Queue, Event)>,
    processed: BTreeSet<(Queue, String)>,
}

/// What the scheduler does next.
#[derive(Debug, Clone)]
enum Next {
    Deliver { which: prop::sample::Index, dies: bool, declines: bool },
    Cancel(prop::sample::Index),
}

fn next() -> impl Strategy<Value = Next> {
    let deliver = (any::<prop::sample::Index>(), any::<bool>(), prop::bool::weighted(0.2));
    prop_oneof![
        9 => deliver.prop_map(|(which, dies, declines)| Next::Deliver { which, dies, declines }),
        1 => any::<prop::sample::Index>().prop_map(Next::Cancel),
    ]
}

fn unit() -> StockKeepingUnit {
    StockKeepingUnit::parse("a").expect("a unit")
}

fn read<T: DeserializeOwned>(event: &Event) -> T {
    T::deserialize(&event.payload).expect("a payload")
}

impl World {
    fn new(quantities: &[u64]) -> Self {
        let stock = Stock {
            stock_keeping_unit: unit(),
            available: STOCK,
            reserved: 0,
            sold: 0,
            unit_price: 3,
            currency: "EUR".to_owned(),
            updated_at: Time::now(),
            version: 1,
        };
        let mut world = Self {
            stock,
            orders: BTreeMap::new(),
            holds: BTreeMap::new(),
            payments: BTreeMap::new(),
            provider: Provider::default(),
            messages: Vec::new(),
            processed: BTreeSet::new(),
        };
        for quantity in quantities {
            let line = Line { stock_keeping_unit: unit(), quantity: (*quantity).try_into().expect("a quantity") };
            let user = UserId::parse("u").expect("an id");
            let fresh = Fresh::new();
            let order = Order::place(Uuid::now_v7(), user, vec![line], Duration::from_secs(1), &fresh);
            let placed = order.placed(&fresh, "u", None).expect("an event");
            world.orders.insert(order.order_id, order);
            world.publish(placed);
        }
        world
    }

    /// To the queues that the routing subscribes, as the relay does.
    fn publish(&mut self, event: Event) {
        let routes = Routes::load().expect("routes");
        let queues: Vec<Queue> = routes.queues(&event.event_type, &event.payload).collect();
        for queue in queues.into_iter().filter(|queue| queue.audience().is_none()) {
            self.messages.push((queue, event.clone()));
        }
    }

    fn report(&mut self, event_type: &str, order_id: Uuid, payload: &impl Serialize) {
        let fresh = Fresh::new();
        self.publish(Event {
            event_id: fresh.event_id.into(),
            event_type: event_type.to_owned(),
            aggregate_type: "T".to_owned(),
            aggregate_id: order_id.to_string(),
            version: None,
            occurred_at: fresh.now,
            recorded_at: fresh.now,
            actor: None,
            traceparent: None,
            payload: serde_json::to_value(payload).expect("json"),
        });
    }

    fn cancel(&mut self, order_id: Uuid) {
        let cancelled = self.orders[&order_id].cancel(CancelReason::Requested, &Fresh::new(), ("u", None));
        if let Ok((order, event)) = cancelled.expect("json") {
            self.orders.insert(order_id, order);
            self.publish(event);
        }
    }

    /// One delivery: skipped if it is marked, marked if it is done.
    fn deliver(&mut self, which: usize, dies: bool, declines: bool) {
        let (queue, event) = self.messages[which].clone();
        let mark = (queue, event.event_id.to_string());
        if self.processed.contains(&mark) {
            return;
        }
        let done = match queue {
            Queue::Inventory => self.inventory(&event),
            Queue::Payment => self.payment(&event, dies, declines),
            _ => self.order(&event),
        };
        if done {
            self.processed.insert(mark);
        }
    }

    fn order(&mut self, event: &Event) -> bool {
        let news = News::parse(event).expect("news").expect("readable");
        let heard = self.orders[&news.order_id()].hear(&news, event, &Fresh::new()).expect("a decision");
        self.orders.insert(heard.order.order_id, heard.order);
        if let Some(event) = heard.event {
            self.publish(event);
        }
        true
    }

    fn inventory(&mut self, event: &Event) -> bool {
        match event.event_type.as_str() {
            PLACED => {
                let placed: OrderPlaced = read(event);
                let id = placed.order_id;
                let stock = BTreeMap::from([(unit(), self.stock.clone())]);
                match reserve(&placed, &stock, self.holds.get(&id)) {
                    Reserve::Nothing => {}
                    Reserve::Reject(reason) => {
                        let customer_id = placed.customer_id;
                        let rejected = domain::order::OrderRejected { order_id: id, customer_id, reason };
                        self.report(REJECTED, id, &rejected);
                    }
                    Reserve::Hold { hold, total } => {
                        let quantity = quantity(&hold);
                        self.stock.available -= quantity;
                        self.stock.reserved += quantity;
                        let lines = hold.lines.clone();
                        self.holds.insert(id, hold);
                        let validated = OrderValidated { order_id: id, customer_id: placed.customer_id, lines, total };
                        self.report(VALIDATED, id, &validated);
                    }
                }
            }
            COMPLETED => {
                let completed: OrderCompleted = read(event);
                let id = Uuid::parse_str(&completed.order_id).expect("an id");
                match sell(self.holds.get(&id)) {
                    Settle::Move(hold) => self.moved(hold, SOLD),
                    other => panic!("a completed order is sold: {other:?}"),
                }
            }
            event_type => {
                let id = if event_type == PAYMENT_FAILED {
                    read::<PaymentFailed>(event).order_id
                } else {
                    read::<OrderCancelled>(event).order_id
                };
                match release(id, self.holds.get(&id)) {
                    Settle::Move(hold) => self.moved(hold, RELEASED),
                    Settle::Close(hold) => drop(self.holds.insert(id, hold)),
                    Settle::Nothing => {}
                    Settle::Broken(problem) => panic!("{problem}"),
                }
            }
        }
        true
    }

    fn moved(&mut self, hold: Hold, event_type: &str) {
        let quantity = quantity(&hold);
        self.stock.reserved -= quantity;
        if event_type == SOLD {
            self.stock.sold += quantity;
        } else {
            self.stock.available += quantity;
        }
        let (id, lines) = (hold.order_id, hold.lines.clone());
        self.holds.insert(id, hold);
        self.report(event_type, id, &StockMoved { order_id: id, lines });
    }

    /// The steps of `saga::payment`, one after the other; where the worker dies, it does so after what the provider did and
    /// before that is stored.
    fn payment(&mut self, event: &Event, dies: bool, declines: bool) -> bool {
        let now = Time::now();
        let charging = event.event_type == VALIDATED;
        let id = if charging { read::<OrderValidated>(event).order_id } else { read::<OrderCancelled>(event).order_id };
        let Some(payment) = self.payments.get(&id).cloned() else {
            if !charging {
                self.payments.insert(id, Payment::closed(id, now));
                return true;
            }
            // Without its key the provider makes another intent, which nobody ever confirms.
            let intent = IntentId::parse(format!("pi_{}", self.provider.intents.len())).expect("an id");
            self.provider.intents.insert(intent.clone(), Intent { order: id, ..Intent::default() });
            if !dies {
                self.payments.insert(id, Payment::intended(&read(event), intent, now));
            }
            return false;
        };
        match &payment.state {
            PaymentState::Closed | PaymentState::Declined(_) | PaymentState::Refunded(_) => true,
            PaymentState::Charged(intent) if payment.refund_wanted || !charging => {
                let at = self.provider.intents.get_mut(&intent.intent_id).expect("an intent");
                // The second time it says that it was refunded already.
                at.refunded = 1;
                if dies {
                    return false;
                }
                self.payments.insert(id, payment.becomes(PaymentState::Refunded(intent.clone()), now));
                self.report(REFUNDED, id, &intent.refunded(id));
                true
            }
            PaymentState::Charged(_) => true,
            PaymentState::Intended(_) if !charging && !payment.refund_wanted => {
                self.payments.insert(id, payment.wanting_refund(now));
                false
            }
            PaymentState::Intended(intent) if payment.refund_wanted => {
                let at = self.provider.intents.get_mut(&intent.intent_id).expect("an intent");
                at.cancelled = at.charged == 0;
                let (cancelled, state) = (at.cancelled, PaymentState::Charged(intent.clone()));
                match (dies, cancelled) {
                    (true, _) => false,
                    (false, true) => {
                        self.payments.insert(id, payment.becomes(PaymentState::Closed, now));
                        true
                    }
                    (false, false) => {
                        self.payments.insert(id, payment.becomes(state, now));
                        self.report(PAID, id, &intent.paid(id));
                        false
                    }
                }
            }
            PaymentState::Intended(intent) => {
                let at = self.provider.intents.get_mut(&intent.intent_id).expect("an intent");
                if declines && at.charged == 0 {
                    self.payments.insert(id, payment.becomes(PaymentState::Declined(intent.clone()), now));
                    let reason = domain::id::Line::parse("declined").expect("a line");
                    let customer_id = intent.customer_id.clone();
                    self.report(PAYMENT_FAILED, id, &PaymentFailed { order_id: id, customer_id, reason });
                    return true;
                }
                at.charged = 1;
                if dies {
                    return false;
                }
                self.payments.insert(id, payment.becomes(PaymentState::Charged(intent.clone()), now));
                self.report(PAID, id, &intent.paid(id));
                true
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

    /// What the reference says, from where the orders ended.
    fn check(&self) {
        let mut sold = 0;
        for (id, order) in &self.orders {
            let intents: Vec<&Intent> = self.provider.intents.values().filter(|intent| intent.order == *id).collect();
            let charged: u32 = intents.iter().map(|intent| intent.charged).sum();
            let refunded: u32 = intents.iter().map(|intent| intent.refunded).sum();
            match order.status {
                OrderStatus::Completed => {
                    sold += u64::from(order.lines[0].quantity);
                    assert_eq!((charged, refunded), (1, 0), "{order:?}");
                }
                OrderStatus::Failed | OrderStatus::Cancelled => {
                    assert!(charged <= 1 && charged == refunded, "{charged} {refunded} {order:?}");
                }
                OrderStatus::Placed | OrderStatus::Validated => panic!("not at its end: {order:?}"),
            }
        }
        assert_eq!((self.stock.available, self.stock.reserved, self.stock.sold), (STOCK - sold, 0, sold));
    }
}

fn quantity(hold: &Hold) -> u64 {
    hold.lines.iter().map(|line| u64::from(line.quantity)).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn stock_and_money_are_what_the_orders_say(
        quantities in prop::collection::vec(1_u64..4, ORDERS),
        schedule in prop::collection::vec(next(), 0..120),
    ) {
        let mut world = World::new(&quantities);
        let ids: Vec<Uuid> = world.orders.keys().copied().collect();
        for step in schedule {
            match step {
                Next::Deliver { which, dies, declines } => {
                    let which = which.index(world.messages.len());
                    world.deliver(which, dies, declines);
                }
                Next::Cancel(which) => world.cancel(ids[which.index(ids.len())]),
            }
            let Stock { available, reserved, sold, .. } = world.stock;
            prop_assert_eq!(available + reserved + sold, STOCK, "at every step");
        }
        world.come_to_rest();
        world.check();
    }
}

#[test]
fn every_event_of_the_saga_has_somebody_who_hears_of_it() {
    let routes = Routes::load().expect("routes");
    for event_type in
        [PLACED, VALIDATED, REJECTED, PAID, PAYMENT_FAILED, COMPLETED, CANCELLED, SOLD, RELEASED, REFUNDED]
    {
        let payload = serde_json::json!({"customer_id": "u"});
        let mut heard = routes.queues(event_type, &payload);
        assert!(heard.any(|queue| queue.audience().is_none()), "{event_type}");
    }
}
