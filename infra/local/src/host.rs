//! The host: starts engines, functions, mappings and the gateway, and stops them again.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use axum::Router;
use axum::middleware;
use engine::{Engine, EngineError, Ports};
use providers::Providers;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::activity::Activity;
use crate::aws::{ACCOUNT, Clients, Endpoints, REGION};
use crate::console;
use crate::deliveries::Deliveries;
use crate::demo;
use crate::environments::Environments;
use crate::functions::{self, Invocable, NotStarted, Started};
use crate::gateway::{Gateway, authorize};
use crate::live_gateway::{self, LiveGateway};
use crate::local_routes::{self, Local};
use crate::mapping::{Checkpoints, Drained, OnFailure, QueuePoller, Scheduled, StreamPoller};
use crate::metrics::RecentMetrics;
use crate::outside::{self, Outside};
use crate::provision::{NotProvisioned, Provisioned, provision};
use crate::rights::{Door, UnresolvedRight, judge_stand_ins};
use crate::template::{Function, Template, TemplateError, UnresolvedVariable};

/// The template that is deployed, part of the binary: `cargo run` works from anywhere.
const TEMPLATE: &str = include_str!("../../template.yaml");

/// The stack's name by default. It is no deployed stack's default name: a function that reached AWS by mistake would find
/// none of these tables there.
pub const STACK: &str = "belfry-local";

/// How to start.
#[derive(Debug, Clone)]
pub struct Options {
    /// The port of the HTTP API; 0 lets the system choose.
    pub port: u16,
    /// The stack's name, which the names of tables and queues begin with.
    pub stack: String,
    /// Another template than the one that is deployed.
    pub template: Option<String>,
    /// Values of the template's parameters, in place of their defaults.
    pub parameters: BTreeMap<String, String>,
    /// Settings of the functions, in place of the template's and of their defaults.
    pub settings: BTreeMap<String, String>,
    /// Where DynamoDB and SQS are; without it, engines are started.
    pub endpoints: Option<Endpoints>,
    /// Fill in demo data.
    pub demo: bool,
    /// Nothing is polled and nothing is scheduled: functions are invoked by hand.
    pub by_hand: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            port: 3000,
            stack: STACK.to_owned(),
            template: None,
            parameters: BTreeMap::new(),
            settings: BTreeMap::new(),
            endpoints: None,
            demo: false,
            by_hand: false,
        }
    }
}

