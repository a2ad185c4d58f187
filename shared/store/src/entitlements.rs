//! Queries of entitlements.

use belfry_aws::commit::Expression;
use belfry_aws::item::text;
use belfry_aws::{Belfry, Entity, Error, Page, Query, Stored};
use domain::UserId;
use domain::entitlement::Entitlement;

/// One page of a user's entitlements in the order of their units, from after this unit. One consistent query.
pub async fn of_user(
    belfry: &Belfry,
    user_id: &UserId,
    limit: u16,
    after: Option<&str>,
) -> Result<Page<Stored<Entitlement>>, Error> {
    let key = match after {
        Some(after) => Expression::new(
            "#user_id = :user AND #stock_keeping_unit > :after",
            [(":user", text(user_id)), (":after", text(after))],
        ),
        None => Expression::new("#user_id = :user", [(":user", text(user_id))]),
    };
    let page = belfry.query(&Query::table(Entitlement::TABLE, key).limit(limit)).await?;
    let rows: Vec<Stored<Entitlement>> = page.items.into_iter().map(Stored::from_item).collect::<Result<_, _>>()?;
    let next = rows.last().filter(|_| page.next.is_some()).map(|row| row.stock_keeping_unit.to_string());
    Ok(Page { rows, next })
}
