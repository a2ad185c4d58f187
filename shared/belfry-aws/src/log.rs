//! Logs: JSON lines with ids as fields. Never a body, an address or a token.

use std::str::FromStr;

use belfry_core::Settings;
use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// Crates whose messages below WARN may contain bodies and credentials.
const FOREIGN: [&str; 16] = [
    "aws_",
    "axum",
    "h2",
    "hyper",
    "lambda_",
    "lettre",
    "log",
    "mio",
    "minijinja",
    "reqwest",
    "rustls",
    "tokio",
    "tower",
    "tracing",
    "tungstenite",
    "want",
];

/// Whether a message may be logged at this level: messages of the application and the kernel from `level` on, those of
/// other crates from WARN on.
pub fn is_logged(metadata: &tracing::Metadata<'_>, level: LevelFilter) -> bool {
    let is_foreign = FOREIGN.iter().any(|crate_name| metadata.target().starts_with(crate_name));
    *metadata.level() <= if is_foreign { level.min(LevelFilter::WARN) } else { level }
}

/// The level that `BELFRY_LOG` names.
pub fn level(settings: &mut Settings, default: &'static str) -> LevelFilter {
    let level = settings.one_of("BELFRY_LOG", default, &["error", "warn", "info", "debug"]);
    LevelFilter::from_str(level).unwrap_or(LevelFilter::WARN)
}

/// Logs JSON lines to `writer`, from the level in `BELFRY_LOG`.
pub fn json<W>(settings: &mut Settings, default: &'static str, writer: W)
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let level = level(settings, default);
    let lines = tracing_subscriber::fmt::layer().json().flatten_event(true).with_current_span(true);
    let lines = lines.with_span_list(false).with_writer(writer);
    let lines = lines.with_filter(filter_fn(move |metadata| is_logged(metadata, level)));
    // A program that logs already keeps its own way.
    let _ = tracing_subscriber::registry().with(lines).try_init();
}
