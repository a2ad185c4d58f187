//! Endpoints and clients: of the embedded engines, or of what `AWS_ENDPOINT_URL…` names.

use std::time::Duration;

use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region, SharedCredentialsProvider, SharedHttpClient};
use aws_types::SdkConfig;
use aws_types::service_config::{LoadServiceConfig, ServiceConfigKey};
use runtime::{BadSetting, Pool, Roots, Settings};

pub const REGION: &str = "us-east-1";
pub const ACCOUNT: &str = "000000000000";

/// Where DynamoDB (with its streams) and SQS answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoints {
    /// DynamoDB and DynamoDB Streams.
    pub dynamodb: String,
    /// SQS.
    pub sqs: String,
}

/// Only one of the two endpoints is set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{missing} is not set: set the endpoints of DynamoDB and SQS, AWS_ENDPOINT_URL for both, or none")]
pub struct EndpointsError {
    missing: &'static str,
}

impl Endpoints {
    /// The endpoints in the environment, if any.
    pub fn from_env() -> Result<Option<Self>, EndpointsError> {
        let both = variable("AWS_ENDPOINT_URL");
        let dynamodb = variable("AWS_ENDPOINT_URL_DYNAMODB").or_else(|| both.clone());
        match (dynamodb, variable("AWS_ENDPOINT_URL_SQS").or(both)) {
            (Some(dynamodb), Some(sqs)) => Ok(Some(Self { dynamodb, sqs })),
            (None, None) => Ok(None),
            (Some(_), None) => Err(EndpointsError { missing: "AWS_ENDPOINT_URL_SQS" }),
            (None, Some(_)) => Err(EndpointsError { missing: "AWS_ENDPOINT_URL_DYNAMODB" }),
        }
    }
}

/// The clients of the host or of a function.
#[derive(Debug, Clone)]
pub struct Clients {
    /// Without retries for functions.
    pub dynamodb: aws_sdk_dynamodb::Client,
    /// For the host's pollers.
    pub streams: aws_sdk_dynamodbstreams::Client,
    pub sqs: aws_sdk_sqs::Client,
    /// The configuration of all other clients.
    pub aws: SdkConfig,
}

impl Clients {
    /// The host's clients. They retry, because a busy machine needs time to create twenty tables. Credentials come from
    /// the environment if it has any.
    pub fn new(endpoints: &Endpoints) -> Self {
        let aws = config();
        let dynamodb = aws_sdk_dynamodb::config::Builder::from(&aws);
        Self::of(aws, dynamodb, endpoints)
    }

    /// The clients of a function. They sign with its name unless the environment has credentials, and use this HTTP
    /// client. Secrets Manager answers at `secrets`.
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

/// Sets the endpoint of Secrets Manager, which its client reads from `AWS_ENDPOINT_URL_SECRETS_MANAGER`.
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

/// A DynamoDB client for the tables of a stack: at an endpoint, or in the account and region of the environment.
///
/// # Errors
///
/// If no endpoint is given and the environment has no region or no credentials.
pub fn dynamodb(endpoint: Option<&str>) -> Result<aws_sdk_dynamodb::Client, BadSetting> {
    let config = match endpoint {
        None => runtime::dynamodb_config(&runtime::aws(&Settings::from_env())?),
        Some(endpoint) => runtime::dynamodb_config(&config()).endpoint_url(endpoint),
    };
    // A scan page is larger than anything that a function reads.
    let timeouts = TimeoutConfig::builder().operation_attempt_timeout(Duration::from_secs(20)).build();
    Ok(aws_sdk_dynamodb::Client::from_conf(config.timeout_config(timeouts).build()))
}

/// Signs with the credentials of the environment if it has any. Engines accept any.
fn config() -> SdkConfig {
    let credentials =
        from_environment().unwrap_or_else(|| Credentials::new("local", "local", None, None, "belfry-local"));
    let region = variable("AWS_REGION").map_or(Region::from_static(REGION), Region::new);
    // Longer than the longest long poll, which takes 20 seconds.
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
