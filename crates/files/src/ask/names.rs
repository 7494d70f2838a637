//! Names by conditions on their paths: a question about one directory reads that directory, one about a path its pack.
//!
//! Invariants: every name that meets all conditions is given once, in no order that is promised; where no condition says
//! where to begin, that is every name of every tree, the tops of the trees among them.

use super::{Found, Go};
use crate::attributes::{FileId, Kind};
use crate::catalogue::{Catalogue, join};
use crate::error::CatalogueError;
use crate::objects::{dir_name, dirs_of, is_address, path_parts, shown_name, split};
use crate::rows::RootRow;
use crate::scan::rest_below;

/// A condition on the path of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameCondition {
    /// It is this one.
    Is(Vec<u8>),
    /// It begins with these bytes.
    Begins(Vec<u8>),
    /// It lies directly in this directory.
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

/// A name, and the file that it stands for.
#[derive(Debug, Clone, Copy)]
pub struct Name<'a> {
    /// The file, with the path that ends in the name.
    pub found: &'a Found,
    /// The directory that has it; `None` of the top of a tree.
    dir: Option<FileId>,
}

/// The directory that a path or an address lies in; `None` of the root of a file system and of a bucket.
pub fn directory_of(path: &[u8]) -> Option<&[u8]> {
    if is_address(path) {
        return path_parts(path).0;
    }
    let slash = path.iter().rposition(|&byte| byte == b'/')?;
    (path.len() > 1).then_some(&path[..slash.max(1)])
}

/// The last name of a path or an address; of the root of a file system, its slash.
pub fn name_of(path: &[u8]) -> &[u8] {
    if is_address(path) {
        return path_parts(path).1;
    }
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(slash) if path.len() > 1 => &path[slash + 1..],
        _ => path,
    }
}

/// Where names lie that can meet some conditions.
enum Reach<'a> {
    /// Paths that begin so.
    Below(&'a [u8]),
    /// Every name in a directory.
    In(&'a [u8]),
    /// One path.
    One(&'a [u8]),
}

impl Reach<'_> {
    /// The least that one of the conditions leaves.
    fn of(conditions: &[NameCondition]) -> Reach<'_> {
        let mut least = Reach::Below(b"");
        for condition in conditions {
            least = match (condition, least) {
                (NameCondition::Is(path), _) => Reach::One(path),
                (NameCondition::In(dir), Reach::Below(_)) => Reach::In(dir),
                (NameCondition::Begins(begin), Reach::Below(other)) if begin.len() > other.len() => {
                    Reach::Below(begin)
                }
                (_, least) => least,
            };
        }
        least
    }

    /// Whether all of a tree is meant.
    fn has_tree(&self, path: &[u8]) -> bool {
        matches!(self, Reach::Below(begin) if path.starts_with(begin))
    }

    /// The directory that has such names, where it is one, and the name to begin with.
    fn first(&self) -> Option<(&[u8], &[u8])> {
        match self {
            Reach::In(dir) => Some((dir, b"")),
            Reach::One(path) => Some((directory_of(path)?, name_of(path))),
            Reach::Below(begin) => {
                let slash = begin.iter().rposition(|&byte| byte == b'/')?;
                Some((&begin[..slash.max(1)], &begin[slash + 1..]))
            }
        }
    }

    /// Whether neither this name nor one after it can be meant, where `first` is the one to begin with.
    fn is_past(&self, first: &[u8], name: &[u8]) -> bool {
        match self {
            Reach::In(_) => false,
            Reach::One(_) => name > first,
            Reach::Below(_) => !name.starts_with(first),
        }
    }
}

impl Catalogue {
    /// Calls `each` with every name in every tree whose path meets all conditions.
    ///
    /// # Errors
    /// A row could not be read, and what `each` returns.
    pub fn each_name<E: From<CatalogueError>>(
        &self,
        conditions: &[NameCondition],
        mut each: impl FnMut(Name<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let reach = Reach::of(conditions);
        let mut give = |found: &Found, dir: Option<FileId>| {
            let is_meant = conditions.iter().all(|condition| condition.is_met(&found.path));
            if is_meant {
                each(Name { found, dir })
            } else {
                Ok(())
            }
        };
        for (path, root) in self.roots()? {
            if reach.has_tree(&path) {
                let top = self.found(path, root.attributes, 0)?;
                self.give_all(top, None, &mut give)?;
                continue;
            }
            if is_address(&path) {
                self.give_objects(&path, &root, &reach, &mut give)?;
                continue;
            }
            if let Some((dir, first)) = reach.first()
                && let Some(id) = self.directory_in(&path, &root, dir)?
            {
                self.give_in(dir, id, (&reach, first), &mut give)?;
            }
            give(&self.found(path, root.attributes, 0)?, None)?;
        }
        Ok(())
    }

    /// Gives the names in a tree of objects that can be meant: what lies below the last directory that all their keys lead
    /// through, because a slash does not end a directory's name everywhere.
    fn give_objects<E: From<CatalogueError>>(
        &self,
        tree: &[u8],
        root: &RootRow,
        reach: &Reach<'_>,
        give: &mut impl FnMut(&Found, Option<FileId>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (Reach::Below(wanted) | Reach::In(wanted) | Reach::One(wanted)) = reach;
        let dirs = rest_below(wanted, tree).and_then(|rest| match reach {
            Reach::In(_) => dirs_of(rest),
            _ => Some(split(rest).0),
        });
        let is_top = dirs.as_ref().is_none_or(Vec::is_empty);
        let is_in = matches!(reach, Reach::In(_));
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
            return self.give_all(self.found(path, attributes, 0)?, None, give);
        }
        self.each_entry_from(id, b"", |entry| {
            let mut path = path.clone();
            join(&mut path, shown_name(&entry.name));
            give(&self.found(path, entry.attributes, 0)?, Some(id))?;
            Ok(true)
        })
    }

    /// The directory of this path, if it is in a tree.
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

    /// Gives the names in a directory that can be meant, and what is below them if that can.
    fn give_in<E: From<CatalogueError>>(
        &self,
        dir: &[u8],
        id: FileId,
        (reach, first): (&Reach<'_>, &[u8]),
        give: &mut impl FnMut(&Found, Option<FileId>) -> Result<(), E>,
    ) -> Result<(), E> {
        // A directory without a row was not read.
        if self.dir_row(id)?.is_none() {
            return Ok(());
        }
        self.each_entry_from(id, first, |entry| {
            if reach.is_past(first, &entry.name) {
                return Ok(false);
            }
            let mut path = dir.to_vec();
            join(&mut path, &entry.name);
            let found = self.found(path, entry.attributes, 0)?;
            match reach {
                Reach::Below(..) => self.give_all(found, Some(id), give)?,
                _ => give(&found, Some(id))?,
            }
            Ok(true)
        })
    }

    /// Gives an entry of a directory and all that is below it.
    fn give_all<E: From<CatalogueError>>(
        &self,
        top: Found,
        dir: Option<FileId>,
        give: &mut impl FnMut(&Found, Option<FileId>) -> Result<(), E>,
    ) -> Result<(), E> {
        // The directories that are open, by their depth.
        let mut open: Vec<FileId> = Vec::new();
        self.each(top, |found| {
            open.truncate(found.depth);
            give(found, open.last().copied().or(dir))?;
            if found.attributes.kind == Kind::Directory {
                open.push(found.attributes.id);
            }
            Ok(Go::On)
        })
    }

    /// Whether the file of a name counts with it: as the only one, or the first of several.
    ///
    /// # Errors
    /// A row could not be read.
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
