//! The Lambda behind the WebSocket API.

fn main() -> Result<(), belfry_aws::lambda::Error> {
    belfry_aws::lambda::run(live::function)
}
