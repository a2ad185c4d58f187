//! Creates the template's tables and queues if they do not exist.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, LocalSecondaryIndex,
    Projection as SdkProjection, ProjectionType, ScalarAttributeType, StreamSpecification, StreamViewType,
    TableDescription, TimeToLiveSpecification,
};
use aws_sdk_sqs::types::QueueAttributeName;

use crate::aws::Clients;
use crate::template::{KeySchema, Projection, Queue, Reference, Table, Template};

/// The ARNs and URLs of the created resources, by logical id.
#[derive(Debug, Clone, Default)]
pub struct Provisioned {
    queue_urls: BTreeMap<String, String>,
    queue_arns: BTreeMap<String, String>,
    stream_arns: BTreeMap<String, String>,
    pub secret_arns: BTreeMap<String, String>,
}

/// A table or queue could not be created.
#[derive(Debug, thiserror::Error)]
#[error("cannot create {name}: {problem}")]
pub struct ProvisionError {
    name: String,
    problem: String,
}

impl Provisioned {
    /// The name, ARN or URL that a reference stands for.
    pub fn locate(&self, reference: &Reference) -> Option<String> {
        match reference {
            Reference::QueueUrl(queue) => self.queue_urls.get(queue).cloned(),
            Reference::QueueArn(queue) => self.queue_arns.get(queue).cloned(),
            Reference::StreamArn(table) => self.stream_arns.get(table).cloned(),
            Reference::SecretArn(id) => self.secret_arns.get(id).cloned(),
            Reference::TableArn(_) | Reference::TableName(_) | Reference::QueueName(_) | Reference::Other { .. } => {
                None
            }
        }
    }

    pub fn queue_url(&self, logical_id: &str) -> &str {
        self.queue_urls.get(logical_id).map_or("", String::as_str)
    }

    pub fn queue_arn(&self, logical_id: &str) -> &str {
        self.queue_arns.get(logical_id).map_or("", String::as_str)
    }

    pub fn stream_arn(&self, logical_id: &str) -> &str {
        self.stream_arns.get(logical_id).map_or("", String::as_str)
    }
}

/// Creates the tables that do not exist yet.
pub async fn create_tables(template: &Template, clients: &Clients) -> Result<Provisioned, ProvisionError> {
    let mut provisioned = Provisioned::default();
    for table in &template.tables {
        let failed = |problem: String| ProvisionError { name: table.name.clone(), problem };
        let stream_arn = create_table(table, clients).await.map_err(failed)?;
        provisioned.stream_arns.extend(stream_arn.map(|arn| (table.logical_id.clone(), arn)));
    }
    Ok(provisioned)
}

/// Creates the queues that do not exist yet.
pub async fn create_queues(
    template: &Template,
    clients: &Clients,
    provisioned: &mut Provisioned,
) -> Result<(), ProvisionError> {
    // A redrive policy names the ARN of the dead letter queue, so dead letter queues come first.
    let (plain, redriving): (Vec<_>, Vec<_>) = template.queues.iter().partition(|queue| queue.redrive.is_none());
    for queue in plain.into_iter().chain(redriving) {
        let failed = |problem: String| ProvisionError { name: queue.name.clone(), problem };
        let (url, arn) = create_queue(queue, provisioned, clients).await.map_err(failed)?;
        provisioned.queue_urls.insert(queue.logical_id.clone(), url);
        provisioned.queue_arns.insert(queue.logical_id.clone(), arn);
    }
    Ok(())
}

/// Creates a table. Returns the ARN of its stream, if it has one.
async fn create_table(table: &Table, clients: &Clients) -> Result<Option<String>, String> {
    let mut request = clients
        .dynamodb
        .create_table()
        .table_name(&table.name)
        .billing_mode(BillingMode::PayPerRequest)
        .set_key_schema(Some(key_schema(&table.key)?));
    for name in &table.attributes {
        let definition = AttributeDefinition::builder().attribute_name(name).attribute_type(ScalarAttributeType::S);
        request = request.attribute_definitions(definition.build().map_err(|error| error.to_string())?);
    }
    for index in &table.global_indexes {
        let definition = GlobalSecondaryIndex::builder()
            .index_name(&index.name)
            .set_key_schema(Some(key_schema(&index.key)?))
            .projection(projection(&index.projection));
        request = request.global_secondary_indexes(definition.build().map_err(|error| error.to_string())?);
    }
    for index in &table.local_indexes {
        let definition = LocalSecondaryIndex::builder()
            .index_name(&index.name)
            .set_key_schema(Some(key_schema(&index.key)?))
            .projection(projection(&index.projection));
        request = request.local_secondary_indexes(definition.build().map_err(|error| error.to_string())?);
    }
    if table.has_stream {
        let specification = StreamSpecification::builder().stream_enabled(true);
        let specification = specification.stream_view_type(StreamViewType::NewImage);
        request = request.stream_specification(specification.build().map_err(|error| error.to_string())?);
    }
    match request.send().await {
        Ok(_) => set_ttl(table, clients).await?,
        Err(error) if error.as_service_error().is_some_and(|error| error.is_resource_in_use_exception()) => {}
        Err(error) => return Err(aws_sdk_dynamodb::error::DisplayErrorContext(&error).to_string()),
    }
    let described = clients.dynamodb.describe_table().table_name(&table.name).send().await;
    let described = described.map_err(|error| aws_sdk_dynamodb::error::DisplayErrorContext(&error).to_string())?;
    let there = described.table.ok_or("the table exists but cannot be described")?;
    has_indexes(table, &there)?;
    Ok(there.latest_stream_arn)
}

