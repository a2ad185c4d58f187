//! The Lambda behind the queue `payment`.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use saga::Payment;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let settings = runtime::Settings::from_env();
    runtime::log_as_json(&settings, "info", std::io::stdout)?;
    let aws = runtime::aws(&settings)?;
    let ledger = ledger::Ledger::new(runtime::dynamodb(&aws));
    let sqs = aws_sdk_sqs::Client::new(&aws);
    let payment = Payment::new(&settings, ledger, sqs, runtime::Metrics::to_stdout(&settings)?, &aws)?;
    let payment = &payment;
    lambda_runtime::run(service_fn(move |event: LambdaEvent<_>| async move {
        Ok::<_, Error>(payment.handle(event.payload).await)
    }))
    .await
}
