//! Engines, tables and queues of one test.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use belfry_aws::aws_lambda_events::sqs::{SqsEvent, SqsMessage};
use belfry_aws::item::text_of;
use belfry_aws::{
    AttributeValue, Belfry, Caller, Config, Destination, Event, Fingerprint, IdempotencyKey, Item, Metrics, Place,
    Request, Table, Tables, envelope, tables,
};
use engine::{Engine, Ports};
use serde_json::Value;

pub struct World {
    pub belfry: Belfry,
    pub dynamodb: aws_sdk_dynamodb::Client,
    pub sqs: aws_sdk_sqs::Client,
    _engine: Engine,
}

/// Where a test's events go: `BookBorrowed` to both queues, everything else to nobody.
pub fn routes(event: &Event) -> Vec<Destination> {
    match event.event_type.as_str() {
        "BookBorrowed" => vec!["reminders".into(), "fines".into()],
        belfry_aws::dead_letter::REDRIVEN => vec!["redrives".into()],
        _ => Vec::new(),
    }
}

impl World {
    pub async fn new(own: &[Table]) -> Self {
        Self::with(own, |config| config).await
    }

    /// Tables of the kernel and `own` ones, and the queues `reminders`, `fines` and `redrives`.
    pub async fn with(own: &[Table], change: impl FnOnce(Config) -> Config) -> Self {
        let engine = Engine::start(Ports::default()).await.expect("engines");
        let credentials = Credentials::new("test", "test", None, None, "test");
        let dynamodb = aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static("us-east-1"))
            .credentials_provider(credentials.clone())
            .endpoint_url(engine.dynamodb_url())
            .http_client(belfry_aws::clients::https(
                belfry_aws::clients::Roots::Amazon,
                belfry_aws::clients::Pool::Kept,
            ))
            .retry_config(aws_sdk_dynamodb::config::retry::RetryConfig::disabled());
        let dynamodb = aws_sdk_dynamodb::Client::from_conf(dynamodb.build());
        let sqs = aws_sdk_sqs::Config::builder()
            .behavior_version(aws_sdk_sqs::config::BehaviorVersion::latest())
            .region(aws_sdk_sqs::config::Region::from_static("us-east-1"))
            .credentials_provider(credentials)
            .http_client(belfry_aws::clients::https(
                belfry_aws::clients::Roots::Amazon,
                belfry_aws::clients::Pool::Kept,
            ))
            .endpoint_url(engine.sqs_url());
        let sqs = aws_sdk_sqs::Client::from_conf(sqs.build());
        let mut config = Config::new(Tables::prefixed("library-"));
        for queue in ["reminders", "fines", "redrives"] {
            let created = sqs.create_queue().queue_name(format!("library-{queue}")).send().await.expect("a queue");
            config = config.queue(queue, created.queue_url().expect("a URL"));
        }
        let config = change(config);
        tables::create(&dynamodb, &config.tables, own.iter().copied().chain(tables::ALL)).await.expect("tables");
        let belfry = Belfry::builder(config).routes(routes).metrics(Metrics::to_each(std::io::sink));
        let belfry = belfry.build(dynamodb.clone(), sqs.clone());
        Self { belfry, dynamodb, sqs, _engine: engine }
    }

    /// All items of a table.
    pub async fn items(&self, table: Table) -> Vec<Item> {
        let name = self.belfry.config().tables.name(table).expect("a name");
        let items = self.dynamodb.scan().table_name(name).consistent_read(true).send().await.expect("a scan").items;
        let place = |item: &std::collections::HashMap<String, aws_sdk_dynamodb::types::AttributeValue>| {
            let key = item[table.hash.name].as_s().expect("a text").clone();
            match table.range {
                None => Place { table, key: key.into() },
                Some(range) => table.at(belfry_aws::Key::pair(key, item[range.name].as_s().expect("a text").clone())),
            }
        };
        let places: Vec<Place> = items.unwrap_or_default().iter().map(place).collect();
        let found = self.belfry.get_all(places, None).await.expect("items");
        found.0.into_values().collect()
    }

    /// One text attribute of every item of a table, sorted.
    pub async fn column(&self, table: Table, attribute: &str) -> Vec<String> {
        let items = self.items(table).await;
        let mut column: Vec<String> =
            items.iter().filter_map(|item| text_of(item, attribute)).map(str::to_owned).collect();
        column.sort();
        column
    }

    /// Stores an item as it is.
    pub async fn put(&self, table: Table, item: &Item) {
        let write = belfry_aws::Write::put(table.at(text_of(item, table.hash.name).expect("a key")), item.clone());
        let ctx = belfry_aws::Context::begin();
        self.belfry.commit(&ctx, ctx.commit().write(write)).await.expect("stored");
    }

    /// The bodies of the messages that a queue holds. They stay there.
    pub async fn queued(&self, queue: &str) -> Vec<String> {
        let url = &self.belfry.config().queues[queue].url;
        let mut bodies = Vec::new();
        loop {
            let request = self.sqs.receive_message().queue_url(url).max_number_of_messages(10).visibility_timeout(30);
            let messages = request.send().await.expect("messages").messages.unwrap_or_default();
            if messages.is_empty() {
                return bodies;
            }
            bodies.extend(messages.into_iter().filter_map(|message| message.body));
        }
    }

    /// A batch of messages as Lambda hands it to the consumer of a queue.
    pub fn batch(&self, queue: &str, receive_count: u32, bodies: &[String]) -> SqsEvent {
        let message = |(n, body): (usize, &String)| {
            let mut message = SqsMessage::default();
            message.message_id = Some(format!("m-{n}"));
            message.receipt_handle = Some(format!("r-{n}"));
            message.body = Some(body.clone());
            message.attributes = [("ApproximateReceiveCount".to_owned(), receive_count.to_string())].into();
            message.event_source_arn = Some(format!("arn:aws:sqs:us-east-1:000000000000:library-{queue}"));
            message
        };
        let mut batch = SqsEvent::default();
        batch.records = bodies.iter().enumerate().map(message).collect();
        batch
    }

    /// The message that carries the only event of this type.
    pub async fn message_of(&self, event_type: &str) -> String {
        let items = self.items(tables::EVENTS).await;
        let item = items.iter().find(|item| text_of(item, "event_type") == Some(event_type)).expect("an event");
        let event_id = belfry_aws::EventId::parse(text_of(item, "event_id").expect("an id")).expect("an id");
        let stored = self.belfry.stored_event(&event_id).await.expect("a read").expect("an event").expect("readable");
        envelope::write(&stored.event, None).expect("an envelope")
    }
}

