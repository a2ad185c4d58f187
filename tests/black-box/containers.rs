//! Functions in containers: what the host tells them, where they reach it, and a host whose functions all run elsewhere.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode as Status;
use axum::response::{IntoResponse, Response};
use engine::{Engine, Ports};
use harness::{Stack, announcement, clients};
use local::{Containers, Endpoints, Host, HostError, Options};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::live;

/// A file of this test's own.
struct Written(PathBuf);

impl Written {
    fn new() -> Self {
        Self(std::env::temp_dir().join(format!("belfry-{}", uuid::Uuid::now_v7())).join("environment.json"))
    }

    fn read(&self) -> BTreeMap<String, BTreeMap<String, String>> {
        let text = std::fs::read_to_string(&self.0).expect("it is written");
        serde_json::from_str(&text).expect("the variables of each function")
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        let _ = self.0.parent().map(std::fs::remove_dir_all);
    }
}

fn at(address: impl Into<IpAddr>, written: &Written) -> Options {
    let containers = Containers { address: address.into(), environment: written.0.clone() };
    Options { containers: Some(containers), ..Options::default() }
}

#[tokio::test]
async fn functions_in_containers_are_told_what_the_template_declares_under_the_machines_name() {
    let written = Written::new();
    let stack = Stack::with(at(Ipv4Addr::LOCALHOST, &written)).await;
    let functions = written.read();
    assert_eq!(functions.len(), 13);
    let here = stack.call(Method::GET, "/local/environment", None).await.json();
    for (function, variables) in &functions {
        for name in ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_SQS", "BELFRY_SES_ENDPOINT_URL"] {
            assert!(variables[name].starts_with("http://host.docker.internal:"), "{function}: {name}");
        }
        for (name, value) in variables {
            let is_for_people = ["BELFRY_PUBLIC_URL", "BELFRY_LIVE_URL"].contains(&name.as_str());
            assert_eq!(value.contains("127.0.0.1"), is_for_people, "{function}: {name}={value}");
            let here = here[function][name].as_str().expect("it is told here as well");
            assert_eq!(value.replace("host.docker.internal", "127.0.0.1"), here, "{function}: {name}");
        }
        assert!(!variables.contains_key("AWS_ACCESS_KEY_ID"), "{function}: nobody declares it, so SAM would drop it");
    }
    assert_eq!(functions["SweepFunction"]["BELFRY_EVENTS_TABLE"], "belfry-local-events");
    assert_eq!(functions["ApiFunction"].get("BELFRY_CHANNEL"), None, "it is another function's");
}

#[cfg(unix)]
#[tokio::test]
async fn only_its_owner_can_read_the_environments_even_where_an_older_file_was_open() {
    use std::os::unix::fs::PermissionsExt;
    let written = Written::new();
    std::fs::create_dir_all(written.0.parent().expect("a folder")).expect("it is made");
    std::fs::write(&written.0, "{}").expect("an older file");
    std::fs::set_permissions(&written.0, PermissionsExt::from_mode(0o644)).expect("open to all");
    let _stack = Stack::with(at(Ipv4Addr::LOCALHOST, &written)).await;
    let mode = std::fs::metadata(&written.0).expect("it is written").permissions().mode();
    assert_eq!((mode & 0o777, written.read().len()), (0o600, 13));
}

/// Every address of 127.0.0.0/8 is the machine's own on Linux: 127.0.0.2 stands for the Docker bridge's.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn everything_answers_on_the_same_ports_of_the_containers_address_and_nowhere_else() {
    let bridge = Ipv4Addr::new(127, 0, 0, 2);
    let written = Written::new();
    let stack = Stack::with(at(bridge, &written)).await;
    let endpoints = stack.call(Method::GET, "/local/endpoints", None).await.json();
    let mut urls = vec![stack.url().to_owned(), endpoints["providers"].as_str().expect("a URL").to_owned()];
    // On the second engine, the engines are somebody else's.
    if std::env::var_os("BELFRY_TEST_ENGINE").is_none() {
        urls.extend(["dynamodb", "sqs"].map(|name| endpoints[name].as_str().expect("a URL").to_owned()));
    }
    for url in urls {
        let port: u16 = url.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
        TcpStream::connect((bridge, port)).unwrap_or_else(|error| panic!("{url}: {error}"));
        let refused = TcpStream::connect(("127.0.0.3", port)).expect_err("nobody listens");
        assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused, "{url}");
    }
    let health =
        clients::http().get(stack.url().replace("127.0.0.1", "127.0.0.2") + "/health").send().await.expect("an answer");
    assert_eq!(health.status(), StatusCode::OK);
}

