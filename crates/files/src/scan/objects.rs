//! READ_DIR of a store: its listing, cut into directories.
//!
//! Invariants:
//!  - keys come in order, so that the directories that are open are those of the last key, and one that a key leaves was read to
//!    its end. A listing in another order is an error;
//!  - of directories that are open when the listing ends early nothing is taken away;
//!  - a scan that is resumed passes over the keys of a directory that it has read before, with all that is below it.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use flow::{Feeder, Flow, StageReport, Stopped};

use super::items::{LookedAt, LookedFound};
use super::{Progress, Scan, ScanSettings, Scanned, Target, Until, path_buf, rest_below};
use crate::ask::{Changed, Go};
use crate::attributes::{Attributes, Entry, FileId, Kind};
use crate::catalogue::Catalogue;
use crate::change::Change;
use crate::error::{CatalogueError, ScanError};
use crate::objects::{Address, Object, Objects, ObjectsPage, dir_name, directory, dirs_of, entry, split};
use crate::rows::{ScanCounts, Stamp};
use crate::walk::Dir;

/// Entries of a piece.
const PIECE_ENTRIES: usize = 4096;

/// Behind every text that goes on after a prefix, unless that begins with the same character. Keys are text.
const LAST_CHAR: &str = "\u{10ffff}";

/// Longest key that stores take, and so the longest that they may be asked to go on after.
const KEY_BYTES_MAX: usize = 1024;

impl Catalogue {
    /// Scans the objects below an address: all of a tree that becomes catalogued, or a part of one that is.
    ///
    /// # Errors
    /// [`ScanError::Stopped`] if `progress` was told to stop; [`ScanError::Listing`] and [`ScanError::Order`] about the store.
    /// What was read until then is kept, and nothing is taken out that was not read. [`ScanError::NoObjects`] if there is no
    /// object and the catalogue does not have the address.
    pub fn scan_objects(
        self: &Arc<Self>,
        address: &Address,
        objects: &dyn Objects,
        settings: &ScanSettings,
        progress: &Progress,
    ) -> Result<Scanned, ScanError> {
        let target = self.target_of(address)?;
        let scan = Arc::new(self.begin(&target, settings, progress, None)?);
        let stages = scan.pass_objects(&target, address, objects, settings)?;
        if target.is_whole() && settings.until == Until::Apply {
            scan.lose_roots(&target)?;
        }
        scan.finish(&target, settings, stages)
    }

    /// As [`Catalogue::compare`], with the objects below an address.
    ///
    /// # Errors
    /// As [`Catalogue::scan_objects`], and [`ScanError::Unknown`] if the address is in no tree that is catalogued.
    pub fn compare_objects(
        self: &Arc<Self>,
        address: &Address,
        objects: &dyn Objects,
        settings: &ScanSettings,
        progress: &Progress,
        each: impl Fn(Changed) + Send + Sync + 'static,
    ) -> Result<ScanCounts, ScanError> {
        let target = self.target_of(address)?;
        if self.root(&target.root)?.is_none() {
            let path = path_buf(address.path());
            return Err(ScanError::Unknown { path });
        }
        let scan = Arc::new(self.begin(&target, settings, progress, Some(Arc::new(each)))?);
        scan.pass_objects(&target, address, objects, settings)?;
        let counts = scan.row.lock().counts;
        Ok(counts)
    }

    /// The tree that an address is in, and the directories that lead from there.
    fn target_of(&self, address: &Address) -> Result<Target, CatalogueError> {
        self.target_at(address.path(), |rest| dirs_of(rest).unwrap_or_default())
    }
}

