//! AWS clients, made from what Lambda puts into the environment.
//!
//! Lambda gives a function its region and credentials in variables, so nothing else is looked for: no profile, no metadata
//! service, no STS. That keeps the cold start short.

use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_async::rt::sleep::TokioSleep;
use aws_smithy_async::time::SystemTimeSource;
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore};
use aws_smithy_runtime_api::client::behavior_version::BehaviorVersion;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use aws_types::SdkConfig;
use aws_types::region::Region;
use aws_types::service_config::{LoadServiceConfig, ServiceConfigKey};
use belfry_core::endpoint::is_local;
use belfry_core::{BadSetting, Settings};

/// The roots of Amazon Trust Services. Every AWS endpoint has a certificate below one of them.
const AMAZON_ROOTS: &str = include_str!("../roots/amazon.pem");

/// What every function needs an endpoint for in a container of `sam local`.
const NEEDED: [&str; 3] = ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_SQS", "AWS_ENDPOINT_URL_SECRETS_MANAGER"];
const ENDPOINT_URL: &str = "AWS_ENDPOINT_URL";

/// SAM sets this variable to `true` in every container that it starts.
const AWS_SAM_LOCAL: &str = "AWS_SAM_LOCAL";

/// Where an AWS client without an endpoint of its own ends up under `sam local`: at a closed port of the container.
const NOWHERE: &str = "http://127.0.0.1:9";

/// The AWS configuration of a function, from its environment.
///
/// In a container of `sam local` it is a mistake if DynamoDB, SQS or Secrets Manager would be AWS's. Clients of other
/// services reach nothing there unless they have a local endpoint.
pub fn aws(settings: &mut Settings) -> SdkConfig {
    let http_client = http_client(settings, Pool::Kept);
    let all = settings.optional(ENDPOINT_URL);
    if in_sam_local(settings) {
        for name in NEEDED {
            let url = settings.optional(name).or_else(|| all.clone());
            require_local(settings, name, url.as_deref());
        }
    }
    let credentials = Credentials::new(
        settings.text("AWS_ACCESS_KEY_ID"),
        settings.text("AWS_SECRET_ACCESS_KEY"),
        settings.optional("AWS_SESSION_TOKEN"),
        None,
        "Environment",
    );
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(1))
        .operation_attempt_timeout(Duration::from_secs(3))
        .build();
    let mut aws = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(settings.text("AWS_REGION")))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .http_client(http_client)
        .sleep_impl(TokioSleep::new())
        .time_source(SystemTimeSource::new())
        .retry_config(RetryConfig::standard())
        .timeout_config(timeouts)
        .use_fips(settings.flag("AWS_USE_FIPS_ENDPOINT", false))
        .service_config(Endpoints(settings.clone()));
    aws.set_endpoint_url(reachable(settings, all));
    aws.build()
}

/// Whether the function runs in a container of `sam local`.
pub fn in_sam_local(settings: &Settings) -> bool {
    settings.optional(AWS_SAM_LOCAL).is_some()
}

/// The endpoint that a variable names. In a container of `sam local` it must be set and local: nothing may leave the
/// machine from there.
pub fn endpoint_url(settings: &mut Settings, name: &str) -> Option<String> {
    let url = settings.optional(name);
    if in_sam_local(settings) {
        require_local(settings, name, url.as_deref());
    }
    url
}

fn require_local(settings: &mut Settings, name: &str, url: Option<&str>) {
    let state = match url {
        Some(url) if is_local(url) => return,
        Some(url) => format!("\"{url}\", which is not on this machine"),
        None => "not".to_owned(),
    };
    settings.mistake(BadSetting::new(format!(
        "AWS_SAM_LOCAL is set but {name} is {state}: start the local stack with \"cargo run -- --containers\" and pass \
         --env-vars target/environment.json"
    )));
}

/// The endpoint of all services that have none of their own: in a container of `sam local` never AWS's.
fn reachable(settings: &Settings, url: Option<String>) -> Option<String> {
    if !in_sam_local(settings) {
        return url;
    }
    Some(url.filter(|url| is_local(url)).unwrap_or_else(|| NOWHERE.to_owned()))
}

/// Whether connections are kept for later requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pool {
    /// They are, so that a warm function saves the handshake.
    Kept,
    /// They are not: a request on a connection that the other side has just closed may or may not have been taken.
    None,
}

/// Whose certificates are trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Roots {
    /// Amazon's alone. Parsing the hundred and more of the system would take half of the cold start.
    Amazon,
    /// The system's, for proxies that open TLS and for partitions with other certificates.
    System,
}

