//! Checkpoints: how far a stream mapping has come in each shard.
//!
//! Lambda keeps them outside the function; so does the host, in a table of its own beside the engine's others, so
//! that a host that is killed and started again goes on where it was. An embedded engine dies with its host, and
//! then memory is enough.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use aws_sdk_dynamodb::error::DisplayErrorContext;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};

/// Where checkpoints are kept.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    memory: Arc<Mutex<HashMap<String, String>>>,
    table: Option<(aws_sdk_dynamodb::Client, String)>,
}

impl Checkpoints {
    /// Kept for as long as the host lives.
    pub fn in_memory() -> Self {
        Self { memory: Arc::default(), table: None }
    }

    /// Kept in a table of this name, which is created where it does not exist.
    pub async fn in_table(client: aws_sdk_dynamodb::Client, table: String) -> Result<Self, String> {
        let key = KeySchemaElement::builder().attribute_name("shard").key_type(KeyType::Hash).build();
        let attribute =
            AttributeDefinition::builder().attribute_name("shard").attribute_type(ScalarAttributeType::S).build();
        let create = client
            .create_table()
            .table_name(&table)
            .billing_mode(BillingMode::PayPerRequest)
            .key_schema(key.map_err(|error| error.to_string())?)
            .attribute_definitions(attribute.map_err(|error| error.to_string())?);
        match create.send().await {
            Ok(_) => {}
            Err(error) if error.as_service_error().is_some_and(|error| error.is_resource_in_use_exception()) => {}
            Err(error) => return Err(DisplayErrorContext(&error).to_string()),
        }
        Ok(Self { memory: Arc::default(), table: Some((client, table)) })
    }

    /// The last sequence number that a shard's mapping is done with.
    pub async fn load(&self, shard: &str) -> Result<Option<String>, String> {
        if let Some((client, table)) = &self.table {
            let key = AttributeValue::S(shard.to_owned());
            let found = client.get_item().table_name(table).key("shard", key).consistent_read(true).send().await;
            let found = found.map_err(|error| DisplayErrorContext(&error).to_string())?;
            let sequence_number = found.item.and_then(|mut item| item.remove("sequence_number"));
            return Ok(sequence_number.and_then(|value| value.as_s().ok().cloned()));
        }
        Ok(self.memory.lock().unwrap_or_else(PoisonError::into_inner).get(shard).cloned())
    }

    /// Notes how far a shard's mapping has come. A failure is no loss: the records come again after a restart.
    pub async fn save(&self, shard: &str, sequence_number: &str) {
        if let Some((client, table)) = &self.table {
            let put = client
                .put_item()
                .table_name(table)
                .item("shard", AttributeValue::S(shard.to_owned()))
                .item("sequence_number", AttributeValue::S(sequence_number.to_owned()));
            if let Err(error) = put.send().await {
                tracing::warn!(shard, error = %DisplayErrorContext(&error), "checkpoint not saved");
            }
            return;
        }
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).insert(shard.to_owned(), sequence_number.to_owned());
    }
}
