//! The log: JSON lines on standard output, ids as fields, never a body, an address or a token.

use tracing_subscriber::EnvFilter;

/// Logs as JSON from the level in `BELFRY_LOG` (`info` by default).
pub fn log_as_json() {
    let level = EnvFilter::try_from_env("BELFRY_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false)
        .with_env_filter(level)
        .init();
}
