//! Delivering again what has been delivered, as AWS may do at any time: the same record, to the same function.

use futures_util::future::join_all;
use serde_json::json;

use crate::deliveries::Deliveries;
use crate::functions::Invocable;

/// Delivers everything of an event again, `times` times, all at once; gives back how many deliveries that were.
pub async fn redeliver(deliveries: &Deliveries, functions: &[Invocable], event_id: &str, times: u32) -> usize {
    let again = deliveries.of_event(event_id);
    let again = again.iter().flat_map(|delivery| std::iter::repeat_n(delivery, usize::try_from(times).unwrap_or(0)));
    let invocations: Vec<_> = again
        .filter_map(|delivery| {
            let function = functions.iter().find(|function| function.name == delivery.function)?;
            Some(function.invoke(json!({"Records": [delivery.record]})))
        })
        .collect();
    let count = invocations.len();
    for failure in join_all(invocations).await.into_iter().filter_map(Result::err) {
        tracing::warn!(failure, "redelivery failed");
    }
    count
}
