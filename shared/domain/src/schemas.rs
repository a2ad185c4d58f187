//! The JSON Schema of each event type's payload: generated from the Rust types, committed under `schemas/`, served by
//! the api.
//!
//! What is committed is what readers were written against. The tests generate each schema anew and refuse one that says
//! something else: until it is blessed, or for good if it would break a reader. Only they need `schemars`, so it is in
//! no function's binary.

#[cfg(test)]
mod breakages;
#[cfg(test)]
mod generated;

/// The event types and their schemas, by the files' names.
const COMMITTED: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/schemas.rs"));

/// The schema of this event type's payload, as it is committed.
pub fn schema(event_type: &str) -> Option<&'static str> {
    COMMITTED.iter().find(|(name, _)| *name == event_type).map(|(_, schema)| *schema)
}

/// What the schema of this event type calls itself, where there is one.
pub fn id(event_type: &str) -> Option<String> {
    schema(event_type).map(|_| format!("urn:belfry:schema:{event_type}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_found_by_its_event_type_alone() {
        let granted: serde_json::Value =
            serde_json::from_str(schema("EntitlementGranted").expect("a schema")).expect("JSON");
        assert_eq!(granted["$id"], "urn:belfry:schema:EntitlementGranted");
        for nobody in ["", "Nobody", "entitlementgranted", "EntitlementGranted.json", "../Cargo"] {
            assert_eq!(schema(nobody), None, "{nobody:?}");
        }
    }
}
