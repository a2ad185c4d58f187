//! The parameters, settings and secrets with which functions reach the providers, here the local stand-ins.

use std::collections::BTreeMap;

use providers::{Providers, SERVICE_ACCOUNT_KEY, Secrets};
use serde_json::{Value, json};

use crate::template::Function;

/// Required parameters without secrets.
pub const PARAMETERS: [(&str, &str); 4] = [
    ("JwtIssuer", "https://issuer.example.com"),
    ("JwtAudience", "belfry"),
    ("EmailFrom", "belfry@example.com"),
    ("SmsOrigination", "arn:aws:sms-voice:us-east-1:000000000000:pool/pool-belfry"),
];

/// Parameters that name a secret, and the end of the secret's name.
const SECRETS: [(&str, &str); 2] = [("FcmSecret", "fcm"), ("PaymentSecret", "payment")];

/// The secret that the template creates, and the end of its name.
const UNSUBSCRIBE: (&str, &str) = ("UnsubscribeSecret", "unsubscribe");

/// The settings that point functions to the local providers.
pub struct ProviderSettings {
    /// For all functions: deployments do not set them.
    endpoints: BTreeMap<String, String>,
    /// For functions whose environment in the template has them.
    overrides: BTreeMap<String, String>,
}

/// The required parameters of a deployment.
pub fn parameters(stack: &str) -> BTreeMap<String, String> {
    let secrets = SECRETS.map(|(parameter, end)| (parameter, Secrets::arn(&format!("{stack}-{end}"))));
    let others = PARAMETERS.map(|(parameter, value)| (parameter, value.to_owned()));
    secrets.into_iter().chain(others).map(|(parameter, value)| (parameter.to_owned(), value)).collect()
}

/// The ARNs of the secrets that the template creates, by logical id.
pub fn created_secrets(stack: &str) -> BTreeMap<String, String> {
    let (logical_id, end) = UNSUBSCRIBE;
    [(logical_id.to_owned(), Secrets::arn(&format!("{stack}-{end}")))].into()
}

/// Creates the secrets of a stack, including one for an SMTP server. FCM access tokens come from `token_server`.
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

impl ProviderSettings {
    /// The host answers at `url`, the local providers at `providers`.
    pub fn new(url: &str, providers: &str) -> Self {
        let mut overrides = slack_hosts();
        overrides.insert("BELFRY_PUBLIC_URL".to_owned(), url.to_owned());
        Self { endpoints: endpoints_at(providers), overrides }
    }

    /// The settings of one function. A setting that the template does not give it is missing here as well.
    pub fn of_function(&self, function: &Function) -> BTreeMap<String, String> {
        let overrides = self.overrides.iter().filter(|(name, _)| function.environment.contains_key(*name));
        self.endpoints.iter().chain(overrides).map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

/// The settings that point functions to providers at one URL, for a program that runs its own providers.
pub fn providers_at(url: &str) -> BTreeMap<String, String> {
    let mut settings = endpoints_at(url);
    settings.extend(slack_hosts());
    settings
}

fn endpoints_at(url: &str) -> BTreeMap<String, String> {
    owned([
        ("BELFRY_SES_ENDPOINT_URL", url.to_owned()),
        ("BELFRY_SMS_ENDPOINT_URL", url.to_owned()),
        ("BELFRY_FCM_URL", url.to_owned()),
        ("BELFRY_PAYMENT_URL", url.to_owned()),
        ("BELFRY_SLACK_ENDPOINT_URL", format!("{url}/slack")),
    ])
}

/// The local provider receives webhooks for any host.
fn slack_hosts() -> BTreeMap<String, String> {
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
