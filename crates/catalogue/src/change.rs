//! One epoch: changes to any table that become visible, and then durable, together.
//!
//! Invariants, which [`crate::Catalogue::check`] recomputes:
//!  - The sums of a directory cover its entries and the sums of the directories attached to it. A
//!    directory is attached together with its sums, so its entries may be committed before its
//!    parent's.
//!  - A directory is attached only to one that has an entry for it. A directory that is not
//!    attached is an orphan.
//!  - The sums by group cover the entries of all packs and all roots.
//!  - A file with several names counts once in both sums, under its first name by directory and
//!    name.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry as Place;
use std::sync::Arc;

use fjall::{OwnedWriteBatch, PersistMode};
use rustc_hash::FxHashMap;

use crate::attributes::{Attributes, FileId, Kind};
use crate::catalogue::Catalogue;
use crate::changes::ChangesRow;
use crate::error::CatalogueError;
use crate::pack;
use crate::rows::{DirRow, FaultRow, Group, LinkedName, LinkedRow, OrphanRow, RootRow, ScanRow};
use crate::tables::Table;
use crate::usage::Usage;
use crate::watch_row::WatchRow;

/// Points at which tests kill the process.
pub const CRASH_POINTS: [&str; 4] = [
    "files.before_commit",
    "files.before_sync",
    "files.after_sync",
    "files.after_note",
];

/// Key prefix in table `orphans` for files of a forgotten tree. The digest of such a file is
/// removed unless the file is still catalogued. No key of a directory has this prefix, because file
/// systems are numbered from 0, far below it.
pub(crate) const DIGEST_MARKS: [u8; 4] = [0xff; 4];

fn digest_mark(id: FileId) -> Vec<u8> {
    [&DIGEST_MARKS[..], &id.to_bytes()].concat()
}

/// The directories in a pack, by name.
#[derive(Default)]
pub(crate) struct DirsOfPack {
    parent: FileId,
    /// In order of name.
    dirs: Vec<(Box<[u8]>, FileId)>,
}

impl DirsOfPack {
    fn of(parent: FileId, pack: &[u8]) -> Result<DirsOfPack, CatalogueError> {
        let mut dirs = Vec::new();
        let mut entries = pack::entries(pack)?;
        while let Some((name, file)) = entries.next()? {
            if file.kind == Kind::Directory {
                dirs.push((name.into(), file.id));
            }
        }
        Ok(DirsOfPack { parent, dirs })
    }

    fn find(&self, name: &[u8]) -> Option<FileId> {
        let at = self.dirs.binary_search_by(|(other, _)| (**other).cmp(name));
        at.ok().map(|at| self.dirs[at].1)
    }
}

/// Changes that are not visible yet. Dropping it without [`Change::commit`] discards them.
pub(crate) struct Change {
    catalogue: Arc<Catalogue>,
    /// Rows to write or remove; the last one for a key wins.
    writes: Vec<(Table, fjall::UserKey, Option<Vec<u8>>)>,
    /// Packs to write or remove.
    packs: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    dirs: FxHashMap<FileId, Option<DirRow>>,
    trees: FxHashMap<FileId, Usage>,
    linked: FxHashMap<FileId, LinkedRow>,
    /// Differences, unlike the rows above.
    groups: FxHashMap<Group, Usage>,
    changes_rows: u32,
    epoch: u64,
}

impl Change {
    pub(crate) fn new(catalogue: &Arc<Catalogue>) -> Result<Change, CatalogueError> {
        catalogue.tables.wait_for_room()?;
        Ok(Change {
            catalogue: catalogue.clone(),
            writes: Vec::new(),
            packs: BTreeMap::new(),
            dirs: FxHashMap::default(),
            trees: FxHashMap::default(),
            linked: FxHashMap::default(),
            groups: FxHashMap::default(),
            changes_rows: 0,
            epoch: catalogue.epoch()? + 1,
        })
    }

    fn insert(&mut self, table: Table, key: impl Into<fjall::UserKey>, value: Vec<u8>) {
        self.writes.push((table, key.into(), Some(value)));
    }

    fn remove(&mut self, table: Table, key: impl Into<fjall::UserKey>) {
        self.writes.push((table, key.into(), None));
    }

    /// Returns all rows as one batch with each key once: within a batch the engine does not order
    /// writes to the same key.
    fn batch(&mut self) -> OwnedWriteBatch {
        let mut batch = self
            .catalogue
            .tables
            .db()
            .batch()
            .durability(Some(PersistMode::Buffer));
        // A stable sort keeps the last write for a key behind the others.
        self.writes
            .sort_by(|a, b| (a.0 as usize, &a.1).cmp(&(b.0 as usize, &b.1)));
        let mut writes = self.writes.drain(..).peekable();
        while let Some((table, key, value)) = writes.next() {
            if writes.peek().is_some_and(|next| next.0 == table && next.1 == key) {
                continue;
            }
            let space = self.catalogue.tables.space(table);
            match value {
                Some(value) => batch.insert(space, key, value),
                None => batch.remove(space, key),
            }
        }
        batch
    }

