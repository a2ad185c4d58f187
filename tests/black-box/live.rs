//! Live sockets, with a real WebSocket client and the real management client.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_apigatewaymanagement::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use domain::{Audience, UserId};
use futures_util::future::join_all;
use futures_util::{SinkExt, StreamExt};
use harness::{Caller, Fault, Stack, clients};
use local::Options;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sockets::{Pushed, Sockets};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

pub type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A ticket, and the URL to use it at.
pub async fn ticket(caller: &Caller) -> (String, String) {
    let answer = caller.send(caller.request(Method::POST, "/v1/live/tickets")).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
    let text = |name: &str| answer.json()[name].as_str().expect(name).to_owned();
    (text("ticket"), text("url"))
}

/// Opens a socket, or says with which status it was refused.
async fn open(url: &str) -> Result<Socket, u16> {
    match tokio_tungstenite::connect_async(url).await {
        Ok((socket, _)) => Ok(socket),
        Err(Error::Http(response)) => Err(response.status().as_u16()),
        Err(error) => panic!("{error}"),
    }
}

pub async fn connect(caller: &Caller) -> Socket {
    let (ticket, url) = ticket(caller).await;
    open(&format!("{url}?ticket={ticket}")).await.expect("the socket opens")
}

/// The next thing that a socket is told; `None` when it is closed.
pub async fn told(socket: &mut Socket) -> Option<String> {
    let next = tokio::time::timeout(Duration::from_secs(20), socket.next()).await.expect("something comes");
    match next? {
        Ok(Message::Text(text)) => Some(text.to_string()),
        _ => None,
    }
}

/// What a function pushes with.
pub async fn sockets(stack: &Stack) -> Sockets {
    let settings =
        [("BELFRY_CONNECTIONS_TABLE", "belfry-local-connections"), ("BELFRY_LIVE_ENDPOINT_URL", stack.url())];
    let mut settings = settings.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let config = belfry_aws::Config::read(&mut settings);
    let belfry = belfry_aws::Belfry::builder(config).build(stack.dynamodb().await, stack.sqs().await);
    let sockets = Sockets::new(&mut settings, &clients::aws("test"), &belfry);
    settings.finish().expect("its settings");
    sockets
}

async fn push(stack: &Stack, user_id: &str, message: &Value) -> Pushed {
    sockets(stack).await.push(Audience::Customer, &UserId::parse(user_id).expect("an id"), message).await
}

async fn management(stack: &Stack) -> aws_sdk_apigatewaymanagement::Client {
    let config = aws_sdk_apigatewaymanagement::config::Builder::from(&clients::aws("test")).endpoint_url(stack.url());
    aws_sdk_apigatewaymanagement::Client::from_conf(config.build())
}

/// Invokes the function with a `$connect` of API Gateway's, so that a socket is known which nobody holds.
pub async fn connect_without_a_socket(stack: &Stack, connection_id: &str, ticket: &str) -> u64 {
    let event = json!({
        "queryStringParameters": {"ticket": ticket},
        "requestContext": {
            "routeKey": "$connect", "eventType": "CONNECT", "connectionId": connection_id, "connectedAt": 0,
            "requestTimeEpoch": 0,
        },
    });
    let event = json!({"function": "LiveFunction", "event": event});
    let answer = stack.call(Method::POST, "/local/invoke", Some(event)).await.json();
    answer["response"]["statusCode"].as_u64().unwrap_or_else(|| panic!("{answer}"))
}

pub async fn change(stack: &Stack, table: &str, key: &[(&str, &str)], expression: &str, value: AttributeValue) {
    let key: HashMap<_, _> =
        key.iter().map(|(name, value)| ((*name).to_owned(), AttributeValue::S((*value).to_owned()))).collect();
    let update = stack.dynamodb().await.update_item().table_name(format!("belfry-local-{table}")).set_key(Some(key));
    let update = update.update_expression(expression).expression_attribute_values(":value", value);
    update.send().await.expect("the item is there");
}

/// Waits until no socket is known.
async fn until_nobody_is_connected(stack: &Stack) {
    let nobody = async {
        while stack.count("connections").await > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), nobody).await.expect("the socket is forgotten");
}

#[tokio::test]
async fn a_ticket_opens_one_socket_however_many_come_with_it_at_once() {
    let stack = Stack::start().await;
    let (ticket, url) = ticket(&stack.customer("u-1").await).await;
    let url = format!("{url}?ticket={ticket}");
    let opened = join_all((0..20).map(|_| open(&url))).await;
    let refused: Vec<u16> = opened.iter().filter_map(|opened| opened.as_ref().err().copied()).collect();
    assert_eq!(refused, [401; 19], "one wins");
    assert_eq!(stack.count("live-tickets").await, 0, "the ticket is used up");
    let connections = stack.column("connections", "connection_id").await;
    assert_eq!(connections.len(), 2, "the socket, and whose it is");
    assert_eq!(open(&url).await.err(), Some(401), "later is no better");
}

