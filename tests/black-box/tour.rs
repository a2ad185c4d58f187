//! Runs every command of `docs/tour.md` against a stack of its own and compares what it prints with what the page shows.

mod compare;
mod page;
mod pattern;
mod shell;

use std::path::{Path, PathBuf};

use harness::Stack;

use compare::Ids;
use page::steps;
use shell::Shell;

const TOUR: &str = include_str!("../../docs/tour.md");

/// Pages that name tests, as `file.rs::name`.
const NAMING_TESTS: [&str; 2] = [include_str!("../../README.md"), include_str!("../../docs/delivery.md")];

/// Runs a page; says where it is wrong.
async fn walk(stack: &Stack, page: &str) -> Result<usize, String> {
    let (mut shell, mut ids) = (Shell::new(), Ids::default());
    let steps = steps(page);
    for step in &steps {
        let printed = shell.run(stack, &step.script).await;
        let compared = match &step.shown {
            Some(shown) => ids.agree(shown, &printed),
            None if printed.trim().is_empty() => Ok(()),
            None => Err("the page shows no output".to_owned()),
        };
        compared.map_err(|problem| {
            format!("docs/tour.md:{}: {problem}\n--- shown\n{:#?}\n--- printed\n{printed}", step.line, step.shown)
        })?;
    }
    Ok(steps.len())
}

#[tokio::test]
async fn every_command_of_the_tour_prints_what_the_page_shows() {
    let stack = Stack::start().await;
    let steps = walk(&stack, TOUR).await.unwrap_or_else(|problem| panic!("{problem}"));
    assert!(steps > 10, "the tour has only {steps} steps");
}

#[tokio::test]
async fn a_page_that_is_not_true_is_found_out() {
    let stack = Stack::start().await;
    let page = |shown: &str| format!("```sh\ncurl -s localhost:3000/local/idle\n```\n\n{shown}\n");
    let (json, text) =
        (|shown: &str| page(&format!("```json\n{shown}\n```")), |shown: &str| page(&format!("```text\n{shown}\n```")));
    for true_page in [json(r#"{"idle": true}"#), json(r#"{"…": "…"}"#), text(r#"{"idle":true}"#), text("…")] {
        assert_eq!(walk(&stack, &true_page).await, Ok(1), "{true_page}");
    }
    for false_page in
        [page(""), json(r#"{"idle": false}"#), json("{}"), json(r#"{"idle": true, "for": 1}"#), text("idle"), text("")]
    {
        assert!(walk(&stack, &false_page).await.is_err(), "{false_page}");
    }
}

#[test]
fn every_test_that_the_pages_name_exists() {
    let mut sources = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().find(|folder| folder.join("Cargo.lock").exists());
    collect_sources(root.expect("the workspace"), &mut sources);
    let named = NAMING_TESTS.iter().flat_map(|page| page.split('`')).filter_map(|code| code.split_once(".rs::"));
    let mut missing = Vec::new();
    for (file, test) in named.clone() {
        let is_there = |source: &PathBuf| {
            source.file_stem().is_some_and(|stem| stem == file)
                && std::fs::read_to_string(source).is_ok_and(|text| text.contains(&format!("fn {test}(")))
        };
        if !sources.iter().any(is_there) {
            missing.push(format!("{file}.rs::{test}"));
        }
    }
    assert!(missing.is_empty(), "the README or docs/delivery.md names tests that do not exist: {missing:#?}");
    assert!(named.count() > 10);
}

/// Every Rust file below a folder, built ones and hidden ones apart.
fn collect_sources(folder: &Path, sources: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let is_skipped = name == "target" || name == "node_modules" || name.to_string_lossy().starts_with('.');
        if path.is_dir() && !is_skipped {
            collect_sources(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push(path);
        }
    }
}

#[test]
fn an_id_of_the_page_stands_for_one_id() {
    let (one, other) = ("01a1e35e-2662-7567-badb-28be01e0d69d", "01a1e35e-26a0-72c9-9616-18e299f6f791");
    let shown = page::Shown::Text(vec![one, other]);
    assert!(Ids::default().agree(&shown, &format!("{other}\n{one}\n")).is_ok());
    assert!(Ids::default().agree(&shown, &format!("{one}\n{one}\n")).is_err());
    let same = page::Shown::Text(vec![one, one]);
    assert!(Ids::default().agree(&same, &format!("{one}\n{other}\n")).is_err());
}

#[test]
fn patterns_take_as_much_as_they_can() {
    let text = r#"{"a":"1","b_c":"2"}"#;
    assert_eq!(pattern::matches(r#""[a-z_]*":"[^"]*""#, text).collect::<Vec<_>>(), [r#""a":"1""#, r#""b_c":"2""#]);
    assert_eq!(pattern::matches("[0-9]*", text).collect::<Vec<_>>(), ["1", "2"]);
    assert!(pattern::matches("x", text).next().is_none());
}
