//! Metrics in CloudWatch's embedded metric format: one JSON line per unit of work.
//!
//! Every line is written at once. A queue behind a background thread would be faster, and could be lost: Lambda freezes a
//! function as soon as it has responded.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use belfry_core::Settings;
use metrique::emf::Emf;
use metrique::unit::Millisecond;
use metrique::unit_of_work::metrics;
use metrique::writer::sink::FlushImmediately;
use metrique::writer::{BoxEntrySink, FormatExt};

/// The namespace of stacks that do not name one.
const NAMESPACE: &str = "Belfry";

/// Where metrics go.
#[derive(Clone)]
pub struct Metrics {
    sink: BoxEntrySink,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandOutcome {
    /// It took effect.
    Accepted,
    /// The state did not allow it.
    Refused,
    /// Its stored response was returned.
    Replayed,
    /// Its key was used for a different request.
    Conflicted,
    /// It lost too many races.
    Contended,
    /// DynamoDB could not be reached, or something unexpected went wrong.
    Failed,
}

impl CommandOutcome {
    /// The name in logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "ACCEPTED",
            Self::Refused => "REFUSED",
            Self::Replayed => "REPLAYED",
            Self::Conflicted => "CONFLICTED",
            Self::Contended => "CONTENDED",
            Self::Failed => "FAILED",
        }
    }
}

#[metrics(emf::dimension_sets = [["Command"], []], rename_all = "PascalCase")]
struct CommandMetrics {
    #[metrics(timestamp)]
    timestamp: SystemTime,
    command: &'static str,
    accepted: u32,
    refused: u32,
    replayed: u32,
    conflicted: u32,
    contended: u32,
    failed: u32,
    raced: u32,
}

/// What a batch of one consumer came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Consumed {
    /// Messages whose effect was committed.
    pub processed: u32,
    /// Messages that had been processed before.
    pub duplicates: u32,
    /// Messages that will be retried.
    pub retried: u32,
    /// Messages that were moved to the dead letters.
    pub dead_letters: u32,
}

#[metrics(emf::dimension_sets = [["Consumer"], []], rename_all = "PascalCase")]
struct ConsumerMetrics {
    #[metrics(timestamp)]
    timestamp: SystemTime,
    consumer: String,
    processed: u32,
    duplicates_skipped: u32,
    retried: u32,
    dead_letters: u32,
}

/// What a batch of the relay or a run of the sweeper came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Relayed {
    /// Events that every destination has.
    pub published: u32,
    /// Events that did not get out this time.
    pub unpublished: u32,
    /// Events that are FAILED now.
    pub failed: u32,
    /// Events that were PUBLISHED before.
    pub skipped: u32,
    /// How long each published event took from its commit to its last queue.
    pub lag: Vec<Duration>,
}

#[metrics(emf::dimension_sets = [["Relay"], []], rename_all = "PascalCase")]
struct RelayMetrics {
    #[metrics(timestamp)]
    timestamp: SystemTime,
    relay: &'static str,
    relayed: u32,
    not_relayed: u32,
    outbox_failed: u32,
    #[metrics(unit = Millisecond)]
    relay_lag: Option<Duration>,
}

impl Metrics {
    /// To standard output, where Lambda's log is.
    pub fn to_stdout() -> Self {
        Self::in_namespace(NAMESPACE.to_owned(), io::stdout)
    }

    /// To standard output, in the namespace that `BELFRY_METRICS_NAMESPACE` names: two stacks of one account must not ring
    /// each other's alarms.
    pub fn read(settings: &Settings) -> Self {
        Self::in_namespace(settings.text_or("BELFRY_METRICS_NAMESPACE", NAMESPACE), io::stdout)
    }

    /// To wherever `writer` writes. It is asked anew for every line.
    pub fn to_each<W: io::Write>(writer: impl Fn() -> W + Send + Sync + 'static) -> Self {
        Self::in_namespace(NAMESPACE.to_owned(), writer)
    }

    fn in_namespace<W: io::Write>(namespace: String, writer: impl Fn() -> W + Send + Sync + 'static) -> Self {
        let writer = Arc::new(writer);
        let stream = Emf::builder(namespace, vec![vec![]]).build().output_to_makewriter(move || writer());
        Self { sink: FlushImmediately::new_boxed(stream) }
    }

    /// Where an application's own metrics go: append an entry of `metrique` to it.
    pub fn sink(&self) -> BoxEntrySink {
        self.sink.clone()
    }

    /// Counts one batch of a consumer.
    pub fn consumed(&self, consumer: &str, consumed: &Consumed) {
        let entry = ConsumerMetrics {
            timestamp: SystemTime::now(),
            consumer: consumer.to_owned(),
            processed: consumed.processed,
            duplicates_skipped: consumed.duplicates,
            retried: consumed.retried,
            dead_letters: consumed.dead_letters,
        };
        drop(entry.append_on_drop(self.sink()));
    }

    /// Counts one batch of a relay, or one run of a sweeper. The lag is the longest of the batch.
    pub fn relayed(&self, relay: &'static str, relayed: &Relayed) {
        let entry = RelayMetrics {
            timestamp: SystemTime::now(),
            relay,
            relayed: relayed.published,
            not_relayed: relayed.unpublished,
            outbox_failed: relayed.failed,
            relay_lag: relayed.lag.iter().max().copied(),
        };
        drop(entry.append_on_drop(self.sink()));
    }

    /// Counts one command. The kernel does this for those that it executes.
    pub fn command(&self, command: &'static str, outcome: CommandOutcome, races: u32) {
        let count = |counted| u32::from(outcome == counted);
        let entry = CommandMetrics {
            timestamp: SystemTime::now(),
            command,
            accepted: count(CommandOutcome::Accepted),
            refused: count(CommandOutcome::Refused),
            replayed: count(CommandOutcome::Replayed),
            conflicted: count(CommandOutcome::Conflicted),
            contended: count(CommandOutcome::Contended),
            failed: count(CommandOutcome::Failed),
            raced: races,
        };
        drop(entry.append_on_drop(self.sink()));
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Keeps what is written.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("unpoisoned").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_command_is_one_line_that_cloudwatch_reads() {
        let kept = Kept::default();
        let writer = kept.clone();
        let metrics = Metrics::to_each(move || writer.clone());
        metrics.command("grant", CommandOutcome::Replayed, 2);
        let text = String::from_utf8(kept.0.lock().expect("unpoisoned").clone()).expect("text");
        assert_eq!(text.lines().count(), 1, "{text}");
        for part in [
            r#""Namespace":"Belfry""#,
            r#""Dimensions":[["Command"],[]]"#,
            r#""Command":"grant""#,
            r#""Replayed":1"#,
            r#""Accepted":0"#,
            r#""Raced":2"#,
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }
}
