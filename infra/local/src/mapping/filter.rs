//! The patterns of `FilterCriteria`: which records an event source mapping hands to its function.
//!
//! A pattern is JSON with the shape of the record. Fields are joined by AND, the values listed for a
//! field by OR, and several patterns of one mapping by OR again ([`passes`]). An array in the record
//! matches when any of its elements does. Of Lambda's operators there is `exists`, which is the one that
//! the template uses; others are refused.

use serde_json::{Map, Value};

/// One parsed pattern.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter(Fields);

/// Why a pattern was refused; `field` is where, `$` being the whole pattern.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// The text is not JSON.
    #[error("the pattern is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// An operator that the local host does not know.
    #[error("{field}: operator {operator:?} is not supported")]
    UnknownOperator {
        /// Where in the pattern.
        field: String,
        /// The operator as written.
        operator: String,
    },
    /// The right place, but the wrong shape.
    #[error("{field}: expected {expected}, found {found}")]
    Malformed {
        /// Where in the pattern.
        field: String,
        /// What belongs there.
        expected: &'static str,
        /// What stands there.
        found: Value,
    },
}

/// Whether a mapping with these filters hands the record on; a mapping without filters hands on all.
pub fn passes(filters: &[Filter], record: &Value) -> bool {
    filters.is_empty() || filters.iter().any(|filter| filter.matches(record))
}

impl Filter {
    /// Reads the text of one `Pattern`.
    ///
    /// # Errors
    /// When the text is not JSON, or not a pattern; the error names the field.
    pub fn parse(pattern: &str) -> Result<Self, FilterError> {
        Fields::parse("$", &serde_json::from_str(pattern)?).map(Self)
    }

    /// Whether the record has what the pattern asks for.
    pub fn matches(&self, record: &Value) -> bool {
        self.0.matches(Some(record))
    }
}

/// An object of a pattern: every field has to match.
#[derive(Debug, Clone, PartialEq)]
struct Fields(Vec<(String, Pattern)>);

#[derive(Debug, Clone, PartialEq)]
enum Pattern {
    Nested(Fields),
    OneOf(Vec<Test>),
}

#[derive(Debug, Clone, PartialEq)]
enum Test {
    Equals(Value),
    Exists(bool),
}

impl Fields {
    fn parse(field: &str, pattern: &Value) -> Result<Self, FilterError> {
        let Some(object) = pattern.as_object().filter(|object| !object.is_empty()) else {
            return Err(malformed(field, "an object with at least one field", pattern));
        };
        let fields = object.iter().map(|(name, inner)| {
            let field = format!("{field}.{name}");
            // Not a field, but alternatives.
            if name == "$or" {
                return Err(unsupported(&field, name));
            }
            Ok((name.clone(), Pattern::parse(&field, inner)?))
        });
        fields.collect::<Result<_, _>>().map(Self)
    }

    fn matches(&self, value: Option<&Value>) -> bool {
        // All fields have to match within the same element, or two strangers would add up to a match.
        if let Some(Value::Array(items)) = value
            && !items.is_empty()
        {
            return items.iter().any(|item| self.matches(Some(item)));
        }
        self.0.iter().all(|(name, pattern)| pattern.matches(value.and_then(|value| value.get(name))))
    }
}

impl Pattern {
    fn parse(field: &str, pattern: &Value) -> Result<Self, FilterError> {
        match pattern {
            Value::Object(_) => Fields::parse(field, pattern).map(Self::Nested),
            Value::Array(tests) if !tests.is_empty() => {
                tests.iter().map(|test| Test::parse(field, test)).collect::<Result<_, _>>().map(Self::OneOf)
            }
            _ => Err(malformed(field, "an object, or a list of at least one value", pattern)),
        }
    }

    fn matches(&self, value: Option<&Value>) -> bool {
        match self {
            Self::Nested(fields) => fields.matches(value),
            Self::OneOf(tests) => tests.iter().any(|test| test.matches(value)),
        }
    }
}

impl Test {
    fn parse(field: &str, test: &Value) -> Result<Self, FilterError> {
        match test {
            Value::Object(operator) => Self::parse_operator(field, test, operator),
            Value::Array(_) => Err(malformed(field, "a value or an operator", test)),
            exact => Ok(Self::Equals(exact.clone())),
        }
    }

    fn parse_operator(field: &str, test: &Value, object: &Map<String, Value>) -> Result<Self, FilterError> {
        let mut entries = object.iter();
        let (Some((operator, operand)), None) = (entries.next(), entries.next()) else {
            return Err(malformed(field, "an object with exactly one operator", test));
        };
        match (operator.as_str(), operand) {
            ("exists", Value::Bool(exists)) => Ok(Self::Exists(*exists)),
            ("exists", _) => Err(malformed(field, "true or false", operand)),
            (unknown, _) => Err(unsupported(field, unknown)),
        }
    }

    fn matches(&self, value: Option<&Value>) -> bool {
        match self {
            // Lambda compares exact numbers as they are written: 300 is not 300.0.
            Self::Equals(exact) => value.is_some_and(|value| any_leaf(value, &|leaf| leaf == exact)),
            // The one test that can hold for a field that is not there.
            Self::Exists(wanted) => value.is_some_and(|value| any_leaf(value, &|_| true)) == *wanted,
        }
    }
}

/// Whether the test holds for the value, or for an element when it is an array. An object is not a
/// leaf: for Lambda a field that holds an object is, itself, not there.
fn any_leaf(value: &Value, test: &dyn Fn(&Value) -> bool) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| any_leaf(item, test)),
        Value::Object(_) => false,
        leaf => test(leaf),
    }
}

fn unsupported(field: &str, operator: &str) -> FilterError {
    FilterError::UnknownOperator { field: field.to_owned(), operator: operator.to_owned() }
}

fn malformed(field: &str, expected: &'static str, found: &Value) -> FilterError {
    FilterError::Malformed { field: field.to_owned(), expected, found: found.clone() }
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
    fn a_test_matches_as_lambda_documents_it() {
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
    fn only_exists_false_matches_a_field_that_is_not_there() {
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
    fn fields_have_to_match_within_one_element_of_an_array() {
        let filter = filter(&json!({"lines": {"unit": ["a"], "count": [1]}}));
        assert!(filter.matches(&json!({"lines": [{"unit": "b"}, {"unit": "a", "count": 1}]})));
        assert!(!filter.matches(&json!({"lines": [{"unit": "a"}, {"count": 1}]})));
    }

    #[test]
    fn a_record_passes_when_one_filter_matches_or_there_is_none() {
        let filters = [filter(&json!({"a": [1]})), filter(&json!({"b": [1]}))];
        assert!(passes(&filters, &json!({"b": 1})));
        assert!(!passes(&filters, &json!({"c": 1})));
        assert!(passes(&[], &json!({"c": 1})));
    }

    #[test]
    fn a_mistake_is_named_with_its_field() {
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
