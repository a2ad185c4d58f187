//! A use case that is not ours: a library lends books, each copy to one reader at a time.
//!
//! What it shows: an aggregate is one `impl`, a command is what it reads and what it decides. Idempotency, the race loop,
//! the event and the stored answer come with `Commands::execute`. In a Lambda, `caller` and `key` come from the request.
//!
//! `cargo run -p ledger --example borrow_a_book`

use std::time::Duration;

use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType as Scalar,
};
use domain::{Caller, Event, Fingerprint, Fresh, IdempotencyKey};
use ledger::command::{Answer, Begin, Command, Commands, Decision, Executed, Request};
use ledger::{Aggregate, Aggregates, Corrupt, Events, Found, IdempotencyKeys, Key, Ledger, LedgerError};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A copy of a book, and who has it.
#[derive(Debug, Serialize, Deserialize)]
struct Copy {
    shelf_mark: String,
    reader: String,
    version: u64,
}

impl Aggregate for Copy {
    type Id = String;

    fn key(table: &str, shelf_mark: &String) -> Key {
        Key::new(table, "shelf_mark", shelf_mark)
    }

    fn id(&self) -> String {
        self.shelf_mark.clone()
    }

    fn version(&self) -> u64 {
        self.version
    }
}

/// "Lend me this copy."
struct Borrow<'a> {
    copies: &'a Aggregates<Copy>,
    shelf_mark: String,
    reader: String,
}

impl Command for Borrow<'_> {
    type Known = Option<Copy>;

    fn begin(&self) -> Begin {
        Begin::AssumeAbsent
    }

    fn reads(&self) -> Vec<Key> {
        vec![self.copies.key(&self.shelf_mark)]
    }

    fn known(&self, found: &Found) -> Result<Option<Copy>, Corrupt> {
        self.copies.among(found, &self.shelf_mark)
    }

    fn decide(&self, known: &Option<Copy>, fresh: &Fresh) -> Result<Decision, LedgerError> {
        if let Some(copy) = known {
            let refusal = json!({"code": "LENT", "message": format!("{} has it", copy.reader)});
            return Ok(Decision::Refuse(Answer::json(409, &refusal)?));
        }
        let copy = Copy { shelf_mark: self.shelf_mark.clone(), reader: self.reader.clone(), version: 1 };
        let event = Event {
            event_id: fresh.event_id.into(),
            event_type: "BookBorrowed".to_owned(),
            aggregate_type: "Copy".to_owned(),
            aggregate_id: copy.shelf_mark.clone(),
            version: Some(copy.version),
            occurred_at: fresh.now,
            recorded_at: fresh.now,
            actor: Some(self.reader.clone()),
            traceparent: None,
            payload: json!({"shelf_mark": copy.shelf_mark, "reader": copy.reader}),
        };
        let answer = Answer::json(201, &copy)?;
        Ok(Decision::Commit { writes: vec![self.copies.put(&copy)?], events: vec![event], answer })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    for line in lend().await? {
        println!("{line}");
    }
    Ok(())
}

/// Ada asks twice with the same key, then Bruno asks.
pub async fn lend() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let engine = engine::Engine::start(engine::Ports::default()).await?;
    let client = client(engine.dynamodb_url()).await;
    for (table, key) in [("copies", "shelf_mark"), ("events", "event_id"), ("keys", "caller_key")] {
        create_table(&client, table, key).await?;
    }
    let commands = Commands {
        ledger: Ledger::new(client),
        keys: IdempotencyKeys::new("keys"),
        events: Events::new("events"),
        key_ttl: Duration::from_secs(86_400),
    };
    let copies = Aggregates::new("copies");
    let mut lines = Vec::new();
    for (reader, key) in [("ada", "k-1"), ("ada", "k-1"), ("bruno", "k-1")] {
        let request = Request {
            caller: Caller { issuer: "https://library.example".to_owned(), subject: reader.to_owned() },
            key: IdempotencyKey::parse(key)?,
            fingerprint: Fingerprint::of_json("POST", "/loans", &json!({"shelf_mark": "QA76"}))?,
        };
        let borrow = Borrow { copies: &copies, shelf_mark: "QA76".to_owned(), reader: reader.to_owned() };
        lines.push(match commands.execute(&request, &borrow).await?.outcome {
            Executed::Accepted(answer) => format!("{reader}: accepted {}", answer.body),
            Executed::Replayed(answer) => format!("{reader}: replayed {}", answer.body),
            Executed::Refused(answer) => format!("{reader}: refused {}", answer.body),
            Executed::KeyConflict => format!("{reader}: this key was used for another request"),
        });
    }
    engine.stop().await;
    Ok(lines)
}

async fn client(url: &str) -> aws_sdk_dynamodb::Client {
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version_latest()
        .region(aws_sdk_dynamodb::config::Region::new("us-east-1"))
        .credentials_provider(aws_sdk_dynamodb::config::Credentials::new("any", "any", None, None, "example"))
        .endpoint_url(url)
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .retry_config(aws_sdk_dynamodb::config::retry::RetryConfig::disabled());
    aws_sdk_dynamodb::Client::from_conf(config.build())
}

async fn create_table(
    client: &aws_sdk_dynamodb::Client,
    table: &str,
    key: &str,
) -> Result<(), Box<dyn std::error::Error>> {
    client
        .create_table()
        .table_name(table)
        .billing_mode(BillingMode::PayPerRequest)
        .key_schema(KeySchemaElement::builder().attribute_name(key).key_type(KeyType::Hash).build()?)
        .attribute_definitions(AttributeDefinition::builder().attribute_name(key).attribute_type(Scalar::S).build()?)
        .send()
        .await?;
    Ok(())
}
