//! Where DynamoDB and SQS are, and clients for them: the embedded engines, or what `AWS_ENDPOINT_URL…` points at.

use std::time::Duration;

use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region, SharedCredentialsProvider, SharedHttpClient};
use aws_types::SdkConfig;
use aws_types::service_config::{LoadServiceConfig, ServiceConfigKey};
use runtime::{BadSetting, Pool, Roots, Settings};

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
        let both = variable("AWS_ENDPOINT_URL");
        let dynamodb = variable("AWS_ENDPOINT_URL_DYNAMODB").or_else(|| both.clone());
        match (dynamodb, variable("AWS_ENDPOINT_URL_SQS").or(both)) {
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
    pub fn new(endpoints: &Endpoints) -> Self {
        let aws = config();
        let dynamodb = aws_sdk_dynamodb::config::Builder::from(&aws);
        Self::of(aws, dynamodb, endpoints)
    }

    /// Clients of a function: they sign with its name, and go through this HTTP client. Credentials of the
    /// environment are used as they are, by everybody.
    ///
    /// Secrets Manager answers at `secrets`.
    pub fn of_function(&self, function: &str, endpoints: &Endpoints, secrets: &str, http: &SharedHttpClient) -> Self {
        let mut own = self.aws.to_builder().service_config(SecretsAt { url: secrets.to_owned() });
        if from_environment().is_none() {
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
/// found.
#[derive(Debug)]
struct SecretsAt {
    url: String,
}

impl LoadServiceConfig for SecretsAt {
    fn load_config(&self, key: ServiceConfigKey<'_>) -> Option<String> {
        match (key.service_id(), key.env()) {
            ("Secrets Manager", "AWS_ENDPOINT_URL") => Some(self.url.clone()),
            _ => None,
        }
    }
}

/// A DynamoDB client for whoever reads the tables of a stack: at an endpoint, or in the account and region that the
/// environment names, as a function reads it.
///
/// # Errors
/// When no endpoint is given and the environment has no region or no credentials.
pub fn dynamodb(endpoint: Option<&str>) -> Result<aws_sdk_dynamodb::Client, BadSetting> {
    let config = match endpoint {
        None => runtime::dynamodb_config(&runtime::aws(&Settings::from_env())?),
        Some(endpoint) => runtime::dynamodb_config(&config()).endpoint_url(endpoint),
    };
    // A page of a scan is larger than anything that a function reads.
    let timeouts = TimeoutConfig::builder().operation_attempt_timeout(Duration::from_secs(20)).build();
    Ok(aws_sdk_dynamodb::Client::from_conf(config.timeout_config(timeouts).build()))
}

/// Signs with the credentials of the environment where it has some; engines take any.
fn config() -> SdkConfig {
    let credentials =
        from_environment().unwrap_or_else(|| Credentials::new("local", "local", None, None, "belfry-local"));
    let region = variable("AWS_REGION").map_or(Region::from_static(REGION), Region::new);
    // A long poll of a queue takes up to 20 seconds, which the limit of one attempt must leave room for.
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(1))
        .operation_attempt_timeout(Duration::from_secs(30));
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(region)
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .http_client(runtime::https(Roots::Amazon, Pool::Kept))
        .retry_config(RetryConfig::standard())
        .timeout_config(timeouts.build())
        .build()
}

fn from_environment() -> Option<Credentials> {
    let secret = variable("AWS_SECRET_ACCESS_KEY")?;
    Some(Credentials::new(variable("AWS_ACCESS_KEY_ID")?, secret, variable("AWS_SESSION_TOKEN"), None, "Environment"))
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
