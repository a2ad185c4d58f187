//! TransactWriteItems and conditional writes.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    AttributeValue, CancellationReason, Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem,
};

use crate::clients::{Pair, item};

fn put_if_absent(id: &str, by: &str) -> TransactWriteItem {
    let put = Put::builder()
        .table_name("accounts")
        .set_item(Some(item(&[("id", id), ("by", by)])))
        .condition_expression("attribute_not_exists(id)")
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
        .build()
        .expect("complete");
    TransactWriteItem::builder().put(put).build()
}

async fn transact(client: &Client, items: Vec<TransactWriteItem>) -> Result<(), Vec<CancellationReason>> {
    match client.transact_write_items().set_transact_items(Some(items)).send().await {
        Ok(_) => Ok(()),
        Err(SdkError::ServiceError(refused)) => match refused.into_err() {
            TransactWriteItemsError::TransactionCanceledException(cancelled) => {
                Err(cancelled.cancellation_reasons.expect("reasons"))
            }
            other => panic!("{other:?}"),
        },
        Err(other) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn cancelled_transaction_returns_each_reason_and_the_existing_item() {
    let pair = Pair::start().await;
    pair.table("accounts").send().await.unwrap();
    transact(&pair.dynamodb, vec![put_if_absent("taken", "first")]).await.unwrap();

    let both = vec![put_if_absent("free", "second"), put_if_absent("taken", "second")];
    let reasons = transact(&pair.dynamodb, both).await.unwrap_err();

    assert_eq!(reasons[0].code.as_deref(), Some("None"));
    assert_eq!(reasons[0].item, None);
    assert_eq!(reasons[1].code.as_deref(), Some("ConditionalCheckFailed"));
    assert_eq!(reasons[1].item, Some(item(&[("id", "taken"), ("by", "first")])));
    let free = pair.dynamodb.get_item().table_name("accounts").key("id", AttributeValue::S("free".to_owned()));
    assert_eq!(free.send().await.unwrap().item, None);
}

#[tokio::test]
async fn failed_condition_returns_the_existing_item() {
    let pair = Pair::start().await;
    pair.table("accounts").send().await.unwrap();
    let put = |by: &str| {
        pair.dynamodb
            .put_item()
            .table_name("accounts")
            .set_item(Some(item(&[("id", "taken"), ("by", by)])))
            .condition_expression("attribute_not_exists(id)")
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send()
    };
    put("first").await.unwrap();
    let refused = put("second").await.unwrap_err().into_service_error();
    let aws_sdk_dynamodb::operation::put_item::PutItemError::ConditionalCheckFailedException(failed) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(failed.item, Some(item(&[("id", "taken"), ("by", "first")])));
}

#[tokio::test]
async fn one_of_sixteen_concurrent_creates_wins() {
    let pair = Pair::start().await;
    pair.table("accounts").send().await.unwrap();
    for round in 0..20 {
        let id = format!("round-{round}");
        let racers: Vec<_> = (0..16)
            .map(|racer| {
                let (client, id) = (pair.dynamodb.clone(), id.clone());
                tokio::spawn(async move {
                    let name = format!("racer-{racer}");
                    transact(&client, vec![put_if_absent(&id, &name)]).await.map(|()| name)
                })
            })
            .collect();
        let mut winners = Vec::new();
        let mut seen_by_losers = Vec::new();
        for racer in racers {
            match racer.await.unwrap() {
                Ok(name) => winners.push(name),
                Err(reasons) => seen_by_losers.push(reasons[0].item.clone().unwrap()["by"].as_s().unwrap().clone()),
            }
        }
        assert_eq!(winners.len(), 1, "in round {round}");
        assert!(seen_by_losers.iter().all(|winner| *winner == winners[0]), "in round {round}");
    }
}
