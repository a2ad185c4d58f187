//! EMAIL: a text part, an HTML part where there is one, and the headers with which a mail program unsubscribes with one
//! click (RFC 8058). Through SES or through a mail server.

mod ses;
mod smtp;

use lettre::message::Mailbox;
use outside::wrong;
use reqwest::Url;
use runtime::{BadSetting, Settings};

pub use ses::Ses;
pub use smtp::Smtp;

const FROM: &str = "BELFRY_EMAIL_FROM";

/// The longest name that is one word once it is encoded (RFC 2047).
const LONGEST_NAME: usize = 45;

/// Who the mails are from: `bell@example.com` or `Belfry <bell@example.com>`.
fn sender(settings: &Settings) -> Result<Mailbox, BadSetting> {
    let from = settings.text(FROM)?;
    let fits = |mailbox: &Mailbox| {
        let name = mailbox.name.as_deref().unwrap_or_default();
        mailbox.email.to_string().is_ascii() && name.len() <= LONGEST_NAME && !name.contains(char::is_control)
    };
    let mailbox = from.parse().ok().filter(fits);
    mailbox.ok_or_else(|| wrong(FROM, "an address such as Belfry <bell@example.com>, with a short name", from))
}

/// The two headers of RFC 8058. A parsed URL has no character that could end a header.
fn one_click(unsubscribe: &Url) -> [(&'static str, String); 2] {
    [
        ("List-Unsubscribe", format!("<{unsubscribe}>")),
        ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click".to_owned()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(text: &str) -> Result<Mailbox, BadSetting> {
        sender(&[(FROM.to_owned(), text.to_owned())].into_iter().collect())
    }

    #[test]
    fn the_sender_has_an_address_and_perhaps_a_name() {
        assert_eq!(from("bell@example.com").expect("an address").name, None);
        assert_eq!(from("Così <bell@example.com>").expect("a name").name.as_deref(), Some("Così"));
        let long = format!("{} <bell@example.com>", "x".repeat(LONGEST_NAME + 1));
        for bad in ["", "Belfry", "bell@", "ü@example.com", &long] {
            assert!(from(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn no_url_can_end_its_header() {
        let url = Url::parse("https://example.com/u/a b\r\nBcc: c@d.it?x=>\"").expect("a URL");
        let [(_, value), _] = one_click(&url);
        let inside = value.trim_start_matches('<').trim_end_matches('>');
        assert!(!inside.contains([' ', '\r', '\n', '<', '>', '"']), "{value}");
    }
}
