//! Names by conditions on their paths. A query about one directory reads only that directory, a
//! query about one path only its pack.
//!
//! Invariants: every name that meets all conditions is returned once, in unspecified order. Without
//! conditions these are all names of all trees, including the roots.

use super::{PathEntry, Visit};
use crate::attributes::{FileId, Kind};
use crate::catalogue::{Catalogue, join};
use crate::error::CatalogueError;
use crate::objects::{dir_name, dirs_of, is_address, path_parts, shown_name, split};
use crate::path::rest_below;
use crate::rows::RootRow;

/// A condition on the path of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameCondition {
    /// It equals this path.
    Is(Vec<u8>),
    /// It starts with these bytes.
    Begins(Vec<u8>),
    /// It is directly in this directory.
    In(Vec<u8>),
}

impl NameCondition {
    fn is_met(&self, path: &[u8]) -> bool {
        match self {
            NameCondition::Is(wanted) => path == wanted,
            NameCondition::Begins(begin) => path.starts_with(begin),
            NameCondition::In(dir) => directory_of(path) == Some(dir),
        }
    }
}

/// A name and the file that it refers to.
#[derive(Debug, Clone, Copy)]
pub struct Name<'a> {
    /// The file; its path ends in the name.
    pub found: &'a PathEntry,
    /// The parent directory; `None` for the root of a tree.
    dir: Option<FileId>,
}

/// Returns the parent directory of a path or an address; `None` for the root of a file system and
/// for a bucket.
pub fn directory_of(path: &[u8]) -> Option<&[u8]> {
    if is_address(path) {
        return path_parts(path).0;
    }
    let slash = path.iter().rposition(|&byte| byte == b'/')?;
    (path.len() > 1).then_some(&path[..slash.max(1)])
}

/// Returns the last component of a path or an address; the slash for the root of a file system.
pub fn name_of(path: &[u8]) -> &[u8] {
    if is_address(path) {
        return path_parts(path).1;
    }
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(slash) if path.len() > 1 => &path[slash + 1..],
        _ => path,
    }
}

/// The part of the catalogue that can satisfy some conditions.
enum SearchScope<'a> {
    /// Paths with this prefix.
    Below(&'a [u8]),
    /// All names in a directory.
    In(&'a [u8]),
    /// One path.
    One(&'a [u8]),
}

impl SearchScope<'_> {
    /// Returns the smallest part that follows from one of the conditions.
    fn of(conditions: &[NameCondition]) -> SearchScope<'_> {
        let mut least = SearchScope::Below(b"");
        for condition in conditions {
            least = match (condition, least) {
                (NameCondition::Is(path), _) => SearchScope::One(path),
                (NameCondition::In(dir), SearchScope::Below(_)) => SearchScope::In(dir),
                (NameCondition::Begins(begin), SearchScope::Below(other)) if begin.len() > other.len() => {
                    SearchScope::Below(begin)
                }
                (_, least) => least,
            };
        }
        least
    }

    /// Returns whether it includes the whole tree.
    fn has_tree(&self, path: &[u8]) -> bool {
        matches!(self, SearchScope::Below(begin) if path.starts_with(begin))
    }

    /// Returns the directory with such names, if it is a single one, and the first name to read
    /// there.
    fn first(&self) -> Option<(&[u8], &[u8])> {
        match self {
            SearchScope::In(dir) => Some((dir, b"")),
            SearchScope::One(path) => Some((directory_of(path)?, name_of(path))),
            SearchScope::Below(begin) => {
                let slash = begin.iter().rposition(|&byte| byte == b'/')?;
                Some((&begin[..slash.max(1)], &begin[slash + 1..]))
            }
        }
    }

    /// Returns whether neither this name nor any later one can match; `first` is the name where
    /// reading began.
    fn is_past(&self, first: &[u8], name: &[u8]) -> bool {
        match self {
            SearchScope::In(_) => false,
            SearchScope::One(_) => name > first,
            SearchScope::Below(_) => !name.starts_with(first),
        }
    }
}

