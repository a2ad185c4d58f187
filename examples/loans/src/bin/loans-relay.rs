//! The kernel's relay: from the stream of the events table to the queues.

fn main() -> Result<(), belfry_aws::lambda::Error> {
    belfry_aws::lambda::run_relay()
}
