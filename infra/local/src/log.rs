//! The log of the `belfry` program on standard error: one readable line per event, or JSON with `--log json`.

use std::fmt::{self, Debug};

use clap::ValueEnum;
use local::START;
use runtime::{BadSetting, Settings};
use tracing::{Event, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::{FormatFields, Writer, debug_fn};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormattedFields, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One line per event, for people.
    Text,
    /// One JSON object per line, as in Lambda.
    Json,
}

/// Logs to `writer` from the level in `BELFRY_LOG`. The steps of the start are always logged.
pub fn start_log<W>(format: LogFormat, settings: &Settings, writer: W) -> Result<(), BadSetting>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let targets = runtime::log_targets(settings, "warn")?.with_target(START, LevelFilter::INFO);
    let lines = tracing_subscriber::fmt::layer().with_writer(writer);
    let registry = tracing_subscriber::registry().with(targets);
    match format {
        // With all spans: the outermost one names the function.
        LogFormat::Json => registry.with(lines.json().flatten_event(true).with_span_list(true)).init(),
        LogFormat::Text => registry.with(lines.event_format(ReadableLine).fmt_fields(ReadableFields)).init(),
    }
    Ok(())
}

/// `12:03:11.042 WARN  payment provider unavailable   retry_in_s=30 function=PaymentFunction`
struct ReadableLine;

impl<S, N> FormatEvent<S, N> for ReadableLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let time = jiff::Timestamp::now().strftime("%H:%M:%S%.3f").to_string();
        write!(writer, "{time} {:<5}", event.metadata().level().as_str())?;
        context.format_fields(writer.by_ref(), event)?;
        for span in context.event_scope().into_iter().flatten() {
            if let Some(fields) = span.extensions().get::<FormattedFields<N>>() {
                write!(writer, "{fields}")?;
            }
        }
        writeln!(writer)
    }
}

/// The message, padded, and `name=value` for each field. A value is quoted only where it would not read as one word.
struct ReadableFields;

impl<'w> FormatFields<'w> for ReadableFields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'w>, fields: R) -> fmt::Result {
        debug_fn(|writer, field, value: &dyn Debug| {
            let text = format!("{value:?}");
            if field.name() == "message" {
                return write!(writer, " {text:<30}");
            }
            let unquoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
            let word = unquoted.filter(|word| !word.is_empty() && !word.contains([' ', '=', '"', '\\']));
            write!(writer, " {}={}", field.name(), word.unwrap_or(&text))
        })
        .format_fields(writer, fields)
    }
}