/// Why the host did not start.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// Somebody else listens there.
    #[error("port {port} is taken: stop what listens there, or choose another with --port")]
    PortTaken {
        /// The port.
        port: u16,
    },
    /// The port cannot be listened on for another reason.
    #[error("cannot listen on port {port}: {source}")]
    Listen {
        /// The port.
        port: u16,
        /// Why.
        source: io::Error,
    },
    /// The template cannot be read.
    #[error("template: {0}")]
    Template(#[from] TemplateError),
    /// A setting of a function refers to something that does not exist here.
    #[error("template: {0}")]
    Unresolved(#[from] UnresolvedVariable),
    /// A role of a function refers to something that does not exist here.
    #[error("template: {0}")]
    UnresolvedRight(#[from] UnresolvedRight),
    /// The engines did not start.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A table or queue could not be created.
    #[error(transparent)]
    NotProvisioned(#[from] NotProvisioned),
    /// The table of checkpoints could not be created.
    #[error("cannot create the table of checkpoints: {0}")]
    Checkpoints(String),
    /// A function did not start.
    #[error(transparent)]
    NotStarted(#[from] NotStarted),
    /// No function of the template answers HTTP.
    #[error("template: no function answers HTTP")]
    NoHttp,
    /// Demo data could not be filled in.
    #[error("demo data: {0}")]
    Demo(String),
}

/// A running stack.
#[derive(Debug)]
pub struct Host {
    url: String,
    endpoints: Endpoints,
    door: Door,
    engine: Option<Engine>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Host {
    /// Starts everything; when it returns, requests are served.
    pub async fn start(options: Options) -> Result<Self, HostError> {
        let listener = listen(options.port).await?;
        let bound = local_address(&listener, options.port)?;
        let address = bound.to_string();
        let url = format!("http://{address}");
        let template = read_template(&options)?;

        let (endpoints, engine) = match &options.endpoints {
            Some(endpoints) => (endpoints.clone(), None),
            None => {
                let engine = Engine::start(Ports::default()).await?;
                let endpoints =
                    Endpoints { dynamodb: engine.dynamodb_url().to_owned(), sqs: engine.sqs_url().to_owned() };
                (endpoints, Some(engine))
            }
        };
        let clients = Clients::new(&endpoints).await;
        let provisioned = provision(&template, &clients).await?;
        let checkpoints = match engine {
            Some(_) => Checkpoints::in_memory(),
            None => {
                let table = format!("{}-local-checkpoints", options.stack);
                Checkpoints::in_table(clients.dynamodb.clone(), table).await.map_err(HostError::Checkpoints)?
            }
        };
        let providers = Providers::new();
        let providers_listener = listen(0).await?;
        let providers_url = format!("http://{}", local_address(&providers_listener, 0)?);

        let door = Door::new(&template, &provisioned)?;
        let judged = door.http_client();
        let mut starting = Starting {
            provisioned,
            checkpoints,
            writes: engine.as_ref().map(Engine::writes),
            deliveries: Deliveries::default(),
            activity: Activity::default(),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            streams: Vec::new(),
            functions: Vec::new(),
        };
        let metrics = RecentMetrics::default();
        let outside = Outside::new(&url, &providers_url);
        let http = template.http.clone().ok_or(HostError::NoHttp)?;
        let mut api = None;
        let mut environments = Environments::new(&endpoints);
        for function in &template.functions {
            let mut settings = live_gateway::settings(function, template.sockets.as_ref(), &address);
            settings.extend(outside.settings(function));
            settings.extend(options.settings.clone());
            let environment =
                template.environment(function, &settings, |reference| starting.provisioned.locate(reference))?;
            environments.add(function, &environment);
            let own = clients.of_function(&function.logical_id, &endpoints, &judged);
            match functions::start(function, environment, &own, &starting.activity, &metrics)? {
                Started::Http(router) if function.logical_id == http.function => api = Some(router),
                Started::Http(_) => {}
                Started::Events(invocable) if options.by_hand => starting.functions.push(invocable),
                Started::Events(invocable) => starting.map(function, invocable, &own),
            }
        }
        let Starting { provisioned, deliveries, activity, stop, tasks, streams, functions, .. } = starting;
        let sockets = template.sockets.as_ref();
        let sockets = sockets.map(|api| LiveGateway::new(api, &functions, stop.clone(), tasks.clone()));
        let gateway = Gateway::new(http, activity.clone());
        let api = api.ok_or(HostError::NoHttp)?;
        let api = api.layer(middleware::from_fn_with_state(gateway.clone(), authorize));
        let local = Local {
            api: api.clone(),
            gateway,
            providers: providers.clone(),
            providers_url,
            endpoints: endpoints.clone(),
            clients,
            door: door.clone(),
            stack: options.stack.clone(),
            template,
            provisioned,
            deliveries,
            functions,
            environments,
            streams,
            activity,
            metrics,
        };
        let local = Arc::new(local);
        if options.demo {
            demo::fill(api.clone(), &local.gateway).await.map_err(HostError::Demo)?;
        }
        let routes = console::routes(bound)
            .merge(local_routes::routes(Arc::clone(&local)))
            .merge(sockets.map_or_else(Router::new, LiveGateway::routes))
            .fallback_service(api);
        let stand_ins = providers.router().layer(middleware::from_fn_with_state(door.clone(), judge_stand_ins));
        let stand_ins = axum::serve(providers_listener, stand_ins);
        tasks.spawn(stand_ins.with_graceful_shutdown(stop.clone().cancelled_owned()).into_future());
        tasks.spawn(axum::serve(listener, routes).with_graceful_shutdown(stop.clone().cancelled_owned()).into_future());
        Ok(Self { url, endpoints, door, engine, stop, tasks })
    }

    /// Where the HTTP API answers.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where DynamoDB and SQS answer.
    pub fn endpoints(&self) -> &Endpoints {
        &self.endpoints
    }

    /// What judges the functions' calls.
    pub fn door(&self) -> &Door {
        &self.door
    }

    /// Stops everything: no new work, what is under way ends, then the engines go.
    pub async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        if let Some(engine) = self.engine {
            engine.stop().await;
        }
    }
}

/// What the mappings are started with.
struct Starting {
    provisioned: Provisioned,
    checkpoints: Checkpoints,
    writes: Option<watch::Receiver<u64>>,
    deliveries: Deliveries,
    activity: Activity,
    stop: CancellationToken,
    tasks: TaskTracker,
    streams: Vec<Drained>,
    functions: Vec<Invocable>,
}

impl Starting {
    /// Starts the mappings and schedules of a function. What a mapping does, it does with the rights of its function.
    fn map(&mut self, function: &Function, invocable: Invocable, clients: &Clients) {
        for mapping in &function.streams {
            let drained = Drained::default();
            let on_failure = mapping.on_failure.as_ref().map(|queue| OnFailure {
                sqs: clients.sqs.clone(),
                queue_url: self.provisioned.queue_url(queue).to_owned(),
            });
            let poller = StreamPoller {
                mapping: mapping.clone(),
                stream_arn: self.provisioned.stream_arn(&mapping.table).to_owned(),
                function: invocable.clone(),
                on_failure,
                clients: clients.clone(),
                checkpoints: self.checkpoints.clone(),
                deliveries: self.deliveries.clone(),
                writes: self.writes.clone(),
                drained: drained.clone(),
            };
            self.tasks.spawn(poller.run(self.stop.clone()));
            self.streams.push(drained);
        }
        for mapping in &function.queues {
            let poller = QueuePoller {
                mapping: mapping.clone(),
                queue_url: self.provisioned.queue_url(&mapping.queue).to_owned(),
                queue_arn: self.provisioned.queue_arn(&mapping.queue).to_owned(),
                function: invocable.clone(),
                clients: clients.clone(),
                deliveries: self.deliveries.clone(),
            };
            self.tasks.spawn(poller.run(self.stop.clone()));
        }
        for mapping in &function.schedules {
            let scheduled = Scheduled { mapping: mapping.clone(), function: invocable.clone() };
            self.tasks.spawn(scheduled.run(self.stop.clone()));
        }
        self.functions.push(invocable);
    }
}

fn read_template(options: &Options) -> Result<Template, TemplateError> {
    let mut parameters = options.parameters.clone();
    for (name, value) in [
        ("AWS::StackName", options.stack.as_str()),
        ("AWS::Region", REGION),
        ("AWS::AccountId", ACCOUNT),
        ("AWS::Partition", "aws"),
    ] {
        parameters.insert(name.to_owned(), value.to_owned());
    }
    let template = options.template.as_deref().unwrap_or(TEMPLATE);
    for (name, value) in outside::PARAMETERS {
        // A template of somebody's own need not have it.
        if template.contains(&format!("\n  {name}:\n")) {
            parameters.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        }
    }
    Template::parse(template, &parameters)
}

async fn listen(port: u16) -> Result<TcpListener, HostError> {
    TcpListener::bind(("127.0.0.1", port)).await.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => HostError::PortTaken { port },
        _ => HostError::Listen { port, source },
    })
}

fn local_address(listener: &TcpListener, port: u16) -> Result<std::net::SocketAddr, HostError> {
    listener.local_addr().map_err(|source| HostError::Listen { port, source })
}