    /// Writes a pack, or removes it if `pack` is `None`.
    pub(crate) fn pack(&mut self, key: Vec<u8>, pack: Option<Vec<u8>>) {
        self.packs.insert(key, pack);
    }

    /// Returns the directory with this name in `parent`, with the changes applied. `last` caches
    /// the pack for the next call.
    pub(crate) fn directory_at(
        &self,
        parent: FileId,
        name: &[u8],
        last: &mut DirsOfPack,
    ) -> Result<Option<FileId>, CatalogueError> {
        if last.parent == parent
            && let Some(id) = last.find(name)
        {
            return Ok(Some(id));
        }
        let Some(pack) = self.pack_at(parent, name)? else {
            return Ok(None);
        };
        *last = DirsOfPack::of(parent, &pack)?;
        Ok(last.find(name))
    }

    /// Returns the pack whose range covers a name, if any.
    fn pack_at(&self, dir: FileId, name: &[u8]) -> Result<Option<Vec<u8>>, CatalogueError> {
        let keys = pack::key(dir, b"")..=pack::key(dir, name);
        let mut ours = self.packs.range(keys.clone()).rev();
        let ours = ours.find(|(_, pack)| pack.is_some());
        for row in self.catalogue.tables.space(Table::Packs).range(keys).rev() {
            let (key, pack) = row.into_inner()?;
            if ours.is_some_and(|(ours, _)| **ours >= *key) {
                break;
            }
            // Packs that this change removes or replaces are skipped.
            if !self.packs.contains_key(&*key) {
                return Ok(Some(pack.to_vec()));
            }
        }
        Ok(ours.and_then(|(_, pack)| pack.clone()))
    }

    /// Returns the row of a directory with the changes applied.
    pub(crate) fn dir(&mut self, id: FileId) -> Result<&mut Option<DirRow>, CatalogueError> {
        Ok(match self.dirs.entry(id) {
            Place::Occupied(row) => row.into_mut(),
            Place::Vacant(place) => place.insert(self.catalogue.dir_row(id)?),
        })
    }

    fn tree(&mut self, id: FileId) -> Result<&mut Usage, CatalogueError> {
        Ok(match self.trees.entry(id) {
            Place::Occupied(row) => row.into_mut(),
            Place::Vacant(place) => place.insert(self.catalogue.tree(id)?),
        })
    }

    /// Adds to the sums of a directory and all its ancestors.
    pub(crate) fn count_in(&mut self, dir: FileId, usage: &Usage, sign: i64) -> Result<(), CatalogueError> {
        if usage.changes_nothing() {
            return Ok(());
        }
        let mut at = dir;
        loop {
            self.tree(at)?.add(usage, sign);
            match self.dir(at)? {
                Some(DirRow {
                    parent: Some(parent), ..
                }) if *parent != at => at = *parent,
                _ => return Ok(()),
            }
        }
    }

    /// Adds to the sums by group.
    pub(crate) fn count_group(&mut self, group: Group, usage: &Usage, sign: i64) {
        self.groups.entry(group).or_default().add(usage, sign);
    }

    /// Adds one file to the sums by group.
    pub(crate) fn count_file(&mut self, file: &Attributes, sign: i64) {
        let mut usage = Usage::default();
        usage.count(file, sign);
        self.count_group(Group::of(file), &usage, 1);
    }

    /// Returns whether a directory is attached to `parent` under this name.
    pub(crate) fn is_attached(
        &mut self,
        id: FileId,
        parent: FileId,
        name: &[u8],
    ) -> Result<bool, CatalogueError> {
        let row = self.dir(id)?.as_ref();
        Ok(row.is_some_and(|row| row.parent == Some(parent) && *row.name == *name))
    }

    /// Creates the row of a directory. It stays an orphan until it is attached.
    pub(crate) fn mark_unattached(
        &mut self,
        id: FileId,
        orphan: impl FnOnce() -> OrphanRow,
    ) -> Result<(), CatalogueError> {
        if self.dir(id)?.get_or_insert_default().parent.is_none() {
            self.orphan(id, Some(&orphan()));
        }
        Ok(())
    }

    /// Attaches a directory to its parent and creates its row. The root of a tree is its own
    /// parent, and its name is the path of the tree.
    pub(crate) fn attach(
        &mut self,
        id: FileId,
        parent: FileId,
        name: &[u8],
    ) -> Result<&mut DirRow, CatalogueError> {
        if !self.is_attached(id, parent, name)? {
            self.detach(id)?;
            self.orphan(id, None);
            let row = self.dir(id)?.get_or_insert_default();
            row.parent = Some(parent);
            row.name = name.into();
            if parent != id {
                let sums = self.tree(id)?.clone();
                self.count_in(parent, &sums, 1)?;
            }
        }
        Ok(self.dir(id)?.get_or_insert_default())
    }

