//! The Lambda behind the queue `inventory`.

fn main() -> Result<(), belfry_aws::lambda::Error> {
    belfry_aws::lambda::run(saga::inventory::function)
}
