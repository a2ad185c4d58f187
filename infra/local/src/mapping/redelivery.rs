//! Redelivers records to the functions that have received them, as AWS may do at any time.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::deliveries::Deliveries;
use crate::functions::Invocable;

#[derive(Debug, PartialEq, Eq)]
pub struct Redelivered {
    pub deliveries: usize,
    pub failed: usize,
}

/// Redelivers every record of an event `times` times, all concurrently.
pub async fn redeliver(deliveries: &Deliveries, functions: &[Invocable], event_id: &str, times: u32) -> Redelivered {
    let again = deliveries.of_event(event_id);
    let again = again.iter().flat_map(|delivery| std::iter::repeat_n(delivery, usize::try_from(times).unwrap_or(0)));
    let invocations: Vec<_> = again
        .filter_map(|delivery| {
            let function = functions.iter().find(|function| function.name == delivery.function)?;
            Some(function.invoke(json!({"Records": [delivery.record]})))
        })
        .collect();
    let deliveries = invocations.len();
    let succeeded = |response: &Result<Value, String>| {
        response.as_ref().is_ok_and(|report| report["batchItemFailures"].as_array().is_none_or(Vec::is_empty))
    };
    let failed = join_all(invocations).await.iter().filter(|response| !succeeded(response)).count();
    Redelivered { deliveries, failed }
}
