//! The binary as a person runs it: what it prints, how it stops, and what survives when it is killed.

use std::net::TcpListener;

use harness::clients;
use serde_json::json;

use crate::belfry::{Belfry, Environment, call, command, token};
use crate::world::template;

/// What the engine's line tells a host to use.
fn engine_environment(engine: &Belfry) -> Vec<(String, String)> {
    let line = engine.ready.strip_prefix("belfry engine ready ").expect("an engine's ready line");
    let pairs = line.split(' ').map(|pair| pair.split_once('=').expect("NAME=value"));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[tokio::test]
async fn it_says_when_it_can_serve_and_stops_cleanly_when_interrupted() {
    let belfry = Belfry::start(&["--port", "0"], &[]);
    let health = call(&clients::http(), clients::http().get(format!("{}/health", belfry.url()))).await;
    assert_eq!(health, json!({"status": "ok"}));
    assert_eq!(belfry.interrupt(), (Some(0), String::new()), "it ends with success and prints one line in all");
}

#[test]
fn the_engines_alone_print_one_line_and_stop_cleanly() {
    let engine = Belfry::start(&["engine"], &[]);
    let names: Vec<String> = engine_environment(&engine).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_SQS"]);
    assert_eq!(engine.interrupt().0, Some(0));
}

#[test]
fn a_taken_port_and_half_an_environment_are_clear_errors() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let dynamodb = [("AWS_ENDPOINT_URL_DYNAMODB".to_owned(), "http://127.0.0.1:1".to_owned())];
    let cases: [(&[&str], &Environment, &str); 4] = [
        (&["--port", &port], &[], "is taken"),
        (&["--port", "0"], &dynamodb, "AWS_ENDPOINT_URL_SQS is not set"),
        (&["--template", "no-such-file.yaml"], &[], "no-such-file.yaml"),
        (&["engine", "--dynamodb-port", &port], &[], &port),
    ];
    for (arguments, environment, expected) in cases {
        let output = command(arguments, environment).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

#[tokio::test]
async fn a_host_killed_after_its_answer_loses_nothing_and_tells_nobody_twice() {
    let engine = Belfry::start(&["engine"], &[]);
    let environment = engine_environment(&engine);
    let client = clients::http_builder().pool_max_idle_per_host(0).build().expect("a client");
    // A message that a killed consumer held comes back when its visibility ends; three minutes of that are too long.
    let template = template(
        "short-visibility",
        &[
            ("VisibilityTimeout: 180", "VisibilityTimeout: 2"),
            ("VisibilityTimeout: \"180\"", "VisibilityTimeout: \"2\""),
            ("VisibilityTimeout: \"540\"", "VisibilityTimeout: \"2\""),
            ("      Timeout: 30", "      Timeout: 2"),
            ("      Timeout: 90", "      Timeout: 2"),
        ],
    );
    let arguments = ["--port", "0", "--template", &template];
    let rounds = 6;
    for round in 0..rounds {
        let host = Belfry::start(&arguments, &environment);
        let shop =
            token(&client, host.url(), json!({"sub": "shop", "user_type": "ADMIN_USER", "scopes": ["commands:write"]}))
                .await;
        let grant = json!({
            "user_id": "u-1", "stock_keeping_unit": format!("unit-{round}"), "reason": "PURCHASE", "purchase_id": "p",
        });
        let request = client.post(format!("{}/v1/entitlements/grants", host.url())).bearer_auth(&shop);
        let granted = call(&client, request.header("idempotency-key", format!("k-{round}")).json(&grant)).await;
        assert_eq!(granted["status"], "ACTIVE", "{granted}");
        // Somewhere between the answer and the inbox: a little later in each round.
        for _ in 0..round {
            call(&client, client.get(format!("{}/health", host.url()))).await;
        }
        host.kill();
    }
    let host = Belfry::start(&arguments, &environment);
    let idle = call(&client, client.get(format!("{}/local/idle?timeout=60", host.url()))).await;
    assert_eq!(idle, json!({"idle": true}));
    let customer = token(&client, host.url(), json!({"sub": "u-1", "user_type": "CUSTOMER"})).await;
    let inbox = call(&client, client.get(format!("{}/v1/inbox", host.url())).bearer_auth(&customer)).await;
    let titles = inbox["notifications"].as_array().expect("a list").iter().map(|told| told["title"].clone());
    let mut titles: Vec<String> = titles.map(|title| title.as_str().expect("text").to_owned()).collect();
    titles.sort();
    assert_eq!(titles, (0..rounds).map(|round| format!("unit-{round} is yours")).collect::<Vec<_>>());
    assert_eq!(host.interrupt().0, Some(0));
}

#[tokio::test]
async fn the_log_has_ids_and_never_a_body_an_address_or_a_token() {
    let debug = [("BELFRY_LOG".to_owned(), "debug".to_owned())];
    let mut belfry = Belfry::start(&["--port", "0", "--demo"], &debug);
    let client = clients::http_builder().pool_max_idle_per_host(0).build().expect("a client");
    let claims = json!({"sub": "shop", "user_type": "ADMIN_USER", "scopes": ["commands:write", "recipients:write"], "name": "Shop-Name"});
    let shop = token(&client, belfry.url(), claims).await;
    let grant = json!({"user_id": "u-1", "stock_keeping_unit": "s", "reason": "Reason-In-The-Body", "purchase_id": "Purchase-In-The-Body"});
    for body in [grant.to_string(), "{\"nonsense\": \"Nonsense-In-The-Body\"}".to_owned()] {
        let request = client.post(format!("{}/v1/entitlements/grants", belfry.url())).bearer_auth(&shop);
        call(&client, request.header("idempotency-key", "k").header("content-type", "application/json").body(body))
            .await;
    }
    let rosa = json!({"name": "Rosa-Name", "email": "rosa@address.example", "phone": "+390612345678"});
    let request = client.put(format!("{}/v1/recipients/CUSTOMER/rosa", belfry.url())).bearer_auth(&shop);
    call(&client, request.json(&rosa)).await;
    for body in [
        "Poison-In-The-Body",
        "\"Quoted-In-The-Body\"",
        "{\"specversion\": {\"Typed-In-The-Body\": 1}}",
        "{\"specversion\": \"1.0\", \"id\": \"Poison-Id\"}",
    ] {
        let inject = json!({"queue": "fanout-customer", "body": body});
        call(&client, client.post(format!("{}/local/inject", belfry.url())).json(&inject)).await;
    }
    let ticket = client.post(format!("{}/v1/live/tickets", belfry.url())).bearer_auth(&shop);
    let ticket = call(&client, ticket).await["ticket"].as_str().expect("a ticket").to_owned();
    for expected in [101, 401] {
        let handshake = client.get(format!("{}/live?ticket={ticket}", belfry.url()));
        let handshake = handshake.header("connection", "upgrade").header("upgrade", "websocket");
        let handshake =
            handshake.header("sec-websocket-version", "13").header("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAA==");
        assert_eq!(handshake.send().await.expect("an answer").status().as_u16(), expected);
    }
    let idle = client.get(format!("{}/local/idle?timeout=1", belfry.url())).send().await.expect("an answer");
    drop(idle);
    let mut stderr = belfry.child.stderr.take().expect("its log");
    assert_eq!(belfry.interrupt().0, Some(0));
    let mut log = String::new();
    std::io::Read::read_to_string(&mut stderr, &mut log).expect("its log");
    assert!(
        log.contains("\"event_id\"")
            && log.contains("\"request_id\"")
            && log.contains("\"command\":\"grant\"")
            && log.contains("socket opened"),
        "{log}"
    );
    assert!(log.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "every line is JSON");
    let private = [
        "In-The-Body",
        "@",
        "+390612345678",
        "Rosa-Name",
        "Shop-Name",
        "Poison-Id",
        shop.as_str(),
        ticket.as_str(),
        "Bearer",
    ];
    for word in private {
        assert!(!log.contains(word), "{word} is in the log");
    }
}
