//! The Lambda behind the HTTP API.

#[tokio::main]
async fn main() -> Result<(), lambda_http::Error> {
    runtime::log_as_json();
    let aws = runtime::aws().await;
    let router = api::router(
        &runtime::Settings::from_env(),
        ledger::Ledger::new(runtime::dynamodb(&aws)),
        runtime::Metrics::to_stdout(),
    )?;
    lambda_http::run(router).await
}
