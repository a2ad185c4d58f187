//! `belfry verify`: checks what must hold on live tables, and says what is wrong.
//!
//! Exit code 0: everything holds. 1: violations, one line each. 2: it could not read. 3: nothing is wrong, but not
//! everything could be judged.

use std::cell::RefCell;
use std::num::NonZeroU16;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use domain::Time;
use ledger::survey::Survey;
use ledger::{Ledger, Patience};
use runtime::Settings;
use verify::{Pace, Progress, Report, Terms, Verdict};

/// How often a table that takes long says how far it is.
const TELL_EVERY: Duration = Duration::from_secs(5);

/// How long a host may take to say where its tables are.
const HOST_LIMIT: Duration = Duration::from_secs(10);

/// The name under which `samconfig.toml` deploys a first stack.
const DEPLOYED: &str = "belfry";

/// What to check, and how.
#[derive(Debug, Args)]
pub struct Verify {
    /// The stack's name, which the names of its tables begin with: by default the one that the host runs, `belfry-local`
    /// where an endpoint is named, and `belfry` in an account.
    #[arg(long)]
    stack: Option<String>,
    /// A host that runs here, whose tables are meant: `http://127.0.0.1:3000`. Without it, AWS_ENDPOINT_URL_DYNAMODB or
    /// AWS_ENDPOINT_URL; without those, the account and region of AWS's ordinary chain.
    #[arg(long)]
    host: Option<String>,
    /// How long after its time something may still be under way, in seconds.
    #[arg(long, default_value_t = 900)]
    grace: u64,
    /// What was recorded before this time is not held to the routes of this build: when routing.toml last changed.
    #[arg(long, value_parser = time)]
    since: Option<Time>,
    /// How many parts of each table are read side by side.
    #[arg(long, default_value = "1")]
    segments: NonZeroU16,
    /// How many rows a second are read at most.
    #[arg(long)]
    rows_per_second: Option<NonZeroU16>,
    /// How to say what was found.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// How to say what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One line each, and a summary.
    Text,
    /// One JSON document.
    Json,
}

fn time(text: &str) -> Result<Time, String> {
    Time::parse(text).map_err(|error| error.to_string())
}

impl Verify {
    /// Checks, and says what was found.
    pub async fn run(&self) -> ExitCode {
        let said = match self.check().await {
            Ok(report) => self.say(&report).map(|()| report.verdict()).map_err(Into::into),
            Err(problem) => Err(problem),
        };
        match said {
            Ok(Verdict::Holds) => ExitCode::SUCCESS,
            Ok(Verdict::Violated) => ExitCode::from(1),
            Ok(Verdict::Undecided) => ExitCode::from(3),
            Err(problem) => {
                eprintln!("belfry: {problem}");
                ExitCode::from(2)
            }
        }
    }

    fn say(&self, report: &Report) -> Result<(), serde_json::Error> {
        match self.format {
            Format::Text => println!("{report}"),
            Format::Json => println!("{}", serde_json::to_string_pretty(report)?),
        }
        Ok(())
    }

    async fn check(&self) -> Result<Report, Box<dyn std::error::Error>> {
        let terms = Terms::from_settings(&Settings::from_env(), Duration::from_secs(self.grace))?;
        let terms = Terms { since: self.since, ..terms };
        let pace = Pace { segments: self.segments, rows_per_second: self.rows_per_second, ..Pace::default() };
        let Target { endpoint, stack } = self.target().await?;
        // Nobody waits for an answer here: a table that throttles is read more slowly.
        let patience = Patience { attempts: 20, within: Duration::from_secs(60), ..Patience::default() };
        let ledger = Ledger::new(local::dynamodb(endpoint.as_deref())?).with_patience(patience);
        let last = RefCell::new(Instant::now());
        let told = |progress: &Progress<'_>| {
            let mut last = last.borrow_mut();
            if progress.done || last.elapsed() >= TELL_EVERY {
                *last = Instant::now();
                let Progress { table, rows, suspects, done } = progress;
                eprintln!("{table}: {rows} rows{}, {suspects} wrong", if *done { "" } else { " so far" });
            }
        };
        Ok(verify::verify(&Survey::of_stack(ledger, &stack), &terms, &pace, told).await?)
    }

    /// Whose tables are read. A local stack and a deployed one have different names by default, so that neither is taken for
    /// the other.
    async fn target(&self) -> Result<Target, Box<dyn std::error::Error>> {
        let Some(host) = &self.host else {
            let named = |name: &str| std::env::var(name).ok().filter(|url| !url.is_empty());
            let endpoint = named("AWS_ENDPOINT_URL_DYNAMODB").or_else(|| named("AWS_ENDPOINT_URL"));
            let default = if endpoint.is_some() { local::STACK } else { DEPLOYED };
            return Ok(Target { endpoint, stack: self.stack.clone().unwrap_or_else(|| default.to_owned()) });
        };
        // Not a client of reqwest's own making: without the tests beside it, that one has no TLS to begin with.
        let asked = outside::http::client(HOST_LIMIT).get(format!("{}/local/endpoints", host.trim_end_matches('/')));
        let answer = asked.timeout(HOST_LIMIT).send().await.and_then(|answer| answer.error_for_status());
        let answer: serde_json::Value = answer.map_err(|error| ledger::causes(&error))?.json().await?;
        let endpoint = answer["dynamodb"].as_str().ok_or("the host does not say where its tables are")?;
        let stack = self.stack.as_deref().or(answer["stack"].as_str()).unwrap_or(local::STACK);
        Ok(Target { endpoint: Some(endpoint.to_owned()), stack: stack.to_owned() })
    }
}

/// Whose tables are read.
struct Target {
    /// Where DynamoDB answers, if not in an account.
    endpoint: Option<String>,
    /// The stack's name.
    stack: String,
}
