//! One call: a request under its key, again if it failed for now, and all of it before a deadline.

use std::time::Duration;

use domain::backoff::Backoff;
use outside::http;
use reqwest::header::AUTHORIZATION;
use reqwest::{Client, RequestBuilder};
use runtime::Secret;
use tokio::time::{Instant, sleep, timeout_at};

use crate::account::Account;
use crate::answer::Answer;
use crate::{NotDone, Reason};

/// How often a request is made, and how many time limits a call may take.
pub(crate) const ATTEMPTS: u32 = 3;

/// Short: whoever calls holds a message meanwhile, and its queue can wait longer.
const WAITS: Backoff = Backoff {
    base: Duration::from_millis(100),
    cap: Duration::from_millis(200),
    least: Duration::ZERO,
    jitter: (0.5, 1.5),
};

/// The way to the provider.
#[derive(Debug)]
pub(crate) struct Way {
    pub(crate) client: Client,
    /// Without a slash at its end.
    pub(crate) base: String,
    /// Who we are to the provider.
    pub(crate) account: Secret<Account>,
    pub(crate) limit: Duration,
}

pub(crate) struct Call<'a> {
    way: &'a Way,
    deadline: Instant,
}

impl Way {
    pub(crate) fn call(&self) -> Call<'_> {
        Call { way: self, deadline: Instant::now() + self.limit * ATTEMPTS }
    }
}

impl Call<'_> {
    pub(crate) async fn post(&self, path: &str, form: &[(&str, &str)], key: &str) -> Result<Answer, NotDone> {
        let request = || self.way.client.post(self.url(path)).header("Idempotency-Key", key).form(form);
        self.attempt(ATTEMPTS, request).await
    }

    pub(crate) async fn get(&self, path: &str, attempts: u32) -> Result<Answer, NotDone> {
        self.attempt(attempts, || self.way.client.get(self.url(path))).await
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.way.base)
    }

    /// Tries again what failed for now; and once with another key, where the provider refuses the one that it was shown
    /// and the secret has changed.
    async fn attempt(&self, attempts: u32, request: impl Fn() -> RequestBuilder) -> Result<Answer, NotDone> {
        let account = timeout_at(self.deadline, self.way.account.current()).await;
        let mut account = match account {
            Ok(Ok(account)) => account,
            Ok(Err(_)) | Err(_) => return Err(NotDone::Transient(Reason::word("its secret is not available"))),
        };
        let mut attempt = 1;
        let mut replaced = false;
        loop {
            let failed = match self.once(request(), &account).await {
                Err(NotDone::Transient(reason)) => NotDone::Transient(reason),
                Ok(Answer::Not(status @ (401 | 403), failure)) => {
                    // Somebody has rotated the key, or has to mend it: either way nothing is wrong with the payment.
                    let fresh = timeout_at(self.deadline, self.way.account.replacement(&account)).await;
                    match fresh.ok().flatten().filter(|_| !replaced) {
                        Some(fresh) => (account, replaced) = (fresh, true),
                        None => return Err(NotDone::Transient(failure.reason(status))),
                    }
                    continue;
                }
                end => return end,
            };
            let wait = WAITS.after(attempt, rand::random());
            if attempt >= attempts || Instant::now() + wait >= self.deadline {
                return Err(failed);
            }
            sleep(wait).await;
            attempt += 1;
        }
    }

    async fn once(&self, request: RequestBuilder, account: &Account) -> Result<Answer, NotDone> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(NotDone::Transient(Reason::word("no time left")));
        }
        let request = request.header(AUTHORIZATION, &account.authorization).timeout(left.min(self.way.limit));
        let answer = request.send().await.map_err(|error| unanswered(&error))?;
        let status = answer.status().as_u16();
        Answer::read(status, &http::body(answer).await)
    }
}

fn unanswered(error: &reqwest::Error) -> NotDone {
    if error.is_builder() {
        return NotDone::Refused(Reason::word("a request that cannot be made"));
    }
    NotDone::Transient(Reason::word(if error.is_connect() {
        "no connection"
    } else if error.is_timeout() {
        "no answer in time"
    } else {
        "the connection broke before the answer"
    }))
}
