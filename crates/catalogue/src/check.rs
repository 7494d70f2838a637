//! Recomputes all sums from the entries and compares them with the tables.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::attributes::{Attributes, FileId, Kind};
use crate::catalogue::Catalogue;
use crate::error::CatalogueError;
use crate::pack;
use crate::rows::{DirRow, Group, LinkedName, LinkedRow, dir_of_key};
use crate::tables::Table;
use crate::usage::Usage;

/// Maximum number of differences listed.
const DIFFERENCES: usize = 20;

/// Everything that follows from the entries alone.
#[derive(Default)]
struct Recomputed {
    groups: FxHashMap<Group, Usage>,
    trees: FxHashMap<FileId, Usage>,
    linked: FxHashMap<FileId, LinkedRow>,
    entries: FxHashMap<FileId, u64>,
    /// Names of directories, by (parent, directory).
    dirs: FxHashMap<(FileId, FileId), Vec<Box<[u8]>>>,
}

impl Recomputed {
    fn count(&mut self, dir: FileId, file: &Attributes) {
        self.groups.entry(Group::of(file)).or_default().count(file, 1);
        self.trees.entry(dir).or_default().count(file, 1);
    }
}

impl Catalogue {
    /// Recomputes every sum from the entries and returns a description of each difference from the
    /// tables; an empty list if all are right. Uses memory for each directory. No other thread may
    /// write meanwhile.
    ///
    /// # Errors
    /// Fails if a row cannot be read.
    pub fn check(&self) -> Result<Vec<String>, CatalogueError> {
        let mut differences = Vec::new();
        let mut is = self.recount_packs(&mut differences)?;
        for row in std::mem::take(&mut is.linked) {
            let (id, mut row) = row;
            row.names.sort_by(|a, b| (a.dir, &a.name).cmp(&(b.dir, &b.name)));
            is.count(row.names[0].dir, &row.names[0].attributes);
            if self.linked(id)?.as_ref() != Some(&row) {
                differences.push(format!("{id:?}: expected the names {row:?}"));
            }
            is.linked.insert(id, row);
        }
        for (_, root) in self.roots()? {
            let group = Group::of(&root.attributes);
            is.groups.entry(group).or_default().count(&root.attributes, 1);
        }
        self.check_trees(&mut is, &mut differences)?;
        self.check_groups(is.groups, &mut differences)?;
        for row in self.tables.space(Table::Linked).iter() {
            let id = FileId::of_bytes(&row.key()?)?;
            if !is.linked.contains_key(&id) {
                differences.push(format!("{id:?} has no name"));
            }
        }
        differences.truncate(DIFFERENCES);
        Ok(differences)
    }

    /// Counts the entries of all packs, except files with several names, which it collects.
    fn recount_packs(&self, differences: &mut Vec<String>) -> Result<Recomputed, CatalogueError> {
        let mut is = Recomputed::default();
        for row in self.tables.space(Table::Packs).iter() {
            let (key, value) = row.into_inner()?;
            let dir = dir_of_key(&key)?;
            for entry in pack::decode(&value)? {
                *is.entries.entry(dir).or_default() += 1;
                if entry.name.as_ref() < pack::first_name(&key) {
                    differences.push(format!(
                        "{dir:?}: {:?} sorts before the first name of its pack",
                        String::from_utf8_lossy(&entry.name)
                    ));
                }
                if entry.attributes.kind == Kind::Directory {
                    let names = is.dirs.entry((dir, entry.attributes.id)).or_default();
                    names.push(entry.name.clone());
                }
                if entry.attributes.is_linked() {
                    let names = &mut is.linked.entry(entry.attributes.id).or_default().names;
                    names.push(LinkedName {
                        dir,
                        name: entry.name,
                        attributes: entry.attributes,
                    });
                } else {
                    is.count(dir, &entry.attributes)
                }
            }
        }
        Ok(is)
    }

    fn check_groups(
        &self,
        expected: FxHashMap<Group, Usage>,
        differences: &mut Vec<String>,
    ) -> Result<(), CatalogueError> {
        let mut groups: BTreeMap<Group, Usage> = self.groups()?.into_iter().collect();
        for (group, usage) in expected {
            let found = groups.remove(&group).unwrap_or_default();
            if found != usage {
                differences.push(format!("{group:?}: found {found:?}, expected {usage:?}"));
            }
        }
        differences.extend(
            groups
                .into_iter()
                .map(|(group, usage)| format!("{group:?}: found {usage:?}, expected nothing")),
        );
        Ok(())
    }

    fn check_trees(&self, is: &mut Recomputed, differences: &mut Vec<String>) -> Result<(), CatalogueError> {
        let mut rows: FxHashMap<FileId, DirRow> = FxHashMap::default();
        for row in self.tables.space(Table::Dirs).iter() {
            let (key, value) = row.into_inner()?;
            rows.insert(FileId::of_bytes(&key)?, DirRow::of_bytes(&value)?);
        }
        for (id, row) in &rows {
            let has_entry = |parent: FileId| is.dirs.get(&(parent, *id));
            let is_placed = match row.parent {
                Some(parent) if parent == *id => true,
                Some(parent) => has_entry(parent).is_some_and(|names| names.contains(&row.name)),
                None => self.tables.space(Table::Orphans).contains_key(id.to_bytes())?,
            };
            if !is_placed {
                let name = String::from_utf8_lossy(&row.name);
                differences.push(format!("{id:?}: no directory contains it as {name:?}"));
            }
        }
        // The entries of each directory count for all its ancestors.
        let own: Vec<(FileId, Usage)> = is.trees.iter().map(|(id, usage)| (*id, usage.clone())).collect();
        for (id, usage) in own {
            let mut at = id;
            while let Some(parent) = rows.get(&at).and_then(|row| row.parent)
                && parent != at
            {
                is.trees.entry(parent).or_default().add(&usage, 1);
                at = parent;
            }
        }
        for (id, usage) in &is.trees {
            let found = self.tree(*id)?;
            if found != *usage || !found.bounds(usage) {
                differences.push(format!("{id:?}: found {found:?} below it, expected {usage:?}"));
            }
        }
        for row in self.tables.space(Table::Trees).iter() {
            let id = FileId::of_bytes(&row.key()?)?;
            if is.trees.get(&id).is_none_or(Usage::is_empty) {
                differences.push(format!("{id:?} has sums, but nothing is below it"));
            }
        }
        for (id, row) in &rows {
            let found = is.entries.remove(id).unwrap_or(0);
            if found != row.entries {
                differences.push(format!(
                    "{id:?}: its row counts {} entries, found {found}",
                    row.entries
                ));
            }
        }
        differences.extend(
            is.entries
                .keys()
                .map(|id| format!("{id:?} has entries but no row")),
        );
        Ok(())
    }
}
