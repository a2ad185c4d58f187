//! Queries of orders.

use belfry_aws::commit::Expression;
use belfry_aws::item::from_item;
use belfry_aws::item::text;
use belfry_aws::{Belfry, Entity, Error, Get, Query, Stored, Timestamp};
use domain::order::{Order, UNSETTLED};
use futures_util::future::try_join_all;
use serde::Deserialize;
use uuid::Uuid;

#[derive(Deserialize)]
struct Listed {
    order_id: Uuid,
}

/// Orders whose deadline has passed, at most `limit` of each partition of the index, as they are now. The index lags:
/// orders that it lists and that have ended since are left out.
pub async fn overdue(belfry: &Belfry, now: Timestamp, limit: u16) -> Result<Vec<Stored<Order>>, Error> {
    let listed = Order::unsettled_partitions().map(|partition| {
        let due = Expression::new(
            "#unsettled = :partition AND #due_at BETWEEN :from AND :now",
            [(":partition", text(partition)), (":from", text("0")), (":now", text(now))],
        );
        let query = Query::index(Order::TABLE, UNSETTLED.name, due).attributes(&["order_id"]).limit(limit);
        belfry.query_until(query, move |items| items.len() >= usize::from(limit))
    });
    let listed = try_join_all(listed).await?.into_iter().flat_map(|page| page.items);
    let orders: Vec<Get<Order>> = listed
        .map(|item| from_item(Order::TABLE.name, item).map(|listed: Listed| Order::by_id(listed.order_id)))
        .collect::<Result<_, _>>()?;
    let orders = belfry.read(orders).await?.into_iter().flatten();
    Ok(orders.filter(|order| order.is_overdue(now)).collect())
}
