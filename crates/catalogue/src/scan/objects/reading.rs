//! Splits a listing into directories and feeds them to the pipeline.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use pipeline::{Feeder, Stopped};

use super::keys::{Keys, with_slash};
use crate::attributes::{Attributes, Entry};
use crate::error::{CatalogueError, ScanError};
use crate::objects::{Address, Object, ObjectsPage, dir_name, directory, entry, split};
use crate::rows::Stamp;
use crate::scan::items::{Examined, ExaminedPiece};
use crate::scan::{Scan, Target};
use crate::walk::Dir;

/// Maximum number of entries per piece.
const PIECE_ENTRIES: usize = 4096;

/// A directory whose keys are being listed.
pub(super) struct Open {
    dir: Arc<Dir>,
    /// Prefix of its keys.
    prefix: Vec<u8>,
    entries: Vec<Entry>,
    pieces: u32,
}

/// State of a listing.
pub(super) struct Reading<'a> {
    pub(super) scan: &'a Scan,
    /// `None` if all stages are disabled.
    pub(super) feeder: Option<Feeder<ExaminedPiece>>,
    pub(super) volume: u32,
    /// The directories of the last key, starting with the scanned one. Not empty while objects are
    /// processed.
    pub(super) open: Vec<Open>,
    /// Prefix of the keys of a directory that is skipped.
    pub(super) passing: Option<Vec<u8>>,
    pub(super) visits: u64,
}

impl Reading<'_> {
    /// Opens the scanned directory. Its ancestors are not read, but get entries that lead to it.
    pub(super) fn begin(&mut self, root: &Address, target: &Target) -> Result<(), Stopped> {
        let mut path = root.below().to_vec();
        let mut dir = self.dir(None, b"", directory(self.volume, &path));
        for name in &target.only {
            path = [with_slash(&path), name.to_vec()].concat();
            let inner = directory(self.volume, &path);
            let entry = Entry {
                name: dir_name(name),
                attributes: inner.clone(),
            };
            self.send(&dir, 0, Examined::Some(vec![entry]))?;
            dir = self.dir(Some(&dir), name, inner);
        }
        self.open.push(Open {
            dir,
            prefix: with_slash(&path),
            entries: Vec::new(),
            pieces: 0,
        });
        Ok(())
    }

    /// Reads all keys. Returns early if the scan is stopped or the pipeline has ended.
    pub(super) fn read(&mut self, keys: &mut Keys<'_>, first: ObjectsPage) -> Result<(), ScanError> {
        let mut page = first;
        loop {
            for object in &page.objects {
                if self.scan.shared.stop.load(Relaxed) {
                    return Ok(());
                }
                // A key equal to the prefix is a name in the parent directory.
                if *object.key != *keys.prefix && self.take(object)?.is_err() {
                    return Ok(());
                }
            }
            if page.is_last {
                break;
            }
            let after = keys.after(self.passing.as_deref());
            page = keys.page(Some(&after))?;
        }
        while let Some(open) = self.open.pop() {
            if self.close(open).is_err() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Processes the next object.
    fn take(&mut self, object: &Object) -> Result<Result<(), Stopped>, CatalogueError> {
        if self
            .passing
            .as_ref()
            .is_some_and(|prefix| object.key.starts_with(prefix))
        {
            return Ok(Ok(()));
        }
        self.passing = None;
        let is_in =
            |open: &Open| object.key.starts_with(&open.prefix) && object.key.len() > open.prefix.len();
        while let Some(open) = self.open.pop_if(|open| !is_in(open)) {
            if self.close(open).is_err() {
                return Ok(Err(Stopped));
            }
        }
        let prefix_length = self.open.last().map_or(0, |open| open.prefix.len());
        let (dirs, name) = split(&object.key[prefix_length..]);
        let mut path_length = prefix_length;
        for dir in dirs {
            path_length += dir.len();
            let prefix = &object.key[..path_length + 1];
            let attributes = directory(self.volume, &object.key[..path_length]);
            let is_read = self.scan.has_read(&attributes)?;
            if self.enter(dir, attributes, prefix, is_read).is_err() {
                return Ok(Err(Stopped));
            }
            if is_read {
                self.passing = Some(prefix.to_vec());
                return Ok(Ok(()));
            }
            path_length += 1;
        }
        self.scan.shared.entries.fetch_add(1, Relaxed);
        Ok(self.add(entry(self.volume, object, name)))
    }

    /// Enters a directory of the open one, unless it was read before.
    fn enter(
        &mut self,
        name: &[u8],
        attributes: Attributes,
        prefix: &[u8],
        is_read: bool,
    ) -> Result<(), Stopped> {
        self.add(Entry {
            name: dir_name(name),
            attributes: attributes.clone(),
        })?;
        let parent = self.open.last().map(|open| open.dir.clone());
        let dir = self.dir(parent.as_ref(), name, attributes);
        if is_read {
            return self.send(&dir, 0, Examined::Known);
        }
        self.open.push(Open {
            dir,
            prefix: prefix.to_vec(),
            entries: Vec::new(),
            pieces: 0,
        });
        Ok(())
    }

    fn add(&mut self, entry: Entry) -> Result<(), Stopped> {
        let Some(open) = self.open.last_mut() else {
            return Ok(());
        };
        open.entries.push(entry);
        if open.entries.len() < PIECE_ENTRIES {
            return Ok(());
        }
        let (dir, number) = (open.dir.clone(), open.pieces);
        let entries = std::mem::take(&mut open.entries);
        open.pieces += 1;
        self.send(&dir, number, entries_found(entries, false))
    }

    /// Sends the rest of a directory that was read in full.
    fn close(&self, open: Open) -> Result<(), Stopped> {
        self.send(&open.dir, open.pieces, entries_found(open.entries, true))
    }

    fn dir(&mut self, parent: Option<&Arc<Dir>>, name: &[u8], attributes: Attributes) -> Arc<Dir> {
        self.visits += 1;
        Arc::new(Dir {
            parent: parent.cloned(),
            name: match parent {
                Some(_) => dir_name(name),
                None => Box::default(),
            },
            id: attributes.id,
            device: 0,
            stamp: Stamp::default(),
            depth: parent.map_or(0, |parent| parent.depth + 1),
            visit: self.visits,
        })
    }

    fn send(&self, dir: &Arc<Dir>, number: u32, found: Examined) -> Result<(), Stopped> {
        let Some(feeder) = &self.feeder else {
            return Ok(());
        };
        let dir = dir.clone();
        feeder.send(ExaminedPiece { dir, number, found })
    }
}

fn entries_found(entries: Vec<Entry>, is_last: bool) -> Examined {
    Examined::Entries {
        entries,
        faults: Vec::new(),
        is_last,
    }
}
