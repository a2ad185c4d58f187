//! SES v2 through its SDK.

use std::time::Duration;

use aws_sdk_sesv2::Client;
use aws_sdk_sesv2::error::SdkError;
use aws_sdk_sesv2::operation::send_email::{SendEmailError, SendEmailOutput};
use aws_sdk_sesv2::types::{Body, Content, Destination, EmailContent, Message, MessageHeader};
use providers::{Mode, Outcome, Target};

use crate::{PATIENT, Stage, assert_faults, aws_client, seen_by_sdk};

fn client(stage: &Stage, timeout: Duration) -> Client {
    aws_client!(aws_sdk_sesv2, stage, timeout)
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
async fn mail_is_recorded_with_both_parts_and_headers() {
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
async fn mail_without_destination_is_refused_and_uses_up_no_fault() {
    let stage = Stage::start().await;
    stage.fault(Target::Email, Mode::Error, 1);
    let request = client(&stage, PATIENT).send_email().from_email_address("bell@belfry.test").content(mail());
    let refused = request.send().await.unwrap_err();
    assert!(refused.as_service_error().unwrap().is_bad_request_exception());
    send(&stage, PATIENT).await.unwrap_err();
    assert_eq!(stage.outcomes(Target::Email), [Outcome::Rejected, Outcome::Error]);
}

#[tokio::test]
async fn faults_look_like_ses() {
    let expected = [
        (Mode::Error, "500 InternalFailure"),
        (Mode::Reject, "400 MessageRejected"),
        (Mode::Unavailable, "429 TooManyRequestsException"),
        (Mode::Timeout, "timeout"),
        (Mode::DropAnswer, "broken connection"),
    ];
    assert_faults(Target::Email, async |stage, timeout| seen_by_sdk(send(stage, timeout).await), expected).await;
}