#[tokio::test]
async fn an_address_of_everybody_or_of_another_machine_is_refused() {
    let written = Written::new();
    let refused = async |address: &str| {
        let options = at(address.parse::<IpAddr>().expect("an address"), &written);
        Host::start(Options { port: 0, ..options }).await.expect_err("it does not listen there")
    };
    assert!(matches!(refused("0.0.0.0").await, HostError::Listen { .. }));
    assert!(matches!(refused("203.0.113.7").await, HostError::AddressNotLocal { .. }));
    assert!(!written.0.exists());
}

/// A stand-in for `sam local start-lambda`: it passes invocations on to another host, where the functions run.
#[derive(Clone)]
struct StartLambda {
    functions: String,
    invoked: Arc<Mutex<Vec<(String, Value)>>>,
    /// How many more invocations of which function fail.
    failing: Arc<Mutex<Option<(&'static str, usize)>>>,
}

impl StartLambda {
    fn of(functions: &Stack) -> Self {
        Self { functions: functions.url().to_owned(), invoked: Arc::default(), failing: Arc::default() }
    }

    async fn serve(&self, listener: TcpListener) {
        let path = "/2015-03-31/functions/{function}/invocations";
        let routes = axum::Router::new().route(path, axum::routing::post(invoke)).with_state(self.clone());
        tokio::spawn(axum::serve(listener, routes).into_future());
    }

    fn fail_next(&self, function: &'static str, times: usize) {
        *self.failing.lock().expect("faults") = Some((function, times));
    }

    fn events_of(&self, function: &str) -> Vec<Value> {
        let invoked = self.invoked.lock().expect("invocations");
        invoked.iter().filter(|(name, _)| name == function).map(|(_, event)| event.clone()).collect()
    }
}

async fn invoke(State(lambda): State<StartLambda>, Path(function): Path<String>, Json(event): Json<Value>) -> Response {
    lambda.invoked.lock().expect("invocations").push((function.clone(), event.clone()));
    if let Some((failing, times)) = &mut *lambda.failing.lock().expect("faults")
        && *failing == function
        && *times > 0
    {
        *times -= 1;
        let error = json!({"errorMessage": "exit status 1", "errorType": "Runtime.ExitError"});
        return ([("x-amz-function-error", "Unhandled")], Json(error)).into_response();
    }
    let body = json!({"function": function, "event": event});
    let answer = clients::http().post(format!("{}/local/invoke", lambda.functions)).json(&body).send().await;
    let answer: Value = answer.expect("the functions' host").json().await.expect("JSON");
    match answer.get("response") {
        Some(response) => Json(response).into_response(),
        None => (Status::OK, [("x-amz-function-error", "Unhandled")], Json(answer)).into_response(),
    }
}

/// A host without functions, and the one that has them, on the same engines.
struct Apart {
    _engine: Engine,
    functions: Stack,
    gateway: Stack,
    lambda: StartLambda,
    listener: Option<TcpListener>,
    address: std::net::SocketAddr,
}

impl Apart {
    async fn start() -> Self {
        let engine = Engine::start(Ports::default()).await.expect("engines");
        let endpoints = Endpoints { dynamodb: engine.dynamodb_url().to_owned(), sqs: engine.sqs_url().to_owned() };
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let on = || Options { endpoints: Some(endpoints.clone()), ..Options::default() };
        let gateway = Stack::with(Options { lambda: Some(format!("http://{address}")), ..on() }).await;
        // The functions push to the sockets of the host that holds them.
        let settings = [
            ("BELFRY_LIVE_ENDPOINT_URL", gateway.url().to_owned()),
            ("BELFRY_LIVE_URL", gateway.url().replace("http", "ws") + "/live"),
        ];
        let settings = settings.map(|(name, value)| (name.to_owned(), value)).into();
        let functions = Stack::with(Options { by_hand: true, settings, ..on() }).await;
        let lambda = StartLambda::of(&functions);
        Self { _engine: engine, functions, gateway, lambda, listener: Some(listener), address }
    }

