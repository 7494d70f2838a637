//! Writes the files of one serving table.

use bytes::Bytes;
use parquet::errors::ParquetError;
use serde_json::{Map, Value};
use system::FileStore;

use super::ServingError;
use super::manifest::{ServedFile, ServedTable};
use super::tables::ServingTable;
use crate::data_file::Writer;
use crate::field::{Field, Kind};
use crate::rows::Rows;

/// Rows of a row group. A look-up decodes one.
pub(super) const GROUP_ROWS: usize = 4_096;

/// Rows of a file.
const FILE_ROWS: u64 = 262_144;

/// Size at which a file ends before that, in bytes: it is in memory until it is written.
const FILE_BYTES: usize = if cfg!(test) { 32 << 10 } else { 64 << 20 };

/// The files of a table under construction. Rows must come in the order of the table's key.
pub struct ServingWriter<'p> {
    place: &'p dyn FileStore,
    table: ServingTable,
    batch: u64,
    /// The file that is being made, if it has row groups.
    writer: Option<Writer>,
    file_rows: u64,
    file_groups: u32,
    /// Rows of the next row group, and the first of them.
    waiting: Rows,
    first_waiting: Option<Value>,
    first_keys: Rows,
    served: ServedTable,
}

impl<'p> ServingWriter<'p> {
    /// Begins a table of a batch.
    pub fn new(place: &'p dyn FileStore, table: ServingTable, batch: u64) -> ServingWriter<'p> {
        ServingWriter {
            place,
            table,
            batch,
            writer: None,
            file_rows: 0,
            file_groups: 0,
            waiting: Rows::new(table.fields()),
            first_waiting: None,
            first_keys: Rows::new(table.first_fields()),
            served: ServedTable::default(),
        }
    }

    /// Adds a row: a JSON object with the columns of the table, times in milliseconds since 1970.
    ///
    /// # Errors
    /// [`ServingError`].
    pub fn push(&mut self, row: Value) -> Result<(), ServingError> {
        put(self.table, self.table.fields(), &row, &mut self.waiting)?;
        self.first_waiting.get_or_insert(row);
        if self.waiting.len() == GROUP_ROWS {
            self.end_group()?;
        }
        let is_large = |writer: &Writer| writer.size_bytes() >= FILE_BYTES;
        if self.file_rows >= FILE_ROWS || self.writer.as_ref().is_some_and(is_large) {
            self.end_file()?;
        }
        Ok(())
    }

    /// Writes the last file and the first keys. Returns the files for the manifest.
    ///
    /// # Errors
    /// [`ServingError`].
    pub fn finish(mut self) -> Result<ServedTable, ServingError> {
        self.end_group()?;
        self.end_file()?;
        if self.first_keys.is_empty() {
            return Ok(self.served);
        }
        let fields = self.table.first_fields();
        let first_keys = std::mem::replace(&mut self.first_keys, Rows::new(fields));
        let mut writer = Writer::new(fields).map_err(|error| self.encode(&error))?;
        writer.write(first_keys).map_err(|error| self.encode(&error))?;
        let file = writer.finish().map_err(|error| self.encode(&error))?;
        if let Some(file) = file {
            let path = format!("{}/{:08}.first.parquet", self.table.name(), self.batch);
            self.write(&path, file.bytes)?;
            self.served.first_keys = Some(path);
        }
        Ok(self.served)
    }

    fn end_group(&mut self) -> Result<(), ServingError> {
        let Some(first) = self.first_waiting.take() else {
            return Ok(());
        };
        let fields = self.table.fields();
        let rows = std::mem::replace(&mut self.waiting, Rows::new(fields));
        let count = rows.len();
        self.note_first(&first, count)?;
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => Writer::new(fields).map_err(|error| self.encode(&error))?,
        };
        writer.write(rows).map_err(|error| self.encode(&error))?;
        self.writer = Some(writer);
        self.file_rows += count as u64;
        self.file_groups += 1;
        Ok(())
    }

    /// Adds the row of first keys of a row group.
    fn note_first(&mut self, first: &Value, rows: usize) -> Result<(), ServingError> {
        let mut place = Map::new();
        place.insert("file".to_owned(), Value::from(self.served.files.len()));
        place.insert("row_group".to_owned(), Value::from(self.file_groups));
        place.insert("rows".to_owned(), Value::from(rows));
        for field in self.table.key() {
            let value = first.get(field.name).cloned().unwrap_or(Value::Null);
            place.insert(field.name.to_owned(), value);
        }
        let fields = self.table.first_fields();
        put(self.table, fields, &Value::Object(place), &mut self.first_keys)
    }

    fn end_file(&mut self) -> Result<(), ServingError> {
        let Some(writer) = self.writer.take() else {
            return Ok(());
        };
        let file = writer.finish().map_err(|error| self.encode(&error))?;
        if let Some(file) = file {
            let part = self.served.files.len();
            let path = format!("{}/{:08}-{part:05}.parquet", self.table.name(), self.batch);
            let size_bytes = file.bytes.len() as u64;
            self.write(&path, file.bytes)?;
            self.served.rows += self.file_rows;
            self.served.files.push(ServedFile {
                path,
                rows: self.file_rows,
                size_bytes,
            });
        }
        (self.file_rows, self.file_groups) = (0, 0);
        Ok(())
    }

    fn write(&self, path: &str, bytes: Vec<u8>) -> Result<(), ServingError> {
        let written = self.place.put(path, Bytes::from(bytes));
        written.map_err(|source| ServingError::Io {
            doing: "write",
            path: self.place.locate(path),
            source,
        })
    }

    fn encode(&self, error: &ParquetError) -> ServingError {
        ServingError::Encode {
            table: self.table.name(),
            why: error.to_string(),
        }
    }
}

/// Appends a JSON object as a row. All values are checked before any is written, because a started
/// row must be finished.
fn put(table: ServingTable, fields: &[Field], row: &Value, rows: &mut Rows) -> Result<(), ServingError> {
    let value = |field: &Field| row.get(field.name).unwrap_or(&Value::Null);
    if let Some(field) = fields.iter().find(|field| !fits(field, value(field))) {
        return Err(ServingError::Row {
            table: table.name(),
            column: field.name,
            found: value(field).to_string(),
        });
    }
    let mut put = rows.row();
    for field in fields {
        match (field.kind, value(field)) {
            (Kind::Text, Value::String(text)) => put.text(text),
            (Kind::Bool, Value::Bool(yes)) => put.bool(*yes),
            (Kind::Int, number) => match number.as_i64().and_then(|n| i32::try_from(n).ok()) {
                Some(number) => put.int(number),
                None => put.none(),
            },
            (_, number) => put.optional_long(number.as_i64()),
        };
    }
    put.end();
    Ok(())
}

fn fits(field: &Field, value: &Value) -> bool {
    match (field.kind, value) {
        (_, Value::Null) => field.is_nullable,
        (Kind::Text, value) => value.is_string(),
        (Kind::Bool, value) => value.is_boolean(),
        (Kind::Int, value) => value.as_i64().is_some_and(|n| i32::try_from(n).is_ok()),
        (Kind::Long | Kind::Time | Kind::TimeMs, value) => value.as_i64().is_some(),
    }
}
