//! The Lambda behind the queue of one channel.

fn main() -> Result<(), belfry_aws::lambda::Error> {
    belfry_aws::lambda::run(deliver::function)
}
