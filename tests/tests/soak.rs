//! The soak, for as long as CI has: a minute of it, and a proof that its audit can fail.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::json;
use tests::soak::{Options, Soak};

fn options(seed: u64, lasting: Duration, most_steps: usize) -> Options {
    let program = env!("CARGO_BIN_EXE_soak").into();
    Options { seed, lasting, most_steps, at_once: 6, program, logs: None }
}

/// A number that the environment names.
fn asked(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} must be a number")))
}

/// `BELFRY_SOAK_SECONDS` for longer; `BELFRY_SOAK_SEED` to ask the same again.
#[tokio::test(flavor = "multi_thread")]
async fn a_minute_of_trouble_leaves_every_effect_once() {
    let seed = asked("BELFRY_SOAK_SEED").unwrap_or_else(rand::random);
    let lasting = Duration::from_secs(asked("BELFRY_SOAK_SECONDS").unwrap_or(60));
    println!("seed {seed}; again: cargo run -p tests --bin soak -- --seconds {} --seed {seed}", lasting.as_secs());
    let soak = Soak::start(options(seed, lasting, 50_000)).await;
    soak.run().await;
    let mut violations: Vec<String> = soak.rest().await.err().into_iter().collect();
    violations.extend(soak.audit().await);
    let summary = soak.summary(violations.len()).await;
    println!("{summary}");
    soak.stop().await;
    assert!(violations.is_empty(), "seed {seed}:\n{}", violations.join("\n"));
}

/// The tables and the providers of a soak that is at rest, to spoil them.
struct Spoiler {
    soak: Soak,
}

impl Spoiler {
    /// What the audit says of tables in which the first item that is so is missing; then it is there again.
    async fn missing(&self, table: &str, keys: &[&str], is_so: impl Fn(&str) -> bool) -> Vec<String> {
        let (client, _) = self.soak.behind_the_scenes();
        let table = format!("belfry-{table}");
        let items = client.scan().table_name(&table).consistent_read(true).send().await.expect("a scan");
        let mut items = items.items.unwrap_or_default().into_iter();
        let is_so = |item: &std::collections::HashMap<String, AttributeValue>| is_so(&format!("{item:?}"));
        let item = items.find(is_so).unwrap_or_else(|| panic!("{table} has such an item"));
        let key = keys.iter().map(|key| ((*key).to_owned(), item[*key].clone())).collect();
        client.delete_item().table_name(&table).set_key(Some(key)).send().await.expect("it goes");
        let wrong = self.soak.audit().await;
        client.put_item().table_name(&table).set_item(Some(item)).send().await.expect("it comes back");
        wrong
    }

    /// Asks a provider behind everybody's back.
    async fn provider(&self, path: &str, form: Option<&[(&str, &str)]>) {
        let (_, url) = self.soak.behind_the_scenes();
        let request = reqwest::Client::new().post(format!("{url}{path}")).bearer_auth("sk");
        let request = match form {
            None => request.json(&json!({"text": "Nobody asked for this."})),
            Some(fields) => {
                let body: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
                request.header("content-type", "application/x-www-form-urlencoded").body(body.join("&"))
            }
        };
        assert!(request.send().await.expect("an answer").status().is_success(), "{path}");
    }

    async fn completed_order(&self) -> String {
        let (client, _) = self.soak.behind_the_scenes();
        let orders = client.scan().table_name("belfry-orders").send().await.expect("a scan").items.unwrap_or_default();
        let completed = |item: &&std::collections::HashMap<String, AttributeValue>| {
            item["status"] == AttributeValue::S("COMPLETED".to_owned())
        };
        let order = orders.iter().find(completed).expect("an order that is completed");
        order["order_id"].as_s().expect("an id").clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_goes_red_when_an_effect_is_missing_or_there_twice() {
    let soak = Soak::start(options(11, Duration::from_secs(600), 150)).await;
    soak.run().await;
    soak.rest().await.expect("it comes to rest");
    assert_eq!(soak.audit().await, Vec::<String>::new(), "before anything is spoilt");
    let spoiler = Spoiler { soak };
    let says = |wrong: Vec<String>, expected: &str| {
        assert!(wrong.iter().any(|line| line.contains(expected)), "{expected} is not in {wrong:#?}");
    };
    says(spoiler.missing("processed", &["consumer_event"], |_| true).await, "event-reaches-consumers");
    let wrong =
        spoiler.missing("notifications", &["recipient", "notification_id"], |item| item.contains("restaurant:")).await;
    says(wrong, "2 of 3 of restaurant:");
    says(spoiler.missing("sends", &["event_part", "send"], |item| item.contains("SENT")).await, "sends-are-the-routes");
    says(spoiler.missing("reservations", &["reservation_id"], |_| true).await, "answered, and not there");
    says(spoiler.missing("events", &["event_id"], |item| item.contains("notice-")).await, "answered, and not there");
    says(spoiler.missing("payments", &["order_id"], |item| item.contains("CHARGED")).await, "no payment says so");

    spoiler.provider("/slack/services/T0/person-13/0", None).await;
    says(spoiler.soak.audit().await, "SLACK to person-13: nobody asked for it");
    let order = spoiler.completed_order().await;
    let charge = [("amount", "1"), ("currency", "eur"), ("confirm", "true"), ("metadata[order_id]", order.as_str())];
    spoiler.provider("/v1/payment_intents", Some(&charge)).await;
    says(spoiler.soak.audit().await, &format!("order {order}: COMPLETED of"));
    spoiler.soak.stop().await;
}
