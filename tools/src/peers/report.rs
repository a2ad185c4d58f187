//! The tables, as Markdown: what is to be reached first, then everything that was measured.

use std::fmt;

use crate::breakage::{HEADER, Row};
use crate::chart::bars;
use crate::contenders::Contender;
use crate::latency::Rate;
use crate::starts::Starts;

use super::calls::Calls;
use super::load::{CONNECTIONS, Turn};
use super::turns::Turns;

/// A value of a turn.
type Value = fn(&Turn) -> f64;

/// What was measured; empty where it was not asked for.
#[derive(Default)]
pub struct Figures {
    pub calls: Vec<Calls>,
    pub broken: Vec<Row>,
    pub turns: Turns,
    pub instructions: Vec<(Contender, Option<f64>)>,
    pub starts: Vec<Starts>,
    pub inbox: Option<Rate>,
    /// Dollars for a million whole chains.
    pub chain: Option<f64>,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.summary(f)?;
        self.all_turns(f)?;
        self.all_instructions(f)?;
        self.all_starts(f)?;
        self.all_breakage(f)
    }
}

impl Figures {
    fn all_turns(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.turns.is_empty() {
            return Ok(());
        }
        for connections in CONNECTIONS {
            let (s, rounds) = (if connections == 1 { "" } else { "s" }, self.turns.rounds());
            writeln!(f, "\n{connections} connection{s}, a first command, medians of {rounds} rounds:\n")?;
            writeln!(
                f,
                "| | p50, ms | × bare | × Python | p99, ms | × bare | × Python | per second | × bare | × Python | CPU per request, ms | × bare | × Python | CPU of the engine, ms | of the driver, ms | turns again |"
            )?;
            writeln!(f, "|{}", "---|".repeat(16))?;
            for contender in Contender::ALL {
                write!(f, "| {} |", contender.name())?;
                let compared: [(Value, usize); 4] =
                    [(|turn| turn.p50, 2), (|turn| turn.p99, 2), (|turn| turn.per_second, 0), (|turn| turn.cpu, 2)];
                for (value, digits) in compared {
                    let seen = self.turns.median(contender, connections, value);
                    let ratio = |other| self.turns.ratio(contender, other, connections, value);
                    let (bare, python) = (ratio(Contender::Bare), ratio(Contender::Python));
                    write!(f, " {seen:.digits$} | {bare:.2} | {python:.3} |")?;
                }
                let of = |value: fn(&Turn) -> f64| self.turns.median(contender, connections, value);
                let again = self.turns.again(contender, connections);
                writeln!(f, " {:.2} | {:.2} | {again} |", of(|turn| turn.engine_cpu), of(|turn| turn.driver_cpu))?;
            }
        }
        Ok(())
    }

    fn all_instructions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.instructions.is_empty() {
            return Ok(());
        }
        writeln!(f, "\n| | instructions per first command, M |\n|---|---|")?;
        for (contender, count) in &self.instructions {
            let count = count.map_or_else(|| "does not run under valgrind".to_owned(), |count| format!("{count:.3}"));
            writeln!(f, "| {} | {count} |", contender.name())?;
        }
        Ok(())
    }

    /// Every binary.
    fn all_starts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.starts.is_empty() {
            return Ok(());
        }
        writeln!(f, "\n| binary | start, p50 / p99 ms | size, MB | resident, MB |\n|---|---|---|---|")?;
        for Starts { name, size, times, resident } in &self.starts {
            let [size, resident] = [*size, *resident].map(|bytes| bytes as f64 / 1e6);
            writeln!(f, "| `{name}` | {times} | {size:.2} | {resident:.1} |")?;
        }
        Ok(())
    }

    fn all_breakage(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.broken.is_empty() {
            return Ok(());
        }
        writeln!(f, "\n{HEADER}")?;
        for row in &self.broken {
            writeln!(f, "{row}")?;
        }
        writeln!(
            f,
            "\nA cell is effects seen / expected: Belfry's entitlement, event and stored answer; Powertools' one write."
        )?;
        for problem in self.broken.iter().flat_map(Row::problems) {
            writeln!(f, "wrong: {problem}")?;
        }
        Ok(())
    }

    /// Bars of what takes time, by name of the file.
    pub fn charts(&self) -> Vec<(&'static str, String)> {
        let mut charts = Vec::new();
        if !self.turns.is_empty() {
            let bar = |connections, contender: Contender| {
                let label = format!("{}, {connections} at a time", contender.name());
                (label, self.turns.median(contender, connections, |turn| turn.p50))
            };
            let all = CONNECTIONS.into_iter().flat_map(|connections| Contender::ALL.map(|one| bar(connections, one)));
            charts.push(("peers-latency.svg", bars("A first command, p50 in milliseconds", &all.collect::<Vec<_>>())));
        }
        let counted = self.instructions.iter().filter_map(|(one, count)| Some((one.name().to_owned(), (*count)?)));
        let counted: Vec<(String, f64)> = counted.collect();
        if !counted.is_empty() {
            charts.push(("peers-instructions.svg", bars("Instructions per first command, millions", &counted)));
        }
        charts
    }
}
