//! One call: a request under its key, retried after transient errors, before a deadline.

use std::time::Duration;

use domain::backoff::Backoff;
use reqwest::header::AUTHORIZATION;
use reqwest::{Client, RequestBuilder};
use runtime::Secret;
use tokio::time::{Instant, sleep, timeout_at};

use crate::account::Account;
use crate::answer::Answer;
use crate::{PaymentError, Reason};

/// The attempts of a call, and the number of time limits that it may take.
pub(crate) const ATTEMPTS: u32 = 3;

/// Short, because the caller holds a queue message meanwhile; the queue's own retry waits longer.
const RETRY_BACKOFF: Backoff = Backoff {
    base: Duration::from_millis(100),
    cap: Duration::from_millis(200),
    least: Duration::ZERO,
    jitter: (0.5, 1.5),
};

/// The provider's API.
#[derive(Debug)]
pub(crate) struct Api {
    pub(crate) client: Client,
    /// The base URL without a trailing slash.
    pub(crate) base: String,
    pub(crate) account: Secret<Account>,
    pub(crate) limit: Duration,
}

pub(crate) struct Call<'a> {
    api: &'a Api,
    deadline: Instant,
}

impl Api {
    pub(crate) fn call(&self) -> Call<'_> {
        Call { api: self, deadline: Instant::now() + self.limit * ATTEMPTS }
    }
}

impl Call<'_> {
    pub(crate) async fn post(&self, path: &str, form: &[(&str, &str)], key: &str) -> Result<Answer, PaymentError> {
        let request = || self.api.client.post(self.url(path)).header("Idempotency-Key", key).form(form);
        self.attempt(ATTEMPTS, request).await
    }

    pub(crate) async fn get(&self, path: &str, attempts: u32) -> Result<Answer, PaymentError> {
        self.attempt(attempts, || self.api.client.get(self.url(path))).await
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.api.base)
    }

    /// Retries transient errors, and retries once with a new API key if the provider refused the old one and the secret
    /// has changed.
    async fn attempt(&self, attempts: u32, request: impl Fn() -> RequestBuilder) -> Result<Answer, PaymentError> {
        let account = timeout_at(self.deadline, self.api.account.current()).await;
        let mut account = match account {
            Ok(Ok(account)) => account,
            Ok(Err(_)) | Err(_) => return Err(PaymentError::Transient(Reason::text("secret is not available"))),
        };
        let mut attempt = 1;
        let mut replaced = false;
        loop {
            let failed = match self.send_once(request(), &account).await {
                Err(PaymentError::Transient(reason)) => PaymentError::Transient(reason),
                Ok(Answer::Refused(status @ (401 | 403), failure)) => {
                    // The key was rotated or an operator must replace it: the payment itself was not refused.
                    let fresh = timeout_at(self.deadline, self.api.account.replacement(&account)).await;
                    match fresh.ok().flatten().filter(|_| !replaced) {
                        Some(fresh) => (account, replaced) = (fresh, true),
                        None => return Err(PaymentError::Transient(failure.reason(status))),
                    }
                    continue;
                }
                result => return result,
            };
            let wait = RETRY_BACKOFF.after(attempt, rand::random());
            if attempt >= attempts || Instant::now() + wait >= self.deadline {
                return Err(failed);
            }
            sleep(wait).await;
            attempt += 1;
        }
    }

    async fn send_once(&self, request: RequestBuilder, account: &Account) -> Result<Answer, PaymentError> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(PaymentError::Transient(Reason::text("time limit reached")));
        }
        let request = request.header(AUTHORIZATION, &account.authorization).timeout(left.min(self.api.limit));
        let answer = request.send().await.map_err(|error| no_answer(&error))?;
        let status = answer.status().as_u16();
        Answer::parse(status, &provider_http::read_body(answer).await)
    }
}

fn no_answer(error: &reqwest::Error) -> PaymentError {
    if error.is_builder() {
        return PaymentError::Refused(Reason::text("cannot build the request"));
    }
    PaymentError::Transient(Reason::text(if error.is_connect() {
        "cannot connect"
    } else if error.is_timeout() {
        "no answer within the time limit"
    } else {
        "connection closed before the answer"
    }))
}
