//! The patterns of `FilterCriteria`: which records an event source mapping hands to its function.
//!
//! A pattern is JSON with the shape of the record. Fields are joined by AND, the values listed for a
//! field by OR, and several patterns of one mapping by OR again ([`passes`]). An array in the record
//! matches when any of its elements does. What this file refuses, Lambda refuses too: `wildcard` and
//! `cidr` belong to EventBridge buses and not to event source mappings.

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
    /// An operator that Lambda does not know, or not here.
    #[error("{field}: unknown operator {operator:?}")]
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

/// An object of a pattern: every field has to match, and one alternative of its `$or`.
#[derive(Debug, Clone, PartialEq)]
struct Fields {
    all: Vec<(String, Pattern)>,
    any_of: Vec<Fields>,
}

#[derive(Debug, Clone, PartialEq)]
enum Pattern {
    Nested(Fields),
    OneOf(Vec<Test>),
}

#[derive(Debug, Clone, PartialEq)]
enum Test {
    Equals(Value),
    EqualsIgnoreCase(String),
    Prefix(String),
    Suffix(String),
    AnythingBut(Vec<Value>),
    AnythingButPrefix(String),
    Numeric(Vec<(Comparison, f64)>),
    Exists(bool),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Comparison {
    Equal,
    Below,
    AtMost,
    Above,
    AtLeast,
}

impl Fields {
    fn parse(field: &str, pattern: &Value) -> Result<Self, FilterError> {
        let Some(object) = pattern.as_object().filter(|object| !object.is_empty()) else {
            return Err(malformed(field, "an object with at least one field", pattern));
        };
        let mut fields = Self { all: Vec::new(), any_of: Vec::new() };
        for (name, inner) in object {
            let field = format!("{field}.{name}");
            if name == "$or" {
                let alternatives = inner.as_array().filter(|alternatives| alternatives.len() >= 2);
                let Some(alternatives) = alternatives else {
                    return Err(malformed(&field, "a list of two or more objects", inner));
                };
                fields.any_of = alternatives.iter().map(|one| Self::parse(&field, one)).collect::<Result<_, _>>()?;
            } else {
                fields.all.push((name.clone(), Pattern::parse(&field, inner)?));
            }
        }
        Ok(fields)
    }

    fn matches(&self, value: Option<&Value>) -> bool {
        // All fields have to match within the same element, or two strangers would add up to a match.
        if let Some(Value::Array(items)) = value
            && !items.is_empty()
        {
            return items.iter().any(|item| self.matches(Some(item)));
        }
        self.all.iter().all(|(name, pattern)| pattern.matches(value.and_then(|value| value.get(name))))
            && (self.any_of.is_empty() || self.any_of.iter().any(|fields| fields.matches(value)))
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
        let text =
            || operand.as_str().map(str::to_owned).ok_or_else(|| malformed(field, "a text to compare with", test));
        match operator.as_str() {
            "prefix" => text().map(Self::Prefix),
            "suffix" => text().map(Self::Suffix),
            "equals-ignore-case" => text().map(Self::EqualsIgnoreCase),
            "anything-but" => Self::parse_anything_but(field, operand),
            "numeric" => parse_numeric(operand)
                .map(Self::Numeric)
                .ok_or_else(|| malformed(field, "a comparison such as [\">\", 0, \"<=\", 5]", operand)),
            "exists" => match operand {
                Value::Bool(exists) => Ok(Self::Exists(*exists)),
                _ => Err(malformed(field, "true or false", operand)),
            },
            unknown => Err(FilterError::UnknownOperator { field: field.to_owned(), operator: unknown.to_owned() }),
        }
    }

    fn parse_anything_but(field: &str, operand: &Value) -> Result<Self, FilterError> {
        let alike = |values: &[Value]| values.iter().all(Value::is_string) || values.iter().all(Value::is_number);
        match operand {
            Value::Object(_) => match Self::parse(field, operand)? {
                Self::Prefix(prefix) => Ok(Self::AnythingButPrefix(prefix)),
                _ => Err(malformed(field, "a prefix inside anything-but", operand)),
            },
            Value::Array(refused) if !refused.is_empty() && alike(refused) => Ok(Self::AnythingBut(refused.clone())),
            Value::String(_) | Value::Number(_) => Ok(Self::AnythingBut(vec![operand.clone()])),
            _ => Err(malformed(field, "texts only or numbers only", operand)),
        }
    }

    fn matches(&self, value: Option<&Value>) -> bool {
        // `exists` is the one test that can hold for a field that is not there.
        if let Self::Exists(wanted) = self {
            return value.is_some_and(|value| any_leaf(value, &|_| true)) == *wanted;
        }
        value.is_some_and(|value| any_leaf(value, &|leaf| self.holds_for(leaf)))
    }

