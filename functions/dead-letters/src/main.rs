//! The Lambda behind the dead letter queues and the queue of redrives.

fn main() -> Result<(), belfry_aws::lambda::Error> {
    belfry_aws::lambda::run(dead_letters::function)
}
