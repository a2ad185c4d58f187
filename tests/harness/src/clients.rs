//! Clients of what listens on the loopback.

use std::sync::Arc;

use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region, SharedCredentialsProvider};
use aws_types::SdkConfig;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

/// A client for HTTP.
pub fn http() -> reqwest::Client {
    http_builder().build().expect("a client")
}

/// The same with other limits. reqwest is built without a TLS provider, as the functions' own clients need it, and takes
/// none but this one; no root is trusted, for nothing here speaks TLS.
pub fn http_builder() -> reqwest::ClientBuilder {
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring has the ciphers of the safe versions")
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    reqwest::Client::builder().tls_backend_preconfigured(tls)
}

/// A configuration for clients of AWS's services, which sign with this access key.
pub fn aws(access_key: &str) -> SdkConfig {
    let credentials = Credentials::new(access_key, "local", None, None, "test");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .build()
}

/// A client for the DynamoDB at this URL.
pub fn dynamodb(access_key: &str, url: &str) -> aws_sdk_dynamodb::Client {
    let config = aws_sdk_dynamodb::config::Builder::from(&aws(access_key)).endpoint_url(url);
    aws_sdk_dynamodb::Client::from_conf(config.build())
}

/// A client for the SQS at this URL.
pub fn sqs(access_key: &str, url: &str) -> aws_sdk_sqs::Client {
    let config = aws_sdk_sqs::config::Builder::from(&aws(access_key)).endpoint_url(url);
    aws_sdk_sqs::Client::from_conf(config.build())
}
