//! One step taken: as a command, as a reader, as an operator, or as trouble.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::Soak;
use super::asked::{Asked, Command, code, is_stored};
use super::people::{self, UNITS, kind, user_id};
use super::schedule::{Op, Step};
use super::world::Answered;

/// How long a command is asked again before it is left for the end.
pub(super) const PERSISTENCE: Duration = Duration::from_secs(60);

/// Who commands, hands in, keeps the addresses and operates.
pub fn shop() -> Value {
    json!({
        "sub": "shop", "user_type": "ADMIN_USER",
        "scopes": ["commands:write", "events:write", "recipients:write", "operate"],
    })
}

fn person(person: usize) -> Value {
    json!({"sub": user_id(person), "user_type": kind(person).0, "scopes": []})
}

/// The unit's name; those of a soak are all of one currency.
pub fn unit(unit: usize) -> String {
    format!("unit-{unit}")
}

/// When a table is asked for: a month of its own for each step, so that every text of it can be told from others.
pub fn slot(n: usize) -> String {
    format!("{:04}-{:02}-28T20:00:00Z", 2100 + n / 12, 1 + n % 12)
}

/// The purchase of a grant or revoke: it names its step.
pub fn purchase(n: usize) -> String {
    format!("purchase-{n:07}")
}

impl Soak {
    /// Takes a step.
    pub(super) async fn take(&self, step: &Step) {
        match &step.op {
            Op::Grant { .. } | Op::Revoke { .. } | Op::Reserve { .. } | Op::Place { .. } => {
                self.command(step, self.plain(step)).await;
            }
            Op::Decide { of, verb } => {
                let path = self.path_of(*of, "reservation_id", "/v1/reservations").await;
                let path = path.map(|path| format!("{path}/{verb}"));
                self.command(step, path.map(|path| self.post(step.n, path, None, shop()))).await;
            }
            Op::Cancel { of } => {
                let path = self.path_of(*of, "order_id", "/v1/orders").await;
                self.command(step, path.map(|path| self.post(step.n, format!("{path}/cancel"), None, shop()))).await;
            }
            Op::Act { of, staff, action } => self.act(step, *of, *staff, action).await,
            Op::HandIn { .. } | Op::HandInAgain { .. } | Op::HandInOther { .. } => self.hand_in(step).await,
            Op::Again { of } => self.again(*of).await,
            Op::Twist { of } => self.twist(*of).await,
            Op::ReadNewest { person: who } => self.read_newest(step.n, *who).await,
            Op::ReadAll { person: who } => {
                let key = format!("read-{}", step.n);
                self.until_answered(&person(*who), "/v1/inbox/read-all", Some(&key), None).await;
            }
            Op::Look { person: who } => {
                self.world.ask(Some(&person(*who)), Method::GET, "/v1/inbox", None, None).await;
            }
            Op::Move { person: who } => self.put_record(*who, step.n).await,
            Op::Restock { available } => self.restock(UNITS - 1, *available).await,
            Op::Redeliver { of, times } => self.redeliver(*of, *times).await,
            Op::Operate { nth, redrive } => self.operate(step.n, *nth, *redrive).await,
            Op::RedriveAll => {
                let body = json!({"filter": {}});
                let key = format!("all-{}", step.n);
                self.until_answered(&shop(), "/v1/dead-letters/redrive", Some(&key), Some(&body)).await;
            }
            Op::Republish { of } => self.republish(step.n, *of).await,
            Op::Poison { .. }
            | Op::Provider { .. }
            | Op::ForgetKeys
            | Op::Engine { .. }
            | Op::Kill
            | Op::Sweep { .. }
            | Op::Verify => self.trouble(&step.op).await,
        }
        self.log.finish(step.n, step.op.kind());
    }

    fn post(&self, n: usize, path: String, body: Option<Value>, claims: Value) -> Command {
        Command { claims, path, key: format!("s-{n}"), body }
    }

    /// A command that needs no other step's answer.
    fn plain(&self, step: &Step) -> Option<Command> {
        let n = step.n;
        let change = |user: usize, of: usize| json!({"user_id": user_id(user), "stock_keeping_unit": unit(of), "reason": "SOAK", "purchase_id": purchase(n)});
        let (path, body) = match &step.op {
            Op::Grant { user, unit } => ("/v1/entitlements/grants", change(*user, *unit)),
            Op::Revoke { user, unit } => ("/v1/entitlements/revokes", change(*user, *unit)),
            Op::Reserve { customer, restaurant, agency } => {
                let mut body = json!({
                    "customer_id": user_id(*customer), "restaurant_id": format!("r-{restaurant}"), "party_size": 2,
                    "slot_time": slot(n),
                });
                if *agency {
                    body["agency_id"] = json!("a-0");
                }
                ("/v1/reservations", body)
            }
            Op::Place { customer, lines } => {
                let line =
                    |(of, quantity): &(usize, u64)| json!({"stock_keeping_unit": unit(*of), "quantity": quantity});
                let lines: Vec<Value> = lines.iter().map(line).collect();
                ("/v1/orders", json!({"customer_id": user_id(*customer), "lines": lines}))
            }
            _ => return None,
        };
        Some(self.post(n, path.to_owned(), Some(body), shop()))
    }

    /// The path of what an earlier step created, if it did.
    async fn path_of(&self, of: usize, field: &str, at: &str) -> Option<String> {
        self.log.until_done(of).await;
        let inner = self.log.lock();
        let created = inner.asked.get(&of)?.accepted()?;
        created[field].as_str().map(|id| format!("{at}/{id}"))
    }

