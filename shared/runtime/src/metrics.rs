//! Metrics in CloudWatch's embedded metric format: one JSON line per unit of work, which CloudWatch turns into metrics.
//!
//! Every line is written at once. A queue behind a background thread would be faster and could be lost: Lambda freezes
//! a function as soon as it has answered.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use metrique::emf::Emf;
use metrique::unit::Millisecond;
use metrique::unit_of_work::metrics;
use metrique::writer::sink::FlushImmediately;
use metrique::writer::{BoxEntrySink, FormatExt};

use crate::{BadSetting, Settings};

/// Where no stack names its own.
const NAMESPACE: &str = "Belfry";

/// Where metrics go.
#[derive(Clone)]
pub struct Metrics {
    sink: BoxEntrySink,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It took effect.
    Accepted,
    /// The state did not allow it.
    Refused,
    /// It had been answered before.
    Replayed,
    /// Its key was used for another request.
    Conflicted,
    /// It lost too many races.
    Contended,
    /// The ledger could not be reached, or something unexpected went wrong.
    Failed,
}

impl Ended {
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
    /// Effects committed.
    pub processed: u32,
    /// Messages of events that had been processed already.
    pub duplicates: u32,
    /// Messages that come back.
    pub retried: u32,
    /// Messages given up on.
    pub dead_letters: u32,
}

/// What a batch of the relay or a run of the sweeper came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Relayed {
    /// Events that every subscribed queue has.
    pub published: u32,
    /// Events that did not get out this time.
    pub unpublished: u32,
    /// Entries that are an operator's case now.
    pub failed: u32,
    /// How long each published event took from its commit to its last queue.
    pub lag: Vec<Duration>,
}

/// What lies about that should not: an operator's cases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Anomalies {
    /// Entries past their time that are not published.
    pub overdue: u32,
    /// Entries that are FAILED.
    pub failed: u32,
    /// Dead letters that nobody has handled.
    pub open_dead_letters: u32,
    /// Dead letters that can no longer be redriven, and nobody has handled.
    pub stale_dead_letters: u32,
    /// Sends that are overdue although sweepers have sent for them.
    pub sends_stuck: u32,
    /// Sends that are held for an operator past their retention.
    pub sends_stale: u32,
    /// Orders that are past their deadline, and no sweeper has cancelled.
    pub orders_overdue: u32,
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

/// What became of one batch of a channel's messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delivered {
    /// The provider has taken these over.
    pub sent: u32,
    /// Given up, each a dead letter.
    pub failed: u32,
    /// There was nobody to send these to.
    pub skipped: u32,
    /// Uncertain, held for an operator.
    pub held: u32,
    /// To be tried again.
    pub retried: u32,
    /// There was nothing to do.
    pub duplicates: u32,
}

#[metrics(emf::dimension_sets = [["Channel"], []], rename_all = "PascalCase")]
struct DeliveryMetrics {
    #[metrics(timestamp)]
    timestamp: SystemTime,
    channel: &'static str,
    sent: u32,
    send_failed: u32,
    skipped: u32,
    held: u32,
    send_retried: u32,
    send_duplicates: u32,
}

#[metrics(emf::dimension_sets = [[]], rename_all = "PascalCase")]
struct EventsInMetrics {
    #[metrics(timestamp)]
    timestamp: SystemTime,
    events_accepted: usize,
    events_handed_in_again: usize,
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

#[metrics(emf::dimension_sets = [[]], rename_all = "PascalCase")]
struct AnomalyMetrics {
    #[metrics(timestamp)]
    timestamp: SystemTime,
    outbox_overdue: u32,
    outbox_standing_failed: u32,
    open_dead_letters: u32,
    stale_dead_letters: u32,
    sends_stuck: u32,
    sends_stale: u32,
    orders_overdue: u32,
}

impl Metrics {
    /// To standard output, where Lambda's log is, in the namespace `BELFRY_METRICS_NAMESPACE`: two stacks of one account
    /// must not ring each other's alarms.
    pub fn to_stdout(settings: &Settings) -> Result<Self, BadSetting> {
        let namespace = settings.text_or("BELFRY_METRICS_NAMESPACE", NAMESPACE);
        Ok(Self::in_namespace(namespace, io::stdout))
    }

    /// To wherever `writer` writes; it is asked anew for every line.
    pub fn to_each<W: io::Write>(writer: impl Fn() -> W + Send + Sync + 'static) -> Self {
        Self::in_namespace(NAMESPACE.to_owned(), writer)
    }

    /// To where the metrics of a function on the kernel go.
    pub fn of(sink: BoxEntrySink) -> Self {
        Self { sink }
    }

    fn in_namespace<W: io::Write>(namespace: String, writer: impl Fn() -> W + Send + Sync + 'static) -> Self {
        let writer = Arc::new(writer);
        let stream = Emf::builder(namespace, vec![vec![]]).build().output_to_makewriter(move || writer());
        Self { sink: FlushImmediately::new_boxed(stream) }
    }

    /// Counts events that a source handed in, and those of them that it had handed in before.
    pub fn events_in(&self, accepted: usize, duplicates: usize) {
        let entry = EventsInMetrics {
            timestamp: SystemTime::now(),
            events_accepted: accepted,
            events_handed_in_again: duplicates,
        };
        drop(entry.append_on_drop(self.sink.clone()));
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
        drop(entry.append_on_drop(self.sink.clone()));
    }

    /// Counts one batch of a channel.
    pub fn delivered(&self, channel: &'static str, delivered: &Delivered) {
        let entry = DeliveryMetrics {
            timestamp: SystemTime::now(),
            channel,
            sent: delivered.sent,
            send_failed: delivered.failed,
            skipped: delivered.skipped,
            held: delivered.held,
            send_retried: delivered.retried,
            send_duplicates: delivered.duplicates,
        };
        drop(entry.append_on_drop(self.sink.clone()));
    }

    /// Counts one batch of the relay, or one run of the sweeper. The lag is the longest of the batch.
    pub fn relayed(&self, relay: &'static str, relayed: &Relayed) {
        let entry = RelayMetrics {
            timestamp: SystemTime::now(),
            relay,
            relayed: relayed.published,
            not_relayed: relayed.unpublished,
            outbox_failed: relayed.failed,
            relay_lag: relayed.lag.iter().max().copied(),
        };
        drop(entry.append_on_drop(self.sink.clone()));
    }

    /// Counts what lies about that should not.
    pub fn anomalies(&self, anomalies: &Anomalies) {
        let entry = AnomalyMetrics {
            timestamp: SystemTime::now(),
            outbox_overdue: anomalies.overdue,
            outbox_standing_failed: anomalies.failed,
            open_dead_letters: anomalies.open_dead_letters,
            stale_dead_letters: anomalies.stale_dead_letters,
            sends_stuck: anomalies.sends_stuck,
            sends_stale: anomalies.sends_stale,
            orders_overdue: anomalies.orders_overdue,
        };
        drop(entry.append_on_drop(self.sink.clone()));
    }

    /// Counts one command.
    pub fn command(&self, command: &'static str, ended: Ended, races: u32) {
        let count = |counted| u32::from(ended == counted);
        let entry = CommandMetrics {
            timestamp: SystemTime::now(),
            command,
            accepted: count(Ended::Accepted),
            refused: count(Ended::Refused),
            replayed: count(Ended::Replayed),
            conflicted: count(Ended::Conflicted),
            contended: count(Ended::Contended),
            failed: count(Ended::Failed),
            raced: races,
        };
        drop(entry.append_on_drop(self.sink.clone()));
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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
        metrics.command("grant", Ended::Replayed, 2);
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
