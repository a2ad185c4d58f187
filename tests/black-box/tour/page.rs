//! The code blocks of a page, and what they mean.

/// A block that is run, and what the page says that it prints.
#[derive(Debug)]
pub struct Step<'a> {
    /// The line of the page on which the block begins.
    pub line: usize,
    pub script: String,
    pub shown: Option<Shown<'a>>,
}

/// What a block prints, as the page shows it.
#[derive(Debug)]
pub enum Shown<'a> {
    /// Line by line; a line `…` stands for any number of lines.
    Text(Vec<&'a str>),
    /// One JSON document, with line breaks of the page's own; a member `"…"` stands for any others.
    Json(String),
}

/// The steps of a page: every block `sh`, each with the block `text` or `json` right behind it. A block
/// `sh no-test` is not run.
pub fn steps(page: &str) -> Vec<Step<'_>> {
    let mut steps: Vec<Step<'_>> = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(kind) = line.strip_prefix("```") else { continue };
        let block: Vec<&str> = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
        let shown = match kind {
            "sh" => {
                steps.push(Step { line: number + 1, script: block.join("\n"), shown: None });
                continue;
            }
            "sh no-test" => continue,
            "text" => Shown::Text(block),
            "json" => Shown::Json(block.join("\n")),
            _ => panic!("line {}: a block of an unknown kind: {kind}", number + 1),
        };
        let step = steps.last_mut().filter(|step| step.shown.is_none());
        step.unwrap_or_else(|| panic!("line {}: output of no command", number + 1)).shown = Some(shown);
    }
    steps
}
