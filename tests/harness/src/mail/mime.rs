//! As much of MIME as a mail of Belfry's has: headers with encoded words, and a part or two in quoted-printable or base64.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

/// A mail's headers and texts, decoded, and all of it as it came.
pub fn shown(raw: &str) -> Value {
    let (head, _) = raw.split_once("\r\n\r\n").unwrap_or((raw, ""));
    let headers: Map<_, _> = headers(head).map(|(name, value)| (name.to_owned(), words(&value).into())).collect();
    json!({"headers": headers, "text": part(raw, "text/plain"), "html": part(raw, "text/html"), "raw": raw})
}

/// Names and values, with folded lines put together.
fn headers(head: &str) -> impl Iterator<Item = (&str, String)> {
    let folded = |value: &str| value.split("\r\n").map(str::trim).collect::<Vec<_>>().join(" ");
    let mut rest = head;
    std::iter::from_fn(move || {
        let (name, after) = rest.split_once(':')?;
        // The next line that does not begin with a space is another header.
        let ends = after.match_indices("\r\n").map(|(at, _)| at);
        let end = ends.into_iter().find(|at| !after[at + 2..].starts_with([' ', '\t'])).unwrap_or(after.len());
        rest = after.get(end + 2..).unwrap_or_default();
        Some((name, folded(&after[..end])))
    })
}

fn header(head: &str, name: &str) -> String {
    let found = headers(head).find(|(it, _)| it.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value).unwrap_or_default()
}

/// The text of the first part of this type.
fn part(entity: &str, kind: &str) -> Option<String> {
    let (head, body) = entity.split_once("\r\n\r\n")?;
    let content = header(head, "Content-Type");
    if let Some((_, boundary)) = content.split_once("boundary=") {
        let boundary = format!("--{}", boundary.split(';').next().unwrap_or_default().trim_matches('"'));
        let mut parts = body.split(boundary.as_str()).skip(1);
        return parts.find_map(|entity| part(entity.trim_start_matches("\r\n"), kind));
    }
    if !content.starts_with(kind) {
        return None;
    }
    let bytes = match header(head, "Content-Transfer-Encoding").as_str() {
        "quoted-printable" => quoted_printable(body),
        "base64" => BASE64_STANDARD.decode(body.split_whitespace().collect::<String>()).ok()?,
        _ => body.as_bytes().to_vec(),
    };
    // The line's end before a boundary is the boundary's.
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Some(text.strip_suffix("\r\n").unwrap_or(&text).to_owned())
}

fn quoted_printable(text: &str) -> Vec<u8> {
    let text = text.replace("=\r\n", "");
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let encoded = after.get(..2).and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match (byte, encoded) {
            (b'=', Some(decoded)) => {
                bytes.push(decoded);
                rest = &after[2..];
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    bytes
}

/// A header's value with its encoded words, `=?utf-8?b?…?=`, decoded.
fn words(value: &str) -> String {
    let decoded = |word: &str| -> Option<String> {
        let mut parts = word.strip_prefix("=?")?.strip_suffix("?=")?.splitn(3, '?').skip(1);
        let bytes = match (parts.next()?, parts.next()?) {
            ("b" | "B", text) => BASE64_STANDARD.decode(text).ok()?,
            (_, text) => quoted_printable(&text.replace('_', " ")),
        };
        String::from_utf8(bytes).ok()
    };
    let mut text = String::new();
    let mut was_encoded = true;
    for word in value.split(' ') {
        let encoded = decoded(word);
        // The space between two encoded words belongs to neither.
        if !(text.is_empty() || was_encoded && encoded.is_some()) {
            text.push(' ');
        }
        was_encoded = encoded.is_some();
        text.push_str(encoded.as_deref().unwrap_or(word));
    }
    text
}
