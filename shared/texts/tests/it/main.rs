//! Snapshots of every template, and rendering of missing and hostile input.

mod hostile;
mod missing;
mod snapshots;

use domain::routing::Routes;
use serde_json::Value;
use texts::Texts;

fn texts() -> Texts {
    Texts::load(Routes::load().expect("routes")).expect("templates")
}

/// A realistic payload. Every routed event type must have one.
fn payload(event_type: &str) -> Value {
    let path = format!("{}/tests/payloads/{event_type}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("tests/payloads/{event_type}.json is missing"));
    serde_json::from_str(&text).expect("JSON")
}
