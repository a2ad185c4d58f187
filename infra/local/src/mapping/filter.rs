//! The patterns of `FilterCriteria`: which records an event source mapping delivers.
//!
//! A pattern is JSON with the shape of the record. Fields are joined by AND, the values of a field by OR, and the
//! patterns of a mapping by OR ([`passes`]). An array in the record matches if any element does. `exists` is the only
//! operator, because the template uses no other.

use serde_json::Value;

/// A valid pattern.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter(Value);

/// Whether a mapping with these filters delivers the record. Without filters, every record is delivered.
pub fn passes(filters: &[Filter], record: &Value) -> bool {
    filters.is_empty() || filters.iter().any(|filter| filter.matches(record))
}

impl Filter {
    /// Reads the text of one `Pattern`. An error names the field, where `$` is the whole pattern.
    pub fn parse(pattern: &str) -> Result<Self, String> {
        let pattern = serde_json::from_str(pattern).map_err(|error| format!("the pattern is not JSON: {error}"))?;
        check_fields("$", &pattern)?;
        Ok(Self(pattern))
    }

    pub fn matches(&self, record: &Value) -> bool {
        matches(&self.0, Some(record))
    }
}

fn check_fields(field: &str, pattern: &Value) -> Result<(), String> {
    let Some(object) = pattern.as_object().filter(|object| !object.is_empty()) else {
        return Err(malformed(field, "an object with at least one field", pattern));
    };
    for (name, inner) in object {
        let field = format!("{field}.{name}");
        match inner {
            // Alternatives, not a field.
            _ if name == "$or" => return Err(unsupported(&field, name)),
            Value::Object(_) => check_fields(&field, inner)?,
            Value::Array(tests) if !tests.is_empty() => tests.iter().try_for_each(|test| check_test(&field, test))?,
            _ => return Err(malformed(&field, "an object, or a list of at least one value", inner)),
        }
    }
    Ok(())
}

fn check_test(field: &str, test: &Value) -> Result<(), String> {
    match test {
        Value::Array(_) => Err(malformed(field, "a value or an operator", test)),
        Value::Object(object) => match object.iter().collect::<Vec<_>>().as_slice() {
            [(name, Value::Bool(_))] if *name == "exists" => Ok(()),
            [(name, operand)] if *name == "exists" => Err(malformed(field, "true or false", operand)),
            [(unknown, _)] => Err(unsupported(field, unknown)),
            _ => Err(malformed(field, "an object with exactly one operator", test)),
        },
        _ => Ok(()),
    }
}

fn matches(pattern: &Value, value: Option<&Value>) -> bool {
    match (pattern, value) {
        // All fields must match within one element.
        (Value::Object(_), Some(Value::Array(items))) if !items.is_empty() => {
            items.iter().any(|item| matches(pattern, Some(item)))
        }
        (Value::Object(fields), _) => {
            fields.iter().all(|(name, inner)| matches(inner, value.and_then(|value| value.get(name))))
        }
        (tests, _) => tests.as_array().into_iter().flatten().any(|test| match test.get("exists") {
            // The only test that can match an absent field.
            Some(wanted) => value.is_some_and(|value| any_leaf(value, &|_| true)) == *wanted,
            // Lambda compares numbers as they are written: 300 does not match 300.0.
            None => value.is_some_and(|value| any_leaf(value, &|leaf| leaf == test)),
        }),
    }
}

/// Whether the test holds for the value, or for any element of an array. For Lambda, a field that holds an object does not
/// exist itself.
fn any_leaf(value: &Value, test: &dyn Fn(&Value) -> bool) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| any_leaf(item, test)),
        Value::Object(_) => false,
        leaf => test(leaf),
    }
}

fn unsupported(field: &str, operator: &str) -> String {
    format!("{field}: operator {operator:?} is not supported")
}

