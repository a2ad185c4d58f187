//! What a deployment names of the outside world, answered by the stand-ins of this host: where providers answer, who we
//! are to them, and the secrets that we share with them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use rcgen::{KeyPair, PKCS_RSA_SHA256, RsaKeySize};
use serde_json::json;

use crate::template::Function;

/// Parameters that a deployment must give.
pub const PARAMETERS: [(&str, &str); 7] = [
    ("JwtIssuer", "https://issuer.example.com"),
    ("JwtAudience", "belfry"),
    ("EmailFrom", "Belfry <belfry@example.com>"),
    ("EmailIdentity", "example.com"),
    ("SmsOrigination", "arn:aws:sms-voice:us-east-1:000000000000:pool/pool-belfry"),
    ("FcmServiceAccountSecret", "fcm-service-account"),
    ("PaymentKeySecret", "payment-key"),
];

/// The key of the service account that asks the stand-in for access tokens: it must be RSA, which takes a while to make,
/// so one process makes one.
static ACCOUNT_KEY: LazyLock<String> = LazyLock::new(|| {
    let key = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048);
    key.map(|key| key.serialize_pem()).unwrap_or_default()
});

/// What this host says of the outside world.
pub struct Outside {
    /// Where the stand-ins answer: hardly a deployment has such settings, so they are told to everybody.
    stand_ins: BTreeMap<String, String>,
    /// In place of what the template says.
    named: BTreeMap<String, String>,
}

impl Outside {
    /// The host answers at `url`, the stand-ins at `providers`.
    pub fn new(url: &str, providers: &str) -> Self {
        let secret: [u8; 32] = rand::random();
        let mut named = known_at(providers);
        named.insert("BELFRY_PUBLIC_URL".to_owned(), url.to_owned());
        named.insert("BELFRY_UNSUBSCRIBE_KEY".to_owned(), hex::encode(secret));
        Self { stand_ins: stand_ins_at(providers), named }
    }

    /// What one function is told: of what a deployment says, only what the template tells it, so that a function which
    /// would miss a setting when deployed misses it here.
    pub fn settings(&self, function: &Function) -> BTreeMap<String, String> {
        let named = self.named.iter().filter(|(name, _)| function.environment.contains_key(*name));
        self.stand_ins.iter().chain(named).map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

/// The settings that make every provider answer at one URL: those of somebody whom this host does not outlive.
pub fn providers_at(url: &str) -> BTreeMap<String, String> {
    let mut settings = stand_ins_at(url);
    settings.extend(known_at(url));
    settings
}

fn stand_ins_at(url: &str) -> BTreeMap<String, String> {
    owned([
        ("BELFRY_SES_ENDPOINT_URL", url.to_owned()),
        ("BELFRY_SMS_ENDPOINT_URL", url.to_owned()),
        ("BELFRY_FCM_URL", url.to_owned()),
        ("BELFRY_PAYMENT_URL", url.to_owned()),
        ("BELFRY_SLACK_ENDPOINT_URL", format!("{url}/slack")),
    ])
}

/// What a deployment would know of the providers.
fn known_at(url: &str) -> BTreeMap<String, String> {
    let account = json!({
        "type": "service_account",
        "project_id": "belfry-local",
        "private_key_id": "local",
        "private_key": ACCOUNT_KEY.as_str(),
        "client_email": "belfry@belfry-local.iam.gserviceaccount.com",
        "token_uri": format!("{url}/token"),
    });
    owned([
        ("BELFRY_FCM_SERVICE_ACCOUNT", account.to_string()),
        ("BELFRY_PAYMENT_KEY", "sk_test_of_the_stand_in".to_owned()),
        // Whatever host a webhook names, the stand-in gets it.
        ("BELFRY_SLACK_HOSTS", "*".to_owned()),
    ])
}

fn owned<const N: usize>(settings: [(&str, String); N]) -> BTreeMap<String, String> {
    settings.map(|(name, value)| (name.to_owned(), value)).into()
}
