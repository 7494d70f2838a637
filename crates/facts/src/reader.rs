//! A plain reader of a table in a directory, for tests. It is independent of the writer.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field as Cell;
use serde_json::Value;

/// A row by the names of its columns.
pub type ReadRow = BTreeMap<String, Value>;

/// Returns all rows of a table in any order, by the commits of its log from the first to version
/// `until` (all if absent).
///
/// # Errors
/// What is wrong with the table, as text.
pub fn read_table(table: &Path, until: Option<u64>) -> Result<Vec<ReadRow>, String> {
    let mut rows = Vec::new();
    for name in files_of(table, until)? {
        let path = table.join(&name);
        let failed = |why: String| format!("{}: {why}", path.display());
        let file = File::open(&path).map_err(|error| failed(error.to_string()))?;
        let reader = SerializedFileReader::new(file).map_err(|error| failed(error.to_string()))?;
        for row in reader
            .get_row_iter(None)
            .map_err(|error| failed(error.to_string()))?
        {
            let row = row.map_err(|error| failed(error.to_string()))?;
            let value = |cell: Cell| match cell {
                // Microseconds since 1970.
                Cell::TimestampMicros(us) => Value::from(us),
                other => other.to_json_value(),
            };
            rows.push(
                row.into_columns()
                    .into_iter()
                    .map(|(name, cell)| (name, value(cell)))
                    .collect(),
            );
        }
    }
    Ok(rows)
}

/// Returns the rows as lines of JSON, sorted, without some of the columns.
///
/// # Errors
/// As [`read_table`].
pub fn table_as_text(table: &Path, without: &[&str]) -> Result<String, String> {
    let mut lines = Vec::new();
    for mut row in read_table(table, None)? {
        row.retain(|name, _| !without.contains(&name.as_str()));
        lines.push(serde_json::to_string(&row).map_err(|error| error.to_string())? + "\n");
    }
    lines.sort_unstable();
    Ok(lines.concat())
}

/// Returns the names of the live data files.
fn files_of(table: &Path, until: Option<u64>) -> Result<BTreeSet<String>, String> {
    let mut files = BTreeSet::new();
    for version in 0..=until.unwrap_or(u64::MAX - 1) {
        let path = table.join("_delta_log").join(format!("{version:020}.json"));
        let Ok(commit) = fs::read_to_string(&path) else {
            break;
        };
        let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
        for line in commit.lines() {
            let action: Value = serde_json::from_str(line).map_err(|error| failed(&error))?;
            let name = |kind: &str| Some(action.get(kind)?.get("path")?.as_str()?.to_owned());
            if let Some(gone) = name("remove")
                && !files.remove(&gone)
            {
                return Err(failed(&format!("{gone} is removed but was never added")));
            }
            if let Some(new) = name("add")
                && !files.insert(new.clone())
            {
                return Err(failed(&format!("{new} is added twice")));
            }
        }
    }
    Ok(files)
}
