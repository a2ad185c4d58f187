//! `Fn::ForEach`: repeats its body for every item of a collection.

use super::functions::{call, known_text};
use super::{Resolved, Scope, wrong};
use crate::template::value::{Value, describe};
use std::borrow::Cow;
use std::collections::BTreeSet;
use yaml_serde::value::TaggedValue;
use yaml_serde::{Mapping, Value as Yaml};

pub(super) const LOOP: &str = "Fn::ForEach::";

impl Scope<'_> {
    /// The entries of a mapping with its loops expanded. A repeated key is an error.
    pub(super) fn entries<'m>(&self, mapping: &'m Mapping) -> Resolved<Vec<(String, Cow<'m, Yaml>)>> {
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

    /// Expands `[Identifier, Collection, Body]`.
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
}

/// Replaces `${Name}` in keys and texts, and `!Ref Name`.
fn substitute(yaml: &Yaml, identifier: &str, item: &str) -> Yaml {
    let below = |yaml: &Yaml| substitute(yaml, identifier, item);
    match (call(yaml), yaml) {
        (Some((function, [Yaml::String(name)])), _) if function == "Ref" && name == identifier => item.into(),
        (_, Yaml::String(text)) => Yaml::String(text.replace(&format!("${{{identifier}}}"), item)),
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
