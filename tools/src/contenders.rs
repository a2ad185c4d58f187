//! Those who grant, to be compared: Belfry's own function, the same write bare, and Powertools for AWS Lambda in two
//! languages. Each is a process that asks a Runtime API for work, as in Lambda.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use harness::lambda::{Program, binaries};
use serde_json::{Value, json};

use crate::breakage::Request;

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Contender {
    /// The release binary of `functions/api`.
    Belfry,
    /// `tests/peers/bare`: the same three items in one transaction, and nothing else, built for speed.
    Bare,
    /// `tests/peers/python`: `@idempotent` and one write, run by AWS's own runtime client.
    Python,
    /// `tests/peers/typescript`: `makeIdempotent` and one write, bundled by esbuild.
    TypeScript,
}

/// Tables that Powertools needs beside Belfry's, without the stack's name, and their keys.
const TABLES: [(&str, &str); 2] = [("powertools", "id"), ("grants", "grant_id")];

impl Contender {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Belfry, Self::Bare, Self::Python, Self::TypeScript];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Belfry => "Belfry",
            Self::Bare => "bare handler",
            Self::Python => "Powertools, Python",
            Self::TypeScript => "Powertools, TypeScript",
        }
    }

    /// The contender of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|contender| contender.name() == name)
    }

    /// What Lambda would run, with the environment of `ApiFunction`.
    pub fn program(self, environment: &BTreeMap<String, String>) -> Program {
        let ours = || binaries().get("api").expect("the functions are built").clone();
        let mut program = match self {
            Self::Belfry => Program::new(&ours(), environment),
            Self::Bare => Program::new(&put("peers/bare/release/bare"), environment),
            Self::Python => Program::new(&put("peers/python/bin/python"), environment),
            Self::TypeScript => Program::new(&put("peers/typescript/node"), environment),
        };
        program.arguments = match self {
            Self::Belfry | Self::Bare => Vec::new(),
            Self::Python => ["-m", "awslambdaric", "app.handler"].map(str::to_owned).into(),
            Self::TypeScript => vec![put("peers/typescript/dist/index.mjs").display().to_string()],
        };
        let region = environment.get("AWS_REGION").cloned().unwrap_or_default();
        let more = match self {
            Self::Belfry | Self::Bare => Vec::new(),
            Self::Python | Self::TypeScript => vec![
                ("AWS_DEFAULT_REGION", region),
                ("POWERTOOLS_TABLE", "belfry-powertools".to_owned()),
                ("GRANTS_TABLE", "belfry-grants".to_owned()),
                ("PYTHONPATH", source("python").display().to_string()),
                ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
            ],
        };
        program.environment.extend(more.into_iter().map(|(name, value)| (name.to_owned(), value)));
        program
    }
}

fn source(of: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/peers").join(of)
}

/// What `scripts/peers` built or installed.
fn put(path: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target").join(path);
    assert!(path.exists(), "{} is not there: scripts/peers puts it there", path.display());
    path
}

/// The requests that create the tables of Powertools, as DynamoDB takes them.
pub fn tables() -> [Value; 2] {
    TABLES.map(|(table, key)| {
        json!({
            "TableName": format!("belfry-{table}"), "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": key, "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": key, "KeyType": "HASH"}],
        })
    })
}

/// A grant as API Gateway hands it over, the same for all of them: whose, and under which key.
pub fn grant(user_id: &str, key: &str) -> Value {
    changed("/v1/entitlements/grants", user_id, key)
}

/// The same on another path.
pub fn changed(path: &str, user_id: &str, key: &str) -> Value {
    let body = json!({"user_id": user_id, "stock_keeping_unit": "wine", "reason": "PURCHASE", "purchase_id": "p-1"});
    let by = ("shop", "ADMIN_USER", "commands:write");
    let mut event = Request { method: "POST", path: path.to_owned(), by, key: None, body }.event();
    event["headers"]["idempotency-key"] = json!(key);
    event
}
