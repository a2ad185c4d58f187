//! The kernel's sweeper of the outbox.

fn main() -> Result<(), belfry_aws::lambda::Error> {
    belfry_aws::lambda::run_sweeper()
}
