//! Finds and renders the template of a route, a kind of text and a language.
//!
//! A template is looked up under its audience, then under `ANY`. One with a title is stored as two templates, so that a
//! value with a line break cannot move from the title into the body.

use std::collections::BTreeMap;

use domain::Audience;
use domain::recipient::Channel;
use domain::routing::Routes;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value};

use crate::error::{BadTemplate, RenderError};
use crate::plain::cut;
use crate::{Language, Reader, filters, slack};

/// The maximum length of one value in a Slack message. Slack cuts longer messages anywhere.
const SLACK_VALUE: usize = 4_000;

/// The layout of HTML mail.
const LAYOUT: &str = "layout.html";

/// The kinds of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Inbox,
    Email,
    Sms,
    Push,
    Slack,
}

impl Kind {
    /// Returns the kind that a channel sends. WEBSOCKET sends the inbox text.
    fn of(channel: Channel) -> Self {
        match channel {
            Channel::Email => Self::Email,
            Channel::Sms => Self::Sms,
            Channel::Push => Self::Push,
            Channel::Slack => Self::Slack,
            Channel::Websocket => Self::Inbox,
        }
    }

    /// Returns whether the inbox text replaces a missing template of this kind. An SMS is too short for it.
    fn falls_back_to_inbox(self) -> bool {
        matches!(self, Self::Email | Self::Push | Self::Slack)
    }

    /// Returns whether the first line is a title.
    fn has_title(self) -> bool {
        matches!(self, Self::Inbox | Self::Email | Self::Push)
    }

    fn file(self, language: Language) -> String {
        let (stem, extension) = match self {
            Self::Inbox => ("inbox", "txt"),
            Self::Email => ("email", "txt"),
            Self::Sms => ("sms", "txt"),
            Self::Push => ("push", "txt"),
            Self::Slack => ("slack", "mrkdwn"),
        };
        format!("{stem}.{}.{extension}", language.as_str())
    }
}

/// All parsed templates, and which one serves which text.
#[derive(Debug)]
pub(crate) struct Catalogue {
    environment: Environment<'static>,
    /// The template by the name under its audience.
    resolved: BTreeMap<String, String>,
}

impl Catalogue {
    /// Parses the embedded templates and resolves every text that a route may send.
    pub(crate) fn load(routes: &Routes) -> Result<Self, BadTemplate> {
        let mut catalogue = Self { environment: environment(), resolved: BTreeMap::new() };
        catalogue.get(LAYOUT)?;
        for route in routes.iter() {
            let sent = route.possible_channels().iter().copied().map(Kind::of);
            for kind in std::iter::once(Kind::Inbox).chain(sent) {
                catalogue.resolve(&route.event_type, route.audience, kind)?;
            }
        }
        Ok(catalogue)
    }

    /// Resolves one kind of text: a template for each language, or none if the inbox text replaces it.
    fn resolve(&mut self, event_type: &str, audience: Audience, kind: Kind) -> Result<(), BadTemplate> {
        let found = Language::ALL.map(|language| self.find(event_type, audience, kind, language));
        if kind.falls_back_to_inbox() && found.iter().all(Option::is_none) {
            return Ok(());
        }
        for (language, found) in Language::ALL.into_iter().zip(found) {
            let wanted = name(event_type, audience.as_str(), kind, language);
            let found = found.ok_or_else(|| BadTemplate::new(&wanted, "not found"))?;
            if kind.has_title() {
                self.split(&found)?;
            }
            self.resolved.insert(wanted, found);
        }
        Ok(())
    }

    fn find(&self, event_type: &str, audience: Audience, kind: Kind, language: Language) -> Option<String> {
        let names = [audience.as_str(), "ANY"].map(|folder| name(event_type, folder, kind, language));
        names.into_iter().find(|name| self.environment.get_template(name).is_ok())
    }

    /// Stores a template's first line and its rest as separate templates.
    fn split(&mut self, name: &str) -> Result<(), BadTemplate> {
        let source = self.get(name)?.source().to_owned();
        let (first, rest) = source.split_once('\n').unwrap_or((&source, ""));
        // The leading line break keeps the file's line numbers in errors.
        for (part, source) in [(title(name), first.to_owned()), (body(name), format!("\n{rest}"))] {
            let parsed = self.environment.add_template_owned(part.clone(), source);
            parsed.map_err(|error| BadTemplate::new(&part, error))?;
        }
        Ok(())
    }

