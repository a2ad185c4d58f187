//! Commands: once per key, whatever happens at the same time.

use belfry_aws::item::{AttributeValue, text};
use belfry_aws::{Context, Entity, Executed, Keep, StoredResponse, tables};
use futures_util::future::join_all;
use serde_json::json;

use crate::library::{Copy, Return, TABLES, borrow, respond};
use crate::world::{World, request};

async fn execute(world: &World, key: &str, shelf_mark: &str, reader: &str) -> Executed<u64> {
    let request = request("desk", key, &json!([shelf_mark, reader]));
    world.belfry.execute(&request, &borrow(shelf_mark, reader), respond).await.expect("executed")
}

fn body<T>(executed: &Executed<T>) -> (&'static str, u16, String) {
    let (kind, response) = match executed {
        Executed::Accepted { response, .. } => ("accepted", response),
        Executed::Refused { response, .. } => ("refused", response),
        Executed::Replayed(response) => ("replayed", response),
        _ => return ("conflict", 409, String::new()),
    };
    (kind, response.status, response.body.clone())
}

#[tokio::test]
async fn a_retry_returns_the_stored_response() {
    let world = World::new(&TABLES).await;
    assert_eq!(body(&execute(&world, "k", "QA76", "ada").await), ("accepted", 201, "1".to_owned()));
    assert_eq!(body(&execute(&world, "k", "QA76", "ada").await), ("replayed", 201, "1".to_owned()));
    assert_eq!(body(&execute(&world, "k", "QA76", "bob").await).0, "conflict");
    assert_eq!(world.items(tables::EVENTS).await.len(), 1);
}

#[tokio::test]
async fn concurrent_requests_with_one_key_take_effect_once() {
    let world = World::new(&TABLES).await;
    let all = join_all((0..16).map(|_| execute(&world, "k", "QA76", "ada"))).await;
    assert!(all.iter().all(|executed| body(executed).1 == 201 && body(executed).2 == "1"), "{all:?}");
    assert_eq!(all.iter().filter(|executed| body(executed).0 == "accepted").count(), 1, "{all:?}");
    assert_eq!(world.items(tables::EVENTS).await.len(), 1);
}

#[tokio::test]
async fn concurrent_requests_with_keys_of_their_own_have_one_winner() {
    let world = World::new(&TABLES).await;
    let keys: Vec<String> = (0..16).map(|n| format!("k-{n}")).collect();
    let all = join_all(keys.iter().map(|key| execute(&world, key, "QA76", "ada"))).await;
    let count = |kind| all.iter().filter(|executed| body(executed).0 == kind).count();
    assert_eq!((count("accepted"), count("refused")), (1, 15), "{all:?}");
}

#[tokio::test]
async fn a_refusal_that_depends_on_state_is_replayed_after_the_state_changed() {
    let world = World::new(&TABLES).await;
    execute(&world, "first", "QA76", "ada").await;
    assert_eq!(body(&execute(&world, "k", "QA76", "bob").await), ("refused", 409, "\"lent to ada\"".to_owned()));
    let returned = world.belfry.run(&Context::begin(), &Return("QA76".to_owned())).await.expect("run");
    assert_eq!(returned.ok(), Some(2));
    assert_eq!(body(&execute(&world, "k", "QA76", "bob").await), ("replayed", 409, "\"lent to ada\"".to_owned()));
    assert_eq!(body(&execute(&world, "k2", "QA76", "bob").await), ("accepted", 201, "3".to_owned()));
}

#[tokio::test]
async fn a_refusal_that_does_not_depend_on_state_is_decided_anew() {
    let world = World::new(&TABLES).await;
    let request = request("desk", "k", &json!(null));
    let refused = world.belfry.execute(&request, &borrow("QA76", "thief"), respond).await.expect("executed");
    assert!(matches!(refused, Executed::Refused { keep: Keep::DoNotStore, .. }), "{refused:?}");
    let accepted = world.belfry.execute(&request, &borrow("QA76", "ada"), respond).await.expect("executed");
    assert_eq!(body(&accepted).0, "accepted");
    // What is stored under the key counts, even if the caller may no longer do it.
    let replayed = world.belfry.execute(&request, &borrow("QA76", "thief"), respond).await.expect("executed");
    assert_eq!(body(&replayed).0, "replayed");
}

#[tokio::test]
async fn an_expired_key_counts_as_absent() {
    let world = World::with(&TABLES, |mut config| {
        config.key_ttl = std::time::Duration::ZERO;
        config
    })
    .await;
    assert_eq!(body(&execute(&world, "k", "QA76", "ada").await).0, "accepted");
    assert_eq!(body(&execute(&world, "k", "QA76", "ada").await), ("refused", 409, "\"lent to ada\"".to_owned()));
}

#[tokio::test]
async fn unknown_attributes_survive_a_write_of_an_older_release() {
    let world = World::new(&TABLES).await;
    execute(&world, "k", "QA76", "ada").await;
    let mut item = world.items(Copy::TABLE).await.remove(0);
    item.insert("condition".to_owned(), text("torn"));
    item.insert("tags".to_owned(), AttributeValue::Ss(vec!["rare".to_owned()]));
    item.insert("weight".to_owned(), AttributeValue::N("12345678901234567890123456789012345678".to_owned()));
    world.put(Copy::TABLE, &item).await;
    world.belfry.run(&Context::begin(), &Return("QA76".to_owned())).await.expect("run").expect("returned");
    let after = world.items(Copy::TABLE).await.remove(0);
    for name in ["condition", "tags", "weight"] {
        assert_eq!(after.get(name), item.get(name), "{name}");
    }
    assert_eq!(after.get("reader"), Some(&AttributeValue::Null(true)));
}

#[tokio::test]
async fn an_idempotent_handler_commits_once() {
    let world = World::new(&TABLES).await;
    let lend = async |key: &str| {
        let request = request("desk", key, &json!("QA76"));
        let executed = world.belfry.idempotent(&request, async |tx| {
            let copy = tx.get::<Copy>("QA76").await?;
            let lent = Copy { shelf_mark: "QA76".to_owned(), reader: Some(tx.id(0).to_string()) };
            let lent = belfry_aws::Revision::of(copy.as_ref(), lent);
            Ok(tx.commit().put(&lent).output(StoredResponse::json(200, &lent.version())))
        });
        executed.await.expect("executed")
    };
    assert_eq!(body(&lend("k").await), ("accepted", 200, "1".to_owned()));
    assert_eq!(body(&lend("k").await), ("replayed", 200, "1".to_owned()));
    assert_eq!(body(&lend("k2").await), ("accepted", 200, "2".to_owned()));
    let all = join_all((0..8).map(|_| lend("same"))).await;
    assert_eq!(all.iter().filter(|executed| body(executed).0 == "accepted").count(), 1, "{all:?}");
}
