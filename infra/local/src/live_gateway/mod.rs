//! Live sockets, as API Gateway's WebSocket API has them: it holds the sockets, and a function is told of them.

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
use crate::template::{Function, Route, SocketApi};

/// A message may have this many bytes, either way.
const LONGEST_MESSAGE: usize = 128 * 1024;
/// So many messages wait for a client that does not read; the next is refused.
const WAITING: usize = 64;

/// The sockets, and the functions behind their routes.
pub struct LiveGateway {
    stage: String,
    functions: BTreeMap<Route, Invocable>,
    open: Mutex<HashMap<String, Open>>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

/// A socket that messages can be sent to.
#[derive(Clone)]
struct Open {
    outbox: mpsc::Sender<Outgoing>,
    connected_at: jiff::Timestamp,
}

enum Outgoing {
    Message(String),
    Close,
}

impl LiveGateway {
    /// The API's stage and routes; `functions` are those that have started.
    pub fn new(api: &SocketApi, functions: &[Invocable], stop: CancellationToken, tasks: TaskTracker) -> Self {
        let named = |name: &String| functions.iter().find(|function| function.name == *name).cloned();
        let functions = api.routes.iter().filter_map(|(route, name)| Some((*route, named(name)?))).collect();
        Self { stage: api.stage.clone(), functions, open: Mutex::default(), stop, tasks }
    }

    /// Where sockets are opened, and where functions send to them.
    pub fn routes(self) -> Router {
        let path = format!("/{}", self.stage);
        let one = get(management::show).post(management::send).delete(management::close);
        Router::new().route(&path, get(socket::open)).route("/@connections/{id}", one).with_state(Arc::new(self))
    }

    /// Invokes the function behind a route; `None` where there is none.
    async fn invoke(&self, route: Route, event: Value) -> Option<Result<Value, String>> {
        Some(self.functions.get(&route)?.invoke(event).await)
    }

    fn open_sockets(&self) -> std::sync::MutexGuard<'_, HashMap<String, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What this host says in place of the template, to those functions that the template tells it: where sockets are opened,
/// and where API Gateway's management API answers.
pub fn settings(function: &Function, api: Option<&SocketApi>, address: &str) -> BTreeMap<String, String> {
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
    use crate::template::{Template, Value};

    #[test]
    fn a_function_is_told_the_hosts_own_urls_where_the_template_tells_it_any() {
        let pseudo = [
            ("AWS::StackName", "stack"),
            ("AWS::Region", "us-east-1"),
            ("AWS::AccountId", "000000000000"),
            ("AWS::Partition", "aws"),
            ("AWS::URLSuffix", "amazonaws.com"),
        ];
        let said = pseudo.into_iter().chain(crate::outside::PARAMETERS);
        let said = said.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let template = Template::parse(include_str!("../../../template.yaml"), &said).expect("a template");
        let mut function = template.functions[0].clone();
        let told = |function: &Function| settings(function, template.sockets.as_ref(), "127.0.0.1:7");
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
