//! The Lambda behind the dead letter queues and the queue of redrives.

use dead_letters::DeadLetters;
use lambda_runtime::{Error, LambdaEvent, service_fn};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let settings = runtime::Settings::from_env();
    runtime::log_as_json(&settings, "info", std::io::stdout)?;
    let aws = runtime::aws(&settings)?;
    let ledger = ledger::Ledger::new(runtime::dynamodb(&aws));
    let sqs = aws_sdk_sqs::Client::new(&aws);
    let dead_letters = DeadLetters::new(&settings, ledger, sqs, runtime::Metrics::to_stdout(&settings)?)?;
    let dead_letters = &dead_letters;
    lambda_runtime::run(service_fn(move |event: LambdaEvent<_>| async move {
        Ok::<_, Error>(dead_letters.handle(event.payload).await)
    }))
    .await
}
