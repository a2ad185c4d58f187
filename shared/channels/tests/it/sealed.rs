//! No error contains an address, a token, a webhook or a text.

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use channels::{Address, Outgoing, Provider};
use harness::mail::MailServer;

use crate::smtp::plain;
use crate::{PATIENT, Stage, device, email, fcm, outgoing, phone, serve, ses, slack, sms, webhook, with_html};

/// Answers with everything it received, in every text field of its answer.
async fn parrot(status: u16) -> String {
    let echo = async move |request: Request| {
        let path = request.uri().path().to_owned();
        let body = axum::body::to_bytes(request.into_body(), usize::MAX).await.unwrap();
        let heard = format!("{path} {}", String::from_utf8_lossy(&body));
        let code: String = heard.chars().filter(char::is_ascii_alphanumeric).collect();
        let answer = serde_json::json!({
            "message": heard, "Message": heard, "__type": heard, "Reason": heard,
            "error": { "status": heard, "message": heard, "details": [{ "errorCode": heard }] },
        });
        (StatusCode::from_u16(status).unwrap(), [("x-amzn-errortype", code)], answer.to_string()).into_response()
    };
    serve(Router::new().fallback(echo)).await
}

async fn assert_sealed(provider: &Provider, outgoing: Outgoing, secret: &str) {
    let error = provider.send(&outgoing).await.unwrap_err();
    let said = format!("{error} {error:?}");
    for secret in [secret, "Your table", "At eight", "unsubscribe/"] {
        assert!(!said.contains(secret), "{} said {said}", provider.name());
    }
}

#[tokio::test]
async fn error_does_not_repeat_the_providers_answer() {
    let stage = Stage::start().await;
    for status in [400, 401, 404, 429, 500] {
        let url = parrot(status).await;
        let mail = with_html(outgoing(email("ada@example.test")));
        assert_sealed(&ses::ses(PATIENT, &url), mail, "ada").await;
        assert_sealed(&sms::sms(PATIENT, &url), outgoing(phone()), "15112345678").await;
        assert_sealed(&fcm::fcm(PATIENT, &url, &stage.url), outgoing(device()), "device-token").await;
        assert_sealed(&slack::slack(PATIENT), outgoing(webhook(&url)), "secret").await;
    }
}

#[tokio::test]
async fn error_does_not_repeat_the_smtp_servers_reply() {
    let server = MailServer::start().await;
    for name in ["nobody", "unwanted", "full", "leaving", "picky", "grey"] {
        assert_sealed(&plain(&server, PATIENT), with_html(outgoing(email(&format!("{name}@example.test")))), name)
            .await;
    }
}

#[tokio::test]
async fn error_does_not_name_an_unreachable_webhook() {
    let elsewhere = Address::SlackWebhook("https://127.0.0.1:1/services/secret".to_owned().try_into().unwrap());
    assert_sealed(&slack::slack(PATIENT), outgoing(elsewhere), "secret").await;
}
