//! The Lambda behind the HTTP API.

use tower::ServiceBuilder;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    let settings = runtime::Settings::from_env();
    runtime::log_as_json(&settings, "info", std::io::stdout)?;
    let aws = runtime::aws(&settings)?;
    let ledger = ledger::Ledger::new(runtime::dynamodb(&aws));
    let router = api::router(&settings, ledger, runtime::Metrics::to_stdout(&settings)?, &aws)?;
    lambda_http::run(ServiceBuilder::new().map_request(api::raw_path::restore).service(router)).await
}
