//! The kernel's settings.

use std::collections::BTreeMap;
use std::time::Duration;

use belfry_core::{Backoff, BadSetting, RetryPolicy, Settings, Table};

use crate::tables::{Tables, logical};

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(86_400);

/// The kernel's settings, with the defaults of a production stack.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// The physical names of the tables.
    pub tables: Tables,
    /// The queues, by name.
    pub queues: BTreeMap<String, Queue>,
    /// The URL of every queue that is not in `queues`, up to its name.
    pub queue_url_prefix: Option<String>,
    /// How long a response is kept under its idempotency key.
    pub key_ttl: Duration,
    /// How long processed marks are kept. Longer than a message can exist, dead letter queues included.
    pub mark_retention: Duration,
    /// How long published events are kept; `None` keeps them forever.
    pub event_retention: Option<Duration>,
    /// How long the stream may take to publish an event before the sweeper looks after it.
    pub stream_grace: Duration,
    /// The waits between deliveries of a message, and between attempts to publish an event.
    pub backoff: Backoff,
    /// The attempts of one call to DynamoDB.
    pub retry: RetryPolicy,
    /// The receive on which a consumer gives up on a message that keeps failing.
    pub last_receive: u32,
    /// The refusals of a queue after which an event is FAILED.
    pub publish_attempts: u32,
    /// How many overdue events a sweeper claims at once.
    pub outbox_batch: u16,
    /// How long a sweeper's claim lasts.
    pub outbox_lease: Duration,
    consumer_name: fn(&str) -> String,
}

/// A queue and its consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// The name that destinations and dead letters use.
    pub name: String,
    /// The URL.
    pub url: String,
    /// The name of its consumer in processed marks, dead letters and metrics. The queue's name unless
    /// [`Config::name_consumers`] says otherwise.
    pub consumer: String,
}

impl Queue {
    /// The name of the resource, with which both the URL and the ARN end.
    pub(crate) fn resource_name(&self) -> &str {
        self.url.rsplit('/').next().unwrap_or_default()
    }
}

impl Config {
    /// The defaults.
    pub fn new(tables: Tables) -> Self {
        Self {
            tables,
            queues: BTreeMap::new(),
            queue_url_prefix: None,
            consumer_name: str::to_owned,
            key_ttl: DAY,
            mark_retention: DAY * 30,
            event_retention: Some(DAY * 400),
            stream_grace: SECOND * 60,
            backoff: Backoff::default(),
            retry: RetryPolicy::default(),
            last_receive: 5,
            publish_attempts: 10,
            outbox_batch: 50,
            outbox_lease: SECOND * 30,
        }
    }

    /// Adds a queue.
    #[must_use]
    pub fn queue(mut self, name: impl Into<String>, url: impl Into<String>) -> Self {
        let name = name.into();
        let queue = Queue { url: url.into(), consumer: (self.consumer_name)(&name), name: name.clone() };
        self.queues.insert(name, queue);
        self
    }

    /// Names consumers after their queues with this function.
    #[must_use]
    pub fn name_consumers(mut self, name: fn(&str) -> String) -> Self {
        self.consumer_name = name;
        for queue in self.queues.values_mut() {
            queue.consumer = name(&queue.name);
        }
        self
    }

    /// The queue of this name.
    pub fn queue_named(&self, name: &str) -> Option<Queue> {
        let prefixed = |prefix: &String| Queue {
            name: name.to_owned(),
            url: format!("{prefix}{name}"),
            consumer: (self.consumer_name)(name),
        };
        self.queues.get(name).cloned().or_else(|| self.queue_url_prefix.as_ref().map(prefixed))
    }

    /// Reads the variables of the process: table names, `BELFRY_…_QUEUE_URL` for each queue
    /// (`BELFRY_REMINDERS_QUEUE_URL` is the queue `reminders`) or `BELFRY_QUEUE_URL_PREFIX` for all of them, retention,
    /// backoff and limits.
    ///
    /// Applications read their own settings with the same [`Settings`] and call [`Settings::finish`] once.
    pub fn read(settings: &mut Settings) -> Self {
        let queues: Vec<(String, String)> =
            settings.between("BELFRY_", "_QUEUE_URL").map(|(name, url)| (logical(name), url.to_owned())).collect();
        let config = Self::new(Tables::read(settings));
        let config = queues.into_iter().fold(config, |config, (name, url)| config.queue(name, url));
        let event_retention = settings.duration("BELFRY_EVENT_RETENTION", DAY * 400, DAY);
        let expires = settings.flag("BELFRY_RETENTION_ENABLED", true);
        Self {
            queue_url_prefix: settings.optional("BELFRY_QUEUE_URL_PREFIX"),
            key_ttl: settings.duration("BELFRY_KEY_TTL", config.key_ttl, SECOND),
            // A message can wait 14 days in a dead letter queue.
            mark_retention: settings.duration("BELFRY_PROCESSED_RETENTION", config.mark_retention, DAY * 14),
            event_retention: expires.then_some(event_retention),
            stream_grace: settings.duration("BELFRY_OUTBOX_GRACE", config.stream_grace, Duration::ZERO),
            backoff: backoff(settings),
            last_receive: settings.whole("BELFRY_RECEIVE_COUNT", config.last_receive, 1..=1000),
            publish_attempts: settings.whole("BELFRY_OUTBOX_MAX_ATTEMPTS", config.publish_attempts, 1..=1000),
            outbox_batch: settings.whole("BELFRY_OUTBOX_BATCH", config.outbox_batch.into(), 1..=200) as u16,
            outbox_lease: settings.duration("BELFRY_OUTBOX_LEASE", config.outbox_lease, SECOND),
            ..config
        }
    }

