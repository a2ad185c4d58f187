//! Random sequences of commands against a small reference model, on the real engine.
//!
//! The model knows nothing of transactions, versions as conditions or stored items: it says what a caller may expect.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use harness::{Answer, Caller, Stack};
use proptest::prelude::*;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};
use reqwest::StatusCode;
use serde_json::json;
use tokio::runtime::Runtime;

/// Which way an entitlement is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Grant,
    Revoke,
}

/// One request: what is changed for whom.
type Request = (Change, &'static str, &'static str);

#[derive(Debug, Clone)]
enum Step {
    /// Sends a request under a key; often one that was sent before.
    Send { key: &'static str, request: Request },
    /// The key's time runs out, while DynamoDB has not deleted it yet.
    Expire { key: &'static str },
}

/// What a caller may expect.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Expected {
    Changed { version: u64 },
    Refused { message: &'static str },
}

#[derive(Debug, Clone, Default)]
struct Model {
    entitlements: BTreeMap<(&'static str, &'static str), (bool, u64)>,
    keys: BTreeMap<&'static str, (Request, Expected)>,
    events: usize,
    last: Option<Ending>,
}

/// How the last request has to end.
#[derive(Debug, Clone)]
enum Ending {
    First(Expected),
    Replay(Expected),
    KeyConflict,
}

impl Model {
    fn decide(&mut self, (change, user, unit): Request) -> Expected {
        let standing = self.entitlements.get(&(user, unit)).copied();
        let version = match (change, standing) {
            (Change::Grant, None) => 1,
            (Change::Grant, Some((true, _))) => return Expected::Refused { message: "already ACTIVE" },
            (Change::Revoke, None) => return Expected::Refused { message: "never granted" },
            (Change::Revoke, Some((false, _))) => return Expected::Refused { message: "already REVOKED" },
            (_, Some((_, version))) => version + 1,
        };
        self.entitlements.insert((user, unit), (change == Change::Grant, version));
        self.events += 1;
        Expected::Changed { version }
    }
}

impl ReferenceStateMachine for Model {
    type State = Self;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Self> {
        Just(Self::default()).boxed()
    }

    fn transitions(_: &Self) -> BoxedStrategy<Step> {
        let key = prop::sample::select(vec!["k1", "k2", "k3", "k4"]);
        let change = prop::sample::select(vec![Change::Grant, Change::Revoke]);
        let request = (change, prop::sample::select(vec!["u", "v"]), prop::sample::select(vec!["s", "t"]));
        prop_oneof![
            8 => (key.clone(), request).prop_map(|(key, request)| Step::Send { key, request }),
            1 => key.prop_map(|key| Step::Expire { key }),
        ]
        .boxed()
    }

    fn apply(mut state: Self, step: &Step) -> Self {
        state.last = None;
        match step {
            Step::Expire { key } => {
                state.keys.remove(key);
            }
            Step::Send { key, request } => {
                let ending = match state.keys.get(key) {
                    Some((sent, expected)) if sent == request => Ending::Replay(expected.clone()),
                    Some(_) => Ending::KeyConflict,
                    None => {
                        let expected = state.decide(*request);
                        state.keys.insert(key, (*request, expected.clone()));
                        Ending::First(expected)
                    }
                };
                state.last = Some(ending);
            }
        }
        state
    }
}

/// The real thing, and the answers that it gave.
struct System {
    runtime: Runtime,
    stack: Stack,
    shop: Caller,
    answers: BTreeMap<&'static str, String>,
}

impl System {
    fn send(&self, key: &str, (change, user, unit): Request) -> Answer {
        let path = match change {
            Change::Grant => "/v1/entitlements/grants",
            Change::Revoke => "/v1/entitlements/revokes",
        };
        let body = json!({"user_id": user, "stock_keeping_unit": unit, "reason": "r", "purchase_id": "p"});
        self.runtime.block_on(self.shop.command(path, key, &body))
    }

    /// Turns the record's clock back, which is what time would do.
    fn expire(&self, key: &str) {
        self.runtime.block_on(async {
            let caller_key = format!("https://belfry.local#shop#{key}");
            let update = self.stack.dynamodb().await.update_item().table_name("belfry-local-idempotency-keys");
            let update = update
                .key("caller_key", AttributeValue::S(caller_key))
                .update_expression("SET expires_at = :past")
                .condition_expression("attribute_exists(caller_key)")
                .expression_attribute_values(":past", AttributeValue::N("1".to_owned()));
            // A key that was never used has nothing that could run out.
            let _ = update.send().await;
        });
    }
}

fn check(answer: &Answer, expected: &Expected) {
    match expected {
        Expected::Changed { version } => {
            assert_eq!((answer.status, answer.json()["version"].as_u64()), (StatusCode::OK, Some(*version)));
        }
        Expected::Refused { message } => {
            assert_eq!(answer.code(), "ENTITLEMENT_STATE_CONFLICT");
            assert_eq!(answer.json()["message"], *message);
        }
    }
}

impl StateMachineTest for System {
    type SystemUnderTest = Self;
    type Reference = Model;

    fn init_test(_: &Model) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let stack = runtime.block_on(Stack::start());
        let shop = runtime.block_on(stack.shop());
        Self { runtime, stack, shop, answers: BTreeMap::new() }
    }

    fn apply(mut system: Self, model: &Model, step: Step) -> Self {
        match step {
            Step::Expire { key } => {
                system.expire(key);
                system.answers.remove(key);
            }
            Step::Send { key, request } => {
                let answer = system.send(key, request);
                match model.last.as_ref().expect("a request has an ending") {
                    Ending::First(expected) => {
                        assert!(!answer.replayed, "{}", answer.text);
                        check(&answer, expected);
                        system.answers.insert(key, answer.text);
                    }
                    Ending::Replay(expected) => {
                        assert!(answer.replayed, "{}", answer.text);
                        check(&answer, expected);
                        assert_eq!(Some(&answer.text), system.answers.get(key), "byte for byte");
                    }
                    Ending::KeyConflict => assert_eq!(answer.code(), "IDEMPOTENCY_KEY_CONFLICT"),
                }
            }
        }
        system
    }

    fn check_invariants(system: &Self, model: &Model) {
        let events = system.runtime.block_on(system.stack.count("events"));
        assert_eq!(events, model.events, "one event for each change, none for anything else");
    }

    fn teardown(system: Self, model: Model) {
        let Self { runtime, stack, .. } = system;
        runtime.block_on(async {
            stack.idle().await;
            assert_eq!(stack.count("entitlements").await, model.entitlements.len());
            assert_eq!(stack.count("notifications").await, model.events, "each event told once");
            stack.stop().await;
        });
    }
}

prop_state_machine! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn commands_behave_as_the_model_says(sequential 1..25 => System);
}
