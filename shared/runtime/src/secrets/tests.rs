//! Against a Secrets Manager in memory, with a clock that the test moves.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_async::time::TimeSource;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use aws_types::region::Region;
use aws_types::service_config::{LoadServiceConfig, ServiceConfigKey};
use serde_json::{Value, json};

use std::time::{Duration, SystemTime};

use super::*;

const SETTING: &str = "BELFRY_SMTP_SECRET";
const ARN: &str = "arn:aws:secretsmanager:eu-south-1:123456789012:secret:smtp-AbCdEf";

/// What the service does with a request.
#[derive(Debug, Clone)]
enum Does {
    Has(&'static str),
    Refuses(&'static str),
    BreaksOff,
    NeverAnswers,
}

#[derive(Debug, Clone, Default)]
struct Service {
    shared: Arc<Mutex<Shared>>,
    clock: Arc<AtomicU64>,
}

#[derive(Debug, Default)]
struct Shared {
    current: VecDeque<Does>,
    previous: Option<&'static str>,
    asked: Vec<HttpRequest>,
}

impl Service {
    fn new(current: Does) -> Self {
        let service = Self::default();
        service.does(current);
        service
    }

    /// From now on.
    fn does(&self, current: Does) {
        self.shared.lock().expect("unpoisoned").current = [current].into();
    }

    fn has_previous(&self, text: &'static str) {
        self.shared.lock().expect("unpoisoned").previous = Some(text);
    }

    fn asked(&self) -> usize {
        self.shared.lock().expect("unpoisoned").asked.len()
    }

    fn after(&self, seconds: u64) {
        self.clock.fetch_add(seconds, Ordering::Relaxed);
    }

    fn aws(&self) -> aws_types::sdk_config::Builder {
        let credentials = Credentials::new("AKIA", "secret-key", Some("token".to_owned()), None, "test");
        SdkConfig::builder()
            .region(Region::from_static("eu-south-1"))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .http_client(SharedHttpClient::new(self.clone()))
            .time_source(self.clone())
    }

    /// A secret whose value is its text in capitals; it must not have a space in it.
    fn secret(&self) -> Secret<String> {
        self.secret_at(&self.aws().build())
    }

    fn secret_at(&self, aws: &SdkConfig) -> Secret<String> {
        let settings: Settings = [(SETTING.to_owned(), ARN.to_owned())].into_iter().collect();
        let parse = |text: &str| if text.contains(' ') { Err("is not one word") } else { Ok(text.to_uppercase()) };
        Secret::from_settings(&settings, aws, SETTING, parse).expect("a secret")
    }

    fn uri_of_the_call(&self) -> String {
        self.shared.lock().expect("unpoisoned").asked[0].uri().to_owned()
    }
}

impl TimeSource for Service {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000 + self.clock.load(Ordering::Relaxed))
    }
}

impl HttpClient for Service {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Service {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body: Value = serde_json::from_slice(request.body().bytes().expect("a body")).expect("JSON");
        let mut shared = self.shared.lock().expect("unpoisoned");
        shared.asked.push(request);
        let does = match body["VersionStage"].as_str() {
            Some("AWSCURRENT") => shared.current.front().cloned().expect("a plan"),
            _ => shared.previous.map_or(Does::Refuses("ResourceNotFoundException"), Does::Has),
        };
        let answer = |status: u16, body: Value| {
            let status = StatusCode::try_from(status).expect("a status");
            HttpConnectorFuture::new(async move {
                // Whoever waits for it is not served by somebody else's answer by chance.
                tokio::task::yield_now().await;
                Ok(HttpResponse::new(status, SdkBody::from(body.to_string())))
            })
        };
        match does {
            Does::Has(text) => answer(200, json!({"ARN": ARN, "SecretString": text})),
            Does::Refuses(code) => answer(400, json!({"__type": format!("com.amazonaws#{code}"), "Message": ARN})),
            Does::BreaksOff => HttpConnectorFuture::ready(Err(ConnectorError::io("broken".into()))),
            Does::NeverAnswers => HttpConnectorFuture::new(std::future::pending()),
        }
    }
}

#[tokio::test]
async fn a_secret_is_fetched_at_first_use_and_kept_five_minutes() {
    let service = Service::new(Does::Has("one"));
    let secret = service.secret();
    assert_eq!(service.asked(), 0, "nothing is fetched at a start");
    assert_eq!(*secret.current().await.expect("a value"), "ONE");
    service.does(Does::Has("two"));
    service.after(299);
    assert_eq!(*secret.current().await.expect("a value"), "ONE");
    assert_eq!(service.asked(), 1);
    service.after(1);
    assert_eq!(*secret.current().await.expect("a value"), "TWO");
    assert_eq!(service.asked(), 2);
}

