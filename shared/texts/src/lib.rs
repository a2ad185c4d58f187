#![doc = include_str!("../README.md")]

mod catalogue;
mod error;
mod filters;
mod money;
mod plain;
mod reader;
mod slack;
mod sms;

use std::collections::BTreeMap;

use domain::Audience;
use domain::notification::Text;
use domain::routing::Routes;
use minijinja::Value;
use serde_json::Value as Json;

use catalogue::{Catalogue, Kind};
use plain::{cut, lines, one_line, paragraphs};

pub use error::{BadTemplate, RenderError};
pub use reader::{Language, Reader, is_time_zone};

/// The maximum length of a title or subject, in characters.
const TITLE: usize = 200;
/// The maximum size of an inbox text, in bytes. It is stored in every language with the event's fields, in one item.
const INBOX_BODY: usize = 8_192;
/// The maximum size of a push text, in bytes. With title and data it must stay below 4 KiB.
const PUSH_BODY: usize = 2_048;
/// The maximum length of a Slack message, in characters, as Slack recommends.
const SLACK_BODY: usize = 4_000;

/// The templates of all routes.
#[derive(Debug)]
pub struct Texts {
    catalogue: Catalogue,
}

/// A rendered e-mail, without addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// The subject, on one line.
    pub subject: String,
    /// The plain part.
    pub text: String,
    /// The HTML part, with the same content.
    pub html: String,
}

impl Texts {
    /// Parses the templates and checks that every route has the templates of its channels in every language.
    pub fn load(routes: &Routes) -> Result<Self, BadTemplate> {
        Ok(Self { catalogue: Catalogue::load(routes)? })
    }

    /// Renders the inbox text.
    pub fn inbox(
        &self,
        event_type: &str,
        audience: Audience,
        reader: &Reader,
        properties: &Json,
    ) -> Result<Text, RenderError> {
        let text = self.render(Kind::Inbox, event_type, audience, reader, properties)?;
        Ok(Text { body: cut(&text.body, INBOX_BODY, "…", char::len_utf8).into_owned(), ..text })
    }

    /// Renders the e-mail.
    pub fn email(
        &self,
        event_type: &str,
        audience: Audience,
        reader: &Reader,
        properties: &Json,
    ) -> Result<Mail, RenderError> {
        let Text { title, body } = self.render(Kind::Email, event_type, audience, reader, properties)?;
        let html = self.catalogue.html(reader, &title, paragraphs(&body))?;
        Ok(Mail { subject: title, text: body, html })
    }

    /// Renders the push message for phones and browsers.
    pub fn push(
        &self,
        event_type: &str,
        audience: Audience,
        reader: &Reader,
        properties: &Json,
    ) -> Result<Text, RenderError> {
        let text = self.render(Kind::Push, event_type, audience, reader, properties)?;
        Ok(Text { body: cut(&text.body, PUSH_BODY, "…", char::len_utf8).into_owned(), ..text })
    }

    /// Renders the SMS, in one segment.
    pub fn sms(
        &self,
        event_type: &str,
        audience: Audience,
        reader: &Reader,
        properties: &Json,
    ) -> Result<String, RenderError> {
        let name = self.catalogue.own(event_type, audience, Kind::Sms, reader.language);
        let name = name.ok_or_else(|| no_template("SMS", event_type, audience))?;
        Ok(sms::fit(&self.catalogue.render(name, &values(reader, properties))?))
    }

    /// Renders the Slack message, in mrkdwn.
    pub fn slack(
        &self,
        event_type: &str,
        audience: Audience,
        reader: &Reader,
        properties: &Json,
    ) -> Result<String, RenderError> {
        if let Some(name) = self.catalogue.own(event_type, audience, Kind::Slack, reader.language) {
            return Ok(lines(&self.catalogue.render(name, &values(reader, properties))?));
        }
        let Text { title, body } = self.render(Kind::Inbox, event_type, audience, reader, properties)?;
        let body = cut(&body, SLACK_BODY, "…", |_| 1);
        Ok(format!("*{}*\n{}", slack::escape(&title), slack::escape(&body)))
    }

    /// Renders title and body of a kind, from the inbox template if it has none of its own. The body is not cut.
    fn render(
        &self,
        kind: Kind,
        event_type: &str,
        audience: Audience,
        reader: &Reader,
        properties: &Json,
    ) -> Result<Text, RenderError> {
        let own = |kind| self.catalogue.own(event_type, audience, kind, reader.language);
        let name = own(kind).or_else(|| own(Kind::Inbox)).ok_or_else(|| no_template("inbox", event_type, audience))?;
        let (title, body) = self.catalogue.titled(name, &values(reader, properties))?;
        Ok(Text { title: cut(&one_line(&title), TITLE, "…", |_| 1).into_owned(), body: lines(&body) })
    }
}

/// Returns the variables of a template: the event's fields, and the reader for the filters.
fn values(reader: &Reader, properties: &Json) -> Value {
    let fields = properties.as_object().into_iter().flatten();
    let mut values: BTreeMap<String, Value> = fields
        .filter_map(|(name, value)| Some((name.clone(), Value::from(minijinja::value::Serde(without_nulls(value)?)))))
        .collect();
    values.insert(filters::READER.to_owned(), Value::from_object(reader.clone()));
    Value::from(values)
}

/// Removes nulls, so that a text never says "none".
fn without_nulls(value: &Json) -> Option<Json> {
    match value {
        Json::Null => None,
        Json::Object(fields) => {
            Some(fields.iter().filter_map(|(name, value)| Some((name.clone(), without_nulls(value)?))).collect())
        }
        Json::Array(entries) => Some(entries.iter().filter_map(without_nulls).collect()),
        other => Some(other.clone()),
    }
}

fn no_template(kind: &'static str, event_type: &str, audience: Audience) -> RenderError {
    RenderError::NoTemplate { kind, event_type: event_type.to_owned(), audience }
}
