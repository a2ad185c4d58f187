//! Compares what the page shows with what was printed. Ids and times differ in every run: an id of the page must stand for
//! the same id wherever it occurs, and a time for some time.

use std::collections::HashMap;

use serde_json::Value;

use super::page::Shown;

/// Letters stand for a kind of character: `x` a hexadecimal digit, `9` a digit, `a` a letter.
const UUID: &str = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
const HEX: &str = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
const TIME: &str = "9999-99-99T99:99:99";
const DATE: &str = "aaa, 99 aaa 9999 99:99:99 GMT";

/// Which id each id of the page stands for.
#[derive(Debug, Clone, Default)]
pub struct Ids {
    printed: HashMap<String, String>,
    shown: HashMap<String, String>,
}

impl Ids {
    /// Whether this was printed.
    pub fn agree(&mut self, shown: &Shown<'_>, printed: &str) -> Result<(), String> {
        match shown {
            Shown::Text(lines) => {
                let printed: Vec<&str> = printed.lines().collect();
                if self.lines(lines, &printed) { Ok(()) } else { Err("other lines".to_owned()) }
            }
            Shown::Json(document) => {
                let shown: Value = serde_json::from_str(document).map_err(|error| format!("the page: {error}"))?;
                let printed: Value = serde_json::from_str(printed).map_err(|error| format!("printed: {error}"))?;
                self.json("", &shown, &printed)
            }
        }
    }

    fn lines(&mut self, shown: &[&str], printed: &[&str]) -> bool {
        match (shown, printed) {
            ([], []) => true,
            (["…", others @ ..], _) => {
                let before = self.clone();
                (0..=printed.len()).any(|skipped| {
                    self.clone_from(&before);
                    self.lines(others, &printed[skipped..])
                })
            }
            ([line, others @ ..], [first, rest @ ..]) => self.text(line, first) && self.lines(others, rest),
            _ => false,
        }
    }

    fn json(&mut self, path: &str, shown: &Value, printed: &Value) -> Result<(), String> {
        match (shown, printed) {
            (Value::Object(members), Value::Object(printed)) => {
                for (name, value) in members.iter().filter(|(name, _)| *name != "…") {
                    let other = printed.get(name).ok_or_else(|| format!("{path}/{name} is not there"))?;
                    self.json(&format!("{path}/{name}"), value, other)?;
                }
                let unknown = printed.keys().find(|name| !members.contains_key(*name) && !members.contains_key("…"));
                unknown.map_or(Ok(()), |name| Err(format!("{path}/{name} is not shown")))
            }
            (Value::Array(items), Value::Array(printed)) if items.len() == printed.len() => {
                let mut pairs = items.iter().zip(printed).enumerate();
                pairs.try_for_each(|(at, (item, other))| self.json(&format!("{path}/{at}"), item, other))
            }
            (Value::String(text), Value::String(other)) if self.text(text, other) => Ok(()),
            _ if shown == printed => Ok(()),
            _ => Err(format!("{path}: {printed} and not {shown}")),
        }
    }

    /// Whether two texts are the same but for their ids and times.
    fn text(&mut self, shown: &str, printed: &str) -> bool {
        let (shown, printed) = (parts(shown), parts(printed));
        shown.len() == printed.len()
            && shown.iter().zip(&printed).all(|pair| match pair {
                (Part::Id(id), Part::Id(other)) => {
                    let known = self.printed.entry((*id).to_owned()).or_insert_with(|| (*other).to_owned()) == other;
                    known && self.shown.entry((*other).to_owned()).or_insert_with(|| (*id).to_owned()) == id
                }
                (one, other) => one == other,
            })
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Part<'a> {
    Text(&'a str),
    Id(&'a str),
    Time,
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut begin, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text[at..];
        let found = if looks_like(UUID, rest) {
            Some((UUID.len(), Part::Id(&rest[..UUID.len()])))
        } else if looks_like(HEX, rest) {
            Some((HEX.len(), Part::Id(&rest[..HEX.len()])))
        } else if looks_like(DATE, rest) {
            Some((DATE.len(), Part::Time))
        } else if looks_like(TIME, rest) {
            let fraction = |letter: char| letter != '.' && !letter.is_ascii_digit();
            Some((TIME.len() + rest[TIME.len()..].find(fraction).unwrap_or(0), Part::Time))
        } else {
            None
        };
        match found {
            Some((length, part)) => {
                parts.extend([Part::Text(&text[begin..at]), part]);
                at += length;
                begin = at;
            }
            None => at += rest.chars().next().map_or(1, char::len_utf8),
        }
    }
    parts.push(Part::Text(&text[begin..]));
    parts
}

fn looks_like(shape: &str, text: &str) -> bool {
    text.len() >= shape.len()
        && shape.bytes().zip(text.bytes()).all(|(kind, byte)| match kind {
            b'x' => byte.is_ascii_hexdigit(),
            b'9' => byte.is_ascii_digit(),
            b'a' => byte.is_ascii_alphabetic(),
            _ => kind == byte,
        })
}
