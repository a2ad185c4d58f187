//! What live sockets are told when a notification commits, by whom, and how often.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_sdk_dynamodb::types::AttributeValue;
use domain::{Audience, UserId};
use harness::{Caller, Fault, Stack};
use local::Options;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::live::{Socket, change, connect, connect_without_a_socket, sockets, ticket, told};

/// All that a socket has been told by now. What is pushed last comes last.
async fn heard(stack: &Stack, audience: Audience, user_id: &str, socket: &mut Socket) -> Vec<Value> {
    let user_id = UserId::parse(user_id).expect("an id");
    sockets(stack).await.push(audience, &user_id, &json!("that is all")).await;
    let mut heard = Vec::new();
    loop {
        let message = told(socket).await.expect("the socket is open");
        match serde_json::from_str(&message).expect("JSON") {
            Value::String(_) => return heard,
            message => heard.push(message),
        }
    }
}

/// What the caller's socket should have been told of the only notification in their inbox.
async fn news(caller: &Caller) -> Value {
    let inbox = caller.get("/v1/inbox").await.json();
    assert_eq!(inbox["notifications"].as_array().map(Vec::len), Some(1), "{inbox}");
    json!({"type": "notification", "notification": inbox["notifications"][0]})
}

fn to_staff(event_id: &str) -> Value {
    let payload = json!({"title": "T", "body": "B", "audience": "RESTAURANT_USER", "restaurant_id": "r-1"});
    json!({
        "event_id": event_id, "event_type": "Announcement", "aggregate_type": "Campaign", "aggregate_id": "c-1",
        "payload": payload,
    })
}

