//! The limit that a grant is held against: an axum handler in a Lambda that writes the same three items, of the same size
//! and under the same conditions, in one transaction, and does nothing else. No caller, no fingerprint, no replay, no
//! second try, no log, no metrics.
//!
//! It has the client, the allocator and the tables of `functions/api`, and is built for speed where that is built for size:
//! what differs is what Belfry does beyond the write, and what its size costs.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Clone)]
struct Bare {
    client: Client,
    entitlements: String,
    events: String,
    keys: String,
}

#[derive(Deserialize)]
struct Grant {
    user_id: String,
    stock_keeping_unit: String,
    reason: String,
    purchase_id: String,
}

#[derive(Serialize)]
struct Granted<'a> {
    user_id: &'a str,
    stock_keeping_unit: &'a str,
    status: &'a str,
    version: u64,
    updated_at: &'a str,
}

#[derive(Serialize)]
struct Payload<'a> {
    event_id: &'a str,
    event_type: &'a str,
    occurred_at: &'a str,
    user_id: &'a str,
    stock_keeping_unit: &'a str,
    source: &'a str,
    source_id: &'a str,
    version: u64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    let settings = runtime::Settings::from_env();
    let bare = Bare {
        client: runtime::dynamodb(&runtime::aws(&settings)?),
        entitlements: settings.text("BELFRY_ENTITLEMENTS_TABLE")?,
        events: settings.text("BELFRY_EVENTS_TABLE")?,
        keys: settings.text("BELFRY_IDEMPOTENCY_KEYS_TABLE")?,
    };
    lambda_http::run(Router::new().route("/v1/entitlements/grants", post(grant)).with_state(bare)).await
}

async fn grant(
    State(bare): State<Bare>,
    headers: HeaderMap,
    Json(asked): Json<Grant>,
) -> Result<([(&'static str, &'static str); 1], String), StatusCode> {
    let Grant { user_id, stock_keeping_unit, reason, purchase_id } = asked;
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok()).ok_or(StatusCode::BAD_REQUEST)?;
    let moment = jiff::Timestamp::now();
    let now = format!("{moment:.3}");
    let event_id = uuid::Uuid::now_v7().to_string();
    let payload = Payload {
        event_id: &event_id,
        event_type: "EntitlementGranted",
        occurred_at: &now,
        user_id: &user_id,
        stock_keeping_unit: &stock_keeping_unit,
        source: &reason,
        source_id: &purchase_id,
        version: 1,
    };
    let payload = serde_json::to_string(&payload).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    let answer = Granted {
        user_id: &user_id,
        stock_keeping_unit: &stock_keeping_unit,
        status: "ACTIVE",
        version: 1,
        updated_at: &now,
    };
    let answer = serde_json::to_string(&answer).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    let entitlement = [
        ("user_id", text(&user_id)),
        ("stock_keeping_unit", text(&stock_keeping_unit)),
        ("status", text("ACTIVE")),
        ("version", number(1)),
        ("updated_at", text(&now)),
    ];
    let event = [
        ("event_id", text(&event_id)),
        ("event_type", text("EntitlementGranted")),
        ("aggregate_type", text("Entitlement")),
        ("aggregate_id", text(format!("{user_id}#{stock_keeping_unit}"))),
        ("aggregate", text(format!("Entitlement#{user_id}#{stock_keeping_unit}"))),
        ("sequence", text("00000000000000000001")),
        ("version", number(1)),
        ("occurred_at", text(&now)),
        ("created_at", text(&now)),
        ("actor", text("shop")),
        ("traceparent", text("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")),
        ("payload", text(payload)),
        ("status", text("PENDING")),
        ("attempt_count", number(0)),
        // The index's partitions are eight, by the id.
        ("unpublished", text(format!("OPEN#{}", event_id.bytes().map(u32::from).sum::<u32>() % 8))),
        ("due_at", text(&now)),
    ];
    let record = [
        ("caller_key", text(format!("https://belfry.example.com/issuer#shop#{key}"))),
        ("caller", text("shop")),
        ("key", text(key)),
        ("fingerprint", text("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")),
        ("status", number(200)),
        ("body", text(&answer)),
        ("event_ids", AttributeValue::L(vec![text(&event_id)])),
        ("created_at", text(&now)),
        ("expires_at", number(moment.as_second() + 86_400)),
    ];
    let free = "attribute_not_exists(caller_key) OR expires_at <= :now";
    let writes = [
        put(&bare.entitlements, entitlement, "attribute_not_exists(user_id)", None),
        put(&bare.events, event, "attribute_not_exists(event_id)", None),
        put(&bare.keys, record, free, Some((":now", number(moment.as_second())))),
    ];
    let writes = writes.into_iter().collect::<Result<Vec<_>, _>>().map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    match bare.client.transact_write_items().set_transact_items(Some(writes)).send().await {
        Ok(_) => Ok(([("content-type", "application/json")], answer)),
        Err(error) if error.as_service_error().is_some_and(|error| error.is_transaction_canceled_exception()) => {
            Err(StatusCode::CONFLICT)
        }
        Err(_) => Err(StatusCode::SERVICE_UNAVAILABLE),
    }
}

fn put<const N: usize>(
    table: &str,
    item: [(&str, AttributeValue); N],
    condition: &str,
    value: Option<(&str, AttributeValue)>,
) -> Result<TransactWriteItem, aws_sdk_dynamodb::error::BuildError> {
    let item = item.map(|(name, value)| (name.to_owned(), value));
    let put = Put::builder()
        .table_name(table)
        .set_item(Some(HashMap::from(item)))
        .condition_expression(condition)
        .set_expression_attribute_values(value.map(|(name, value)| HashMap::from([(name.to_owned(), value)])))
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
    Ok(TransactWriteItem::builder().put(put.build()?).build())
}

fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

fn number(value: impl ToString) -> AttributeValue {
    AttributeValue::N(value.to_string())
}
