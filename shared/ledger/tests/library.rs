//! The example runs, and the ledger works for somebody else's aggregate.

#[path = "../examples/borrow_a_book.rs"]
#[expect(dead_code, reason = "the example's own main")]
mod borrow_a_book;

#[tokio::test]
async fn a_book_is_lent_once_and_the_answer_is_replayed() {
    let lines = borrow_a_book::lend().await.expect("the example runs");
    assert_eq!(
        lines,
        [
            r#"ada: accepted {"shelf_mark":"QA76","reader":"ada","version":1}"#,
            r#"ada: replayed {"shelf_mark":"QA76","reader":"ada","version":1}"#,
            r#"bruno: refused {"code":"LENT","message":"ada has it"}"#,
        ]
    );
}