/// A restaurant's staff, `s-000` and so on, and an open socket of some of them.
async fn staff(stack: &Stack, people: usize, connected: &[&'static str]) -> Vec<(&'static str, Caller, Socket)> {
    let details = json!({"name": "S", "restaurant_id": "r-1"});
    stack.recipients("RESTAURANT_USER", (0..people).map(|n| (format!("s-{n:03}"), details.clone()))).await;
    let mut open = Vec::new();
    for user_id in connected {
        let caller = stack.caller(user_id, "RESTAURANT_USER", &[]).await;
        let socket = connect(&caller).await;
        open.push((*user_id, caller, socket));
    }
    open
}

/// Deletes everything in these tables.
async fn empty(stack: &Stack, tables: &[(&str, &[&str])]) {
    let dynamodb = stack.dynamodb().await;
    for (table, key) in tables {
        for item in stack.items(table).await {
            let key = key.iter().map(|name| ((*name).to_owned(), item[*name].clone())).collect();
            let delete = dynamodb.delete_item().table_name(format!("belfry-local-{table}")).set_key(Some(key));
            delete.send().await.expect("it is deleted");
        }
    }
}

const MARKS: (&str, &[&str]) = ("processed", &["consumer_event"]);
const SHARED: (&str, &[&str]) = ("event-notifications", &["event_id", "audience_group"]);
const ROWS: (&str, &[&str]) = ("notifications", &["recipient", "notification_id"]);
const SENDS: (&str, &[&str]) = ("sends", &["event_part", "send"]);

#[tokio::test]
async fn a_notification_comes_as_the_inbox_shows_it_and_once_however_often_its_message_comes() {
    let stack = Stack::start().await;
    let customer = stack.customer("u-1").await;
    let mut socket = connect(&customer).await;
    stack.shop().await.grant("k", "u-1", "premium").await;
    stack.idle().await;
    let news = news(&customer).await;
    let event_id = news["notification"]["event_id"].as_str().expect("an event id").to_owned();

    stack.redeliver(&event_id, 10).await;
    stack.idle().await;
    assert_eq!(heard(&stack, Audience::Customer, "u-1", &mut socket).await, [news]);

    // Past its mark a message is processed again, and finds the rows there.
    empty(&stack, &[MARKS]).await;
    stack.redeliver(&event_id, 1).await;
    stack.idle().await;
    assert_eq!(stack.count("processed").await, 1);
    assert_eq!(heard(&stack, Audience::Customer, "u-1", &mut socket).await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_group_hears_who_read_and_who_handled_it_once_and_as_each_inbox_shows_it() {
    let stack = Stack::start().await;
    let mut staff = staff(&stack, 3, &["s-000", "s-001", "s-002"]).await;
    let body =
        json!({"customer_id": "u", "restaurant_id": "r-1", "party_size": 2, "slot_time": "2999-12-31T20:00:00Z"});
    stack.shop().await.command("/v1/reservations", "k", &body).await;
    stack.idle().await;
    for (user_id, _, socket) in &mut staff {
        assert_eq!(heard(&stack, Audience::RestaurantUser, user_id, socket).await.len(), 1, "told of it");
    }
    // The first reads for all, the second for themselves alone; a replay tells nobody.
    let path = async |caller: &Caller| {
        let inbox = caller.get("/v1/inbox").await.json();
        format!("/v1/notifications/{}", inbox["notifications"][0]["notification_id"].as_str().expect("an id"))
    };
    let (first, second) = (staff[0].1.clone(), staff[1].1.clone());
    for (caller, times) in [(&first, 2), (&second, 1)] {
        for _ in 0..times {
            let read = caller.order(&format!("{}/read", path(caller).await), "r").await;
            assert_eq!(read.status.as_u16(), 200, "{}", read.text);
        }
    }
    let expected = async |caller: &Caller, news: &str| {
        let inbox = caller.get("/v1/inbox").await.json();
        json!({"type": news, "notification": inbox["notifications"][0]})
    };
    for (index, (user_id, caller, socket)) in staff.iter_mut().enumerate() {
        let read = expected(caller, "read").await;
        assert_eq!(read["notification"]["read_by"]["user_id"], "s-000");
        let times = if index == 1 { 2 } else { 1 };
        assert_eq!(heard(&stack, Audience::RestaurantUser, user_id, socket).await, vec![read; times], "{user_id}");
    }
    let action = json!({"action_type": "CONFIRMED"});
    for (caller, status) in [(&second, 200), (&first, 409)] {
        let acted = caller.command(&format!("{}/actions", path(caller).await), "a", &action).await;
        assert_eq!(acted.status.as_u16(), status, "{}", acted.text);
    }
    for (user_id, caller, socket) in &mut staff {
        let handled = expected(caller, "handled").await;
        assert_eq!(handled["notification"]["handled_by"]["user_id"], "s-001");
        assert_eq!(heard(&stack, Audience::RestaurantUser, user_id, socket).await, [handled], "{user_id}");
    }
}

#[tokio::test]
async fn each_hears_in_their_own_language_and_who_opted_out_does_not() {
    let stack = Stack::start().await;
    let details = |locale: &str, enabled: bool| {
        let wish = json!({"event_type": "*", "channel": "WEBSOCKET", "enabled": enabled});
        json!({"name": "N", "locale": locale, "preferences": [wish]})
    };
    let people = [("ugo", details("it-IT", true)), ("rosa", details("en", true)), ("jean", details("en", false))];
    stack.recipients("CUSTOMER", people.map(|(user_id, details)| (user_id.to_owned(), details))).await;
    let shop = stack.shop().await;
    let mut titles = Vec::new();
    for user_id in ["ugo", "rosa", "jean"] {
        let customer = stack.customer(user_id).await;
        let mut socket = connect(&customer).await;
        shop.grant(user_id, user_id, "premium").await;
        stack.idle().await;
        let news = news(&customer).await;
        let expected: &[Value] = if user_id == "jean" { &[] } else { std::slice::from_ref(&news) };
        assert_eq!(heard(&stack, Audience::Customer, user_id, &mut socket).await, expected, "{user_id}");
        titles.push(news["notification"]["title"].clone());
    }
    assert_ne!(titles[0], titles[1]);
}

#[tokio::test]
async fn who_opted_out_hears_neither_that_others_nor_that_they_themselves_have_read() {
    let stack = Stack::start().await;
    let mut staff = staff(&stack, 2, &["s-000", "s-001"]).await;
    let off = json!([{"event_type": "*", "channel": "WEBSOCKET", "enabled": false}]);
    stack.recipient("RESTAURANT_USER", "s-000", json!({"name": "S", "restaurant_id": "r-1", "preferences": off})).await;
    let body =
        json!({"customer_id": "u", "restaurant_id": "r-1", "party_size": 2, "slot_time": "2999-12-31T20:00:00Z"});
    stack.shop().await.command("/v1/reservations", "k", &body).await;
    stack.idle().await;
    for (_, caller, _) in &staff {
        let inbox = caller.get("/v1/inbox").await.json();
        let id = inbox["notifications"][0]["notification_id"].as_str().expect("an id").to_owned();
        assert_eq!(caller.order(&format!("/v1/notifications/{id}/read"), "r").await.status.as_u16(), 200);
    }
    for ((user_id, _, socket), expected) in staff.iter_mut().zip([vec![], vec!["notification", "read", "read"]]) {
        let heard = heard(&stack, Audience::RestaurantUser, user_id, socket).await;
        let kinds: Vec<&str> = heard.iter().filter_map(|message| message["type"].as_str()).collect();
        assert_eq!(kinds, expected, "{user_id}");
    }
}

#[tokio::test]
async fn of_racing_deliveries_the_one_that_commits_a_chunk_pushes_it() {
    let stack = Stack::start().await;
    let mut connected = staff(&stack, 45, &["s-000", "s-019", "s-044"]).await;
    stack.source().await.hand_in(&to_staff("e")).await;
    stack.idle().await;
    for (user_id, caller, socket) in &mut connected {
        let heard = heard(&stack, Audience::RestaurantUser, user_id, socket).await;
        assert_eq!(heard, [news(caller).await], "{user_id}");
    }

    // As if nobody had been told yet, and then all at once.
    empty(&stack, &[MARKS, SHARED, ROWS, SENDS]).await;
    stack.redeliver("e", 5).await;
    stack.idle().await;
    for (user_id, caller, socket) in &mut connected {
        let heard = heard(&stack, Audience::RestaurantUser, user_id, socket).await;
        assert_eq!(heard, [news(caller).await], "{user_id}");
    }
}

#[tokio::test]
async fn a_delivery_that_goes_on_after_a_break_does_not_push_again_what_was_told_before_it() {
    let stack = Stack::behind_a_proxy().await;
    let mut connected = staff(&stack, 45, &["s-000", "s-019", "s-044"]).await;
    // The first chunk passes, with the second the function loses patience.
    let faults = [vec![Fault::None], vec![Fault::Throttled; 9]].concat();
    stack.proxy().break_next_with("TransactWriteItems", "belfry-local-event-notifications", &faults);
    stack.source().await.hand_in(&to_staff("e")).await;
    stack.idle().await;
    assert!(stack.metric("Retried").await > 0, "the message came back");
    for (user_id, caller, socket) in &mut connected {
        let heard = heard(&stack, Audience::RestaurantUser, user_id, socket).await;
        assert_eq!(heard, [news(caller).await], "{user_id}");
    }
}

#[tokio::test]
async fn who_has_no_socket_costs_no_call_and_a_call_that_fails_costs_no_message() {
    // In place of API Gateway, somebody who hangs up on everybody.
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    tokio::spawn(async move {
        while listener.accept().await.is_ok() {
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    let settings = [("BELFRY_LIVE_ENDPOINT_URL".to_owned(), url)].into();
    let stack = Stack::with(Options { settings, ..Options::default() }).await;
    let shop = stack.shop().await;

    shop.grant("k-1", "u-1", "premium").await;
    stack.idle().await;
    assert_eq!(stack.customer("u-1").await.inbox_titles().await.len(), 1);
    assert_eq!(calls.load(Ordering::SeqCst), 0);

    let customer = stack.customer("u-2").await;
    let (ticket, _) = ticket(&customer).await;
    assert_eq!(connect_without_a_socket(&stack, "c=", &ticket).await, 200);
    shop.grant("k-2", "u-2", "premium").await;
    stack.idle().await;
    assert_eq!(customer.inbox_titles().await.len(), 1);
    assert_eq!(calls.load(Ordering::SeqCst), 1, "there is no second try");
    assert_eq!((stack.metric("Retried").await, stack.count("dead-letters").await), (0, 0));
    assert_eq!(stack.count("connections").await, 2, "that it cannot be reached does not mean that it is gone");
}

#[tokio::test]
async fn a_notification_finds_a_gone_socket_and_has_it_forgotten() {
    let stack = Stack::start().await;
    let customer = stack.customer("u-1").await;
    let mut open = connect(&customer).await;
    let (ticket, _) = ticket(&customer).await;
    assert_eq!(connect_without_a_socket(&stack, "gone=", &ticket).await, 200);
    let key = [("recipient", "CUSTOMER#u-1"), ("connection_id", "gone=")];
    let old = AttributeValue::S("2026-01-01T00:00:00.000Z".to_owned());
    change(&stack, "connections", &key, "SET connected_at = :value", old).await;
    assert_eq!(stack.count("connections").await, 4);
    stack.shop().await.grant("k", "u-1", "premium").await;
    stack.idle().await;
    assert_eq!(stack.count("connections").await, 2);
    let heard = heard(&stack, Audience::Customer, "u-1", &mut open).await;
    assert_eq!(heard, [news(&customer).await], "the open one is told all the same");
}