    /// Returns the name of this kind's own template, if there is one.
    pub(crate) fn own(&self, event_type: &str, audience: Audience, kind: Kind, language: Language) -> Option<&str> {
        self.resolved.get(&name(event_type, audience.as_str(), kind, language)).map(String::as_str)
    }

    /// Renders title and body.
    pub(crate) fn titled(&self, name: &str, values: &Value) -> Result<(String, String), RenderError> {
        Ok((self.render(&title(name), values)?, self.render(&body(name), values)?))
    }

    /// Renders a template that has no title.
    pub(crate) fn render(&self, name: &str, values: &Value) -> Result<String, RenderError> {
        let rendered = self.environment.get_template(name).and_then(|template| template.render(values.clone()));
        rendered.map_err(|error| RenderError::of(name, &error))
    }

    /// Renders title and paragraphs in the HTML layout.
    pub(crate) fn html(&self, reader: &Reader, title: &str, paragraphs: Vec<Vec<&str>>) -> Result<String, RenderError> {
        let language = reader.language.as_str();
        self.render(LAYOUT, &minijinja::context! { language, title, paragraphs => minijinja::value::Serde(paragraphs) })
    }

    fn get(&self, name: &str) -> Result<minijinja::Template<'_, '_>, BadTemplate> {
        self.environment.get_template(name).map_err(|error| BadTemplate::new(name, error))
    }
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_debug(true);
    environment.set_auto_escape_callback(|name| match name.rsplit_once('.') {
        Some((_, "html")) => AutoEscape::Html,
        Some((_, "mrkdwn")) => AutoEscape::Custom("mrkdwn".into()),
        _ => AutoEscape::None,
    });
    environment.set_formatter(|out, state, value| {
        if matches!(state.auto_escape(), AutoEscape::Custom(_)) {
            let text = value.to_string();
            Ok(out.write_str(&slack::escape(&cut(&text, SLACK_VALUE, "…", |_| 1)))?)
        } else {
            minijinja::escape_formatter(out, state, value)
        }
    });
    environment.add_filter("money", filters::money);
    environment.add_filter("when", filters::when);
    minijinja_embed::load_templates!(&mut environment);
    environment
}

fn name(event_type: &str, folder: &str, kind: Kind, language: Language) -> String {
    format!("{event_type}/{folder}/{}", kind.file(language))
}

fn title(name: &str) -> String {
    format!("{name}:title")
}

fn body(name: &str) -> String {
    format!("{name}:body")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes(more: &str) -> Routes {
        let route = "[[route]]\nevent_type = \"EntitlementGranted\"\nwho = { user = \"u\" }\n";
        Routes::parse(&format!("{route}{more}")).expect("routes")
    }

    #[test]
    fn route_without_template_is_refused_with_its_name() {
        let missing = |more| Catalogue::load(&routes(more)).expect_err("no template").to_string();
        assert_eq!(
            missing("audience = \"ADMIN_USER\"\nchannels = []"),
            "template EntitlementGranted/ADMIN_USER/inbox.en.txt: not found"
        );
        assert_eq!(
            missing("audience = \"CUSTOMER\"\nurgent = true\nchannels = [\"PUSH\", \"SMS\"]"),
            "template EntitlementGranted/CUSTOMER/sms.en.txt: not found"
        );
    }

    #[test]
    fn template_in_one_language_only_is_refused() {
        let mut catalogue =
            Catalogue::load(&routes("audience = \"CUSTOMER\"\nchannels = [\"PUSH\"]")).expect("a start");
        let push = "EntitlementGranted/ANY/push.en.txt";
        catalogue.environment.add_template(push, "title").expect("a template");
        let problem =
            catalogue.resolve("EntitlementGranted", Audience::Customer, Kind::Push).expect_err("one language");
        assert_eq!(problem.to_string(), "template EntitlementGranted/CUSTOMER/push.it.txt: not found");
    }

    #[test]
    fn every_template_has_a_route() {
        let catalogue = Catalogue::load(Routes::load().expect("routes")).expect("templates");
        let served: Vec<&String> = catalogue.resolved.values().collect();
        for (name, _) in catalogue.environment.templates() {
            let file = name.split(':').next().unwrap_or(name).to_owned();
            assert!(file == LAYOUT || served.contains(&&file), "no route uses {file}");
        }
    }
}
