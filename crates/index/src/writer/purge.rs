//! Purging: rewrites the index with its current rows, so that no file holds removed data.
//!
//! The engine keeps removed rows until it merges the files that hold them, and may never merge some
//! of these files. It also keeps them in its journal and in files outside the tables. So all rows
//! are copied into a new directory, which is then exchanged with the old one.
//!
//! Invariants:
//! - Readers see the same epoch before and after. They wait only while the directories are
//!   exchanged.
//! - At any moment the directory of the index is complete: the exchange is one atomic step of the
//!   file system.

use engine::diagnosis::ErrorMessage;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{CWD, RenameFlags};

use super::Index;
use crate::codec::Corrupt;
use crate::crash;
use crate::cut::Cut;
use crate::directory;
use crate::error::{ApplyError, OpenError, SnapshotError};
use crate::ids::Epoch;
use crate::packed::{self, Dictionary};
use crate::snapshot::Snapshot;
use crate::tables::{LINK_DICTIONARY_ROW, Table, Tables};
use crate::views::{changes, links};
use crate::write::Write;

/// Rows in a batch.
const BATCH_ROWS: usize = 1 << 16;

impl Index {
    /// Rewrites the index. `covered` is the last epoch that search has read. Nothing else is
    /// written meanwhile; `progress` receives tables and how many of their rows were copied.
    ///
    /// # Errors
    /// [`ApplyError`]: the index is unchanged, or must be opened again ([`Index::recover`]).
    pub fn purge(
        &self,
        covered: Epoch,
        progress: &mut dyn FnMut(&'static str, u64),
    ) -> Result<(), ApplyError> {
        let inner = &*self.inner;
        let mut writer = inner.writer.lock();
        let tables = inner.usable(&writer)?;
        let beside = directory::purged_dir(&inner.dir);
        let failed = |doing: &'static str, error: &dyn std::fmt::Display| ApplyError::Engine {
            doing,
            dir: beside.display().to_string(),
            detail: error.to_string(),
        };
        directory::remove_purged(&inner.dir).map_err(|error| failed("remove", &error))?;
        {
            let snapshot = inner.published.read().clone();
            let copied = Tables::open(&beside, &inner.settings);
            let copied = copied.map_err(|error| failed("create", &ErrorMessage(&error)))?;
            copy(snapshot.cut(), &copied, covered, progress)?
                .map_err(|error| failed("write", &ErrorMessage(&error)))?;
            copied.close().map_err(|error| failed("close", &error))?;
        }
        crash::purging_point("purge.before_exchange");
        // Readers hold the tables. From here on only the writer and the published snapshot should.
        drop(tables);
        let mut published = inner.without_readers(&writer).ok_or_else(|| ApplyError::Read {
            dir: inner.dir.display().to_string(),
        })?;
        let since = "it is being purged";
        *inner.poisoned.write() = Some(since.to_owned());
        *published = Snapshot::new(&inner.dir, Cut::closed(since), writer.totals.clone());
        writer.tables = None;
        let exchanged = rustix::fs::renameat_with(CWD, &inner.dir, CWD, &beside, RenameFlags::EXCHANGE);
        crash::purging_point("purge.after_exchange");
        let (now, snapshot) = inner.open_again().map_err(|error| match error {
            OpenError::DiskFull { dir } => ApplyError::DiskFull { dir },
            error => failed("reopen", &error),
        })?;
        (*writer, *published) = (now, snapshot);
        *inner.poisoned.write() = None;
        exchanged.map_err(|error| failed("exchange with the index", &error))?;
        drop(published);
        // The exchange must be durable before the old directory is removed.
        let parent = inner.dir.parent().unwrap_or(Path::new("."));
        let synced = std::fs::File::open(parent).and_then(|parent| parent.sync_all());
        synced.map_err(|error| failed("sync", &error))?;
        directory::remove_purged(&inner.dir).map_err(|error| failed("remove", &error))
    }
}

/// Copies all rows. The outer error is one of reading, the inner one of writing.
fn copy(
    cut: &Cut,
    to: &Tables,
    covered: Epoch,
    progress: &mut dyn FnMut(&'static str, u64),
) -> Result<fjall::Result<()>, SnapshotError> {
    for table in Table::ALL {
        let mut write = Write::new(to);
        let mut rows = 0;
        for row in cut.iter(table) {
            let (key, value) = row?;
            let Some(value) = row_now(cut, table, covered, &key, &value)? else {
                continue;
            };
            write.put(table, key, value);
            rows += 1;
            if write.len() >= BATCH_ROWS {
                let full = std::mem::replace(&mut write, Write::new(to));
                if let Err(error) = full.commit().and_then(|()| to.wait_for_room()) {
                    return Ok(Err(error));
                }
                progress(table.name(), rows);
            }
        }
        if let Err(error) = write.commit() {
            return Ok(Err(error));
        }
        progress(table.name(), rows);
    }
    Ok(to.settle_all())
}

/// Returns the copy of a row; `None` if the row is dropped.
fn row_now(
    cut: &Cut,
    table: Table,
    covered: Epoch,
    key: &[u8],
    value: &[u8],
) -> Result<Option<Vec<u8>>, SnapshotError> {
    match table {
        // The dictionary was trained from old rows and holds pieces of them. The next large epoch
        // trains a new one.
        Table::Meta if key == LINK_DICTIONARY_ROW.as_bytes() => Ok(None),
        Table::Links => cut.decode(table, key, unpacked(cut, value)).map(Some),
        Table::PastLinks => cut
            .decode(table, key, packed::unpack(dictionary(cut), value))
            .map(|row| Some(row.into_owned())),
        // Rows of changes name keys that no longer exist.
        Table::Changes => changes::without_gone(cut, key, value, covered),
        _ => Ok(Some(value.to_vec())),
    }
}

fn unpacked(cut: &Cut, stored: &[u8]) -> Result<Vec<u8>, Corrupt> {
    let (source, row) = links::split_head(stored)?;
    let row = packed::unpack(dictionary(cut), row)?;
    Ok([links::head(source).as_slice(), &row].concat())
}

fn dictionary(cut: &Cut) -> Option<&Dictionary> {
    cut.link_dictionary().map(Arc::as_ref)
}
