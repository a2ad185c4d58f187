//! Runs the commands of `docs/tour.md` as a shell would: variables, functions, pipes and the few programs the page uses.
//! The page needs `curl`, `grep`, `head` and `cut`; this test needs none of them.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;

use harness::{Stack, clients};
use reqwest::Method;

use super::pattern;

/// The address that the page uses.
const HOST: &str = "localhost:3000";

/// What the page has defined so far.
#[derive(Debug)]
pub struct Shell {
    variables: HashMap<String, String>,
    functions: HashMap<String, String>,
    client: reqwest::Client,
}

/// A word before its variables are replaced.
type Word = Vec<Part>;

#[derive(Debug, Clone)]
enum Part {
    Text(String),
    Variable(String),
    Command(String),
}

/// One command of a pipeline.
type Words = Vec<Word>;

impl Shell {
    pub fn new() -> Self {
        Self { variables: HashMap::new(), functions: HashMap::new(), client: clients::http() }
    }

    /// Runs a script and returns what it prints.
    pub async fn run(&mut self, stack: &Stack, script: &str) -> String {
        self.script(stack, script, &[], "").await
    }

    fn script<'a>(
        &'a mut self,
        stack: &'a Stack,
        script: &'a str,
        arguments: &'a [String],
        input: &'a str,
    ) -> Pin<Box<dyn Future<Output = String> + 'a>> {
        Box::pin(async move {
            let mut printed = String::new();
            let mut rest = script;
            while let Some((name, body, after)) = next_function(rest) {
                self.functions.insert(name.to_owned(), body.to_owned());
                rest = after;
            }
            for pipeline in parse(rest) {
                let mut output = input.to_owned();
                for command in pipeline {
                    output = self.command(stack, &command, arguments, &output).await;
                }
                printed.push_str(&output);
            }
            printed
        })
    }

    async fn command(&mut self, stack: &Stack, command: &Words, arguments: &[String], input: &str) -> String {
        let mut words = Vec::new();
        for word in command {
            words.push(self.expand(stack, word, arguments).await);
        }
        let [first, rest @ ..] = words.as_slice() else { return String::new() };
        if let Some((name, value)) = first.split_once('=')
            && name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_')
        {
            self.variables.insert(name.to_owned(), value.to_owned());
            return String::new();
        }
        if let Some(body) = self.functions.get(first).cloned() {
            return self.script(stack, &body, rest, input).await;
        }
        let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
        match (first.as_str(), rest.as_slice()) {
            ("curl", options) => self.curl(stack, options).await,
            ("echo", words) => format!("{}\n", words.join(" ")),
            ("grep", ["-o", searched]) => pattern::matches(searched, input).map(|found| format!("{found}\n")).collect(),
            ("sort", []) => {
                let mut lines: Vec<&str> = input.lines().collect();
                lines.sort_unstable();
                lines.into_iter().map(|line| format!("{line}\n")).collect()
            }
            ("head", [count]) => {
                let count = count.trim_start_matches('-').parse().expect("head -N");
                input.split_inclusive('\n').take(count).collect()
            }
            ("cut", ["-d\"", field]) => {
                let field: usize = field.trim_start_matches("-f").parse().expect("cut -fN");
                input.lines().filter_map(|line| line.split('"').nth(field - 1)).map(|cut| format!("{cut}\n")).collect()
            }
            ("cargo", ["run", "--", "verify", "--host", host]) if host.ends_with(HOST) => {
                format!("{}\n", stack.verify().await)
            }
            _ => panic!("the page uses a command that its test does not know: {words:?}"),
        }
    }

    /// A word with its variables and command substitutions replaced. Nothing is split at spaces.
    async fn expand(&mut self, stack: &Stack, word: &Word, arguments: &[String]) -> String {
        let mut text = String::new();
        for part in word {
            match part {
                Part::Text(literal) => text.push_str(literal),
                Part::Variable(name) => match name.parse::<usize>() {
                    Ok(number) => text.push_str(arguments.get(number - 1).map_or("", String::as_str)),
                    Err(_) => text.push_str(self.variables.get(name).unwrap_or_else(|| panic!("${name} is not set"))),
                },
                Part::Command(script) => {
                    text.push_str(self.script(stack, script, arguments, "").await.trim_end_matches('\n'));
                }
            }
        }
        text
    }

    async fn curl(&self, stack: &Stack, options: &[&str]) -> String {
        let (mut method, mut url, mut body) = (None, None, None);
        let (mut show_headers, mut end) = (false, "");
        let mut headers: Vec<(&str, &str)> = Vec::new();
        let mut options = options.iter().copied();
        while let Some(option) = options.next() {
            let Some(letters) = option.strip_prefix('-') else {
                url = Some(option);
                continue;
            };
            for letter in letters.chars() {
                let mut value = || options.next().unwrap_or_else(|| panic!("curl {option} needs a value"));
                match letter {
                    's' => {}
                    'i' => show_headers = true,
                    'X' => method = Some(value().parse::<Method>().expect("a method")),
                    'd' => body = Some(value().to_owned()),
                    'H' => headers.push(value().split_once(": ").expect("a header")),
                    'w' => {
                        assert_eq!(value(), "\\n", "curl -w prints a line break and nothing else");
                        end = "\n";
                    }
                    _ => panic!("curl {option}"),
                }
            }
        }
        let url = url.expect("curl needs a URL");
        let path =
            url.trim_start_matches("http://").strip_prefix(HOST).unwrap_or_else(|| panic!("{url} is not {HOST}"));
        let method = method.unwrap_or(if body.is_some() { Method::POST } else { Method::GET });
        let mut request = self.client.request(method, format!("{}{path}", stack.url()));
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let response =
            request.body(body.unwrap_or_default()).send().await.unwrap_or_else(|error| panic!("{url}: {error}"));
        let mut printed = String::new();
        if show_headers {
            printed.push_str(&format!("{:?} {}\n", response.version(), response.status()));
            for (name, value) in response.headers() {
                printed.push_str(&format!("{name}: {}\n", value.to_str().expect("visible text")));
            }
            printed.push('\n');
        }
        printed.push_str(&response.text().await.expect("a text"));
        printed.push_str(end);
        printed
    }
}

