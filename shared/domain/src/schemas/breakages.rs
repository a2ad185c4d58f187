//! Whether a reader written against one schema can read what another one allows.
//!
//! A reader relies on what the old schema promises and ignores fields that it does not know. So the new one may promise
//! more, but must keep each promise of the old one: those are walked through, one by one.

use std::collections::BTreeSet;

use serde_json::Value;

/// What is said to people only.
const ANNOTATIONS: [&str; 7] = ["$id", "$schema", "$comment", "title", "description", "examples", "deprecated"];

/// Each promise of `old` that `new` does not keep, with the path of its field; empty if every old reader can go on.
pub fn breakages(old: &Value, new: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare("payload", old, new, &mut found);
    // Whether something may be null is promised by its type and by its list of values.
    let mut seen = BTreeSet::new();
    found.retain(|breakage| seen.insert(breakage.clone()));
    found
}

fn compare(at: &str, old: &Value, new: &Value, found: &mut Vec<String>) {
    let Some(promises) = old.as_object() else {
        // `true` promises nothing; `false` that there is nothing.
        if old == &Value::Bool(false) && new != old {
            found.push(format!("{at} may be there now"));
        }
        return;
    };
    for (keyword, was) in promises {
        let is = new.get(keyword);
        match keyword.as_str() {
            annotation if ANNOTATIONS.contains(&annotation) => {}
            "properties" => {
                for (name, was) in was.as_object().into_iter().flatten() {
                    match is.and_then(|properties| properties.get(name)) {
                        Some(is) => compare(&format!("{at}.{name}"), was, is, found),
                        None => found.push(format!("{at}.{name} is gone")),
                    }
                }
            }
            "required" => {
                let required = list(is);
                let optional = list(Some(was)).filter(|name| !required.clone().any(|still| still == *name));
                found.extend(optional.filter_map(Value::as_str).map(|name| format!("{at}.{name} may be missing now")));
            }
            "type" => match (types(old), types(new)) {
                (Some(old), Some(new)) => {
                    found.extend(new.difference(&old).map(|kind| format!("{at} may be {kind} now")))
                }
                _ => found.push(format!("{at} may be of any type now")),
            },
            "const" | "enum" | "anyOf" | "oneOf" => alternatives(at, old, new, found),
            "items" => compare(&format!("{at}[]"), was, is.unwrap_or(&Value::Bool(true)), found),
            "additionalProperties" => compare(&format!("{at}.*"), was, is.unwrap_or(&Value::Bool(true)), found),
            "minLength" | "minimum" | "exclusiveMinimum" | "minItems" | "minProperties" => {
                if !is.is_some_and(|is| is.as_f64() >= was.as_f64()) {
                    found.push(changed(at, keyword, was, is));
                }
            }
            "maxLength" | "maximum" | "exclusiveMaximum" | "maxItems" | "maxProperties" => {
                if !is.is_some_and(|is| is.as_f64() <= was.as_f64()) {
                    found.push(changed(at, keyword, was, is));
                }
            }
            // What a reader takes a missing field for; no matter if it is never missing any more.
            "default" if is.is_none() => {}
            // The rest cannot be judged (is one pattern within another?), so it must stay.
            _ if is == Some(was) => {}
            _ => found.push(changed(at, keyword, was, is)),
        }
    }
}

fn changed(at: &str, keyword: &str, was: &Value, is: Option<&Value>) -> String {
    let is = is.map_or_else(|| "gone".to_owned(), Value::to_string);
    format!("{at}: {keyword} was {was}, is {is}")
}

