//! The stacks that do everything once.

use aws_sdk_dynamodb::types::AttributeValue;
use harness::{Caller, Fault, SENDS_MAPPING, STREAM_MAPPING, Stack, announcement, switched_off, template_without};
use local::Options;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

use crate::live::{change, connect, connect_without_a_socket, ticket};
use crate::restaurant::{path, requested, staff};
use crate::sends::{hasty, open_letters};
use crate::sends_given_up::change_send;

const CHANNELS: [&str; 4] = ["EMAIL", "SMS", "PUSH", "SLACK"];

/// The queues of consumers: of events, and of orders to send.
const CONSUMED: [&str; 8] = [
    "fanout-customer",
    "fanout-restaurant-user",
    "fanout-agency-user",
    "fanout-admin-user",
    "inventory",
    "payment",
    "order",
    "redrives",
];
const DELIVERED: [&str; 4] = ["deliver-email", "deliver-sms", "deliver-push", "deliver-slack"];

/// Every route of the API, and what its commands refuse.
pub async fn commands() -> Stack {
    let stack = Stack::start().await;
    let (shop, operator) = (stack.shop().await, stack.operator().await);
    let ok = |answer: harness::Answer| {
        assert!(answer.status.is_success(), "{} {}", answer.status, answer.text);
        answer.json()
    };
    let id_of = |answer: &Value, name: &str| answer[name].as_str().expect(name).to_owned();

    ok(shop.grant("k", "u", "s").await);
    assert_eq!(shop.grant("k-2", "u", "s").await.status, StatusCode::CONFLICT, "a refusal is stored alone");
    let revoke = json!({"user_id": "u", "stock_keeping_unit": "s", "reason": "REFUND", "purchase_id": "p-1"});
    ok(shop.command("/v1/entitlements/revokes", "k-3", &revoke).await);
    let customer = stack.customer("u").await;
    ok(customer.get("/v1/users/u/entitlements").await);
    ok(customer.get("/v1/users/u/entitlements/s/history").await);
    let key = "/v1/idempotency-keys/k?caller=shop";
    ok(operator.get(key).await);
    assert_eq!(operator.send(operator.request(Method::DELETE, key)).await.status, StatusCode::NO_CONTENT);

    let staff = staff(&stack, 2).await;
    stack.recipient("CUSTOMER", "ugo", json!({"name": "Ugo", "email": "ugo@example.com"})).await;
    let clerk = stack.caller("clerk", "ADMIN_USER", &["recipients:write"]).await;
    let moved = json!({"name": "S", "restaurant_id": "r-2"});
    ok(clerk.put("/v1/recipients/RESTAURANT_USER/s-1", &moved).await);
    ok(clerk.get("/v1/recipients/RESTAURANT_USER/s-1").await);
    ok(staff[0].put("/v1/inbox/preferences", &json!({"preferences": []})).await);

    let reservation = requested(&stack, "r-1").await;
    ok(staff[0].get(&format!("/v1/reservations/{reservation}")).await);
    ok(staff[0].order(&format!("{}/read", path(&staff[0]).await), "read").await);
    let acted = json!({"action_type": "CONFIRMED"});
    ok(staff[0].command(&format!("{}/actions", path(&staff[0]).await), "act", &acted).await);
    let ugo = stack.customer("ugo").await;
    ok(ugo.order(&format!("/v1/reservations/{reservation}/cancel"), "cancel").await);
    stack.idle().await;
    ok(staff[0].get("/v1/inbox").await);
    ok(staff[0].order("/v1/inbox/read-all", "all").await);
    ok(operator.get("/debug/notification/inbox/ugo?user_type=CUSTOMER").await);
    let left = clerk.request(Method::DELETE, "/v1/recipients/RESTAURANT_USER/s-1");
    assert_eq!(clerk.send(left).await.status, StatusCode::NO_CONTENT);
    unsubscribe(&stack).await;

    let adjusted = json!({"available": 5, "unit_price": 250, "currency": "EUR"});
    for _ in 0..2 {
        ok(operator.put("/v1/inventory/a", &adjusted).await);
    }
    ok(operator.get("/v1/inventory/a").await);
    let order = id_of(&ok(placed(&customer, "o", 1).await), "order_id");
    ok(customer.get(&format!("/v1/orders/{order}")).await);
    drop(customer.order(&format!("/v1/orders/{order}/cancel"), "c").await);
    stack.idle().await;

    let event = announcement("e", "u", "t");
    for _ in 0..2 {
        ok(stack.source().await.hand_in(&event).await);
    }
    stack.idle().await;
    ok(operator.get("/v1/events/e").await);
    ok(operator.get("/v1/events?aggregate_type=Entitlement&aggregate_id=u%23s").await);
    ok(operator.get("/v1/overview").await);
    ok(operator.get("/v1/outbox?status=FAILED").await);
    ok(operator.order("/v1/outbox/e/republish", "again").await);
    for n in 0..4 {
        stack.inject("fanout-customer", &format!("poison {n}")).await;
    }
    stack.idle().await;
    let letters = open_letters(&stack).await;
    let [one, two, three, _] = letters.as_slice() else { panic!("four letters: {letters:?}") };
    let path = |letter: &Value| format!("/v1/dead-letters/{}", id_of(letter, "dead_letter_id"));
    ok(operator.get(&path(one)).await);
    ok(operator.order(&format!("{}/redrive", path(one)), "one").await);
    ok(operator.order(&format!("{}/discard", path(two)), "two").await);
    let by_id = json!({"ids": [three["dead_letter_id"]]});
    ok(operator.command("/v1/dead-letters/redrive", "three", &by_id).await);
    ok(operator.command("/v1/dead-letters/redrive", "rest", &json!({"filter": {"queue": "fanout-customer"}})).await);
    stack.idle().await;
    stack
}

