//! The Lambda behind the queue `payment`.

fn main() -> Result<(), belfry_aws::lambda::Error> {
    belfry_aws::lambda::run(saga::payment::function)
}
