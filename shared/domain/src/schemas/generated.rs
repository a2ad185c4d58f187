//! The schemas that the Rust types give, against those that are committed.
//!
//! `BELFRY_BLESS=1 cargo test --workspace schemas` writes what differs, but nothing that would break a reader.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use belfry_core::Payload as _;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::Value;

use super::breakages::breakages;
use crate::action::{ACTED, NotificationActed};
use crate::announcement::{ANNOUNCEMENT, Announcement};
use crate::dead_letter::{DISCARDED, DeadLetterHandled, REDRIVE_REQUESTED, REDRIVEN, RedriveJob};
use crate::entitlement::{EntitlementChanged, GRANTED, REVOKED};
use crate::event::{OutboxRepublished, REPUBLISHED};
use crate::order::{
    OrderCancelled, OrderCompleted, OrderFailed, OrderPaid, OrderPlaced, OrderRejected, OrderValidated, PaymentFailed,
    PaymentRefunded, StockReleased, StockSold,
};
use crate::reservation::{self, ReservationChanged};
use crate::routing::Routes;

/// An event type, and what gives the schema of its payload.
type Payload = (&'static str, fn() -> Value);

/// Every event type with the type of its payload. Adding one is a line here, and blessing.
const PAYLOADS: &[Payload] = &[
    (GRANTED, written::<EntitlementChanged>),
    (REVOKED, written::<EntitlementChanged>),
    (ANNOUNCEMENT, handed_in::<Announcement>),
    (ACTED, written::<NotificationActed>),
    (REDRIVEN, written::<DeadLetterHandled>),
    (DISCARDED, written::<DeadLetterHandled>),
    (REDRIVE_REQUESTED, written::<RedriveJob>),
    (REPUBLISHED, written::<OutboxRepublished>),
    (OrderPlaced::TYPE, written::<OrderPlaced>),
    (OrderValidated::TYPE, written::<OrderValidated>),
    (OrderRejected::TYPE, written::<OrderRejected>),
    (OrderPaid::TYPE, written::<OrderPaid>),
    (PaymentFailed::TYPE, written::<PaymentFailed>),
    (OrderCancelled::TYPE, written::<OrderCancelled>),
    (StockSold::TYPE, written::<StockSold>),
    (StockReleased::TYPE, written::<StockReleased>),
    (PaymentRefunded::TYPE, written::<PaymentRefunded>),
    (OrderCompleted::TYPE, written::<OrderCompleted>),
    (OrderFailed::TYPE, written::<OrderFailed>),
    (reservation::REQUESTED, written::<ReservationChanged>),
    (reservation::ACCEPTED, written::<ReservationChanged>),
    (reservation::REJECTED, written::<ReservationChanged>),
    (reservation::CANCELLED, written::<ReservationChanged>),
];

/// A payload that Belfry writes: readers find what serialising gives.
fn written<T: JsonSchema>() -> Value {
    generate::<T>(SchemaSettings::draft2020_12().for_serialize())
}

/// A payload that a source writes: readers find whatever parsing takes.
fn handed_in<T: JsonSchema>() -> Value {
    generate::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

fn generate<T: JsonSchema>(settings: SchemaSettings) -> Value {
    // The door refuses unknown fields, but a reader who did would not survive the next field.
    let open = RecursiveTransform(|schema: &mut schemars::Schema| {
        if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
            schema.remove("additionalProperties");
        }
    });
    let settings = settings.with_transform(open).with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// The text of the file for an event type.
fn file(event_type: &str, mut schema: Value) -> String {
    schema["$id"] = format!("urn:belfry:schema:{event_type}").into();
    schema["title"] = event_type.into();
    // The order of a file must not hang on which features of serde_json the rest of a build asks for.
    schema.sort_all_objects();
    format!("{schema:#}\n")
}

/// What is wrong with the committed files; what may be mended is, if `bless` says so.
fn reconcile(directory: &Path, payloads: &[Payload], bless: bool) -> Vec<String> {
    let mut committed = committed(directory);
    let mut problems = Vec::new();
    for (event_type, payload) in payloads {
        let generated = file(event_type, payload());
        let old = committed.remove(*event_type);
        if old.as_ref() == Some(&generated) {
            continue;
        }
        let old: Option<Value> = old.map(|old| serde_json::from_str(&old).expect("a committed schema is JSON"));
        let new = serde_json::from_str(&generated).expect("a generated schema is JSON");
        let broken = old.as_ref().map(|old| breakages(old, &new)).unwrap_or_default();
        if !broken.is_empty() {
            let broken = broken.iter().map(|breakage| format!("{event_type} would break old readers: {breakage}"));
            problems.extend(broken);
        } else if bless {
            fs::write(directory.join(format!("{event_type}.json")), generated).expect("a schema can be written");
        } else {
            let state = if old.is_some() { "breaks no reader, but is not what is committed" } else { "has no schema" };
            problems.push(format!("{event_type} {state}: run `BELFRY_BLESS=1 cargo test --workspace schemas`"));
        }
    }
    let orphans = committed.keys().map(|event_type| format!("{event_type} has a schema, but is no event type"));
    problems.extend(orphans);
    problems
}

fn committed(directory: &Path) -> BTreeMap<String, String> {
    let files = fs::read_dir(directory).expect("a directory of schemas");
    let paths: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    let name = |path: &Path| path.file_stem().expect("a name").to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), fs::read_to_string(path).expect("a schema can be read"))).collect()
}

