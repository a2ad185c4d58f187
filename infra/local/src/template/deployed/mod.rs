//! Tests that the deployed template agrees with itself, with the code and with the specification. No linter checks this.

mod alarms;
mod console;
mod functions;
mod queues;
pub mod roles;
mod routes;
mod tables;

use super::resolve::resolve;
use super::{Function, Template, Value};
use std::collections::BTreeMap;
use yaml_serde::Value as Yaml;

const TEMPLATE: &str = include_str!("../../../../template.yaml");

/// The pseudo parameters, and these.
pub fn pseudo_parameters(more: &[(&str, &str)]) -> BTreeMap<String, String> {
    let pseudo = [
        ("AWS::StackName", "stack"),
        ("AWS::Region", "eu-west-1"),
        ("AWS::AccountId", "000000000000"),
        ("AWS::Partition", "aws"),
        ("AWS::URLSuffix", "amazonaws.com"),
    ];
    pseudo.iter().chain(more).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// The parameters of a deployment, some of them replaced.
fn parameters(replaced: &[(&str, &str)]) -> BTreeMap<String, String> {
    let mut parameters = crate::provider_settings::parameters("stack");
    parameters.extend(pseudo_parameters(replaced));
    parameters
}

/// The deployed template as the local host reads it.
pub fn deployed(replaced: &[(&str, &str)]) -> Template {
    Template::parse(TEMPLATE, &parameters(replaced)).expect("a template")
}

/// One section of the template, resolved.
fn section(name: &str, replaced: &[(&str, &str)]) -> yaml_serde::Mapping {
    let sections = resolve(TEMPLATE, &parameters(replaced)).unwrap_or_else(|error| panic!("{error}"));
    sections[name].as_mapping().expect("a section").clone()
}

/// Calls `look` with each resource of a type.
fn each_of(kind: &str, replaced: &[(&str, &str)], mut look: impl FnMut(&str, &Yaml)) {
    for (logical_id, resource) in section("Resources", replaced) {
        if resource["Type"] == kind {
            look(logical_id.as_str().expect("a logical id"), &resource);
        }
    }
}

/// A property as a text, references in braces.
fn text(properties: &Yaml, name: &str) -> String {
    Value::read(&properties[name]).unwrap_or_else(|| panic!("no text {name} in {properties:?}")).to_string()
}

/// A property as a list, empty where there is none.
fn items(properties: &Yaml, name: &str) -> Vec<Yaml> {
    properties[name].as_sequence().cloned().unwrap_or_default()
}

/// A variable of a function as a text, references in braces.
fn variable(function: &Function, name: &str) -> Option<String> {
    function.environment.get(name).map(ToString::to_string)
}
