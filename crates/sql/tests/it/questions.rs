//! Every statement of docs/sql.md works as the page says.

use sql::QUESTIONS;

use crate::data::{Workspace, ask, shared_inputs};

#[test]
fn every_question_has_an_answer() {
    let Some(inputs) = shared_inputs(&["crawls", "commoncrawl"]) else {
        return;
    };
    let place = Workspace::new();
    place.load_by_path(&place.own(), &inputs);
    // The loaded files, and one that was not loaded.
    let tree = place.path("tree");
    std::fs::create_dir(&tree).unwrap();
    std::fs::write(tree.join("new.warc.gz"), b"").unwrap();
    for dir in [inputs[0].parent().unwrap(), &tree] {
        place.scan(dir);
    }
    let database = place.database();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    assert!(QUESTIONS.len() >= 12, "{}", QUESTIONS.len());
    for question in QUESTIONS.iter() {
        let (heading, statement) = (question.title, &question.statement);
        let rows = runtime.block_on(ask(&database, statement));
        assert!(!rows.is_empty(), "{heading}: no rows\n{statement}");
    }
}

/// The page names every table and column.
#[test]
fn the_page_names_every_column() {
    let page = include_str!("../../../../docs/sql.md");
    for table in sql::TABLES {
        assert!(page.contains(&format!("`{}`", table.name)), "{}", table.name);
        if let Some(live) = sql::LiveTable::named(table.name) {
            for field in live.schema().fields() {
                assert!(page.contains(field.name()), "{}.{}", table.name, field.name());
            }
        }
        if let Some(files) = sql::FileTable::named(table.name) {
            for field in files.schema().fields() {
                assert!(
                    page.contains(&format!("`{}`", field.name())),
                    "{}.{}",
                    table.name,
                    field.name()
                );
            }
        }
    }
}
