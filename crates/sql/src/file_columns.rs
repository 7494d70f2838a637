//! The columns of `file_names` and `files`, with functions that compute their cells.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use catalogue::{Attributes, Digest, Kind, PathEntry, directory_of, name_of};
use datafusion::arrow::array::{
    ArrayRef, BooleanBuilder, Int64Builder, RecordBatch, RecordBatchOptions, StringViewBuilder,
    TimestampMicrosecondBuilder,
};
use datafusion::arrow::datatypes::{DataType, Field, SchemaRef, TimeUnit};
use datafusion::arrow::error::ArrowError;

/// A name and its file, with looked-up data.
pub(crate) struct Row<'a> {
    pub(crate) found: &'a PathEntry,
    /// Empty unless a column with [`Needs::Owner`] is read.
    pub(crate) owner: &'a str,
    /// Empty unless a column with [`Needs::Group`] is read.
    pub(crate) group: &'a str,
    /// Absent if unknown, or unless a column with [`Needs::Content`] is read.
    pub(crate) digest: Option<&'a Digest>,
}

impl Row<'_> {
    fn file(&self) -> &Attributes {
        &self.found.attributes
    }
}

/// Data that a column needs in addition to the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    Owner,
    Group,
    Content,
}

/// The function that computes a cell from a row.
#[derive(Debug, Clone, Copy)]
enum Cell {
    Text(for<'a> fn(&'a Row<'_>) -> Option<Cow<'a, str>>),
    Number(fn(&Row<'_>) -> Option<i64>),
    /// Microseconds since 1970.
    Time(fn(&Row<'_>) -> Option<i64>),
    Flag(fn(&Row<'_>) -> Option<bool>),
}

use Cell::{Flag, Number, Text, Time};

/// A column of the tables.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileColumn {
    name: &'static str,
    is_nullable: bool,
    pub(crate) needs: Needs,
    cell: Cell,
}

const fn column(name: &'static str, cell: Cell) -> FileColumn {
    FileColumn {
        name,
        is_nullable: false,
        needs: Needs::Nothing,
        cell,
    }
}

impl FileColumn {
    const fn nullable(mut self) -> FileColumn {
        self.is_nullable = true;
        self
    }

    const fn needing(mut self, needs: Needs) -> FileColumn {
        self.needs = needs;
        self
    }

    pub(crate) fn field(&self) -> Field {
        let data_type = match self.cell {
            Text(_) => DataType::Utf8View,
            Number(_) => DataType::Int64,
            Time(_) => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Flag(_) => DataType::Boolean,
        };
        Field::new(self.name, data_type, self.is_nullable)
    }
}

/// Columns about every name.
const OF_NAMES: [FileColumn; 20] = [
    column("path", Text(|row| Some(text(&row.found.path)))),
    column("directory", Text(|row| directory_of(&row.found.path).map(text))).nullable(),
    column("name", Text(|row| Some(text(name_of(&row.found.path))))),
    column("type", Text(|row| Some(row.file().kind.name().into()))),
    column("format", Text(|row| Some(row.file().format.name().into()))),
    column("size_bytes", Number(|row| Some(number(row.file().size_bytes)))),
    column(
        "disk_size_bytes",
        Number(|row| Some(number(row.file().blocks.saturating_mul(512)))),
    ),
    column(
        "owner",
        Text(|row| (!row.file().is_object()).then_some(row.owner.into())),
    )
    .nullable()
    .needing(Needs::Owner),
    column(
        "group_name",
        Text(|row| (!row.file().is_object()).then_some(row.group.into())),
    )
    .nullable()
    .needing(Needs::Group),
    column(
        "uid",
        Number(|row| disk_attributes(row).map(|file| file.uid.into())),
    )
    .nullable(),
    column(
        "gid",
        Number(|row| disk_attributes(row).map(|file| file.gid.into())),
    )
    .nullable(),
    column(
        "mode",
        Text(|row| disk_attributes(row).map(|file| format!("{:o}", file.mode).into())),
    )
    .nullable(),
    column("links", Number(|row| Some(row.file().links.into()))),
    column("modified", Time(|row| time(row, row.file().modified_ns))).nullable(),
    column("changed", Time(|row| time(row, row.file().changed_ns))).nullable(),
    column("accessed", Time(accessed)).nullable(),
    column(
        "created",
        Time(|row| row.file().born_ns().map(|ns| ns.div_euclid(1000))),
    )
    .nullable(),
    column("target", Text(|row| row.file().target.as_deref().map(text))).nullable(),
    column(
        "inode",
        Number(|row| disk_attributes(row).map(|file| number(file.id.inode))),
    )
    .nullable(),
    column("file_id", Text(file_id)),
];

/// Columns about the current content of a file.
const OF_CONTENTS: [FileColumn; 7] = [
    column("digest", Text(digest)).nullable().needing(Needs::Content),
    column(
        "last_verified",
        Time(|row| row.digest.map(|digest| digest.verified_ms.saturating_mul(1000))),
    )
    .nullable()
    .needing(Needs::Content),
    column("damaged", Flag(|row| Some(damaged_ms(row).is_some()))).needing(Needs::Content),
    column(
        "damaged_since",
        Time(|row| damaged_ms(row).map(|ms| ms.saturating_mul(1000))),
    )
    .nullable()
    .needing(Needs::Content),
    column(
        "copy_address",
        Text(|row| Some(copy(row)?.address.as_str().into())),
    )
    .nullable()
    .needing(Needs::Content),
    column(
        "last_copied",
        Time(|row| Some(copy(row)?.verified_ms.saturating_mul(1000))),
    )
    .nullable()
    .needing(Needs::Content),
    column(
        "replicas",
        Number(|row| Some(copy(row).map_or(0, |copy| copy.replicas.into()))),
    )
    .needing(Needs::Content),
];

/// Returns the columns of `file_names`.
pub(crate) fn file_name_columns() -> impl Iterator<Item = FileColumn> {
    OF_NAMES.into_iter()
}

/// Returns the columns of `files`.
pub(crate) fn file_columns() -> impl Iterator<Item = FileColumn> {
    OF_NAMES.into_iter().chain(OF_CONTENTS)
}

/// Returns the bytes of a path as text, in the same form as names of inputs in the ledger, so that
/// the two can be compared.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        // No escape, and no text that looks like one.
        Ok(text) if !text.contains("\\x") => text.into(),
        _ => inputs::path_text(Path::new(OsStr::from_bytes(bytes))).into(),
    }
}

/// Converts a number. Larger values, which only some file systems' artificial inodes reach, are
/// clamped to the maximum.
fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns the attributes of a file on a file system; `None` for objects of a store, which lack
/// these.
fn disk_attributes<'a>(row: &'a Row<'_>) -> Option<&'a Attributes> {
    (!row.file().is_object()).then(|| row.file())
}

/// Returns a time in microseconds; `None` for directories of objects, which have no change times.
fn time(row: &Row<'_>, ns: i64) -> Option<i64> {
    let is_known = row.file().kind != Kind::Directory || !row.file().is_object();
    is_known.then(|| ns.div_euclid(1000))
}

/// Returns the access time; `None` for directories, which every scan reads.
fn accessed(row: &Row<'_>) -> Option<i64> {
    (row.file().kind != Kind::Directory && !row.file().is_object())
        .then(|| row.file().accessed_s.saturating_mul(1_000_000))
}

/// Returns file system, inode and creation time, as in the catalogue's keys (docs/files.md).
fn file_id<'a>(row: &'a Row<'_>) -> Option<Cow<'a, str>> {
    let id = row.file().id;
    Some(format!("{:08x}{:016x}{:016x}", id.volume, id.inode, id.born_ns).into())
}

fn digest<'a>(row: &'a Row<'_>) -> Option<Cow<'a, str>> {
    let sha256 = row.digest?.sha256;
    Some(
        sha256
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
            .into(),
    )
}

fn damaged_ms(row: &Row<'_>) -> Option<i64> {
    row.digest?.damaged_ms
}

fn copy<'a>(row: &Row<'a>) -> Option<&'a catalogue::Copy> {
    row.digest?.copy.as_ref()
}

/// A builder of batches of rows.
pub(crate) struct Rows {
    schema: SchemaRef,
    columns: Vec<Filling>,
    count: usize,
}

enum Filling {
    Text(for<'a> fn(&'a Row<'_>) -> Option<Cow<'a, str>>, StringViewBuilder),
    Number(fn(&Row<'_>) -> Option<i64>, Int64Builder),
    Time(fn(&Row<'_>) -> Option<i64>, TimestampMicrosecondBuilder),
    Flag(fn(&Row<'_>) -> Option<bool>, BooleanBuilder),
}

impl Rows {
    /// Makes a builder for these columns, whose fields match the schema.
    pub(crate) fn new(columns: &[FileColumn], schema: SchemaRef) -> Rows {
        let filling = |column: &FileColumn| match column.cell {
            Text(of) => Filling::Text(of, StringViewBuilder::new()),
            Number(of) => Filling::Number(of, Int64Builder::new()),
            Time(of) => Filling::Time(of, TimestampMicrosecondBuilder::new().with_timezone("UTC")),
            Flag(of) => Filling::Flag(of, BooleanBuilder::new()),
        };
        Rows {
            schema,
            columns: columns.iter().map(filling).collect(),
            count: 0,
        }
    }

    /// Returns the number of rows since the last batch.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn push(&mut self, row: &Row<'_>) {
        for column in &mut self.columns {
            match column {
                Filling::Text(of, out) => out.append_option(of(row)),
                Filling::Number(of, out) => out.append_option(of(row)),
                Filling::Time(of, out) => out.append_option(of(row)),
                Filling::Flag(of, out) => out.append_option(of(row)),
            }
        }
        self.count += 1;
    }

    /// Takes the rows as a batch. A batch without columns still has a row count.
    pub(crate) fn batch(&mut self) -> Result<RecordBatch, ArrowError> {
        let array = |column: &mut Filling| -> ArrayRef {
            match column {
                Filling::Text(_, out) => Arc::new(out.finish()),
                Filling::Number(_, out) => Arc::new(out.finish()),
                Filling::Time(_, out) => Arc::new(out.finish()),
                Filling::Flag(_, out) => Arc::new(out.finish()),
            }
        };
        let arrays = self.columns.iter_mut().map(array).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(std::mem::take(&mut self.count)));
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)
    }
}