#[tokio::test]
async fn concurrent_first_uses_cause_one_call() {
    for does in [Does::Has("one"), Does::Refuses("AccessDeniedException")] {
        let service = Service::new(does);
        let secret = service.secret();
        let (first, second, third) = tokio::join!(secret.current(), secret.current(), secret.current());
        assert!(first == second && second == third, "{first:?} {second:?} {third:?}");
        assert_eq!(service.asked(), 1);
    }
}

#[tokio::test]
async fn the_call_is_signed_and_names_the_secret_and_the_version() {
    let service = Service::new(Does::Has("one"));
    service.secret().current().await.expect("a value");
    let shared = service.shared.lock().expect("unpoisoned");
    let asked = &shared.asked[0];
    let header = |name: &str| asked.headers().get(name).unwrap_or_default();
    assert_eq!((asked.method(), asked.uri()), ("POST", "https://secretsmanager.eu-south-1.amazonaws.com/"));
    assert_eq!(header("x-amz-target"), "secretsmanager.GetSecretValue");
    assert_eq!(header("content-type"), "application/x-amz-json-1.1");
    assert_eq!(header("x-amz-security-token"), "token");
    let authorization = header("authorization");
    assert!(
        authorization.starts_with("AWS4-HMAC-SHA256 Credential=AKIA/20270115/eu-south-1/secretsmanager/aws4_request, ")
    );
    let signed = "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target";
    assert!(authorization.contains(signed), "{authorization}");
    let body: Value = serde_json::from_slice(asked.body().bytes().expect("a body")).expect("JSON");
    assert_eq!(body, json!({"SecretId": ARN, "VersionStage": "AWSCURRENT"}));
}

#[derive(Debug)]
struct Elsewhere;

impl LoadServiceConfig for Elsewhere {
    fn load_config(&self, key: ServiceConfigKey<'_>) -> Option<String> {
        let found = (key.service_id(), key.env()) == ("Secrets Manager", "AWS_ENDPOINT_URL");
        found.then(|| "http://127.0.0.1:1".to_owned())
    }
}

#[tokio::test]
async fn the_endpoint_is_the_services_own_or_everybodys_or_aws() {
    for (aws, expected) in [
        (SdkConfig::builder().endpoint_url("http://127.0.0.1:2").service_config(Elsewhere), "http://127.0.0.1:1/"),
        (SdkConfig::builder().endpoint_url("http://127.0.0.1:2"), "http://127.0.0.1:2/"),
        (SdkConfig::builder().use_fips(true), "https://secretsmanager-fips.eu-south-1.amazonaws.com/"),
        (
            SdkConfig::builder().region(Region::from_static("cn-north-1")),
            "https://secretsmanager.cn-north-1.amazonaws.com.cn/",
        ),
    ] {
        let service = Service::new(Does::Has("one"));
        let (aws, usual) = (aws.build(), service.aws().build());
        let mut all = aws.clone().into_builder();
        all.set_region(aws.region().or(usual.region()).cloned());
        all.set_credentials_provider(usual.credentials_provider());
        all.set_http_client(usual.http_client());
        service.secret_at(&all.build()).current().await.expect("a value");
        assert_eq!(service.uri_of_the_call(), expected);
    }
}

#[tokio::test]
async fn the_last_value_is_served_while_secrets_manager_is_away() {
    let (log, _guard) = Log::start();
    let service = Service::new(Does::Has("one"));
    let secret = service.secret();
    secret.current().await.expect("a value");
    service.does(Does::BreaksOff);
    service.after(300);
    for _ in 0..3 {
        assert_eq!(*secret.current().await.expect("a value"), "ONE");
        service.after(10);
    }
    assert_eq!(service.asked(), 4, "asked again, and not for every use");
    service.does(Does::Has("two"));
    assert_eq!(*secret.current().await.expect("a value"), "TWO");
    let [away, back] = log.lines().try_into().expect("one line for each change");
    assert!(away.starts_with("WARN secret not refreshed") && away.contains(SETTING), "{away}");
    assert!(away.contains("no connection to Secrets Manager"), "{away}");
    assert!(back.starts_with("INFO secret available again"), "{back}");
}

