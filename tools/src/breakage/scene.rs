//! The scene of one run: engines and providers that stay, proxies in front of them, and functions as processes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aws_sdk_sqs::types::Message;
use harness::by_hand::event;
use harness::lambda::{FUNCTIONS, Lambda, Program, binaries};
use harness::{Caller, Fault, Proxy, Stack};
use local::Options;
use providers::{Outcome, Providers};
use reqwest::Method;
use serde_json::{Value, json};

use super::{Call, Effects, Service};
use crate::contenders::Contender;

/// Waits that a person has and a test has not.
const SETTINGS: [(&str, &str); 7] = [
    ("BELFRY_BACKOFF_BASE", "1ms"),
    ("BELFRY_BACKOFF_MAX", "50ms"),
    ("BELFRY_PROVIDER_TIME_LIMIT", "3s"),
    ("BELFRY_SEND_LEASE", "5s"),
    ("BELFRY_OUTBOX_GRACE", "0s"),
    ("BELFRY_OUTBOX_LEASE", "1s"),
    ("BELFRY_ORDER_DEADLINE", "1s"),
];

/// How long a send is its worker's alone.
pub const SEND_LEASE: Duration = Duration::from_secs(5);
/// How long an order may stand still.
pub const ORDER_DEADLINE: Duration = Duration::from_secs(1);

/// Who reads which queue, as far as a scene has to go on by itself.
const READERS: [(&str, &str); 11] = [
    ("fanout-customer", "FanoutFunction"),
    ("fanout-restaurant-user", "FanoutFunction"),
    ("fanout-agency-user", "FanoutFunction"),
    ("fanout-admin-user", "FanoutFunction"),
    ("inventory", "InventoryFunction"),
    ("payment", "PaymentFunction"),
    ("order", "OrderFunction"),
    ("deliver-email", "DeliverEmailFunction"),
    ("deliver-sms", "DeliverSmsFunction"),
    ("deliver-push", "DeliverPushFunction"),
    ("deliver-slack", "DeliverSlackFunction"),
];

/// What Powertools takes as the end of an invocation that died: its key is free again then. Short, in its favour.
const PEERS_TIMEOUT: Duration = Duration::from_secs(1);

/// A table of what was answered, which is no effect of its own: whether it is finished shows in the answers.
const NO_EFFECT: &str = "powertools";

/// How often the scene goes on before it is clear that a message will not come.
const MOST: usize = 20;

/// One scene.
pub struct Scene {
    stack: Stack,
    outside: Proxy,
    providers: Providers,
    /// The messages that the functions under test were invoked with, by their ids.
    taken: Mutex<BTreeSet<String>>,
    /// The orders among them, which a function that tries a send again sends to itself: the send is what counts.
    orders: Mutex<BTreeSet<String>>,
    /// The different messages that were seen to lie in each queue: who looks at one hides it for a while.
    seen: Mutex<BTreeMap<&'static str, BTreeSet<String>>>,
}

