//! The host: starts engines, functions, mappings and the gateway, and stops them again.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
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
use crate::containers::{Containers, answer_containers};
use crate::deliveries::Deliveries;
use crate::demo;
use crate::environments::Environments;
use crate::functions::{self, Invocable, NotStarted, Started};
use crate::gateway::{Gateway, authorize};
use crate::http_event;
use crate::live_gateway::{self, LiveGateway};
use crate::local_routes::{self, Local};
use crate::mapping::{Checkpoints, Drained, OnFailure, QueuePoller, Scheduled, StreamPoller};
use crate::metrics::RecentMetrics;
use crate::outside::{self, Outside};
use crate::provision::{NotProvisioned, Provisioned, provision};
use crate::rights::{Door, UnresolvedRight, judge_stand_ins};
use crate::start_lambda::StartLambda;
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
    /// Containers of this machine reach everything as well, and their functions are told where.
    pub containers: Option<Containers>,
    /// Where `sam local start-lambda` answers; without it, functions run in this process.
    pub lambda: Option<String>,
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
            containers: None,
            lambda: None,
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
    /// The address that containers are to reach is not one of this machine.
    #[error("cannot listen on {address}, where containers are to reach this machine: {source}")]
    NotOurs {
        /// The address.
        address: IpAddr,
        /// Why.
        source: io::Error,
    },
    /// The functions' environments cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Environment {
        /// The file.
        path: PathBuf,
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
    #[error("template.yaml defines no HTTP API function")]
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
        let also: Vec<IpAddr> = options.containers.iter().map(|containers| containers.address).collect();
        let (bound, listeners) = listen(options.port, &also)?;
        let address = bound.to_string();
        let url = format!("http://{address}");
        let template = read_template(&options)?;

        let (endpoints, engine) = match &options.endpoints {
            Some(endpoints) => (endpoints.clone(), None),
            None => {
                let engine = Engine::start_at(Ports::default(), &also).await?;
                let endpoints =
                    Endpoints { dynamodb: engine.dynamodb_url().to_owned(), sqs: engine.sqs_url().to_owned() };
                (endpoints, Some(engine))
            }
        };
        let clients = Clients::new(&endpoints);
        let provisioned = provision(&template, &clients).await?.with_secrets(outside::created_secrets(&options.stack));
        let checkpoints = match engine {
            Some(_) => Checkpoints::in_memory(),
            None => {
                let table = format!("{}-local-checkpoints", options.stack);
                Checkpoints::in_table(clients.dynamodb.clone(), table).await.map_err(HostError::Checkpoints)?
            }
        };
        let providers = Providers::new();
        let (providers_address, providers_listeners) = listen(0, &also)?;
        let providers_url = format!("http://{providers_address}");
        // Whoever has another FCM has its access tokens from there.
        let fcm = options.settings.get("BELFRY_FCM_URL").filter(|url| !url.is_empty());
        outside::create_secrets(&providers, &options.stack, fcm.unwrap_or(&providers_url));

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
        let lambda = options.lambda.as_deref().map(|url| StartLambda::new(url, starting.stop.clone()));
        let mut api = None;
        let mut environments = Environments::new(&endpoints, &providers_url);
        for function in &template.functions {
            let mut settings = live_gateway::settings(function, template.sockets.as_ref(), &address);
            settings.extend(outside.settings(function));
            settings.extend(options.settings.clone());
            let environment =
                template.environment(function, &settings, |reference| starting.provisioned.locate(reference))?;
            environments.add(function, &environment);
            let own = clients.of_function(&function.logical_id, &endpoints, &providers_url, &judged);
            let started = match &lambda {
                None => functions::start(function, environment, &own, &starting.activity, &metrics)?,
                Some(lambda) => {
                    let invocable = functions::in_container(function, lambda, &starting.activity);
                    if function.logical_id == http.function {
                        Started::Http(http_event::routes(invocable.clone()), invocable)
                    } else {
                        Started::Events(invocable)
                    }
                }
            };
            match started {
                Started::Http(router, invocable) => {
                    starting.functions.push(invocable);
                    if function.logical_id == http.function {
                        api = Some(router);
                    }
                }
                Started::Events(invocable) if options.by_hand => starting.functions.push(invocable),
                Started::Events(invocable) => starting.map(function, invocable, &own),
            }
        }
        if let Some(containers) = &options.containers {
            let written = containers.write(&environments.in_containers(&template.functions));
            let path = containers.environment.clone();
            written.map_err(|source| HostError::Environment { path, source })?;
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
        let stand_ins = stand_ins.layer(middleware::from_fn(answer_containers));
        for (listeners, routes) in [(providers_listeners, stand_ins), (listeners, routes)] {
            for listener in listeners {
                let served = axum::serve(listener, routes.clone());
                tasks.spawn(served.with_graceful_shutdown(stop.clone().cancelled_owned()).into_future());
            }
        }
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
        ("AWS::URLSuffix", "amazonaws.com"),
    ] {
        parameters.insert(name.to_owned(), value.to_owned());
    }
    let template = options.template.as_deref().unwrap_or(TEMPLATE);
    for (name, value) in outside::parameters(&options.stack) {
        // A template of somebody's own need not have it.
        if template.contains(&format!("\n  {name}:\n")) {
            parameters.entry(name).or_insert(value);
        }
    }
    Template::parse(template, &parameters)
}

/// Listens on one port of the loopback and of the other addresses. The first one is the loopback's.
fn listen(port: u16, also: &[IpAddr]) -> Result<(SocketAddr, Vec<TcpListener>), HostError> {
    let listening = || {
        let listeners = engine::listen(port, also)?;
        let loopback = listeners.first().ok_or(io::ErrorKind::AddrNotAvailable)?.local_addr()?;
        let listeners = listeners.into_iter().map(TcpListener::from_std).collect::<io::Result<_>>()?;
        Ok((loopback, listeners))
    };
    listening().map_err(|source: io::Error| match (source.kind(), also) {
        (io::ErrorKind::AddrInUse, _) => HostError::PortTaken { port },
        (io::ErrorKind::AddrNotAvailable, [address, ..]) => HostError::NotOurs { address: *address, source },
        _ => HostError::Listen { port, source },
    })
}

#[cfg(test)]
mod tests {
    use super::STACK;

    #[test]
    fn no_stack_is_deployed_under_the_local_stacks_name() {
        let configuration: toml::Table = include_str!("../../../samconfig.toml").parse().expect("TOML");
        let deploys = configuration.values().filter_map(|environment| environment.get("deploy")?.get("parameters"));
        let names: Vec<&str> = deploys.filter_map(|parameters| parameters.get("stack_name")?.as_str()).collect();
        assert!(!names.is_empty() && !names.contains(&STACK), "{names:?}");
    }
}
