//! The soak, for as long as CI has: a minute of it, and a proof that its audit can fail.

use std::ffi::OsString;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_sqs::types::QueueAttributeName;
use harness::clients;
use serde_json::json;
use tools::soak::{Options, Soak};

fn options(seed: u64, lasting: Duration, most_steps: Option<usize>) -> Options {
    let host = [env!("CARGO_BIN_EXE_belfry"), "--port", "0", "--template"].map(OsString::from).to_vec();
    Options { seed, lasting, most_steps, at_once: 6, host, logs: None }
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
    println!("seed {seed}");
    let soak = Soak::start(options(seed, lasting, None)).await;
    let taken = soak.run().await;
    println!("{taken}");
    let mut violations: Vec<String> = soak.rest().await.err().into_iter().collect();
    violations.extend(soak.audit().await);
    let summary = soak.summary(violations.len()).await;
    println!("{summary}");
    soak.stop().await;
    assert!(violations.is_empty(), "{taken}\n{}", violations.join("\n"));
}

type Item = std::collections::HashMap<String, AttributeValue>;

/// The tables and the providers of a soak that is at rest, to spoil them.
struct Spoiler {
    soak: Soak,
}

impl Spoiler {
    /// The first item of a table that is so.
    async fn first(&self, table: &str, is_so: impl Fn(&str) -> bool) -> Item {
        let (client, _) = self.soak.behind_the_scenes();
        let items = client.scan().table_name(table).consistent_read(true).send().await.expect("a scan");
        let mut items = items.items.unwrap_or_default().into_iter();
        items.find(|item| is_so(&format!("{item:?}"))).unwrap_or_else(|| panic!("{table} has such an item"))
    }

    /// What the audit says of tables in which a message that was sent is said to be skipped; then it is right again.
    async fn skipped(&self) -> Vec<String> {
        let (client, _) = self.soak.behind_the_scenes();
        let table = "belfry-local-sends";
        let item = self.first(table, |item| item.contains("SENT") && item.contains("EMAIL")).await;
        let mut spoilt = item.clone();
        let sent_at = spoilt.remove("sent_at").expect("a time");
        spoilt.insert("ended_at".to_owned(), sent_at);
        for (name, value) in [("status", "SKIPPED"), ("last_error", "suppressed")] {
            spoilt.insert(name.to_owned(), AttributeValue::S(value.to_owned()));
        }
        client.put_item().table_name(table).set_item(Some(spoilt)).send().await.expect("it changes");
        let wrong = self.soak.audit().await;
        client.put_item().table_name(table).set_item(Some(item)).send().await.expect("it comes back");
        wrong
    }

    /// What the audit says of tables in which the first item that is so is missing; then it is there again.
    async fn missing(&self, table: &str, keys: &[&str], is_so: impl Fn(&str) -> bool) -> Vec<String> {
        let (client, _) = self.soak.behind_the_scenes();
        let table = format!("belfry-local-{table}");
        let item = self.first(&table, is_so).await;
        let key = keys.iter().map(|key| ((*key).to_owned(), item[*key].clone())).collect();
        client.delete_item().table_name(&table).set_key(Some(key)).send().await.expect("it goes");
        let wrong = self.soak.audit().await;
        client.put_item().table_name(&table).set_item(Some(item)).send().await.expect("it comes back");
        wrong
    }

    /// Asks a provider behind everybody's back.
    async fn provider(&self, path: &str, form: Option<&[(&str, &str)]>) {
        let (_, url) = self.soak.behind_the_scenes();
        let request = clients::http().post(format!("{url}{path}")).bearer_auth("sk");
        let request = match form {
            None => request.json(&json!({"text": "Nobody asked for this."})),
            Some(fields) => {
                let body: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
                request.header("content-type", "application/x-www-form-urlencoded").body(body.join("&"))
            }
        };
        assert!(request.send().await.expect("an answer").status().is_success(), "{path}");
    }

