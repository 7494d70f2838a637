//! Every statement of docs/sql.md does what the page says.

use std::path::Path;

use crate::data::{Place, ask, shared_inputs};

/// The statements of the page, each with the heading above it.
fn statements(page: &str) -> Vec<(String, String)> {
    let mut heading = String::new();
    let mut found = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(text) = line.strip_prefix("### ") {
            heading = text.to_owned();
        }
        if line == "```sql" {
            let statement: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            found.push((heading.clone(), statement.join("\n")));
        }
    }
    found
}

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sql.md");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn every_question_has_an_answer() {
    let Some(inputs) = shared_inputs(&["crawls", "commoncrawl"]) else {
        return;
    };
    let place = Place::new();
    place.load(&place.own(), &inputs, None);
    let database = place.database();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let all = statements(&page());
    assert!(all.len() >= 12, "{}", all.len());
    for (heading, statement) in all {
        let rows = runtime.block_on(ask(&database, &statement));
        assert!(!rows.is_empty(), "{heading}: no rows\n{statement}");
    }
}

/// The page names every table and column that there is.
#[test]
fn the_page_names_every_column() {
    let page = page();
    for table in sql::TABLES {
        assert!(page.contains(&format!("`{}`", table.name)), "{}", table.name);
        if let Some(live) = sql::LiveTable::named(table.name) {
            for field in live.schema().fields() {
                assert!(page.contains(field.name()), "{}.{}", table.name, field.name());
            }
        }
    }
}
