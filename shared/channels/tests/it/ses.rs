//! SES v2.

use axum::Router;
use axum::http::StatusCode;
use axum::routing::post;
use channels::{Outgoing, Provider, email::Ses};
use providers::Target;

use crate::{
    ClosedPort, PATIENT, Stage, aws, email, kind, outgoing, serve, settings, unsubscribe, with_html,
    without_credentials,
};

pub(crate) fn ses(limit: &str, url: &str) -> Provider {
    let settings =
        settings(limit, &[("BELFRY_EMAIL_FROM", "Così <bell@belfry.test>"), ("BELFRY_SES_ENDPOINT_URL", url)]);
    Provider::Ses(Ses::from_settings(&settings, &aws()).unwrap())
}

fn mail() -> Outgoing {
    outgoing(email("ada@example.test"))
}

#[tokio::test]
async fn a_mail_has_both_parts_and_is_unsubscribed_from_with_one_click() {
    let stage = Stage::start().await;
    let receipt = ses(PATIENT, &stage.url).send(&with_html(mail())).await.unwrap();
    assert_eq!(receipt.provider, "ses");
    assert!(receipt.message_id.is_some_and(|id| !id.is_empty()));

    let sent = stage.accepted(Target::Email);
    assert_eq!(sent.to.as_deref(), Some("ada@example.test"));
    assert_eq!(sent.subject.as_deref(), Some("Your table"));
    assert_eq!(sent.body.as_deref(), Some("At eight, così come sempre"));
    let parts = sent.email.unwrap();
    assert_eq!(parts.html.as_deref(), Some("<p>At eight</p>"));
    assert_eq!(parts.headers["List-Unsubscribe"], format!("<{}>", unsubscribe()));
    assert_eq!(parts.headers["List-Unsubscribe-Post"], "List-Unsubscribe=One-Click");
}

#[tokio::test]
async fn a_mail_without_html_and_link_is_just_text() {
    let stage = Stage::start().await;
    ses(PATIENT, &stage.url).send(&mail()).await.unwrap();
    let parts = stage.accepted(Target::Email).email.unwrap();
    assert_eq!((parts.html, parts.headers.len()), (None, 0));
}

#[tokio::test]
async fn a_title_of_two_lines_becomes_one() {
    let stage = Stage::start().await;
    let mut mail = mail();
    mail.message.title = "Your table\r\nBcc: eve@example.test\n".to_owned();
    ses(PATIENT, &stage.url).send(&mail).await.unwrap();
    assert_eq!(stage.accepted(Target::Email).subject.as_deref(), Some("Your table Bcc: eve@example.test"));
}

#[tokio::test]
async fn each_fault_has_its_error_after_one_request() {
    let stage = Stage::start().await;
    let expected = [
        "failed: InternalFailure (HTTP 500)",
        "refused: MessageRejected (HTTP 400)",
        "unavailable: TooManyRequestsException (HTTP 429)",
    ];
    stage.assert_errors(|limit| ses(limit, &stage.url), &mail(), expected, None).await;
}

#[tokio::test]
async fn unsent_mail_is_unavailable() {
    let error = ses(PATIENT, &ClosedPort::new().url).send(&mail()).await.unwrap_err();
    assert_eq!(error.to_string(), "unavailable: cannot connect");

    let stage = Stage::start().await;
    let settings =
        settings(PATIENT, &[("BELFRY_EMAIL_FROM", "bell@belfry.test"), ("BELFRY_SES_ENDPOINT_URL", &stage.url)]);
    let ses = Provider::Ses(Ses::from_settings(&settings, &without_credentials()).unwrap());
    let error = ses.send(&mail()).await.unwrap_err();
    assert_eq!(error.to_string(), "unavailable: no credentials or no endpoint");
    assert!(stage.providers.sent(None).is_empty());
}

#[tokio::test]
async fn answer_is_classified_by_code_then_status() {
    for (status, code, expected) in [
        (400, "BadRequestException", "refused"),
        (404, "NotFoundException", "unavailable"),
        (400, "LimitExceededException", "unavailable"),
        (400, "AccountSuspendedException", "unavailable"),
        (400, "SendingPausedException", "unavailable"),
        (400, "MailFromDomainNotVerifiedException", "unavailable"),
        (400, "ThrottlingException", "unavailable"),
        (403, "AccessDeniedException", "unavailable"),
        (403, "ExpiredTokenException", "unavailable"),
        (403, "SignatureDoesNotMatch", "unavailable"),
        (503, "ServiceUnavailable", "unavailable"),
        (500, "SomethingNew", "failed"),
        (504, "SomethingNew", "unknown"),
        (418, "SomethingNew", "refused"),
    ] {
        let status = StatusCode::from_u16(status).unwrap();
        let answer = move || async move { (status, [("x-amzn-errortype", code)], "{}") };
        let url = serve(Router::new().fallback(answer)).await;
        assert_eq!(kind(&ses(PATIENT, &url).send(&mail()).await), expected, "{status} {code}");
    }
}

#[tokio::test]
async fn unparsable_success_is_unknown() {
    let url = serve(Router::new().route("/v2/email/outbound-emails", post(async || "<html>"))).await;
    let error = ses(PATIENT, &url).send(&mail()).await.unwrap_err();
    assert_eq!(error.to_string(), "outcome unknown: HTTP 200");
}