#[tokio::test]
async fn what_is_wrong_with_a_secret_is_logged_once_by_the_settings_name_and_not_shown() {
    for (does, reason) in [
        (Does::Refuses("ResourceNotFoundException"), "ResourceNotFoundException"),
        (Does::Refuses("AccessDeniedException"), "AccessDeniedException"),
        (Does::Has("pass word"), "is not one word"),
    ] {
        let (log, _guard) = Log::start();
        let service = Service::new(does);
        let secret = service.secret();
        for _ in 0..3 {
            assert_eq!(secret.current().await, Err(Unavailable { setting: SETTING }));
            service.after(1);
        }
        assert_eq!(service.asked(), 3);
        let [line] = log.lines().try_into().expect("one line");
        assert!(line.starts_with("ERROR secret not available"), "{line}");
        assert!(line.contains(SETTING) && line.contains(reason) && !line.contains("pass word"), "{line}");
        service.does(Does::Has("mended"));
        assert_eq!(*secret.current().await.expect("a value"), "MENDED");
    }
}

#[tokio::test]
async fn a_new_version_that_cannot_be_read_leaves_the_last_one_in_use() {
    let (log, _guard) = Log::start();
    let service = Service::new(Does::Has("one"));
    let secret = service.secret();
    secret.current().await.expect("a value");
    service.does(Does::Has("pass word"));
    service.after(300);
    assert_eq!(*secret.current().await.expect("a value"), "ONE");
    let [line] = log.lines().try_into().expect("one line");
    assert!(line.starts_with("ERROR secret not refreshed") && line.contains("is not one word"), "{line}");
}

#[tokio::test]
async fn a_refused_value_is_fetched_at_once_but_not_again_and_again() {
    let service = Service::new(Does::Has("one"));
    let secret = service.secret();
    let one = secret.current().await.expect("a value");
    assert_eq!(secret.replacement(&one).await, None, "the same is no replacement");
    service.does(Does::Has("two"));
    assert_eq!(secret.replacement(&one).await, None);
    assert_eq!(service.asked(), 2, "a wrong key does not hammer");
    service.after(10);
    let (first, second) = tokio::join!(secret.replacement(&one), secret.replacement(&one));
    assert_eq!(first.as_deref().map(String::as_str), Some("TWO"));
    assert_eq!(first, second);
    assert_eq!(service.asked(), 3);
    assert_eq!(secret.replacement(&one).await, first, "whoever comes later is told of it without a call");
    assert_eq!(service.asked(), 3);
}

#[tokio::test]
async fn a_value_that_has_not_changed_stays_the_same_one() {
    let service = Service::new(Does::Has("one"));
    let secret = service.secret();
    let before = secret.current().await.expect("a value");
    service.after(300);
    assert!(Arc::ptr_eq(&before, &secret.current().await.expect("a value")));
    assert_eq!(service.asked(), 2);
}

#[tokio::test]
async fn the_previous_version_is_there_once_a_secret_was_rotated() {
    let service = Service::new(Does::Has("one"));
    let secret = service.secret().with_previous();
    let versions = secret.versions().await.expect("a value");
    assert_eq!((versions.current.as_str(), versions.previous), ("ONE", None));
    service.does(Does::Has("two"));
    service.has_previous("one");
    service.after(300);
    let versions = secret.versions().await.expect("a value");
    assert_eq!((versions.current.as_str(), versions.previous.as_deref().map(String::as_str)), ("TWO", Some("ONE")));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_not_answered_ends_after_two_seconds() {
    let service = Service::new(Does::NeverAnswers);
    let begun = tokio::time::Instant::now();
    assert!(service.secret().current().await.is_err());
    assert_eq!(begun.elapsed().as_secs(), 2);
}

#[tokio::test]
async fn neither_value_nor_text_is_shown() {
    let service = Service::new(Does::Has("one"));
    let secret = service.secret();
    secret.current().await.expect("a value");
    let shown = format!("{secret:?}");
    assert!(shown.contains(SETTING) && !shown.to_uppercase().contains("\"ONE\""), "{shown}");
}

/// The lines of this test's thread: level, message and fields.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn start() -> (Self, tracing::subscriber::DefaultGuard) {
        let log = Self::default();
        let writer = log.clone();
        let lines = tracing_subscriber::fmt().json().without_time().with_writer(move || writer.clone());
        let guard = tracing::subscriber::set_default(lines.with_max_level(tracing::Level::INFO).finish());
        (log, guard)
    }

    fn lines(&self) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().expect("unpoisoned").clone()).expect("text");
        let line = |line: &str| {
            let line: Value = serde_json::from_str(line).expect("JSON");
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let fields = &line["fields"];
            format!(
                "{} {} {} {}",
                text(&line["level"]),
                text(&fields["message"]),
                text(&fields["setting"]),
                text(&fields["reason"])
            )
        };
        text.lines().map(line).collect()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("unpoisoned").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
