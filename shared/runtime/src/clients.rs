//! AWS clients, made of what Lambda puts into a function's environment, with the limits that its timeout asks for.
//!
//! Lambda hands a function its region and its credentials in variables, so nothing else is looked for: no profile, no
//! metadata service, no STS. That keeps the start short, see `docs/adr/0009-start-and-size.md`.

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

use crate::sam_local::{NOWHERE, is_local, must_be_local};
use crate::settings::{BadSetting, Settings};

/// The roots of Amazon Trust Services: every AWS endpoint has a certificate below one of them.
const AMAZON_ROOTS: &str = include_str!("../../belfry-aws/roots/amazon.pem");

/// What every function needs an endpoint for in a container of `sam local`.
const NEEDED: [&str; 3] = ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_SQS", "AWS_ENDPOINT_URL_SECRETS_MANAGER"];
const ENDPOINT_URL: &str = "AWS_ENDPOINT_URL";

/// The function's AWS configuration, from its environment.
///
/// # Errors
/// When something is missing; and in a container of `sam local` when DynamoDB, SQS or Secrets Manager would be AWS's. Clients of other
/// services reach nothing there unless they have a local endpoint.
pub fn aws(settings: &Settings) -> Result<SdkConfig, BadSetting> {
    let environment: Settings = std::env::vars().filter(|(name, _)| name.starts_with("AWS_")).collect();
    aws_from(&environment, http_client(settings, Pool::Kept)?)
}

fn aws_from(environment: &Settings, http_client: SharedHttpClient) -> Result<SdkConfig, BadSetting> {
    let all = environment.text(ENDPOINT_URL).ok();
    if environment.in_sam_local() {
        for name in NEEDED {
            must_be_local(name, environment.text(name).ok().or_else(|| all.clone()).as_deref())?;
        }
    }
    let credentials = Credentials::new(
        environment.text("AWS_ACCESS_KEY_ID")?,
        environment.text("AWS_SECRET_ACCESS_KEY")?,
        environment.text("AWS_SESSION_TOKEN").ok(),
        None,
        "Environment",
    );
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(1))
        .operation_attempt_timeout(Duration::from_secs(3))
        .build();
    let mut aws = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(environment.text("AWS_REGION")?))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .http_client(http_client)
        .sleep_impl(TokioSleep::new())
        .time_source(SystemTimeSource::new())
        .retry_config(RetryConfig::standard())
        .timeout_config(timeouts)
        .use_fips(environment.one_of("AWS_USE_FIPS_ENDPOINT", "false", &["true", "false"])? == "true")
        .service_config(Endpoints(environment.clone()));
    aws.set_endpoint_url(reachable(environment, all));
    Ok(aws.build())
}

/// The endpoint of all services that have none of their own: in a container of `sam local` never AWS's.
fn reachable(environment: &Settings, url: Option<String>) -> Option<String> {
    if !environment.in_sam_local() {
        return url;
    }
    Some(url.filter(|url| is_local(url)).unwrap_or_else(|| NOWHERE.to_owned()))
}

/// Whether connections are used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pool {
    /// They are: a warm function saves the handshake.
    Kept,
    /// They are not: what is sent on one that the other side has just closed may or may not have been taken.
    None,
}

/// Whose certificates are trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Roots {
    /// Amazon's alone: parsing the hundred and more of the system would be half of the start.
    Amazon,
    /// The system's, for where something else stands between (a proxy that opens TLS, a partition with other
    /// certificates).
    System,
}

/// An HTTP client for AWS's endpoints, with the roots that `BELFRY_TLS_ROOTS` names.
pub fn http_client(settings: &Settings, pool: Pool) -> Result<SharedHttpClient, BadSetting> {
    let roots = match settings.one_of("BELFRY_TLS_ROOTS", "amazon", &["amazon", "system"])? {
        "system" => Roots::System,
        _ => Roots::Amazon,
    };
    Ok(https(roots, pool))
}

