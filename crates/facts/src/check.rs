//! Checks the data files of the tables against their logs. With damaged files a reader of the
//! tables would fail in the middle of an answer, or return wrong rows.

use bytes::Bytes;
use parquet::basic::Type as Physical;
use parquet::file::reader::{FileReader as _, SerializedFileReader};

use crate::data_file::guarded;
use crate::delta::{Add, Log};
use crate::field::{Field, Kind};
use system::FileStore;

use crate::{FactsError, Table};

/// Advice for a damaged data file.
pub const DAMAGE_ADVICE: &str = "restore the file from a copy, or load the inputs into a new archive";

/// A data file that differs from its table's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDamage {
    /// The file, as its place names it.
    pub path: String,
    /// The found state, and the log's.
    pub found: String,
}

impl std::fmt::Display for FileDamage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let FileDamage { path, found } = self;
        write!(f, "facts file {path} is damaged: {found}; {DAMAGE_ADVICE}")
    }
}

/// Returns the data files of a table that differ from its log; none if there is no such table.
/// Reads every file completely and writes nothing.
///
/// # Errors
/// [`FactsError`] if the log itself cannot be read, or the place fails.
pub fn damages(place: &std::sync::Arc<dyn FileStore>, table: Table) -> Result<Vec<FileDamage>, FactsError> {
    if !Log::is_there(&**place, table.name())? {
        return Ok(Vec::new());
    }
    let log = Log::read(place.clone(), table.name())?;
    let mut damages = Vec::new();
    for add in log.files() {
        let path = log.path(&add.path);
        let read = place.get(&path).map_err(|source| FactsError::Io {
            doing: "read",
            path: place.locate(&path),
            source,
        })?;
        let found = match read {
            None => Some(format!("it is missing, the log says {} bytes", count(add.size))),
            Some(bytes) => check(table.fields(), bytes, add),
        };
        damages.extend(found.map(|found| FileDamage {
            path: place.locate(&path),
            found,
        }));
    }
    Ok(damages)
}

/// Returns the damage of a file.
fn check(fields: &'static [Field], bytes: Bytes, add: &Add) -> Option<String> {
    let size = bytes.len() as i64;
    if size != add.size {
        return Some(format!("{} bytes, the log says {}", count(size), count(add.size)));
    }
    // Parquet readers begin at the end, and would not detect this.
    if !bytes.starts_with(b"PAR1") {
        return Some(format!(
            "{} bytes that are not Parquet (the file does not begin with PAR1)",
            count(size)
        ));
    }
    let checked = guarded(|| {
        let reader = SerializedFileReader::new(bytes)?;
        let columns = reader.metadata().file_metadata().schema_descr();
        for field in fields {
            let column = columns
                .columns()
                .iter()
                .find(|column| column.name() == field.name);
            let expected = physical(field.kind);
            match column.map(|column| column.physical_type()) {
                Some(found) if found == expected => {}
                Some(found) => {
                    return Ok(Some(format!(
                        "its column {} is {found}, expected {expected}",
                        field.name
                    )));
                }
                None => return Ok(Some(format!("it has no column {}", field.name))),
            }
        }
        let rows = reader.metadata().file_metadata().num_rows();
        if let Some(expected) = add.records().filter(|expected| *expected as i64 != rows) {
            return Ok(Some(format!(
                "{} rows, the log says {}",
                count(rows),
                count(expected as i64)
            )));
        }
        for group in 0..reader.num_row_groups() {
            let group = reader.get_row_group(group)?;
            for column in 0..group.num_columns() {
                let mut pages = group.get_column_page_reader(column)?;
                while pages.get_next_page()?.is_some() {}
            }
        }
        Ok(None)
    });
    checked.unwrap_or_else(|error| Some(format!("{} bytes that are not Parquet ({error})", count(size))))
}

fn physical(kind: Kind) -> Physical {
    match kind {
        Kind::Text => Physical::BYTE_ARRAY,
        Kind::Int => Physical::INT32,
        Kind::Long | Kind::Time | Kind::TimeMs => Physical::INT64,
        Kind::Bool => Physical::BOOLEAN,
    }
}

fn count(number: i64) -> String {
    format::number::count(number.max(0) as u64)
}
