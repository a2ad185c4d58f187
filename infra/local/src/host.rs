//! Starts engines, functions, mappings and the gateway, and stops them again.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{self, Next};
use engine::{Engine, Ports};
use providers::Providers;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use crate::activity::Activity;
use crate::aws::{Clients, Endpoints};
use crate::console;
use crate::containers::answer_containers;
use crate::deliveries::Deliveries;
use crate::demo;
use crate::environments::Environments;
use crate::error::HostError;
use crate::functions::{self, Invocable, Started};
use crate::gateway::{Gateway, authorize};
use crate::http_event;
use crate::iam::{IamGate, authorize_provider_calls};
use crate::local_routes::{self, Local};
use crate::mapping::{Checkpoints, Mappings};
use crate::metrics::RecentMetrics;
use crate::options::Options;
use crate::provider_settings::{self, ProviderSettings};
use crate::provision::{create_queues, create_tables};
use crate::start_lambda::StartLambda;
use crate::websocket_gateway::{self, WebSocketGateway};

/// The log target of the start: a line for each step.
pub const START: &str = "belfry::start";

/// A running stack.
#[derive(Debug)]
pub struct Host {
    url: String,
    endpoints: Endpoints,
    iam: IamGate,
    engine: Option<Engine>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Host {
    /// Starts everything. The API answers when this returns.
    pub async fn start(options: Options) -> Result<Self, HostError> {
        let mut step = Step(Instant::now());
        let also: Vec<IpAddr> = options.containers.iter().map(|containers| containers.address).collect();
        let (bound, listeners) = listen(options.port, &also)?;
        let address = bound.to_string();
        let url = format!("http://{address}");
        let template = options.read_template()?;
        let http_api = template.http.clone().ok_or(HostError::NoHttpApi)?;

        let (endpoints, engine) = match &options.endpoints {
            Some(endpoints) => (endpoints.clone(), None),
            None => {
                let engine = Engine::start_at(Ports::default(), &also).await?;
                let (dynamodb, sqs) = (engine.dynamodb_url().to_owned(), engine.sqs_url().to_owned());
                (Endpoints { dynamodb, sqs }, Some(engine))
            }
        };
        let (dynamodb, sqs) = (&endpoints.dynamodb, &endpoints.sqs);
        tracing::info!(target: START, dynamodb, sqs, ms = step.done(), "engines ready");

        let clients = Clients::new(&endpoints);
        let mut provisioned = create_tables(&template, &clients).await?;
        let checkpoints = match engine {
            Some(_) => Checkpoints::in_memory(),
            None => {
                let table = format!("{}-local-checkpoints", options.stack);
                Checkpoints::in_table(clients.dynamodb.clone(), table).await.map_err(HostError::Checkpoints)?
            }
        };
        tracing::info!(target: START, tables = template.tables.len(), ms = step.done(), "tables ready");
        create_queues(&template, &clients, &mut provisioned).await?;
        tracing::info!(target: START, queues = template.queues.len(), ms = step.done(), "queues ready");

        let providers = Providers::new();
        let (providers_address, providers_listeners) = listen(0, &also)?;
        let providers_url = format!("http://{providers_address}");
        // Access tokens come from the same place as FCM.
        let fcm = options.settings.get("BELFRY_FCM_URL").filter(|url| !url.is_empty());
        provider_settings::create_secrets(&providers, &options.stack, fcm.unwrap_or(&providers_url));
        provisioned.secret_arns = provider_settings::created_secrets(&options.stack);

        let iam = IamGate::new(&template, &provisioned)?;
        let (stop, tasks, activity) = (CancellationToken::new(), TaskTracker::new(), Activity::default());
        let (metrics, deliveries) = (RecentMetrics::default(), Deliveries::default());
        let mut mappings = Mappings {
            provisioned: &provisioned,
            checkpoints,
            writes: engine.as_ref().map(Engine::writes),
            deliveries: deliveries.clone(),
            stop: stop.clone(),
            tasks: tasks.clone(),
            streams: Vec::new(),
        };
        let http_client = iam.http_client();
        let provider_settings = ProviderSettings::new(&url, &providers_url);
        let lambda = options.lambda.as_deref().map(|url| StartLambda::new(url, stop.clone()));
        let mut environments = Environments::new(&endpoints, &providers_url);
        let (mut api, mut functions) = (None, Vec::new());
        for function in &template.functions {
            let mut settings = websocket_gateway::settings(function, template.websocket_api.as_ref(), &address);
            settings.extend(provider_settings.of_function(function));
            settings.extend(options.settings.clone());
            let environment = template.environment(function, &settings, |reference| provisioned.locate(reference))?;
            environments.add(function, &environment);
            let own = clients.of_function(&function.logical_id, &endpoints, &providers_url, &http_client);
            let started = match &lambda {
                None => functions::start(function, environment, &own, &activity, &metrics)?,
                Some(lambda) => {
                    let invocable = functions::in_container(function, lambda, &activity);
                    if function.logical_id == http_api.function {
                        Started::Http(http_event::routes(invocable.clone()), invocable)
                    } else {
                        Started::Events(invocable)
                    }
                }
            };
            let invocable = match started {
                Started::Http(router, invocable) => {
                    if function.logical_id == http_api.function {
                        api = Some(named(router, &invocable));
                    }
                    invocable
                }
                Started::Events(invocable) => {
                    if !options.by_hand {
                        mappings.start(function, &invocable, &own);
                    }
                    invocable
                }
            };
            functions.push(invocable);
        }
        let streams = mappings.streams;
        if let Some(containers) = &options.containers {
            let written = containers.write(&environments.in_containers(&template.functions));
            let path = containers.environment.clone();
            written.map_err(|source| HostError::Environment { path, source })?;
        }
        tracing::info!(target: START, functions = functions.len(), ms = step.done(), "functions ready");

        let websockets = template.websocket_api.as_ref();
        let websockets = websockets.map(|api| WebSocketGateway::new(api, &functions, stop.clone(), tasks.clone()));
        let gateway = Gateway::new(http_api, activity.clone());
        let api = api.ok_or(HostError::NoHttpApi)?;
        let api = api.layer(middleware::from_fn_with_state(gateway.clone(), authorize));
        let local = Arc::new(Local {
            api: api.clone(),
            gateway,
            providers: providers.clone(),
            providers_url,
            endpoints: endpoints.clone(),
            clients,
            iam: iam.clone(),
            stack: options.stack.clone(),
            template,
            provisioned,
            deliveries,
            functions,
            environments,
            streams,
            activity,
            metrics,
        });
        if options.demo {
            demo::fill(api.clone(), &local.gateway).await.map_err(HostError::Demo)?;
            tracing::info!(target: START, ms = step.done(), "demo data ready");
        }
        let routes = console::routes(bound)
            .merge(local_routes::routes(local))
            .merge(websockets.map_or_else(Router::new, WebSocketGateway::routes))
            .fallback_service(api);
        let providers = providers.router().layer(middleware::from_fn_with_state(iam.clone(), authorize_provider_calls));
        let providers = providers.layer(middleware::from_fn(answer_containers));
        for (listeners, routes) in [(providers_listeners, providers), (listeners, routes)] {
            for listener in listeners {
                let served = axum::serve(listener, routes.clone());
                tasks.spawn(served.with_graceful_shutdown(stop.clone().cancelled_owned()).into_future());
            }
        }
        tracing::info!(target: START, url = format!("{url}/"), ms = step.done(), "console ready");
        Ok(Self { url, endpoints, iam, engine, stop, tasks })
    }

    /// The URL of the HTTP API.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where DynamoDB and SQS answer.
    pub fn endpoints(&self) -> &Endpoints {
        &self.endpoints
    }

    /// What checks the functions' calls against their roles.
    pub fn iam(&self) -> &IamGate {
        &self.iam
    }

    /// Starts nothing new, waits for what is running, then stops the engines.
    pub async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        if let Some(engine) = self.engine {
            engine.stop().await;
        }
    }
}

