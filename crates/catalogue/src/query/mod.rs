//! Queries of the catalogue.

mod children;
mod duplicates;
mod heaviest;
mod history;
mod names;
mod renames;

use std::path::Path;

pub use children::{Child, ChildOrder, Children};
pub use duplicates::{DuplicateReport, Duplicates};
pub use heaviest::{DirectoryUsage, FileOrder};
pub use history::ReportedChange;
pub use names::{Name, NameCondition, directory_of, name_of};
pub use renames::join_renames;

use crate::attributes::{Attributes, Entry, Kind};
use crate::catalogue::{Catalogue, join};
use crate::error::CatalogueError;
use crate::objects::{dir_name, dirs_of, is_address, split};
use crate::pack;
use crate::path::{names_of, rest_below};
use crate::rows::{FaultRow, RootRow, dir_of_key};
use crate::tables::Table;
use crate::timed_call::{ANSWER_WITHIN, call_within};
use crate::usage::Usage;

/// An entry and its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathEntry {
    /// Its path, as bytes.
    pub path: Vec<u8>,
    /// Attributes of the file.
    pub attributes: Attributes,
    /// Number of directories between it and the start of the search.
    pub depth: usize,
    /// Number of entries, if it is a directory that was read.
    pub entries: Option<u64>,
}

/// A catalogued tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Its path, as bytes.
    pub path: Vec<u8>,
    /// Sums over everything in it, including its root.
    pub usage: Usage,
    /// The last finished scan of the whole tree, or 0.
    pub whole_scan: u64,
    /// When that scan ended, in milliseconds since 1970.
    pub whole_ended_ms: i64,
    /// Number of read errors.
    pub faults: u64,
}

/// A read error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Its path, as bytes.
    pub path: Vec<u8>,
    /// Message of the system.
    pub error: String,
    /// The last scan that had this error.
    pub scan: u64,
}

/// How a search continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visit {
    /// It descends into the directory.
    Descend,
    /// It skips the directory.
    Skip,
}

/// Removes `.` and `..` from an absolute path without accessing the disk.
fn normalize(absolute: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    use std::path::Component;
    let mut bytes = b"/".to_vec();
    for component in absolute.components() {
        match component {
            Component::Normal(name) => join(&mut bytes, name.as_bytes()),
            Component::ParentDir => {
                let end = bytes.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
                bytes.truncate(end.max(1));
            }
            _ => {}
        }
    }
    bytes
}

impl Catalogue {
    /// Returns all catalogued trees.
    pub fn trees(&self) -> Result<Vec<Root>, CatalogueError> {
        let mut trees = Vec::new();
        for (path, root) in self.roots()? {
            let mut usage = self.tree(root.attributes.id)?;
            usage.count(&root.attributes, 1);
            let faults = self.faults_below(&path, b"")?.len() as u64;
            trees.push(Root {
                path,
                usage,
                whole_scan: root.whole_scan,
                whole_ended_ms: root.whole_ended_ms,
                faults,
            });
        }
        Ok(trees)
    }

    /// Returns the paths of all trees, in order.
    pub fn tree_paths(&self) -> Result<Vec<Vec<u8>>, CatalogueError> {
        Ok(self.roots()?.into_iter().map(|(path, _)| path).collect())
    }

    /// Returns the tree that contains a path, and the rest of the path.
    fn root_of(&self, path: &[u8]) -> Result<Option<(RootRow, Vec<u8>)>, CatalogueError> {
        let containing = self
            .roots()?
            .into_iter()
            .filter_map(|(root, row)| Some((root.len(), row, rest_below(path, &root)?.to_vec())));
        let nearest = containing.max_by_key(|(length, _, _)| *length);
        Ok(nearest.map(|(_, row, rest)| (row, rest)))
    }

    /// Returns the absolute path under which the catalogue knows `path`. Resolves links on disk,
    /// unless the catalogue shows that the path has no links. So it also works on a mount that
    /// hangs.
    ///
    /// # Errors
    /// [`CatalogueError::NoAnswer`] if the disk must be accessed and does not answer.
    pub(crate) fn absolute(&self, path: &Path) -> Result<Vec<u8>, CatalogueError> {
        use std::path::Component;
        let absolute = std::path::absolute(path).map_err(|error| CatalogueError::io("find", path, error))?;
        let given = normalize(&absolute);
        if absolute
            .components()
            .all(|component| component != Component::ParentDir)
        {
            let known = self.locate_exactly(&given)?;
            if known.is_some_and(|found| found.attributes.kind != Kind::Symlink) {
                return Ok(given);
            }
        }
        // An existing path may contain links; a removed path is taken as given.
        let given_path = absolute.clone();
        let canonical = call_within(ANSWER_WITHIN, move || given_path.canonicalize())
            .ok_or_else(|| CatalogueError::no_answer(path, ANSWER_WITHIN))?;
        Ok(canonical.map_or(given, |path| normalize(&path)))
    }

    /// Returns the entry of a path or an address, if it is catalogued.
    pub fn locate(&self, path: &Path) -> Result<Option<PathEntry>, CatalogueError> {
        use std::os::unix::ffi::OsStrExt;
        let given = path.as_os_str().as_bytes();
        if is_address(given) {
            self.locate_exactly(given)
        } else {
            self.locate_exactly(&self.absolute(path)?)
        }
    }

