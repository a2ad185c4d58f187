use domain::recipient::Channel;
use domain::routing::{Route, Routes};
use serde_json::Value;
use texts::{Language, Reader, Texts};

use crate::{payload, texts};

#[test]
fn every_text_of_every_route_matches_its_snapshot() {
    let texts = texts();
    for route in Routes::load().expect("routes").iter() {
        let properties = payload(&route.event_type);
        let mut page = String::new();
        for language in Language::ALL {
            let reader = Reader::new(language, Some("Europe/Rome"));
            page.push_str(&section(&texts, route, &reader, language, &properties));
        }
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../snapshots");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(format!("{}.{}", route.event_type, route.audience), page));
    }
}

fn section(texts: &Texts, route: &Route, reader: &Reader, language: Language, properties: &Value) -> String {
    let (event_type, audience) = (route.event_type.as_str(), route.audience);
    let inbox = texts.inbox(event_type, audience, reader, properties).expect("an inbox text");
    let mut section = part("inbox", language, &format!("{}\n--\n{}", inbox.title, inbox.body));
    for channel in route.possible_channels() {
        section += &match channel {
            Channel::Email => {
                let mail = texts.email(event_type, audience, reader, properties).expect("a mail");
                part("email", language, &format!("{}\n--\n{}\n--\n{}", mail.subject, mail.text, mail.html))
            }
            Channel::Sms => {
                part("sms", language, &texts.sms(event_type, audience, reader, properties).expect("an SMS"))
            }
            Channel::Push => {
                let push = texts.push(event_type, audience, reader, properties).expect("a push text");
                part("push", language, &format!("{}\n--\n{}", push.title, push.body))
            }
            Channel::Slack => {
                part("slack", language, &texts.slack(event_type, audience, reader, properties).expect("a message"))
            }
            Channel::Websocket => continue,
        };
    }
    section
}

fn part(kind: &str, language: Language, text: &str) -> String {
    format!("==== {kind} {}\n{text}\n\n", language.as_str())
}
