//! SMS through the SDK of AWS End User Messaging.

use std::time::Duration;

use aws_sdk_pinpointsmsvoicev2::config::retry::RetryConfig;
use aws_sdk_pinpointsmsvoicev2::config::timeout::TimeoutConfig;
use aws_sdk_pinpointsmsvoicev2::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_pinpointsmsvoicev2::error::SdkError;
use aws_sdk_pinpointsmsvoicev2::operation::send_text_message::{SendTextMessageError, SendTextMessageOutput};
use aws_sdk_pinpointsmsvoicev2::types::ValidationExceptionReason;
use aws_sdk_pinpointsmsvoicev2::{Client, Config};
use aws_smithy_http_client::Builder;
use providers::{Mode, Outcome, Target};

use crate::{IMPATIENT, PATIENT, Stage};

fn client(stage: &Stage, timeout: Duration) -> Client {
    let timeout = TimeoutConfig::builder().operation_timeout(timeout).build();
    Client::from_conf(
        Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("eu-central-1"))
            .credentials_provider(Credentials::new("key", "secret", None, None, "test"))
            .endpoint_url(&stage.url)
            .http_client(Builder::new().build_http())
            // A repetition by the SDK would meet a fault that was meant for one request a second time.
            .retry_config(RetryConfig::disabled())
            .timeout_config(timeout)
            .build(),
    )
}

pub(crate) async fn send(
    stage: &Stage,
    timeout: Duration,
    text: &str,
) -> Result<SendTextMessageOutput, SdkError<SendTextMessageError>> {
    client(stage, timeout)
        .send_text_message()
        .destination_phone_number("+4915112345678")
        .origination_identity("Belfry")
        .message_body(text)
        .send()
        .await
}

#[tokio::test]
async fn a_text_is_kept_with_its_number() {
    let stage = Stage::start().await;
    let answer = send(&stage, PATIENT, "At eight").await.unwrap();
    assert!(answer.message_id().is_some_and(|id| !id.is_empty()));
    let sent = stage.providers.sent(Some(Target::Sms)).remove(0);
    assert_eq!(sent.outcome, Outcome::Accepted);
    assert_eq!(sent.to.as_deref(), Some("+4915112345678"));
    assert_eq!(sent.body.as_deref(), Some("At eight"));
    assert_eq!(sent.subject, None);
}

#[tokio::test]
async fn an_operation_that_is_not_there_is_unknown() {
    let stage = Stage::start().await;
    let error = client(&stage, PATIENT)
        .send_voice_message()
        .destination_phone_number("+4915112345678")
        .origination_identity("Belfry")
        .send()
        .await
        .unwrap_err();
    assert_eq!(error.raw_response().unwrap().status().as_u16(), 400);
    assert_eq!(stage.outcomes(Target::Sms), [Outcome::Rejected]);
}

#[tokio::test]
async fn an_inner_error_is_an_internal_server_exception_for_as_many_calls_as_told() {
    let stage = Stage::start().await;
    stage.fault(Target::Sms, Mode::Error, 1);
    let error = send(&stage, PATIENT, "At eight").await.unwrap_err();
    assert!(error.as_service_error().unwrap().is_internal_server_exception());
    send(&stage, PATIENT, "At eight").await.unwrap();
    assert_eq!(stage.outcomes(Target::Sms), [Outcome::Error, Outcome::Accepted]);
}

#[tokio::test]
async fn a_refused_text_is_a_validation_exception_that_names_the_number() {
    let stage = Stage::start().await;
    stage.fault(Target::Sms, Mode::Reject, None);
    let error = send(&stage, PATIENT, "At eight").await.unwrap_err();
    let Some(SendTextMessageError::ValidationException(invalid)) = error.as_service_error() else {
        panic!("{error:?}");
    };
    assert_eq!(invalid.reason, Some(ValidationExceptionReason::InvalidParameter));
    assert_eq!(invalid.fields()[0].name(), "DestinationPhoneNumber");
    assert_eq!(stage.outcomes(Target::Sms), [Outcome::Rejected]);
}

#[tokio::test]
async fn a_throttled_text_is_a_throttling_exception() {
    let stage = Stage::start().await;
    stage.fault(Target::Sms, Mode::Unavailable, None);
    let error = send(&stage, PATIENT, "At eight").await.unwrap_err();
    assert!(error.as_service_error().unwrap().is_throttling_exception());
    assert_eq!(stage.outcomes(Target::Sms), [Outcome::Unavailable]);
}

#[tokio::test]
async fn a_held_answer_is_the_clients_timeout() {
    let stage = Stage::start().await;
    stage.fault(Target::Sms, Mode::Timeout, None);
    let error = send(&stage, IMPATIENT, "At eight").await.unwrap_err();
    assert!(matches!(error, SdkError::TimeoutError(_)), "{error:?}");
    assert_eq!(stage.outcomes(Target::Sms), [Outcome::TimedOut]);
}

#[tokio::test]
async fn a_dropped_answer_breaks_the_connection_after_the_text_was_taken() {
    let stage = Stage::start().await;
    stage.fault(Target::Sms, Mode::DropAnswer, None);
    let error = send(&stage, PATIENT, "At eight").await.unwrap_err();
    assert!(matches!(&error, SdkError::DispatchFailure(failure) if !failure.is_timeout()), "{error:?}");
    assert_eq!(stage.outcomes(Target::Sms), [Outcome::AnswerDropped]);
}
