//! A plain reader of a table in a directory, for tests. It is independent of the writer.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field as Cell;
use serde_json::Value;

/// A row by the names of its columns.
pub type ReadRow = BTreeMap<String, Value>;

/// Why a table cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {fault}", path.display())]
pub struct ReadTableError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub fault: TableFault,
}

impl ReadTableError {
    fn of(path: &Path, fault: impl Into<TableFault>) -> ReadTableError {
        ReadTableError {
            path: path.to_owned(),
            fault: fault.into(),
        }
    }
}

/// What is wrong with a file of a table.
#[derive(Debug, thiserror::Error)]
pub enum TableFault {
    /// It cannot be opened.
    #[error(transparent)]
    Open(#[from] io::Error),
    /// It is not a data file.
    #[error(transparent)]
    Data(#[from] ParquetError),
    /// It is not a commit.
    #[error(transparent)]
    Commit(#[from] serde_json::Error),
    /// It removes a data file that no commit added.
    #[error("{0} is removed but was never added")]
    Removed(String),
    /// It adds a data file again.
    #[error("{0} is added twice")]
    Added(String),
}

/// Returns all rows of a table in any order, by the commits of its log from the first to version
/// `until` (all if absent).
///
/// # Errors
/// [`ReadTableError`].
pub fn read_table(table: &Path, until: Option<u64>) -> Result<Vec<ReadRow>, ReadTableError> {
    let mut rows = Vec::new();
    for name in files_of(table, until)? {
        let path = table.join(&name);
        let unreadable = |error: ParquetError| ReadTableError::of(&path, error);
        let file = File::open(&path).map_err(|error| ReadTableError::of(&path, error))?;
        let reader = SerializedFileReader::new(file).map_err(unreadable)?;
        for row in reader.get_row_iter(None).map_err(unreadable)? {
            let row = row.map_err(unreadable)?;
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
pub fn table_as_text(table: &Path, without: &[&str]) -> Result<String, ReadTableError> {
    let mut lines = Vec::new();
    for mut row in read_table(table, None)? {
        row.retain(|name, _| !without.contains(&name.as_str()));
        lines.push(format!("{}\n", Value::from_iter(row)));
    }
    lines.sort_unstable();
    Ok(lines.concat())
}

/// Returns the names of the live data files.
fn files_of(table: &Path, until: Option<u64>) -> Result<BTreeSet<String>, ReadTableError> {
    let mut files = BTreeSet::new();
    for version in 0..=until.unwrap_or(u64::MAX - 1) {
        let path = table.join("_delta_log").join(format!("{version:020}.json"));
        let Ok(commit) = fs::read_to_string(&path) else {
            break;
        };
        for line in commit.lines() {
            let action: Value =
                serde_json::from_str(line).map_err(|error| ReadTableError::of(&path, error))?;
            let name = |kind: &str| Some(action.get(kind)?.get("path")?.as_str()?.to_owned());
            if let Some(gone) = name("remove")
                && !files.remove(&gone)
            {
                return Err(ReadTableError::of(&path, TableFault::Removed(gone)));
            }
            if let Some(new) = name("add")
                && !files.insert(new.clone())
            {
                return Err(ReadTableError::of(&path, TableFault::Added(new)));
            }
        }
    }
    Ok(files)
}
