//! The Lambda behind the queue `inventory`.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use saga::Inventory;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let settings = runtime::Settings::from_env();
    runtime::log_as_json(&settings, "info", std::io::stdout)?;
    let aws = runtime::aws(&settings)?;
    let ledger = ledger::Ledger::new(runtime::dynamodb(&aws));
    let inventory =
        Inventory::new(&settings, ledger, aws_sdk_sqs::Client::new(&aws), runtime::Metrics::to_stdout(&settings)?)?;
    let inventory = &inventory;
    lambda_runtime::run(service_fn(move |event: LambdaEvent<_>| async move {
        Ok::<_, Error>(inventory.handle(event.payload).await)
    }))
    .await
}
