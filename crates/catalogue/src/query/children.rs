//! The contents of one directory: its heaviest names, and the sums of all other names.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::PathEntry;
use crate::attributes::Kind;
use crate::catalogue::Catalogue;
use crate::error::CatalogueError;
use crate::objects::shown_name;
use crate::usage::Usage;

/// The order of names in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildOrder {
    /// By bytes.
    Size,
    /// By number of entries.
    Entries,
}

impl ChildOrder {
    fn of(self, usage: &Usage) -> i64 {
        match self {
            ChildOrder::Size => usage.size_bytes,
            ChildOrder::Entries => usage.entries,
        }
    }
}

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    /// The name, as bytes.
    pub name: Box<[u8]>,
    /// Type of the file.
    pub kind: Kind,
    /// Sums over the file and everything below it, without days. A file with several names counts
    /// only under the first; under the others the sums are zero.
    pub usage: Usage,
}

/// The heaviest names in a directory, and the sums of the others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Children {
    /// The heaviest names, in descending order; names of equal weight in order of name.
    pub first: Vec<Child>,
    /// Number of other names.
    pub others: u64,
    /// Sums over the other names.
    pub others_usage: Usage,
}

impl Catalogue {
    /// Returns the `count` heaviest names directly in a directory. Memory use depends on `count`,
    /// not on the size of the directory.
    ///
    /// # Errors
    /// Fails if a row cannot be read.
    pub fn children(
        &self,
        dir: &PathEntry,
        by: ChildOrder,
        count: usize,
    ) -> Result<Children, CatalogueError> {
        let mut children = Children::default();
        if dir.attributes.kind != Kind::Directory {
            return Ok(children);
        }
        let id = dir.attributes.id;
        // Lightest first; among names of equal weight, the last name first. The first one is
        // evicted if there are too many.
        let mut kept = BTreeMap::<_, Child>::new();
        self.each_entry(id, |name, file| {
            let mut usage = match file.kind {
                Kind::Directory => self.tree_head(file.id)?.0,
                _ => Usage::default(),
            };
            if !file.is_linked() || self.is_first_name(file.id, id, name)? {
                usage.count(file, 1);
            }
            let child = Child {
                name: shown_name(name).into(),
                kind: file.kind,
                usage,
            };
            kept.insert((by.of(&child.usage), Reverse(child.name.clone())), child);
            if kept.len() > count
                && let Some((_, child)) = kept.pop_first()
            {
                children.others += 1;
                children.others_usage.merge(&child.usage);
            }
            Ok(())
        })?;
        children.first = kept.into_values().rev().collect();
        Ok(children)
    }
}
