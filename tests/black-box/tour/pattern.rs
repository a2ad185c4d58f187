//! The patterns of the page's `grep -o`: letters, `[…]`, `[^…]` and `*` behind one of them.

/// One item of a pattern: which characters it takes, and whether any number of them.
#[derive(Debug)]
struct Item {
    characters: Vec<(char, char)>,
    negated: bool,
    repeated: bool,
}

impl Item {
    fn takes(&self, letter: char) -> bool {
        self.characters.iter().any(|(first, last)| (*first..=*last).contains(&letter)) != self.negated
    }
}

/// Every match in a text, line by line, from left to right.
pub fn matches<'a>(pattern: &str, text: &'a str) -> impl Iterator<Item = &'a str> {
    let items = items(pattern);
    text.lines().flat_map(move |line| {
        let mut found = Vec::new();
        let mut rest = line;
        while !rest.is_empty() {
            let length = match_length(&items, rest).filter(|length| *length > 0);
            if let Some(length) = length {
                found.push(&rest[..length]);
            }
            rest = &rest[length.unwrap_or_else(|| rest.chars().next().map_or(1, char::len_utf8))..];
        }
        found
    })
}

fn items(pattern: &str) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        let (mut characters, mut negated) = (Vec::new(), false);
        match letter {
            '*' => {
                items.last_mut().expect("something before *").repeated = true;
                continue;
            }
            '[' => {
                negated = letters.next_if_eq(&'^').is_some();
                while let Some(first) = letters.next_if(|letter| *letter != ']') {
                    let range = letters.next_if_eq(&'-').and_then(|_| letters.next());
                    characters.push((first, range.unwrap_or(first)));
                }
                letters.next();
            }
            _ => characters.push((letter, letter)),
        }
        items.push(Item { characters, negated, repeated: false });
    }
    items
}

/// How many bytes of the text's beginning the items take: as many as they can.
fn match_length(items: &[Item], text: &str) -> Option<usize> {
    let Some((item, others)) = items.split_first() else { return Some(0) };
    let taken: Vec<usize> = text
        .char_indices()
        .take_while(|(_, letter)| item.takes(*letter))
        .map(|(at, letter)| at + letter.len_utf8())
        .collect();
    if !item.repeated {
        let length = *taken.first()?;
        return Some(length + match_length(others, &text[length..])?);
    }
    let longest_first = taken.into_iter().rev().chain([0]);
    longest_first.filter_map(|length| Some(length + match_length(others, &text[length..])?)).next()
}
