//! The application's metrics, beside the kernel's.

use std::time::SystemTime;

use belfry_aws::Metrics;
use domain::order::OrderStatus;
use metrique::unit_of_work::metrics;

#[metrics(emf::dimension_sets = [[]], rename_all = "PascalCase")]
struct SagaMetrics {
    #[metrics(timestamp)]
    timestamp: SystemTime,
    orders_completed: u32,
    orders_failed: u32,
    orders_cancelled: u32,
}

/// Counts an order that has ended.
pub fn saga_ended(metrics: &Metrics, status: OrderStatus) {
    let count = |counted| u32::from(status == counted);
    let entry = SagaMetrics {
        timestamp: SystemTime::now(),
        orders_completed: count(OrderStatus::Completed),
        orders_failed: count(OrderStatus::Failed),
        orders_cancelled: count(OrderStatus::Cancelled),
    };
    drop(entry.append_on_drop(metrics.sink()));
}