async fn placed(by: &Caller, key: &str, quantity: u64) -> harness::Answer {
    let lines = json!([{"stock_keeping_unit": "a", "quantity": quantity}]);
    by.command("/v1/orders", key, &json!({"customer_id": "u", "lines": lines})).await
}

/// Follows the link in the last mail.
async fn unsubscribe(stack: &Stack) {
    let sent = stack.call(Method::GET, "/local/sent?channel=EMAIL", None).await.json();
    let link = sent["sent"][0]["headers"]["List-Unsubscribe"].as_str().expect("a link").trim_matches(['<', '>']);
    let path = link.strip_prefix(stack.url()).expect("a link of this API").to_owned();
    assert_eq!(stack.call(Method::POST, &path, None).await.status, StatusCode::OK);
}

/// Sockets that are told, close, and are gone without a word; from the fan-out and from the API.
pub async fn live() -> Stack {
    let stack = Stack::start().await;
    // More than are told in one transaction.
    let staff = staff(&stack, 25).await;
    let mut socket = connect(&staff[0]).await;
    requested(&stack, "k").await;
    for socket_id in ["gone-1", "gone-2"] {
        let (ticket, _) = ticket(&staff[0]).await;
        assert_eq!(connect_without_a_socket(&stack, socket_id, &ticket).await, 200);
        let key = [("recipient", "RESTAURANT_USER#s-0"), ("connection_id", socket_id)];
        let long_ago = domain::Time::now().minus(std::time::Duration::from_secs(60)).to_string();
        change(&stack, "connections", &key, "SET connected_at = :value", AttributeValue::S(long_ago)).await;
        match socket_id {
            "gone-1" => drop(requested(&stack, "l").await),
            _ => drop(staff[1].order(&format!("{}/read", path(&staff[1]).await), "r").await),
        }
        stack.idle().await;
    }
    let known = stack.column("connections", "connection_id").await;
    assert!(!known.iter().any(|id| id.contains("gone")), "{known:?}");
    socket.close(None).await.expect("it closes");
    while stack.count("connections").await > 0 {
        tokio::task::yield_now().await;
    }
    stack
}

/// An envelope that every consumer can read, and that nobody has anything to do for.
fn nonsense(event_id: &str) -> String {
    let now = domain::Time::now().to_string();
    json!({
        "specversion": "1.0", "id": event_id, "source": "/belfry/Nothing", "type": "Nonsense", "subject": "n",
        "time": now, "datacontenttype": "application/json", "aggregatetype": "Nothing", "recordedat": now, "data": {},
    })
    .to_string()
}

/// Every consumer of events fails, comes back, gives up, is redriven and dies without a word.
pub async fn consumers() -> Stack {
    let stack = Stack::behind_a_proxy_with(hasty(&[])).await;
    for queue in CONSUMED {
        // It cannot write the dead letter, and comes back.
        stack.proxy().break_next_with("PutItem", queue, &[Fault::Throttled; 8]);
        stack.inject(queue, &nonsense(&format!("n-{queue}"))).await;
        stack.idle().await;
        assert_eq!(stack.proxy().unmet(), 0, "{queue}");
    }
    for queue in CONSUMED.iter().chain(&DELIVERED) {
        stack.inject(&format!("{queue}-dlq"), &nonsense(&format!("d-{queue}"))).await;
    }
    stack.idle().await;
    let letters = open_letters(&stack).await;
    assert_eq!(letters.len(), 2 * CONSUMED.len() + DELIVERED.len(), "{letters:?}");
    let operator = stack.operator().await;
    let all = operator.command("/v1/dead-letters/redrive", "all", &json!({"filter": {}})).await;
    assert_eq!(all.status, StatusCode::ACCEPTED, "{}", all.text);
    stack.idle().await;
    stack
}

