//! The Lambda behind the HTTP API.

fn main() -> Result<(), belfry_http::Error> {
    belfry_http::run(loans::api)
}
