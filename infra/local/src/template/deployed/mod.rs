//! What no linter sees of the template that is deployed: that it agrees with itself, with the code and with the
//! specification.

mod alarms;
mod console;
mod functions;
mod queues;
mod routes;
mod tables;

use super::resolve::resolve;
use super::{Function, Template, Value};
use std::collections::BTreeMap;
use yaml_serde::Value as Yaml;

const TEMPLATE: &str = include_str!("../../../../template.yaml");

/// What a deployment says, with some of it said otherwise.
fn parameters(otherwise: &[(&str, &str)]) -> BTreeMap<String, String> {
    let pseudo = [
        ("AWS::StackName", "stack"),
        ("AWS::Region", "eu-west-1"),
        ("AWS::AccountId", "000000000000"),
        ("AWS::Partition", "aws"),
        ("AWS::URLSuffix", "amazonaws.com"),
    ];
    let mut said = crate::outside::parameters("stack");
    said.extend(pseudo.iter().chain(otherwise).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    said
}

/// The template as the local host reads it.
fn deployed(otherwise: &[(&str, &str)]) -> Template {
    Template::parse(TEMPLATE, &parameters(otherwise)).expect("a template")
}

/// One section of the template, resolved.
fn section(name: &str, otherwise: &[(&str, &str)]) -> yaml_serde::Mapping {
    let sections = resolve(TEMPLATE, &parameters(otherwise)).unwrap_or_else(|error| panic!("{error}"));
    sections[name].as_mapping().expect("a section").clone()
}

/// Looks at the resources of a type, the local host's and all others.
fn each_of(kind: &str, otherwise: &[(&str, &str)], mut look: impl FnMut(&str, &Yaml)) {
    for (logical_id, resource) in section("Resources", otherwise) {
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
