//! Invokes a function at a fixed rate.

use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use crate::functions::Invocable;
use crate::template::ScheduleMapping;

/// Invokes the function until told to stop. A run that takes longer than the rate delays the next one, so runs never
/// overlap.
pub async fn run_schedule(mapping: ScheduleMapping, function: Invocable, stop: CancellationToken) {
    let mut ticks = interval_at(Instant::now() + mapping.every, mapping.every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        if let Err(error) = function.invoke(mapping.input.clone()).await {
            tracing::error!(function = function.name, error, "scheduled invocation failed");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn schedule_invokes_its_function_repeatedly_until_stopped() {
        let (seen, invocations) = mpsc::channel();
        let function =
            Invocable::of_test(move |event| seen.send(event).map(|()| Value::Null).map_err(|e| e.to_string()));
        let mapping = ScheduleMapping { every: Duration::from_secs(60), input: json!({"task": "outbox"}) };
        let stop = CancellationToken::new();
        let run = tokio::spawn(run_schedule(mapping, function, stop.clone()));
        let mut seen = Vec::new();
        while seen.len() < 2 {
            tokio::time::sleep(Duration::from_secs(30)).await;
            seen.extend(invocations.try_iter());
        }
        stop.cancel();
        run.await.expect("it stops");
        assert_eq!(seen[0], json!({"task": "outbox"}));
    }
}
