//! The Lambda behind the audience queues.

fn main() -> Result<(), belfry_aws::lambda::Error> {
    belfry_aws::lambda::run(fanout::function)
}
