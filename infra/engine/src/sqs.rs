//! SQS over HTTP: rustack's queues behind a handler that corrects what differs from AWS.
//!
//! One difference remains. A long poll sees a message that becomes visible again, or whose delay passes, only at the next
//! tick, up to one second late. A message sent without a delay ends the poll at once.

mod redrive_policy;
mod retention;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::Response;
use rustack_sqs_core::config::SqsConfig;
use rustack_sqs_core::handler::RustackSqsHandler;
use rustack_sqs_core::provider::RustackSqs;
use rustack_sqs_http::body::SqsResponseBody;
use rustack_sqs_http::dispatch::SqsHandler;
use rustack_sqs_http::response::json_response;
use rustack_sqs_http::service::{SqsHttpConfig, SqsHttpService};
use rustack_sqs_model::error::SqsError;
use rustack_sqs_model::input::ListDeadLetterSourceQueuesInput;
use rustack_sqs_model::operations::SqsOperation;
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::server::BoundPort;

const REGION: &str = "us-east-1";
const ACCOUNT: &str = "000000000000";

/// Serves the queues.
pub(crate) async fn run(port: BoundPort) {
    let queues = Queues::new(port.number(), epoch_millis);
    let config = SqsHttpConfig { region: REGION.to_owned(), ..SqsHttpConfig::default() };
    port.serve(SqsHttpService::new(Arc::new(queues), config)).await;
}

/// Milliseconds since 1970. A parameter, so that a test can set it ahead.
type Clock = fn() -> u64;

fn epoch_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The queues, answering as AWS does.
#[derive(Clone)]
struct Queues {
    rustack: Arc<RustackSqs>,
    handler: Arc<RustackSqsHandler>,
    clock: Clock,
}

impl Queues {
    /// Returns an empty engine. Its queue URLs will name `port`.
    fn new(port: u16, clock: Clock) -> Queues {
        let rustack = Arc::new(RustackSqs::new(SqsConfig {
            skip_signature_validation: true,
            default_region: REGION.to_owned(),
            account_id: ACCOUNT.to_owned(),
            host: "127.0.0.1".to_owned(),
            port,
        }));
        let handler = Arc::new(RustackSqsHandler::new(Arc::clone(&rustack)));
        Queues { rustack, handler, clock }
    }

    async fn answer(&self, operation: SqsOperation, body: Bytes) -> Result<Response<SqsResponseBody>, SqsError> {
        match operation {
            SqsOperation::CreateQueue | SqsOperation::SetQueueAttributes => {
                self.handler.handle_operation(operation, redrive_policy::with_numeric_count(body)?).await
            }
            SqsOperation::ReceiveMessage => json(&self.receive(parsed(&body)?).await?),
            SqsOperation::ListDeadLetterSourceQueues => json(&self.dead_letter_sources(parsed(&body)?).await?),
            _ => self.handler.handle_operation(operation, body).await,
        }
    }

    async fn dead_letter_sources(
        &self,
        request: ListDeadLetterSourceQueuesInput,
    ) -> Result<DeadLetterSources, SqsError> {
        let answer = self.rustack.list_dead_letter_source_queues(request).await?;
        Ok(DeadLetterSources { queue_urls: answer.queue_urls })
    }
}

impl SqsHandler for Queues {
    fn handle_operation(
        &self,
        operation: SqsOperation,
        body: Bytes,
    ) -> Pin<Box<dyn Future<Output = Result<Response<SqsResponseBody>, SqsError>> + Send>> {
        let queues = self.clone();
        Box::pin(async move { queues.answer(operation, body).await })
    }
}

/// The answer to ListDeadLetterSourceQueues. Its field alone begins in lower case in SQS; rustack writes it in upper
/// case, and the AWS client would find no queues.
#[derive(Serialize)]
struct DeadLetterSources {
    #[serde(rename = "queueUrls")]
    queue_urls: Vec<String>,
}

fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, SqsError> {
    serde_json::from_slice(body).map_err(|error| {
        SqsError::invalid_parameter_value(format!("The request is not valid JSON for this operation: {error}"))
    })
}

fn json(answer: &impl Serialize) -> Result<Response<SqsResponseBody>, SqsError> {
    let body = serde_json::to_vec(answer).map_err(|error| SqsError::internal_error(error.to_string()))?;
    Ok(json_response(body, &Uuid::now_v7().to_string()))
}