#[tokio::test]
async fn an_expired_an_unknown_and_a_missing_ticket_are_refused_alike() {
    let stack = Stack::start().await;
    let (ticket, url) = ticket(&stack.customer("u-1").await).await;
    let hash = stack.column("live-tickets", "ticket_hash").await.pop().expect("a ticket");
    // The clock says exactly the expiry, or later; DynamoDB has not deleted it yet.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time").as_secs();
    let expiry = AttributeValue::N(now.to_string());
    change(&stack, "live-tickets", &[("ticket_hash", &hash)], "SET expires_at = :value", expiry).await;
    let unknown = "A".repeat(43);
    for query in [format!("?ticket={ticket}"), format!("?ticket={unknown}"), "?ticket=".to_owned(), String::new()] {
        assert_eq!(open(&format!("{url}{query}")).await.err(), Some(401), "{query}");
    }
    assert_eq!(stack.count("connections").await, 0);
}

#[tokio::test]
async fn a_ticket_lives_as_long_as_its_setting_says_and_a_minute_without_one() {
    for (setting, lives) in [(None, 60), (Some("5m"), 300)] {
        let settings = setting.map(|value| ("BELFRY_LIVE_TICKET_TTL".to_owned(), value.to_owned()));
        let stack = Stack::with(Options { settings: settings.into_iter().collect(), ..Options::default() }).await;
        let before = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time").as_secs();
        ticket(&stack.customer("u-1").await).await;
        let row = stack.items("live-tickets").await.pop().expect("a ticket");
        let expires: u64 = row["expires_at"].as_n().expect("a number").parse().expect("a number");
        assert!((lives..lives + 30).contains(&(expires - before)), "{expires} - {before} is not about {lives}");
    }
}

#[tokio::test]
async fn a_ticket_is_not_stored_in_clear() {
    let stack = Stack::start().await;
    let (ticket, _) = ticket(&stack.customer("u-1").await).await;
    let stored = format!("{:?}", stack.items("live-tickets").await);
    assert!(stored.contains("u-1"), "the ticket is there");
    assert!(!stored.contains(&ticket), "and not in clear");
}

#[tokio::test]
async fn a_message_reaches_every_socket_of_its_user_and_no_other() {
    let stack = Stack::start().await;
    let (own, other) = (stack.customer("u-1").await, stack.customer("u-2").await);
    let namesake = stack.caller("u-1", "ADMIN_USER", &[]).await;
    let (mut first, mut second) = (connect(&own).await, connect(&own).await);
    let (mut others, mut namesakes) = (connect(&other).await, connect(&namesake).await);
    let message = json!({"type": "notification", "notification": {"title": "Grüße"}});
    assert_eq!(push(&stack, "u-1", &message).await, Pushed { delivered: 2, gone: 0, failed: 0 });
    for socket in [&mut first, &mut second] {
        assert_eq!(told(socket).await, Some(message.to_string()));
    }
    // Had they got it too, it would come before their own.
    push(&stack, "u-2", &json!("for u-2")).await;
    assert_eq!(told(&mut others).await.as_deref(), Some("\"for u-2\""));
    assert_eq!(push(&stack, "nobody", &message).await, Pushed::default());
    let id = UserId::parse("u-1").expect("an id");
    sockets(&stack).await.push(Audience::AdminUser, &id, &json!("for the admin")).await;
    assert_eq!(told(&mut namesakes).await.as_deref(), Some("\"for the admin\""));
}

#[tokio::test]
async fn the_management_client_sends_shows_and_closes_as_it_does_at_aws() {
    let stack = Stack::start().await;
    let mut socket = connect(&stack.customer("u-1").await).await;
    let id = stack.column("connections", "connection_id").await.pop().expect("a socket");
    let client = management(&stack).await;
    client.post_to_connection().connection_id(&id).data(Blob::new("hello")).send().await.expect("it is taken");
    assert_eq!(told(&mut socket).await.as_deref(), Some("hello"));
    let shown = client.get_connection().connection_id(&id).send().await.expect("it is open");
    assert!(shown.connected_at().is_some());
    let long = Blob::new(vec![b'x'; 128 * 1024 + 1]);
    let error = client.post_to_connection().connection_id(&id).data(long).send().await.expect_err("too long");
    assert!(error.as_service_error().is_some_and(|error| error.is_payload_too_large_exception()), "{error:?}");
    client.delete_connection().connection_id(&id).send().await.expect("it is closed");
    assert_eq!(told(&mut socket).await, None, "the client sees it closed");
    until_nobody_is_connected(&stack).await;
    let error = client.post_to_connection().connection_id(&id).data(Blob::new("late")).send().await;
    let error = error.expect_err("it is gone");
    assert!(error.as_service_error().is_some_and(|error| error.is_gone_exception()), "{error:?}");
}

