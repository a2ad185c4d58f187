//! CloudFormation's functions as a tag (`!Sub text`) and in the long form (`Fn::Sub: text`). Those that the deployed
//! template does not use are refused.

use super::loops::LOOP;
use super::{Resolved, Scope, wrong};
use crate::template::error::TemplateError;
use crate::template::value::{Reference, Value, describe};
use std::collections::BTreeMap;
use yaml_serde::Value as Yaml;

impl Scope<'_> {
    pub(super) fn function(&self, function: &str, arguments: &[Yaml], yaml: &Yaml) -> Resolved<Yaml> {
        match (function, arguments) {
            ("Ref", [name]) => self.reference(&self.text(name)?),
            ("Fn::GetAtt", [Yaml::String(joined)]) => match joined.split_once('.') {
                Some((resource, attribute)) => self.attribute(resource, attribute),
                None => wrong(format!("must be Resource.Attribute (got {joined:?})")),
            },
            ("Fn::GetAtt", [resource, attribute]) => self.attribute(&self.text(resource)?, &self.text(attribute)?),
            ("Fn::Sub", [Yaml::String(pattern)]) => self.sub(pattern, &BTreeMap::new()),
            ("Fn::Sub", [Yaml::String(pattern), Yaml::Mapping(names)]) => {
                let names = self.entries(names)?.into_iter();
                let names = names.map(|(name, value)| Ok((name, text_of(&self.value(&value)?)?)));
                self.sub(pattern, &names.collect::<Resolved<_>>()?)
            }
            ("Fn::If", [condition, one, other]) => self.value(if self.condition(condition)? { one } else { other }),
            ("Fn::FindInMap", [map, first, second, default @ ..]) if default.len() < 2 => {
                let keys = [self.text(map)?, self.text(first)?, self.text(second)?];
                let [map, first, second] = keys.each_ref().map(String::as_str);
                let found = self.mappings.and_then(|all| all.get(map)?.get(first)?.get(second));
                match found.or_else(|| default.first()?.get("DefaultValue")) {
                    Some(value) => self.value(value),
                    None => wrong(format!("Mappings has no {}", keys.join("."))),
                }
            }
            _ => wrong(format!("{} is not supported", written_as(yaml))),
        }
    }

    fn reference(&self, name: &str) -> Resolved<Yaml> {
        if name == "AWS::NoValue" {
            return Ok(Yaml::Null);
        }
        if let Some(value) = self.parameters.get(name) {
            return Ok(value.clone());
        }
        let id = name.to_owned();
        let resource = self.resource(name)?;
        let reference = match kind(resource) {
            // Its name, which is in the template.
            "AWS::SES::ConfigurationSet" => return self.value(&resource["Properties"]["Name"]),
            "AWS::DynamoDB::Table" => Reference::TableName(id),
            "AWS::SQS::Queue" => Reference::QueueUrl(id),
            "AWS::SecretsManager::Secret" => Reference::SecretArn(id),
            _ => Reference::Other { resource: id, attribute: None },
        };
        Ok(Value::from(reference).into_yaml()?)
    }

    fn attribute(&self, resource: &str, attribute: &str) -> Resolved<Yaml> {
        let id = resource.to_owned();
        let reference = match (kind(self.resource(resource)?), attribute) {
            ("AWS::DynamoDB::Table", "Arn") => Reference::TableArn(id),
            ("AWS::DynamoDB::Table", "StreamArn") => Reference::StreamArn(id),
            ("AWS::SQS::Queue", "Arn") => Reference::QueueArn(id),
            ("AWS::SQS::Queue", "QueueName") => Reference::QueueName(id),
            ("AWS::SQS::Queue", "QueueUrl") => Reference::QueueUrl(id),
            ("AWS::SecretsManager::Secret", "Id") => Reference::SecretArn(id),
            (kind @ ("AWS::DynamoDB::Table" | "AWS::SQS::Queue" | "AWS::SecretsManager::Secret"), _) => {
                return wrong(format!("{resource} has no attribute {attribute}: it is an {kind}"));
            }
            _ => Reference::Other { resource: id, attribute: Some(attribute.to_owned()) },
        };
        Ok(Value::from(reference).into_yaml()?)
    }

    fn resource(&self, name: &str) -> Resolved<&Yaml> {
        match self.resources.get(name) {
            Some(Some(resource)) => Ok(resource),
            Some(None) => wrong(format!("refers to {name}, whose condition does not hold")),
            // Conditions know no resources.
            None if self.resources.is_empty() => wrong(format!("refers to {name}, which is not a parameter")),
            None if name.starts_with("AWS::") => wrong(format!("refers to {name}, which has no value")),
            None => wrong(format!("refers to {name}, which is neither a parameter nor a resource of this template")),
        }
    }

    /// Replaces `${Name}` and `${Resource.Attribute}`. `${!Name}` is a literal `${Name}`.
    fn sub(&self, pattern: &str, names: &BTreeMap<String, Value>) -> Resolved<Yaml> {
        let mut value = Value::default();
        let mut rest = pattern;
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, after)) = after.split_once('}') else {
                return wrong(format!("must have a }} for every ${{ (got {pattern:?})"));
            };
            value.push(before.into());
            value.push(match (name.strip_prefix('!'), names.get(name), name.split_once('.')) {
                (Some(literal), _, _) => format!("${{{literal}}}").as_str().into(),
                (None, Some(given), _) => given.clone(),
                (None, None, Some((resource, attribute))) => text_of(&self.attribute(resource, attribute)?)?,
                (None, None, None) => text_of(&self.reference(name)?)?,
            });
            rest = after;
        }
        value.push(rest.into());
        Ok(value.into_yaml()?)
    }

    pub(super) fn list(&self, yaml: &Yaml) -> Resolved<Vec<Yaml>> {
        match self.value(yaml)? {
            Yaml::Sequence(items) => Ok(items),
            other => wrong(format!("must be a list (got {})", describe(&other))),
        }
    }

    pub(super) fn text(&self, yaml: &Yaml) -> Resolved<String> {
        known_text(&self.value(yaml)?)
    }
}