/// An HTTP client for AWS endpoints, with the roots that `BELFRY_TLS_ROOTS` names.
pub fn http_client(settings: &mut Settings, pool: Pool) -> SharedHttpClient {
    let roots = match settings.one_of("BELFRY_TLS_ROOTS", "amazon", &["amazon", "system"]) {
        "system" => Roots::System,
        _ => Roots::Amazon,
    };
    https(roots, pool)
}

/// An HTTP client.
pub fn https(roots: Roots, pool: Pool) -> SharedHttpClient {
    let roots = match roots {
        Roots::Amazon => TrustStore::empty().with_pem_certificate(AMAZON_ROOTS),
        Roots::System => TrustStore::default(),
    };
    let mut client = Builder::new();
    if pool == Pool::None {
        client = client.pool_max_idle_per_host(0);
    }
    // A context of roots alone cannot fail.
    let context = TlsContext::builder().with_trust_store(roots).build().unwrap_or_default();
    client.tls_provider(Provider::Rustls(CryptoMode::Ring)).tls_context(context).build_https()
}

/// `AWS_ENDPOINT_URL_DYNAMODB` and the like.
#[derive(Debug)]
struct Endpoints(Settings);

impl LoadServiceConfig for Endpoints {
    fn load_config(&self, key: ServiceConfigKey<'_>) -> Option<String> {
        let service = key.service_id().to_uppercase().replace([' ', '-'], "_");
        let url = self.0.optional(&format!("{}_{service}", key.env()))?;
        reachable(&self.0, Some(url))
    }
}

/// A DynamoDB client for the kernel.
pub fn dynamodb(aws: &SdkConfig) -> aws_sdk_dynamodb::Client {
    aws_sdk_dynamodb::Client::from_conf(dynamodb_config(aws).build())
}

/// The configuration of the kernel's DynamoDB client. It does not retry, because the kernel does and counts; and one
/// attempt is short, so that several fit into the time limit of a function.
pub fn dynamodb_config(aws: &SdkConfig) -> aws_sdk_dynamodb::config::Builder {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_millis(500))
        .operation_attempt_timeout(Duration::from_millis(1_500))
        .build();
    aws_sdk_dynamodb::config::Builder::from(aws).retry_config(RetryConfig::disabled()).timeout_config(timeouts)
}

#[cfg(test)]
mod tests {
    use aws_credential_types::provider::ProvideCredentials;

    use super::*;

