//! The kernel's recorder and redriver of dead letters.

fn main() -> Result<(), belfry_aws::lambda::Error> {
    belfry_aws::lambda::run_dead_letters()
}
