//! SMS through the SDK of AWS End User Messaging.

use std::time::Duration;

use aws_sdk_pinpointsmsvoicev2::Client;
use aws_sdk_pinpointsmsvoicev2::error::SdkError;
use aws_sdk_pinpointsmsvoicev2::operation::send_text_message::{SendTextMessageError, SendTextMessageOutput};
use aws_sdk_pinpointsmsvoicev2::types::ValidationExceptionReason;
use providers::{Mode, Outcome, Target};

use crate::{PATIENT, Stage, assert_faults, aws_client, seen_by_sdk};

fn client(stage: &Stage, timeout: Duration) -> Client {
    aws_client!(aws_sdk_pinpointsmsvoicev2, stage, timeout)
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
async fn text_is_recorded_with_its_number() {
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
async fn unsupported_operation_is_unknown() {
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
async fn rejected_text_names_the_phone_number() {
    let stage = Stage::start().await;
    stage.fault(Target::Sms, Mode::Reject, None);
    let error = send(&stage, PATIENT, "At eight").await.unwrap_err();
    let Some(SendTextMessageError::ValidationException(invalid)) = error.as_service_error() else {
        panic!("{error:?}");
    };
    assert_eq!(invalid.reason, Some(ValidationExceptionReason::InvalidParameter));
    assert_eq!(invalid.fields()[0].name(), "DestinationPhoneNumber");
}

#[tokio::test]
async fn faults_look_like_end_user_messaging() {
    let expected = [
        (Mode::Error, "500 InternalServerException"),
        (Mode::Reject, "400 ValidationException"),
        (Mode::Unavailable, "429 ThrottlingException"),
        (Mode::Timeout, "timeout"),
        (Mode::DropAnswer, "broken connection"),
    ];
    let send = async |stage: &Stage, timeout| seen_by_sdk(send(stage, timeout, "At eight").await);
    assert_faults(Target::Sms, send, expected).await;
}