    fn holds_for(&self, leaf: &Value) -> bool {
        let text = leaf.as_str();
        match self {
            // Lambda compares exact numbers as they are written: 300 is not 300.0. `numeric` compares values.
            Self::Equals(exact) => leaf == exact,
            Self::EqualsIgnoreCase(exact) => text.is_some_and(|text| text.to_lowercase() == exact.to_lowercase()),
            Self::Prefix(prefix) => text.is_some_and(|text| text.starts_with(prefix)),
            Self::Suffix(suffix) => text.is_some_and(|text| text.ends_with(suffix)),
            Self::AnythingBut(refused) => !refused.contains(leaf),
            Self::AnythingButPrefix(prefix) => !text.is_some_and(|text| text.starts_with(prefix)),
            Self::Numeric(bounds) => leaf
                .as_f64()
                .is_some_and(|number| bounds.iter().all(|(comparison, bound)| comparison.holds(number, *bound))),
            Self::Exists(wanted) => *wanted,
        }
    }
}

impl Comparison {
    fn parse(operator: &Value) -> Option<Self> {
        match operator.as_str()? {
            "=" => Some(Self::Equal),
            "<" => Some(Self::Below),
            "<=" => Some(Self::AtMost),
            ">" => Some(Self::Above),
            ">=" => Some(Self::AtLeast),
            _ => None,
        }
    }

    fn holds(self, number: f64, bound: f64) -> bool {
        match self {
            Self::Equal => number == bound,
            Self::Below => number < bound,
            Self::AtMost => number <= bound,
            Self::Above => number > bound,
            Self::AtLeast => number >= bound,
        }
    }
}

/// One comparison, or a lower and then an upper bound: the two forms that Lambda takes.
fn parse_numeric(operand: &Value) -> Option<Vec<(Comparison, f64)>> {
    use Comparison::{Above, AtLeast, AtMost, Below};
    let bounds = operand
        .as_array()?
        .chunks(2)
        .map(|pair| match pair {
            [operator, bound] => Some((Comparison::parse(operator)?, bound.as_f64()?)),
            _ => None,
        })
        .collect::<Option<Vec<_>>>()?;
    match bounds.as_slice() {
        [_] | [(Above | AtLeast, _), (Below | AtMost, _)] => Some(bounds),
        _ => None,
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
    fn each_operator_matches_as_lambda_documents_it() {
        let table = r#"
            "a"                               | "a", ["b", "a"]      | "A", null, {"a": "a"}
            ""                                | ""                   | null, []
            null                              | null                 | "", "null"
            true                              | true                 | "true", false
            300                               | 300                  | 300.0, "300"
            {"prefix": "us-"}                 | "us-east-1"          | "eu-us-1", 1
            {"suffix": ".png"}                | "a.png"              | "png.a"
            {"equals-ignore-case": "Alice"}   | "aLICE"              | "Alic"
            {"anything-but": "a"}             | "b", 1, ["a", "b"]   | "a", ["a"]
            {"anything-but": ["a", "b"]}      | "c"                  | "a", "b"
            {"anything-but": [1, 2]}          | 3                    | 1
            {"anything-but": {"prefix": "a"}} | "ba"                 | "ab"
            {"numeric": ["=", 100]}           | 100, 100.0           | "100", 99
            {"numeric": [">", 10, "<=", 20]}  | 20, 10.5             | 10, 21
            {"numeric": ["<", 0]}             | -1                   | 0
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
        for test in [json!("a"), json!(null), json!({"anything-but": "a"}), json!({"exists": true})] {
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
    fn or_takes_one_alternative_and_still_asks_for_the_fields_beside_it() {
        let filter = filter(&json!({"source": ["a"], "$or": [{"x": [1]}, {"y": [2], "z": [3]}]}));
        assert!(filter.matches(&json!({"source": "a", "x": 1})));
        assert!(filter.matches(&json!({"source": "a", "y": 2, "z": 3})));
        assert!(!filter.matches(&json!({"source": "a", "y": 2})));
        assert!(!filter.matches(&json!({"source": "b", "x": 1})));
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
            {"a": {"b": [{"prefx": "x"}]}}      | $.a.b: unknown operator "prefx"
            {"a": [{"wildcard": "x*"}]}         | $.a: unknown operator "wildcard"
            {"a": "x"}                          | $.a: expected an object, or a list of at least one value, found "x"
            {"a": []}                           | $.a: expected an object, or a list of at least one value, found []
            {}                                  | $: expected an object with at least one field, found {}
            {"$or": [{"a": [1]}]}               | $.$or: expected a list of two or more objects, found [{"a":[1]}]
            {"a": [{"exists": "yes"}]}          | $.a: expected true or false, found "yes"
            {"a": [{"anything-but": ["x", 1]}]} | $.a: expected texts only or numbers only, found ["x",1]"#;
        for row in table.trim().lines() {
            let (pattern, message) = row.split_once('|').expect("two columns");
            assert_eq!(refusal(pattern), message.trim());
        }
        for numeric in ["[]", r#"["~", 1]"#, r#"[">"]"#, r#"["<", 5, ">", 0]"#, r#"[">", "0"]"#] {
            let refusal = refusal(&format!(r#"{{"a": [{{"numeric": {numeric}}}]}}"#));
            assert!(refusal.starts_with("$.a: expected a comparison such as"), "{refusal}");
        }
        assert!(refusal("{").starts_with("the pattern is not JSON: "));
    }
}
