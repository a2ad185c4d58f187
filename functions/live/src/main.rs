//! The Lambda behind the WebSocket API.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use live::Live;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let settings = runtime::Settings::from_env();
    runtime::log_as_json(&settings, "info", std::io::stdout)?;
    let aws = runtime::aws(&settings)?;
    let live = Live::new(&settings, ledger::Ledger::new(runtime::dynamodb(&aws)))?;
    let live = &live;
    lambda_runtime::run(service_fn(move |event: LambdaEvent<_>| async move {
        Ok::<_, Error>(live.handle(event.payload).await)
    }))
    .await
}
