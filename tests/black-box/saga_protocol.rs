//! A model of the saga's protocol for one order, checked in every interleaving: messages arrive in any order, any number of
//! times, workers crash between any two calls, the customer cancels at any moment.
//!
//! Every decision is the product's own: the inventory's step runs as the kernel runs it, the payment's protocol is taken
//! call by call, because that is where a worker can crash, and the order hears of both. The model is only the queues, the
//! provider and the crashes. Each guard can be taken out: the checker must then find what it is for.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use belfry_core::saga::{AskedOf, Status, Step, StepCommand};
use belfry_core::{Commit, Context, Failure, Get, Message, Payload, ReadSet, Stored, Timestamp};
use domain::order::{
    self, CancelReason, IntentId, Line, News, Order, OrderCancelled, OrderCompleted, OrderPaid, OrderPlaced,
    OrderStatus, OrderValidated, PricedLine,
};
use domain::payment::{Answer, Asked, Call, Next, Payment, PaymentState, answered, next};
use domain::routing::{Queue, Routes};
use domain::stock::{Hold, HoldStatus, ReleaseBecause, ReserveStock, Stock};
use domain::{Event, EventId, StockKeepingUnit, UserId};
use serde_json::json;
use stateright::{Checker, Model, Property};
use uuid::Uuid;

use crate::memory::Memory;

/// What is taken out of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    Nothing,
    /// A release before the reservation leaves nothing behind.
    ClosedHold,
    /// The step's undo leaves the stock reserved.
    Undo,
    /// A cancel that meets a charge in progress leaves it alone.
    RefundWish,
    /// An intent is confirmed without being stored before.
    StoredIntent,
    /// The order completes although it was cancelled.
    Arbiter,
}

