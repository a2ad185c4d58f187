//! An entry of the template that knows its path, so that every complaint can name it.

use super::error::{Problem, TemplateError};
use super::intrinsic;
use super::scope::Scope;
use super::value::{Reference, Value};
use std::ops::RangeInclusive;
use yaml_serde::Value as Yaml;

/// A YAML value, where it stands, and what references in it can mean.
pub(super) struct Node<'a> {
    path: String,
    yaml: &'a Yaml,
    scope: &'a Scope,
}

impl<'a> Node<'a> {
    pub(super) fn root(yaml: &'a Yaml, scope: &'a Scope) -> Self {
        Self { path: String::new(), yaml, scope }
    }

    pub(super) fn error(&self, problem: impl Into<Problem>) -> TemplateError {
        TemplateError::Entry { path: self.path.clone(), problem: problem.into() }
    }

    /// The entry below, or `None`. An entry without a value (`Properties:`) counts as not there.
    pub(super) fn get(&self, key: &str) -> Result<Option<Self>, TemplateError> {
        let Yaml::Mapping(mapping) = self.yaml else {
            return Err(self.unexpected("a mapping"));
        };
        match mapping.get(key).filter(|entry| !entry.is_null()) {
            Some(yaml) => self.below(key, yaml).settled(),
            None => Ok(None),
        }
    }

    pub(super) fn need(&self, key: &str) -> Result<Self, TemplateError> {
        self.get(key)?.ok_or_else(|| self.below(key, self.yaml).error(Problem::Missing))
    }

    pub(super) fn entries(&self) -> Result<Vec<(&'a str, Self)>, TemplateError> {
        let Yaml::Mapping(mapping) = self.yaml else {
            return Err(self.unexpected("a mapping"));
        };
        let entries = mapping.iter().map(|(key, yaml)| {
            let key = key.as_str().ok_or_else(|| self.unexpected("a mapping with texts as keys"))?;
            Ok(self.below(key, yaml).settled()?.map(|entry| (key, entry)))
        });
        entries.filter_map(Result::transpose).collect()
    }

    pub(super) fn items(&self) -> Result<Vec<Self>, TemplateError> {
        let Yaml::Sequence(items) = self.yaml else {
            return Err(self.unexpected("a list"));
        };
        let item = |(index, yaml)| Self { path: format!("{}[{index}]", self.path), yaml, ..*self };
        items.iter().enumerate().map(item).filter_map(|item| item.settled().transpose()).collect()
    }

    /// The entry with its `If` decided, or `None` where that leaves nothing.
    fn settled(mut self) -> Result<Option<Self>, TemplateError> {
        let settled = intrinsic::settle(self.yaml, self.scope).map_err(|problem| self.error(problem))?;
        Ok(settled.map(|yaml| {
            self.yaml = yaml;
            self
        }))
    }

    /// What is written there.
    pub(super) fn yaml(&self) -> &'a Yaml {
        self.yaml
    }

    /// The items of a list; an entry that is none is its only item, as policies take it.
    pub(super) fn one_or_many(&self) -> Result<Vec<Self>, TemplateError> {
        match self.yaml {
            Yaml::Sequence(_) => self.items(),
            _ => Ok(vec![Self { path: self.path.clone(), ..*self }]),
        }
    }

    /// Refuses an entry that is not in the list, which is how a misspelt property is found.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), TemplateError> {
        match self.entries()?.into_iter().find(|(key, _)| !known.contains(key)) {
            Some((_, unknown)) => Err(unknown.error(Problem::UnknownProperty)),
            None => Ok(()),
        }
    }

    /// The entry as a text that may hold references.
    pub(super) fn value(&self) -> Result<Value, TemplateError> {
        intrinsic::read(self.yaml, self.scope).map_err(|problem| self.error(problem))
    }

    /// The entry as a text that is known before anything exists.
    pub(super) fn text(&self) -> Result<String, TemplateError> {
        self.value()?.resolve(|_| None).map_err(|reference| {
            self.error(Problem::Unexpected {
                expected: "a text known from the parameters alone".to_owned(),
                found: reference.to_string(),
            })
        })
    }

    /// The name of a table or queue; without one, what CloudFormation would make up, less its random
    /// end, which has no use where the stack is alone.
    pub(super) fn name(&self, key: &str, logical_id: &str) -> Result<String, TemplateError> {
        match self.get(key)? {
            Some(name) => name.text(),
            None => {
                let stack = self.scope.reference("AWS::StackName");
                let stack = stack.map_err(|problem| self.below(key, self.yaml).error(problem))?;
                Ok(format!("{stack}-{logical_id}"))
            }
        }
    }

    /// The queue whose ARN the entry is.
    pub(super) fn queue_arn(&self) -> Result<String, TemplateError> {
        match self.value()?.sole_reference() {
            Some(Reference::QueueArn(queue)) => Ok(queue.clone()),
            _ => Err(self.unexpected("the Arn of a queue of this template")),
        }
    }

    /// A whole number, written as a number or as a text, as CloudFormation takes both.
    pub(super) fn number(&self, range: RangeInclusive<u32>) -> Result<u32, TemplateError> {
        let number = self.text()?.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| self.unexpected(&format!("a whole number from {} to {}", range.start(), range.end())))
    }

    /// A limit, where -1 stands for none.
    pub(super) fn limit(&self, range: RangeInclusive<u32>) -> Result<Option<u32>, TemplateError> {
        if self.text()? == "-1" {
            return Ok(None);
        }
        let number = self.text()?.parse().ok().filter(|number| range.contains(number));
        number
            .map(Some)
            .ok_or_else(|| self.unexpected(&format!("-1 or a whole number from {} to {}", range.start(), range.end())))
    }

    pub(super) fn flag(&self) -> Result<bool, TemplateError> {
        self.text()?.parse().map_err(|_| self.unexpected("true or false"))
    }

    pub(super) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Result<T, TemplateError> {
        let text = self.text()?;
        let chosen = choices.iter().find(|(name, _)| *name == text);
        chosen.map(|(_, choice)| *choice).ok_or_else(|| {
            let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
            self.unexpected(&names.join(" or "))
        })
    }

    /// [`Self::number`] of the entry below, with what AWS takes when it is not there.
    pub(super) fn number_or(&self, key: &str, default: u32, range: RangeInclusive<u32>) -> Result<u32, TemplateError> {
        self.get(key)?.map_or(Ok(default), |entry| entry.number(range))
    }

    /// [`Self::flag`] of the entry below, with what AWS takes when it is not there.
    pub(super) fn flag_or(&self, key: &str, default: bool) -> Result<bool, TemplateError> {
        self.get(key)?.map_or(Ok(default), |entry| entry.flag())
    }

    pub(super) fn unexpected(&self, expected: &str) -> TemplateError {
        let found = intrinsic::describe(self.yaml);
        self.error(Problem::Unexpected { expected: expected.to_owned(), found })
    }

    fn below(&self, key: &str, yaml: &'a Yaml) -> Self {
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        Self { path, yaml, scope: self.scope }
    }
}