/// A request of this caller with this key and body.
pub fn request(caller: &str, key: &str, body: &Value) -> Request {
    Request {
        caller: Caller { issuer: "tests".to_owned(), subject: caller.to_owned() },
        key: IdempotencyKey::parse(key).expect("a key"),
        fingerprint: Fingerprint::of_json("POST", "/loans", body).expect("a fingerprint"),
        trace: None,
        deadline: None,
    }
}

/// The records of a stream with these images.
pub fn records(images: &[Item]) -> Vec<belfry_aws::aws_lambda_events::dynamodb::EventRecord> {
    let record = |(n, image): (usize, &Item)| {
        let image: BTreeMap<String, _> = image.iter().map(|(name, value)| (name.clone(), json(value))).collect();
        let record = serde_json::json!({
            "eventID": format!("r-{n}"), "eventName": "INSERT", "awsRegion": "us-east-1",
            "dynamodb": {
                "ApproximateCreationDateTime": 1_700_000_000, "Keys": {"event_id": image["event_id"]}, "NewImage": image,
                "SequenceNumber": n.to_string(), "SizeBytes": 1, "StreamViewType": "NEW_IMAGE",
            },
        });
        serde_json::from_value(record).expect("a record")
    };
    images.iter().enumerate().map(record).collect()
}

/// An attribute in DynamoDB's JSON.
fn json(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => serde_json::json!({"S": text}),
        AttributeValue::N(number) => serde_json::json!({"N": number}),
        AttributeValue::L(values) => serde_json::json!({"L": values.iter().map(json).collect::<Vec<_>>()}),
        AttributeValue::Ss(texts) => serde_json::json!({"SS": texts}),
        AttributeValue::M(map) => {
            serde_json::json!({"M": map.iter().map(|(name, value)| (name.clone(), json(value))).collect::<BTreeMap<_, _>>()})
        }
        other => panic!("{other:?} is not used"),
    }
}
