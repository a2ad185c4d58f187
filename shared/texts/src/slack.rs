//! Escapes values for Slack's mrkdwn, so that they cannot link, format or mention anybody.

/// The mentions that notify many people.
const MENTIONS: [&str; 4] = ["here", "channel", "everyone", "group"];

/// Returns the text so that Slack shows it literally.
///
/// Escaping `<` disables `<!channel>` and links. A typed `@channel` gets an invisible space, because some workspaces still
/// turn names into mentions.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '@' if is_mention(&text[at + 1..]) => escaped.push_str("@\u{200b}"),
            other => escaped.push(other),
        }
    }
    escaped
}

fn is_mention(rest: &str) -> bool {
    MENTIONS.iter().any(|name| rest.get(..name.len()).is_some_and(|word| word.eq_ignore_ascii_case(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_neither_links_nor_mentions() {
        assert_eq!(escape("<!channel> <@U1> a&b"), "&lt;!channel&gt; &lt;@U1&gt; a&amp;b");
        assert_eq!(escape("@here @Channel @everyone"), "@\u{200b}here @\u{200b}Channel @\u{200b}everyone");
        assert_eq!(escape("a@b.it @è"), "a@b.it @è");
    }
}
