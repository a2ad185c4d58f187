//! The tables, as Markdown: what is to be reached first, then everything that was measured.

use std::fmt;

use tests::breakage::{Break, HEADER, Row, Tally};
use tests::chart::bars;
use tests::contenders::Contender;
use tests::starts::Starts;

use crate::calls::Calls;
use crate::load::{CONNECTIONS, Turn, median};

/// What was measured; empty where it was not asked for.
#[derive(Default)]
pub struct Figures {
    pub calls: Vec<Calls>,
    pub broken: Vec<Row>,
    pub turns: Vec<Turn>,
    pub instructions: Vec<(Contender, Option<f64>)>,
    pub starts: Vec<Starts>,
}

/// The breaks that a process and a network make; the other two are DynamoDB's own.
const DEATHS: [Break; 3] = [Break::KilledBefore, Break::KilledAfter, Break::AnswerLost];

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| what | limit or peer | Belfry | ratio | to reach | reached |")?;
        writeln!(f, "|---|---|---|---|---|---|")?;
        self.summed_calls(f)?;
        self.summed_breakage(f)?;
        self.summed_load(f)?;
        self.summed_instructions(f)?;
        self.summed_starts(f)?;
        self.all_turns(f)?;
        self.all_instructions(f)?;
        self.all_breakage(f)
    }
}

impl Figures {
    fn summed_calls(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |calls: &Calls| format!("{} / {} / {}", calls.first, calls.replay, calls.conflict);
        for ours in self.calls.iter().filter(|calls| calls.contender == Contender::Belfry) {
            let theirs = self.calls.iter().filter(|calls| calls.contender != Contender::Belfry);
            let theirs: Vec<String> =
                theirs.map(|calls| format!("{} {}", calls.contender.name(), text(calls))).collect();
            let (kind, most) = if ours.changes { ("changing", (2, 1, 1)) } else { ("creating", (1, 1, 1)) };
            let reached = ours.first <= most.0 && ours.replay <= most.1 && ours.conflict <= most.2;
            writeln!(
                f,
                "| DynamoDB calls, {kind}: first / replay / conflict | {} | {} | – | {} / {} / {} | {} |",
                theirs.join("; "),
                text(ours),
                most.0,
                most.1,
                most.2,
                yes(reached)
            )?;
        }
        Ok(())
    }

    fn summed_breakage(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |function: &str, breaks: &[Break]| {
            Tally::of(self.broken.iter().filter(|row| row.function == function), breaks)
        };
        let text = |tally: Tally| format!("{} of {}", tally.wrong, tally.cells);
        for (what, breaks) in [
            ("killed before, killed after, answer lost", &DEATHS[..]),
            ("the same, throttled, conflict", &Break::ALL[..]),
        ] {
            let ours = of("ApiFunction", breaks);
            if ours.cells == 0 {
                continue;
            }
            let theirs = [Contender::Python, Contender::TypeScript];
            let theirs = theirs.map(|peer| format!("{} {}", peer.name(), text(of(peer.name(), breaks))));
            let (theirs, reached) = (theirs.join("; "), yes(ours.wrong == 0));
            writeln!(
                f,
                "| wrong results when each call is broken ({what}) | {theirs} | {} | – | 0 | {reached} |",
                text(ours)
            )?;
        }
        Ok(())
    }

    fn summed_load(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.turns.is_empty() {
            return Ok(());
        }
        let p50 = |contender| self.median(contender, 1, |turn| turn.p50);
        let of_python = self.ratio(Contender::Bare, Contender::Python, 1);
        let targets = [
            (Contender::Bare, String::new(), Some(1.15)),
            (Contender::Python, format!(" (bare handler: {of_python:.3})"), Some(0.12)),
            (Contender::TypeScript, String::new(), None),
        ];
        for (peer, more, most) in targets {
            let ratio = self.ratio(Contender::Belfry, peer, 1);
            let (limit, reached) = target(ratio, most, "");
            // How far the rounds are apart says what the median is worth: on a busy machine, nothing.
            let rounds = self.ratios(Contender::Belfry, peer, 1, |turn| turn.p50);
            let least = rounds.iter().copied().fold(f64::INFINITY, f64::min);
            let greatest = rounds.iter().copied().fold(0.0, f64::max);
            writeln!(
                f,
                "| p50 of a first command, 1 connection | {}: {:.2} ms{more} | {:.2} ms | {ratio:.3} ({least:.2} to {greatest:.2}) | {limit} | {reached} |",
                peer.name(),
                p50(peer),
                p50(Contender::Belfry),
            )?;
        }
        Ok(())
    }

