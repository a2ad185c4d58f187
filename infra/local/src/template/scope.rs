//! What a name in the template can mean: a parameter, a pseudo parameter or a resource.
//!
//! Parameters are replaced while reading; a reference to a resource stays one.

use super::condition;
use super::error::{Problem, TemplateError};
use super::node::Node;
use super::value::{Reference, Value};
use std::collections::BTreeMap;
use yaml_serde::Value as Yaml;

/// What the names in a template can mean.
pub(super) struct Scope {
    /// `None` for a parameter that has no value; that matters only to those who use it.
    parameters: BTreeMap<String, Option<String>>,
    conditions: BTreeMap<String, bool>,
    resources: BTreeMap<String, Kind>,
}

#[derive(Clone, Copy)]
enum Kind {
    Table,
    Queue,
    Other,
}

impl Scope {
    pub(super) fn read(yaml: &Yaml, given: &BTreeMap<String, String>) -> Result<Self, TemplateError> {
        // Parameters and types are plain texts: they are read before there is anything to refer to.
        let nothing = Self { parameters: BTreeMap::new(), conditions: BTreeMap::new(), resources: BTreeMap::new() };
        let root = Node::root(yaml, &nothing);

        let is_pseudo = |name: &str| name.starts_with("AWS::");
        let pseudo = given.iter().filter(|(name, _)| is_pseudo(name));
        let mut parameters: BTreeMap<_, _> = pseudo.map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
        for (name, parameter) in root.get("Parameters")?.map_or(Ok(Vec::new()), |node| node.entries())? {
            parameters.insert(name.to_owned(), parameter_value(&parameter, given.get(name))?);
        }
        if let Some(unknown) = given.keys().find(|name| !parameters.contains_key(*name)) {
            let path = format!("Parameters.{unknown}");
            return Err(TemplateError::Entry { path, problem: Problem::UnknownParameter });
        }

        let mut resources = BTreeMap::new();
        for (logical_id, resource) in root.need("Resources")?.entries()? {
            let kind = match resource.need("Type")?.text()?.as_str() {
                "AWS::DynamoDB::Table" => Kind::Table,
                "AWS::SQS::Queue" => Kind::Queue,
                _ => Kind::Other,
            };
            resources.insert(logical_id.to_owned(), kind);
        }
        let mut scope = Self { parameters, conditions: BTreeMap::new(), resources };
        scope.conditions = condition::read(&root, &scope)?;
        Ok(scope)
    }

    /// Whether a condition holds.
    pub(super) fn condition(&self, name: &str) -> Result<bool, Problem> {
        self.conditions.get(name).copied().ok_or_else(|| Problem::UnknownCondition(name.to_owned()))
    }

    /// What `!Ref` gives.
    pub(super) fn reference(&self, name: &str) -> Result<Value, Problem> {
        match self.parameters.get(name) {
            Some(Some(value)) => return Ok(Value::text(value)),
            Some(None) => return Err(Problem::NoValue(name.to_owned())),
            None if name.starts_with("AWS::") => return Err(Problem::NoValue(name.to_owned())),
            None => {}
        }
        let id = name.to_owned();
        match self.resources.get(name) {
            Some(Kind::Table) => Ok(Value::reference(Reference::TableName(id))),
            Some(Kind::Queue) => Ok(Value::reference(Reference::QueueUrl(id))),
            Some(Kind::Other) => Ok(Value::reference(Reference::Other { resource: id, attribute: None })),
            None => Err(Problem::UnknownReference(id)),
        }
    }

    /// What `!GetAtt` gives.
    pub(super) fn attribute(&self, resource: &str, attribute: &str) -> Result<Value, Problem> {
        let id = resource.to_owned();
        let reference = match (self.resources.get(resource), attribute) {
            (Some(Kind::Table), "Arn") => Reference::TableArn(id),
            (Some(Kind::Table), "StreamArn") => Reference::StreamArn(id),
            (Some(Kind::Queue), "Arn") => Reference::QueueArn(id),
            (Some(Kind::Queue), "QueueName") => Reference::QueueName(id),
            (Some(Kind::Queue), "QueueUrl") => Reference::QueueUrl(id),
            (Some(Kind::Other), _) => Reference::Other { resource: id, attribute: Some(attribute.to_owned()) },
            (Some(Kind::Table | Kind::Queue), _) => {
                return Err(Problem::UnknownAttribute { resource: id, attribute: attribute.to_owned() });
            }
            (None, _) => return Err(Problem::UnknownReference(id)),
        };
        Ok(Value::reference(reference))
    }
}

fn parameter_value(parameter: &Node<'_>, given: Option<&String>) -> Result<Option<String>, TemplateError> {
    let default = parameter.get("Default")?.map(|default| default.text()).transpose()?;
    let value = given.cloned().or(default);
    if let (Some(value), Some(allowed)) = (&value, parameter.get("AllowedValues")?) {
        let allowed = allowed.items()?.iter().map(Node::text).collect::<Result<Vec<_>, _>>()?;
        if !allowed.contains(value) {
            let expected = allowed.join(" or ");
            return Err(parameter.error(Problem::Unexpected { expected, found: format!("{value:?}") }));
        }
    }
    Ok(value)
}
