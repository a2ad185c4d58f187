//! What a deployment names of the outside world, answered by the stand-ins of this host: where providers answer, who we
//! are to them, and the secrets that we share with them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use rcgen::{KeyPair, PKCS_RSA_SHA256, RsaKeySize};
use serde_json::json;

/// Parameters that a deployment must give.
pub const PARAMETERS: [(&str, &str); 4] = [
    ("EmailFrom", "Belfry <belfry@example.com>"),
    ("SmsOrigination", "BELFRY"),
    ("FcmServiceAccountSecret", "fcm-service-account"),
    ("PaymentKeySecret", "payment-key"),
];

/// The key of the service account that asks the stand-in for access tokens: it must be RSA, which takes a while to make,
/// so one process makes one.
static ACCOUNT_KEY: LazyLock<String> = LazyLock::new(|| {
    let key = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048);
    key.map(|key| key.serialize_pem()).unwrap_or_default()
});

/// The settings of every function on this host.
pub fn settings(url: &str, providers: &str) -> BTreeMap<String, String> {
    let secret: [u8; 32] = rand::random();
    let secret: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut settings = providers_at(providers);
    settings.insert("BELFRY_PUBLIC_URL".to_owned(), url.to_owned());
    settings.insert("BELFRY_UNSUBSCRIBE_KEY".to_owned(), secret);
    settings
}

/// The settings that make every channel's provider answer at one URL: the stand-ins of this host, or those of somebody
/// whom this host does not outlive.
pub fn providers_at(url: &str) -> BTreeMap<String, String> {
    let account = json!({
        "type": "service_account",
        "project_id": "belfry-local",
        "private_key_id": "local",
        "private_key": ACCOUNT_KEY.as_str(),
        "client_email": "belfry@belfry-local.iam.gserviceaccount.com",
        "token_uri": format!("{url}/token"),
    });
    [
        ("BELFRY_SES_ENDPOINT_URL", url.to_owned()),
        ("BELFRY_SMS_ENDPOINT_URL", url.to_owned()),
        ("BELFRY_FCM_SERVICE_ACCOUNT", account.to_string()),
        ("BELFRY_FCM_URL", url.to_owned()),
        ("BELFRY_PAYMENT_URL", url.to_owned()),
        ("BELFRY_PAYMENT_KEY", "sk_test_of_the_stand_in".to_owned()),
        ("BELFRY_SLACK_ENDPOINT_URL", format!("{url}/slack")),
        // Whatever host a webhook names, the stand-in gets it.
        ("BELFRY_SLACK_HOSTS", "*".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}
