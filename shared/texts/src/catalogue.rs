//! The templates: which one serves which route, kind of text and language, and how one is rendered.
//!
//! A template is looked for under its audience, then under `ANY`. What has a title is kept as two templates, so that no
//! value with a line break in it can move from the title into the body.

use std::collections::BTreeMap;

use domain::Audience;
use domain::recipient::Channel;
use domain::routing::Routes;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value};

use crate::error::{BadTemplate, RenderError};
use crate::plain::cut;
use crate::{Language, Reader, filters, slack};

/// The most of one value that a Slack message shows; longer messages are cut by Slack itself, anywhere.
const SLACK_VALUE: usize = 4_000;

/// The one layout of HTML mail.
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
    /// The kind that a channel sends; a live socket shows the inbox's.
    fn of(channel: Channel) -> Self {
        match channel {
            Channel::Email => Self::Email,
            Channel::Sms => Self::Sms,
            Channel::Push => Self::Push,
            Channel::Slack => Self::Slack,
            Channel::Websocket => Self::Inbox,
        }
    }

    /// Whether the inbox's text serves where there is no template of this kind. An SMS is too short to go without.
    fn can_be_the_inbox_text(self) -> bool {
        matches!(self, Self::Email | Self::Push | Self::Slack)
    }

    /// Whether the first line is a title.
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

/// All templates, parsed, and which of them serves what.
#[derive(Debug)]
pub(crate) struct Catalogue {
    environment: Environment<'static>,
    /// From the name under the audience to the template that serves it.
    serves: BTreeMap<String, String>,
}

impl Catalogue {
    /// Parses the embedded templates and checks that every text that a route may ask for has one.
    pub(crate) fn load(routes: &Routes) -> Result<Self, BadTemplate> {
        let mut catalogue = Self { environment: environment(), serves: BTreeMap::new() };
        catalogue.get(LAYOUT)?;
        for route in routes.iter() {
            let sent = route.possible_channels().iter().copied().map(Kind::of);
            for kind in std::iter::once(Kind::Inbox).chain(sent) {
                catalogue.settle(&route.event_type, route.audience, kind)?;
            }
        }
        Ok(catalogue)
    }

    /// Finds the templates of one kind: one for each language, or none at all where the inbox's text serves.
    fn settle(&mut self, event_type: &str, audience: Audience, kind: Kind) -> Result<(), BadTemplate> {
        let found = Language::ALL.map(|language| self.find(event_type, audience, kind, language));
        if kind.can_be_the_inbox_text() && found.iter().all(Option::is_none) {
            return Ok(());
        }
        for (language, found) in Language::ALL.into_iter().zip(found) {
            let wanted = name(event_type, audience.as_str(), kind, language);
            let found = found.ok_or_else(|| BadTemplate::new(&wanted, "is missing"))?;
            if kind.has_title() {
                self.split(&found)?;
            }
            self.serves.insert(wanted, found);
        }
        Ok(())
    }

    fn find(&self, event_type: &str, audience: Audience, kind: Kind, language: Language) -> Option<String> {
        let names = [audience.as_str(), "ANY"].map(|folder| name(event_type, folder, kind, language));
        names.into_iter().find(|name| self.environment.get_template(name).is_ok())
    }

    /// Keeps a template's first line and the rest of it as templates of their own.
    fn split(&mut self, name: &str) -> Result<(), BadTemplate> {
        let source = self.get(name)?.source().to_owned();
        let (first, rest) = source.split_once('\n').unwrap_or((&source, ""));
        // The line break in front keeps the line numbers of the file in what errors say.
        for (part, source) in [(title(name), first.to_owned()), (body(name), format!("\n{rest}"))] {
            let parsed = self.environment.add_template_owned(part.clone(), source);
            parsed.map_err(|error| BadTemplate::new(&part, error))?;
        }
        Ok(())
    }

    /// The template of this kind, if it has one of its own.
    pub(crate) fn own(&self, event_type: &str, audience: Audience, kind: Kind, language: Language) -> Option<&str> {
        self.serves.get(&name(event_type, audience.as_str(), kind, language)).map(String::as_str)
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

    /// Wraps title and paragraphs into the HTML layout.
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
    fn a_route_without_its_template_is_refused_by_the_templates_name() {
        let missing = |more| Catalogue::load(&routes(more)).expect_err("no template").to_string();
        assert_eq!(
            missing("audience = \"ADMIN_USER\"\nchannels = []"),
            "template EntitlementGranted/ADMIN_USER/inbox.en.txt: is missing"
        );
        assert_eq!(
            missing("audience = \"CUSTOMER\"\nurgent = true\nchannels = [\"PUSH\", \"SMS\"]"),
            "template EntitlementGranted/CUSTOMER/sms.en.txt: is missing"
        );
    }

    #[test]
    fn a_template_in_one_language_alone_is_refused() {
        let mut catalogue =
            Catalogue::load(&routes("audience = \"CUSTOMER\"\nchannels = [\"PUSH\"]")).expect("a start");
        let push = "EntitlementGranted/ANY/push.en.txt";
        catalogue.environment.add_template(push, "title").expect("a template");
        let problem = catalogue.settle("EntitlementGranted", Audience::Customer, Kind::Push).expect_err("one language");
        assert_eq!(problem.to_string(), "template EntitlementGranted/CUSTOMER/push.it.txt: is missing");
    }

    #[test]
    fn no_template_is_left_without_a_route() {
        let catalogue = Catalogue::load(Routes::load().expect("routes")).expect("templates");
        let served: Vec<&String> = catalogue.serves.values().collect();
        for (name, _) in catalogue.environment.templates() {
            let file = name.split(':').next().unwrap_or(name).to_owned();
            assert!(file == LAYOUT || served.contains(&&file), "nobody asks for {file}");
        }
    }
}