impl Scan {
    /// One listing of the objects through all stages but STAT: a listing says what there is to say of each.
    fn pass_objects(
        self: &Arc<Self>,
        target: &Target,
        address: &Address,
        objects: &dyn Objects,
        settings: &ScanSettings,
    ) -> Result<Vec<StageReport>, ScanError> {
        let volume = self.catalogue.bucket(address.volume())?;
        if !target.is_whole()
            && let Some(root) = self.catalogue.root(&target.root)?
            && root.attributes.id.volume != volume
        {
            return Err(ScanError::OtherStore {
                path: path_buf(address.path()),
                root: path_buf(&target.root),
            });
        }
        let mut keys = Keys::new(address, objects);
        // Before anything is written: an address that cannot be listed is not catalogued.
        let first = keys.page(None)?;
        if first.is_last
            && first.objects.iter().all(|object| *object.key == *keys.prefix)
            && self.catalogue.locate_exactly(address.path())?.is_none()
        {
            let path = path_buf(address.path());
            return Err(ScanError::NoObjects { path });
        }
        let root = address.at(&target.root);
        if settings.until == Until::Apply && self.listener.is_none() {
            self.note_root_as(target, directory(volume, root.below()))?;
        }
        let flow = Flow::<LookedAt, LookedAt>::new();
        let (feeder, pipeline) = self.stages_behind(flow, settings).map_err(ScanError::Flow)?;
        let monitor = pipeline.monitor();
        let mut reading = Reading {
            scan: self,
            feeder: (settings.until != Until::ReadDir).then_some(feeder),
            volume,
            open: Vec::new(),
            passing: None,
            visits: 0,
        };
        let read = match reading.begin(&root, target) {
            Ok(()) => reading.read(&mut keys, first),
            Err(Stopped) => Ok(()),
        };
        // The input of the pipeline ends; what is in it is still committed, also after an error.
        drop(reading);
        pipeline.join().map_err(ScanError::Flow)?;
        if self.shared.stop.load(Relaxed) {
            return Err(ScanError::Stopped);
        }
        read?;
        Ok([vec![keys.report()], monitor.stages()].concat())
    }

    /// Trees below the one that was listed have no objects any more if the listing did not meet them.
    fn lose_roots(&self, target: &Target) -> Result<(), CatalogueError> {
        let mut change = Change::new(&self.catalogue)?;
        let mut is_changed = false;
        for (path, root) in self.catalogue.roots()? {
            let id = root.attributes.id;
            let is_below = path != target.root && rest_below(&path, &target.root).is_some();
            if is_below
                && self
                    .catalogue
                    .dir_row(id)?
                    .is_some_and(|row| row.parent == Some(id))
            {
                change.lost(id, id, &path, &path)?;
                change.count_file(&root.attributes, -1);
                change.root(&path, None);
                is_changed = true;
            }
        }
        match is_changed {
            true => change.commit(),
            false => Ok(()),
        }
    }

    /// Whether this scan has read a directory whole, and all below it: it was stopped after that.
    fn has_read(&self, dir: &Attributes) -> Result<bool, CatalogueError> {
        let is_read = |id: FileId| -> Result<bool, CatalogueError> {
            let row = self.catalogue.dir_row(id)?;
            Ok(row.is_some_and(|row| row.whole_scan == self.number))
        };
        if !self.is_resumed || !is_read(dir.id)? {
            return Ok(false);
        }
        let top = self.catalogue.found(Vec::new(), dir.clone(), 0)?;
        let each = self.catalogue.each(top, |found| match found.attributes.kind {
            Kind::Directory if !is_read(found.attributes.id)? => Err(Unread::Directory),
            _ => Ok(Go::On),
        });
        match each {
            Ok(()) => Ok(true),
            Err(Unread::Directory) => Ok(false),
            Err(Unread::Catalogue(error)) => Err(error),
        }
    }
}

/// Why a look at all that is below a directory ended early.
enum Unread {
    Directory,
    Catalogue(CatalogueError),
}

impl From<CatalogueError> for Unread {
    fn from(error: CatalogueError) -> Unread {
        Unread::Catalogue(error)
    }
}

/// The keys below an address, as the store lists them.
struct Keys<'a> {
    address: &'a Address,
    objects: &'a dyn Objects,
    /// The path of the directory and a slash; empty for the bucket.
    prefix: Vec<u8>,
    /// The last key.
    last: Vec<u8>,
    listed: u64,
    pages: u64,
    busy: Duration,
}

