//! What a deployment names of the outside world, answered by the stand-ins of this host: where providers answer, and the
//! secrets that we share with them.

use std::collections::BTreeMap;

use providers::{Providers, SERVICE_ACCOUNT_KEY, Secrets};
use serde_json::{Value, json};

use crate::template::Function;

/// Parameters that a deployment must give.
pub const PARAMETERS: [(&str, &str); 4] = [
    ("JwtIssuer", "https://issuer.example.com"),
    ("JwtAudience", "belfry"),
    ("EmailFrom", "belfry@example.com"),
    ("SmsOrigination", "arn:aws:sms-voice:us-east-1:000000000000:pool/pool-belfry"),
];

/// Parameters that name a secret, and how the secret's name ends.
const SECRETS: [(&str, &str); 2] = [("FcmSecret", "fcm"), ("PaymentSecret", "payment")];

/// The secret that the template creates, and how its name ends.
const UNSUBSCRIBE: (&str, &str) = ("UnsubscribeSecret", "unsubscribe");

/// What this host says of the outside world.
pub struct Outside {
    /// Where the stand-ins answer: hardly a deployment has such settings, so they are told to everybody.
    stand_ins: BTreeMap<String, String>,
    /// In place of what the template says.
    named: BTreeMap<String, String>,
}

/// The parameters that a deployment must give.
pub fn parameters(stack: &str) -> BTreeMap<String, String> {
    let secrets = SECRETS.map(|(parameter, end)| (parameter, Secrets::arn(&format!("{stack}-{end}"))));
    let others = PARAMETERS.map(|(parameter, value)| (parameter, value.to_owned()));
    secrets.into_iter().chain(others).map(|(parameter, value)| (parameter.to_owned(), value)).collect()
}

/// The ARNs of the secrets that the template creates, by their logical ids.
pub fn created_secrets(stack: &str) -> BTreeMap<String, String> {
    let (logical_id, end) = UNSUBSCRIBE;
    [(logical_id.to_owned(), Secrets::arn(&format!("{stack}-{end}")))].into()
}

/// Creates the secrets of a stack; that of the mail server for whoever has one. Access tokens of FCM are given out at `token_server`.
pub fn create_secrets(providers: &Providers, stack: &str, token_server: &str) {
    let random: [u8; 32] = rand::random();
    let values = [
        ("unsubscribe", hex::encode(random)),
        ("fcm", service_account(token_server).to_string()),
        ("smtp", json!({"username": "belfry", "password": "belfry"}).to_string()),
        ("payment", json!({"key": "sk_test_of_the_stand_in", "webhook_secrets": []}).to_string()),
    ];
    for (end, value) in values {
        providers.secrets().put(&format!("{stack}-{end}"), value);
    }
    providers.know_payment_secret(&format!("{stack}-payment"));
}

impl Outside {
    /// The host answers at `url`, the stand-ins at `providers`.
    pub fn new(url: &str, providers: &str) -> Self {
        let mut named = known();
        named.insert("BELFRY_PUBLIC_URL".to_owned(), url.to_owned());
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
    settings.extend(known());
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

/// What a deployment would know of the providers. Whatever host a webhook names, the stand-in gets it.
fn known() -> BTreeMap<String, String> {
    owned([("BELFRY_SLACK_HOSTS", "*".to_owned())])
}

fn service_account(token_server: &str) -> Value {
    json!({
        "type": "service_account",
        "project_id": "belfry-local",
        "private_key_id": "local",
        "private_key": SERVICE_ACCOUNT_KEY,
        "client_email": "belfry@belfry-local.iam.gserviceaccount.com",
        "token_uri": format!("{}/token", token_server.trim_end_matches('/')),
    })
}

fn owned<const N: usize>(settings: [(&str, String); N]) -> BTreeMap<String, String> {
    settings.map(|(name, value)| (name.to_owned(), value)).into()
}