    /// As [`Catalogue::locate`], for an absolute path as the catalogue stores it: links are not
    /// resolved. If an address is both an object and a directory, returns the directory. One
    /// trailing slash of an address is ignored.
    pub fn locate_exactly(&self, path: &[u8]) -> Result<Option<PathEntry>, CatalogueError> {
        let Some((root, rest)) = self.root_of(path)? else {
            return Ok(None);
        };
        let path = path.to_vec();
        if !is_address(&path) {
            let attributes = self.follow_names(root.attributes, names_of(&rest).into_iter())?;
            return attributes
                .map(|attributes| self.found(path, attributes, 0))
                .transpose();
        }
        // A single slash is the name of an object.
        let dir = rest
            .strip_suffix(b"/")
            .filter(|dir| !dir.is_empty())
            .unwrap_or(&rest);
        if let Some(dirs) = dirs_of(dir) {
            let names: Vec<_> = dirs.into_iter().map(dir_name).collect();
            let names = names.iter().map(|name| &**name);
            if let Some(attributes) = self.follow_names(root.attributes.clone(), names)? {
                let path = path.strip_suffix(b"/").unwrap_or(&path).to_vec();
                return Ok(Some(self.found(path, attributes, 0)?));
            }
        }
        let (dirs, name) = split(&rest);
        let names: Vec<_> = dirs.into_iter().map(dir_name).chain([name.into()]).collect();
        let names = names.iter().map(|name| &**name);
        let attributes = self.follow_names(root.attributes, names)?;
        attributes
            .map(|attributes| self.found(path, attributes, 0))
            .transpose()
    }

    /// Follows names from a directory and returns the attributes of the last one.
    fn follow_names<'a>(
        &self,
        from: Attributes,
        names: impl Iterator<Item = &'a [u8]>,
    ) -> Result<Option<Attributes>, CatalogueError> {
        let mut at = from;
        for name in names {
            match self.entry(at.id, name)? {
                Some(entry) => at = entry.attributes,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    pub(crate) fn found(
        &self,
        path: Vec<u8>,
        attributes: Attributes,
        depth: usize,
    ) -> Result<PathEntry, CatalogueError> {
        let entries = match attributes.kind {
            Kind::Directory => self.dir_row(attributes.id)?.map(|row| row.entries),
            _ => None,
        };
        Ok(PathEntry {
            path,
            attributes,
            depth,
            entries,
        })
    }

    /// Returns the sums over an entry and everything below it.
    pub fn usage(&self, found: &PathEntry) -> Result<Usage, CatalogueError> {
        let mut usage = match found.attributes.kind {
            Kind::Directory => self.tree(found.attributes.id)?,
            _ => Usage::default(),
        };
        usage.count(&found.attributes, 1);
        Ok(usage)
    }

    /// Calls `each` with an entry and everything below it: directories before their contents, names
    /// in bytewise order.
    ///
    /// # Errors
    /// Fails if a row cannot be read, and returns errors of `each`.
    pub fn each<E: From<CatalogueError>>(
        &self,
        top: PathEntry,
        mut each: impl FnMut(&PathEntry) -> Result<Visit, E>,
    ) -> Result<(), E> {
        // Stack of open directories, each with its remaining packs.
        let mut open: Vec<Open> = Vec::new();
        let go = each(&top)?;
        self.enter(top, go, &mut open);
        while let Some(dir) = open.last_mut() {
            let Some(Entry { name, attributes }) = dir.next()? else {
                open.pop();
                continue;
            };
            let mut path = dir.path.clone();
            join(&mut path, &name);
            let depth = dir.depth + 1;
            let found = self.found(path, attributes, depth)?;
            let go = each(&found)?;
            self.enter(found, go, &mut open);
        }
        Ok(())
    }

    fn enter(&self, found: PathEntry, go: Visit, open: &mut Vec<Open>) {
        // A directory without a row has not been read.
        if go == Visit::Descend && found.entries.is_some() {
            let packs = self
                .tables
                .space(Table::Packs)
                .prefix(found.attributes.id.to_bytes());
            open.push(Open {
                path: found.path,
                depth: found.depth,
                packs,
                entries: Vec::new().into_iter(),
            });
        }
    }

    /// Returns all read errors of the last scans.
    pub fn faults(&self) -> Result<Vec<Fault>, CatalogueError> {
        let mut faults = Vec::new();
        for row in self.tables.space(Table::Faults).iter() {
            let (key, value) = row.into_inner()?;
            if let Some(fault) = self.fault_of(&key, &value)? {
                faults.push(fault);
            }
        }
        Ok(faults)
    }

    fn fault_of(&self, key: &[u8], value: &[u8]) -> Result<Option<Fault>, CatalogueError> {
        let Some(mut path) = self.path_of(dir_of_key(key)?)? else {
            return Ok(None);
        };
        join(&mut path, pack::first_name(key));
        let row = FaultRow::of_bytes(value)?;
        let error = std::io::Error::from_raw_os_error(row.errno).to_string();
        Ok(Some(Fault {
            path,
            error,
            scan: row.scan,
        }))
    }

    /// Returns the read errors below a directory of a tree.
    pub(crate) fn faults_below(&self, root: &[u8], below: &[u8]) -> Result<Vec<Fault>, CatalogueError> {
        let mut path = root.to_vec();
        join(&mut path, below);
        Ok(self
            .faults()?
            .into_iter()
            .filter(|fault| rest_below(&fault.path, &path).is_some())
            .collect())
    }
}

/// A directory whose entries are being listed.
struct Open {
    path: Vec<u8>,
    depth: usize,
    packs: fjall::Iter,
    entries: std::vec::IntoIter<Entry>,
}

impl Open {
    fn next(&mut self) -> Result<Option<Entry>, CatalogueError> {
        loop {
            if let Some(entry) = self.entries.next() {
                return Ok(Some(entry));
            }
            match self.packs.next() {
                Some(row) => self.entries = pack::decode(&row.value()?)?.into_iter(),
                None => return Ok(None),
            }
        }
    }
}
