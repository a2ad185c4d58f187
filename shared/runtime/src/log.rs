//! The log: JSON lines, ids as fields, never a body, an address or a token.

use std::str::FromStr;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::settings::{BadSetting, Settings};

/// Our own crates. The level is theirs alone: what the SDK says below WARN may hold bodies and credentials.
const OURS: [&str; 20] = [
    "api",
    "belfry_aws",
    "belfry_core",
    "belfry_http",
    "channels",
    "dead_letters",
    "deliver",
    "domain",
    "fanout",
    "ledger",
    "live",
    "local",
    "outbox_stream",
    "payments",
    "provider_http",
    "runtime",
    "saga",
    "sockets",
    "store",
    "sweep",
];

/// Logs as JSON to `writer`, from the level in `BELFRY_LOG`.
pub fn log_as_json<W>(settings: &Settings, default: &'static str, writer: W) -> Result<(), BadSetting>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let targets = log_targets(settings, default)?;
    let lines = tracing_subscriber::fmt::layer().json().flatten_event(true).with_current_span(true);
    tracing_subscriber::registry().with(lines.with_span_list(false).with_writer(writer)).with(targets).init();
    Ok(())
}

/// What is logged at the level in `BELFRY_LOG`, for a program that formats its log itself.
pub fn log_targets(settings: &Settings, default: &'static str) -> Result<Targets, BadSetting> {
    let level = settings.one_of("BELFRY_LOG", default, &["error", "warn", "info", "debug"])?;
    // One of these words, each of which is a level's name.
    let level = LevelFilter::from_str(level).unwrap_or(LevelFilter::WARN);
    let targets = Targets::new().with_default(level.min(LevelFilter::WARN));
    Ok(targets.with_targets(OURS.into_iter().map(|ours| (ours, level))))
}