    fn summed_instructions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |contender| self.instructions.iter().find(|(one, _)| *one == contender).and_then(|(_, count)| *count);
        let Some(ours) = of(Contender::Belfry) else { return Ok(()) };
        for (peer, most) in [(Contender::Bare, Some(0.75)), (Contender::Python, None), (Contender::TypeScript, None)] {
            let Some(theirs) = of(peer) else { continue };
            let (limit, reached) = target(ours, most, " M");
            writeln!(
                f,
                "| instructions per first command | {}: {theirs:.2} M | {ours:.2} M | {:.3} | {limit} | {reached} |",
                peer.name(),
                ours / theirs
            )?;
        }
        Ok(())
    }

    fn summed_starts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Starts { name, size, times, .. } in &self.starts {
            let (start, size) = (times.millis(50), *size as f64 / 1e6);
            writeln!(
                f,
                "| start of `{name}`, exec to first poll, p50 | – | {start:.1} ms | – | ≤ 4 ms | {} |",
                yes(start <= 4.0)
            )?;
            writeln!(f, "| release binary of `{name}` | – | {size:.1} MB | – | ≤ 8 MB | {} |", yes(size <= 8.0))?;
        }
        Ok(())
    }

    fn all_turns(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.turns.is_empty() {
            return Ok(());
        }
        for connections in CONNECTIONS {
            let s = if connections == 1 { "" } else { "s" };
            writeln!(f, "\n{connections} connection{s}, a first command, medians of {} rounds:\n", self.rounds())?;
            writeln!(
                f,
                "| | p50, ms | × bare | p99, ms | per second | CPU per request, ms | × bare | CPU of the engine, ms | of the driver, ms |"
            )?;
            writeln!(f, "|---|---|---|---|---|---|---|---|---|")?;
            for contender in Contender::ALL {
                let of = |value: fn(&Turn) -> f64| self.median(contender, connections, value);
                writeln!(
                    f,
                    "| {} | {:.2} | {:.2} | {:.2} | {:.0} | {:.2} | {:.2} | {:.2} | {:.2} |",
                    contender.name(),
                    of(|turn| turn.p50),
                    self.ratio(contender, Contender::Bare, connections),
                    of(|turn| turn.p99),
                    of(|turn| turn.per_second),
                    of(|turn| turn.cpu),
                    self.ratio_of(contender, Contender::Bare, connections, |turn| turn.cpu),
                    of(|turn| turn.engine_cpu),
                    of(|turn| turn.driver_cpu),
                )?;
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
                (label, self.median(contender, connections, |turn| turn.p50))
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

    fn rounds(&self) -> usize {
        self.turns.iter().map(|turn| turn.round + 1).max().unwrap_or_default()
    }

    fn median(&self, contender: Contender, connections: usize, value: fn(&Turn) -> f64) -> f64 {
        let is_meant = |turn: &&Turn| turn.contender == contender && turn.connections == connections;
        median(self.turns.iter().filter(is_meant).map(value))
    }

    fn ratio(&self, one: Contender, other: Contender, connections: usize) -> f64 {
        self.ratio_of(one, other, connections, |turn| turn.p50)
    }

    /// The median of the ratios within each round, so that what the machine does besides hits both sides.
    fn ratio_of(&self, one: Contender, other: Contender, connections: usize, value: fn(&Turn) -> f64) -> f64 {
        median(self.ratios(one, other, connections, value))
    }

    /// The ratio within each round.
    fn ratios(&self, one: Contender, other: Contender, connections: usize, value: fn(&Turn) -> f64) -> Vec<f64> {
        let of = |contender, round| {
            let is_meant =
                |turn: &&Turn| (turn.contender, turn.connections, turn.round) == (contender, connections, round);
            self.turns.iter().find(is_meant).map_or(f64::NAN, value)
        };
        (0..self.rounds()).map(|round| of(one, round) / of(other, round)).collect()
    }
}

/// What is to be reached, and whether it is.
fn target(seen: f64, most: Option<f64>, unit: &str) -> (String, &'static str) {
    match most {
        Some(most) => (format!("≤ {most}{unit}"), yes(seen <= most)),
        None => ("–".to_owned(), "–"),
    }
}

fn yes(reached: bool) -> &'static str {
    if reached { "yes" } else { "**no**" }
}
