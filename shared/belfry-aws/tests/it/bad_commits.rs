//! Commits that DynamoDB would refuse, or that would never succeed: a clear error, and nothing is written.

use belfry_aws::commit::Expression;
use belfry_aws::item::text;
use belfry_aws::{Command, Commit, Context, Entity, EventDraft, Found, Get, Place, Stored, Table, Write, tables};
use serde_json::json;

use crate::library::{Copy, TABLES};
use crate::world::{World, request};

#[derive(Debug, Clone, Copy)]
enum Mistake {
    Twice,
    TooMany,
    KeyChanged,
    PayloadTooLarge,
    OutsideReadSet,
}

struct Wrong(Mistake);

fn copy(shelf_mark: &str) -> Copy {
    Copy { shelf_mark: shelf_mark.to_owned(), reader: None }
}

impl Command for Wrong {
    const NAME: &'static str = "wrong";
    type Reads = Get<Copy>;
    type Output = ();
    type Refusal = std::convert::Infallible;

    fn reads(&self) -> Get<Copy> {
        Copy::by_id("QA76")
    }

    fn decide(&self, _: Found<Self>, ctx: &Context) -> Result<Commit<()>, Self::Refusal> {
        let commit = ctx.commit();
        Ok(match self.0 {
            Mistake::Twice => commit.create(&copy("QA76")).create(&copy("QA76")),
            Mistake::TooMany => commit.each(0..101, |commit, n| commit.create(&copy(&format!("QA{n}")))),
            Mistake::KeyChanged => commit.put(&Stored::at(1, copy("QA76")).becomes(copy("QA77"))),
            Mistake::PayloadTooLarge => {
                let payload = json!({"text": "x".repeat(200 * 1024)});
                commit.create(&copy("QA76")).event(EventDraft::new("Described", ("Copy", "QA76"), &payload))
            }
            Mistake::OutsideReadSet => {
                let place: Place = <Copy as Entity>::TABLE.at("elsewhere");
                let update = Expression::new("SET #reader = :reader", [(":reader", text("ada"))]);
                commit
                    .create(&copy("QA76"))
                    .write(Write::update(place, update).when(Expression::new("attribute_exists(#shelf_mark)", [])))
            }
        })
    }
}

#[tokio::test]
async fn a_commit_that_cannot_be_written_names_the_command_and_the_item() {
    let world = World::new(&TABLES).await;
    for (mistake, expected) in [
        (Mistake::Twice, "cannot be written: wrong: copies QA76 is written twice in one commit"),
        (Mistake::TooMany, "cannot be written: wrong: 102 items in one commit; at most 100"),
        (Mistake::KeyChanged, "cannot be written: wrong: copies QA77 is a revision of an entity with another key"),
        (Mistake::PayloadTooLarge, "cannot be written: Described: payload of 204811 bytes; at most 196608"),
        (
            Mistake::OutsideReadSet,
            "cannot be written: wrong: condition on copies elsewhere, which is not in the read set",
        ),
    ] {
        let request = request("desk", &format!("{mistake:?}"), &json!(null));
        let render = |_: Result<&(), &std::convert::Infallible>| belfry_aws::StoredResponse::json(200, &());
        let problem = world.belfry.execute(&request, &Wrong(mistake), render).await.expect_err("refused");
        assert_eq!(problem.to_string(), expected);
        for table in [Copy::TABLE, tables::EVENTS, tables::IDEMPOTENCY_KEYS] {
            assert!(world.items(table).await.is_empty(), "{mistake:?} wrote to {}", table.name);
        }
    }
}

#[test]
fn a_table_without_a_name_is_reported() {
    const UNNAMED: Table = Table::new("unnamed", "id");
    let tables = belfry_aws::Tables::default();
    let problem = tables.name(UNNAMED).expect_err("unnamed").to_string();
    assert_eq!(problem, "refused: BELFRY_UNNAMED_TABLE is not set");
}
