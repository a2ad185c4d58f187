//! The binary as a person runs it: what it prints, how it stops, and what survives a kill.

use std::net::TcpListener;

use harness::clients;
use serde_json::{Value, json};

use crate::announced::IMPATIENT;
use crate::belfry::{Belfry, Ended, Environment, call, command, token};

/// The environment in the engine's ready line.
fn engine_environment(engine: &Belfry) -> Vec<(String, String)> {
    let line = engine.ready.strip_prefix("belfry engine ready ").expect("an engine's ready line");
    let pairs = line.split(' ').map(|pair| pair.split_once('=').expect("NAME=value"));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[tokio::test]
async fn start_prints_a_line_for_each_step_and_one_ready_line() {
    let belfry = Belfry::start(&["--port", "0"], &[]);
    let console = format!("{}/", belfry.url());
    let health = call(&clients::http(), clients::http().get(format!("{}/health", belfry.url()))).await;
    assert_eq!(health, json!({"status": "ok"}));
    let Ended { code, stdout, stderr } = belfry.end();
    assert_eq!((code, stdout.as_str()), (Some(0), ""), "the ready line is the only one on standard output");
    let steps = ["engines ready", "tables ready", "queues ready", "functions ready", "console ready"];
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(lines.len(), steps.len() + 1, "{stderr}");
    for (line, step) in lines.iter().zip(steps) {
        assert!(line.contains(&format!(" INFO  {step} ")) && line.contains(" ms="), "{line}");
    }
    assert!(lines[4].contains(&format!(" url={console} ")), "{}", lines[4]);
    assert_eq!(lines[5], format!("Open the console at {console} (--demo starts with demo data)"));
}

#[tokio::test]
async fn json_log_is_one_object_per_line() {
    let belfry = Belfry::start(&["--port", "0", "--demo", "--log", "json"], &[]);
    let console = format!("{}/", belfry.url());
    let stderr = belfry.end().stderr;
    let lines: Vec<Value> = stderr.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let messages: Vec<&str> = lines.iter().filter_map(|line| line["message"].as_str()).collect();
    let expected = ["engines", "tables", "queues", "functions", "demo data", "console"].map(|it| format!("{it} ready"));
    assert_eq!(messages[..6], expected);
    assert!(lines[..6].iter().all(|line| line["level"] == "INFO" && line["ms"].is_u64()), "{stderr}");
    assert_eq!((messages[6], &lines[6]["console"]), ("open the console", &json!(console)));
}

#[tokio::test]
async fn log_line_of_a_function_names_the_function() {
    for format in ["text", "json"] {
        let belfry = Belfry::start(&["--port", "0", "--log", format], &[]);
        let client = clients::http();
        let inject = json!({"queue": "fanout-customer", "body": "not an event"});
        call(&client, client.post(format!("{}/local/inject", belfry.url())).json(&inject)).await;
        call(&client, client.get(format!("{}/local/idle?timeout=60", belfry.url()))).await;
        let stderr = belfry.end().stderr;
        let named = |line: &&str| line.contains("ERROR") || line.contains("WARN");
        let line = stderr.lines().find(named).expect("the message cannot be read");
        let expected = if format == "text" { " function=FanoutFunction" } else { r#""function":"FanoutFunction""# };
        assert!(line.contains(expected), "{line}");
    }
}

#[test]
fn engine_command_prints_one_line_and_stops_cleanly() {
    let engine = Belfry::start(&["engine"], &[]);
    let names: Vec<String> = engine_environment(&engine).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_SQS"]);
    assert_eq!(engine.interrupt().0, Some(0));
}

#[test]
fn taken_port_missing_template_and_incomplete_endpoints_are_clear_errors() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let dynamodb = [("AWS_ENDPOINT_URL_DYNAMODB".to_owned(), "http://127.0.0.1:1".to_owned())];
    let taken_message = format!("belfry: port {port} is taken: stop the program that listens on it");
    let cases: [(&[&str], &Environment, &str); 4] = [
        (&["--port", &port], &[], &taken_message),
        (&["--port", "0"], &dynamodb, "AWS_ENDPOINT_URL_SQS is not set"),
        (&["--template", "no-such-file.yaml"], &[], "belfry: cannot read --template no-such-file.yaml: "),
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
async fn host_killed_after_its_answer_loses_nothing_and_notifies_once() {
    let engine = Belfry::start(&["engine"], &[]);
    let environment = engine_environment(&engine);
    let client = clients::http_builder().pool_max_idle_per_host(0).build().expect("a client");
    let arguments = ["--port", "0", "--template", &IMPATIENT];
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
        // Kills the host a little later after the answer in each round.
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
async fn log_has_ids_and_never_a_body_an_address_or_a_token() {
    logs_nothing_private("json", [r#""event_id""#, r#""request_id""#, r#""command":"grant""#]).await;
    logs_nothing_private("text", [" event_id=", " request_id=", " command=grant"]).await;
}

async fn logs_nothing_private(format: &str, ids: [&str; 3]) {
    let debug = [("BELFRY_LOG".to_owned(), "debug".to_owned())];
    let belfry = Belfry::start(&["--port", "0", "--demo", "--log", format], &debug);
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
    let Ended { code, stderr: log, .. } = belfry.end();
    assert_eq!(code, Some(0));
    for expected in ids.into_iter().chain(["socket opened"]) {
        assert!(log.contains(expected), "{expected} is not in the log: {log}");
    }
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
