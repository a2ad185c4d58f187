//! Where DynamoDB and SQS are, and clients for them: the embedded engines, or what `AWS_ENDPOINT_URL…` points at.

use std::time::Duration;

use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, ConfigLoader, Region, SdkConfig};
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider, SharedHttpClient};
use aws_types::service_config::{LoadServiceConfig, ServiceConfigKey};
use runtime::{Pool, Roots};

/// The region that everything local says it is in.
pub const REGION: &str = "us-east-1";
/// The account that everything local says it belongs to.
pub const ACCOUNT: &str = "000000000000";

/// Where DynamoDB (with its streams) and SQS answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoints {
    /// DynamoDB and DynamoDB Streams.
    pub dynamodb: String,
    /// SQS.
    pub sqs: String,
}

/// Just one of the two is named: the other would have to be an engine of another world.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{missing} is not set, while the other one is: name both, or AWS_ENDPOINT_URL for both, or neither")]
pub struct HalfSet {
    missing: &'static str,
}

impl Endpoints {
    /// What the environment names, if it names anything.
    pub fn from_env() -> Result<Option<Self>, HalfSet> {
        let named = |name: &str| std::env::var(name).ok().filter(|url| !url.is_empty());
        let both = named("AWS_ENDPOINT_URL");
        let dynamodb = named("AWS_ENDPOINT_URL_DYNAMODB").or_else(|| both.clone());
        match (dynamodb, named("AWS_ENDPOINT_URL_SQS").or(both)) {
            (Some(dynamodb), Some(sqs)) => Ok(Some(Self { dynamodb, sqs })),
            (None, None) => Ok(None),
            (Some(_), None) => Err(HalfSet { missing: "AWS_ENDPOINT_URL_SQS" }),
            (None, Some(_)) => Err(HalfSet { missing: "AWS_ENDPOINT_URL_DYNAMODB" }),
        }
    }
}

/// The clients of the host, or of a function that it runs.
#[derive(Debug, Clone)]
pub struct Clients {
    /// DynamoDB, without retries of its own, as functions use it.
    pub dynamodb: aws_sdk_dynamodb::Client,
    /// DynamoDB Streams, for the host's pollers alone.
    pub streams: aws_sdk_dynamodbstreams::Client,
    /// SQS.
    pub sqs: aws_sdk_sqs::Client,
    /// What functions make their other clients of; where those answer is in their settings.
    pub aws: SdkConfig,
}

impl Clients {
    /// The host's own clients for these endpoints, patient ones: a busy machine takes its time to make twenty tables.
    /// Credentials come from the environment where it has some; engines take any.
    pub async fn new(endpoints: &Endpoints) -> Self {
        let aws = config().await;
        let dynamodb = aws_sdk_dynamodb::config::Builder::from(&aws);
        Self::of(aws, dynamodb, endpoints)
    }

    /// Clients of a function: they sign with its name, and go through this HTTP client. Credentials of the
    /// environment are used as they are, by everybody.
    ///
    /// Secrets Manager answers at `secrets`.
    pub fn of_function(&self, function: &str, endpoints: &Endpoints, secrets: &str, http: &SharedHttpClient) -> Self {
        let at = SecretsAt { url: secrets.to_owned(), others: self.aws.clone() };
        let mut own = self.aws.to_builder().service_config(at);
        if !has_credentials() {
            let signed = Credentials::new(function, "local", None, None, "belfry-local");
            own = own.credentials_provider(SharedCredentialsProvider::new(signed)).http_client(http.clone());
        }
        let aws = own.build();
        let dynamodb = runtime::dynamodb_config(&aws);
        Self::of(aws, dynamodb, endpoints)
    }

    fn of(aws: SdkConfig, dynamodb: aws_sdk_dynamodb::config::Builder, endpoints: &Endpoints) -> Self {
        let dynamodb = dynamodb.endpoint_url(&endpoints.dynamodb);
        let streams = aws_sdk_dynamodbstreams::config::Builder::from(&aws).endpoint_url(&endpoints.dynamodb);
        let sqs = aws_sdk_sqs::config::Builder::from(&aws).endpoint_url(&endpoints.sqs);
        Self {
            dynamodb: aws_sdk_dynamodb::Client::from_conf(dynamodb.build()),
            streams: aws_sdk_dynamodbstreams::Client::from_conf(streams.build()),
            sqs: aws_sdk_sqs::Client::from_conf(sqs.build()),
            aws,
        }
    }
}

/// Where Secrets Manager answers on this host, for its client looks where `AWS_ENDPOINT_URL_SECRETS_MANAGER` would be
/// found. Other services answer where they did.
#[derive(Debug)]
struct SecretsAt {
    url: String,
    others: SdkConfig,
}

impl LoadServiceConfig for SecretsAt {
    fn load_config(&self, key: ServiceConfigKey<'_>) -> Option<String> {
        match (key.service_id(), key.env()) {
            ("Secrets Manager", "AWS_ENDPOINT_URL") => Some(self.url.clone()),
            _ => self.others.service_config()?.load_config(key),
        }
    }
}

/// A DynamoDB client for whoever reads the tables of a stack: at an endpoint, or in the account and region that AWS's
/// ordinary chain names (environment, profile, role).
pub async fn dynamodb(endpoint: Option<&str>) -> aws_sdk_dynamodb::Client {
    let config = match endpoint {
        None => runtime::dynamodb_config(&loader().load().await),
        Some(endpoint) => runtime::dynamodb_config(&config().await).endpoint_url(endpoint),
    };
    // A page of a scan is larger than anything that a function reads.
    let timeouts = TimeoutConfig::builder().operation_attempt_timeout(Duration::from_secs(20)).build();
    aws_sdk_dynamodb::Client::from_conf(config.timeout_config(timeouts).build())
}

async fn config() -> SdkConfig {
    if has_credentials() {
        return loader().load().await;
    }
    let anybody = Credentials::new("local", "local", None, None, "belfry-local");
    loader().region(Region::from_static(REGION)).credentials_provider(anybody).load().await
}

fn loader() -> ConfigLoader {
    // A long poll of a queue takes up to 20 seconds, which the limit of one attempt must leave room for.
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(1))
        .operation_attempt_timeout(Duration::from_secs(30));
    aws_config::defaults(BehaviorVersion::latest())
        .http_client(runtime::https(Roots::Amazon, Pool::Kept))
        .timeout_config(timeouts.build())
}

fn has_credentials() -> bool {
    ["AWS_ACCESS_KEY_ID", "AWS_PROFILE"]
        .into_iter()
        .any(|name| std::env::var_os(name).is_some_and(|set| !set.is_empty()))
}
