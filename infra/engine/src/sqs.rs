//! SQS over HTTP: rustack's queues behind a handler that puts right what differs from AWS.
//!
//! One difference is left as it is: a long poll that waits for a message to become visible again, or for its delay to
//! pass, is woken by a tick once a second and not at the very moment. A message that is sent without a delay wakes it
//! at once, and that is the way that has to be quick; AWS promises no more for the other.

mod move_task;
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

use crate::served::Port;
use move_task::MoveTasks;

const REGION: &str = "us-east-1";
const ACCOUNT: &str = "000000000000";

/// Serves the queues.
pub(crate) async fn run(port: Port) {
    let queues = Queues::new(port.number(), epoch_millis);
    let config = SqsHttpConfig { region: REGION.to_owned(), ..SqsHttpConfig::default() };
    port.serve(SqsHttpService::new(Arc::new(queues), config)).await;
}

/// Milliseconds since 1970. A value, so that a test can have it later.
type Clock = fn() -> u64;

fn epoch_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The queues as AWS has them.
#[derive(Clone)]
struct Queues {
    rustack: Arc<RustackSqs>,
    handler: Arc<RustackSqsHandler>,
    moves: MoveTasks,
    clock: Clock,
}

impl Queues {
    /// No queues yet; their URLs will name `port`.
    fn new(port: u16, clock: Clock) -> Queues {
        let rustack = Arc::new(RustackSqs::new(SqsConfig {
            skip_signature_validation: true,
            default_region: REGION.to_owned(),
            account_id: ACCOUNT.to_owned(),
            host: "127.0.0.1".to_owned(),
            port,
        }));
        let handler = Arc::new(RustackSqsHandler::new(Arc::clone(&rustack)));
        Queues { rustack, handler, moves: MoveTasks::default(), clock }
    }

    async fn answer(&self, operation: SqsOperation, body: Bytes) -> Result<Response<SqsResponseBody>, SqsError> {
        match operation {
            SqsOperation::CreateQueue | SqsOperation::SetQueueAttributes => {
                self.handler.handle_operation(operation, redrive_policy::with_a_numeric_count(body)?).await
            }
            SqsOperation::ReceiveMessage => json(&self.receive(parsed(&body)?).await?),
            SqsOperation::ListDeadLetterSourceQueues => json(&self.sources_of(parsed(&body)?).await?),
            SqsOperation::StartMessageMoveTask => json(&self.start_move(parsed(&body)?).await?),
            SqsOperation::CancelMessageMoveTask => json(&self.moves.cancel(&parsed(&body)?)?),
            SqsOperation::ListMessageMoveTasks => json(&self.moves.list(&parsed(&body)?)?),
            _ => self.handler.handle_operation(operation, body).await,
        }
    }

    async fn sources_of(&self, ask: ListDeadLetterSourceQueuesInput) -> Result<DeadLetterSources, SqsError> {
        let answer = self.rustack.list_dead_letter_source_queues(ask).await?;
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

/// The answer to ListDeadLetterSourceQueues. Of all the fields in SQS this one begins in lower case, which rustack
/// does not know: the AWS client would find no queues.
#[derive(Serialize)]
struct DeadLetterSources {
    #[serde(rename = "queueUrls")]
    queue_urls: Vec<String>,
}

fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, SqsError> {
    serde_json::from_slice(body)
        .map_err(|error| SqsError::invalid_parameter_value(format!("The request cannot be read: {error}")))
}

fn json(answer: &impl Serialize) -> Result<Response<SqsResponseBody>, SqsError> {
    let body = serde_json::to_vec(answer).map_err(|error| SqsError::internal_error(error.to_string()))?;
    Ok(json_response(body, &Uuid::now_v7().to_string()))
}
