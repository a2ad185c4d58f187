//! Checkpoints: the last record that a stream mapping has processed in each shard.
//!
//! They are stored in a table, so a host that was killed resumes where it was. An embedded engine ends with its host;
//! then memory is enough.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use aws_sdk_dynamodb::error::DisplayErrorContext;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};

#[derive(Debug, Clone)]
pub struct Checkpoints {
    memory: Arc<Mutex<HashMap<String, String>>>,
    table: Option<(aws_sdk_dynamodb::Client, String)>,
}

impl Checkpoints {
    pub fn in_memory() -> Self {
        Self { memory: Arc::default(), table: None }
    }

    /// Stores them in this table and creates it if it does not exist.
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

    /// The sequence number of the last processed record.
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

    /// Stores the last processed record. If that fails, records are redelivered after a restart.
    pub async fn save(&self, shard: &str, sequence_number: &str) {
        if let Some((client, table)) = &self.table {
            let put = client
                .put_item()
                .table_name(table)
                .item("shard", AttributeValue::S(shard.to_owned()))
                .item("sequence_number", AttributeValue::S(sequence_number.to_owned()));
            if let Err(error) = put.send().await {
                tracing::warn!(shard, error = %DisplayErrorContext(&error), "cannot save checkpoint; records will be redelivered after a restart");
            }
            return;
        }
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).insert(shard.to_owned(), sequence_number.to_owned());
    }
}
