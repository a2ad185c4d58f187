//! The Lambda behind the queue `order`.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use saga::Order;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let settings = runtime::Settings::from_env();
    runtime::log_as_json(&settings, "info", std::io::stdout)?;
    let aws = runtime::aws(&settings)?;
    let ledger = ledger::Ledger::new(runtime::dynamodb(&aws));
    let order = Order::new(&settings, ledger, aws_sdk_sqs::Client::new(&aws), runtime::Metrics::to_stdout(&settings)?)?;
    let order = &order;
    lambda_runtime::run(service_fn(move |event: LambdaEvent<_>| async move {
        Ok::<_, Error>(order.handle(event.payload).await)
    }))
    .await
}
