//! Texts: templates per event type, audience and locale. The first line is the title, the rest the body.
//!
//! A variable that the event does not have is a permanent failure that names it, not an empty string.

use std::collections::BTreeMap;

use domain::Audience;
use domain::notification::Text;
use domain::routing::Routes;
use messaging::Failure;
use minijinja::{Environment, UndefinedBehavior};
use serde_json::Value;

/// The languages that every template exists in.
const LOCALES: [&str; 1] = ["en"];

/// All templates, parsed.
#[derive(Debug)]
pub struct Texts {
    environment: Environment<'static>,
}

/// A route has no template, or a template cannot be parsed.
#[derive(Debug, thiserror::Error)]
#[error("template {name}: {problem}")]
pub struct BadTemplate {
    name: String,
    problem: String,
}

impl Texts {
    /// Parses the embedded templates and checks that every route has its own.
    pub fn load(routes: &Routes) -> Result<Self, BadTemplate> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        // Shown as text by every client; whoever puts it into HTML escapes there.
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        minijinja_embed::load_templates!(&mut environment);
        for route in routes.iter() {
            for locale in LOCALES {
                let name = name(&route.event_type, route.audience, locale);
                if let Err(error) = environment.get_template(&name) {
                    return Err(BadTemplate { name, problem: error.to_string() });
                }
            }
        }
        Ok(Self { environment })
    }

    /// The text of an event for an audience, in every language.
    pub fn render(
        &self,
        event_type: &str,
        audience: Audience,
        payload: &Value,
    ) -> Result<BTreeMap<String, Text>, Failure> {
        let texts = LOCALES.iter().map(|locale| {
            let name = name(event_type, audience, locale);
            let rendered = self
                .environment
                .get_template(&name)
                .and_then(|template| template.render(minijinja::value::Serde(payload)));
            let rendered = rendered.map_err(|error| Failure::Reject(reason(&name, &error)))?;
            let (title, body) = rendered.split_once('\n').unwrap_or((rendered.as_str(), ""));
            Ok(((*locale).to_owned(), Text { title: title.trim().to_owned(), body: body.trim().to_owned() }))
        });
        texts.collect()
    }
}

fn name(event_type: &str, audience: Audience, locale: &str) -> String {
    format!("{event_type}/{audience}/inbox.{locale}.j2")
}

fn reason(name: &str, error: &minijinja::Error) -> String {
    let line = error.line().map_or(String::new(), |line| format!(" line {line}"));
    format!("template {name}{line}: {error}")
}