/// An HTTP client for AWS's endpoints.
pub fn https(roots: Roots, pool: Pool) -> SharedHttpClient {
    let roots = match roots {
        Roots::Amazon => TrustStore::empty().with_pem_certificate(AMAZON_ROOTS),
        Roots::System => TrustStore::default(),
    };
    let mut client = Builder::new();
    if pool == Pool::None {
        client = client.pool_max_idle_per_host(0);
    }
    // A context is made of roots alone here, and cannot fail.
    let context = TlsContext::builder().with_trust_store(roots).build().unwrap_or_default();
    client.tls_provider(Provider::Rustls(CryptoMode::Ring)).tls_context(context).build_https()
}

/// `AWS_ENDPOINT_URL_DYNAMODB` and the like: where a service answers that is not where AWS has it.
#[derive(Debug)]
struct Endpoints(Settings);

impl LoadServiceConfig for Endpoints {
    fn load_config(&self, key: ServiceConfigKey<'_>) -> Option<String> {
        let service = key.service_id().to_uppercase().replace([' ', '-'], "_");
        let url = self.0.text(&format!("{}_{service}", key.env())).ok()?;
        reachable(&self.0, Some(url))
    }
}

/// A DynamoDB client for the ledger.
pub fn dynamodb(aws: &SdkConfig) -> aws_sdk_dynamodb::Client {
    aws_sdk_dynamodb::Client::from_conf(dynamodb_config(aws).build())
}

