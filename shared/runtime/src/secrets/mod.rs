//! Secrets: a setting holds the ARN, and the value is fetched from Secrets Manager at first use.
//!
//! A value is kept for five minutes. When it cannot be fetched again, the last one stays in use. A provider that refuses
//! a value has it fetched at once, so a rotated key arrives without a restart. What is wrong is logged once, with the
//! name of the setting and never with the content.

mod client;
mod known;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_smithy_async::time::SharedTimeSource;
use aws_types::SdkConfig;
use domain::unsubscribe::UnsubscribeKey;

use self::client::{Client, Failure, Stage};
use self::known::{Known, Version, Wanted};
use crate::{BadSetting, Settings};

type Parse<T> = Box<dyn Fn(&str) -> Result<T, &'static str> + Send + Sync>;

/// A secret of Secrets Manager, parsed.
pub struct Secret<T> {
    setting: &'static str,
    id: String,
    parse: Parse<T>,
    with_previous: bool,
    client: Client,
    clock: SharedTimeSource,
    known: Mutex<Known<T>>,
    /// Held by whoever fetches: one call answers all who wait.
    fetching: tokio::sync::Mutex<()>,
}

/// A secret could not be fetched, or is not what it should be. The log has the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: the secret is not available")]
pub struct Unavailable {
    /// The setting that names the secret.
    pub setting: &'static str,
}

/// The versions of a secret.
#[derive(Debug)]
pub struct Versions<T> {
    /// `AWSCURRENT`.
    pub current: Arc<T>,
    /// `AWSPREVIOUS`, where it was asked for and there is one.
    pub previous: Option<Arc<T>>,
}

/// `BELFRY_UNSUBSCRIBE_SECRET`: the key that links to unsubscribe with are signed with, as plain text.
pub fn unsubscribe(settings: &Settings, aws: &SdkConfig) -> Result<Secret<UnsubscribeKey>, BadSetting> {
    let parse = |text: &str| UnsubscribeKey::parse(text).map_err(|_| "has fewer than 32 characters");
    Secret::from_settings(settings, aws, "BELFRY_UNSUBSCRIBE_SECRET", parse)
}

impl<T> Secret<T> {
    /// The secret whose ARN or name this setting holds. Nothing is fetched yet.
    pub fn from_settings(
        settings: &Settings,
        aws: &SdkConfig,
        setting: &'static str,
        parse: impl Fn(&str) -> Result<T, &'static str> + Send + Sync + 'static,
    ) -> Result<Self, BadSetting> {
        Ok(Self {
            setting,
            id: settings.text(setting)?,
            parse: Box::new(parse),
            with_previous: false,
            client: Client::new(aws),
            clock: client::clock(aws),
            known: Mutex::default(),
            fetching: tokio::sync::Mutex::default(),
        })
    }

    /// Fetches the previous version too.
    pub fn with_previous(self) -> Self {
        Self { with_previous: true, ..self }
    }

    /// The current version.
    pub async fn current(&self) -> Result<Arc<T>, Unavailable> {
        self.versions().await.map(|versions| versions.current)
    }

    /// The current and the previous version.
    pub async fn versions(&self) -> Result<Versions<T>, Unavailable> {
        self.get(Wanted::Fresh).await
    }

    /// The versions as they are now: fetched again, unless that was done a moment ago.
    pub async fn refetched(&self) -> Result<Versions<T>, Unavailable> {
        self.get(Wanted::Refetched).await
    }

    /// What to use in place of a version that a provider has refused: the current one, if it is another.
    pub async fn replacement(&self, refused: &Arc<T>) -> Option<Arc<T>> {
        let is_other = |current: &Arc<T>| !Arc::ptr_eq(current, refused);
        let known = self.known().current.as_ref().map(|version| Arc::clone(&version.value));
        match known.filter(is_other) {
            Some(current) => Some(current),
            None => self.refetched().await.ok().map(|versions| versions.current).filter(is_other),
        }
    }

    async fn get(&self, wanted: Wanted) -> Result<Versions<T>, Unavailable> {
        if self.known().is_settled(wanted, self.clock.now()) {
            return self.answer();
        }
        let _fetching = match self.fetching.try_lock() {
            Ok(fetching) => fetching,
            // Whoever has a value need not wait for the next one.
            Err(_) if wanted == Wanted::Fresh && self.known().current.is_some() => return self.answer(),
            Err(_) => self.fetching.lock().await,
        };
        // Whoever fetched it meanwhile fetched it for all who waited.
        if self.known().is_settled(wanted, self.clock.now()) {
            return self.answer();
        }
        let fetched = self.fetch().await;
        self.learn(fetched, wanted);
        self.answer()
    }

    async fn fetch(&self) -> Result<(String, Option<String>), Failure> {
        let current = self.client.fetch(&self.id, Stage::Current);
        if !self.with_previous {
            return Ok((current.await?, None));
        }
        let (current, previous) = tokio::join!(current, self.client.fetch(&self.id, Stage::Previous));
        let current = current?;
        match previous {
            // It was never rotated.
            Err(failure) if failure.is_not_found() => Ok((current, None)),
            previous => Ok((current, Some(previous?))),
        }
    }

    fn learn(&self, fetched: Result<(String, Option<String>), Failure>, wanted: Wanted) {
        let now = self.clock.now();
        let mut known = self.known();
        known.fetched_at = Some(now);
        if wanted == Wanted::Refetched {
            known.refetched_at = Some(now);
        }
        let parsed = fetched.and_then(|(current, previous)| {
            let current = self.parsed(current, &known).map_err(Failure::Content)?;
            // A previous version that is of no use is as good as none.
            Ok((current, previous.and_then(|previous| self.parsed(previous, &known).ok())))
        });
        let failure = match parsed {
            Ok((current, previous)) => {
                (known.current, known.previous) = (Some(current), previous);
                None
            }
            Err(failure) => Some(failure),
        };
        if failure != known.failure {
            self.log(failure.as_ref(), known.current.is_some());
        }
        known.failure = failure;
    }

    /// A text that is known keeps its value, so that who holds one can tell whether it has changed.
    fn parsed(&self, text: String, known: &Known<T>) -> Result<Version<T>, &'static str> {
        let mut versions = known.current.iter().chain(&known.previous);
        let value = match versions.find(|version| version.text == text) {
            Some(version) => Arc::clone(&version.value),
            None => Arc::new((self.parse)(&text)?),
        };
        Ok(Version { text, value })
    }

    fn log(&self, failure: Option<&Failure>, has_value: bool) {
        let setting = self.setting;
        match failure {
            None => tracing::info!(setting, "secret available again"),
            Some(reason) if has_value && !reason.is_lasting() => {
                tracing::warn!(setting, %reason, "secret not refreshed, the last value stays in use");
            }
            Some(reason) if has_value => {
                tracing::error!(setting, %reason, "secret not refreshed, the last value stays in use");
            }
            Some(reason) => tracing::error!(setting, %reason, "secret not available"),
        }
    }

    fn answer(&self) -> Result<Versions<T>, Unavailable> {
        let known = self.known();
        let value = |version: &Version<T>| Arc::clone(&version.value);
        match &known.current {
            Some(current) => Ok(Versions { current: value(current), previous: known.previous.as_ref().map(value) }),
            None => Err(Unavailable { setting: self.setting }),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known<T>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Neither the value nor what it is parsed from.
impl<T> std::fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secret").field("setting", &self.setting).field("id", &self.id).finish_non_exhaustive()
    }
}
