//! The parts that both AWS providers share: a client configuration without retries, and the classification of errors.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aws_sdk_sesv2::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_sesv2::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_sesv2::error::{BoxError, ProvideErrorMetadata, SdkError};
use aws_smithy_runtime_api::client::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use aws_types::SdkConfig;
use hyper_util::client::legacy;
use provider_http::{connect_limit, endpoint, time_limit};
use runtime::{BadSetting, Pool, Settings};

use crate::{Reason, SendError, http_error};

/// Codes of any AWS service for throttling.
const THROTTLING: [&str; 7] = [
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "SlowDown",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
];

/// Codes of any AWS service for credentials, permissions and clocks. Nothing was sent; an operator must act.
const UNAUTHORIZED: [&str; 14] = [
    "AccessDenied",
    "AccessDeniedException",
    "ExpiredToken",
    "ExpiredTokenException",
    "IncompleteSignature",
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "MissingAuthenticationToken",
    "MissingAuthenticationTokenException",
    "NotAuthorized",
    "OptInRequired",
    "RequestExpired",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
];

/// Other codes of any AWS service. Their HTTP status classifies them.
const BY_STATUS: [&str; 4] =
    ["InternalFailure", "InternalServerError", "ServiceUnavailable", "ServiceUnavailableException"];

/// Returns the configuration of a client that sends once, within the time limit and on a new connection. `endpoint_url`
/// names the setting for an endpoint other than AWS's.
pub(crate) fn client_config(settings: &Settings, aws: &SdkConfig, endpoint_url: &str) -> Result<SdkConfig, BadSetting> {
    let limit = time_limit(settings)?;
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(connect_limit(limit))
        .read_timeout(limit)
        .operation_attempt_timeout(limit)
        .operation_timeout(limit)
        .build();
    let mut config = aws.clone().into_builder();
    config
        // The caller decides about a second attempt, not the SDK.
        .set_retry_config(Some(RetryConfig::disabled()))
        .set_timeout_config(Some(timeouts))
        .set_stalled_stream_protection(Some(StalledStreamProtectionConfig::disabled()))
        .set_http_client(Some(runtime::http_client(settings, Pool::None)?));
    if let Some(url) = endpoint(settings, endpoint_url)? {
        config.set_endpoint_url(Some(url.into()));
    }
    Ok(config.build())
}

/// Whether a call reached the network. Credentials and the endpoint are resolved before that, within the same time limit,
/// and their failures look like any other.
#[derive(Debug, Clone, Default)]
pub(crate) struct Transmission(Arc<AtomicBool>);

impl Intercept for Transmission {
    fn name(&self) -> &'static str {
        "Transmission"
    }

    fn read_before_transmit(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        self.0.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// Classifies a failed call. `of_service` classifies the service's own errors.
pub(crate) fn classify<E: ProvideErrorMetadata>(
    error: SdkError<E>,
    transmission: &Transmission,
    of_service: impl FnOnce(&E, u16) -> Option<SendError>,
) -> SendError {
    match error {
        SdkError::ConstructionFailure(_) => Reason::text("cannot build the request").refused(),
        SdkError::TimeoutError(_) | SdkError::DispatchFailure(_) if !transmission.0.load(Ordering::Relaxed) => {
            Reason::text("no credentials or no endpoint").unavailable()
        }
        SdkError::DispatchFailure(failure) if connecting_failed(failure.as_connector_error()) => {
            Reason::text("cannot connect").unavailable()
        }
        SdkError::DispatchFailure(failure) if !failure.is_timeout() => {
            Reason::text("connection closed before the answer").unknown()
        }
        SdkError::TimeoutError(_) | SdkError::DispatchFailure(_) => {
            Reason::text("no answer within the time limit").unknown()
        }
        SdkError::ResponseError(answer) => http_error::by_status(answer.raw().status().as_u16(), None, None),
        SdkError::ServiceError(answer) => {
            let status = answer.raw().status().as_u16();
            of_service(answer.err(), status).unwrap_or_else(|| general(answer.err().code(), status))
        }
        _ => Reason::text("unclassified SDK error").unknown(),
    }
}

fn general(code: Option<&str>, status: u16) -> SendError {
    let among = |codes: &[&'static str]| codes.iter().find(|known| Some(**known) == code).copied();
    match among(&THROTTLING).or_else(|| among(&UNAUTHORIZED)) {
        Some(word) => Reason::http(status, Some(word)).unavailable(),
        None => http_error::by_status(status, among(&BY_STATUS), None),
    }
}

/// Returns whether connecting failed. Only the HTTP client's error, below the SDK's, tells that from a broken connection.
fn connecting_failed(error: Option<&(impl Error + 'static)>) -> bool {
    let mut error = error.and_then(Error::source);
    while let Some(cause) = error {
        if cause.downcast_ref::<legacy::Error>().is_some_and(legacy::Error::is_connect) {
            return true;
        }
        error = cause.source();
    }
    false
}
