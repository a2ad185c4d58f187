//! AWS End User Messaging.

use axum::http::StatusCode;
use axum::{Json, Router};
use channels::{Outgoing, Provider, sms::EndUserMessaging};
use providers::Target;
use serde_json::{Value, json};

use crate::{ClosedPort, PATIENT, Stage, aws, kind, outgoing, phone, serve, settings};

pub(crate) fn sms(limit: &str, url: &str) -> Provider {
    let settings = settings(limit, &[("BELFRY_SMS_ORIGINATION", "Belfry"), ("BELFRY_SMS_ENDPOINT_URL", url)]);
    Provider::EndUserMessaging(EndUserMessaging::from_settings(&settings, &aws()).unwrap())
}

fn text() -> Outgoing {
    outgoing(phone())
}

#[tokio::test]
async fn text_arrives_without_its_title() {
    let stage = Stage::start().await;
    let receipt = sms(PATIENT, &stage.url).send(&text()).await.unwrap();
    assert_eq!(receipt.provider, "end-user-messaging");
    assert!(receipt.message_id.is_some_and(|id| !id.is_empty()));
    let sent = stage.accepted(Target::Sms);
    assert_eq!(sent.to.as_deref(), Some("+4915112345678"));
    assert_eq!(sent.body.as_deref(), Some("At eight, così come sempre"));
}

#[tokio::test]
async fn each_fault_has_its_error_after_one_request() {
    let stage = Stage::start().await;
    let expected = [
        "failed: InternalServerException (HTTP 500)",
        "address is dead: ValidationException (HTTP 400)",
        "unavailable: ThrottlingException (HTTP 429)",
    ];
    stage.assert_errors(|limit| sms(limit, &stage.url), &text(), expected, None).await;
}

#[tokio::test]
async fn refused_connection_is_unavailable() {
    let error = sms(PATIENT, &ClosedPort::new().url).send(&text()).await.unwrap_err();
    assert_eq!(error.to_string(), "unavailable: cannot connect");
}

#[tokio::test]
async fn answer_is_classified_by_code_and_reason() {
    let field = json!([{ "Name": "DestinationPhoneNumber", "Message": "m" }]);
    for (code, more, expected) in [
        ("ConflictException", json!({ "Reason": "DESTINATION_PHONE_NUMBER_OPTED_OUT" }), "address dead"),
        ("ConflictException", json!({ "Reason": "DESTINATION_PHONE_NUMBER_NOT_VERIFIED" }), "refused"),
        ("ConflictException", json!({ "Reason": "RESOURCE_NOT_ACTIVE" }), "unavailable"),
        ("ConflictException", json!({ "Reason": "SOMETHING_NEW" }), "refused"),
        ("ValidationException", json!({ "Reason": "INVALID_PARAMETER", "Fields": field }), "address dead"),
        ("ValidationException", json!({ "Reason": "DESTINATION_COUNTRY_BLOCKED", "Fields": field }), "refused"),
        ("ValidationException", json!({ "Reason": "MAXIMUM_SIZE_EXCEEDED" }), "refused"),
        ("ServiceQuotaExceededException", json!({ "Reason": "MONTHLY_SPEND_LIMIT_REACHED_FOR_TEXT" }), "unavailable"),
        ("AccessDeniedException", json!({ "Reason": "ACCOUNT_DISABLED" }), "unavailable"),
        ("ResourceNotFoundException", json!({}), "unavailable"),
        ("ThrottlingException", json!({}), "unavailable"),
        ("UnrecognizedClientException", json!({}), "unavailable"),
        ("UnknownOperationException", json!({}), "refused"),
        ("SomethingNew", json!({}), "refused"),
    ] {
        let mut body: Value = more;
        body["__type"] = json!(format!("com.amazonaws.pinpointsmsvoicev2#{code}"));
        let shown = body.to_string();
        let url = serve(Router::new().fallback(async move || (StatusCode::BAD_REQUEST, Json(body)))).await;
        assert_eq!(kind(&sms(PATIENT, &url).send(&text()).await), expected, "{shown}");
    }
}
