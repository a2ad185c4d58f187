//! Slack's mrkdwn: what comes from outside may neither link, nor format by entity, nor call people.

/// The calls that would ring for everybody, as they are typed.
const CALLS: [&str; 4] = ["here", "channel", "everyone", "group"];

/// The text as Slack shows it literally.
///
/// `<!channel>` and links fall with their `<`; a typed `@channel` is taken apart by an invisible space, because some
/// workspaces still turn names into mentions.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '@' if calls(&text[at + 1..]) => escaped.push_str("@\u{200b}"),
            other => escaped.push(other),
        }
    }
    escaped
}

fn calls(rest: &str) -> bool {
    CALLS.iter().any(|call| rest.get(..call.len()).is_some_and(|word| word.eq_ignore_ascii_case(call)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_links_or_calls() {
        assert_eq!(escape("<!channel> <@U1> a&b"), "&lt;!channel&gt; &lt;@U1&gt; a&amp;b");
        assert_eq!(escape("@here @Channel @everyone"), "@\u{200b}here @\u{200b}Channel @\u{200b}everyone");
        assert_eq!(escape("a@b.it @è"), "a@b.it @è");
    }
}
