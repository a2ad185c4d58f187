//! The Lambda behind the HTTP API.

use tower::ServiceBuilder;

/// A command is thousands of small allocations: with this one it takes an eighth fewer instructions. The other functions,
/// which nobody waits for, are smaller and take less memory without it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    let settings = runtime::Settings::from_env();
    runtime::log_as_json(&settings, "info", std::io::stdout)?;
    let aws = runtime::aws(&settings)?;
    let ledger = ledger::Ledger::new(runtime::dynamodb(&aws));
    let router = api::router(&settings, ledger, runtime::Metrics::to_stdout(&settings)?, &aws)?;
    lambda_http::run(ServiceBuilder::new().map_request(api::raw_path::restore).service(router)).await
}
