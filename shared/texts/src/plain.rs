//! Cleans plain text and cuts it to a size.

use std::borrow::Cow;

/// Returns the text on one line, without characters that could break or reorder it.
pub(crate) fn one_line(text: &str) -> String {
    let spaced: String = text.chars().filter(|c| !reorders(*c)).map(|c| if c.is_control() { ' ' } else { c }).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the text with its line breaks, at most one blank line in a row, and no other control character.
pub(crate) fn lines(text: &str) -> String {
    let broken = text.replace("\r\n", "\n").replace(['\r', '\u{85}', '\u{2028}', '\u{2029}'], "\n").replace('\t', " ");
    let mut kept = String::with_capacity(broken.len());
    for line in broken.lines() {
        let line: String = line.chars().filter(|c| !c.is_control() && !reorders(*c)).collect();
        let line = line.trim_end();
        if !line.is_empty() || !kept.ends_with("\n\n") {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept.trim().to_owned()
}

/// Splits a text into paragraphs and lines.
pub(crate) fn paragraphs(text: &str) -> Vec<Vec<&str>> {
    text.split("\n\n").map(|paragraph| paragraph.lines().collect()).collect()
}

/// Returns the text, cut at a word and with the ellipsis if it costs more than `limit`.
pub(crate) fn cut<'a>(text: &'a str, limit: usize, ellipsis: &str, cost: impl Fn(char) -> usize) -> Cow<'a, str> {
    let measure = |text: &str| text.chars().map(&cost).sum::<usize>();
    if measure(text) <= limit {
        return Cow::Borrowed(text);
    }
    let room = limit.saturating_sub(measure(ellipsis));
    let mut used = 0;
    let end = text.char_indices().find(|(_, c)| {
        used += cost(*c);
        used > room
    });
    let (head, rest) = text.split_at(end.map_or(text.len(), |(at, _)| at));
    let word =
        if rest.starts_with(char::is_whitespace) { head.len() } else { head.rfind(char::is_whitespace).unwrap_or(0) };
    // A word longer than half the limit is cut itself, or almost nothing would remain.
    let kept = if word * 2 >= head.len() { &head[..word] } else { head };
    Cow::Owned(format!("{}{ellipsis}", kept.trim_end()))
}

/// Returns whether the character changes the reading order (bidirectional embeddings, overrides and isolates).
fn reorders(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_stays_on_one_line() {
        assert_eq!(one_line(" a\r\nBcc: b\u{0}\u{2028}c\u{202e}d\te\u{85}f\u{a0} "), "a Bcc: b cd e f");
    }

    #[test]
    fn body_keeps_line_breaks_and_no_other_control_character() {
        assert_eq!(lines("\na\tb \r\nb\u{7}\rc\n\n\n \n\u{2066}d\n\n"), "a b\nb\nc\n\nd");
        assert_eq!(paragraphs("a\nb\n\nc"), [vec!["a", "b"], vec!["c"]]);
    }

    #[test]
    fn text_is_cut_at_a_word_and_a_long_word_in_the_middle() {
        let cut = |text| cut(text, 10, "…", |_| 1).into_owned();
        assert_eq!(cut("just right"), "just right");
        assert_eq!(cut("one two three"), "one two…");
        assert_eq!(cut("one three four"), "one three…");
        assert_eq!(cut("a bcdefghijklmnop"), "a bcdefgh…");
        assert_eq!(cut("èèèèèèèèèèèè"), "èèèèèèèèè…");
    }
}