    async fn serve(&mut self) {
        self.lambda.serve(self.listener.take().expect("not yet served")).await;
    }
}

#[tokio::test]
async fn a_whole_stack_runs_with_all_its_functions_in_start_lambda() {
    let mut apart = Apart::start().await;
    apart.serve().await;
    let (gateway, lambda) = (&apart.gateway, &apart.lambda);
    let customer = gateway.customer("u-1").await;
    let mut socket = live::connect(&customer).await;
    gateway.recipient("CUSTOMER", "u-1", json!({"name": "Ugo", "email": "u@example.com", "locale": "en"})).await;
    for replayed in [false, true] {
        let granted = gateway.shop().await.grant("k", "u-1", "premium").await;
        assert_eq!((granted.status, granted.replayed), (StatusCode::OK, replayed), "{}", granted.text);
    }
    gateway.idle().await;
    assert_eq!(customer.inbox_titles().await, ["premium is yours"]);
    assert!(live::told(&mut socket).await.is_some_and(|news| news.contains("premium is yours")), "the socket is told");
    assert_eq!(apart.functions.sent("EMAIL").await.len(), 1, "the stand-ins of the functions' host have it");
    assert_eq!(gateway.sweep().await, 0);
    for function in ["ApiFunction", "OutboxStreamFunction", "FanoutFunction", "DeliverEmailFunction", "LiveFunction"] {
        assert!(!lambda.events_of(function).is_empty(), "{function}");
    }
}

#[tokio::test]
async fn a_request_reaches_start_lambda_as_api_gateways_event() {
    let mut apart = Apart::start().await;
    apart.serve().await;
    let gateway = &apart.gateway;
    let shop = gateway.caller("shop", "ADMIN_USER", &["commands:write", "events:write"]).await;
    shop.grant("k", "u-1", "premium").await;
    shop.get("/v1/users/a%23b/entitlements?limit=3&cursor=").await;
    let events = apart.lambda.events_of("ApiFunction");
    let [grant, list] = events.as_slice() else { panic!("two requests: {events:?}") };
    assert_eq!((&grant["version"], &grant["routeKey"]), (&json!("2.0"), &json!("POST /v1/entitlements/grants")));
    assert_eq!(grant["headers"]["idempotency-key"], "k");
    let context = &grant["requestContext"];
    assert_eq!((&context["http"]["method"], &context["routeKey"]), (&json!("POST"), &grant["routeKey"]));
    let claims = &context["authorizer"]["jwt"]["claims"];
    assert_eq!((&claims["sub"], &claims["scope"]), (&json!("shop"), &json!("commands:write events:write")));
    assert!(claims["exp"].is_string(), "claims are text: {claims}");
    assert_eq!(
        (&list["rawPath"], &list["rawQueryString"]),
        (&json!("/v1/users/a#b/entitlements"), &json!("limit=3&cursor="))
    );
    let nobody = shop.with_token("").grant("k", "u-1", "premium").await;
    assert_eq!(nobody.status, StatusCode::UNAUTHORIZED);
    assert_eq!(apart.lambda.events_of("ApiFunction").len(), 2, "the gateway checks the token");
}

#[tokio::test]
async fn a_function_that_fails_in_start_lambda_is_invoked_again_and_a_caller_gets_500() {
    let mut apart = Apart::start().await;
    apart.serve().await;
    let gateway = &apart.gateway;
    apart.lambda.fail_next("ApiFunction", 1);
    let failed = gateway.shop().await.grant("k", "u-1", "premium").await;
    assert_eq!(
        (failed.status, failed.text.as_str()),
        (StatusCode::INTERNAL_SERVER_ERROR, r#"{"message":"Internal Server Error"}"#)
    );
    apart.lambda.fail_next("OutboxStreamFunction", 2);
    assert_eq!(gateway.shop().await.grant("k", "u-1", "premium").await.status, StatusCode::OK);
    gateway.idle().await;
    assert_eq!(gateway.customer("u-1").await.inbox_titles().await, ["premium is yours"]);
    assert!(apart.lambda.events_of("OutboxStreamFunction").len() > 2);
}

#[tokio::test]
async fn invocations_wait_for_start_lambda_to_listen() {
    let mut apart = Apart::start().await;
    drop(apart.listener.take());
    let source = apart.gateway.source().await;
    let accepted = tokio::spawn(async move { source.hand_in(&announcement("e-1", "u-1", "Soon")).await });
    // The environments must be written before start-lambda reads them, so it starts when the host is there already.
    while apart.gateway.call(Method::GET, "/local/idle?timeout=0", None).await.status == StatusCode::OK {}
    let listener = TcpListener::bind(apart.address).await.expect("the port is free");
    apart.lambda.serve(listener).await;
    assert_eq!(accepted.await.expect("an answer").status, StatusCode::ACCEPTED);
    apart.gateway.idle().await;
    assert_eq!(apart.gateway.customer("u-1").await.inbox_titles().await, ["Soon"]);
}

#[tokio::test]
async fn a_host_stops_while_an_invocation_waits_for_start_lambda() {
    let mut apart = Apart::start().await;
    drop(apart.listener.take());
    let source = apart.gateway.source().await;
    let waiting = tokio::spawn(async move { source.hand_in(&announcement("e-1", "u-1", "Never")).await });
    while apart.gateway.call(Method::GET, "/local/idle?timeout=0", None).await.status == StatusCode::OK {}
    // Otherwise it would stop after the function's timeout and a minute.
    tokio::time::timeout(Duration::from_secs(30), apart.gateway.stop()).await.expect("it stops");
    assert_eq!(waiting.await.expect("an answer").status, StatusCode::INTERNAL_SERVER_ERROR);
}
