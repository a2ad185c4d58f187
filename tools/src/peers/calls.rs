//! How many calls a command makes to DynamoDB: counted by a proxy, untimed.

use crate::contenders::{Contender, changed, grant};
use harness::Proxy;
use serde_json::Value;

use super::stage::{NotGranted, Stage, granted, until_granted};

/// Calls of one contender for one kind of command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calls {
    pub contender: Contender,
    /// Whether it changes what is there, or creates.
    pub changes: bool,
    pub first: usize,
    pub replay: usize,
    pub conflict: usize,
}

/// Counts them.
pub async fn count() -> Vec<Calls> {
    let mut all = Vec::new();
    for contender in [Contender::Belfry, Contender::Python, Contender::TypeScript] {
        all.push(until_granted(async || counted(contender, "/v1/entitlements/grants").await).await);
    }
    all.push(until_granted(async || counted(Contender::Belfry, "/v1/entitlements/revokes").await).await);
    all
}

async fn counted(contender: Contender, path: &str) -> Result<Calls, NotGranted> {
    let stage = Stage::set().await;
    let proxy = Proxy::start(&stage.engine.dynamodb).await;
    let stage = stage.behind(proxy.url());
    let mut process = stage.enter(contender).await;
    // The first call of a process may look for more than later ones; and a revoke needs something to revoke.
    granted(contender, process.invoke(grant("ugo", "before")).await)?;
    let is_grant = path.ends_with("/grants");
    let user = if is_grant { "uma" } else { "ugo" };
    let mut calls = async |event: Value| {
        proxy.take_recorded();
        let outcome = process.invoke(event).await;
        (proxy.take_recorded().len(), outcome)
    };
    let (first, outcome) = calls(changed(path, user, "k")).await;
    granted(contender, outcome)?;
    let (replay, outcome) = calls(changed(path, user, "k")).await;
    granted(contender, outcome)?;
    let (conflict, _) = calls(changed(path, "somebody-else", "k")).await;
    Ok(Calls { contender, changes: !is_grant, first, replay, conflict })
}
