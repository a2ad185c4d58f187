//! What is to be reached (DESIGN.md, section 6), and whether it is: a row for each, as far as it was measured.

use std::fmt;

use crate::breakage::{Break, Tally};
use crate::contenders::Contender;
use crate::starts::Starts;

use super::calls::Calls;
use super::load::Turn;
use super::report::Figures;

/// The breaks that a process and a network make; the other two are DynamoDB's own.
const DEATHS: [Break; 3] = [Break::KilledBefore, Break::KilledAfter, Break::AnswerLost];

impl Figures {
    /// The table.
    pub fn summary(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| what | limit or peer | Belfry | ratio | to reach | reached |")?;
        writeln!(f, "|---|---|---|---|---|---|")?;
        self.summed_calls(f)?;
        self.summed_breakage(f)?;
        self.summed_load(f)?;
        self.summed_instructions(f)?;
        self.summed_inbox(f)?;
        self.summed_starts(f)?;
        self.summed_chain(f)
    }

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
        let p50: fn(&Turn) -> f64 = |turn| turn.p50;
        let middle = |contender| self.turns.median(contender, 1, p50);
        let of_python = self.turns.ratio(Contender::Bare, Contender::Python, 1, p50);
        let targets = [
            (Contender::Bare, String::new(), Some(1.15)),
            (Contender::Python, format!(" (bare handler: {of_python:.3})"), Some(0.12)),
            (Contender::TypeScript, String::new(), None),
        ];
        for (peer, more, most) in targets {
            let ratio = self.turns.ratio(Contender::Belfry, peer, 1, p50);
            let (limit, reached) = target(ratio, most, "");
            // How far the rounds are apart says what the median is worth: on a busy machine, nothing.
            let rounds = self.turns.ratios(Contender::Belfry, peer, 1, p50);
            let least = rounds.iter().copied().fold(f64::INFINITY, f64::min);
            let greatest = rounds.iter().copied().fold(0.0, f64::max);
            writeln!(
                f,
                "| p50 of a first command, 1 connection | {}: {:.2} ms{more} | {:.2} ms | {ratio:.3} ({least:.2} to {greatest:.2}) | {limit} | {reached} |",
                peer.name(),
                middle(peer),
                middle(Contender::Belfry),
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

    /// The worst of the binaries, by name: all are to be within.
    fn summed_starts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = |starts: &Starts| starts.times.millis(50);
        let size = |starts: &Starts| starts.size as f64 / 1e6;
        self.worst(f, "start, exec to first poll, p50", start, (4.0, "ms"))?;
        self.worst(f, "release binary", size, (8.0, "MB"))
    }

    fn worst(
        &self,
        f: &mut fmt::Formatter<'_>,
        what: &str,
        value: impl Fn(&Starts) -> f64,
        (most, unit): (f64, &str),
    ) -> fmt::Result {
        let worst = self.starts.iter().max_by(|one, other| value(one).total_cmp(&value(other)));
        let Some(worst) = worst else { return Ok(()) };
        let (name, seen, all) = (worst.name, value(worst), self.starts.len());
        let within = self.starts.iter().filter(|starts| value(starts) <= most).count();
        writeln!(
            f,
            "| {what}, the worst of {all}: `{name}` | – | {seen:.2} {unit} | – | ≤ {most} {unit} | {} ({within} of {all} within) |",
            yes(within == all)
        )
    }

    fn summed_inbox(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(rate) = &self.inbox else { return Ok(()) };
        let told = rate.told.millis(50);
        let (limit, reached) = target(told, Some(100.0), " ms");
        let name = &rate.name;
        writeln!(
            f,
            "| POST to the inbox, p50, at {name}/s | a poll: 5 to 15 s | {told:.1} ms | – | {limit} | {reached} |"
        )
    }

    fn summed_chain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(dollars) = self.chain else { return Ok(()) };
        let (limit, reached) = target(dollars, Some(9.0), " USD");
        writeln!(
            f,
            "| a million whole chains: command, relay, fan-out, one mail | 10.6 USD | {dollars:.2} USD | {:.2} | {limit} | {reached} |",
            dollars / 10.6
        )
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