    /// Reports each of these tables that has no name.
    pub fn require_tables(&self, settings: &mut Settings, tables: impl IntoIterator<Item = Table>) {
        self.tables.require(settings, tables);
    }

    /// Reports each of these queues that has no URL.
    pub fn require_queues<'a>(&self, settings: &mut Settings, queues: impl IntoIterator<Item = &'a str>) {
        for name in queues {
            if self.queue_named(name).is_none() {
                settings.mistake(BadSetting::new(format!("{} is not set", queue_variable(name))));
            }
        }
    }

    /// The queue whose resource has this name, as in the last part of an ARN.
    pub fn queue_of_resource(&self, name: &str) -> Option<Queue> {
        let listed = self.queues.values().find(|queue| queue.resource_name() == name).cloned();
        listed.or_else(|| {
            let prefix = self.queue_url_prefix.as_ref()?.rsplit('/').next()?;
            self.queue_named(name.strip_prefix(prefix)?)
        })
    }
}

/// The variable that holds a queue's URL.
pub(crate) fn queue_variable(name: &str) -> String {
    format!("BELFRY_{}_QUEUE_URL", name.to_uppercase().replace('-', "_"))
}

fn backoff(settings: &mut Settings) -> Backoff {
    let default = Backoff::default();
    let low = settings.decimal("BELFRY_BACKOFF_JITTER_MIN", default.jitter.0, 0.0..=10.0);
    Backoff {
        base: settings.duration("BELFRY_BACKOFF_BASE", default.base, Duration::from_millis(1)),
        cap: settings.duration("BELFRY_BACKOFF_MAX", default.cap, Duration::from_millis(1)),
        least: settings.duration("BELFRY_BACKOFF_MIN", default.least, Duration::ZERO),
        jitter: (low, settings.decimal("BELFRY_BACKOFF_JITTER_MAX", default.jitter.1.max(low), low..=10.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(values: &[(&str, &str)]) -> Settings {
        values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn queues_are_named_by_their_variables() {
        let mut settings = settings(&[("BELFRY_LATE_FEES_QUEUE_URL", "http://127.0.0.1/1/library-late-fees")]);
        let config = Config::read(&mut settings).name_consumers(|queue| format!("lambda:{queue}"));
        let queue = config.queue_of_resource("library-late-fees").expect("a queue");
        assert_eq!((queue.name.as_str(), queue.consumer.as_str()), ("late-fees", "lambda:late-fees"));
        config.require_queues(&mut settings, ["late-fees", "reminders"]);
        let mistakes = settings.finish().expect_err("one is missing").to_string();
        assert_eq!(mistakes, "BELFRY_REMINDERS_QUEUE_URL is not set");
    }

    #[test]
    fn queues_without_a_variable_have_the_prefix() {
        let mut settings = settings(&[("BELFRY_QUEUE_URL_PREFIX", "http://127.0.0.1/1/library-")]);
        let config = Config::read(&mut settings);
        let queue = config.queue_of_resource("library-late-fees").expect("a queue");
        assert_eq!((queue.name.as_str(), queue.url.as_str()), ("late-fees", "http://127.0.0.1/1/library-late-fees"));
        assert_eq!(config.queue_of_resource("other-late-fees"), None);
        config.require_queues(&mut settings, ["reminders"]);
        assert_eq!(settings.finish(), Ok(()));
    }

    #[test]
    fn the_upper_jitter_is_not_below_the_lower() {
        let mut settings = settings(&[("BELFRY_BACKOFF_JITTER_MIN", "0.9"), ("BELFRY_BACKOFF_JITTER_MAX", "0.8")]);
        Config::read(&mut settings);
        let mistakes = settings.finish().expect_err("contradictory").to_string();
        assert_eq!(mistakes, "BELFRY_BACKOFF_JITTER_MAX must be a number from 0.9 to 10, but is \"0.8\"");
    }

    #[test]
    fn events_are_kept_forever_if_retention_is_off() {
        let config = Config::read(&mut settings(&[("BELFRY_RETENTION_ENABLED", "false")]));
        assert_eq!(config.event_retention, None);
        assert_eq!(Config::read(&mut settings(&[])).event_retention, Some(DAY * 400));
    }
}
