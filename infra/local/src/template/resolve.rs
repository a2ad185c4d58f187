//! From the text of the template to a tree without loops, conditions and functions.
//!
//! Everything that the parameters decide is decided here, once. What exists only after a resource has been created stays
//! in the tree as a [`Value`] with references; what a false condition leaves out is not in the tree.

use super::error::TemplateError;
use super::parameters;
use super::value::{Reference, Value, describe};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use yaml_serde::value::TaggedValue;
use yaml_serde::{Mapping, Value as Yaml};

const LOOP: &str = "Fn::ForEach::";

/// The sections `Globals`, `Resources` and `Outputs`, resolved. `given` are the values of the parameters.
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

/// What the names in a template mean.
struct Scope<'y> {
    /// A text or a list of texts each.
    parameters: BTreeMap<String, Yaml>,
    mappings: Option<&'y Yaml>,
    conditions: BTreeMap<String, bool>,
    /// As they are written; `None` for one that this deployment leaves out.
    resources: BTreeMap<String, Option<Yaml>>,
}

type Resolved<T> = Result<T, TemplateError>;

fn wrong<T>(problem: String) -> Resolved<T> {
    Err(TemplateError::here(problem))
}

impl Scope<'_> {
    /// Whether the condition of a resource or output holds.
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

    /// `depth` is how many conditions may still stand within each other: more than there are is a circle.
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

    /// The entries of a mapping, loops run. The same key twice is an error.
    fn entries<'m>(&self, mapping: &'m Mapping) -> Resolved<Vec<(String, Cow<'m, Yaml>)>> {
        let mut entries = Vec::new();
        for (key, entry) in mapping {
            let Some(key) = Value::read(key).map(|key| key.to_string()) else {
                return wrong(format!("must have texts as keys (got {})", describe(key)));
            };
            if key.starts_with(LOOP) {
                entries.extend(self.run_loop(entry).map_err(|error| error.within(&key))?);
            } else {
                entries.push((key, Cow::Borrowed(entry)));
            }
        }
        let mut keys = BTreeSet::new();
        match entries.iter().find(|(key, _)| !keys.insert(key)) {
            Some((twice, _)) => wrong(format!("has {twice} twice")),
            None => Ok(entries),
        }
    }

    /// `[Identifier, Collection, Body]`: the body once for every item, with the item in the identifier's place.
    fn run_loop(&self, of: &Yaml) -> Resolved<Vec<(String, Cow<'static, Yaml>)>> {
        let Some([Yaml::String(identifier), collection, body @ Yaml::Mapping(_)]) = of.as_sequence().map(Vec::as_slice)
        else {
            return wrong("must be an identifier, a list and a mapping".to_owned());
        };
        let mut entries = Vec::new();
        for item in self.list(collection)? {
            let item = known_text(&item)?;
            if let Yaml::Mapping(body) = substitute(body, identifier, &item) {
                let run = self.entries(&body)?.into_iter();
                entries.extend(run.map(|(key, entry)| (key, Cow::Owned(entry.into_owned()))));
            }
        }
        Ok(entries)
    }

    /// An entry with everything below it; null where it is `AWS::NoValue`.
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
                // A variable without a value is still one that the function declares.
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

    fn function(&self, function: &str, arguments: &[Yaml], yaml: &Yaml) -> Resolved<Yaml> {
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
            ("Fn::Join", [delimiter, items]) => {
                let delimiter = self.text(delimiter)?;
                let mut joined = Value::default();
                for (at, item) in self.list(items)?.iter().enumerate() {
                    joined.push(if at > 0 { delimiter.as_str().into() } else { Value::default() });
                    joined.push(text_of(item)?);
                }
                Ok(joined.into_yaml()?)
            }
            ("Fn::Select", [index, items]) => {
                let (index, items) = (self.text(index)?, self.list(items)?);
                let item = index.parse().ok().and_then(|index: usize| items.get(index));
                item.cloned()
                    .ok_or_else(|| TemplateError::here(format!("a list of {} has no item {index}", items.len())))
            }
            ("Fn::Split", [delimiter, text]) => {
                let (delimiter, text) = (self.text(delimiter)?, self.text(text)?);
                Ok(text.split(&delimiter).map(Yaml::from).collect())
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

    /// What `!Ref` gives.
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
            // Its own name, which the template tells.
            "AWS::SES::ConfigurationSet" => return self.value(&resource["Properties"]["Name"]),
            "AWS::DynamoDB::Table" => Reference::TableName(id),
            "AWS::SQS::Queue" => Reference::QueueUrl(id),
            "AWS::SecretsManager::Secret" => Reference::SecretArn(id),
            _ => Reference::Other { resource: id, attribute: None },
        };
        Ok(Value::from(reference).into_yaml()?)
    }

    /// What `!GetAtt` gives.
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

    /// A resource that something refers to.
    fn resource(&self, name: &str) -> Resolved<&Yaml> {
        match self.resources.get(name) {
            Some(Some(resource)) => Ok(resource),
            Some(None) => wrong(format!("refers to {name}, whose condition does not hold")),
            // Conditions know no resources.
            None if self.resources.is_empty() => wrong(format!("refers to {name}, which is not a parameter")),
            None if name.starts_with("AWS::") => wrong(format!("refers to {name}, which was not given")),
            None => wrong(format!("refers to {name}, which is neither a parameter nor a resource of this template")),
        }
    }

    /// `${Name}` and `${Resource.Attribute}` are replaced; `${!Name}` stands for a literal `${Name}`.
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

    fn list(&self, yaml: &Yaml) -> Resolved<Vec<Yaml>> {
        match self.value(yaml)? {
            Yaml::Sequence(items) => Ok(items),
            other => wrong(format!("must be a list (got {})", describe(&other))),
        }
    }

    fn text(&self, yaml: &Yaml) -> Resolved<String> {
        known_text(&self.value(yaml)?)
    }
}

/// A text that is known from the parameters alone.
fn known_text(resolved: &Yaml) -> Resolved<String> {
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

/// The name and the arguments, when the entry is a function: `!Sub text`, or `Fn::Sub: text` alone in its mapping.
fn call(yaml: &Yaml) -> Option<(String, &[Yaml])> {
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

/// A function for a message.
fn written_as(yaml: &Yaml) -> String {
    call(yaml).map_or_else(|| describe(yaml), |(name, arguments)| format!("{name} with {} arguments", arguments.len()))
}

/// The body of a loop with an item in its identifier's place: `${Name}` in keys and texts, `&{Name}` for its letters and
/// digits alone, and `!Ref Name`.
fn substitute(yaml: &Yaml, identifier: &str, item: &str) -> Yaml {
    let below = |yaml: &Yaml| substitute(yaml, identifier, item);
    match (call(yaml), yaml) {
        (Some((function, [Yaml::String(name)])), _) if function == "Ref" && name == identifier => item.into(),
        (_, Yaml::String(text)) => {
            let plain: String = item.chars().filter(char::is_ascii_alphanumeric).collect();
            let text = text.replace(&format!("${{{identifier}}}"), item);
            Yaml::String(text.replace(&format!("&{{{identifier}}}"), &plain))
        }
        (_, Yaml::Sequence(items)) => items.iter().map(below).collect(),
        (_, Yaml::Mapping(mapping)) => {
            mapping.iter().map(|(key, entry)| (below(key), below(entry))).collect::<Mapping>().into()
        }
        (_, Yaml::Tagged(tagged)) => {
            Yaml::Tagged(Box::new(TaggedValue { tag: tagged.tag.clone(), value: below(&tagged.value) }))
        }
        (_, scalar) => scalar.clone(),
    }
}
