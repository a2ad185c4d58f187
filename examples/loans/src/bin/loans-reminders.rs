//! The Lambda behind the queue `reminders`.

use belfry_aws::{Belfry, Entity, lambda, tables};
use loans::{Reminder, reminders};

fn main() -> Result<(), lambda::Error> {
    lambda::run(|start| {
        let config = start.config(tables::OF_CONSUMERS.into_iter().chain([Reminder::TABLE]));
        reminders(&start.build(Belfry::builder(config)))
    })
}
