//! The files of a facts table, and additional rows from the same files.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use serde_json::{Value, json};

/// A data file of a table.
pub(crate) struct DataFile {
    pub(crate) path: String,
    pub(crate) size: u64,
    pub(crate) rows: u64,
    add: Value,
}

/// Returns the data files in the JSON part of a table's log. Tables of this benchmark are too young
/// to have another part.
pub(crate) fn files(table: &Path) -> anyhow::Result<Vec<DataFile>> {
    let mut files = BTreeMap::new();
    for name in commits(table)? {
        let text = std::fs::read_to_string(table.join("_delta_log").join(name))?;
        for line in text.lines() {
            let action: Value = serde_json::from_str(line)?;
            if let Some(path) = action["remove"]["path"].as_str() {
                files.remove(path);
            }
            if let Some(path) = action["add"]["path"].as_str() {
                let add = action["add"].clone();
                let stats: Value = serde_json::from_str(add["stats"].as_str().unwrap_or("{}"))?;
                let file = DataFile {
                    path: path.to_owned(),
                    size: add["size"].as_u64().unwrap_or(0),
                    rows: stats["numRecords"].as_u64().unwrap_or(0),
                    add,
                };
                files.insert(path.to_owned(), file);
            }
        }
    }
    Ok(files.into_values().collect())
}

fn commits(table: &Path) -> anyhow::Result<Vec<String>> {
    let log = table.join("_delta_log");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&log).with_context(|| format!("list {}", log.display()))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".json") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Adds each file to the table until it is there `copies` times, under other names, in one commit.
pub(crate) fn enter(table: &Path, copies: u64) -> anyhow::Result<()> {
    let mut actions = vec![json!({ "commitInfo": { "operation": "WRITE", "engineInfo": "bench/sql" } })];
    for file in files(table)? {
        for copy in 1..copies {
            let name = format!("copy-{copy}-{}", file.path);
            std::fs::hard_link(table.join(&file.path), table.join(&name)).context("link a file of facts")?;
            let mut add = file.add.clone();
            add["path"] = json!(name);
            actions.push(json!({ "add": add }));
        }
    }
    if copies > 1 {
        let next = commits(table)?.len();
        let lines: Vec<String> = actions.iter().map(Value::to_string).collect();
        let commit = table.join("_delta_log").join(format!("{next:020}.json"));
        std::fs::write(commit, lines.join("\n") + "\n").context("write a commit")?;
    }
    Ok(())
}
