//! The main function of a Lambda.

use aws_types::SdkConfig;
use belfry_core::{Settings, Table, dead_letter};
use lambda_runtime::{Diagnostic, LambdaEvent};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::config::Config;
pub use crate::consumer::deadline;
use crate::{Belfry, Builder, Metrics, clients, log, tables};

/// What a function has when it starts: its settings, AWS clients and metrics. All mistakes in the settings are reported
/// together before the first event.
#[derive(Debug)]
pub struct Start {
    /// The settings. The application reads its own from here.
    pub settings: Settings,
    /// The configuration of AWS clients.
    pub aws: SdkConfig,
    /// Where metrics go.
    pub metrics: Metrics,
    dynamodb: aws_sdk_dynamodb::Client,
    sqs: aws_sdk_sqs::Client,
}

impl Start {
    /// From the environment of the process.
    pub fn from_env() -> Self {
        let mut settings = Settings::from_env();
        log::json(&mut settings, "info", std::io::stdout);
        let aws = clients::aws(&mut settings);
        let metrics = Metrics::read(&settings);
        let (dynamodb, sqs) = (clients::dynamodb(&aws), aws_sdk_sqs::Client::new(&aws));
        Self { settings, aws, metrics, dynamodb, sqs }
    }

    /// From given parts, for hosts that run functions in their own process.
    pub fn with(
        settings: Settings,
        aws: SdkConfig,
        dynamodb: aws_sdk_dynamodb::Client,
        sqs: aws_sdk_sqs::Client,
        metrics: Metrics,
    ) -> Self {
        Self { settings, aws, metrics, dynamodb, sqs }
    }

    /// Reads the kernel's settings, and reports each of these tables that has no name.
    pub fn config(&mut self, tables: impl IntoIterator<Item = Table>) -> Config {
        let config = Config::read(&mut self.settings);
        config.require_tables(&mut self.settings, tables);
        config
    }

    /// Takes a part of the function that may fail to load, and reports the failure as a mistake.
    pub fn accept<T, E: std::fmt::Display>(&mut self, part: Result<T, E>) -> Option<T> {
        part.map_err(|problem| self.settings.mistake(belfry_core::BadSetting::new(problem.to_string()))).ok()
    }

    /// Builds the kernel with the function's clients and metrics.
    pub fn build(&self, builder: Builder) -> Belfry {
        builder.metrics(self.metrics.clone()).build(self.dynamodb.clone(), self.sqs.clone())
    }

    /// The DynamoDB client.
    pub fn dynamodb(&self) -> &aws_sdk_dynamodb::Client {
        &self.dynamodb
    }

    /// The SQS client.
    pub fn sqs(&self) -> &aws_sdk_sqs::Client {
        &self.sqs
    }

    /// Reports all mistakes in the settings.
    pub fn finish(self) -> Result<(), belfry_core::BadSettings> {
        self.settings.finish()
    }
}

/// Runs a function that answers events, such as a consumer, the relay or a sweeper. Use it as the whole of `main`:
///
/// ```no_run
/// # use belfry_aws::{Effect, Belfry, Delivery, Event, consumer, lambda, tables};
/// fn main() -> Result<(), lambda::Error> {
///     lambda::run(|start| {
///         let config = start.config(tables::OF_CONSUMERS);
///         let belfry = start.build(Belfry::builder(config));
///         consumer(&belfry, "reminders", async |delivery: Delivery<Event>| Ok(Effect::commit(delivery.commit())))
///     })
/// }
/// ```
///
/// # Errors
/// If a setting is missing or wrong; the error names all of them.
pub fn run<S, E, R>(build: impl FnOnce(&mut Start) -> S) -> Result<(), Error>
where
    S: tower::Service<LambdaEvent<E>, Response = R>,
    S::Future: Send,
    S::Error: Into<Diagnostic> + std::fmt::Debug,
    E: DeserializeOwned,
    R: Serialize,
{
    block_on(async {
        let mut start = Start::from_env();
        let function = build(&mut start);
        start.finish()?;
        lambda_runtime::run(function).await
    })
}

/// The whole `main` of the relay. It needs no routes, because every entry names its destinations.
///
/// # Errors
/// If a setting is missing or wrong.
pub fn run_relay() -> Result<(), Error> {
    run(|start| {
        let config = start.config([tables::EVENTS]);
        crate::relay(&start.build(Belfry::builder(config)))
    })
}

/// The whole `main` of the sweeper.
///
/// # Errors
/// If a setting is missing or wrong.
pub fn run_sweeper() -> Result<(), Error> {
    run(|start| {
        let config = start.config([tables::EVENTS]);
        crate::sweeper(&start.build(Belfry::builder(config)))
    })
}

/// The whole `main` of the function for dead letters, which records them and carries out redrives. The URLs of all
/// consumers' queues must be configured.
///
/// # Errors
/// If a setting is missing or wrong.
pub fn run_dead_letters() -> Result<(), Error> {
    run(|start| {
        let config = start.config([tables::EVENTS].into_iter().chain(tables::OF_CONSUMERS));
        config.require_queues(&mut start.settings, [crate::dead_letters::REDRIVES]);
        let redrives = |event: &belfry_core::Event| match event.event_type.as_str() {
            dead_letter::REDRIVEN | dead_letter::REDRIVE_REQUESTED => vec![crate::dead_letters::REDRIVES.into()],
            _ => Vec::new(),
        };
        crate::dead_letters(&start.build(Belfry::builder(config).routes(redrives)))
    })
}

/// Why a function ended.
pub type Error = lambda_runtime::Error;

/// Runs a future on a runtime of one thread: a Lambda environment handles one event at a time.
pub fn block_on<T>(future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(future)
}
