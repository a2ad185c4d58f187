//! An engine and AWS clients for it.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::operation::create_table::builders::CreateTableFluentBuilder;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};
use aws_smithy_http_client::Builder;
use engine::{Engine, Ports};

/// A running pair and a client for each of its services.
pub struct Pair {
    pub engine: Engine,
    pub dynamodb: aws_sdk_dynamodb::Client,
    pub streams: aws_sdk_dynamodbstreams::Client,
    pub sqs: aws_sdk_sqs::Client,
}

/// Builds a client; each SDK has configuration types of its own.
macro_rules! client {
    ($sdk:ident, $http:expr, $url:expr) => {{
        use $sdk::config::{BehaviorVersion, Config, Credentials, Region};
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .credentials_provider(Credentials::new("test", "test", None, None, "test"))
            .region(Region::new("us-east-1"))
            .http_client($http.clone())
            .endpoint_url($url)
            .build();
        $sdk::Client::from_conf(config)
    }};
}

impl Pair {
    pub async fn start() -> Pair {
        let engine = Engine::start(Ports::default()).await.expect("an engine");
        let http = Builder::new().build_http();
        Pair {
            dynamodb: client!(aws_sdk_dynamodb, http, engine.dynamodb_url()),
            streams: client!(aws_sdk_dynamodbstreams, http, engine.dynamodb_url()),
            sqs: client!(aws_sdk_sqs, http, engine.sqs_url()),
            engine,
        }
    }

    /// Begins creating a table with the string `id` as its key.
    pub fn table(&self, name: &str) -> CreateTableFluentBuilder {
        self.dynamodb
            .create_table()
            .table_name(name)
            .billing_mode(BillingMode::PayPerRequest)
            .attribute_definitions(
                AttributeDefinition::builder()
                    .attribute_name("id")
                    .attribute_type(ScalarAttributeType::S)
                    .build()
                    .expect("complete"),
            )
            .key_schema(
                KeySchemaElement::builder().attribute_name("id").key_type(KeyType::Hash).build().expect("complete"),
            )
    }

    /// Creates a queue. Returns its URL and ARN.
    pub async fn queue(&self, name: &str, attributes: &[(&str, &str)]) -> (String, String) {
        use aws_sdk_sqs::types::QueueAttributeName;
        let attributes: HashMap<_, _> =
            attributes.iter().map(|(name, value)| (QueueAttributeName::from(*name), (*value).to_owned())).collect();
        let created = self.sqs.create_queue().queue_name(name).set_attributes(Some(attributes)).send().await;
        let url = created.expect("a queue").queue_url.expect("its URL");
        (url, format!("arn:aws:sqs:us-east-1:000000000000:{name}"))
    }
}

/// An item of string attributes.
pub fn item(attributes: &[(&str, &str)]) -> HashMap<String, AttributeValue> {
    attributes.iter().map(|(name, value)| ((*name).to_owned(), AttributeValue::S((*value).to_owned()))).collect()
}

/// Polls until there is an answer. The deadline only ends a test that would hang.
pub async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let found = tokio::time::timeout(Duration::from_secs(30), async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    found.await.unwrap_or_else(|_| panic!("no {what} within 30 s"))
}
