//! `belfry`: the whole stack on a laptop, and the check of any stack's tables.

mod verify_command;

use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use engine::{Engine, Ports};
use local::{Containers, Endpoints, Host, Options};
use runtime::Settings;

/// Belfry on a laptop: every function, every mapping, on embedded engines. No Docker, no account.
#[derive(Debug, Parser)]
#[command(name = "belfry", version)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// The port of the HTTP API.
    #[arg(long, default_value_t = 3000)]
    port: u16,
    /// Fill in demo data: recipients of all four kinds, stock and a few events.
    #[arg(long)]
    demo: bool,
    /// The stack's name, which the names of tables and queues begin with.
    #[arg(long, default_value = local::STACK)]
    stack: String,
    /// Another template than the one that is deployed.
    #[arg(long)]
    template: Option<PathBuf>,
    /// Poll no stream and no queue and run no schedule: functions are invoked by hand, for example with `cargo lambda
    /// invoke` in an environment that `/local/environment` tells.
    #[arg(long)]
    by_hand: bool,
    /// Let containers of this machine reach the host, the engines and the stand-ins, and write what their functions need to
    /// target/environment.json, for `sam local invoke --env-vars`.
    #[arg(long, global = true)]
    containers: bool,
    /// The address at which containers reach this machine, where it is not that of Docker's default bridge; as --containers.
    #[arg(long, global = true, value_name = "ADDRESS")]
    containers_address: Option<IpAddr>,
    /// Invoke the functions in `sam local start-lambda`, which answers here (http://127.0.0.1:3001), instead of running them
    /// in this process; as --containers. Roles are not enforced: containers sign with the caller's own keys.
    #[arg(long, value_name = "URL", conflicts_with = "demo", value_parser = start_lambda)]
    lambda: Option<String>,
}

/// A URL to which the path of an invocation can be added.
fn start_lambda(text: &str) -> Result<String, String> {
    match text.parse::<provider_http::Url>() {
        Ok(url) if url.scheme() == "http" && url.path() == "/" && url.query().is_none() => Ok(text.to_owned()),
        _ => Err("must be a URL such as http://127.0.0.1:3001".to_owned()),
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The engines alone, for hosts that come and go while the data stays.
    Engine {
        /// The port of DynamoDB; any free one by default.
        #[arg(long, default_value_t = 0)]
        dynamodb_port: u16,
        /// The port of SQS; any free one by default.
        #[arg(long, default_value_t = 0)]
        sqs_port: u16,
    },
    /// Checks what must hold on live tables, here or in an account, and says what is wrong. It only reads.
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
    // Standard output has one line, the ready line; the log goes beside it.
    runtime::log_as_json(&Settings::from_env(), "warn", std::io::stderr)?;
    let asked_to_stop = signal()?;
    let is_for_containers =
        arguments.containers || arguments.containers_address.is_some() || arguments.lambda.is_some();
    let containers = is_for_containers.then(|| Containers::find(arguments.containers_address)).transpose()?;
    if let Some(Command::Engine { dynamodb_port, sqs_port }) = arguments.command {
        let also: Vec<IpAddr> = containers.iter().map(|containers| containers.address).collect();
        let engine = Engine::start_at(Ports { dynamodb: dynamodb_port, sqs: sqs_port }, &also).await?;
        println!(
            "belfry engine ready AWS_ENDPOINT_URL_DYNAMODB={} AWS_ENDPOINT_URL_SQS={}",
            engine.dynamodb_url(),
            engine.sqs_url()
        );
        asked_to_stop.await;
        engine.stop().await;
        return Ok(());
    }
    let template = match &arguments.template {
        Some(path) => Some(std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?),
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
    println!("belfry ready on {}", host.url());
    if let Some(Containers { address, environment }) = containers {
        eprintln!("belfry: containers reach this machine at {address}; their functions need {}", environment.display());
    }
    asked_to_stop.await;
    host.stop().await;
    Ok(())
}

/// Resolves at Ctrl-C or SIGTERM. The handlers are in place when this returns, before anything is started: a signal
/// that comes right after the ready line must not find the default, which ends the process on the spot.
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
