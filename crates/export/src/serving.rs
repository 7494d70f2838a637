//! Serving tables of an archive: sorted tables that answer look-ups without its index
//! (docs/format-serving.md).
//!
//! Invariants:
//! - all rows are of one epoch, which is the number of the batch;
//! - the manifest is replaced last, so an export that ends early changes nothing for readers.

use std::io::{self, Write};
use std::sync::Arc;

use archive::question::{DumpFormat, DumpRange, ServingRows};
use archive::{Archive, AskError};
use facts::LocalFileStore;
use facts::serving::{Manifest, ServingError, ServingTable, ServingWriter};
use inputs::{Sources, is_address, path_of};
use serde::Serialize;
use system::FileStore;

/// Why serving tables were not written. The tables of an earlier batch remain.
#[derive(Debug, thiserror::Error)]
pub enum ServingExportError {
    /// The archive did not answer.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// A file cannot be written, or the manifest of an earlier batch cannot be read.
    #[error(transparent)]
    Tables(#[from] ServingError),
    /// The folder has this batch or a later one. Its files are never changed.
    #[error(
        "{place} has serving tables of batch {found}, and the archive is at epoch {epoch}; write to a new folder"
    )]
    Later {
        /// The folder.
        place: String,
        /// The batch there.
        found: u64,
        /// The epoch of the archive.
        epoch: u64,
    },
    /// The archive sent a line that is not a row.
    #[error("the archive sent a row that is not JSON: {0}")]
    Line(#[from] serde_json::Error),
    /// The caller stopped the export.
    #[error("stopped after {0} rows")]
    Stopped(u64),
}

/// Serving tables that were written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServingReport {
    /// Number of the batch.
    pub batch: u64,
    /// Names of the tables, and their numbers of rows.
    pub tables: Vec<(&'static str, u64)>,
    /// Whether access rules hide parts of the archive. The tables hold all of it.
    pub has_rules: bool,
}

impl ServingReport {
    fn of(manifest: &Manifest) -> ServingReport {
        let rows_of = |table: ServingTable| Some((table.name(), manifest.table(table)?.rows));
        ServingReport {
            batch: manifest.batch,
            tables: ServingTable::ALL.into_iter().filter_map(rows_of).collect(),
            has_rules: manifest.has_rules,
        }
    }

    /// Returns the number of rows of all tables.
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|(_, rows)| rows).sum()
    }
}

/// Returns a folder of this machine or, for an address (`s3://bucket/web`), of a store.
///
/// # Errors
/// The address is not a folder of a store that this program can write to.
pub fn serving_place(text: &str, sources: &Sources) -> io::Result<Arc<dyn FileStore>> {
    if is_address(text) {
        sources.tables(text)
    } else {
        Ok(Arc::new(LocalFileStore::new(&path_of(text))))
    }
}

/// Writes all serving tables of an archive. `progress` is called with the number of rows so far, and
/// returns whether to continue. If the folder has this epoch and the archive has rules since, only
/// the manifest is replaced, and the tables are refused from then on.
///
/// # Errors
/// [`ServingExportError`].
pub fn write_serving(
    archive: &Archive,
    place: &dyn FileStore,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<ServingReport, ServingExportError> {
    let cut = archive.hold()?;
    let batch = cut.epoch();
    let there = Manifest::existing(place)?;
    if let Some(there) = there.filter(|there| there.batch >= batch) {
        return note_rules(archive, place, there, batch);
    }
    let mut manifest = Manifest::new(batch, false);
    let mut done = 0;
    for (table, rows) in ServingTable::ALL.map(|table| (table, rows_of(table))) {
        let mut lines = RowLines {
            writer: ServingWriter::new(place, table, batch),
            line: Vec::new(),
            done,
            progress: &mut *progress,
            failure: None,
        };
        let dumped = cut.dump(rows, DumpRange::default(), DumpFormat::Jsonl, &mut lines);
        // The archive sees only that writing failed.
        if let Some(failure) = lines.failure.take() {
            return Err(failure);
        }
        dumped?;
        done = lines.done;
        manifest.insert(table, lines.writer.finish()?);
    }
    // Rules may have been added during the export.
    manifest.has_rules = !archive.has_no_rules();
    manifest.write(place)?;
    Ok(ServingReport::of(&manifest))
}

/// Notes in the manifest of this batch that the archive has rules now.
fn note_rules(
    archive: &Archive,
    place: &dyn FileStore,
    mut there: Manifest,
    epoch: u64,
) -> Result<ServingReport, ServingExportError> {
    if there.batch > epoch || there.has_rules || archive.has_no_rules() {
        return Err(ServingExportError::Later {
            place: place.locate(""),
            found: there.batch,
            epoch,
        });
    }
    there.has_rules = true;
    there.write(place)?;
    Ok(ServingReport::of(&there))
}

/// Returns the rows of a table in the archive.
fn rows_of(table: ServingTable) -> ServingRows {
    match table {
        ServingTable::Inputs => ServingRows::Inputs,
        ServingTable::Captures => ServingRows::Captures,
        ServingTable::Aliases => ServingRows::Aliases,
        ServingTable::Versions => ServingRows::Versions,
        ServingTable::Outlinks => ServingRows::Outlinks,
        ServingTable::Inlinks => ServingRows::Inlinks,
        ServingTable::Uris => ServingRows::Uris,
        ServingTable::Domains => ServingRows::Domains,
        ServingTable::Top => ServingRows::Top,
        ServingTable::Previews => ServingRows::Previews,
        ServingTable::PastVersions => ServingRows::PastVersions,
        ServingTable::Attachments => ServingRows::Attachments,
    }
}

/// Adds JSON lines to a table. The archive sends them in pieces of any size.
struct RowLines<'p, 'f> {
    writer: ServingWriter<'p>,
    /// The beginning of the next line.
    line: Vec<u8>,
    /// Rows of all tables so far.
    done: u64,
    progress: &'f mut dyn FnMut(u64) -> bool,
    failure: Option<ServingExportError>,
}

impl RowLines<'_, '_> {
    fn add(&mut self, bytes: &[u8]) -> Result<(), ServingExportError> {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(piece);
            if !piece.ends_with(b"\n") {
                break;
            }
            self.writer.push(serde_json::from_slice(&self.line)?)?;
            self.line.clear();
            self.done += 1;
            if self.done.is_multiple_of(1024) && !(self.progress)(self.done) {
                return Err(ServingExportError::Stopped(self.done));
            }
        }
        Ok(())
    }
}

impl Write for RowLines<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.add(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(failure) => {
                let text = failure.to_string();
                self.failure = Some(failure);
                Err(io::Error::other(text))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
