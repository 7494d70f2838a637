//! Serving tables (docs/format-serving.md) in place of an archive: look-ups without an index.
//!
//! Invariants:
//! - nothing is written, and the files of one manifest are read until the tables are opened again;
//! - an answer names the batch of the manifest as its epoch;
//! - row groups are decoded whole, and at most [`GROUPS_BYTES`] of them are kept.

mod row;
mod views;
mod walk;

use std::fmt::Display;
use std::io;
use std::sync::Arc;

use facts::serving::{Group, Manifest, ReadAt, ServingError, ServingFolder, ServingReader, ServingTable};
use index::SnapshotError;
use inputs::Sources;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use rustc_hash::FxHashMap;
use warc::Input;

use crate::inlink_counts::InlinkCounts;
use crate::question::{Answer, Question};
use crate::{AskError, ask};

/// Memory for decoded row groups, in bytes. Their number would not bound it, because texts may be
/// long.
const GROUPS_BYTES: u64 = 256 << 20;

/// Typical memory of a row group.
const GROUP_BYTES: u64 = 4 << 20;

/// Why serving tables cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenTablesError {
    /// A file cannot be read.
    #[error(transparent)]
    Tables(#[from] ServingError),
    /// Rules are not applied to tables.
    #[error(
        "{place} has the tables of an archive with access rules, which hide parts of it; rules cannot be served \
         from tables yet: serve the archive"
    )]
    HasRules {
        /// The folder.
        place: String,
    },
}

/// Opened serving tables. Cheap to clone.
#[derive(Clone)]
pub struct ServedTables {
    inner: Arc<Inner>,
}

struct Inner {
    folder: Folder,
    batch: u64,
    /// By number of the table; `None` for optional tables that the manifest lacks.
    readers: Vec<Option<ServingReader>>,
    inputs: FxHashMap<u32, InputOfTable>,
    groups: Cache<(ServingTable, usize), Arc<Group>, ByBytes>,
    /// Unused, because only clients with access rules need it.
    inlink_counts: InlinkCounts,
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<(ServingTable, usize), Arc<Group>> for ByBytes {
    fn weight(&self, _: &(ServingTable, usize), group: &Arc<Group>) -> u64 {
        // The cache never evicts entries of weight 0.
        group.size_bytes().max(1)
    }
}

/// An input, as captures show it.
struct InputOfTable {
    name: String,
    location: String,
    collection: String,
}

impl ServedTables {
    /// Opens the tables in a folder of this machine or at an address. Records are read from `sources`.
    ///
    /// # Errors
    /// [`OpenTablesError`].
    pub fn open(place: &str, sources: Sources) -> Result<ServedTables, OpenTablesError> {
        let root = place.trim_end_matches('/').to_owned();
        let folder = Folder { root, sources };
        let manifest = Manifest::read(&folder)?;
        if manifest.has_rules {
            return Err(OpenTablesError::HasRules {
                place: place.to_owned(),
            });
        }
        let open = |table: ServingTable| match manifest.table(table) {
            None if table.is_optional() => Ok(None),
            served => ServingReader::open(&folder, table, served).map(Some),
        };
        let mut inputs = FxHashMap::default();
        if let Some(reader) = open(ServingTable::Inputs)? {
            for number in 0..reader.places().len() {
                add_inputs(&reader.read(&folder, number)?, &mut inputs);
            }
        }
        let readers = ServingTable::ALL
            .map(open)
            .into_iter()
            .collect::<Result<Vec<_>, _>>()?;
        let count = (GROUPS_BYTES / GROUP_BYTES) as usize;
        Ok(ServedTables {
            inner: Arc::new(Inner {
                folder,
                batch: manifest.batch,
                readers,
                inputs,
                groups: Cache::with_weighter(count, GROUPS_BYTES, ByBytes),
                inlink_counts: InlinkCounts::default(),
            }),
        })
    }

    /// Answers a question. May block.
    ///
    /// # Errors
    /// [`AskError`]. `Unavailable` for questions that only an archive answers.
    pub fn ask(&self, question: &Question) -> Result<Answer, AskError> {
        ask::answer_from_tables(self, question)
    }

    /// Returns the number of the batch.
    pub fn batch(&self) -> u64 {
        self.inner.batch
    }

    /// Returns the sources that records are read from.
    pub fn sources(&self) -> &Sources {
        &self.inner.folder.sources
    }

    pub(crate) fn inlink_counts(&self) -> &InlinkCounts {
        &self.inner.inlink_counts
    }

    /// Returns the reader of a table.
    fn reader(&self, table: ServingTable) -> Result<&ServingReader, SnapshotError> {
        let reader = self.inner.readers.get(table as usize);
        reader
            .and_then(Option::as_ref)
            .ok_or(SnapshotError::NotServed(table.name()))
    }

    /// Returns a row group, from memory or from its file.
    fn group(&self, table: ServingTable, number: usize) -> Result<Arc<Group>, SnapshotError> {
        if let Some(group) = self.inner.groups.get(&(table, number)) {
            return Ok(group);
        }
        let read = self.reader(table)?.read(&self.inner.folder, number);
        let group = Arc::new(read.map_err(|error| failed(table, error))?);
        self.inner.groups.insert((table, number), Arc::clone(&group));
        Ok(group)
    }

    fn input(&self, number: u32) -> Result<&InputOfTable, SnapshotError> {
        let input = self.inner.inputs.get(&number);
        input.ok_or_else(|| failed(ServingTable::Inputs, format!("no input {number}")))
    }
}

fn add_inputs(group: &Group, inputs: &mut FxHashMap<u32, InputOfTable>) {
    for row in 0..group.len() {
        let text = |column| group.text(column, row).unwrap_or_default().to_owned();
        let number = group
            .number("input_number", row)
            .and_then(|number| u32::try_from(number).ok());
        if let Some(number) = number {
            let input = InputOfTable {
                name: text("input"),
                location: text("location"),
                collection: text("collection"),
            };
            inputs.insert(number, input);
        }
    }
}

fn failed(table: ServingTable, why: impl Display) -> SnapshotError {
    SnapshotError::Serving {
        table: table.name(),
        detail: why.to_string(),
    }
}

/// The folder with the tables.
struct Folder {
    /// Path or address, without a trailing slash.
    root: String,
    sources: Sources,
}

impl ServingFolder for Folder {
    fn open(&self, path: &str) -> io::Result<Arc<dyn ReadAt>> {
        Ok(Arc::new(TableFile(self.sources.open(&self.locate(path))?)))
    }

    fn locate(&self, path: &str) -> String {
        format!("{}/{path}", self.root)
    }
}

/// A file of the tables.
struct TableFile(Arc<dyn Input>);

impl ReadAt for TableFile {
    fn size(&self) -> io::Result<u64> {
        self.0.size()
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(into, offset)
    }
}

#[cfg(test)]
mod tests;
