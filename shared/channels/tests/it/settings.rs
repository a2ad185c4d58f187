//! What is set, and what stops a start.

use channels::{Channels, Providers};
use domain::recipient::Channel;

use crate::{PATIENT, aws, device, fate, fcm, outgoing, settings};

const FROM: (&str, &str) = ("BELFRY_EMAIL_FROM", "bell@belfry.test");
const SMTP_URL: (&str, &str) = ("BELFRY_SMTP_URL", "smtps://mail.belfry.test");

fn problem(values: &[(&str, &str)]) -> String {
    Channels::from_settings(&settings(PATIENT, values), &aws()).err().expect("a problem").to_string()
}

#[test]
fn every_channel_has_its_provider() {
    let account = fcm::service_account("https://oauth2.googleapis.com");
    let settings =
        settings(PATIENT, &[FROM, ("BELFRY_SMS_ORIGINATION", "Belfry"), ("BELFRY_FCM_SERVICE_ACCOUNT", &account)]);
    let channels = Channels::from_settings(&settings, &aws()).unwrap();
    for (channel, name) in [
        (Channel::Email, "ses"),
        (Channel::Sms, "end-user-messaging"),
        (Channel::Push, "fcm"),
        (Channel::Slack, "slack"),
    ] {
        let providers = channels.of(channel).unwrap();
        assert_eq!(providers.first.name(), name);
        assert!(providers.second.is_none() && !providers.first.takes_idempotency_key());
    }
    assert!(channels.of(Channel::Websocket).is_none());
}

#[test]
fn a_missing_setting_names_itself() {
    assert_eq!(problem(&[]), "BELFRY_EMAIL_FROM is not set");
    assert_eq!(problem(&[FROM]), "BELFRY_SMS_ORIGINATION is not set");
    assert_eq!(problem(&[FROM, ("BELFRY_EMAIL_PROVIDER", "smtp")]), "BELFRY_SMTP_URL is not set");
    assert_eq!(problem(&[FROM, ("BELFRY_SMS_ORIGINATION", "B")]), "BELFRY_FCM_SERVICE_ACCOUNT is not set");
}

#[test]
fn a_second_provider_is_another_one() {
    let email = |values: &[(&str, &str)]| Providers::email(&settings(PATIENT, values), &aws());
    let providers = email(&[FROM, SMTP_URL, ("BELFRY_EMAIL_SECOND_PROVIDER", "smtp")]).unwrap();
    assert_eq!((providers.first.name(), providers.second.unwrap().name()), ("ses", "smtp"));
    let providers =
        email(&[FROM, SMTP_URL, ("BELFRY_EMAIL_PROVIDER", "smtp"), ("BELFRY_EMAIL_SECOND_PROVIDER", "ses")]);
    assert_eq!(providers.unwrap().first.name(), "smtp");
    assert!(email(&[FROM, ("BELFRY_EMAIL_SECOND_PROVIDER", "ses")]).is_err());
    assert!(email(&[FROM, SMTP_URL, ("BELFRY_EMAIL_SECOND_PROVIDER", "")]).is_err());
}

#[test]
fn no_endpoint_is_plain_http_beyond_the_loopback() {
    for name in ["BELFRY_SES_ENDPOINT_URL", "BELFRY_SMS_ENDPOINT_URL", "BELFRY_FCM_URL"] {
        let account = fcm::service_account("https://oauth2.googleapis.com");
        let values = [
            FROM,
            ("BELFRY_SMS_ORIGINATION", "B"),
            ("BELFRY_FCM_SERVICE_ACCOUNT", account.as_str()),
            (name, "http://example.com"),
        ];
        assert!(problem(&values).starts_with(name));
    }
}

#[test]
fn a_service_account_is_not_shown_when_it_is_wrong() {
    for wrong in ["{", r#"{"client_email": "secret", "private_key": "secret", "token_uri": "https://secret"}"#] {
        let problem =
            Providers::push(&settings(PATIENT, &[("BELFRY_FCM_SERVICE_ACCOUNT", wrong)])).err().unwrap().to_string();
        assert!(problem.starts_with("BELFRY_FCM_SERVICE_ACCOUNT must be JSON") && !problem.contains("secret"));
    }
    let unsafe_ = fcm::service_account("http://example.com");
    assert!(Providers::push(&settings(PATIENT, &[("BELFRY_FCM_SERVICE_ACCOUNT", &unsafe_)])).is_err());
}

#[tokio::test]
async fn another_channels_address_is_refused() {
    let channel = Providers::slack(&settings(PATIENT, &[])).unwrap();
    assert_eq!(fate(&channel.first.send(&outgoing(device())).await), "refused");
    assert_eq!(device().channel(), Channel::Push);
}
