//! What no linter sees of the template that is deployed: that it agrees with itself, with the code and with the
//! specification.

mod alarms;
mod console;
mod functions;
mod queues;
mod routes;
mod tables;

use super::node::Node;
use super::scope::Scope;
use super::{Function, Template};
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
    ];
    let mut said = crate::outside::parameters("stack");
    said.extend(pseudo.iter().chain(otherwise).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    said
}

/// The template as the local host reads it.
fn deployed(otherwise: &[(&str, &str)]) -> Template {
    Template::parse(TEMPLATE, &parameters(otherwise)).expect("a template")
}

/// Looks at the resources of a type, the local host's and all others.
fn each_of(kind: &str, otherwise: &[(&str, &str)], mut look: impl FnMut(&str, &Node<'_>)) {
    let yaml: Yaml = yaml_serde::from_str(TEMPLATE).expect("yaml");
    let scope = Scope::read(&yaml, &parameters(otherwise)).expect("parameters");
    let resources = Node::root(&yaml, &scope).need("Resources").expect("resources");
    for (logical_id, resource) in resources.entries().expect("resources") {
        if resource.need("Type").and_then(|kind| kind.text()).expect("a type") == kind {
            look(logical_id, &resource);
        }
    }
}

/// A property as a text, references in braces.
fn text(properties: &Node<'_>, name: &str) -> String {
    properties.need(name).and_then(|property| property.value()).unwrap_or_else(|error| panic!("{error}")).to_string()
}

/// A variable of a function as a text, references in braces.
fn variable(function: &Function, name: &str) -> Option<String> {
    function.environment.get(name).map(ToString::to_string)
}
