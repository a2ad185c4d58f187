//! WebSocket connections as in API Gateway: the gateway holds the connections and invokes a function for each route.

mod event;
mod management;
mod socket;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::routing::get;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::functions::Invocable;
use crate::template::{Function, Route, WebSocketApi};

/// In both directions.
const LONGEST_MESSAGE: usize = 128 * 1024;
/// The most messages that wait for a slow client. The next one is refused.
const WAITING: usize = 64;

pub struct WebSocketGateway {
    stage: String,
    functions: BTreeMap<Route, Invocable>,
    open: Mutex<HashMap<String, Open>>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

/// An open connection.
#[derive(Clone)]
struct Open {
    outbox: mpsc::Sender<Outgoing>,
    connected_at: jiff::Timestamp,
}

enum Outgoing {
    Message(String),
    Close,
}

impl WebSocketGateway {
    pub fn new(api: &WebSocketApi, functions: &[Invocable], stop: CancellationToken, tasks: TaskTracker) -> Self {
        let named = |name: &String| functions.iter().find(|function| function.name == *name).cloned();
        let functions = api.routes.iter().filter_map(|(route, name)| Some((*route, named(name)?))).collect();
        Self { stage: api.stage.clone(), functions, open: Mutex::default(), stop, tasks }
    }

    /// The route where clients connect, and the management API.
    pub fn routes(self) -> Router {
        let path = format!("/{}", self.stage);
        let one = get(management::show).post(management::send).delete(management::close);
        Router::new().route(&path, get(socket::open)).route("/@connections/{id}", one).with_state(Arc::new(self))
    }

    /// Invokes the function behind a route, if there is one.
    async fn invoke(&self, route: Route, event: Value) -> Option<Result<Value, String>> {
        Some(self.functions.get(&route)?.invoke(event).await)
    }

    fn open_sockets(&self) -> std::sync::MutexGuard<'_, HashMap<String, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The host's own URLs for clients and for the management API, for functions whose environment has them.
pub fn settings(function: &Function, api: Option<&WebSocketApi>, address: &str) -> BTreeMap<String, String> {
    let Some(api) = api else { return BTreeMap::new() };
    let own = [
        ("BELFRY_LIVE_URL", format!("ws://{address}/{}", api.stage)),
        ("BELFRY_LIVE_ENDPOINT_URL", format!("http://{address}")),
    ];
    let told = own.into_iter().filter(|(name, _)| function.environment.contains_key(*name));
    told.map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Value;

    #[test]
    fn a_function_is_told_the_hosts_own_urls_where_the_template_tells_it_any() {
        let template = crate::template::deployed::deployed(&[]);
        let mut function = template.functions[0].clone();
        let told = |function: &Function| settings(function, template.websocket_api.as_ref(), "127.0.0.1:7");
        function.environment = BTreeMap::new();
        assert_eq!(told(&function), BTreeMap::new());
        for (name, url) in
            [("BELFRY_LIVE_URL", "ws://127.0.0.1:7/live"), ("BELFRY_LIVE_ENDPOINT_URL", "http://127.0.0.1:7")]
        {
            function.environment = BTreeMap::from([(name.to_owned(), Value::default())]);
            assert_eq!(told(&function), BTreeMap::from([(name.to_owned(), url.to_owned())]));
        }
    }
}
