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

/// A DynamoDB client that does not retry by itself: the ledger knows what may be tried again, and counts.
pub fn dynamodb(aws: &SdkConfig) -> aws_sdk_dynamodb::Client {
    let config = aws_sdk_dynamodb::config::Builder::from(aws).retry_config(RetryConfig::disabled()).build();
    aws_sdk_dynamodb::Client::from_conf(config)
}
