//! The Lambda behind the schedules.

use belfry_aws::lambda::Start;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use sweep::Sweep;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let mut start = Start::from_env();
    let belfry = sweep::kernel(&mut start);
    let settings = runtime::Settings::from_env();
    let ledger = ledger::Ledger::new(start.dynamodb().clone());
    let (sqs, metrics) = (start.sqs().clone(), runtime::Metrics::to_stdout(&settings)?);
    start.finish()?;
    let sweep = Sweep::new(belfry, &settings, ledger, sqs, metrics)?;
    let sweep = &sweep;
    lambda_runtime::run(service_fn(move |event: LambdaEvent<_>| async move {
        Ok::<_, Error>(sweep.handle(event.payload).await?)
    }))
    .await
}