/// A table that an earlier template created may lack an index, and queries on it would fail without a reason.
fn has_indexes(table: &Table, there: &TableDescription) -> Result<(), String> {
    let global = there.global_secondary_indexes().iter().filter_map(|index| index.index_name());
    let names: Vec<&str> =
        global.chain(there.local_secondary_indexes().iter().filter_map(|index| index.index_name())).collect();
    match table.all_indexes().find(|index| !names.contains(&index.name.as_str())) {
        None => Ok(()),
        Some(index) => Err(format!(
            "has no index {}: the table was created by an earlier template; start with new data",
            index.name
        )),
    }
}

async fn set_ttl(table: &Table, clients: &Clients) -> Result<(), String> {
    let Some(attribute) = &table.ttl else { return Ok(()) };
    let specification = TimeToLiveSpecification::builder().enabled(true).attribute_name(attribute).build();
    let specification = specification.map_err(|error| error.to_string())?;
    let update =
        clients.dynamodb.update_time_to_live().table_name(&table.name).time_to_live_specification(specification);
    update.send().await.map(drop).map_err(|error| aws_sdk_dynamodb::error::DisplayErrorContext(&error).to_string())
}

/// Creates a queue. Returns its URL and ARN.
async fn create_queue(queue: &Queue, known: &Provisioned, clients: &Clients) -> Result<(String, String), String> {
    let mut request = clients
        .sqs
        .create_queue()
        .queue_name(&queue.name)
        .attributes(QueueAttributeName::VisibilityTimeout, queue.visibility_timeout.to_string())
        .attributes(QueueAttributeName::MessageRetentionPeriod, queue.retention.to_string());
    if let Some(redrive) = &queue.redrive {
        let policy = serde_json::json!({
            "deadLetterTargetArn": known.queue_arn(&redrive.dead_letter_queue),
            "maxReceiveCount": redrive.max_receive_count,
        });
        request = request.attributes(QueueAttributeName::RedrivePolicy, policy.to_string());
    }
    let created = request.send().await.map_err(|error| aws_sdk_sqs::error::DisplayErrorContext(&error).to_string())?;
    let url = created.queue_url.ok_or("CreateQueue returned no URL")?;
    let attributes =
        clients.sqs.get_queue_attributes().queue_url(&url).attribute_names(QueueAttributeName::QueueArn).send().await;
    let attributes = attributes.map_err(|error| aws_sdk_sqs::error::DisplayErrorContext(&error).to_string())?;
    let arn = attributes.attributes.and_then(|mut attributes| attributes.remove(&QueueAttributeName::QueueArn));
    Ok((url, arn.ok_or("GetQueueAttributes returned no ARN")?))
}

fn key_schema(key: &KeySchema) -> Result<Vec<KeySchemaElement>, String> {
    let element = |name: &String, kind| KeySchemaElement::builder().attribute_name(name).key_type(kind).build();
    let elements = std::iter::once(element(&key.hash, KeyType::Hash))
        .chain(key.range.iter().map(|range| element(range, KeyType::Range)));
    elements.collect::<Result<_, _>>().map_err(|error| error.to_string())
}

fn projection(projection: &Projection) -> SdkProjection {
    match projection {
        Projection::All => SdkProjection::builder().projection_type(ProjectionType::All),
        Projection::KeysOnly => SdkProjection::builder().projection_type(ProjectionType::KeysOnly),
        Projection::Include(attributes) => SdkProjection::builder()
            .projection_type(ProjectionType::Include)
            .set_non_key_attributes(Some(attributes.clone())),
    }
    .build()
}
