//! EMAIL, through SES or an SMTP server: a text part, an optional HTML part, and the headers for one-click unsubscribing
//! (RFC 8058).

mod ses;
mod smtp;

use lettre::message::Mailbox;
use provider_http::invalid_setting;
use reqwest::Url;
use runtime::{BadSetting, Settings};

pub use ses::Ses;
pub use smtp::Smtp;

const FROM: &str = "BELFRY_EMAIL_FROM";

/// The longest name that fits in one encoded word (RFC 2047).
const MAX_NAME: usize = 45;

/// Reads the sender: `bell@example.com` or `Belfry <bell@example.com>`.
fn sender(settings: &Settings) -> Result<Mailbox, BadSetting> {
    let from = settings.text(FROM)?;
    let fits = |mailbox: &Mailbox| {
        let name = mailbox.name.as_deref().unwrap_or_default();
        mailbox.email.to_string().is_ascii() && name.len() <= MAX_NAME && !name.contains(char::is_control)
    };
    let mailbox = from.parse().ok().filter(fits);
    mailbox.ok_or_else(|| {
        invalid_setting(FROM, "an address such as Belfry <bell@example.com>, with a name of at most 45 bytes", from)
    })
}

/// Returns the two headers of RFC 8058. A parsed URL contains no character that could end a header.
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
    fn sender_is_an_address_with_an_optional_name() {
        assert_eq!(from("bell@example.com").expect("an address").name, None);
        assert_eq!(from("Così <bell@example.com>").expect("a name").name.as_deref(), Some("Così"));
        let long = format!("{} <bell@example.com>", "x".repeat(MAX_NAME + 1));
        for bad in ["", "Belfry", "bell@", "ü@example.com", &long] {
            assert!(from(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn unsubscribe_url_cannot_end_its_header() {
        let url = Url::parse("https://example.com/u/a b\r\nBcc: c@d.it?x=>\"").expect("a URL");
        let [(_, value), _] = one_click(&url);
        let inside = value.trim_start_matches('<').trim_end_matches('>');
        assert!(!inside.contains([' ', '\r', '\n', '<', '>', '"']), "{value}");
    }
}