/// A step of the start.
struct Step(Instant);

impl Step {
    /// How long the step took, in milliseconds. The next one begins.
    fn done(&mut self) -> u64 {
        let began = std::mem::replace(&mut self.0, Instant::now());
        u64::try_from(self.0.duration_since(began).as_millis()).unwrap_or(u64::MAX)
    }
}

/// The routes of a function whose log lines name it.
fn named(router: Router, function: &Invocable) -> Router {
    let name = function.name.clone();
    router.layer(middleware::from_fn(move |request: Request, next: Next| {
        let span = functions::span(&name);
        async move { next.run(request).instrument(span).await }
    }))
}

/// Listens on one port of the loopback address and of the other addresses. The loopback comes first.
fn listen(port: u16, also: &[IpAddr]) -> Result<(SocketAddr, Vec<TcpListener>), HostError> {
    let listening = || {
        let listeners = engine::listen(port, also)?;
        let loopback = listeners.first().ok_or(io::ErrorKind::AddrNotAvailable)?.local_addr()?;
        let listeners = listeners.into_iter().map(TcpListener::from_std).collect::<io::Result<_>>()?;
        Ok((loopback, listeners))
    };
    listening().map_err(|source: io::Error| match (source.kind(), also) {
        (io::ErrorKind::AddrInUse, _) => HostError::PortTaken { port },
        (io::ErrorKind::AddrNotAvailable, [address, ..]) => HostError::AddressNotLocal { address: *address, source },
        _ => HostError::Listen { port, source },
    })
}