/// Somebody of each group, and a customer, with an address for every channel.
async fn everybody(stack: &Stack) {
    let details = |group: &str| {
        let mut details = json!({
            "name": "Una", "email": "una@example.com", "phone": "+390612345678", "push_tokens": ["token-1"],
            "slack_webhook_url": "https://hooks.slack.com/services/T1/B1/secret",
        });
        if !group.is_empty() {
            details[group] = json!("g");
        }
        details
    };
    for (user_type, group) in
        [("CUSTOMER", ""), ("RESTAURANT_USER", "restaurant_id"), ("AGENCY_USER", "agency_id"), ("ADMIN_USER", "")]
    {
        stack.recipient(user_type, "u", details(group)).await;
    }
}

/// An announcement to a restaurant's staff through one channel, in the end.
async fn announce(stack: &Stack, event_id: &str, channel: &str) {
    let mut event = announcement(event_id, "u", "t");
    event["payload"] = json!({
        "title": "t", "body": "b", "audience": "RESTAURANT_USER", "restaurant_id": "g", "channels": [channel],
        "urgent": true,
    });
    let accepted = stack.source().await.hand_in(&event).await;
    assert_eq!(accepted.status, StatusCode::ACCEPTED, "{}", accepted.text);
    stack.idle().await;
}

/// The next dead address cannot be forgotten with the outcome, and is forgotten after it.
fn forgets_afterwards(stack: &Stack) {
    stack.proxy().break_next_with("TransactWriteItems", "belfry-local-recipients", &[Fault::Throttled; 8]);
}

/// Every channel: sent, tried again, given up, redriven, uncertain whether it was recorded; and a dead address.
pub async fn sends() -> Stack {
    let stack = Stack::behind_a_proxy_with(hasty(&[("BELFRY_SEND_ATTEMPTS", "2")])).await;
    for channel in CHANNELS {
        everybody(&stack).await;
        stack.proxy().break_next_with("PutItem", "sent_at", &[Fault::AnswerLost]);
        announce(&stack, &format!("lost-{channel}"), channel).await;
        stack.proxy().break_next_with("BatchGetItem", "belfry-local-sends", &[Fault::Throttled; 16]);
        announce(&stack, &format!("late-{channel}"), channel).await;
        assert_eq!(stack.proxy().unmet(), 0, "{channel}");
        stack.fault(channel, "error", Some(2)).await;
        announce(&stack, &format!("failed-{channel}"), channel).await;
        let letters = open_letters(&stack).await;
        assert_eq!(letters.len(), 1, "{letters:?}");
        let id = letters[0]["dead_letter_id"].as_str().expect("an id");
        // The order dies as well, and then it is redriven.
        stack
            .inject(&format!("deliver-{}-dlq", channel.to_lowercase()), letters[0]["body"].as_str().expect("text"))
            .await;
        stack.operator().await.order(&format!("/v1/dead-letters/{id}/redrive"), id).await;
        stack.idle().await;
        stack.inject(&format!("deliver-{}", channel.to_lowercase()), "no order").await;
        stack.fault(channel, "drop_answer", Some(1)).await;
        announce(&stack, &format!("uncertain-{channel}"), channel).await;
        stack.fault(channel, "reject", Some(1)).await;
        // SES knows no dead address.
        if channel != "EMAIL" {
            forgets_afterwards(&stack);
        }
        announce(&stack, &format!("dead-{channel}"), channel).await;
        assert_eq!(stack.proxy().unmet(), 0, "{channel}");
        for letter in open_letters(&stack).await {
            let id = letter["dead_letter_id"].as_str().expect("an id");
            stack.operator().await.order(&format!("/v1/dead-letters/{id}/discard"), id).await;
        }
    }
    stack
}

/// Mail through a server that knows the addressee no more.
pub async fn mailed() -> Stack {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("smtp://{}?tls=none", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (lines, mut replies) = socket.into_split();
            let mut lines = BufReader::new(lines).lines();
            let mut reply = "220 ready\r\n";
            while replies.write_all(reply.as_bytes()).await.is_ok()
                && let Ok(Some(line)) = lines.next_line().await
            {
                reply = if line.starts_with("RCPT") { "550 5.1.1 nobody of that name\r\n" } else { "250 ok\r\n" };
            }
        }
    });
    let settings = hasty(&[("BELFRY_EMAIL_PROVIDER", "smtp"), ("BELFRY_SMTP_URL", &url)]);
    let stack = Stack::behind_a_proxy_with(settings).await;
    everybody(&stack).await;
    forgets_afterwards(&stack);
    announce(&stack, "e", "EMAIL").await;
    assert_eq!(stack.proxy().unmet(), 0);
    assert_eq!(stack.column("sends", "last_error").await, ["suppressed"]);
    stack
}

