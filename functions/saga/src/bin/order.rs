//! The Lambda behind the queue `order`.

fn main() -> Result<(), belfry_aws::lambda::Error> {
    belfry_aws::lambda::run(saga::order::function)
}
