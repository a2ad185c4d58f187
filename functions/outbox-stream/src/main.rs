//! The Lambda behind the events table's stream.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use outbox_stream::OutboxStream;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let settings = runtime::Settings::from_env();
    runtime::log_as_json(&settings, "info", std::io::stdout)?;
    let aws = runtime::aws(&settings)?;
    let ledger = ledger::Ledger::new(runtime::dynamodb(&aws));
    let relay =
        OutboxStream::new(&settings, ledger, aws_sdk_sqs::Client::new(&aws), runtime::Metrics::to_stdout(&settings)?)?;
    let relay = &relay;
    lambda_runtime::run(service_fn(move |event: LambdaEvent<_>| async move {
        Ok::<_, Error>(relay.handle(event.payload).await)
    }))
    .await
}
