//! The matrix as Markdown.

use std::fmt;

use super::{Break, Cell, Row, Unknown, Verdict};

/// The head of the table.
pub const HEADER: &str = "| use case | function | call | killed before | killed after | answer lost | throttled | conflict |\n\
    |---|---|---|---|---|---|---|---|";

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells = self.cells.iter().map(|cell| match cell {
            None => "–".to_owned(),
            Some(Cell { seen, expected, verdict }) => {
                let mark = match verdict {
                    Verdict::Right => "",
                    Verdict::AsSet(Unknown::Resent) => " ²",
                    Verdict::AsSet(Unknown::Held) => " ?",
                    Verdict::Wrong(_) => " **wrong**",
                };
                format!("{seen}/{expected}{mark}")
            }
        });
        let function = self.function.trim_end_matches("Function");
        let cells = cells.collect::<Vec<_>>().join(" | ");
        write!(f, "| {} | {function} | {} | {cells} |", self.use_case, self.call_name())
    }
}

impl Row {
    /// The call, with its number where there are several of the kind.
    fn call_name(&self) -> String {
        let operation = match self.call.operation.as_str() {
            "/v2/email/outbound-emails" => "SES: SendEmail",
            "SendTextMessage" => "SMS: SendTextMessage",
            "/token" => "FCM: token",
            "/v1/payment_intents" => "payments: create",
            "confirm" => "payments: confirm",
            "cancel" => "payments: cancel",
            "/v1/refunds" => "payments: refund",
            path if path.contains("/messages:send") => "FCM: send",
            path if path.starts_with("/slack/") => "Slack: webhook",
            operation => operation,
        };
        match self.call.before {
            0 => operation.to_owned(),
            before => format!("{operation} {}", before + 1),
        }
    }

    /// What went wrong, a line for each cell.
    pub fn problems(&self) -> Vec<String> {
        let cells = Break::ALL.iter().zip(&self.cells).filter_map(|(broken, cell)| match cell {
            Some(Cell { verdict: Verdict::Wrong(problems), .. }) => Some((broken, problems)),
            _ => None,
        });
        let line = |(broken, problems): (&Break, &Vec<String>)| {
            let Self { use_case, function, .. } = self;
            format!("{use_case}, {function}, {}, {broken:?}: {}", self.call_name(), problems.join("; "))
        };
        cells.map(line).collect()
    }
}

/// How many cells there are, and what came of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// All that could be broken.
    pub cells: usize,
    /// Those with another effect than an unbroken run has.
    pub wrong: usize,
    /// Those where nobody can know, and the channel's setting says what to do.
    pub as_set: usize,
}

impl Tally {
    /// Counts the cells of these breaks in these rows.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a Row>, breaks: &[Break]) -> Self {
        let mut tally = Self::default();
        for row in rows {
            let chosen = Break::ALL.iter().zip(&row.cells).filter(|(broken, _)| breaks.contains(broken));
            for cell in chosen.filter_map(|(_, cell)| cell.as_ref()) {
                tally.cells += 1;
                tally.wrong += usize::from(matches!(cell.verdict, Verdict::Wrong(_)));
                tally.as_set += usize::from(matches!(cell.verdict, Verdict::AsSet(_)));
            }
        }
        tally
    }
}
