//! `belfry verify`: checks the invariants on live tables and reports violations.
//!
//! Exit codes: 0 if all invariants hold, 1 for violations, 2 if the tables cannot be read, 3 if there are no violations but
//! some rows could not be decided.

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

/// How often the progress of a long scan is printed.
const TELL_EVERY: Duration = Duration::from_secs(5);

const HOST_LIMIT: Duration = Duration::from_secs(10);

/// The default name of a deployed stack.
const DEPLOYED: &str = "belfry";

#[derive(Debug, Args)]
pub struct Verify {
    /// The stack name, the prefix of all table names. Defaults to the host's stack with --host, to `belfry-local` with an
    /// endpoint in the environment, and to `belfry` in an AWS account.
    #[arg(long)]
    stack: Option<String>,
    /// The URL of a running local host, such as http://127.0.0.1:3000. Defaults to AWS_ENDPOINT_URL_DYNAMODB, then
    /// AWS_ENDPOINT_URL, then the account and region of the environment.
    #[arg(long, value_name = "URL")]
    host: Option<String>,
    /// How long after its due time something may still be in progress, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    grace: u64,
    /// Do not check events recorded before this time against the routes of this build. Use the time of the deployment that
    /// last changed routing.toml.
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<Time>,
    /// How many segments of each table are read concurrently.
    #[arg(long, default_value = "1")]
    segments: NonZeroU16,
    /// The most rows to read per second. Unlimited by default.
    #[arg(long, value_name = "ROWS")]
    rows_per_second: Option<NonZeroU16>,
    /// The format of the report.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// The format of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One line for each violation, and a summary.
    Text,
    /// One JSON document.
    Json,
}

fn time(text: &str) -> Result<Time, String> {
    Time::parse(text).map_err(|error| error.to_string())
}

impl Verify {
    /// Checks the tables and prints the report.
    pub async fn run(&self) -> ExitCode {
        let printed = match self.check().await {
            Ok(report) => self.print(&report).map(|()| report.verdict()).map_err(Into::into),
            Err(problem) => Err(problem),
        };
        match printed {
            Ok(Verdict::Holds) => ExitCode::SUCCESS,
            Ok(Verdict::Violated) => ExitCode::from(1),
            Ok(Verdict::Undecided) => ExitCode::from(3),
            Err(problem) => {
                eprintln!("belfry: {problem}");
                ExitCode::from(2)
            }
        }
    }

    fn print(&self, report: &Report) -> Result<(), serde_json::Error> {
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
        // A throttled table is read more slowly.
        let patience = Patience { attempts: 20, within: Duration::from_secs(60), ..Patience::default() };
        let ledger = Ledger::new(local::dynamodb(endpoint.as_deref())?).with_patience(patience);
        let last = RefCell::new(Instant::now());
        let on_progress = |progress: &Progress<'_>| {
            let mut last = last.borrow_mut();
            if progress.done || last.elapsed() >= TELL_EVERY {
                *last = Instant::now();
                let Progress { table, rows, suspects, done } = progress;
                if *done {
                    eprintln!("{table}: {rows} rows, {suspects} violations");
                } else {
                    eprintln!("{table}: {rows} rows so far, {suspects} to check again");
                }
            }
        };
        Ok(verify::verify(&Survey::of_stack(ledger, &stack), &terms, &pace, on_progress).await?)
    }

    /// Finds the tables. A local stack and a deployed one have different default names, so one is never mistaken for the
    /// other.
    async fn target(&self) -> Result<Target, Box<dyn std::error::Error>> {
        let Some(host) = &self.host else {
            let named = |name: &str| std::env::var(name).ok().filter(|url| !url.is_empty());
            let endpoint = named("AWS_ENDPOINT_URL_DYNAMODB").or_else(|| named("AWS_ENDPOINT_URL"));
            let default = if endpoint.is_some() { local::STACK } else { DEPLOYED };
            return Ok(Target { endpoint, stack: self.stack.clone().unwrap_or_else(|| default.to_owned()) });
        };
        // `reqwest::Client::new` fails in this build, which gives it no TLS provider.
        let request = provider_http::client(HOST_LIMIT).get(format!("{}/local/endpoints", host.trim_end_matches('/')));
        let answer = request.timeout(HOST_LIMIT).send().await.and_then(|answer| answer.error_for_status());
        let answer = answer.map_err(|error| format!("cannot reach the host at {host}: {}", ledger::causes(&error)))?;
        let answer: serde_json::Value = answer.json().await?;
        let endpoint = answer["dynamodb"].as_str().ok_or("GET /local/endpoints returned no DynamoDB URL")?;
        let stack = self.stack.as_deref().or(answer["stack"].as_str()).unwrap_or(local::STACK);
        Ok(Target { endpoint: Some(endpoint.to_owned()), stack: stack.to_owned() })
    }
}

/// The tables to read.
struct Target {
    /// `None` for an AWS account.
    endpoint: Option<String>,
    stack: String,
}
