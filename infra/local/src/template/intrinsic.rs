//! The functions of CloudFormation that the template may use in a text: `Ref`, `GetAtt` and `Sub`, each
//! as a tag (`!Ref Name`) and in the long form (`Ref: Name`, `Fn::GetAtt: [Name, Attribute]`).

use super::error::Problem;
use super::scope::Scope;
use super::value::Value;
use std::collections::BTreeMap;
use yaml_serde::Value as Yaml;

/// Reads a text, or the function that makes one.
pub(super) fn read(yaml: &Yaml, scope: &Scope) -> Result<Value, Problem> {
    let Some((function, argument)) = call(yaml) else {
        return scalar(yaml).map(Value::text);
    };
    match (function.as_str(), argument) {
        ("Ref", name) => scope.reference(text(name)?),
        ("GetAtt", Yaml::Sequence(pair)) if pair.len() == 2 => scope.attribute(text(&pair[0])?, text(&pair[1])?),
        ("GetAtt", joined) => match text(joined)?.split_once('.') {
            Some((resource, attribute)) => scope.attribute(resource, attribute),
            None => Err(unexpected("Resource.Attribute", joined)),
        },
        ("Sub", Yaml::Sequence(pair)) if pair.len() == 2 => {
            let Yaml::Mapping(names) = &pair[1] else {
                return Err(unexpected("a mapping of names to values", &pair[1]));
            };
            let names = names.iter().map(|(name, value)| Ok((text(name)?, read(value, scope)?)));
            substitute(text(&pair[0])?, &names.collect::<Result<_, Problem>>()?, scope)
        }
        ("Sub", pattern) => substitute(text(pattern)?, &BTreeMap::new(), scope),
        _ => Err(Problem::UnknownFunction(function)),
    }
}

/// The entry itself, or the one of the two that an `If` in its place chooses; `None` for `AWS::NoValue`.
pub(super) fn settle<'a>(yaml: &'a Yaml, scope: &Scope) -> Result<Option<&'a Yaml>, Problem> {
    match call(yaml) {
        Some((function, Yaml::Sequence(arguments))) if function == "If" => match arguments.as_slice() {
            [condition, one, other] => {
                let chosen = if scope.condition(text(condition)?)? { one } else { other };
                settle(chosen, scope)
            }
            _ => Err(unexpected("a condition and two values", yaml)),
        },
        Some((function, Yaml::String(name))) if function == "Ref" && name == "AWS::NoValue" => Ok(None),
        _ => Ok(Some(yaml)),
    }
}

/// A text that is known from the parameters alone.
pub(super) fn settled_text(yaml: &Yaml, scope: &Scope) -> Result<String, Problem> {
    let value = read(yaml, scope)?;
    value.resolve(|_| None).map_err(|reference| Problem::Unexpected {
        expected: "a text known from the parameters alone".to_owned(),
        found: reference.to_string(),
    })
}

/// What stands there, for a message.
pub(super) fn describe(yaml: &Yaml) -> String {
    match yaml {
        Yaml::Null => "nothing".to_owned(),
        Yaml::Bool(flag) => flag.to_string(),
        Yaml::Number(number) => number.to_string(),
        Yaml::String(text) => format!("{text:?}"),
        Yaml::Sequence(_) => "a list".to_owned(),
        Yaml::Mapping(_) => "a mapping".to_owned(),
        Yaml::Tagged(tagged) => format!("{} {}", tagged.tag, describe(&tagged.value)),
    }
}

/// The name and the argument, when the entry is a function at all.
pub(super) fn call(yaml: &Yaml) -> Option<(String, &Yaml)> {
    match yaml {
        Yaml::Tagged(tagged) => Some((tagged.tag.to_string().trim_start_matches('!').to_owned(), &tagged.value)),
        Yaml::Mapping(mapping) if mapping.len() == 1 => {
            let (name, argument) = mapping.iter().next()?;
            match name.as_str()? {
                name @ ("Condition" | "Ref") => Some((name.to_owned(), argument)),
                name => Some((name.strip_prefix("Fn::")?.to_owned(), argument)),
            }
        }
        _ => None,
    }
}

/// CloudFormation turns numbers and flags into texts, as an environment variable needs it.
fn scalar(yaml: &Yaml) -> Result<String, Problem> {
    match yaml {
        Yaml::String(text) => Ok(text.clone()),
        Yaml::Number(number) => Ok(number.to_string()),
        Yaml::Bool(flag) => Ok(flag.to_string()),
        _ => Err(unexpected("a text", yaml)),
    }
}

/// `${Name}` and `${Resource.Attribute}` are replaced; `${!Name}` stands for a literal `${Name}`.
fn substitute(pattern: &str, names: &BTreeMap<&str, Value>, scope: &Scope) -> Result<Value, Problem> {
    let mut value = Value::default();
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, after)) = after.split_once('}') else {
            return Err(Problem::Unexpected { expected: "a } for every ${".to_owned(), found: format!("{pattern:?}") });
        };
        value.push_text(before);
        match (name.strip_prefix('!'), names.get(name), name.split_once('.')) {
            (Some(literal), _, _) => value.push_text(&format!("${{{literal}}}")),
            (None, Some(given), _) => value.push(given.clone()),
            (None, None, Some((resource, attribute))) => value.push(scope.attribute(resource, attribute)?),
            (None, None, None) => value.push(scope.reference(name)?),
        }
        rest = after;
    }
    value.push_text(rest);
    Ok(value)
}

fn text(yaml: &Yaml) -> Result<&str, Problem> {
    yaml.as_str().ok_or_else(|| unexpected("a text", yaml))
}

fn unexpected(expected: &str, found: &Yaml) -> Problem {
    Problem::Unexpected { expected: expected.to_owned(), found: describe(found) }
}
