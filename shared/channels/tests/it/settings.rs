//! Settings.

use channels::{Channels, Providers};
use domain::recipient::Channel;

use crate::{PATIENT, aws, device, kind, outgoing, settings};

const FROM: (&str, &str) = ("BELFRY_EMAIL_FROM", "bell@belfry.test");
const SMTP_URL: (&str, &str) = ("BELFRY_SMTP_URL", "smtps://mail.belfry.test");

fn problem(values: &[(&str, &str)]) -> String {
    Channels::from_settings(&settings(PATIENT, values), &aws()).err().expect("a problem").to_string()
}

#[test]
fn every_channel_has_its_provider() {
    let settings = settings(PATIENT, &[FROM, ("BELFRY_SMS_ORIGINATION", "Belfry"), ("BELFRY_FCM_SECRET", "fcm")]);
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
fn missing_setting_is_named() {
    assert_eq!(problem(&[]), "BELFRY_EMAIL_FROM is not set");
    assert_eq!(problem(&[FROM]), "BELFRY_SMS_ORIGINATION is not set");
    assert_eq!(problem(&[FROM, ("BELFRY_EMAIL_PROVIDER", "smtp")]), "BELFRY_SMTP_URL is not set");
    assert_eq!(problem(&[FROM, ("BELFRY_SMS_ORIGINATION", "B")]), "BELFRY_FCM_SECRET is not set");
}

#[test]
fn second_provider_differs_from_the_first() {
    let email = |values: &[(&str, &str)]| Providers::email(&settings(PATIENT, values), &aws());
    let providers = email(&[FROM, SMTP_URL, ("BELFRY_EMAIL_SECOND_PROVIDER", "smtp")]).unwrap();
    assert_eq!((providers.first.name(), providers.second.unwrap().name()), ("ses", "smtp"));
    let providers =
        email(&[FROM, SMTP_URL, ("BELFRY_EMAIL_PROVIDER", "smtp"), ("BELFRY_EMAIL_SECOND_PROVIDER", "ses")]);
    assert_eq!(providers.unwrap().first.name(), "smtp");
    assert!(email(&[FROM, ("BELFRY_EMAIL_SECOND_PROVIDER", "ses")]).is_err());
    let providers = email(&[FROM, SMTP_URL, ("BELFRY_EMAIL_SECOND_PROVIDER", "")]).unwrap();
    assert!(providers.second.is_none(), "empty means not set");
}

#[test]
fn plain_http_endpoint_is_refused_beyond_loopback() {
    for name in ["BELFRY_SES_ENDPOINT_URL", "BELFRY_SMS_ENDPOINT_URL", "BELFRY_FCM_URL"] {
        let required = [FROM, ("BELFRY_SMS_ORIGINATION", "B"), ("BELFRY_FCM_SECRET", "fcm")];
        let values = [&required[..], &[(name, "http://example.com")]].concat();
        assert!(problem(&values).starts_with(name));
    }
}

#[test]
fn project_that_is_unsafe_in_a_path_is_refused() {
    let values = [("BELFRY_FCM_SECRET", "fcm"), ("BELFRY_FCM_PROJECT", "../other")];
    let problem = Providers::push(&settings(PATIENT, &values), &aws()).err().unwrap().to_string();
    assert!(problem.starts_with("BELFRY_FCM_PROJECT must be a project id"), "{problem}");
}

#[tokio::test]
async fn address_of_another_channel_is_refused() {
    let channel = Providers::slack(&settings(PATIENT, &[])).unwrap();
    assert_eq!(kind(&channel.first.send(&outgoing(device())).await), "refused");
    assert_eq!(device().channel(), Channel::Push);
}