/// How the ledger's client is configured: it does not retry by itself, because the ledger knows what may be tried again,
/// and counts; and one attempt is short, so that several fit into a function's timeout.
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

    fn configured(values: &[(&str, &str)]) -> Result<SdkConfig, BadSetting> {
        aws_from(&settings(values), http_client(&settings(&[]), Pool::Kept)?)
    }

    const OF_LAMBDA: [(&str, &str); 4] = [
        ("AWS_REGION", "eu-south-1"),
        ("AWS_ACCESS_KEY_ID", "ASIA"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_SESSION_TOKEN", "token"),
    ];

    #[tokio::test]
    async fn what_lambda_puts_into_the_environment_is_all_that_is_needed() {
        let aws = configured(&OF_LAMBDA).expect("configuration");
        assert_eq!(aws.region().map(Region::as_ref), Some("eu-south-1"));
        let credentials = aws.credentials_provider().expect("a provider").provide_credentials().await;
        let credentials = credentials.expect("credentials");
        let all = (credentials.access_key_id(), credentials.secret_access_key(), credentials.session_token());
        assert_eq!(all, ("ASIA", "secret", Some("token")));
        // The clients take it: the SDK panics where a part is missing.
        let _ = dynamodb(&aws);
    }

    #[test]
    fn what_is_missing_is_named() {
        for (missing, _) in &OF_LAMBDA[..3] {
            let rest: Vec<_> = OF_LAMBDA.into_iter().filter(|(name, _)| name != missing).collect();
            let problem = configured(&rest).expect_err("it is needed");
            assert_eq!(problem, BadSetting::Missing { name: (*missing).to_owned() });
        }
    }

    #[test]
    fn a_service_may_answer_elsewhere() {
        let elsewhere = [("AWS_ENDPOINT_URL_SES_V2", "http://127.0.0.1:1"), ("AWS_ENDPOINT_URL", "http://127.0.0.1:2")];
        let aws = configured(&[OF_LAMBDA.as_slice(), &elsewhere].concat()).expect("configuration");
        assert_eq!(aws.endpoint_url(), Some("http://127.0.0.1:2"));
        let key = ServiceConfigKey::builder().service_id("SES v2").profile("endpoint_url").env("AWS_ENDPOINT_URL");
        let found = aws.service_config().and_then(|config| config.load_config(key.build().expect("a key")));
        assert_eq!(found.as_deref(), Some("http://127.0.0.1:1"));
    }

    const IN_SAM_LOCAL: (&str, &str) = ("AWS_SAM_LOCAL", "true");
    const DYNAMODB: (&str, &str) = ("AWS_ENDPOINT_URL_DYNAMODB", "http://host.docker.internal:1");
    const SQS: (&str, &str) = ("AWS_ENDPOINT_URL_SQS", "http://172.17.0.1:2");
    const SECRETS: (&str, &str) = ("AWS_ENDPOINT_URL_SECRETS_MANAGER", "http://host.docker.internal:3");

    fn in_sam_local(values: &[(&str, &str)]) -> Result<SdkConfig, BadSetting> {
        configured(&[OF_LAMBDA.as_slice(), &[IN_SAM_LOCAL], values].concat())
    }

    #[test]
    fn a_function_in_sam_local_without_a_local_endpoint_is_refused_and_says_which() {
        let cases: [(&[_], _); 7] = [
            (&[DYNAMODB, SQS], "AWS_ENDPOINT_URL_SECRETS_MANAGER"),
            (&[], "AWS_ENDPOINT_URL_DYNAMODB"),
            (&[DYNAMODB], "AWS_ENDPOINT_URL_SQS"),
            (&[SQS], "AWS_ENDPOINT_URL_DYNAMODB"),
            (&[DYNAMODB, ("AWS_ENDPOINT_URL_SQS", "")], "AWS_ENDPOINT_URL_SQS"),
            (&[DYNAMODB, ("AWS_ENDPOINT_URL_SQS", "https://sqs.us-east-1.amazonaws.com")], "AWS_ENDPOINT_URL_SQS"),
            (&[("AWS_ENDPOINT_URL", "https://example.com")], "AWS_ENDPOINT_URL_DYNAMODB"),
        ];
        for (values, refused) in cases {
            let problem = in_sam_local(values).expect_err("not local").to_string();
            assert!(problem.starts_with(&format!("AWS_SAM_LOCAL is set but {refused} is ")), "{problem}");
            assert!(problem.contains("cargo run -- --containers"), "{problem}");
        }
        assert!(in_sam_local(&[DYNAMODB, SQS, SECRETS]).is_ok());
        assert!(in_sam_local(&[("AWS_ENDPOINT_URL", "http://localhost:4566")]).is_ok());
    }

    /// Where a client of this service would send its requests.
    fn endpoint_of(aws: &SdkConfig, service: &str) -> Option<String> {
        let key = ServiceConfigKey::builder().service_id(service).profile("endpoint_url").env("AWS_ENDPOINT_URL");
        let own = aws.service_config().and_then(|config| config.load_config(key.build().expect("a key")));
        own.or_else(|| aws.endpoint_url().map(str::to_owned))
    }

    #[test]
    fn no_service_falls_back_to_aws_in_sam_local() {
        let elsewhere = ("AWS_ENDPOINT_URL_SES_V2", "https://email.us-east-1.amazonaws.com");
        let aws = in_sam_local(&[DYNAMODB, SQS, elsewhere, SECRETS]).expect("configuration");
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
    fn an_empty_endpoint_is_not_set() {
        let empty = [("AWS_ENDPOINT_URL_SES_V2", ""), ("AWS_ENDPOINT_URL", ""), ("AWS_USE_FIPS_ENDPOINT", "")];
        let aws = configured(&[OF_LAMBDA.as_slice(), &empty].concat()).expect("configuration");
        assert_eq!((aws.endpoint_url(), aws.use_fips()), (None, Some(false)));
        let key = ServiceConfigKey::builder().service_id("SES v2").profile("endpoint_url").env("AWS_ENDPOINT_URL");
        let found = aws.service_config().and_then(|config| config.load_config(key.build().expect("a key")));
        assert_eq!(found, None);
    }

    #[test]
    fn only_known_roots_can_be_asked_for() {
        for roots in ["amazon", "system"] {
            assert!(http_client(&settings(&[("BELFRY_TLS_ROOTS", roots)]), Pool::None).is_ok());
        }
        assert!(http_client(&settings(&[("BELFRY_TLS_ROOTS", "none")]), Pool::None).is_err());
    }
}
