//! The log: JSON lines, ids as fields, never a body, an address or a token.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::settings::{BadSetting, Settings};

/// Our own crates. The level is theirs alone: what the SDK says below WARN may hold bodies and credentials.
const OURS: [&str; 17] = [
    "api",
    "channels",
    "dead_letters",
    "deliver",
    "domain",
    "fanout",
    "ledger",
    "live",
    "local",
    "messaging",
    "outbox_stream",
    "outside",
    "payments",
    "runtime",
    "saga",
    "sockets",
    "sweep",
];

/// Logs as JSON to `writer`, from the level in `BELFRY_LOG`.
pub fn log_as_json<W>(settings: &Settings, default: &'static str, writer: W) -> Result<(), BadSetting>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let level = settings.one_of("BELFRY_LOG", default, &["error", "warn", "info", "debug"])?;
    let ours: Vec<String> = OURS.iter().map(|name| format!("{name}={level}")).collect();
    let filter = EnvFilter::new(format!("{},{}", if level == "error" { "error" } else { "warn" }, ours.join(",")));
    let format = tracing_subscriber::fmt().json().flatten_event(true).with_current_span(true).with_span_list(false);
    format.with_env_filter(filter).with_writer(writer).init();
    Ok(())
}
