//! The idempotent command of others, to be broken in the same way.

use std::path::Path;

use futures_util::FutureExt;
use serde_json::Value;

use super::{Scene, UseCase};
use crate::contenders::{Contender, grant, tables};

/// A grant by Belfry, and by its peers.
pub fn grants() -> Vec<UseCase> {
    let mut grants = super::use_cases();
    grants.retain(|use_case| use_case.name == "grant");
    grants.extend(peers());
    grants
}

/// A grant by Powertools in both languages. What counts as an effect of theirs is the business write; each run of their
/// handler makes a new one, as in the example of their documentation.
pub fn peers() -> [UseCase; 2] {
    [Contender::Python, Contender::TypeScript].map(|contender| UseCase {
        name: "grant",
        function: contender.name(),
        prepare: |scene| prepared(scene).boxed(),
        leaves: &[("grants", 1)],
        unknown: None,
    })
}

/// Whether they are installed: `scripts/peers --install` does that.
pub fn are_peers_installed() -> bool {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/peers");
    ["python/bin/python", "typescript/dist/index.mjs"].iter().all(|part| installed.join(part).exists())
}

async fn prepared(scene: &Scene) -> Value {
    for table in tables() {
        scene.stack().ask_dynamodb("CreateTable", &table).await;
    }
    grant("ugo", "k")
}
