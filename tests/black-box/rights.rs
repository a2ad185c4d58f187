//! Least privilege: every function may do what it does, and nothing else.
//!
//! The local host denies what a role does not allow, in every test; so a right too few shows wherever it is needed. Here
//! everything that any function ever does is done at least once, the rare ways out included, and whatever a role allows
//! and nobody has used is a right too many.

mod drives;

use std::collections::{BTreeMap, BTreeSet};

use harness::Stack;
use local::Options;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::live::connect;
use crate::sends::{announce, customer, hasty};

/// Rights that AWS itself uses in a function's name, and the local host does not: to read a queue's attributes, to list
/// streams, to write logs and traces. `infra/local` compares them with the template's mappings and log groups.
const PLATFORM: [&str; 6] = [
    "dynamodb:ListStreams",
    "logs:CreateLogStream",
    "logs:PutLogEvents",
    "sqs:GetQueueAttributes",
    "xray:PutTelemetryRecords",
    "xray:PutTraceSegments",
];

/// What the functions may do, whether they have, and what they were denied; of several stacks.
#[derive(Debug, Default)]
struct Rights {
    granted: BTreeMap<String, bool>,
    denied: BTreeSet<String>,
}

impl Rights {
    async fn add(&mut self, stack: &Stack) {
        let report = stack.call(Method::GET, "/local/rights", None).await.json();
        for function in report["functions"].as_array().expect("functions") {
            let name = function["function"].as_str().expect("a name");
            for right in function["granted"].as_array().expect("rights") {
                let action = right["action"].as_str().expect("an action");
                if !PLATFORM.contains(&action) {
                    let used = self.granted.entry(described(name, right)).or_default();
                    *used |= right["used"].as_bool().expect("a flag");
                }
            }
            let denied = function["denied"].as_array().expect("a list").iter();
            self.denied.extend(denied.map(|right| described(name, right)));
        }
    }
}

fn described(function: &str, right: &Value) -> String {
    let text = |name: &str| right[name].as_str().expect(name);
    // A stream's name ends with the moment of its creation, another one in every stack.
    let resource = text("resource").split_inclusive("/stream/").next().unwrap_or_default();
    format!("{function}: {} on {resource}", text("action"))
}

#[tokio::test]
async fn every_right_is_used_and_nothing_is_done_without_one() {
    let mut rights = Rights::default();
    let (shop, people, consumers, sends) =
        tokio::join!(drives::commands(), drives::live(), drives::consumers(), drives::sends());
    let (saga, swept, relayed, mailed) =
        tokio::join!(drives::saga(), drives::swept(), drives::given_up_by_the_relay(), drives::mailed());
    for stack in [shop, people, consumers, sends, saga, swept, relayed, mailed] {
        rights.add(&stack).await;
        stack.stop().await;
    }
    let unused: Vec<&String> = rights.granted.iter().filter(|(_, used)| !**used).map(|(right, _)| right).collect();
    assert!(rights.denied.is_empty(), "needed, and not granted: {:#?}", rights.denied);
    assert!(unused.is_empty(), "granted, and never used: {unused:#?}");
}

/// A stack without one statement of the template: the line, and in it what goes for what.
async fn without(line: &str, (right, other): (&str, &str)) -> Stack {
    let deployed = include_str!("../../infra/template.yaml");
    assert!(deployed.contains(line), "{line}");
    let template = Some(deployed.replace(line, &line.replace(right, other)));
    Stack::with(Options { template, ..hasty(&[("BELFRY_EMAIL_GIVE_UP_AFTER", "0s")]) }).await
}

async fn denied(stack: &Stack) -> Vec<String> {
    let mut rights = Rights::default();
    rights.add(stack).await;
    rights.denied.into_iter().collect()
}

#[tokio::test]
async fn what_a_role_does_not_allow_is_denied_by_name() {
    let line = "Action: [dynamodb:BatchGetItem, dynamodb:GetItem, dynamodb:PutItem], Resource: !GetAtt StockTable.Arn";
    let stack = without(line, ("PutItem", "UpdateItem")).await;
    let adjusted = json!({"available": 5, "unit_price": 250, "currency": "EUR"});
    let answer = stack.operator().await.put("/v1/inventory/a", &adjusted).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR, "{}", answer.text);
    let stock = "dynamodb:PutItem on arn:aws:dynamodb:us-east-1:000000000000:table/belfry-local-stock";
    assert_eq!(denied(&stack).await, [format!("ApiFunction: {stock}")]);

    // Through a client with an HTTP client of its own, and another protocol.
    let stack = without("ses:FromAddress: !Ref EmailFrom", ("!Ref EmailFrom", "elsewhere@example.com")).await;
    customer(&stack).await;
    announce(&stack, "e", &["EMAIL"]).await;
    assert!(stack.sent("EMAIL").await.is_empty());
    let error = stack.column("sends", "last_error").await;
    assert_eq!(error, ["ses: AccessDeniedException (HTTP 403)"]);
    let set = "ses:SendEmail on arn:aws:ses:us-east-1:000000000000:configuration-set/belfry-local-email";
    assert_eq!(denied(&stack).await, [format!("DeliverEmailFunction: {set}")]);

    let stack = without("/POST/@connections/*", ("POST", "DELETE")).await;
    let _socket = connect(&stack.customer("u").await).await;
    announce(&stack, "e", &[]).await;
    let denied = denied(&stack).await;
    let post =
        "FanoutFunction: execute-api:ManageConnections on arn:aws:execute-api:us-east-1:000000000000:LiveApi/live/POST";
    assert!(denied.len() == 1 && denied[0].starts_with(post), "{denied:?}");
}

/// The host, tests and people at `/local` are not a function: nothing is granted to them, and nothing denied.
#[tokio::test]
async fn only_functions_are_judged() {
    let stack = Stack::start().await;
    stack.dynamodb().await.list_tables().send().await.expect("a list");
    stack.inject("relay-failures", "by hand").await;
    assert_eq!(denied(&stack).await, Vec::<String>::new());
}
