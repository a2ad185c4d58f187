//! `Parameters`: their values, checked against the allowed values and patterns.

use super::error::TemplateError;
use super::typed::{Text, properties, typed};
use std::collections::BTreeMap;
use yaml_serde::{Mapping, Value as Yaml};

properties! {
    struct Parameter {
        r#type: Text,
        default: Option<Text>,
        allowed_values: Option<Vec<Text>>,
        allowed_pattern: Option<Text>,
    }
    ignored { ConstraintDescription Description MaxLength MaxValue MinLength MinValue NoEcho }
}

/// The value of each parameter, including pseudo parameters: a text or a list of texts.
pub(super) fn read(
    declared: &Mapping,
    given: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, Yaml>, TemplateError> {
    let pseudo = given.iter().filter(|(name, _)| name.starts_with("AWS::"));
    let mut values: BTreeMap<String, Yaml> =
        pseudo.map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    for (name, parameter) in declared {
        let name = name.as_str().unwrap_or_default();
        let path = format!("Parameters.{name}");
        let parameter: Parameter = typed(&path, parameter)?;
        let value = parameter.value(given.get(name)).map_err(|problem| TemplateError::at(path, problem))?;
        values.insert(name.to_owned(), value);
    }
    match given.keys().find(|name| !values.contains_key(*name)) {
        Some(unknown) => {
            Err(TemplateError::at(format!("Parameters.{unknown}"), "a value was given, but there is no such parameter"))
        }
        None => Ok(values),
    }
}

impl Parameter {
    fn value(&self, given: Option<&String>) -> Result<Yaml, String> {
        let default = self.default.as_ref().map(|default| &default.0);
        let value = given.or(default).ok_or("has no default and no value was given")?;
        let is_list = self.r#type.0 == "CommaDelimitedList";
        let items: Vec<&str> = if is_list { value.split(',').map(str::trim).collect() } else { vec![value] };
        for item in &items {
            self.check(item)?;
            // Defaults may break the pattern, for example to switch a feature off.
            if given.is_some() {
                self.check_given(item)?;
            }
        }
        Ok(if is_list { items.into_iter().map(Yaml::from).collect() } else { value.as_str().into() })
    }

    fn check(&self, value: &str) -> Result<(), String> {
        match &self.allowed_values {
            Some(allowed) if !allowed.iter().any(|allowed| allowed.0 == value) => {
                let allowed: Vec<&str> = allowed.iter().map(|allowed| allowed.0.as_str()).collect();
                Err(format!("must be {} (got {value:?})", allowed.join(" or ")))
            }
            _ => Ok(()),
        }
    }

    fn check_given(&self, value: &str) -> Result<(), String> {
        if let Some(Text(pattern)) = &self.allowed_pattern {
            let whole = regex_lite::Regex::new(&format!("^(?:{pattern})$")).map_err(|error| error.to_string())?;
            if !whole.is_match(value) {
                return Err(format!("must match {pattern} (got {value:?})"));
            }
        }
        Ok(())
    }
}
