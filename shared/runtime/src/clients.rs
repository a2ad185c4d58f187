//! AWS clients, with the limits that a function's own timeout asks for.

use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};

/// The function's AWS configuration, from its environment.
pub async fn aws() -> SdkConfig {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(1))
        .operation_attempt_timeout(Duration::from_secs(3))
        .build();
    aws_config::defaults(BehaviorVersion::latest()).timeout_config(timeouts).load().await
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