impl<'a> Keys<'a> {
    fn new(address: &'a Address, objects: &'a dyn Objects) -> Keys<'a> {
        Keys {
            address,
            objects,
            prefix: with_slash(address.below()),
            last: Vec::new(),
            listed: 0,
            pages: 0,
            busy: Duration::ZERO,
        }
    }

    /// The page of the keys after one, in order.
    fn page(&mut self, after: Option<&[u8]>) -> Result<ObjectsPage, ScanError> {
        let begun = ambient::now();
        let page = self
            .objects
            .page(&self.prefix, after)
            .map_err(|source| ScanError::Listing {
                path: path_buf(self.address.path()),
                after: match &*self.last {
                    [] => String::new(),
                    last => format!(
                        " after key {}: what was read is kept, and the next scan goes on",
                        String::from_utf8_lossy(last)
                    ),
                },
                source,
            })?;
        self.busy += ambient::since(begun);
        self.pages += 1;
        self.listed += page.objects.len() as u64;
        let mut before = after;
        for object in &page.objects {
            let is_in_order = before.is_none_or(|before| *object.key > *before);
            if !is_in_order || object.key.is_empty() || !object.key.starts_with(&self.prefix) {
                return Err(ScanError::Order {
                    path: path_buf(self.address.path()),
                    key: String::from_utf8_lossy(&object.key).into_owned(),
                    before: String::from_utf8_lossy(before.unwrap_or_default()).into_owned(),
                });
            }
            before = Some(&object.key);
        }
        if !page.is_last && page.objects.is_empty() {
            return Err(ScanError::Order {
                path: path_buf(self.address.path()),
                key: "no key".to_owned(),
                before: String::from_utf8_lossy(&self.last).into_owned(),
            });
        }
        if let Some(object) = page.objects.last() {
            self.last.clone_from(&object.key);
        }
        Ok(page)
    }

    /// Where the listing goes on: after the last key, or after all keys of a directory that is passed over.
    fn after(&self, passing: Option<&[u8]>) -> Vec<u8> {
        let past = passing.map(|path| [path, LAST_CHAR.as_bytes()].concat());
        match past {
            Some(past) if past > self.last && past.len() <= KEY_BYTES_MAX => past,
            _ => self.last.clone(),
        }
    }

    fn report(&self) -> StageReport {
        let ratio = |a: f64, b: u64| if b == 0 { 0.0 } else { a / b as f64 };
        StageReport {
            name: "READ_DIR",
            threads: 1,
            waiting: 0,
            running: 0,
            done: self.listed,
            total: self.listed,
            ms_per_item: ratio(self.busy.as_secs_f64() * 1e3, self.listed),
            batched_share: if self.listed == 0 { 0.0 } else { 1.0 },
            batch_mean: ratio(self.listed as f64, self.pages),
        }
    }
}

fn with_slash(path: &[u8]) -> Vec<u8> {
    match path {
        [] => Vec::new(),
        path => [path, b"/"].concat(),
    }
}

/// A directory whose keys are being listed.
struct Open {
    dir: Arc<Dir>,
    /// What its keys begin with.
    prefix: Vec<u8>,
    entries: Vec<Entry>,
    pieces: u32,
}

/// A listing on its way into the pipeline.
struct Reading<'a> {
    scan: &'a Scan,
    /// Nothing is sent where all stages are switched off.
    feeder: Option<Feeder<LookedAt>>,
    volume: u32,
    /// The directories of the last key, from the one that is scanned on; never empty while objects are taken.
    open: Vec<Open>,
    /// What the keys of a directory begin with that is passed over.
    passing: Option<Vec<u8>>,
    visits: u64,
}

impl Reading<'_> {
    /// Opens the directory that is scanned. Those on the way to it are not read, but hold what leads to it.
    fn begin(&mut self, root: &Address, target: &Target) -> Result<(), Stopped> {
        let mut path = root.below().to_vec();
        let mut dir = self.dir(None, b"", directory(self.volume, &path));
        for name in &target.only {
            path = [with_slash(&path), name.to_vec()].concat();
            let inner = directory(self.volume, &path);
            let entry = Entry {
                name: dir_name(name),
                attributes: inner.clone(),
            };
            self.send(&dir, 0, LookedFound::Some(vec![entry]))?;
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

    /// Reads all keys. Returns early when the scan is told to stop, or the pipeline has ended.
    fn read(&mut self, keys: &mut Keys<'_>, first: ObjectsPage) -> Result<(), ScanError> {
        let mut page = first;
        loop {
            for object in &page.objects {
                if self.scan.shared.stop.load(Relaxed) {
                    return Ok(());
                }
                // A key that is the prefix itself is a name in the directory above.
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

    /// Takes the next object.
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

    /// Goes into a directory of the one that is open, unless it was read before.
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
            return self.send(&dir, 0, LookedFound::Known);
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

    /// Sends the rest of a directory that was read to its end.
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

    fn send(&self, dir: &Arc<Dir>, number: u32, found: LookedFound) -> Result<(), Stopped> {
        let Some(feeder) = &self.feeder else {
            return Ok(());
        };
        let dir = dir.clone();
        feeder.send(LookedAt { dir, number, found })
    }
}

fn entries_found(entries: Vec<Entry>, is_last: bool) -> LookedFound {
    LookedFound::Entries {
        entries,
        faults: Vec::new(),
        is_last,
    }
}
