//! What the two AWS providers share: clients that send once and within the limit, and what is certain after a call that
//! brought no result.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aws_sdk_sesv2::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_sesv2::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_sesv2::error::{BoxError, ProvideErrorMetadata, SdkError};
use aws_smithy_runtime_api::client::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use hyper_util::client::legacy;
use outside::connect_limit;

use crate::{NotSent, Reason, http};

/// Codes that any AWS service may answer with when we come too often.
const THROTTLED: [&str; 7] = [
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "SlowDown",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
];

/// Codes of the door: credentials, permissions, clocks. An operator mends them, and nothing was sent.
const NOT_LET_IN: [&str; 14] = [
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

/// Other codes that any service may answer with; their status says what they mean.
const OTHERS: [&str; 4] =
    ["InternalFailure", "InternalServerError", "ServiceUnavailable", "ServiceUnavailableException"];

/// Whoever sends decides about a second time: the SDK must not.
pub(crate) fn never_again() -> RetryConfig {
    RetryConfig::disabled()
}

pub(crate) fn within(limit: Duration) -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(connect_limit(limit))
        .read_timeout(limit)
        .operation_attempt_timeout(limit)
        .operation_timeout(limit)
        .build()
}

pub(crate) fn no_other_limit() -> StalledStreamProtectionConfig {
    StalledStreamProtectionConfig::disabled()
}

/// Whether a call got as far as the network. Credentials and endpoints are looked up before that, within the same time
/// limit, and their failures look like any other.
#[derive(Debug, Clone, Default)]
pub(crate) struct Departure(Arc<AtomicBool>);

impl Intercept for Departure {
    fn name(&self) -> &'static str {
        "Departure"
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

/// Sorts a call that brought no result. `of_service` knows the service's own errors.
pub(crate) fn sorted<E: ProvideErrorMetadata>(
    error: SdkError<E>,
    departure: &Departure,
    of_service: impl FnOnce(&E, u16) -> Option<NotSent>,
) -> NotSent {
    match error {
        SdkError::ConstructionFailure(_) => Reason::word("a request that cannot be made").refused(),
        SdkError::TimeoutError(_) | SdkError::DispatchFailure(_) if !departure.0.load(Ordering::Relaxed) => {
            Reason::word("no credentials, or no endpoint").unavailable()
        }
        SdkError::DispatchFailure(failure) if never_connected(failure.as_connector_error()) => {
            Reason::word("no connection").unavailable()
        }
        SdkError::DispatchFailure(failure) if !failure.is_timeout() => {
            Reason::word("the connection broke before the answer").unknown()
        }
        SdkError::TimeoutError(_) | SdkError::DispatchFailure(_) => Reason::word("no answer in time").unknown(),
        SdkError::ResponseError(answer) => http::by_status(answer.raw().status().as_u16(), None, None),
        SdkError::ServiceError(answer) => {
            let status = answer.raw().status().as_u16();
            of_service(answer.err(), status).unwrap_or_else(|| general(answer.err().code(), status))
        }
        _ => Reason::word("an error that the SDK does not name").unknown(),
    }
}

fn general(code: Option<&str>, status: u16) -> NotSent {
    let among = |codes: &[&'static str]| codes.iter().find(|known| Some(**known) == code).copied();
    match among(&THROTTLED).or_else(|| among(&NOT_LET_IN)) {
        Some(word) => Reason::http(status, Some(word)).unavailable(),
        None => http::by_status(status, among(&OTHERS), None),
    }
}

/// The SDK does not tell a connection that was refused from one that broke: the HTTP client below it does.
fn never_connected(error: Option<&(impl Error + 'static)>) -> bool {
    let mut error = error.and_then(Error::source);
    while let Some(cause) = error {
        if cause.downcast_ref::<legacy::Error>().is_some_and(legacy::Error::is_connect) {
            return true;
        }
        error = cause.source();
    }
    false
}
