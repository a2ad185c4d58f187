//! The Lambda behind the HTTP API.

/// A command is thousands of small allocations: with this one it takes an eighth fewer instructions. The other functions,
/// which nobody waits for, are smaller and take less memory without it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), belfry_http::Error> {
    belfry_http::run(api::router)
}
