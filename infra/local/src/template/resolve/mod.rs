//! Resolves the template's loops, conditions and functions.
//!
//! Everything that depends only on parameters is decided here, once. What exists only after a resource was created
//! stays in the tree as a [`Value`](super::Value) with references. What a false condition excludes is not in the tree.

mod functions;
mod loops;
#[cfg(test)]
mod tests;

use super::error::TemplateError;
use super::parameters;
use super::value::describe;
use functions::{call, written_as};
use std::collections::BTreeMap;
use yaml_serde::{Mapping, Value as Yaml};

/// The resolved sections `Globals`, `Resources` and `Outputs`. `given` holds parameter values.
pub(super) fn resolve(text: &str, given: &BTreeMap<String, String>) -> Result<Mapping, TemplateError> {
    let mut yaml: Yaml = yaml_serde::from_str(text)?;
    yaml.apply_merge()?;
    let mut scope = Scope {
        parameters: parameters::read(section(&yaml, "Parameters")?, given)?,
        mappings: yaml.get("Mappings"),
        conditions: BTreeMap::new(),
        resources: BTreeMap::new(),
    };
    let in_section = |name: &'static str| move |error: TemplateError| error.within(name);
    let conditions = scope.entries(section(&yaml, "Conditions")?).map_err(in_section("Conditions"))?;
    let written: BTreeMap<&str, &Yaml> = conditions.iter().map(|(name, yaml)| (name.as_str(), yaml.as_ref())).collect();
    for (name, condition) in &written {
        let holds = scope.holds(condition, &written, written.len());
        let holds = holds.map_err(|error| error.within(name).within("Conditions"))?;
        scope.conditions.insert((*name).to_owned(), holds);
    }
    let resources = scope.entries(section(&yaml, "Resources")?).map_err(in_section("Resources"))?;
    for (logical_id, resource) in &resources {
        let kept = scope.keeps(resource).map_err(|error| error.within(logical_id).within("Resources"))?;
        scope.resources.insert(logical_id.clone(), kept.then(|| resource.clone().into_owned()));
    }
    let globals = scope.entries(section(&yaml, "Globals")?).map_err(in_section("Globals"))?;
    let outputs = scope.entries(section(&yaml, "Outputs")?).map_err(in_section("Outputs"))?;
    let mut resolved = Mapping::new();
    for (name, entries) in [("Globals", globals), ("Resources", resources), ("Outputs", outputs)] {
        let mut section = Mapping::new();
        for (key, entry) in entries {
            let at = |error: TemplateError| error.within(&key).within(name);
            if scope.keeps(&entry).map_err(at)? {
                let entry = scope.value(&entry).map_err(at)?;
                section.insert(key.as_str().into(), entry);
            }
        }
        resolved.insert(name.into(), section.into());
    }
    Ok(resolved)
}

fn section<'y>(yaml: &'y Yaml, name: &str) -> Result<&'y Mapping, TemplateError> {
    static NONE: std::sync::LazyLock<Mapping> = std::sync::LazyLock::new(Mapping::new);
    match yaml.get(name) {
        Some(Yaml::Mapping(section)) => Ok(section),
        None | Some(Yaml::Null) => Ok(&NONE),
        Some(other) => Err(TemplateError::at(name, format!("must be a mapping (got {})", describe(other)))),
    }
}

/// What names in the template stand for.
struct Scope<'y> {
    /// Texts or lists of texts.
    parameters: BTreeMap<String, Yaml>,
    mappings: Option<&'y Yaml>,
    conditions: BTreeMap<String, bool>,
    /// As written. `None` if the condition is false.
    resources: BTreeMap<String, Option<Yaml>>,
}

type Resolved<T> = Result<T, TemplateError>;

fn wrong<T>(problem: String) -> Resolved<T> {
    Err(TemplateError::here(problem))
}

impl Scope<'_> {
    /// Whether the condition of a resource or output is true.
    fn keeps(&self, entry: &Yaml) -> Resolved<bool> {
        match entry.get("Condition") {
            Some(name) => self.condition(name).map_err(|error| error.within("Condition")),
            None => Ok(true),
        }
    }

    fn condition(&self, name: &Yaml) -> Resolved<bool> {
        let holds = name.as_str().and_then(|name| self.conditions.get(name));
        holds.copied().ok_or_else(|| TemplateError::here(format!("there is no condition {}", describe(name))))
    }

    /// `depth` limits nested conditions: more than there are is a cycle.
    fn holds(&self, condition: &Yaml, written: &BTreeMap<&str, &Yaml>, depth: usize) -> Resolved<bool> {
        let of = |all: &[Yaml]| all.iter().map(|each| self.holds(each, written, depth)).collect::<Resolved<Vec<_>>>();
        let named = condition.get("Condition").map(|name| ("Condition".to_owned(), std::slice::from_ref(name)));
        let (function, arguments) = named.or_else(|| call(condition)).unwrap_or_default();
        match (function.as_str(), arguments) {
            ("Fn::Equals", [one, other]) => Ok(self.text(one)? == self.text(other)?),
            ("Fn::Not", [condition]) => Ok(!self.holds(condition, written, depth)?),
            ("Fn::And", all) => Ok(of(all)?.into_iter().all(|holds| holds)),
            ("Fn::Or", all) => Ok(of(all)?.into_iter().any(|holds| holds)),
            ("Condition", [Yaml::String(name)]) => match written.get(name.as_str()) {
                Some(named) if depth > 0 => self.holds(named, written, depth - 1),
                Some(_) => wrong(format!("{name} refers to itself")),
                None => wrong(format!("there is no condition {name:?}")),
            },
            _ => wrong(format!("must be Equals, Not, And, Or or Condition (got {})", written_as(condition))),
        }
    }

    /// Resolves an entry and everything below it. Null for `AWS::NoValue`.
    fn value(&self, yaml: &Yaml) -> Resolved<Yaml> {
        if let Some((function, arguments)) = call(yaml) {
            return self.function(&function, arguments, yaml);
        }
        match yaml {
            Yaml::Mapping(mapping) => self.mapping(mapping, false),
            Yaml::Sequence(items) => {
                let items = items.iter().enumerate();
                let items = items.map(|(at, item)| self.value(item).map_err(|error| error.within(&format!("[{at}]"))));
                items.filter(|item| !matches!(item, Ok(Yaml::Null))).collect()
            }
            scalar => Ok(scalar.clone()),
        }
    }

    fn mapping(&self, mapping: &Mapping, keep_null: bool) -> Resolved<Yaml> {
        let mut resolved = Mapping::new();
        for (key, entry) in self.entries(mapping)? {
            let value = match (key.as_str(), entry.as_ref()) {
                // A function declares its variables even without a value.
                ("Variables", Yaml::Mapping(variables)) => self.mapping(variables, true),
                (_, entry) => self.value(entry),
            };
            let value = value.map_err(|error| error.within(&key))?;
            if keep_null || !value.is_null() {
                resolved.insert(key.into(), value);
            }
        }
        Ok(resolved.into())
    }
}