/// The function that a script begins with: its name, its body and the rest.
fn next_function(script: &str) -> Option<(&str, &str, &str)> {
    let (name, body) = script.trim_start().split_once("() {")?;
    if !name.chars().all(|letter| letter.is_ascii_lowercase()) {
        return None;
    }
    let line_end = body.find('\n').unwrap_or(body.len());
    let end = if body[..line_end].ends_with('}') {
        line_end - 1
    } else {
        body.find("\n}").expect("the end of a function") + 1
    };
    Some((name, &body[..end], &body[end + 1..]))
}

/// The pipelines of a script, each with its commands.
fn parse(script: &str) -> Vec<Vec<Words>> {
    let mut pipelines = vec![vec![Words::new()]];
    let mut word: Option<Word> = None;
    let mut rest = script;
    let mut quoted = false;
    while let Some(letter) = rest.chars().next() {
        let after = &rest[letter.len_utf8()..];
        rest = after;
        match letter {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            '\\' => {
                let next = after.chars().next().expect("something behind a backslash");
                rest = &after[next.len_utf8()..];
                if next != '\n' {
                    push(&mut word, next);
                }
            }
            '$' => {
                let (part, behind) = substitution(after);
                word.get_or_insert_default().push(part);
                rest = behind;
            }
            '\'' if !quoted => {
                let (text, behind) = after.split_once('\'').expect("the end of a quotation");
                word.get_or_insert_default().push(Part::Text(text.to_owned()));
                rest = behind;
            }
            ' ' | '\n' | ';' | '|' if !quoted => {
                let pipeline = pipelines.last_mut().expect("a pipeline");
                pipeline.last_mut().expect("a command").extend(word.take());
                match letter {
                    '|' => pipeline.push(Words::new()),
                    '\n' | ';' => pipelines.push(vec![Words::new()]),
                    _ => {}
                }
            }
            _ => push(&mut word, letter),
        }
    }
    pipelines.last_mut().and_then(|pipeline| pipeline.last_mut()).expect("a command").extend(word);
    pipelines.retain(|pipeline| pipeline.iter().any(|command| !command.is_empty()));
    pipelines
}

fn push(word: &mut Option<Word>, letter: char) {
    let word = word.get_or_insert_default();
    match word.last_mut() {
        Some(Part::Text(text)) => text.push(letter),
        _ => word.push(Part::Text(letter.to_string())),
    }
}

/// What a `$` begins, and the rest.
fn substitution(after: &str) -> (Part, &str) {
    if let Some(script) = after.strip_prefix('(') {
        let mut depth = 1;
        let end = script.char_indices().find(|(_, letter)| {
            depth += match letter {
                '(' => 1,
                ')' => -1,
                _ => 0,
            };
            depth == 0
        });
        let (end, _) = end.expect("the end of a command substitution");
        return (Part::Command(script[..end].to_owned()), &script[end + 1..]);
    }
    let end = after.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(after.len());
    (Part::Variable(after[..end].to_owned()), &after[end..])
}