    async fn events_with_letters(&self) -> Vec<String> {
        let (client, _) = self.soak.behind_the_scenes();
        let letters = client.scan().table_name("belfry-local-dead-letters").send().await.expect("a scan");
        let letters = letters.items.unwrap_or_default();
        letters.iter().filter_map(|item| item.get("event_id")?.as_s().ok().cloned()).collect()
    }

    async fn completed_order(&self) -> String {
        let (client, _) = self.soak.behind_the_scenes();
        let orders =
            client.scan().table_name("belfry-local-orders").send().await.expect("a scan").items.unwrap_or_default();
        let completed = |item: &&Item| item["status"] == AttributeValue::S("COMPLETED".to_owned());
        let order = orders.iter().find(completed).expect("an order that is completed");
        order["order_id"].as_s().expect("an id").clone()
    }
}

/// The message lies there for longer than one look at whether the host is idle takes, and every table is at rest.
#[tokio::test(flavor = "multi_thread")]
async fn it_is_not_at_rest_before_its_queues_are_empty() {
    let soak = Soak::start(options(12, Duration::from_secs(600), Some(5))).await;
    soak.run().await;
    soak.rest().await.expect("it comes to rest");
    let queues = soak.queues();
    let url = queues.get_queue_url().queue_name("belfry-local-payment").send().await.expect("a queue");
    let url = url.queue_url.expect("its address");
    let late = queues.send_message().queue_url(&url).message_body("late").delay_seconds(25);
    late.send().await.expect("it is sent");
    soak.rest().await.expect("it comes to rest again");
    let names =
        [QueueAttributeName::ApproximateNumberOfMessages, QueueAttributeName::ApproximateNumberOfMessagesDelayed];
    let left = queues.get_queue_attributes().queue_url(&url).set_attribute_names(Some(names.clone().into()));
    let left = left.send().await.expect("an answer").attributes.expect("counts");
    assert_eq!(names.map(|name| left[&name].as_str().to_owned()), ["0", "0"]);
    soak.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_goes_red_when_an_effect_is_missing_or_there_twice() {
    let soak = Soak::start(options(11, Duration::from_secs(600), Some(150))).await;
    soak.run().await;
    soak.rest().await.expect("it comes to rest");
    assert_eq!(soak.audit().await, Vec::<String>::new(), "before anything is spoilt");
    let spoiler = Spoiler { soak };
    let says = |wrong: Vec<String>, expected: &str| {
        assert!(wrong.iter().any(|line| line.contains(expected)), "{expected} is not in {wrong:#?}");
    };
    // Where a dead letter was redriven, that one misses the mark.
    let letters = spoiler.events_with_letters().await;
    let has_none = |item: &str| !letters.iter().any(|event_id| item.contains(event_id));
    says(spoiler.missing("processed", &["consumer_event"], has_none).await, "event-reaches-consumers");
    let wrong =
        spoiler.missing("notifications", &["recipient", "notification_id"], |item| item.contains("restaurant:")).await;
    says(wrong, "2 of 3 of restaurant:");
    says(spoiler.missing("sends", &["event_part", "send"], |item| item.contains("SENT")).await, "sends-are-the-routes");
    says(spoiler.missing("reservations", &["reservation_id"], |_| true).await, "answered, and not there");
    says(spoiler.missing("events", &["event_id"], |item| item.contains("notice-")).await, "answered, and not there");
    says(spoiler.missing("payments", &["order_id"], |item| item.contains("CHARGED")).await, "no payment says so");

    says(spoiler.skipped().await, "SKIPPED (suppressed), and no provider called the address dead");

    spoiler.provider("/slack/services/T0/person-13/0", None).await;
    says(spoiler.soak.audit().await, "SLACK to person-13: nobody asked for it");
    let order = spoiler.completed_order().await;
    let charge = [("amount", "1"), ("currency", "eur"), ("confirm", "true"), ("metadata[order_id]", order.as_str())];
    spoiler.provider("/v1/payment_intents", Some(&charge)).await;
    says(spoiler.soak.audit().await, &format!("order {order}: COMPLETED of"));
    spoiler.soak.stop().await;
}