/// Orders that are completed, refused, declined, cancelled and timed out.
pub async fn saga() -> Stack {
    let stack = Stack::with(hasty(&[("BELFRY_ORDER_DEADLINE", "1s"), ("BELFRY_RECEIVE_COUNT", "2")])).await;
    let (customer, operator) = (stack.customer("u").await, stack.operator().await);
    let adjusted = json!({"available": 50, "unit_price": 250, "currency": "EUR"});
    assert_eq!(operator.put("/v1/inventory/a", &adjusted).await.status, StatusCode::OK);
    for (key, quantity, mode, times) in [
        ("done", 1, "ok", None),
        ("too-many", 51, "ok", None),
        ("declined", 1, "reject", None),
        ("late", 1, "drop_answer", None),
    ] {
        stack.fault("PAYMENT", mode, times).await;
        let answer = placed(&customer, key, quantity).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
        stack.idle().await;
        if key == "late" {
            stack.fault("PAYMENT", "ok", None).await;
            let path = format!("/v1/orders/{}", answer.json()["order_id"].as_str().expect("an id"));
            while customer.get(&path).await.json()["status"] != "CANCELLED" {
                stack.sweep_for("orders").await;
            }
        }
        stack.idle().await;
    }
    stack
}

/// Everything gets out by the sweeper's hand alone.
pub async fn swept() -> Stack {
    let template = switched_off(&template_without(STREAM_MAPPING), SENDS_MAPPING);
    let options = Options { template: Some(template), ..hasty(&[("BELFRY_OUTBOX_GRACE", "0s")]) };
    let stack = Stack::with(options).await;
    everybody(&stack).await;
    let adjusted = json!({"available": 5, "unit_price": 250, "currency": "EUR"});
    assert_eq!(stack.operator().await.put("/v1/inventory/a", &adjusted).await.status, StatusCode::OK);
    assert_eq!(placed(&stack.customer("u").await, "o", 1).await.status, StatusCode::CREATED);
    for (n, audience) in ["CUSTOMER", "RESTAURANT_USER", "AGENCY_USER", "ADMIN_USER"].into_iter().enumerate() {
        let mut event = announcement(&format!("e-{n}"), "u", "t");
        let payload = json!({"title": "t", "body": "b", "audience": audience, "channels": CHANNELS, "urgent": true});
        event["payload"] = payload;
        match audience {
            "CUSTOMER" => event["payload"]["user_id"] = json!("u"),
            "RESTAURANT_USER" => event["payload"]["restaurant_id"] = json!("g"),
            "AGENCY_USER" => event["payload"]["agency_id"] = json!("g"),
            _ => {}
        }
        let accepted = stack.source().await.hand_in(&event).await;
        assert_eq!(accepted.status, StatusCode::ACCEPTED, "{}", accepted.text);
    }
    stack.inject("fanout-customer", "poison").await;
    stack.idle().await;
    let letter = open_letters(&stack).await.remove(0);
    let id = letter["dead_letter_id"].as_str().expect("an id");
    stack.operator().await.order(&format!("/v1/dead-letters/{id}/redrive"), "r").await;
    stack.sweep().await;
    stack.idle().await;
    // One of them cannot be read.
    change_send(&stack, "e-0", "SET attempt_count = :value", AttributeValue::S("many".to_owned())).await;
    loop {
        stack.idle().await;
        if stack.sweep().await + stack.sweep_for("sends").await == 0 {
            break;
        }
    }
    let anomalies = json!({"function": "SweepFunction", "event": {"task": "anomalies"}});
    stack.call(Method::POST, "/local/invoke", Some(anomalies)).await;
    stack
}

/// The queues are away for longer than the stream mapping is patient.
pub async fn given_up_by_the_relay() -> Stack {
    let deployed = include_str!("../../../infra/template.yaml");
    let template = deployed.replace("MaximumRetryAttempts: 100", "MaximumRetryAttempts: 1");
    assert_ne!(template, deployed);
    let stack = Stack::behind_a_proxy_with(Options { template: Some(template), ..Options::default() }).await;
    stack.sqs_proxy().break_next("SendMessageBatch", &[Fault::NotSent; 100]);
    let accepted = stack.source().await.hand_in(&announcement("e", "u", "t")).await;
    assert_eq!(accepted.status, StatusCode::ACCEPTED, "{}", accepted.text);
    while stack.queued("relay-failures").await == 0 {
        tokio::task::yield_now().await;
    }
    stack
}
