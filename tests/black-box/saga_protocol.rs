//! A model of the saga's protocol for one order, checked in every interleaving: messages come in any order, any number of
//! times, workers die between any two calls, the customer cancels at any moment.
//!
//! The decisions about stock and order are the real ones (`domain::stock`, `domain::order`); payments are modelled call by
//! call, because that is where a worker can die. Each guard can be taken out: the checker must then find what it is for.

use std::time::Duration;

use domain::order::{CancelReason, Line, Money, News, Order, OrderPaid, OrderPlaced, OrderStatus, OrderValidated};
use domain::order::{PaymentFailed, PaymentRefunded, StockMoved};
use domain::stock::{Hold, HoldStatus, Reserve, Settle, Stock, release, reserve, sell};
use domain::{Event, EventId, Fresh, StockKeepingUnit, Time, UserId};
use stateright::{Checker, Model, Property};
use uuid::Uuid;

/// What is taken out of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    Nothing,
    /// A release before the reservation leaves nothing behind.
    ClosedMark,
    /// A cancel that meets a charge under way leaves it alone.
    RefundWish,
    /// An intent is confirmed without being stored before.
    StoredIntent,
    /// The order completes although it was cancelled.
    Arbiter,
}

/// The events, each published at most once in the life of one order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Told {
    Placed,
    Validated,
    Rejected,
    Paid,
    Declined,
    Completed,
    Failed,
    Cancelled,
    Sold,
    Released,
    Refunded,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Service {
    Inventory,
    Payment,
    Order,
}