impl Scene {
    /// Sets the scene: a stack of its own, in which nothing happens by itself.
    pub async fn set() -> Self {
        let providers = Providers::new();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        tokio::spawn(providers.clone().serve(listener, std::future::pending()));
        let outside = Proxy::start(&url).await;
        let mut settings: BTreeMap<String, String> = local::providers_at(outside.url());
        settings.extend(SETTINGS.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let stack = Stack::behind_a_proxy_with(Options { settings, by_hand: true, ..Options::default() }).await;
        Self { stack, outside, providers, taken: Mutex::default(), orders: Mutex::default(), seen: Mutex::default() }
    }

    /// The stack, for what comes before a use case.
    pub fn stack(&self) -> &Stack {
        &self.stack
    }

    /// The providers.
    pub fn providers(&self) -> &Providers {
        &self.providers
    }

    /// Starts a function's release binary, or a contender in the environment of the API.
    pub async fn start(&self, function: &str) -> Lambda {
        let mut all = self.stack.call(Method::GET, "/local/environment", None).await.json();
        let mut environment = |of: &str| serde_json::from_value(all[of].take()).expect("its environment");
        if let Some(contender) = Contender::named(function) {
            let program = contender.program(&environment("ApiFunction"));
            return Lambda::run(&Program { timeout: PEERS_TIMEOUT, ..program }).await;
        }
        let (_, name) = FUNCTIONS.iter().find(|(logical_id, _)| *logical_id == function).expect("a function");
        let binary = binaries().get(*name).unwrap_or_else(|| panic!("no binary {name}"));
        Lambda::start(binary, &environment(function)).await
    }

    fn proxies(&self) -> [(Service, &Proxy); 3] {
        [
            (Service::DynamoDb, self.stack.proxy()),
            (Service::Sqs, self.stack.sqs_proxy()),
            (Service::Provider, &self.outside),
        ]
    }

    /// The calls since the last time, in order.
    pub fn take_calls(&self) -> Vec<Call> {
        let mut recorded: Vec<_> = Vec::new();
        for (service, proxy) in self.proxies() {
            recorded.extend(proxy.take_recorded().into_iter().map(|(at, operation)| (at, service, operation)));
        }
        recorded.sort();
        let mut before: BTreeMap<(Service, String), usize> = BTreeMap::new();
        let numbered = recorded.into_iter().map(|(_, service, operation)| {
            let count = before.entry((service, operation.clone())).or_default();
            *count += 1;
            Call { service, operation, before: *count - 1 }
        });
        numbered.collect()
    }

    /// Plans what happens to a call.
    pub fn plan(&self, call: &Call, fault: Fault) {
        let meant = self.proxies().into_iter().filter(|(service, _)| *service == call.service);
        for (_, proxy) in meant {
            proxy.break_after(&call.operation, call.before, fault);
        }
    }

    /// How many faults were not met.
    pub fn unmet(&self) -> usize {
        self.proxies().into_iter().map(|(_, proxy)| proxy.unmet()).sum()
    }

    /// Returns when a call is held.
    pub async fn held(&self) {
        tokio::select! {
            () = self.stack.proxy().held() => {}
            () = self.stack.sqs_proxy().held() => {}
            () = self.outside.held() => {}
        }
    }

    /// Breaks nothing any more.
    pub fn mend(&self) {
        for (_, proxy) in self.proxies() {
            proxy.mend();
        }
    }

    /// Goes on until a message lies in this queue, and takes it: the event that its function is invoked with.
    pub async fn message(&self, queue: &str) -> Value {
        for _ in 0..MOST {
            let messages = self.stack.receive(queue).await;
            if !messages.is_empty() {
                let ids = messages.iter().filter_map(|message| message.message_id.clone());
                self.taken.lock().unwrap_or_else(PoisonError::into_inner).extend(ids);
                if queue.starts_with("deliver-") {
                    let bodies = messages.iter().filter_map(|message| message.body.clone());
                    self.orders.lock().unwrap_or_else(PoisonError::into_inner).extend(bodies);
                }
                return event(queue, &messages);
            }
            self.stack.sweep().await;
            self.stack.sweep_for("sends").await;
            for (other, function) in READERS.into_iter().filter(|(other, _)| *other != queue) {
                self.work(other, function).await;
            }
        }
        panic!("nothing comes to {queue}");
    }

    /// Has the host's own functions do what lies in a queue.
    async fn work(&self, queue: &str, function: &str) {
        let messages = self.stack.receive(queue).await;
        if messages.is_empty() {
            return;
        }
        self.stack.invoke(function, event(queue, &messages)).await;
        let (sqs, url) = (self.stack.sqs().await, self.stack.queue_url(queue).await);
        for message in messages {
            let delete = sqs.delete_message().queue_url(&url).set_receipt_handle(message.receipt_handle);
            delete.send().await.expect("the message can be deleted");
        }
    }

    /// Has a process begin with this, and kills it at a call to a provider: before it arrives or after it had its effect.
    pub async fn dies(&self, function: &str, event: Value, (operation, fault): (&str, Fault)) {
        self.outside.break_next(operation, &[fault]);
        let worker = self.start(function).await;
        let _unanswered = worker.begin(event).await;
        self.outside.held().await;
        worker.kill().await;
        self.mend();
    }

    /// From now on a message like one that was taken counts as one more: a sweeper sends it.
    pub fn count_orders(&self) {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Everything that is left: rows, messages that nobody has taken, and what the providers did.
    pub async fn effects(&self) -> Effects {
        let mut effects = Effects::default();
        let tables = self.stack.ask_dynamodb("ListTables", &json!({})).await;
        for table in tables["TableNames"].as_array().expect("tables").iter().filter_map(Value::as_str) {
            let table = table.trim_start_matches("belfry-local-");
            if table == NO_EFFECT {
                continue;
            }
            effects.add_rows(table, &self.stack.rows(table).await);
        }
        for (queue, _) in READERS.into_iter().chain([("redrives", "")]) {
            effects.add_messages(queue, &self.waiting(queue).await);
        }
        for sent in self.providers.sent(None) {
            if matches!(sent.outcome, Outcome::Accepted | Outcome::AnswerDropped) {
                let channel = serde_json::to_value(sent.channel).expect("a channel");
                let asked = sent.payment.map(|payment| format!(" {} {}", payment.method, verb(&payment.path)));
                let is_look = asked.as_ref().is_some_and(|asked| asked.starts_with(" GET"));
                let name = format!("{}{}", channel.as_str().unwrap_or_default(), asked.unwrap_or_default());
                effects.add(name, i64::from(!is_look));
            }
        }
        effects
    }

    /// The different messages that lie in a queue, or did when it was looked at before; they stay.
    async fn waiting(&self, queue: &'static str) -> BTreeSet<String> {
        loop {
            let messages = self.stack.receive(queue).await;
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            let seen = seen.entry(queue).or_default();
            if messages.is_empty() {
                return seen.clone();
            }
            let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
            let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
            let known = |set: &BTreeSet<String>, text: Option<&String>| text.is_some_and(|text| set.contains(text));
            let is_new = |message: &&Message| {
                !known(&taken, message.message_id.as_ref()) && !known(&orders, message.body.as_ref())
            };
            seen.extend(messages.iter().filter(is_new).filter_map(|message| message.body.clone()));
        }
    }

    /// Ends everything.
    pub async fn strike(self) {
        self.stack.stop().await;
    }
}

/// What is asked of a payment, without its id.
fn verb(path: &str) -> &str {
    match path.strip_prefix("/v1/payment_intents/").and_then(|rest| rest.split_once('/')) {
        Some((_, verb)) => verb,
        None => path,
    }
}

/// The first notification of somebody.
pub async fn notification(of: &Caller) -> String {
    let inbox = of.get("/v1/inbox?limit=1").await;
    let id = inbox.json()["notifications"][0]["notification_id"].as_str().map(str::to_owned);
    id.unwrap_or_else(|| panic!("somebody was told: {}", inbox.text))
}
