//! Metrics in CloudWatch's embedded metric format: one JSON line per unit of work, which CloudWatch turns into metrics.
//!
//! Every line is written at once. A queue behind a background thread would be faster and could be lost: Lambda freezes
//! a function as soon as it has answered.

use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use metrique::emf::Emf;
use metrique::unit_of_work::metrics;
use metrique::writer::sink::FlushImmediately;
use metrique::writer::{BoxEntrySink, FormatExt};

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

impl Metrics {
    /// To standard output, where Lambda's log is.
    pub fn to_stdout() -> Self {
        Self::to_each(io::stdout)
    }

    /// To wherever `writer` writes; it is asked anew for every line.
    pub fn to_each<W: io::Write>(writer: impl Fn() -> W + Send + Sync + 'static) -> Self {
        let writer = Arc::new(writer);
        let stream = Emf::builder(NAMESPACE.to_owned(), vec![vec![]]).build().output_to_makewriter(move || writer());
        Self { sink: FlushImmediately::new_boxed(stream) }
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