    /// Detaches a directory from its parent, if it is attached. Everything below it stays.
    fn detach(&mut self, id: FileId) -> Result<(), CatalogueError> {
        let Some(row) = self.dir(id)? else { return Ok(()) };
        if let Some(parent) = row.parent.take()
            && parent != id
        {
            let sums = self.tree(id)?.clone();
            self.count_in(parent, &sums, -1)?;
        }
        Ok(())
    }

    /// Marks a directory as missing from its former place. Unless it is attached elsewhere by the
    /// end of the scan, it is removed.
    pub(crate) fn mark_missing(
        &mut self,
        id: FileId,
        parent: FileId,
        name: &[u8],
        orphan: &OrphanRow,
    ) -> Result<(), CatalogueError> {
        if self.is_attached(id, parent, name)? {
            self.detach(id)?;
            self.orphan(id, Some(orphan));
        }
        Ok(())
    }

    /// Marks a directory for removal, or clears the mark if `orphan` is `None`.
    fn orphan(&mut self, id: FileId, orphan: Option<&OrphanRow>) {
        match orphan {
            Some(orphan) => self.insert(Table::Orphans, id.to_bytes(), orphan.to_bytes()),
            None => self.remove(Table::Orphans, id.to_bytes()),
        }
    }

    /// Marks a file of a forgotten tree that has a known digest. `dir` is the path of its
    /// directory.
    pub(crate) fn mark_digest(&mut self, id: FileId, dir: &[u8]) {
        self.insert(Table::Orphans, digest_mark(id), dir.to_vec());
    }

    /// Clears the mark of a file, and removes its digest if `is_removed` is set.
    pub(crate) fn decide_digest(&mut self, id: FileId, is_removed: bool) {
        self.remove(Table::Orphans, digest_mark(id));
        if is_removed {
            self.remove(Table::Digests, id.to_bytes());
        }
    }

    /// Removes a directory that is not attached. The caller removes its entries.
    pub(crate) fn forget_dir(&mut self, id: FileId) -> Result<(), CatalogueError> {
        if let Some(row) = self.dir(id)?.take()
            && row.faults > 0
        {
            self.clear_faults(id)?;
        }
        let left = self.tree(id)?;
        system::holds!(
            "files.forgotten",
            left.is_empty(),
            "a directory being removed still holds {left:?}"
        );
        self.orphan(id, None);
        Ok(())
    }

    fn linked(&mut self, id: FileId) -> Result<&mut LinkedRow, CatalogueError> {
        Ok(match self.linked.entry(id) {
            Place::Occupied(row) => row.into_mut(),
            Place::Vacant(place) => place.insert(self.catalogue.linked(id)?.unwrap_or_default()),
        })
    }

    /// Returns the names of a file with several names, with the changes applied.
    pub(crate) fn names_of_linked(&mut self, id: FileId) -> Result<&[LinkedName], CatalogueError> {
        Ok(&self.linked(id)?.names)
    }

    fn count_linked(&mut self, name: Option<LinkedName>, sign: i64) -> Result<(), CatalogueError> {
        let Some(name) = name else { return Ok(()) };
        let mut usage = Usage::default();
        usage.count(&name.attributes, sign);
        self.count_group(Group::of(&name.attributes), &usage, 1);
        self.count_in(name.dir, &usage, 1)
    }

    /// Sets the attributes of one name of a file with several names, or removes the name if
    /// `attributes` is `None`.
    pub(crate) fn linked_name(
        &mut self,
        id: FileId,
        dir: FileId,
        name: &[u8],
        attributes: Option<&Attributes>,
    ) -> Result<(), CatalogueError> {
        let row = self.linked(id)?;
        let before = row.names.first().cloned();
        match (row.find(dir, name), attributes) {
            (Ok(at), Some(attributes)) => row.names[at].attributes = attributes.clone(),
            (Ok(at), None) => {
                row.names.remove(at);
            }
            (Err(at), Some(attributes)) => {
                let (name, attributes) = (name.into(), attributes.clone());
                row.names.insert(
                    at,
                    LinkedName {
                        dir,
                        name,
                        attributes,
                    },
                );
            }
            (Err(_), None) => {}
        }
        let after = row.names.first().cloned();
        if before != after {
            self.count_linked(before, -1)?;
            self.count_linked(after, 1)?;
        }
        Ok(())
    }

