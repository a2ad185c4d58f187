//! `Conditions`: what a deployment decides by its parameters, worked out before anything else is read.

use super::error::{Problem, TemplateError};
use super::intrinsic::{call, describe, settled_text};
use super::node::Node;
use super::scope::Scope;
use std::collections::BTreeMap;
use yaml_serde::Value as Yaml;

/// What holds, by name. `scope` has to know the parameters.
pub(super) fn read(root: &Node<'_>, scope: &Scope) -> Result<BTreeMap<String, bool>, TemplateError> {
    let Some(section) = root.get("Conditions")? else {
        return Ok(BTreeMap::new());
    };
    let entries = section.entries()?;
    let written: BTreeMap<_, _> = entries.iter().map(|(name, node)| (*name, node.yaml())).collect();
    let conditions = entries.iter().map(|(name, node)| {
        let holds = holds(node.yaml(), &written, scope, written.len());
        holds.map(|holds| ((*name).to_owned(), holds)).map_err(|problem| node.error(problem))
    });
    conditions.collect()
}

/// `depth` is how many conditions may still stand within each other: more than there are is a circle.
fn holds(yaml: &Yaml, written: &BTreeMap<&str, &Yaml>, scope: &Scope, depth: usize) -> Result<bool, Problem> {
    let within = |yaml: &Yaml| holds(yaml, written, scope, depth);
    let of = |all: &[Yaml]| all.iter().map(within).collect::<Result<Vec<_>, _>>();
    match call(yaml) {
        Some((function, Yaml::Sequence(arguments))) => match (function.as_str(), arguments.as_slice()) {
            ("Equals", [one, other]) => Ok(settled_text(one, scope)? == settled_text(other, scope)?),
            ("Not", [condition]) => within(condition).map(|holds| !holds),
            ("And", all) => of(all).map(|all| all.into_iter().all(|holds| holds)),
            ("Or", all) => of(all).map(|all| all.into_iter().any(|holds| holds)),
            _ => Err(unexpected(yaml)),
        },
        Some((function, Yaml::String(name))) if function == "Condition" => {
            let named = written.get(name.as_str()).filter(|_| depth > 0);
            let named = named.ok_or_else(|| Problem::UnknownCondition(name.clone()))?;
            holds(named, written, scope, depth - 1)
        }
        _ => Err(unexpected(yaml)),
    }
}

fn unexpected(yaml: &Yaml) -> Problem {
    Problem::Unexpected { expected: "Equals, Not, And, Or or Condition".to_owned(), found: describe(yaml) }
}