    /// Asks a command, so many times at once; all of them get the same answer.
    async fn command(&self, step: &Step, command: Option<Command>) {
        let Some(command) = command else { return };
        let asked = Asked { op: step.op.clone(), command: command.clone(), answers: Vec::new() };
        self.log.lock().asked.insert(step.n, asked);
        self.log.count("same key at once", step.copies as u64 - 1);
        let copies = (0..step.copies).map(|_| self.ask(step.n, &command));
        futures_util::future::join_all(copies).await;
    }

    /// Asks until a definite answer comes, and notes it.
    pub(super) async fn ask(&self, n: usize, command: &Command) -> Option<Answered> {
        let answer =
            self.until_answered(&command.claims, &command.path, Some(&command.key), command.body.as_ref()).await?;
        if let Some(asked) = self.log.lock().asked.get_mut(&n) {
            asked.answers.push(answer.clone());
        }
        Some(answer)
    }

    /// Posts until a definite answer comes; nothing where it does not come in time.
    pub(super) async fn until_answered(
        &self,
        claims: &Value,
        path: &str,
        key: Option<&str>,
        body: Option<&Value>,
    ) -> Option<Answered> {
        let begun = tokio::time::Instant::now();
        let mut pause = Duration::from_millis(20);
        while begun.elapsed() < PERSISTENCE {
            match self.world.ask(Some(claims), Method::POST, path, key, body).await {
                // A token of the host before is nobody's.
                Some((401, _)) | None => self.log.count("answers lost", 1),
                Some((500.., _)) => self.log.count("answers 5xx", 1),
                Some(answer) => return Some(answer),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(1));
        }
        None
    }

    /// The same key and the same request again, later.
    async fn again(&self, of: usize) {
        self.log.until_done(of).await;
        let before = {
            let inner = self.log.lock();
            let Some(asked) = inner.asked.get(&of) else { return };
            (asked.command.clone(), asked.stored().cloned())
        };
        self.log.count("same key later", 1);
        let (command, Some(stored)) = before else { return };
        if let Some(answer) = self.ask(of, &command).await.filter(|answer| *answer != stored) {
            self.log.violation(format!("step {of}: the same key answered {} and then {}", stored.0, answer.0));
        }
    }

    /// The same key for another request.
    async fn twist(&self, of: usize) {
        self.log.until_done(of).await;
        let command = {
            let inner = self.log.lock();
            let asked = inner.asked.get(&of).filter(|asked| asked.stored().is_some());
            asked.map(|asked| asked.command.clone())
        };
        let Some(Command { claims, key, path, body: Some(mut body) }) = command else { return };
        let Some((_, first)) = body.as_object_mut().and_then(|fields| fields.iter_mut().next()) else { return };
        *first = match first {
            Value::String(text) => json!(format!("{text}-other")),
            // Not an action that could be taken.
            _ => return,
        };
        self.log.count("key for another request", 1);
        let Some(answer) = self.until_answered(&claims, &path, Some(&key), Some(&body)).await else { return };
        // A body that is wrong for what it is about is refused before its key is looked at.
        if answer.0 != 400 && code(&answer) != "IDEMPOTENCY_KEY_CONFLICT" {
            self.log.violation(format!(
                "step {of}: its key for another request answered {}: {}",
                answer.0,
                code(&answer)
            ));
        }
    }

    /// Somebody of the staff acts on what they were told of a reservation, if they were by now.
    async fn act(&self, step: &Step, of: usize, staff: usize, action: &str) {
        let restaurant = match self.op_of(of).await {
            Some(Op::Reserve { restaurant, .. }) => restaurant,
            _ => return,
        };
        let Some(id) = self.id_of(of, "reservation_id").await else { return };
        let claims = person(people::staff(restaurant, staff));
        let inbox = self.world.ask(Some(&claims), Method::GET, "/v1/inbox?limit=100", None, None).await;
        let inbox: Value = inbox.and_then(|(_, text)| serde_json::from_str(&text).ok()).unwrap_or_default();
        let told = inbox["notifications"].as_array().into_iter().flatten();
        let mut told = told.filter(|told| told["properties"]["reservation_id"] == id.as_str());
        let Some(told) = told.find_map(|told| told["notification_id"].as_str().map(str::to_owned)) else { return };
        let body = json!({"action_type": action, "note": format!("step {}", step.n)});
        let path = format!("/v1/notifications/{told}/actions");
        self.command(step, Some(self.post(step.n, path, Some(body), claims))).await;
    }

    async fn op_of(&self, of: usize) -> Option<Op> {
        self.log.until_done(of).await;
        self.log.lock().asked.get(&of).map(|asked| asked.op.clone())
    }

    async fn id_of(&self, of: usize, field: &str) -> Option<String> {
        self.log.until_done(of).await;
        let inner = self.log.lock();
        inner.asked.get(&of)?.accepted()?[field].as_str().map(str::to_owned)
    }

    async fn read_newest(&self, n: usize, who: usize) {
        let inbox = self.world.ask(Some(&person(who)), Method::GET, "/v1/inbox?limit=1", None, None).await;
        let inbox: Value = inbox.and_then(|(_, text)| serde_json::from_str(&text).ok()).unwrap_or_default();
        let Some(id) = inbox["notifications"][0]["notification_id"].as_str() else { return };
        let path = format!("/v1/notifications/{id}/read");
        self.until_answered(&person(who), &path, Some(&format!("read-{n}")), None).await;
    }

    /// Whether every answer under one key was the same, once one was stored.
    pub(super) fn same_bytes(&self) -> Vec<String> {
        let inner = self.log.lock();
        let differs = |(n, asked): (&usize, &Asked)| {
            let stored = asked.stored()?;
            let mut others = asked.answers.iter().filter(|answer| is_stored(answer));
            others.any(|answer| answer != stored).then(|| format!("step {n}: one key, different stored answers"))
        };
        inner.asked.iter().filter_map(differs).collect()
    }
}
