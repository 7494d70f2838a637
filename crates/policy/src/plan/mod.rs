//! Plans what a policy would do now, from the catalogue alone and without changing anything.

use std::path::PathBuf;

use catalogue::{ActState, ActionKind, Attributes, Catalogue, CatalogueError, PathEntry, Root};

use crate::path::{is_below, path_of};
use crate::removed_files::removed_files;
use crate::rules::{Action, Policy};

mod choose;
mod growth;
mod usage;

use choose::Planner;
pub(crate) use choose::holds;
use growth::growth;
use usage::{excess, until_free};

/// The outcome of planning a policy.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Files to act on, in this order.
    pub items: Vec<PlannedFile>,
    /// Number and bytes of all files that meet the condition. Limits and triggers may leave some of
    /// them out of `items`.
    pub matched: (u64, u64),
    /// Why the policy would run now.
    pub cause: String,
    /// Trees that grew too much, for a policy on growth.
    pub grown: Vec<GrownTree>,
}

impl Plan {
    /// Returns the total size of the files to act on.
    pub fn size_bytes(&self) -> u64 {
        self.items.iter().map(|item| item.file.size_bytes).sum()
    }
}

/// A file to act on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFile {
    /// Its path, as bytes.
    pub path: Vec<u8>,
    /// The tree that contains it.
    pub tree: Vec<u8>,
    /// The directory of the scope that contains it. Copied and moved files keep their path relative
    /// to it.
    pub below: Vec<u8>,
    /// Number of directories between the file and that directory.
    pub depth: usize,
    /// The file's attributes in the catalogue.
    pub file: Attributes,
}

/// A tree that grew by more than a policy allows.
#[derive(Debug, Clone, PartialEq)]
pub struct GrownTree {
    /// Path of the tree, as bytes.
    pub path: Vec<u8>,
    /// Its earlier size in bytes, and the time of that scan, in milliseconds since 1970.
    pub before: (i64, i64),
    /// Its current size in bytes.
    pub size_bytes: i64,
    /// Its growth in per cent.
    pub percent: f64,
}

