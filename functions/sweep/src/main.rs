//! The Lambda behind the schedules.

fn main() -> Result<(), belfry_aws::lambda::Error> {
    belfry_aws::lambda::run(sweep::function)
}