impl Catalogue {
    /// Calls `each` with every name of any tree whose path meets all conditions.
    ///
    /// # Errors
    /// Fails if a row cannot be read, and returns errors of `each`.
    pub fn each_name<E: From<CatalogueError>>(
        &self,
        conditions: &[NameCondition],
        mut each: impl FnMut(Name<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let scope = SearchScope::of(conditions);
        let mut give = |found: &PathEntry, dir: Option<FileId>| {
            let is_meant = conditions.iter().all(|condition| condition.is_met(&found.path));
            if is_meant {
                each(Name { found, dir })
            } else {
                Ok(())
            }
        };
        for (path, root) in self.roots()? {
            if scope.has_tree(&path) {
                let top = self.found(path, root.attributes, 0)?;
                self.emit_all(top, None, &mut give)?;
                continue;
            }
            if is_address(&path) {
                self.emit_objects(&path, &root, &scope, &mut give)?;
                continue;
            }
            if let Some((dir, first)) = scope.first()
                && let Some(id) = self.directory_in(&path, &root, dir)?
            {
                self.emit_in(dir, id, (&scope, first), &mut give)?;
            }
            give(&self.found(path, root.attributes, 0)?, None)?;
        }
        Ok(())
    }

    /// Passes on the candidate names in a tree of objects. It starts at the last directory common
    /// to all their keys, because a slash in a key does not always end a directory name.
    fn emit_objects<E: From<CatalogueError>>(
        &self,
        tree: &[u8],
        root: &RootRow,
        scope: &SearchScope<'_>,
        give: &mut impl FnMut(&PathEntry, Option<FileId>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (SearchScope::Below(wanted) | SearchScope::In(wanted) | SearchScope::One(wanted)) = scope;
        let dirs = rest_below(wanted, tree).and_then(|rest| match scope {
            SearchScope::In(_) => dirs_of(rest),
            _ => Some(split(rest).0),
        });
        let is_top = dirs.as_ref().is_none_or(Vec::is_empty);
        let is_in = matches!(scope, SearchScope::In(_));
        if is_top && (is_in || dirs.is_none()) {
            give(&self.found(tree.to_vec(), root.attributes.clone(), 0)?, None)?;
        }
        let Some(dirs) = dirs else { return Ok(()) };
        let names: Vec<_> = dirs.iter().map(|dir| dir_name(dir)).collect();
        let names = names.iter().map(|name| &**name);
        let Some(attributes) = self.follow_names(root.attributes.clone(), names)? else {
            return Ok(());
        };
        let mut path = tree.to_vec();
        dirs.iter().for_each(|dir| join(&mut path, dir));
        let id = attributes.id;
        if !is_in {
            return self.emit_all(self.found(path, attributes, 0)?, None, give);
        }
        self.each_entry_from(id, b"", |entry| {
            let mut path = path.clone();
            join(&mut path, shown_name(&entry.name));
            give(&self.found(path, entry.attributes, 0)?, Some(id))?;
            Ok(true)
        })
    }

    /// Returns the directory with this path, if it is in the tree.
    fn directory_in(
        &self,
        tree: &[u8],
        root: &RootRow,
        dir: &[u8],
    ) -> Result<Option<FileId>, CatalogueError> {
        let Some(rest) = rest_below(dir, tree) else {
            return Ok(None);
        };
        let mut at = root.attributes.id;
        for name in rest.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
            match self.entry(at, name)? {
                Some(entry) if entry.attributes.kind == Kind::Directory => at = entry.attributes.id,
                _ => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    /// Passes on the candidate names in a directory, and everything below them if it can match.
    fn emit_in<E: From<CatalogueError>>(
        &self,
        dir: &[u8],
        id: FileId,
        (scope, first): (&SearchScope<'_>, &[u8]),
        give: &mut impl FnMut(&PathEntry, Option<FileId>) -> Result<(), E>,
    ) -> Result<(), E> {
        // A directory without a row has not been read.
        if self.dir_row(id)?.is_none() {
            return Ok(());
        }
        self.each_entry_from(id, first, |entry| {
            if scope.is_past(first, &entry.name) {
                return Ok(false);
            }
            let mut path = dir.to_vec();
            join(&mut path, &entry.name);
            let found = self.found(path, entry.attributes, 0)?;
            match scope {
                SearchScope::Below(..) => self.emit_all(found, Some(id), give)?,
                _ => give(&found, Some(id))?,
            }
            Ok(true)
        })
    }

    /// Passes on an entry of a directory and everything below it.
    fn emit_all<E: From<CatalogueError>>(
        &self,
        top: PathEntry,
        dir: Option<FileId>,
        give: &mut impl FnMut(&PathEntry, Option<FileId>) -> Result<(), E>,
    ) -> Result<(), E> {
        // The ancestors of the current entry, by depth.
        let mut open: Vec<FileId> = Vec::new();
        self.each(top, |found| {
            open.truncate(found.depth);
            give(found, open.last().copied().or(dir))?;
            if found.attributes.kind == Kind::Directory {
                open.push(found.attributes.id);
            }
            Ok(Visit::Descend)
        })
    }

    /// Returns whether the file counts under this name: it is the only name, or the first of
    /// several.
    ///
    /// # Errors
    /// Fails if a row cannot be read.
    pub fn counts_with(&self, name: &Name<'_>) -> Result<bool, CatalogueError> {
        let file = &name.found.attributes;
        match name.dir {
            Some(dir) if file.is_linked() => self.is_first_name(file.id, dir, name_of(&name.found.path)),
            _ => Ok(true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_apart_as_dirname_and_basename_do() {
        for (path, dir, name) in [
            ("/a/b", Some("/a"), "b"),
            ("/a", Some("/"), "a"),
            ("/", None, "/"),
            ("a", None, "a"),
            ("", None, ""),
            ("s3://b", None, "b"),
            ("s3://b/a", Some("s3://b"), "a"),
            ("s3://b/a/c", Some("s3://b/a"), "c"),
            ("s3://b/a//c", Some("s3://b/a"), "/c"),
            ("s3://b/a/", Some("s3://b"), "a/"),
            ("store://b//", Some("store://b"), "/"),
        ] {
            assert_eq!(directory_of(path.as_bytes()), dir.map(str::as_bytes), "{path}");
            assert_eq!(name_of(path.as_bytes()), name.as_bytes(), "{path}");
        }
    }
}