/// Why planning failed.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The catalogue failed.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// A directory of the scope is in no tree, or does not exist.
    #[error("policy {policy}: {} is not catalogued: run `weft files scan` first", path.display())]
    Unknown {
        /// The policy.
        policy: String,
        /// The directory.
        path: PathBuf,
    },
    /// The policy removes files, and the tree was never scanned completely.
    #[error(
        "policy {policy}: {} was never scanned completely, and {action} requires a complete scan: run \
         `weft files scan {}`",
        path.display(), path.display()
    )]
    NeverWhole {
        /// The policy.
        policy: String,
        /// Its action.
        action: ActionKind,
        /// The tree.
        path: PathBuf,
    },
    /// The policy removes files, and the last full scan is too old.
    #[error(
        "policy {policy}: the last complete scan of {} ended {age_hours} hours ago, but at most \
         {max_hours} are allowed (stale_max): run `weft files scan {}`",
        path.display(), path.display()
    )]
    Stale {
        /// The policy.
        policy: String,
        /// The tree.
        path: PathBuf,
        /// Hours since the scan.
        age_hours: i64,
        /// Maximum hours that the policy allows.
        max_hours: i64,
    },
    /// The usage of a file system could not be determined.
    #[error("policy {policy}: cannot determine the free space of the file system of {}: {source}", path.display())]
    Room {
        /// The policy.
        policy: String,
        /// A directory on it.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

/// Returns the trees that policies apply to: directories on disk, not objects in a store.
fn trees_on_disks(catalogue: &Catalogue) -> Result<Vec<Root>, CatalogueError> {
    let mut trees = catalogue.trees()?;
    trees.retain(|tree| !catalogue::is_address(&tree.path));
    Ok(trees)
}

/// Returns whether a policy is due: enough time has passed since its last completed run, or usage
/// is high enough. A run that was stopped makes it due at once.
///
/// # Errors
/// [`PlanError`].
pub fn is_due(catalogue: &Catalogue, policy: &Policy, now_ms: i64) -> Result<bool, PlanError> {
    let runs = catalogue.runs()?;
    let last = runs.iter().rev().find(|(_, run)| run.policy == policy.name);
    Ok(match (policy.trigger.every_ms, last) {
        (None, _) => match &policy.trigger.usage {
            Some(usage) => {
                let trees = trees_on_disks(catalogue)?;
                let scope_dirs = scope_dirs(catalogue, policy, &trees)?;
                !excess(catalogue, policy, usage, &trees, &scope_dirs)?.is_empty()
            }
            None => false,
        },
        (Some(every_ms), Some((_, run))) if run.state != ActState::Begun => {
            now_ms.saturating_sub(run.ended_ms) >= every_ms
        }
        (Some(_), _) => true,
    })
}

/// Lists what a policy would do now. No policy acts in the directories `excluded` (those of the archive
/// itself).
///
/// # Errors
/// [`PlanError`].
pub fn plan(
    catalogue: &Catalogue,
    policy: &Policy,
    excluded: &[Vec<u8>],
    now_ms: i64,
) -> Result<Plan, PlanError> {
    let trees = trees_on_disks(catalogue)?;
    if let Action::Growth {
        more_than_percent,
        within_ms,
    } = policy.action
    {
        return growth(catalogue, policy, &trees, more_than_percent, within_ms, now_ms);
    }
    let scope_dirs = scope_dirs(catalogue, policy, &trees)?;
    for (tree, _) in &scope_dirs {
        check_fresh(policy, tree, now_ms)?;
    }
    let excess = match &policy.trigger.usage {
        Some(usage) => Some((usage, excess(catalogue, policy, usage, &trees, &scope_dirs)?)),
        None => None,
    };
    let mut planner = Planner::new(catalogue, policy, excluded, now_ms);
    if let Action::EmptyTrash { older_than_ms } = policy.action {
        planner.list_trash(&scope_dirs, older_than_ms)?;
    } else {
        let trees: Vec<&Root> = scope_dirs.iter().map(|(tree, _)| *tree).collect();
        planner.exclude_removed(removed_files(catalogue, &trees)?.into_keys().collect());
        for (tree, top) in scope_dirs {
            planner.list(tree, top)?;
        }
    }
    let (items, matched) = planner.into_items();
    let mut plan = Plan {
        items,
        matched,
        cause: "due, or asked for".to_owned(),
        grown: Vec::new(),
    };
    if let Some((usage, excess)) = excess {
        until_free(usage, excess, &mut plan);
    }
    if let Some(most) = policy.limits.size_bytes {
        let mut sum = 0u64;
        plan.items.retain(|item| {
            let fits = sum.saturating_add(item.file.size_bytes) <= most;
            sum += if fits { item.file.size_bytes } else { 0 };
            fits
        });
    }
    Ok(plan)
}

/// Returns the directories that a policy applies to, each with its tree.
fn scope_dirs<'t>(
    catalogue: &Catalogue,
    policy: &Policy,
    trees: &'t [Root],
) -> Result<Vec<(&'t Root, PathEntry)>, PlanError> {
    let scope: Vec<PathBuf> = if policy.scope.is_empty() {
        trees.iter().map(|tree| path_of(&tree.path)).collect()
    } else {
        policy.scope.clone()
    };
    let mut scope_dirs = Vec::new();
    for path in scope {
        let found = catalogue.locate(&path)?;
        let tree = found.as_ref().and_then(|found| {
            let above = trees.iter().filter(|tree| is_below(&found.path, &tree.path));
            above.max_by_key(|tree| tree.path.len())
        });
        match (tree, found) {
            (Some(tree), Some(found)) => scope_dirs.push((tree, found)),
            _ => {
                return Err(PlanError::Unknown {
                    policy: policy.name.clone(),
                    path,
                });
            }
        }
    }
    Ok(scope_dirs)
}

fn check_fresh(policy: &Policy, tree: &Root, now_ms: i64) -> Result<(), PlanError> {
    if !policy.action.kind().may_remove_file() {
        return Ok(());
    }
    if tree.whole_scan == 0 {
        return Err(PlanError::NeverWhole {
            policy: policy.name.clone(),
            action: policy.action.kind(),
            path: path_of(&tree.path),
        });
    }
    let age_ms = now_ms.saturating_sub(tree.whole_ended_ms);
    if age_ms > policy.stale_max_ms {
        return Err(PlanError::Stale {
            policy: policy.name.clone(),
            path: path_of(&tree.path),
            age_hours: age_ms / 3_600_000,
            max_hours: policy.stale_max_ms / 3_600_000,
        });
    }
    Ok(())
}