/// A text without references to resources.
pub(super) fn known_text(resolved: &Yaml) -> Resolved<String> {
    let value = text_of(resolved)?;
    let unknown = |reference| format!("must be known from the parameters alone (got {reference})");
    value.resolve(|_| None).map_err(|reference| TemplateError::here(unknown(reference)))
}

fn kind(resource: &Yaml) -> &str {
    resource["Type"].as_str().unwrap_or_default()
}

fn text_of(resolved: &Yaml) -> Resolved<Value> {
    Value::read(resolved).ok_or_else(|| TemplateError::here(format!("must be a text (got {})", describe(resolved))))
}

/// The name and arguments of a function: `!Sub text`, or a mapping with the only key `Fn::Sub`.
pub(super) fn call(yaml: &Yaml) -> Option<(String, &[Yaml])> {
    let (name, argument) = match yaml {
        Yaml::Tagged(tagged) => match tagged.tag.to_string().trim_start_matches('!') {
            name @ ("Condition" | "Ref") => (name.to_owned(), &tagged.value),
            name => (format!("Fn::{name}"), &tagged.value),
        },
        Yaml::Mapping(mapping) if mapping.len() == 1 => {
            let (name, argument) = mapping.iter().next()?;
            let name = name.as_str()?;
            let is_function = name.starts_with("Fn::") && !name.starts_with(LOOP);
            (is_function || name == "Ref").then(|| (name.to_owned(), argument))?
        }
        _ => return None,
    };
    Some((name, argument.as_sequence().map_or(std::slice::from_ref(argument), Vec::as_slice)))
}

/// A function, for an error message.
pub(super) fn written_as(yaml: &Yaml) -> String {
    call(yaml).map_or_else(|| describe(yaml), |(name, arguments)| format!("{name} with {} arguments", arguments.len()))
}
