//! The application's metrics, beside those of the kernel.

use std::time::SystemTime;

use belfry_aws::Metrics;
use domain::order::OrderStatus;
use domain::recipient::Channel;
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

/// What a batch of a channel's delivery jobs came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Sends that the provider accepted.
    pub sent: u32,
    /// Sends that were given up, each with a dead letter.
    pub failed: u32,
    /// Sends without an address.
    pub skipped: u32,
    /// Uncertain sends that are held for an operator.
    pub held: u32,
    /// Sends that will be retried.
    pub retried: u32,
    /// Jobs for which there was nothing to do.
    pub duplicates: u32,
}

#[metrics(emf::dimension_sets = [["Channel"], []], rename_all = "PascalCase")]
struct DeliveryMetrics {
    #[metrics(timestamp)]
    timestamp: SystemTime,
    channel: &'static str,
    sent: u32,
    send_failed: u32,
    skipped: u32,
    held: u32,
    send_retried: u32,
    send_duplicates: u32,
}

/// Counts one batch of a channel.
pub fn delivered(metrics: &Metrics, channel: Channel, delivered: &Delivered) {
    let entry = DeliveryMetrics {
        timestamp: SystemTime::now(),
        channel: channel.as_str(),
        sent: delivered.sent,
        send_failed: delivered.failed,
        skipped: delivered.skipped,
        held: delivered.held,
        send_retried: delivered.retried,
        send_duplicates: delivered.duplicates,
    };
    drop(entry.append_on_drop(metrics.sink()));
}
