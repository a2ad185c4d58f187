//! The Lambda behind one channel's queue.

use deliver::Deliver;
use lambda_runtime::{Error, LambdaEvent, service_fn};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let settings = runtime::Settings::from_env();
    runtime::log_as_json(&settings, "info", std::io::stdout)?;
    let aws = runtime::aws(&settings)?;
    let ledger = ledger::Ledger::new(runtime::dynamodb(&aws));
    let sqs = aws_sdk_sqs::Client::new(&aws);
    let deliver = Deliver::new(&settings, ledger, sqs, &aws, runtime::Metrics::to_stdout(&settings)?)?;
    let deliver = &deliver;
    lambda_runtime::run(service_fn(move |event: LambdaEvent<_>| async move {
        Ok::<_, Error>(deliver.handle(event.payload).await)
    }))
    .await
}
