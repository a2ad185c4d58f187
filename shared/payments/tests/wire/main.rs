//! The client against the stand-in, and against small servers for answers that the stand-in does not give.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

mod answers;
mod faults;
mod repetition;
mod settings;

use axum::Router;
use domain::order::Money;
use payments::{Confirmed, IntentId, PaymentProvider};
use providers::{Fault, Mode, Outcome, Providers, Secrets, Sent, Target};
use runtime::Settings;
use tokio::net::TcpListener;

const SECRET: &str = "sk_test_secret";

/// Far above what an answer on the loopback takes.
const PATIENT: &str = "20s";

/// For answers that do not come. Enough for a request to arrive on a busy machine.
const IMPATIENT: &str = "1s";

/// The stand-in, listening, and its client.
struct Stage {
    providers: Providers,
    url: String,
    provider: PaymentProvider,
}

impl Stage {
    async fn start() -> Self {
        let providers = Providers::new();
        let url = serve(providers.router()).await;
        // The stand-in holds the secret too, and takes no other key.
        providers.secrets().put("payment", secret(SECRET));
        providers.know_payment_secret("payment");
        let provider = with_secrets(&url, PATIENT, providers.secrets());
        Self { providers, url, provider }
    }

    fn fault(&self, mode: Mode, times: impl Into<Option<u32>>) {
        self.providers.set_fault(Fault { target: Target::Payment, mode, times: times.into() });
    }

    async fn created(&self) -> IntentId {
        self.provider.create("o-1", &total(), "create").await.unwrap()
    }

    async fn charged(&self) -> IntentId {
        let intent = self.created().await;
        assert_eq!(self.provider.confirm(&intent, "confirm").await, Ok(Confirmed::Succeeded));
        intent
    }

    fn sent(&self) -> Vec<Sent> {
        self.providers.sent(Some(Target::Payment))
    }

    /// Counts the requests to such a path that had an effect.
    fn done(&self, path_end: &str) -> usize {
        let did = |sent: &&Sent| {
            let call = sent.payment.as_ref().unwrap();
            let effective = matches!(sent.outcome, Outcome::Accepted | Outcome::AnswerDropped);
            effective && call.method == "POST" && call.path.ends_with(path_end)
        };
        self.sent().iter().filter(did).count()
    }
}

/// Serves on a free port for as long as the test's runtime lives.
async fn serve(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async { axum::serve(listener, router).await });
    url
}

fn configured(values: &[(&str, &str)]) -> Settings {
    values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn secret(key: &str) -> String {
    serde_json::json!({"key": key}).to_string()
}

fn provider(url: &str, limit: &str) -> PaymentProvider {
    let secrets = Secrets::default();
    secrets.put("payment", secret(SECRET));
    with_secrets(url, limit, &secrets)
}

fn with_secrets(url: &str, limit: &str, secrets: &Secrets) -> PaymentProvider {
    let values =
        [("BELFRY_PAYMENT_URL", url), ("BELFRY_PAYMENT_SECRET", "payment"), ("BELFRY_PROVIDER_TIME_LIMIT", limit)];
    PaymentProvider::from_settings(&configured(&values), &secrets.sdk_config()).unwrap()
}

fn total() -> Money {
    Money { amount: 1250, currency: "EUR".to_owned() }
}

fn intent() -> IntentId {
    IntentId::parse("pi_1").unwrap()
}