    fn settings(values: &[(&str, &str)]) -> Settings {
        values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn configured(values: &[(&str, &str)]) -> Result<SdkConfig, String> {
        let mut settings = settings(values);
        let aws = aws(&mut settings);
        settings.finish().map(|()| aws).map_err(|mistakes| mistakes.to_string())
    }

    const OF_LAMBDA: [(&str, &str); 4] = [
        ("AWS_REGION", "eu-south-1"),
        ("AWS_ACCESS_KEY_ID", "ASIA"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_SESSION_TOKEN", "token"),
    ];

    #[tokio::test]
    async fn lambdas_environment_is_enough() {
        let aws = configured(&OF_LAMBDA).expect("configuration");
        assert_eq!(aws.region().map(Region::as_ref), Some("eu-south-1"));
        let credentials = aws.credentials_provider().expect("a provider").provide_credentials().await;
        let credentials = credentials.expect("credentials");
        let all = (credentials.access_key_id(), credentials.secret_access_key(), credentials.session_token());
        assert_eq!(all, ("ASIA", "secret", Some("token")));
        // The SDK panics if a part is missing.
        let _ = dynamodb(&aws);
    }

    #[test]
    fn every_missing_variable_is_named() {
        let problem = configured(&[]).expect_err("all are needed");
        assert_eq!(problem, "AWS_ACCESS_KEY_ID is not set; AWS_SECRET_ACCESS_KEY is not set; AWS_REGION is not set");
    }

    #[test]
    fn a_service_may_have_an_endpoint_of_its_own() {
        let elsewhere = [("AWS_ENDPOINT_URL_SES_V2", "http://127.0.0.1:1"), ("AWS_ENDPOINT_URL", "http://127.0.0.1:2")];
        let aws = configured(&[OF_LAMBDA.as_slice(), &elsewhere].concat()).expect("configuration");
        assert_eq!(aws.endpoint_url(), Some("http://127.0.0.1:2"));
        assert_eq!(endpoint_of(&aws, "SES v2").as_deref(), Some("http://127.0.0.1:1"));
    }

    const IN_SAM_LOCAL: (&str, &str) = ("AWS_SAM_LOCAL", "true");
    const DYNAMODB: (&str, &str) = ("AWS_ENDPOINT_URL_DYNAMODB", "http://host.docker.internal:1");
    const SQS: (&str, &str) = ("AWS_ENDPOINT_URL_SQS", "http://172.17.0.1:2");
    const SECRETS: (&str, &str) = ("AWS_ENDPOINT_URL_SECRETS_MANAGER", "http://host.docker.internal:3");

    fn under_sam_local(values: &[(&str, &str)]) -> Result<SdkConfig, String> {
        configured(&[OF_LAMBDA.as_slice(), &[IN_SAM_LOCAL], values].concat())
    }

    #[test]
    fn every_endpoint_that_is_not_local_is_named_under_sam_local() {
        let refused = |values: &[_]| under_sam_local(values).expect_err("not local");
        for (values, names) in [
            (&[DYNAMODB, SQS][..], &["AWS_ENDPOINT_URL_SECRETS_MANAGER is not:"][..]),
            (&[], &["AWS_ENDPOINT_URL_DYNAMODB is not:", "AWS_ENDPOINT_URL_SQS is not:"]),
            (
                &[DYNAMODB, ("AWS_ENDPOINT_URL_SQS", "https://sqs.us-east-1.amazonaws.com")],
                &["AWS_ENDPOINT_URL_SQS is \"https://sqs.us-east-1.amazonaws.com\""],
            ),
            (&[("AWS_ENDPOINT_URL", "https://example.com")], &["AWS_ENDPOINT_URL_DYNAMODB is \"https://example.com\""]),
        ] {
            let problem = refused(values);
            for name in names {
                assert!(problem.contains(&format!("AWS_SAM_LOCAL is set but {name}")), "{problem}");
            }
            assert!(problem.contains("cargo run -- --containers"), "{problem}");
        }
        assert!(under_sam_local(&[DYNAMODB, SQS, SECRETS]).is_ok());
        assert!(under_sam_local(&[("AWS_ENDPOINT_URL", "http://localhost:4566")]).is_ok());
    }

    /// Where a client of this service would send its requests.
    fn endpoint_of(aws: &SdkConfig, service: &str) -> Option<String> {
        let key = ServiceConfigKey::builder().service_id(service).profile("endpoint_url").env("AWS_ENDPOINT_URL");
        let own = aws.service_config().and_then(|config| config.load_config(key.build().expect("a key")));
        own.or_else(|| aws.endpoint_url().map(str::to_owned))
    }

    #[test]
    fn no_service_falls_back_to_aws_under_sam_local() {
        let elsewhere = ("AWS_ENDPOINT_URL_SES_V2", "https://email.us-east-1.amazonaws.com");
        let aws = under_sam_local(&[DYNAMODB, SQS, elsewhere, SECRETS]).expect("configuration");
        for (service, endpoint) in [
            ("DynamoDB", DYNAMODB.1),
            ("SQS", SQS.1),
            ("Secrets Manager", SECRETS.1),
            ("SES v2", NOWHERE),
            ("Pinpoint SMS Voice V2", NOWHERE),
            ("ApiGatewayManagementApi", NOWHERE),
            ("STS", NOWHERE),
        ] {
            assert_eq!(endpoint_of(&aws, service).as_deref(), Some(endpoint), "{service}");
        }
        let deployed = configured(&OF_LAMBDA).expect("configuration");
        assert_eq!(endpoint_of(&deployed, "SES v2"), None, "the SDK knows where AWS is");
    }

    #[test]
    fn an_endpoint_may_be_missing_or_anywhere_in_a_deployed_function() {
        let mut deployed = settings(&[("BELFRY_PAYMENT_URL", "https://api.stripe.com")]);
        assert_eq!(endpoint_url(&mut deployed, "BELFRY_PAYMENT_URL").as_deref(), Some("https://api.stripe.com"));
        assert_eq!(endpoint_url(&mut deployed, "BELFRY_FCM_URL"), None);
        assert_eq!(deployed.finish(), Ok(()));
    }

    #[test]
    fn an_empty_endpoint_is_not_set() {
        let empty = [("AWS_ENDPOINT_URL_SES_V2", ""), ("AWS_ENDPOINT_URL", ""), ("AWS_USE_FIPS_ENDPOINT", "")];
        let aws = configured(&[OF_LAMBDA.as_slice(), &empty].concat()).expect("configuration");
        assert_eq!((aws.endpoint_url(), aws.use_fips()), (None, Some(false)));
        assert_eq!(endpoint_of(&aws, "SES v2"), None);
    }

    #[test]
    fn only_known_roots_are_accepted() {
        for (roots, accepted) in [("amazon", true), ("system", true), ("none", false)] {
            let mut settings = settings(&[("BELFRY_TLS_ROOTS", roots)]);
            http_client(&mut settings, Pool::None);
            assert_eq!(settings.finish().is_ok(), accepted, "{roots}");
        }
    }
}