fn malformed(field: &str, expected: &str, found: &Value) -> String {
    format!("{field}: expected {expected}, found {found}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn filter(pattern: &Value) -> Filter {
        Filter::parse(&pattern.to_string()).expect("a pattern")
    }

    fn refusal(pattern: &str) -> String {
        Filter::parse(pattern).expect_err(pattern).to_string()
    }

    #[test]
    fn values_match_as_lambda_documents_it() {
        let table = r#"
            "a"                               | "a", ["b", "a"]      | "A", null, {"a": "a"}
            ""                                | ""                   | null, []
            null                              | null                 | "", "null"
            true                              | true                 | "true", false
            300                               | 300                  | 300.0, "300"
            {"exists": true}                  | 0, null, ["x"]       | {"x": 1}, []
            {"exists": false}                 | {"x": 1}             | 0, null"#;
        for row in table.trim().lines() {
            let columns: Vec<_> = row.split('|').map(|cell| format!("[{cell}]")).collect();
            let [test, matching, others] = &columns[..] else { panic!("{row}") };
            let values = |cell: &str| serde_json::from_str::<Vec<Value>>(cell).expect("values");
            let filter = Filter::parse(&format!(r#"{{"field": {test}}}"#)).expect("a pattern");
            for value in values(matching) {
                assert!(filter.matches(&json!({"field": value})), "{test} should match {value}");
            }
            for value in values(others) {
                assert!(!filter.matches(&json!({"field": value})), "{test} matches {value}");
            }
        }
    }

    #[test]
    fn only_exists_false_matches_an_absent_field() {
        for test in [json!("a"), json!(null), json!({"exists": true})] {
            assert!(!filter(&json!({"field": [test]})).matches(&json!({"other": 1})), "{test}");
        }
        assert!(filter(&json!({"field": [{"exists": false}]})).matches(&json!({"other": 1})));
        assert!(filter(&json!({"outer": {"field": [{"exists": false}]}})).matches(&json!({})));
    }

    #[test]
    fn fields_are_joined_by_and_and_values_by_or() {
        let filter = filter(&json!({"eventName": ["INSERT", "MODIFY"], "dynamodb": {"Keys": {"id": {"S": ["1"]}}}}));
        let record = |name: &str, id: &str| json!({"eventName": name, "dynamodb": {"Keys": {"id": {"S": id}}}});
        assert!(filter.matches(&record("INSERT", "1")));
        assert!(filter.matches(&record("MODIFY", "1")));
        assert!(!filter.matches(&record("REMOVE", "1")));
        assert!(!filter.matches(&record("INSERT", "2")));
    }

    #[test]
    fn fields_must_match_within_one_element_of_an_array() {
        let filter = filter(&json!({"lines": {"unit": ["a"], "count": [1]}}));
        assert!(filter.matches(&json!({"lines": [{"unit": "b"}, {"unit": "a", "count": 1}]})));
        assert!(!filter.matches(&json!({"lines": [{"unit": "a"}, {"count": 1}]})));
    }

    #[test]
    fn record_passes_if_any_filter_matches_or_there_is_none() {
        let filters = [filter(&json!({"a": [1]})), filter(&json!({"b": [1]}))];
        assert!(passes(&filters, &json!({"b": 1})));
        assert!(!passes(&filters, &json!({"c": 1})));
        assert!(passes(&[], &json!({"c": 1})));
    }

    #[test]
    fn error_names_the_field() {
        let table = r#"
            {"a": {"b": [{"prefix": "x"}]}}     | $.a.b: operator "prefix" is not supported
            {"a": "x"}                          | $.a: expected an object, or a list of at least one value, found "x"
            {"a": []}                           | $.a: expected an object, or a list of at least one value, found []
            {}                                  | $: expected an object with at least one field, found {}
            {"$or": [{"a": [1]}, {"b": [1]}]}   | $.$or: operator "$or" is not supported
            {"a": [{"exists": "yes"}]}          | $.a: expected true or false, found "yes""#;
        for row in table.trim().lines() {
            let (pattern, message) = row.split_once('|').expect("two columns");
            assert_eq!(refusal(pattern), message.trim());
        }
        assert!(refusal("{").starts_with("the pattern is not JSON: "));
    }
}