    /// Records a read error for a name in a directory, or, with the empty name, for the directory
    /// itself.
    pub(crate) fn fault(&mut self, dir: FileId, name: &[u8], fault: &FaultRow) -> Result<(), CatalogueError> {
        self.insert(Table::Faults, pack::key(dir, name), fault.to_bytes());
        self.dir(dir)?.get_or_insert_default().faults += 1;
        Ok(())
    }

    /// Removes the read errors of a directory.
    pub(crate) fn clear_faults(&mut self, dir: FileId) -> Result<(), CatalogueError> {
        let catalogue = self.catalogue.clone();
        for row in catalogue.tables.space(Table::Faults).prefix(dir.to_bytes()) {
            let key = row.key()?;
            self.remove(Table::Faults, key);
        }
        if let Some(row) = self.dir(dir)? {
            row.faults = 0;
        }
        Ok(())
    }

    /// Records changed names, for queries about changes since a time.
    pub(crate) fn changes(&mut self, changes: &ChangesRow) {
        let mut key = self.epoch.to_be_bytes().to_vec();
        key.extend_from_slice(&self.changes_rows.to_be_bytes());
        self.changes_rows += 1;
        self.insert(Table::Changes, key, changes.to_bytes());
    }

    pub(crate) fn root(&mut self, path: &[u8], root: Option<&RootRow>) {
        match root {
            Some(root) => self.insert(Table::Roots, path, root.to_bytes()),
            None => self.remove(Table::Roots, path),
        }
    }

    pub(crate) fn watched(&mut self, path: &[u8], row: &WatchRow) {
        self.insert(Table::Watches, path, row.to_bytes());
    }

    pub(crate) fn forget_watch(&mut self, path: &[u8]) {
        self.remove(Table::Watches, path);
    }

    pub(crate) fn scan(&mut self, number: u64, scan: &ScanRow) {
        self.insert(Table::Scans, number.to_be_bytes(), scan.to_bytes());
    }

    pub(crate) fn day(&mut self, key: Vec<u8>, usage: &Usage) {
        self.insert(Table::Days, key, usage.to_bytes());
    }

    pub(crate) fn forget_changes(&mut self, key: fjall::UserKey) {
        self.remove(Table::Changes, key);
    }

    /// Adds the differences of the sums by group to the stored sums.
    fn write_groups(&mut self) -> Result<(), CatalogueError> {
        let catalogue = self.catalogue.clone();
        for (group, difference) in std::mem::take(&mut self.groups) {
            let key = group.to_bytes();
            let row = catalogue.tables.space(Table::Groups).get(key)?;
            let mut usage = row
                .map(|row| Usage::of_bytes(&row))
                .transpose()?
                .unwrap_or_default();
            usage.add(&difference, 1);
            system::holds!(
                "files.groups",
                usage.entries >= 0,
                "{group:?} has {} entries",
                usage.entries
            );
            if usage.is_empty() {
                self.remove(Table::Groups, key)
            } else {
                self.insert(Table::Groups, key, usage.to_bytes())
            }
        }
        Ok(())
    }

    /// Makes the changes visible, and then durable.
    pub(crate) fn commit(mut self) -> Result<(), CatalogueError> {
        let catalogue = self.catalogue.clone();
        catalogue.check_writable()?;
        for (key, pack) in std::mem::take(&mut self.packs) {
            match pack {
                Some(pack) => self.insert(Table::Packs, key, pack),
                None => self.remove(Table::Packs, key),
            }
        }
        for (id, row) in std::mem::take(&mut self.dirs) {
            match row {
                Some(row) => self.insert(Table::Dirs, id.to_bytes(), row.to_bytes()),
                None => self.remove(Table::Dirs, id.to_bytes()),
            }
        }
        for (id, usage) in std::mem::take(&mut self.trees) {
            system::holds!(
                "files.trees",
                usage.entries >= 0,
                "directory {id:?} has {} entries",
                usage.entries
            );
            if usage.is_empty() {
                self.remove(Table::Trees, id.to_bytes())
            } else {
                self.insert(Table::Trees, id.to_bytes(), usage.to_bytes())
            }
        }
        for (id, row) in std::mem::take(&mut self.linked) {
            if row.names.is_empty() {
                self.remove(Table::Linked, id.to_bytes())
            } else {
                self.insert(Table::Linked, id.to_bytes(), row.to_bytes())
            }
        }
        self.write_groups()?;
        let (key, value) = Catalogue::epoch_row(self.epoch);
        self.insert(Table::Meta, key, value);
        // A batch is atomic across crashes. If an epoch is lost, the resumed scan finds its changes
        // again.
        system::failpoint::pass(&CRASH_POINTS, "files.before_commit");
        self.batch().commit()?;
        system::failpoint::pass(&CRASH_POINTS, "files.before_sync");
        catalogue.tables.db().persist(PersistMode::SyncData)?;
        system::failpoint::pass(&CRASH_POINTS, "files.after_sync");
        Ok(())
    }
}