/// What a worker of the payments is doing for its message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Worker {
    Idle,
    /// It has seen this payment and is about to make this call.
    Calls(Option<(u64, Payment)>, Call),
    /// The provider has answered, and it is about to act on that.
    Knows(Option<(u64, Payment)>, Call, Answer),
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
    /// Available, reserved, sold.
    stock: [u64; 3],
    /// With its version.
    payment: Option<(u64, Payment)>,
    /// The provider's intents: more than one if it has forgotten a key.
    intents: Vec<Intent>,
    charges: u8,
    refunds: u8,
    /// One for each message of [`PAYMENT`].
    workers: [Worker; 2],
    /// Event types: each is published at most once in the life of one order.
    published: BTreeSet<String>,
    processed: BTreeSet<(Queue, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Action {
    Cancel,
    Deliver(Queue, String),
    /// A payment worker takes its next step.
    Work(usize),
    /// The same, and the provider declines what is confirmed.
    Decline(usize),
    /// A payment worker crashes; its message is delivered again.
    Crash(usize),
}

struct Saga {
    missing: Missing,
}

/// What the payments hear of.
const PAYMENT: [&str; 2] = [OrderValidated::TYPE, OrderCancelled::TYPE];

/// Who hears of what, as the routes say.
static SUBSCRIBED: LazyLock<Vec<(Queue, String)>> = LazyLock::new(|| {
    let routes = Routes::load().expect("routes");
    let step = StepCommand::<ReserveStock>::types();
    let types: BTreeSet<&str> = step.chain(Asked::TYPES.iter().copied()).chain(News::TYPES.iter().copied()).collect();
    let heard = types.into_iter().flat_map(|event_type| {
        let payload = json!({"customer_id": "u"});
        let queues = routes.queues(event_type, &payload).filter(|queue| queue.audience().is_none());
        queues.map(|queue| (queue, event_type.to_owned())).collect::<Vec<_>>()
    });
    heard.collect()
});

static NOW: LazyLock<Timestamp> = LazyLock::new(Timestamp::now);

/// The same ids and the same time in every interleaving.
fn ctx() -> Context {
    Context::new(*NOW, Uuid::nil())
}

fn unit() -> StockKeepingUnit {
    StockKeepingUnit::parse("a").expect("a unit")
}

fn user() -> UserId {
    UserId::parse("u").expect("an id")
}

fn event(event_type: &str) -> Event {
    let mut line = json!({"stock_keeping_unit": "a", "quantity": 1});
    if event_type != OrderPlaced::TYPE {
        line["unit_price"] = json!(1);
    }
    let reason = if event_type == OrderCancelled::TYPE { "REQUESTED" } else { "why" };
    let total = json!({"amount": 1, "currency": "EUR"});
    let payload =
        json!({"order_id": Uuid::nil(), "customer_id": "u", "lines": [line], "total": total, "reason": reason});
    Event {
        event_id: EventId::parse(event_type).expect("an id"),
        event_type: event_type.to_owned(),
        aggregate_type: "T".to_owned(),
        aggregate_id: "a".to_owned(),
        version: None,
        occurred_at: *NOW,
        recorded_at: *NOW,
        actor: None,
        traceparent: None,
        payload,
    }
}

/// The inventory's step with another undo: it reports that the stock is released, and leaves it reserved.
struct Forgetful;

impl Step for Forgetful {
    type Record = Hold;
    type Do = OrderPlaced;
    type Undo = ReleaseBecause;
    type Settle = OrderCompleted;
    type Reads = <ReserveStock as Step>::Reads;

    fn record(asked: AskedOf<'_, Self>) -> Get<Hold> {
        ReserveStock::record(asked)
    }

    fn status(hold: &Hold) -> Status {
        ReserveStock::status(hold)
    }

    fn reads(&self, placed: &OrderPlaced) -> Self::Reads {
        ReserveStock.reads(placed)
    }

    fn forward(
        &self,
        placed: &OrderPlaced,
        stock: <Self::Reads as ReadSet>::Output,
        ctx: &Context,
    ) -> Result<Commit<()>, Failure> {
        ReserveStock.forward(placed, stock, ctx)
    }

    fn undo(&self, _: &ReleaseBecause, hold: &Stored<Hold>, ctx: &Context) -> Result<Commit<()>, Failure> {
        Ok(ctx.commit().put(&hold.becomes(Hold { status: HoldStatus::Released, ..Hold::clone(hold) })))
    }

    fn close(&self, because: &ReleaseBecause, ctx: &Context) -> Result<Commit<()>, Failure> {
        ReserveStock.close(because, ctx)
    }

    fn settle(&self, because: &OrderCompleted, hold: &Stored<Hold>, ctx: &Context) -> Result<Commit<()>, Failure> {
        ReserveStock.settle(because, hold, ctx)
    }
}

impl World {
    fn is_open(&self, queue: Queue, event_type: &str) -> bool {
        self.published.contains(event_type) && !self.processed.contains(&(queue, event_type.to_owned()))
    }

    fn mark(&mut self, queue: Queue, event_type: &str) {
        self.processed.insert((queue, event_type.to_owned()));
    }

    fn publish(&mut self, events: Vec<Event>) {
        self.published.extend(events.into_iter().map(|event| event.event_type));
    }

    fn is_at_rest(&self) -> bool {
        let is_idle = self.workers.iter().all(|worker| *worker == Worker::Idle);
        is_idle && SUBSCRIBED.iter().all(|(queue, event_type)| !self.is_open(*queue, event_type))
    }

    /// The step as the kernel runs it.
    fn inventory<S: Step>(&mut self, step: S, event_type: &str, missing: Missing) {
        let line =
            PricedLine { stock_keeping_unit: unit(), quantity: 1.try_into().expect("a quantity"), unit_price: 1 };
        let [available, reserved, sold] = self.stock;
        let mut memory = Memory::default();
        let currency = "EUR".to_owned();
        let stock =
            Stock { stock_keeping_unit: unit(), available, reserved, sold, unit_price: 1, currency, updated_at: *NOW };
        memory.insert(1, stock);
        if let Some(status) = self.hold.filter(|status| missing != Missing::ClosedHold || *status != HoldStatus::Closed)
        {
            memory.insert(1, Hold { order_id: Uuid::nil(), status, lines: vec![line] });
        }
        let command = StepCommand::read(Arc::new(step), &event(event_type)).expect("a readable event");
        // A contradiction is a dead letter, which changes nothing.
        let Ok(commit) = memory.decide(&command, &ctx()) else { return };
        let events = memory.commit(&commit, &ctx()).expect("nobody else writes");
        let stock = memory.get::<Stock>(&unit()).expect("the unit");
        self.stock = [stock.available, stock.reserved, stock.sold];
        self.hold = memory.get::<Hold>(Uuid::nil()).map(|hold| hold.status).or(self.hold);
        self.publish(events);
    }

    fn stored_order(&self) -> Stored<Order> {
        let line = Line { stock_keeping_unit: unit(), quantity: 1.try_into().expect("a quantity") };
        let placed = order::place(user(), vec![line], Duration::from_secs(1), &ctx());
        Stored::at(1, Order { status: self.order, ..placed.split().1.into_inner() })
    }

    fn heard(&mut self, event_type: &str, missing: Missing) {
        let event = event(event_type);
        let news = News::read(&event).expect("news");
        let mut order = self.stored_order();
        if missing == Missing::Arbiter && event_type == OrderPaid::TYPE {
            order = Stored::at(1, Order { status: OrderStatus::Validated, ..order.into_inner() });
        }
        self.write_order(&order, &order::hear(&order, &news, &event, &ctx()));
    }

    fn write_order<T>(&mut self, before: &Stored<Order>, commit: &Commit<T>) {
        let mut memory = Memory::default();
        memory.insert(before.version(), Order::clone(before));
        let events = memory.commit(commit, &ctx()).expect("nobody else writes");
        self.order = memory.get::<Order>(before.order_id).expect("the order").status;
        self.publish(events);
    }

    /// The next step of a payment worker; `None` if there is none.
    fn work(&mut self, which: usize, missing: Missing, declines: bool) -> Option<()> {
        let event_type = PAYMENT[which];
        let asked = Asked::read(&event(event_type)).expect("a readable event");
        let stored = |seen: &Option<(u64, Payment)>| {
            seen.as_ref().map(|(version, payment)| Stored::at(*version, payment.clone()))
        };
        match std::mem::replace(&mut self.workers[which], Worker::Idle) {
            Worker::Idle => {
                let seen = self.payment.clone();
                let todo = next(&asked, stored(&seen).as_ref(), &ctx());
                if missing == Missing::RefundWish && matches!(todo, Next::Store(_)) {
                    self.mark(Queue::Payment, event_type);
                } else {
                    self.take(which, seen, todo);
                }
            }
            Worker::Calls(seen, call) => {
                let answer = self.provider(&call, declines)?;
                self.workers[which] = Worker::Knows(seen, call, answer);
            }
            Worker::Knows(seen, Call::Create(_), Answer::Created(intent_id)) if missing == Missing::StoredIntent => {
                self.workers[which] = Worker::Calls(seen, Call::Confirm(intent_id));
            }
            Worker::Knows(seen, call, answer) => {
                // Without its stored intent there is nothing to record.
                if let Ok(todo) = answered(&asked, stored(&seen).as_ref(), &call, answer, &ctx()) {
                    self.take(which, seen, todo);
                }
            }
        }
        Some(())
    }

    fn take(&mut self, which: usize, seen: Option<(u64, Payment)>, todo: Next) {
        match todo {
            Next::Call(call) => self.workers[which] = Worker::Calls(seen, call),
            Next::Store(commit) => drop(self.write_payment(&commit)),
            Next::Done(commit) => {
                if self.write_payment(&commit).is_some() {
                    self.mark(Queue::Payment, PAYMENT[which]);
                }
            }
        }
    }

    /// `None` if somebody else was first.
    fn write_payment(&mut self, commit: &Commit<()>) -> Option<()> {
        let mut memory = Memory::default();
        if let Some((version, payment)) = &self.payment {
            memory.insert(*version, payment.clone());
        }
        let events = memory.commit(commit, &ctx())?;
        self.payment = memory.get::<Payment>(Uuid::nil()).map(|stored| (stored.version(), stored.into_inner()));
        self.publish(events);
        Some(())
    }

    fn provider(&mut self, call: &Call, declines: bool) -> Option<Answer> {
        let (Call::Confirm(id) | Call::Cancel { intent_id: id, .. } | Call::Refund(id)) = call else {
            // It may have forgotten the key of an attempt before.
            self.intents.push(Intent::Open);
            return Some(Answer::Created(IntentId::parse(format!("{}", self.intents.len() - 1)).ok()?));
        };
        let intent = &mut self.intents[id.as_str().parse::<usize>().ok()?];
        Some(match (call, *intent) {
            (Call::Refund(_), _) => {
                // Once, by its key or because it was refunded already.
                self.refunds = 1;
                Answer::Refunded
            }
            (_, Intent::Succeeded) => Answer::Charged,
            (_, Intent::Cancelled) => Answer::Cancelled,
            (Call::Cancel { .. }, Intent::Open) => {
                *intent = Intent::Cancelled;
                Answer::Cancelled
            }
            (_, Intent::Open) if declines => Answer::Declined("declined"),
            (_, Intent::Open) => {
                *intent = Intent::Succeeded;
                self.charges += 1;
                Answer::Charged
            }
        })
    }

    /// What must hold when every message is processed.
    fn is_settled(&self) -> bool {
        match self.order {
            OrderStatus::Completed => (self.stock, self.charges, self.refunds) == ([0, 0, 1], 1, 0),
            OrderStatus::Failed | OrderStatus::Cancelled => self.stock == [1, 0, 0] && self.charges == self.refunds,
            OrderStatus::Placed | OrderStatus::Validated => false,
        }
    }
}

impl Model for Saga {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World {
            order: OrderStatus::Placed,
            hold: None,
            stock: [1, 0, 0],
            payment: None,
            intents: Vec::new(),
            charges: 0,
            refunds: 0,
            workers: [Worker::Idle, Worker::Idle],
            published: BTreeSet::from([OrderPlaced::TYPE.to_owned()]),
            processed: BTreeSet::new(),
        }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        if !world.order.is_final() {
            actions.push(Action::Cancel);
        }
        for (queue, event_type) in SUBSCRIBED.iter() {
            if *queue != Queue::Payment && world.is_open(*queue, event_type) {
                actions.push(Action::Deliver(*queue, event_type.clone()));
            }
        }
        for (which, worker) in world.workers.iter().enumerate() {
            if *worker != Worker::Idle {
                actions.push(Action::Crash(which));
            }
            if *worker != Worker::Idle || world.is_open(Queue::Payment, PAYMENT[which]) {
                actions.push(Action::Work(which));
            }
            if matches!(worker, Worker::Calls(_, Call::Confirm(_))) {
                actions.push(Action::Decline(which));
            }
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        match action {
            Action::Cancel => {
                let order = next.stored_order();
                let cancelled = order::cancel(&order, CancelReason::Requested, &ctx()).ok()?;
                next.write_order(&order, &cancelled);
            }
            Action::Deliver(queue, event_type) => {
                match queue {
                    Queue::Inventory if self.missing == Missing::Undo => {
                        next.inventory(Forgetful, &event_type, self.missing);
                    }
                    Queue::Inventory => next.inventory(ReserveStock, &event_type, self.missing),
                    _ => next.heard(&event_type, self.missing),
                }
                next.mark(queue, &event_type);
            }
            Action::Work(which) => next.work(which, self.missing, false)?,
            Action::Decline(which) => next.work(which, self.missing, true)?,
            Action::Crash(which) => next.workers[which] = Worker::Idle,
        }
        Some(next)
    }

    fn within_boundary(&self, world: &World) -> bool {
        world.intents.len() <= 2
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("charged at most once", |_, world: &World| world.charges <= 1),
            Property::always("refunded only if charged", |_, world: &World| world.refunds <= world.charges),
            Property::always("nothing is left over", |_, world: &World| !world.is_at_rest() || world.is_settled()),
            Property::sometimes("completed", |_, world: &World| world.order == OrderStatus::Completed),
            Property::sometimes("failed", |_, world: &World| world.order == OrderStatus::Failed),
            Property::sometimes("cancelled and refunded", |_, world: &World| {
                matches!(&world.payment, Some((_, Payment { state: PaymentState::Refunded(_), .. })))
            }),
        ]
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
        (Missing::ClosedHold, "nothing is left over"),
        (Missing::Undo, "nothing is left over"),
        (Missing::RefundWish, "nothing is left over"),
        (Missing::StoredIntent, "charged at most once"),
        (Missing::Arbiter, "nothing is left over"),
    ] {
        assert!(discoveries(missing).contains(&broken), "{missing:?}");
    }
}
