//! Chooses the files that a policy acts on, and their order.

use std::collections::BinaryHeap;

use catalogue::{Attributes, Catalogue, CatalogueError, FileVersion, PathEntry, Root, Visit};
use rustc_hash::FxHashSet;

use super::{PlanError, PlannedFile};
use crate::condition::{Subject, name_of};
use crate::path::is_below;
use crate::rules::{Order, Policy};
use crate::trash::{TRASH, each_in_trash};

/// Lists files and keeps those that rank first.
pub(super) struct Planner<'a> {
    catalogue: &'a Catalogue,
    policy: &'a Policy,
    excluded: &'a [Vec<u8>],
    now_ms: i64,
    /// Files that a policy has removed since the catalogue was last scanned.
    removed: FxHashSet<(Vec<u8>, FileVersion)>,
    /// Paths planned so far. Directories of a scope may contain each other.
    planned_paths: FxHashSet<Vec<u8>>,
    best: BinaryHeap<Ranked>,
    matched: (u64, u64),
}

/// A file with its rank. The lowest rank comes first; the highest is dropped if there are too many.
struct Ranked {
    rank: i64,
    item: PlannedFile,
}

impl Ord for Ranked {
    fn cmp(&self, other: &Ranked) -> std::cmp::Ordering {
        (self.rank, &self.item.path).cmp(&(other.rank, &other.item.path))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Ranked) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Ranked) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ranked {}

impl<'a> Planner<'a> {
    pub(super) fn new(
        catalogue: &'a Catalogue,
        policy: &'a Policy,
        excluded: &'a [Vec<u8>],
        now_ms: i64,
    ) -> Planner<'a> {
        Planner {
            catalogue,
            policy,
            excluded,
            now_ms,
            removed: FxHashSet::default(),
            planned_paths: FxHashSet::default(),
            best: BinaryHeap::new(),
            matched: (0, 0),
        }
    }

    /// Leaves out files that a policy has removed since the catalogue was last scanned.
    pub(super) fn exclude_removed(&mut self, removed: FxHashSet<(Vec<u8>, FileVersion)>) {
        self.removed = removed;
    }

    /// Returns the files that rank first, in order, and the number and bytes of all files that meet
    /// the condition.
    pub(super) fn into_items(self) -> (Vec<PlannedFile>, (u64, u64)) {
        let sorted = self.best.into_sorted_vec().into_iter();
        (sorted.map(|ranked| ranked.item).collect(), self.matched)
    }

    pub(super) fn list(&mut self, tree: &Root, top: PathEntry) -> Result<(), PlanError> {
        let below = top.path.clone();
        let catalogue = self.catalogue;
        catalogue.each(top, |found| {
            let is_excluded = name_of(&found.path) == TRASH.as_bytes()
                || self.excluded.iter().any(|dir| is_below(&found.path, dir));
            if is_excluded {
                return Ok(Visit::Skip);
            }
            if self.policy.action.applies_to(found.attributes.kind) {
                self.consider(PlannedFile {
                    path: found.path.clone(),
                    tree: tree.path.clone(),
                    below: below.clone(),
                    depth: found.depth,
                    file: found.attributes.clone(),
                })?;
            }
            Ok::<Visit, CatalogueError>(Visit::Descend)
        })?;
        Ok(())
    }

    fn consider(&mut self, item: PlannedFile) -> Result<(), CatalogueError> {
        if !holds(self.catalogue, self.policy, &item, &item.file, self.now_ms)?
            || self
                .removed
                .contains(&(item.path.clone(), FileVersion::of(&item.file)))
        {
            return Ok(());
        }
        self.push(item);
        Ok(())
    }

    fn push(&mut self, item: PlannedFile) {
        if self.policy.scope.len() > 1 && !self.planned_paths.insert(item.path.clone()) {
            return;
        }
        self.matched.0 += 1;
        self.matched.1 = self.matched.1.saturating_add(item.file.size_bytes);
        let rank = match self.policy.order {
            Order::Path => 0,
            Order::Largest => -i64::try_from(item.file.size_bytes).unwrap_or(i64::MAX),
            Order::OldestModified => item.file.modified_ns,
            Order::OldestAccessed => item.file.accessed_s,
        };
        self.best.push(Ranked { rank, item });
        if self.best.len() as u64 > self.policy.limits.count {
            self.best.pop();
        }
    }

    /// Lists files that have been in the trash of these directories for long enough.
    pub(super) fn list_trash(
        &mut self,
        scope_dirs: &[(&Root, PathEntry)],
        older_than_ms: i64,
    ) -> Result<(), PlanError> {
        let before_ms = self.now_ms.saturating_sub(older_than_ms);
        each_in_trash(self.catalogue, |act| {
            let top = scope_dirs.iter().find(|(_, top)| is_below(&act.path, &top.path));
            if let (true, Some((tree, top))) = (act.at_ms <= before_ms, top) {
                let (mode, uid, gid) = act.access;
                let file = Attributes {
                    id: act.version.id,
                    size_bytes: act.version.size_bytes,
                    blocks: act.version.size_bytes.div_ceil(512),
                    modified_ns: act.version.modified_ns,
                    mode,
                    uid,
                    gid,
                    ..Attributes::default()
                };
                self.push(PlannedFile {
                    path: act.to,
                    tree: tree.path.clone(),
                    below: top.path.clone(),
                    depth: 0,
                    file,
                });
            }
        })?;
        Ok(())
    }
}

/// Returns whether a file meets the condition of a policy, with attributes from the catalogue or
/// the disk.
pub(crate) fn holds(
    catalogue: &Catalogue,
    policy: &Policy,
    item: &PlannedFile,
    file: &Attributes,
    now_ms: i64,
) -> Result<bool, CatalogueError> {
    let digest = if policy.condition.needs_digest() {
        catalogue.current_digest(file)?
    } else {
        None
    };
    Ok(policy.condition.holds(&Subject {
        path: &item.path,
        depth: item.depth,
        file,
        digest: digest.as_ref(),
        now_ms,
    }))
}