/// What a worker of the payments is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Worker {
    Idle,
    /// It has an intent that is not stored yet.
    HasIntent(u8),
    /// It has seen the payment without a wish to refund it, and will confirm this intent.
    WillConfirm(u8),
    /// The provider has charged, and it will record that.
    WillRecord,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Payment {
    None,
    Intended { intent: u8, refund_wanted: bool },
    Charged { intent: u8, refund_wanted: bool },
    Declined,
    Refunded,
    Closed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Intent {
    Open,
    Succeeded,
    Cancelled,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct World {
    order: OrderStatus,
    hold: Option<HoldStatus>,
    reserved: i8,
    sold: i8,
    payment: Payment,
    /// The provider's intents: more than one, when it has forgotten a key.
    intents: Vec<Intent>,
    charges: u8,
    refunds: u8,
    worker: Worker,
    told: Vec<Told>,
    processed: Vec<(Service, Told)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Cancel,
    Deliver(Service, Told),
    /// The payment's worker takes its next step for `OrderValidated`.
    Work,
    /// The provider declines what is confirmed.
    Decline,
    /// The worker dies; its message comes again.
    Die,
}

struct Saga {
    missing: Missing,
}

const STOCK: u64 = 1;

fn unit() -> StockKeepingUnit {
    StockKeepingUnit::parse("a").expect("a unit")
}

fn user() -> UserId {
    UserId::parse("u").expect("an id")
}

fn total() -> Money {
    Money { amount: 1, currency: "EUR".to_owned() }
}

fn line() -> Line {
    Line { stock_keeping_unit: unit(), quantity: 1.try_into().expect("a quantity") }
}

impl World {
    fn tell(&mut self, told: Told) {
        self.told.push(told);
        self.told.sort_unstable();
    }

    fn mark(&mut self, service: Service, told: Told) {
        self.processed.push((service, told));
        self.processed.sort_unstable();
    }

    fn is_open(&self, service: Service, told: Told) -> bool {
        self.told.contains(&told) && !self.processed.contains(&(service, told))
    }

    fn hold(&self) -> Option<Hold> {
        self.hold.map(|status| Hold { order_id: Uuid::nil(), status, lines: Vec::new(), version: 1 })
    }

    fn is_at_rest(&self) -> bool {
        self.worker == Worker::Idle && SUBSCRIBED.iter().all(|(service, told)| !self.is_open(*service, *told))
    }

    /// The inventory's decisions are the real ones.
    fn inventory(&mut self, told: Told, missing: Missing) {
        let hold = self.hold().filter(|hold| missing != Missing::ClosedMark || hold.status != HoldStatus::Closed);
        match told {
            Told::Placed => {
                let stock = Stock {
                    stock_keeping_unit: unit(),
                    available: STOCK,
                    reserved: 0,
                    sold: 0,
                    unit_price: 1,
                    currency: "EUR".to_owned(),
                    updated_at: Time::now(),
                    version: 1,
                };
                let placed = OrderPlaced { order_id: Uuid::nil(), customer_id: user(), lines: vec![line()] };
                match reserve(&placed, &[(unit(), stock)].into(), hold.as_ref()) {
                    Reserve::Hold { hold, .. } => {
                        self.hold = Some(hold.status);
                        self.reserved += 1;
                        self.tell(Told::Validated);
                    }
                    Reserve::Reject(_) => self.tell(Told::Rejected),
                    Reserve::Nothing => {}
                }
            }
            Told::Completed => {
                if let Settle::Move(hold) = sell(hold.as_ref()) {
                    self.hold = Some(hold.status);
                    self.reserved -= 1;
                    self.sold += 1;
                    self.tell(Told::Sold);
                }
            }
            _ => match release(Uuid::nil(), hold.as_ref()) {
                Settle::Move(hold) => {
                    self.hold = Some(hold.status);
                    self.reserved -= 1;
                    self.tell(Told::Released);
                }
                Settle::Close(hold) => self.hold = Some(hold.status),
                Settle::Nothing | Settle::Broken(_) => {}
            },
        }
    }

    /// So are the order's.
    fn order(&mut self, told: Told, missing: Missing) {
        let id = Uuid::nil();
        let reason = domain::id::Line::parse("why").expect("a line");
        let news = match told {
            Told::Validated => {
                News::Validated(OrderValidated { order_id: id, customer_id: user(), lines: vec![], total: total() })
            }
            Told::Rejected => {
                News::Rejected(domain::order::OrderRejected { order_id: id, customer_id: user(), reason })
            }
            Told::Paid => News::Paid(OrderPaid { order_id: id, customer_id: user(), total: total() }),
            Told::Declined => News::PaymentFailed(PaymentFailed { order_id: id, customer_id: user(), reason }),
            Told::Sold => News::Sold(StockMoved { order_id: id, lines: vec![] }),
            Told::Released => News::Released(StockMoved { order_id: id, lines: vec![] }),
            _ => News::Refunded(PaymentRefunded { order_id: id, customer_id: user(), total: total() }),
        };
        let fresh = Fresh::new();
        let mut order = Order::place(id, user(), vec![line()], Duration::from_secs(1), &fresh);
        order.status = self.order;
        if missing == Missing::Arbiter && told == Told::Paid {
            order.status = OrderStatus::Validated;
        }
        let event = Event {
            event_id: EventId::parse("e").expect("an id"),
            event_type: "T".to_owned(),
            aggregate_type: "A".to_owned(),
            aggregate_id: "a".to_owned(),
            version: None,
            occurred_at: fresh.now,
            recorded_at: fresh.now,
            actor: None,
            traceparent: None,
            payload: serde_json::Value::Null,
        };
        let heard = order.hear(&news, &event, &fresh).expect("a decision");
        self.order = heard.order.status;
        match heard.event.map(|event| event.event_type) {
            Some(event_type) if event_type == domain::order::COMPLETED => self.tell(Told::Completed),
            Some(_) => self.tell(Told::Failed),
            None => {}
        }
    }

    /// The next step for `OrderValidated`, as `saga::payment` takes it; `None` where there is none.
    fn work(&mut self, missing: Missing, declines: bool) -> Option<()> {
        match (self.worker, self.payment) {
            (Worker::Idle, Payment::None) => {
                // The provider may have forgotten the key of an attempt before.
                self.intents.push(Intent::Open);
                self.worker = Worker::HasIntent(u8::try_from(self.intents.len() - 1).ok()?);
            }
            (Worker::HasIntent(intent), _) if missing == Missing::StoredIntent => {
                self.worker = Worker::WillConfirm(intent);
            }
            (Worker::HasIntent(intent), standing) => {
                if standing == Payment::None {
                    self.payment = Payment::Intended { intent, refund_wanted: false };
                }
                self.worker = Worker::Idle;
            }
            (Worker::Idle, Payment::Intended { intent, refund_wanted: false }) => {
                self.worker = Worker::WillConfirm(intent);
            }
            (
                Worker::Idle,
                Payment::Intended { refund_wanted: true, .. } | Payment::Charged { refund_wanted: true, .. },
            ) => {
                self.call_off(missing);
                if matches!(self.payment, Payment::Closed | Payment::Refunded) {
                    self.mark(Service::Payment, Told::Validated);
                }
            }
            (Worker::Idle, _) => self.mark(Service::Payment, Told::Validated),
            (Worker::WillConfirm(intent), _) => {
                let intent = &mut self.intents[usize::from(intent)];
                match *intent {
                    Intent::Cancelled => self.worker = Worker::Idle,
                    Intent::Open if declines => {
                        self.worker = Worker::Idle;
                        if let Payment::Intended { refund_wanted: false, .. } = self.payment {
                            self.payment = Payment::Declined;
                            self.mark(Service::Payment, Told::Validated);
                            self.tell(Told::Declined);
                        }
                    }
                    Intent::Open | Intent::Succeeded => {
                        if *intent == Intent::Open {
                            self.charges += 1;
                        }
                        *intent = Intent::Succeeded;
                        self.worker = Worker::WillRecord;
                    }
                }
            }
            (Worker::WillRecord, Payment::Intended { intent, refund_wanted }) => {
                self.worker = Worker::Idle;
                // The version that it read is the condition: with a wish stored since, it looks again.
                if !refund_wanted {
                    self.payment = Payment::Charged { intent, refund_wanted: false };
                    self.mark(Service::Payment, Told::Validated);
                    if !self.told.contains(&Told::Paid) {
                        self.tell(Told::Paid);
                    }
                }
            }
            (Worker::WillRecord, _) => self.worker = Worker::Idle,
        }
        Some(())
    }

    /// One step for `OrderCancelled`, or for a charge that is to be refunded. Says whether it was the last.
    fn call_off(&mut self, missing: Missing) -> bool {
        match self.payment {
            Payment::None => {
                self.payment = Payment::Closed;
                true
            }
            Payment::Intended { refund_wanted: false, .. } if missing == Missing::RefundWish => true,
            Payment::Intended { intent, refund_wanted: false } => {
                self.payment = Payment::Intended { intent, refund_wanted: true };
                false
            }
            Payment::Intended { intent, .. } => match self.intents[usize::from(intent)] {
                Intent::Succeeded => {
                    self.payment = Payment::Charged { intent, refund_wanted: true };
                    if !self.told.contains(&Told::Paid) {
                        self.tell(Told::Paid);
                    }
                    false
                }
                Intent::Open | Intent::Cancelled => {
                    self.intents[usize::from(intent)] = Intent::Cancelled;
                    self.payment = Payment::Closed;
                    true
                }
            },
            Payment::Charged { .. } => {
                // By its key, or by `charge_already_refunded`, the provider does it once.
                self.refunds = 1;
                self.payment = Payment::Refunded;
                self.tell(Told::Refunded);
                true
            }
            Payment::Declined | Payment::Refunded | Payment::Closed => true,
        }
    }
}

/// Who hears of what.
const SUBSCRIBED: [(Service, Told); 13] = [
    (Service::Inventory, Told::Placed),
    (Service::Inventory, Told::Completed),
    (Service::Inventory, Told::Declined),
    (Service::Inventory, Told::Cancelled),
    (Service::Payment, Told::Validated),
    (Service::Payment, Told::Cancelled),
    (Service::Order, Told::Validated),
    (Service::Order, Told::Rejected),
    (Service::Order, Told::Paid),
    (Service::Order, Told::Declined),
    (Service::Order, Told::Sold),
    (Service::Order, Told::Released),
    (Service::Order, Told::Refunded),
];

impl Model for Saga {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World {
            order: OrderStatus::Placed,
            hold: None,
            reserved: 0,
            sold: 0,
            payment: Payment::None,
            intents: Vec::new(),
            charges: 0,
            refunds: 0,
            worker: Worker::Idle,
            told: vec![Told::Placed],
            processed: Vec::new(),
        }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        if !world.order.is_final() {
            actions.push(Action::Cancel);
        }
        for (service, told) in SUBSCRIBED {
            if world.is_open(service, told) && (service, told) != (Service::Payment, Told::Validated) {
                actions.push(Action::Deliver(service, told));
            }
        }
        if world.is_open(Service::Payment, Told::Validated) || world.worker != Worker::Idle {
            actions.push(Action::Work);
            if matches!(world.worker, Worker::WillConfirm(_)) {
                actions.push(Action::Decline);
            }
        }
        if world.worker != Worker::Idle {
            actions.push(Action::Die);
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        match action {
            Action::Cancel => {
                let fresh = Fresh::new();
                let mut order = Order::place(Uuid::nil(), user(), vec![line()], Duration::from_secs(1), &fresh);
                order.status = world.order;
                let cancelled = order.cancel(CancelReason::Requested, &fresh, ("u", None)).expect("json").ok()?;
                next.order = cancelled.0.status;
                next.tell(Told::Cancelled);
            }
            Action::Deliver(service @ Service::Inventory, told) => {
                next.inventory(told, self.missing);
                next.mark(service, told);
            }
            Action::Deliver(service @ Service::Order, told) => {
                next.order(told, self.missing);
                next.mark(service, told);
            }
            Action::Deliver(service @ Service::Payment, told) => {
                if next.call_off(self.missing) {
                    next.mark(service, told);
                }
            }
            Action::Work => next.work(self.missing, false)?,
            Action::Decline => next.work(self.missing, true)?,
            Action::Die => next.worker = Worker::Idle,
        }
        Some(next)
    }

    fn within_boundary(&self, world: &World) -> bool {
        world.intents.len() <= 3
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("charged at most once", |_, world: &World| world.charges <= 1),
            Property::always("refunded only if charged", |_, world: &World| world.refunds <= world.charges),
            Property::always("nothing is left over", |_, world: &World| !world.is_at_rest() || world.is_settled()),
            Property::sometimes("completed", |_, world: &World| world.order == OrderStatus::Completed),
            Property::sometimes("failed", |_, world: &World| world.order == OrderStatus::Failed),
            Property::sometimes("cancelled and refunded", |_, world: &World| world.refunds == 1),
        ]
    }
}

impl World {
    /// What must hold when every message is processed.
    fn is_settled(&self) -> bool {
        match self.order {
            OrderStatus::Completed => (self.reserved, self.sold, self.charges, self.refunds) == (0, 1, 1, 0),
            OrderStatus::Failed | OrderStatus::Cancelled => {
                (self.reserved, self.sold) == (0, 0) && self.charges == self.refunds
            }
            OrderStatus::Placed | OrderStatus::Validated => false,
        }
    }
}

fn discoveries(missing: Missing) -> Vec<&'static str> {
    let checker = Saga { missing }.checker().spawn_bfs().join();
    let mut found: Vec<&str> = checker.discoveries().into_keys().collect();
    found.sort_unstable();
    found
}

#[test]
fn no_interleaving_leaves_stock_or_money_behind() {
    assert_eq!(discoveries(Missing::Nothing), ["cancelled and refunded", "completed", "failed"]);
}

#[test]
fn without_a_guard_the_checker_finds_what_it_is_for() {
    for (missing, broken) in [
        (Missing::ClosedMark, "nothing is left over"),
        (Missing::RefundWish, "nothing is left over"),
        (Missing::StoredIntent, "charged at most once"),
        (Missing::Arbiter, "nothing is left over"),
    ] {
        assert!(discoveries(missing).contains(&broken), "{missing:?}");
    }
}
