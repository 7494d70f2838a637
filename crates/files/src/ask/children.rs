//! What is directly in a directory: the heaviest names, and what the others hold together.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::Found;
use crate::attributes::Kind;
use crate::catalogue::Catalogue;
use crate::error::CatalogueError;
use crate::objects::shown_name;
use crate::usage::Usage;

/// By what names are put in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// Bytes.
    Size,
    /// Entries.
    Entries,
}

impl Weight {
    fn of(self, usage: &Usage) -> i64 {
        match self {
            Weight::Size => usage.size_bytes,
            Weight::Entries => usage.entries,
        }
    }
}

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    /// Its bytes.
    pub name: Box<[u8]>,
    /// What sort of thing it is.
    pub kind: Kind,
    /// Sums over it and all that is below it, without days. Of a file with several names, nothing but at the first of them.
    pub usage: Usage,
}

/// Names in a directory, as many as were asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Children {
    /// The heaviest first; those that weigh the same in order of name.
    pub first: Vec<Child>,
    /// How many names there are besides.
    pub others: u64,
    /// What those hold together.
    pub others_usage: Usage,
}

impl Catalogue {
    /// The heaviest names directly in a directory. Memory is taken for `count` of them, however many there are.
    ///
    /// # Errors
    /// A row could not be read.
    pub fn children(&self, dir: &Found, by: Weight, count: usize) -> Result<Children, CatalogueError> {
        let mut children = Children::default();
        if dir.attributes.kind != Kind::Directory {
            return Ok(children);
        }
        let id = dir.attributes.id;
        // The lightest first, and of those that weigh the same the last name, which goes first where there are too many.
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
