//! SES v2 through its SDK.

use std::time::Duration;

use aws_sdk_sesv2::config::retry::RetryConfig;
use aws_sdk_sesv2::config::timeout::TimeoutConfig;
use aws_sdk_sesv2::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_sesv2::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sesv2::operation::send_email::{SendEmailError, SendEmailOutput};
use aws_sdk_sesv2::primitives::Blob;
use aws_sdk_sesv2::types::{Body, Content, Destination, EmailContent, Message, MessageHeader, RawMessage};
use aws_sdk_sesv2::{Client, Config};
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

fn part(text: &str) -> Content {
    Content::builder().data(text).build().unwrap()
}

fn mail() -> EmailContent {
    let unsubscribe =
        MessageHeader::builder().name("List-Unsubscribe-Post").value("List-Unsubscribe=One-Click").build().unwrap();
    let message = Message::builder()
        .subject(part("Your table"))
        .body(Body::builder().text(part("At eight")).html(part("<p>At eight</p>")).build())
        .headers(unsubscribe)
        .build();
    EmailContent::builder().simple(message).build()
}

async fn send(stage: &Stage, timeout: Duration) -> Result<SendEmailOutput, SdkError<SendEmailError>> {
    client(stage, timeout)
        .send_email()
        .from_email_address("bell@belfry.test")
        .destination(Destination::builder().to_addresses("ada@example.test").build())
        .content(mail())
        .send()
        .await
}

#[tokio::test]
async fn a_mail_is_kept_with_both_parts_and_its_headers() {
    let stage = Stage::start().await;
    let answer = send(&stage, PATIENT).await.unwrap();
    assert!(answer.message_id().is_some_and(|id| !id.is_empty()));

    let sent = stage.providers.sent(Some(Target::Email)).remove(0);
    assert_eq!(sent.outcome, Outcome::Accepted);
    assert_eq!(sent.to.as_deref(), Some("ada@example.test"));
    assert_eq!(sent.subject.as_deref(), Some("Your table"));
    assert_eq!(sent.body.as_deref(), Some("At eight"));
    let parts = sent.email.unwrap();
    assert_eq!(parts.html.as_deref(), Some("<p>At eight</p>"));
    assert_eq!(parts.headers["List-Unsubscribe-Post"], "List-Unsubscribe=One-Click");
}

#[tokio::test]
async fn a_raw_mail_is_read_from_its_own_headers() {
    let stage = Stage::start().await;
    let mime = "To: ada@example.test\r\nSubject: Your\r\n table\r\n\r\nAt eight: sharp\r\n";
    let raw = RawMessage::builder().data(Blob::new(mime)).build().unwrap();
    client(&stage, PATIENT).send_email().content(EmailContent::builder().raw(raw).build()).send().await.unwrap();
    let sent = stage.providers.sent(Some(Target::Email)).remove(0);
    assert_eq!(sent.to.as_deref(), Some("ada@example.test"));
    assert_eq!(sent.subject.as_deref(), Some("Your table"));
    assert_eq!(sent.body.as_deref(), Some(mime));
    assert_eq!(sent.email.unwrap().headers.len(), 2);
}

#[tokio::test]
async fn a_mail_without_a_destination_is_refused_and_uses_up_no_fault() {
    let stage = Stage::start().await;
    stage.fault(Target::Email, Mode::Error, 1);
    let refused = client(&stage, PATIENT)
        .send_email()
        .from_email_address("bell@belfry.test")
        .content(mail())
        .send()
        .await
        .unwrap_err();
    assert!(refused.as_service_error().unwrap().is_bad_request_exception());
    send(&stage, PATIENT).await.unwrap_err();
    assert_eq!(stage.outcomes(Target::Email), [Outcome::Rejected, Outcome::Error]);
}

#[tokio::test]
async fn an_inner_error_is_a_500_for_as_many_calls_as_told() {
    let stage = Stage::start().await;
    stage.fault(Target::Email, Mode::Error, 2);
    for _ in 0..2 {
        let error = send(&stage, PATIENT).await.unwrap_err();
        assert_eq!(error.raw_response().unwrap().status().as_u16(), 500);
        assert_eq!(error.code(), Some("InternalFailure"));
    }
    send(&stage, PATIENT).await.unwrap();
    assert_eq!(stage.outcomes(Target::Email), [Outcome::Error, Outcome::Error, Outcome::Accepted]);
}

#[tokio::test]
async fn a_refused_mail_is_a_message_rejected() {
    let stage = Stage::start().await;
    stage.fault(Target::Email, Mode::Reject, None);
    let error = send(&stage, PATIENT).await.unwrap_err();
    assert!(error.as_service_error().unwrap().is_message_rejected());
    assert_eq!(stage.outcomes(Target::Email), [Outcome::Rejected]);
}

#[tokio::test]
async fn a_throttled_mail_is_a_too_many_requests() {
    let stage = Stage::start().await;
    stage.fault(Target::Email, Mode::Unavailable, None);
    let error = send(&stage, PATIENT).await.unwrap_err();
    assert!(error.as_service_error().unwrap().is_too_many_requests_exception());
    assert_eq!(stage.outcomes(Target::Email), [Outcome::Unavailable]);
}

#[tokio::test]
async fn a_held_answer_is_the_clients_timeout() {
    let stage = Stage::start().await;
    stage.fault(Target::Email, Mode::Timeout, None);
    let error = send(&stage, IMPATIENT).await.unwrap_err();
    assert!(matches!(error, SdkError::TimeoutError(_)), "{error:?}");
    assert_eq!(stage.outcomes(Target::Email), [Outcome::TimedOut]);
}

#[tokio::test]
async fn a_dropped_answer_breaks_the_connection_after_the_mail_was_taken() {
    let stage = Stage::start().await;
    stage.fault(Target::Email, Mode::DropAnswer, None);
    let error = send(&stage, PATIENT).await.unwrap_err();
    assert!(matches!(&error, SdkError::DispatchFailure(failure) if !failure.is_timeout()), "{error:?}");
    assert_eq!(stage.outcomes(Target::Email), [Outcome::AnswerDropped]);
}
