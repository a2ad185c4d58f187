//! The Lambda behind the HTTP API.

use tower::ServiceBuilder;

/// A command is thousands of small allocations: with this one it takes an eighth fewer instructions. The other functions,
/// which nobody waits for, are smaller and take less memory without it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    let mut start = belfry_aws::lambda::Start::from_env();
    let belfry = api::kernel(&mut start);
    let settings = runtime::Settings::from_env();
    let (aws, ledger) = (start.aws.clone(), ledger::Ledger::new(start.dynamodb().clone()));
    start.finish()?;
    let router = api::router(belfry, &settings, ledger, runtime::Metrics::to_stdout(&settings)?, &aws)?;
    lambda_http::run(ServiceBuilder::new().map_request(api::raw_path::restore).service(router)).await
}
