//! Schedules: invoke a function whenever its time has come.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::aws::{ACCOUNT, REGION};
use crate::functions::Invocable;
use crate::template::ScheduleMapping;

/// One schedule.
#[derive(Debug, Clone)]
pub struct Scheduled {
    /// The schedule, as the template has it.
    pub mapping: ScheduleMapping,
    /// The function behind it.
    pub function: Invocable,
}

impl Scheduled {
    /// Invokes the function at its times until told to stop. A run that takes longer than the time between two runs
    /// delays the next one: nothing piles up.
    pub async fn run(self, stop: CancellationToken) {
        let mut last = Timestamp::now();
        while let Some(next) = self.mapping.schedule.next_after(last) {
            let wait = Duration::try_from(next.duration_since(Timestamp::now())).unwrap_or(Duration::ZERO);
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(wait) => {}
            }
            if let Err(error) = self.function.invoke(self.event(next)).await {
                tracing::error!(function = self.function.name, error, "scheduled run failed");
            }
            last = next.max(Timestamp::now() - Duration::from_secs(1));
        }
    }

    fn event(&self, at: Timestamp) -> Value {
        self.mapping.input.clone().unwrap_or_else(|| {
            json!({
                "version": "0",
                "id": uuid::Uuid::now_v7().to_string(),
                "detail-type": "Scheduled Event",
                "source": "aws.events",
                "account": ACCOUNT,
                "time": at.to_string(),
                "region": REGION,
                "resources": [self.mapping.name],
                "detail": {},
            })
        })
    }
}
