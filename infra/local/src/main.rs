//! The `belfry` program: runs the whole stack locally and verifies the tables of any stack.

mod log;
mod verify_command;

use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use engine::{Engine, Ports};
use local::{Containers, ContainersError, Endpoints, Host, Options, START};
use log::{LogFormat, start_log};
use runtime::Settings;

/// Runs the whole stack locally: all functions and event source mappings, on embedded DynamoDB and SQS engines.
#[derive(Debug, Parser)]
#[command(name = "belfry", version)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// The port of the HTTP API.
    #[arg(long, default_value_t = 3000)]
    port: u16,
    /// Write demo data: recipients of all four kinds, stock, and a few events.
    #[arg(long)]
    demo: bool,
    /// The stack name, the prefix of all table and queue names.
    #[arg(long, default_value = local::STACK)]
    stack: String,
    /// A template to use instead of infra/template.yaml.
    #[arg(long, value_name = "FILE")]
    template: Option<PathBuf>,
    /// Run no pollers and no schedules. Invoke functions by hand, for example with `cargo lambda invoke` and the
    /// environment from `/local/environment`.
    #[arg(long)]
    by_hand: bool,
    #[command(flatten)]
    containers: ContainersArguments,
    /// Invoke the functions in `sam local start-lambda` at this URL instead of running them in this process. Implies
    /// --containers. Roles are not enforced, because containers sign with your own keys.
    #[arg(long, value_name = "URL", conflicts_with = "demo", value_parser = start_lambda)]
    lambda: Option<String>,
    /// The format of the log on standard error. BELFRY_LOG sets the level: error, warn, info or debug.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = LogFormat::Text)]
    log: LogFormat,
}

#[derive(Debug, Args)]
struct ContainersArguments {
    /// Also listen where containers on this machine can connect, and write their functions' environments to
    /// target/environment.json for `sam local invoke --env-vars`.
    #[arg(long)]
    containers: bool,
    /// The address at which containers reach this machine, if it is not Docker's default bridge. Implies --containers.
    #[arg(long, value_name = "ADDRESS")]
    containers_address: Option<IpAddr>,
}

impl ContainersArguments {
    fn find(&self, is_implied: bool) -> Result<Option<Containers>, ContainersError> {
        let is_wanted = self.containers || self.containers_address.is_some() || is_implied;
        is_wanted.then(|| Containers::find(self.containers_address)).transpose()
    }
}

fn start_lambda(text: &str) -> Result<String, String> {
    match text.parse::<provider_http::Url>() {
        Ok(url) if url.scheme() == "http" && url.path() == "/" && url.query().is_none() => Ok(text.to_owned()),
        _ => Err("must be a URL such as http://127.0.0.1:3001".to_owned()),
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs only the engines, so that the data outlives the hosts that use them.
    Engine {
        /// The port of DynamoDB. The system chooses one for 0.
        #[arg(long, default_value_t = 0)]
        dynamodb_port: u16,
        /// The port of SQS. The system chooses one for 0.
        #[arg(long, default_value_t = 0)]
        sqs_port: u16,
        #[command(flatten)]
        containers: ContainersArguments,
    },
    /// Checks the invariants on live tables, locally or in an AWS account. It only reads.
    Verify(verify_command::Verify),
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(Command::Verify(verify)) = &arguments.command {
        return verify.run().await;
    }
    match run(arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("belfry: {problem}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<(), Box<dyn std::error::Error>> {
    // Programs read the ready line, so it is the only line on standard output.
    start_log(arguments.log, &Settings::from_env(), std::io::stderr)?;
    let stop_requested = signal()?;
    if let Some(Command::Engine { dynamodb_port, sqs_port, containers }) = arguments.command {
        let also: Vec<IpAddr> = containers.find(false)?.iter().map(|containers| containers.address).collect();
        let engine = Engine::start_at(Ports { dynamodb: dynamodb_port, sqs: sqs_port }, &also).await?;
        println!(
            "belfry engine ready AWS_ENDPOINT_URL_DYNAMODB={} AWS_ENDPOINT_URL_SQS={}",
            engine.dynamodb_url(),
            engine.sqs_url()
        );
        stop_requested.await;
        engine.stop().await;
        return Ok(());
    }
    let containers = arguments.containers.find(arguments.lambda.is_some())?;
    let template = match &arguments.template {
        Some(path) => {
            let read = std::fs::read_to_string(path);
            Some(read.map_err(|error| format!("cannot read --template {}: {error}", path.display()))?)
        }
        None => None,
    };
    let host = Host::start(Options {
        port: arguments.port,
        stack: arguments.stack,
        template,
        settings: std::env::vars().filter(|(name, _)| name.starts_with("BELFRY_")).collect(),
        endpoints: Endpoints::from_env()?,
        demo: arguments.demo,
        by_hand: arguments.by_hand,
        containers: containers.clone(),
        lambda: arguments.lambda,
        ..Options::default()
    })
    .await?;
    if let Some(Containers { address, environment }) = containers {
        tracing::info!(target: START, %address, environment = %environment.display(), "containers can connect");
    }
    println!("belfry ready on {}", host.url());
    let console = format!("{}/", host.url());
    match (arguments.log, arguments.demo) {
        (LogFormat::Json, demo) => tracing::info!(target: START, console, demo, "open the console"),
        (LogFormat::Text, true) => eprintln!("Open the console with demo data at {console}"),
        (LogFormat::Text, false) => eprintln!("Open the console at {console} (--demo starts with demo data)"),
    }
    stop_requested.await;
    host.stop().await;
    Ok(())
}

/// Resolves at Ctrl-C or SIGTERM. The handlers are installed when this returns. Until then, a signal would end the process
/// without a clean stop.
#[cfg(unix)]
fn signal() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Resolves at Ctrl-C.
#[cfg(not(unix))]
fn signal() -> std::io::Result<impl Future<Output = ()>> {
    let mut interrupt = tokio::signal::windows::ctrl_c()?;
    Ok(async move {
        interrupt.recv().await;
    })
}