#[tokio::test]
async fn a_socket_that_its_client_closes_is_forgotten() {
    let stack = Stack::start().await;
    let own = stack.customer("u-1").await;
    let mut socket = connect(&own).await;
    // What a client says is nobody's, and harms nothing.
    socket.send(Message::text("{\"action\": \"anything\"}")).await.expect("it is sent");
    socket.send(Message::binary(vec![0, 255])).await.expect("it is sent");
    socket.close(None).await.expect("it closes");
    until_nobody_is_connected(&stack).await;
    // Without a farewell, as when a laptop is shut.
    drop(connect(&own).await);
    until_nobody_is_connected(&stack).await;
    assert_eq!(push(&stack, "u-1", &json!({})).await, Pushed::default());
}

#[tokio::test]
async fn a_frame_without_a_route_is_answered_forbidden_and_the_socket_stays_open() {
    let stack = Stack::start().await;
    let mut socket = connect(&stack.customer("u-1").await).await;
    for frame in [Message::text("{\"action\": \"anything\"}"), Message::binary(vec![0, 255])] {
        socket.send(frame).await.expect("it is sent");
        let answer = told(&mut socket).await.expect("an answer");
        let answer: Value = serde_json::from_str(&answer).expect("json");
        assert_eq!(answer["message"], "Forbidden");
        assert!(answer["connectionId"].is_string() && answer["requestId"].is_string(), "{answer}");
    }
    assert_eq!(push(&stack, "u-1", &json!("hello")).await.delivered, 1);
    assert_eq!(told(&mut socket).await.as_deref(), Some("\"hello\""));
}

#[tokio::test]
async fn a_gone_socket_is_forgotten_but_not_within_its_first_ten_seconds() {
    let stack = Stack::start().await;
    let own = stack.customer("u-1").await;
    let mut open = connect(&own).await;
    let (ticket, _) = ticket(&own).await;
    assert_eq!(connect_without_a_socket(&stack, "gone=", &ticket).await, 200);
    let half = Pushed { delivered: 1, gone: 1, failed: 0 };
    assert_eq!(push(&stack, "u-1", &json!(1)).await, half);
    assert_eq!(stack.count("connections").await, 4, "a young socket may only just be opening");
    let key = [("recipient", "CUSTOMER#u-1"), ("connection_id", "gone=")];
    let old = AttributeValue::S("2026-01-01T00:00:00.000Z".to_owned());
    change(&stack, "connections", &key, "SET connected_at = :value", old).await;
    assert_eq!(push(&stack, "u-1", &json!(2)).await, half);
    assert_eq!(stack.count("connections").await, 2, "an old one is forgotten, under both keys");
    assert_eq!(push(&stack, "u-1", &json!(3)).await, Pushed { delivered: 1, gone: 0, failed: 0 });
    for expected in ["1", "2", "3"] {
        assert_eq!(told(&mut open).await.as_deref(), Some(expected), "the open one is told each time");
    }
}

#[tokio::test]
async fn a_lost_answer_costs_no_socket_and_an_outage_no_ticket() {
    let stack = Stack::behind_a_proxy().await;
    let own = stack.customer("u-1").await;
    for fault in [Fault::Conflict, Fault::Throttled, Fault::NotSent, Fault::AnswerLost] {
        stack.proxy().break_next_with("TransactWriteItems", "belfry-local-live-tickets", &[fault]);
        let mut socket = connect(&own).await;
        assert_eq!(push(&stack, "u-1", &json!("hello")).await.delivered, 1, "{fault:?}");
        assert_eq!(told(&mut socket).await.as_deref(), Some("\"hello\""), "{fault:?}");
        socket.close(None).await.expect("it closes");
        until_nobody_is_connected(&stack).await;
    }
    let (ticket, url) = ticket(&own).await;
    let url = format!("{url}?ticket={ticket}");
    stack.proxy().break_next_with("TransactWriteItems", "belfry-local-live-tickets", &[Fault::NotSent; 8]);
    assert_eq!(open(&url).await.err(), Some(503));
    open(&url).await.expect("the ticket is still good");
}

#[tokio::test]
async fn a_host_that_stops_says_farewell() {
    let stack = Stack::start().await;
    let mut socket = connect(&stack.customer("u-1").await).await;
    stack.stop().await;
    let last = socket.next().await.expect("a farewell").expect("a frame");
    let Message::Close(Some(frame)) = last else { panic!("{last:?}") };
    assert_eq!(u16::from(frame.code), 1001);
}
