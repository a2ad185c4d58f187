//! The Lambda behind the streams of the events table and the sends table.

fn main() -> Result<(), belfry_aws::lambda::Error> {
    belfry_aws::lambda::run(outbox_stream::function)
}