/// Compares lists of values by value, and lists of shapes by whether each new one passes for an old one.
fn alternatives(at: &str, old: &Value, new: &Value, found: &mut Vec<String>) {
    if let Some(values) = literals(old) {
        match literals(new) {
            Some(new) => {
                let more = new.into_iter().filter(|value| !values.contains(value));
                found.extend(more.map(|value| format!("{at} may be {value} now")));
            }
            None => found.push(format!("{at} may be other than {} now", Value::from_iter(values.into_iter().cloned()))),
        }
        return;
    }
    let passes = |shape: &Value| {
        branches(old).any(|branch| {
            let mut against = Vec::new();
            compare(at, branch, shape, &mut against);
            against.is_empty()
        })
    };
    let shapes: Vec<&Value> = if branches(new).next().is_some() { branches(new).collect() } else { vec![new] };
    for shape in shapes.into_iter().filter(|shape| !passes(shape)) {
        found.push(format!("{at} may be of a shape now that it never was: {shape}"));
    }
}

fn branches(schema: &Value) -> impl Iterator<Item = &Value> {
    list(schema.get("anyOf")).chain(list(schema.get("oneOf")))
}

/// The values that are allowed, where they are counted out.
fn literals(schema: &Value) -> Option<Vec<&Value>> {
    if let Some(value) = schema.get("const") {
        return Some(vec![value]);
    }
    if schema.get("enum").is_some() {
        return Some(list(schema.get("enum")).collect());
    }
    if schema.get("type").is_some_and(|kind| kind == "null") {
        return Some(vec![&Value::Null]);
    }
    let each: Vec<Vec<&Value>> = branches(schema).map(literals).collect::<Option<_>>()?;
    (!each.is_empty()).then(|| each.concat())
}

/// The types that are allowed, where they are limited.
fn types(schema: &Value) -> Option<BTreeSet<&str>> {
    match schema.get("type") {
        Some(Value::String(kind)) => return Some(BTreeSet::from([kind.as_str()])),
        Some(kinds) => return Some(list(Some(kinds)).filter_map(Value::as_str).collect()),
        None => {}
    }
    let each: Vec<BTreeSet<&str>> = branches(schema).map(types).collect::<Option<_>>()?;
    (!each.is_empty()).then(|| each.into_iter().flatten().collect())
}

fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> + Clone {
    value.and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The payload that readers know, with one field `f` of this schema.
    fn with(field: Value) -> Value {
        json!({
            "title": "T",
            "type": "object",
            "properties": {"f": field, "note": {"type": "string"}},
            "required": ["f"],
        })
    }

    fn of_field(old: Value, new: Value) -> Vec<String> {
        breakages(&with(old), &with(new))
    }

    #[test]
    fn a_field_that_goes_breaks_readers_required_or_not() {
        let old = with(json!({"type": "string"}));
        let mut new = old.clone();
        new["properties"].as_object_mut().expect("properties").remove("note");
        assert_eq!(breakages(&old, &new), ["payload.note is gone"]);
        let none = json!({"type": "object"});
        let all = ["payload.f is gone", "payload.note is gone", "payload.f may be missing now"];
        assert_eq!(breakages(&old, &none), all);
    }

    #[test]
    fn a_field_that_may_be_missing_breaks_readers() {
        let old = with(json!({"type": "string"}));
        let mut new = old.clone();
        new["required"] = json!([]);
        assert_eq!(breakages(&old, &new), ["payload.f may be missing now"]);
    }

    #[test]
    fn each_value_that_readers_never_saw_is_named() {
        let documented = json!({"oneOf": [
            {"type": "string", "const": "A", "description": "a"},
            {"type": "string", "const": "B", "description": "b"},
        ]});
        let or_null = json!({"anyOf": [documented, {"type": "null"}]});
        let cases = [
            (json!({"type": "string"}), json!({"type": "integer"}), "payload.f may be integer now"),
            (json!({"type": "string"}), json!({"type": ["string", "null"]}), "payload.f may be null now"),
            (json!({"type": "string"}), json!(true), "payload.f may be of any type now"),
            (json!({"enum": ["A"]}), json!({"enum": ["A", "B"]}), "payload.f may be \"B\" now"),
            (json!({"type": "string", "enum": ["A"]}), documented.clone(), "payload.f may be \"B\" now"),
            (documented.clone(), or_null.clone(), "payload.f may be null now"),
            (json!({"const": "A"}), json!({"type": "string"}), "payload.f may be other than [\"A\"] now"),
            (
                json!({"type": ["string", "null"], "enum": ["A", null]}),
                json!({"type": "string"}),
                "payload.f may be other than [\"A\",null] now",
            ),
            (
                json!({"items": {"type": "string"}}),
                json!({"items": {"type": "integer"}}),
                "payload.f[] may be integer now",
            ),
            (json!({"additionalProperties": {"type": "string"}}), json!({}), "payload.f.* may be of any type now"),
            (
                json!({"properties": {"g": {"type": "string"}}}),
                json!({"properties": {"g": {"type": "object"}}}),
                "payload.f.g may be object now",
            ),
            (
                json!({"anyOf": [{"type": "string"}, {"type": "object", "properties": {"g": true}}]}),
                json!({"anyOf": [{"type": "string"}, {"type": "object"}]}),
                "payload.f may be of a shape now that it never was: {\"type\":\"object\"}",
            ),
        ];
        for (old, new, breakage) in cases {
            assert_eq!(of_field(old, new), [breakage]);
        }
    }

    #[test]
    fn a_bound_that_gives_way_breaks_readers() {
        for (keyword, was, wider, narrower) in [
            ("maxLength", 5, 6, 4),
            ("maximum", 5, 6, 4),
            ("maxItems", 5, 6, 4),
            ("minLength", 1, 0, 2),
            ("minimum", 1, 0, 2),
            ("minItems", 1, 0, 2),
        ] {
            let bound = |value: i32| json!({keyword: value});
            let breakage = [format!("payload.f: {keyword} was {was}, is {wider}")];
            assert_eq!(of_field(bound(was), bound(wider)), breakage);
            let breakage = [format!("payload.f: {keyword} was {was}, is gone")];
            assert_eq!(of_field(bound(was), json!({})), breakage);
            assert!(of_field(bound(was), bound(narrower)).is_empty(), "{keyword}");
        }
    }

    #[test]
    fn what_cannot_be_judged_must_stay() {
        for (keyword, was, is) in [
            ("format", json!("date-time"), json!("date")),
            ("pattern", json!("^a$"), json!("^[ab]$")),
            ("default", json!(false), json!(true)),
            ("$ref", json!("#/$defs/A"), json!("#/$defs/B")),
        ] {
            let breakage = [format!("payload.f: {keyword} was {was}, is {is}")];
            assert_eq!(of_field(json!({keyword: was}), json!({keyword: is})), breakage);
        }
        assert_eq!(of_field(json!({"uniqueItems": true}), json!({})), ["payload.f: uniqueItems was true, is gone"]);
    }

    #[test]
    fn a_new_field_breaks_nobody_required_or_not() {
        let old = with(json!({"type": "string"}));
        let mut new = old.clone();
        new["properties"]["more"] = json!({"type": ["integer", "null"]});
        assert!(breakages(&old, &new).is_empty());
        new["required"] = json!(["f", "more"]);
        assert!(breakages(&old, &new).is_empty());
    }

    #[test]
    fn promising_more_breaks_nobody() {
        let documented = json!({"oneOf": [{"type": "string", "const": "A"}, {"type": "string", "const": "B"}]});
        for (old, new) in [
            (json!({"type": ["string", "null"]}), json!({"type": "string"})),
            (json!({"type": "string", "enum": ["A", "B"]}), json!({"type": "string", "enum": ["A"]})),
            (json!({"type": "string", "enum": ["B", "A"]}), documented.clone()),
            (documented, json!({"type": "string", "const": "B"})),
            (json!(true), json!({"type": "string"})),
            (json!({"type": "string"}), json!({"type": "string", "maxLength": 9, "format": "uuid"})),
            (json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}), json!({"type": "integer", "minimum": 0})),
            (json!({"description": "a", "default": 1}), json!({"description": "b"})),
        ] {
            assert_eq!(of_field(old, new), [""; 0]);
        }
        let old = with(json!({}));
        let mut new = old.clone();
        new["required"] = json!(["f", "note"]);
        new["title"] = json!("U");
        assert!(breakages(&old, &new).is_empty());
    }
}
