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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::mapping::Schedule;

    #[tokio::test(start_paused = true)]
    async fn a_schedule_invokes_its_function_again_and_again_until_stopped() {
        let (seen, invocations) = mpsc::channel();
        let function =
            Invocable::of_test(move |event| seen.send(event).map(|()| Value::Null).map_err(|e| e.to_string()));
        let schedule = Schedule::parse("rate(1 minute)").expect("a schedule");
        let mapping = ScheduleMapping { name: "Sweep".to_owned(), schedule, input: None };
        let stop = CancellationToken::new();
        let run = tokio::spawn(Scheduled { mapping, function }.run(stop.clone()));
        let mut seen = Vec::new();
        while seen.len() < 2 {
            tokio::time::sleep(Duration::from_secs(30)).await;
            seen.extend(invocations.try_iter());
        }
        stop.cancel();
        run.await.expect("it stops");
        assert_eq!(seen[0]["detail-type"], "Scheduled Event");
    }
}
