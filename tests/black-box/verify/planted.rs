//! For each invariant something that breaks it is planted in the tables of a busy stack, and `verify` names it; then it is
//! taken out again. Nothing else may be named than what follows from it.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use harness::Stack;
use verify::Invariant;

use super::scene::{busy, hasty};

type Item = HashMap<String, AttributeValue>;

/// A busy stack in whose tables something is planted.
struct Plot {
    stack: Stack,
    client: aws_sdk_dynamodb::Client,
}

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

fn number(value: i64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

fn has(item: &Item, name: &str, value: &str) -> bool {
    item.get(name).and_then(|found| found.as_s().ok()).is_some_and(|found| found == value)
}

impl Plot {
    async fn new() -> Self {
        let stack = Stack::with(hasty()).await;
        busy(&stack).await;
        let client = stack.dynamodb().await;
        let plot = Self { stack, client };
        assert_eq!(plot.broken().await, [], "before anything is planted");
        plot
    }

    /// What does not hold.
    async fn broken(&self) -> Vec<Invariant> {
        let report = self.stack.verify().await;
        let mut broken: Vec<Invariant> = report.findings.iter().map(|finding| finding.invariant).collect();
        broken.sort();
        broken.dedup();
        broken
    }

    async fn put(&self, table: &str, item: &Item) {
        let put = self.client.put_item().table_name(format!("belfry-local-{table}")).set_item(Some(item.clone()));
        put.send().await.expect("it is put");
    }

    async fn delete(&self, table: &str, keys: &[&str], item: &Item) {
        let mut delete = self.client.delete_item().table_name(format!("belfry-local-{table}"));
        for key in keys {
            delete = delete.key(*key, item[*key].clone());
        }
        delete.send().await.expect("it is deleted");
    }

    /// The first item of a table that is so.
    async fn item(&self, table: &str, is_so: impl Fn(&Item) -> bool) -> Item {
        let items = self.stack.items(table).await;
        items.into_iter().find(is_so).unwrap_or_else(|| panic!("{table} has such an item"))
    }

    /// Changes an item, and back.
    async fn changed(
        &self,
        table: &str,
        is_so: impl Fn(&Item) -> bool,
        change: impl FnOnce(&mut Item),
    ) -> Vec<Invariant> {
        let before = self.item(table, is_so).await;
        let mut after = before.clone();
        change(&mut after);
        self.put(table, &after).await;
        let broken = self.broken().await;
        self.put(table, &before).await;
        broken
    }

    /// Takes an item away, and puts it back.
    async fn missing(&self, table: &str, keys: &[&str], is_so: impl Fn(&Item) -> bool) -> Vec<Invariant> {
        let item = self.item(table, is_so).await;
        self.delete(table, keys, &item).await;
        let broken = self.broken().await;
        self.put(table, &item).await;
        broken
    }

    /// Adds a copy of an item with changes, and takes it away.
    async fn added(
        &self,
        table: &str,
        keys: &[&str],
        is_so: impl Fn(&Item) -> bool,
        change: impl FnOnce(&mut Item),
    ) -> Vec<Invariant> {
        let mut copy = self.item(table, is_so).await;
        change(&mut copy);
        self.put(table, &copy).await;
        let broken = self.broken().await;
        self.delete(table, keys, &copy).await;
        broken
    }
}

const ANOTHER: &str = "01a1e4e2-0000-7000-8000-000000000001";

#[tokio::test]
async fn a_broken_command_or_outbox_is_named() {
    let plot = Plot::new().await;
    let event = |event_type: &'static str| move |item: &Item| has(item, "event_type", event_type);
    let gone = plot.missing("entitlements", &["user_id", "stock_keeping_unit"], |_| true).await;
    assert_eq!(gone, [Invariant::AnswerHasEffect, Invariant::EventHasAggregate]);
    let acted = plot.missing("events", &["event_id"], event("NotificationActed")).await;
    assert_eq!(acted, [Invariant::AnswerHasEffect], "a command without its event");

    let newest = |item: &Item| event("EntitlementGranted")(item) && item["version"] == number(3);
    assert!(plot.missing("events", &["event_id"], newest).await.contains(&Invariant::OneEventPerVersion));
    let middle = plot.missing("events", &["event_id"], event("EntitlementRevoked")).await;
    assert!(middle.contains(&Invariant::OneEventPerVersion), "{middle:?}");
    let twice = |item: &mut Item| {
        item.insert("event_id".to_owned(), text(ANOTHER));
        item.insert("status".to_owned(), text("FAILED"));
    };
    let twice = plot.added("events", &["event_id"], event("ReservationAccepted"), twice).await;
    assert_eq!(twice, [Invariant::OneEventPerVersion, Invariant::OpenNeverExpires]);
    let stale = |item: &mut Item| drop(item.insert("version".to_owned(), number(1)));
    let stale = plot.changed("entitlements", |_| true, stale).await;
    assert_eq!(stale, [Invariant::AnswerHasEffect, Invariant::OneEventPerVersion, Invariant::EventHasAggregate]);

    let pending = |item: &mut Item| {
        item.insert("status".to_owned(), text("PENDING"));
        item.insert("due_at".to_owned(), text("2026-01-01T00:00:00.000Z"));
        item.insert("unpublished".to_owned(), text("OPEN#0"));
        item.remove("expires_at");
    };
    assert_eq!(plot.changed("events", event("NotificationActed"), pending).await, [Invariant::OutboxInTime]);
    let unlisted = |item: &mut Item| {
        pending(item);
        item.insert("due_at".to_owned(), text("2999-01-01T00:00:00.000Z"));
        item.remove("unpublished");
    };
    assert_eq!(plot.changed("events", event("NotificationActed"), unlisted).await, [Invariant::OutboxInTime]);
    let held = |item: &mut Item| {
        pending(item);
        item.insert("status".to_owned(), text("IN_FLIGHT"));
        item.insert("lease_until".to_owned(), text("2026-01-01T00:00:00.000Z"));
    };
    assert_eq!(plot.changed("events", event("NotificationActed"), held).await, [Invariant::OutboxInTime]);
    let unsettled = |item: &mut Item| drop(item.remove("published_at"));
    assert_eq!(plot.changed("events", event("NotificationActed"), unsettled).await, [Invariant::PublishedIsSettled]);
    let unreadable = |item: &mut Item| drop(item.insert("payload".to_owned(), text("{")));
    assert_eq!(plot.changed("events", event("NotificationActed"), unreadable).await, [Invariant::Readable]);
}

#[tokio::test]
async fn a_broken_consumer_or_notification_is_named() {
    let plot = Plot::new().await;
    let of = |consumer: &'static str| move |item: &Item| has(item, "consumer", consumer);
    let told = ["event_id", "audience_group"];
    let row = ["recipient", "notification_id"];

    let unmarked = plot.missing("processed", &["consumer_event"], of("inventory")).await;
    assert_eq!(unmarked, [Invariant::EventReachesConsumers]);
    let unmarked = plot.missing("processed", &["consumer_event"], of("fanout:ADMIN_USER")).await;
    assert_eq!(unmarked, [Invariant::EventReachesConsumers, Invariant::ToldBelongsToEvent]);
    let shared = plot.missing("event-notifications", &told, |item| has(item, "audience", "ADMIN_USER")).await;
    assert_eq!(shared, [Invariant::MarkedIsTold, Invariant::NotificationBelongsToEvent]);
    let cursor = |item: &mut Item| {
        item.insert("cursor".to_owned(), text("omar"));
        item.remove("expires_at");
    };
    let halfway = plot.changed("event-notifications", |item| has(item, "group", "all"), cursor).await;
    assert_eq!(halfway, [Invariant::MarkedIsTold]);
    let single = plot.missing("notifications", &row, |item| has(item, "user_id", "ugo")).await;
    assert_eq!(single, [Invariant::MarkedIsTold, Invariant::SendBelongsToNotification]);
    let elsewhere = |item: &mut Item| {
        item.insert("group".to_owned(), text("restaurant:x"));
        item.insert("audience_group".to_owned(), text("RESTAURANT_USER#restaurant:x"));
    };
    let requested = |item: &Item| has(item, "group", "restaurant:r");
    assert_eq!(plot.added("event-notifications", &told, requested, elsewhere).await, [Invariant::ToldBelongsToEvent]);
    let undecided = |item: &mut Item| drop(item.insert("status".to_owned(), text("REQUESTED")));
    let accepted = |item: &Item| has(item, "status", "ACCEPTED");
    assert_eq!(plot.changed("reservations", accepted, undecided).await, [Invariant::ActionDecides]);

    let second = |item: &mut Item| drop(item.insert("notification_id".to_owned(), text(ANOTHER)));
    let second = plot.added("notifications", &row, |item| has(item, "user_id", "omar"), second).await;
    assert_eq!(second, [Invariant::NotificationIsUnique, Invariant::SendsAreTheRoutes]);
    let misplaced = |item: &mut Item| drop(item.insert("user_id".to_owned(), text("somebody")));
    assert_eq!(
        plot.changed("notifications", |item| has(item, "user_id", "omar"), misplaced).await,
        [Invariant::Readable]
    );
}

#[tokio::test]
async fn a_broken_send_or_dead_letter_is_named() {
    let plot = Plot::new().await;
    let send = ["event_part", "send"];
    let stands = |status: &'static str| move |item: &Item| has(item, "status", status);

    assert_eq!(plot.missing("sends", &send, stands("SENT")).await, [Invariant::SendsAreTheRoutes]);
    let more = |item: &mut Item| {
        let id = item["notification_id"].as_s().expect("an id").clone();
        item.insert("channel".to_owned(), text("SLACK"));
        item.insert("send".to_owned(), text(&format!("{id}#SLACK")));
    };
    let announced = |item: &Item| has(item, "event_id", "e-4");
    assert_eq!(plot.added("sends", &send, announced, more).await, [Invariant::SendsAreTheRoutes]);
    let unanswered = |item: &mut Item| drop(item.remove("receipts"));
    assert_eq!(plot.changed("sends", stands("SENT"), unanswered).await, [Invariant::SentHasReceipt]);
    let timeless = |item: &mut Item| drop(item.remove("sent_at"));
    assert_eq!(plot.changed("sends", stands("SENT"), timeless).await, [Invariant::Readable]);
    let pending = |item: &mut Item| {
        item.insert("status".to_owned(), text("PENDING"));
        item.insert("due_at".to_owned(), text("2026-01-01T00:00:00.000Z"));
        item.remove("expires_at");
    };
    assert_eq!(plot.changed("sends", stands("SENT"), pending).await, [Invariant::SendInTime]);
    let processing = |item: &mut Item| {
        pending(item);
        item.insert("status".to_owned(), text("PROCESSING"));
        item.insert("locked_by".to_owned(), text(ANOTHER));
        item.insert("lease_until".to_owned(), text("2026-01-01T00:00:00.000Z"));
    };
    assert_eq!(plot.changed("sends", stands("SENT"), processing).await, [Invariant::SendInTime]);
    let expiring = |item: &mut Item| drop(item.insert("expires_at".to_owned(), number(99_999_999_999)));
    assert_eq!(plot.changed("sends", stands("UNCERTAIN"), expiring).await, [Invariant::OpenNeverExpires]);

    let of_send = |item: &Item| has(item, "queue", "deliver-sms");
    assert_eq!(plot.missing("dead-letters", &["dead_letter_id"], of_send).await, [Invariant::GivenUpHasLetter]);
    let second = |item: &mut Item| drop(item.insert("dead_letter_id".to_owned(), text(ANOTHER)));
    assert_eq!(plot.added("dead-letters", &["dead_letter_id"], of_send, second).await, [Invariant::LetterIsUnique]);
    assert_eq!(plot.changed("dead-letters", of_send, expiring).await, [Invariant::OpenNeverExpires]);
    // The send of the redriven letter is given up still, as if the message had got lost.
    let lost = |item: &mut Item| {
        item.insert("status".to_owned(), text("FAILED"));
        item.insert("ended_at".to_owned(), item["sent_at"].clone());
        item.remove("redrive");
    };
    let redriven = |item: &Item| item.contains_key("redrive");
    assert_eq!(plot.changed("sends", redriven, lost).await, [Invariant::RedriveArrives]);
    let unreported = |item: &Item| has(item, "event_type", "DeadLetterDiscarded");
    assert_eq!(
        plot.missing("events", &["event_id"], unreported).await,
        [Invariant::AnswerHasEffect, Invariant::OneEventPerVersion],
        "a discard without its event"
    );
}

#[tokio::test]
async fn a_broken_order_or_stock_is_named() {
    let plot = Plot::new().await;
    let stands = |status: &'static str| move |item: &Item| has(item, "status", status);
    let set =
        |name: &'static str, value: AttributeValue| move |item: &mut Item| drop(item.insert(name.to_owned(), value));

    let uncharged = plot.changed("payments", stands("CHARGED"), set("status", text("INTENDED"))).await;
    assert_eq!(uncharged, [Invariant::OrderIsSettled]);
    let charged = plot.changed("payments", stands("DECLINED"), set("status", text("CHARGED"))).await;
    assert_eq!(charged, [Invariant::OrderIsSettled]);
    let total = AttributeValue::M([("amount".to_owned(), number(1)), ("currency".to_owned(), text("EUR"))].into());
    assert_eq!(plot.changed("payments", stands("CHARGED"), set("total", total)).await, [Invariant::OrderIsSettled]);
    let unpaid = plot.missing("payments", &["order_id"], stands("CHARGED")).await;
    assert_eq!(unpaid, [Invariant::EventHasAggregate, Invariant::OrderIsSettled]);
    let unsold = plot.changed("holds", stands("SOLD"), set("status", text("RESERVED"))).await;
    assert_eq!(unsold, [Invariant::OrderIsSettled, Invariant::StockAddsUp]);
    let reserved = plot.changed("holds", stands("RELEASED"), set("status", text("RESERVED"))).await;
    assert_eq!(reserved, [Invariant::OrderIsSettled, Invariant::StockAddsUp]);

    let standing = |item: &mut Item| {
        item.insert("status".to_owned(), text("VALIDATED"));
        item.insert("deadline_at".to_owned(), text("2026-01-01T00:00:00.000Z"));
    };
    assert_eq!(plot.changed("orders", stands("COMPLETED"), standing).await, [Invariant::OrderInTime]);
    let failed = plot.changed("orders", stands("COMPLETED"), set("status", text("FAILED"))).await;
    assert_eq!(failed, [Invariant::OrderIsSettled]);
    let nobodys = set("order_id", text(ANOTHER));
    assert_eq!(
        plot.added("payments", &["order_id"], stands("CHARGED"), nobodys).await[..1],
        [Invariant::OneEventPerVersion]
    );
    let orphaned = plot.missing("orders", &["order_id"], stands("COMPLETED")).await;
    assert!(orphaned.contains(&Invariant::SagaHasOrder), "{orphaned:?}");

    for (pile, value) in [("reserved", 1), ("sold", 99)] {
        assert_eq!(plot.changed("stock", |_| true, set(pile, number(value))).await, [Invariant::StockAddsUp], "{pile}");
    }
    assert_eq!(plot.changed("stock", |_| true, set("available", number(-1))).await, [Invariant::Readable]);
}