#[test]
fn every_event_type_has_the_schema_that_is_committed() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    let bless = env::var("BELFRY_BLESS").is_ok_and(|value| value == "1");
    let problems = reconcile(&directory, PAYLOADS, bless);
    assert!(problems.is_empty(), "\n  {}\n", problems.join("\n  "));
}

#[test]
fn every_event_type_that_is_routed_has_a_schema() {
    for route in Routes::load().expect("routes").iter() {
        assert!(PAYLOADS.iter().any(|(event_type, _)| *event_type == route.event_type), "{}", route.event_type);
    }
}

mod tests {
    use serde_json::json;

    use super::*;

    fn before() -> Value {
        json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"]})
    }

    fn more() -> Value {
        let mut schema = before();
        schema["properties"]["c"] = json!({"type": "string"});
        schema
    }

    fn other() -> Value {
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
    }

    /// A directory of schemas in which `E` is committed.
    fn directory() -> tempfile::TempDir {
        let directory = tempfile::tempdir().expect("a directory");
        assert_eq!(reconcile(directory.path(), &[("E", before)], true), [""; 0]);
        directory
    }

    #[test]
    fn a_change_that_breaks_nobody_is_refused_until_it_is_blessed() {
        let directory = directory();
        let problems = || reconcile(directory.path(), &[("E", more)], false);
        assert!(matches!(problems().as_slice(), [only] if only.contains("BELFRY_BLESS=1")), "{:?}", problems());
        assert_eq!(reconcile(directory.path(), &[("E", more)], true), [""; 0]);
        assert_eq!(problems(), [""; 0]);
    }

    #[test]
    fn a_change_that_breaks_readers_is_named_and_never_blessed() {
        let directory = directory();
        let committed_before = committed(directory.path());
        for bless in [false, true] {
            let problems = reconcile(directory.path(), &[("E", other)], bless);
            let all = [
                "E would break old readers: payload.a may be integer now",
                "E would break old readers: payload.b is gone",
            ];
            assert_eq!(problems, all);
        }
        assert_eq!(committed(directory.path()), committed_before);
    }

    #[test]
    fn an_event_type_without_a_schema_and_a_schema_without_an_event_type_are_refused() {
        let directory = directory();
        assert_eq!(reconcile(directory.path(), &[("E", before), ("F", before)], false).len(), 1);
        for bless in [false, true] {
            let problems = reconcile(directory.path(), &[], bless);
            assert_eq!(problems, ["E has a schema, but is no event type"]);
        }
    }
}
