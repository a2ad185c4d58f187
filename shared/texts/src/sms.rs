//! Fits an SMS into one segment: 160 septets of the GSM 7-bit alphabet, or 70 UTF-16 units of anything else.
//!
//! Each further segment is charged as a message, and one character outside the alphabet more than halves the limit. So
//! typographic marks become plain ones, and a text that is too long with its emoji is sent without them.

use crate::plain::{cut, one_line};

const SEPTETS: usize = 160;
const UNITS: usize = 70;

/// GSM 03.38 without its escape and line breaks.
const BASIC: &str = "@£$¥èéùìòÇØøÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà";
/// The extension table; each of these counts as two.
const EXTENDED: &str = "^{}\\[~]|€";

/// Returns the text in one segment, cut if it is too long.
pub(crate) fn fit(text: &str) -> String {
    let text = typewritten(&one_line(text));
    if let Some(fitted) = in_septets(&text) {
        return fitted;
    }
    if text.encode_utf16().count() <= UNITS {
        return text;
    }
    let words: String = text.chars().filter(|c| septets(*c).is_some() || c.is_alphanumeric()).collect();
    match in_septets(&one_line(&words)) {
        Some(fitted) if !fitted.is_empty() => fitted,
        _ => cut(&text, UNITS, "…", char::len_utf16).into_owned(),
    }
}

fn in_septets(text: &str) -> Option<String> {
    // The alphabet has no "…".
    let all = text.chars().all(|c| septets(c).is_some());
    all.then(|| cut(text, SEPTETS, "...", |c| septets(c).unwrap_or(0)).into_owned())
}

/// Returns a character's cost in the GSM alphabet, if it is in it.
fn septets(c: char) -> Option<usize> {
    if BASIC.contains(c) {
        Some(1)
    } else if EXTENDED.contains(c) {
        Some(2)
    } else {
        None
    }
}

/// Replaces typographic marks by plain ones. Accented Italian capitals get an apostrophe behind them.
fn typewritten(text: &str) -> String {
    let mut typed = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '‘' | '’' | '‛' | '′' | '`' | '´' => typed.push('\''),
            '“' | '”' | '„' | '«' | '»' | '″' => typed.push('"'),
            '‐' | '‑' | '–' | '—' | '−' => typed.push('-'),
            '…' => typed.push_str("..."),
            'À' => typed.push_str("A'"),
            'È' => typed.push_str("E'"),
            'Ì' => typed.push_str("I'"),
            'Ò' => typed.push_str("O'"),
            'Ù' => typed.push_str("U'"),
            other => typed.push(other),
        }
    }
    typed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(text: &str) -> usize {
        text.chars().filter_map(septets).sum()
    }

    #[test]
    fn alphabet_is_complete_without_duplicates() {
        // 128 places less escape, line feed and carriage return; the extension less its page break.
        let distinct: std::collections::BTreeSet<char> = BASIC.chars().chain(EXTENDED.chars()).collect();
        assert_eq!((BASIC.chars().count(), EXTENDED.chars().count(), distinct.len()), (125, 9, 134));
    }

    #[test]
    fn full_segment_is_unchanged_and_a_longer_text_is_cut() {
        let full = "x".repeat(160);
        assert_eq!(fit(&full), full);
        assert_eq!(fit(&"x".repeat(161)), format!("{}...", "x".repeat(157)));
        // Euros cost two.
        assert_eq!(fit(&"€".repeat(80)), "€".repeat(80));
        assert_eq!(fit(&"€".repeat(81)), format!("{}...", "€".repeat(78)));
    }

    #[test]
    fn typographic_marks_become_plain() {
        assert_eq!(fit("“È l’ora” – sì…"), "\"E' l'ora\" - sì...");
        assert_eq!(fit("a\u{a0}b\nc"), "a b c");
    }

    #[test]
    fn other_scripts_have_seventy_units() {
        let full = "予".repeat(70);
        assert_eq!(fit(&full), full);
        assert_eq!(fit(&"予".repeat(71)), format!("{}…", "予".repeat(69)));
        // Outside the basic plane each character is two units, and is never cut in two.
        assert_eq!(fit(&"🎉".repeat(36)), format!("{}…", "🎉".repeat(34)));
    }

    #[test]
    fn emoji_stay_in_a_short_text_and_are_removed_from_a_long_one() {
        assert_eq!(fit("Open now 🎉"), "Open now 🎉");
        let long = format!("🎉 {} 👨‍👩‍👧 end", "word ".repeat(20).trim());
        assert_eq!(fit(&long), format!("{} end", "word ".repeat(20).trim()));
    }

    proptest::proptest! {
        #[test]
        fn any_text_fits_one_segment(text in "(.|[a-z ]{20}|[€àÈ’🎉予\n]){0,60}") {
            let fitted = fit(&text);
            let plain = fitted.chars().all(|c| septets(c).is_some());
            let size = if plain { cost(&fitted) } else { fitted.encode_utf16().count() };
            proptest::prop_assert!(size <= if plain { SEPTETS } else { UNITS }, "{size}: {fitted}");
        }
    }
}
