//! Mail over SMTP, from the event to the mail server.

use harness::Stack;
use harness::mail::{MailOptions, MailServer};
use serde_json::{Value, json};

use crate::sends::{announce, customer, hasty, open_letters, outcomes, send};

fn url(server: &MailServer) -> String {
    format!("smtp://127.0.0.1:{}?tls=none", server.port())
}

/// The only mail, with everything that a mail of Belfry's has.
fn is_the_mail(stack: &Stack, mails: &[Value]) {
    let [mail] = mails else { panic!("one mail, not {mails:?}") };
    assert_eq!(mail["to"], json!(["una@example.com"]));
    assert_eq!(mail["sender"], "belfry@example.com");
    let headers = &mail["headers"];
    assert_eq!(headers["Subject"], "Hear, hear");
    assert!(mail["text"].as_str().is_some_and(|text| text.contains("All of it.")), "{mail}");
    assert!(mail["html"].as_str().is_some_and(|html| html.contains("All of it.") && html.contains('<')), "{mail}");
    assert_eq!(headers["List-Unsubscribe-Post"], "List-Unsubscribe=One-Click");
    let link = headers["List-Unsubscribe"].as_str().expect("a link");
    assert!(link.starts_with(&format!("<{}/v1/unsubscribe/", stack.url())) && link.ends_with('>'), "{link}");
}

#[tokio::test]
async fn a_notification_arrives_as_a_mail_with_both_parts_and_both_headers() {
    let server = MailServer::start().await;
    let settings = [("BELFRY_EMAIL_PROVIDER", "smtp"), ("BELFRY_SMTP_URL", &*url(&server))];
    let stack = Stack::with(hasty(&[&settings[..], &PATIENT].concat())).await;
    customer(&stack).await;
    announce(&stack, "e", &["EMAIL"]).await;
    stack.redeliver("e", 2).await;
    stack.idle().await;
    assert_eq!(send(&stack, "EMAIL").await["status"], "SENT");
    assert!(stack.sent("EMAIL").await.is_empty(), "SES is not asked");
    is_the_mail(&stack, &server.stop().await);
}

#[tokio::test]
async fn a_mail_server_knows_belfry_by_its_secret() {
    let login = Some(("belfry".to_owned(), "rotated".to_owned()));
    let server = MailServer::with(MailOptions { login, ..MailOptions::default() }).await;
    let settings = [("BELFRY_EMAIL_PROVIDER", "smtp"), ("BELFRY_SMTP_URL", &*url(&server))];
    let mut options = hasty(&[&settings[..], &PATIENT].concat());
    options.parameters.insert("SmtpSecret".to_owned(), providers::Secrets::arn("belfry-local-smtp"));
    let stack = Stack::with(options).await;
    let login = json!({"name": "smtp", "value": {"username": "belfry", "password": "rotated"}});
    assert_eq!(stack.call(reqwest::Method::POST, "/local/secrets", Some(login)).await.status, 200);
    customer(&stack).await;
    announce(&stack, "e", &["EMAIL"]).await;
    assert_eq!(send(&stack, "EMAIL").await["status"], "SENT");
    let mails = server.stop().await;
    is_the_mail(&stack, &mails);
    assert_eq!(mails[0]["login"], "belfry");
}

#[tokio::test]
async fn what_ses_refuses_goes_out_through_smtp_once() {
    let server = MailServer::start().await;
    let settings = [("BELFRY_EMAIL_SECOND_PROVIDER", "smtp"), ("BELFRY_SMTP_URL", &*url(&server))];
    let stack = Stack::with(hasty(&[&settings[..], &PATIENT].concat())).await;
    customer(&stack).await;
    stack.fault("EMAIL", "reject", None).await;
    announce(&stack, "e", &["EMAIL"]).await;
    stack.redeliver("e", 2).await;
    stack.idle().await;
    assert_eq!(outcomes(&stack.sent("EMAIL").await), ["rejected"], "SES is asked first, and once");
    let send = send(&stack, "EMAIL").await;
    assert_eq!((&send["status"], &send["attempt_count"]), (&json!("SENT"), &json!(1)), "{send}");
    assert!(open_letters(&stack).await.is_empty());
    is_the_mail(&stack, &server.stop().await);
}

#[tokio::test]
async fn an_outage_of_ses_is_waited_for_and_not_handed_to_smtp() {
    let server = MailServer::start().await;
    let settings = [("BELFRY_EMAIL_SECOND_PROVIDER", "smtp"), ("BELFRY_SMTP_URL", &*url(&server))];
    let stack = Stack::with(hasty(&[&settings[..], &PATIENT].concat())).await;
    customer(&stack).await;
    stack.fault("EMAIL", "unavailable", Some(1)).await;
    announce(&stack, "e", &["EMAIL"]).await;
    stack.fault("EMAIL", "drop_answer", Some(1)).await;
    announce(&stack, "f", &["EMAIL"]).await;
    let expected = ["unavailable", "accepted", "answer_dropped", "accepted"];
    assert_eq!(outcomes(&stack.sent("EMAIL").await), expected);
    assert!(server.stop().await.is_empty(), "only what is definitely refused");
}

/// A mail server of Python's own takes its time on a busy machine.
const PATIENT: [(&str, &str); 1] = [("BELFRY_PROVIDER_TIME_LIMIT", "10s")];
