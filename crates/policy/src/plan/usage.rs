//! Triggers by usage: how far usage exceeds a level, and which files of a plan to act on until it
//! has fallen from `high` to `low`.
//!
//! Files in the trash still use space, but will be freed when the trash is emptied. Released files
//! are counted by the catalogue until the next scan. Neither counts as used here. Otherwise a
//! policy that runs again before then would take more and more files.

use catalogue::{ActRow, ActionKind, Catalogue, PathEntry, PathHandle, Root};
use rustc_hash::FxHashMap;

use super::{Plan, PlanError};
use crate::path::{is_below, path_of};
use crate::removed_files::removed_files;
use crate::rules::{Action, Level, Policy, Usage, UsageOf};
use crate::trash::{TRASH, each_in_trash};

/// The excess usage, by number of the file system, by owner, or as a single entry.
pub(super) struct Excess {
    by: FxHashMap<u64, i64>,
    cause: String,
}

impl Excess {
    pub(super) fn is_empty(&self) -> bool {
        self.by.is_empty()
    }
}

/// Usage by the same keys: the amount, the capacity if there is one, and a description.
type UsageByKey = FxHashMap<u64, (i64, Option<i64>, String)>;

/// Computes by how much usage exceeds the levels of a trigger.
pub(super) fn excess(
    catalogue: &Catalogue,
    policy: &Policy,
    usage: &Usage,
    trees: &[Root],
    scope_dirs: &[(&Root, PathEntry)],
) -> Result<Excess, PlanError> {
    let mut used = match usage.of {
        UsageOf::Volume => of_volumes(policy, scope_dirs)?,
        UsageOf::Owner => of_owners(catalogue)?,
        UsageOf::Count => of_entries(scope_dirs),
    };
    if !matches!(policy.action, Action::EmptyTrash { .. }) {
        leave_out_freed(catalogue, usage.of, trees, scope_dirs, &mut used)?;
    }
    let (mut by, mut causes) = (FxHashMap::default(), Vec::new());
    for (key, (used, whole, what)) in used {
        let level = |level: Level| match level {
            Level::Percent(percent) => (whole.unwrap_or(0) as f64 * percent / 100.0) as i64,
            Level::Number(number) => number,
        };
        if used >= level(usage.high) {
            by.insert(key, used - level(usage.low));
            causes.push(what);
        }
    }
    causes.sort();
    let cause = if causes.is_empty() {
        "less is used than the trigger says".to_owned()
    } else {
        causes.join(", ")
    };
    Ok(Excess { by, cause })
}

fn of_volumes(policy: &Policy, scope_dirs: &[(&Root, PathEntry)]) -> Result<UsageByKey, PlanError> {
    let mut used = UsageByKey::default();
    for (_, top) in scope_dirs {
        let room = |source| PlanError::Room {
            policy: policy.name.clone(),
            path: path_of(&top.path),
            source,
        };
        let mut probe = top.path.clone();
        catalogue::join(&mut probe, b"x");
        let (total, free) = PathHandle::open(&probe)
            .and_then(|place| place.space())
            .map_err(room)?;
        let (total, free) = (total as i64, free as i64);
        let percent = (total - free) as f64 * 100.0 / (total.max(1)) as f64;
        let path = path_of(&top.path);
        let what = format!("the file system of {} is {percent:.1}% full", path.display());
        used.insert(
            u64::from(top.attributes.id.volume),
            (total - free, Some(total), what),
        );
    }
    Ok(used)
}

fn of_owners(catalogue: &Catalogue) -> Result<UsageByKey, PlanError> {
    let mut used = UsageByKey::default();
    let groups = catalogue.groups()?.into_iter();
    for (group, sums) in groups.filter(|(group, _)| group.uid != catalogue::NO_OWNER) {
        let row = used.entry(u64::from(group.uid)).or_default();
        row.0 = row.0.saturating_add(sums.size_bytes);
        row.2 = format!("user {} has {} bytes", group.uid, row.0);
    }
    Ok(used)
}

fn of_entries(scope_dirs: &[(&Root, PathEntry)]) -> UsageByKey {
    let entries: i64 = scope_dirs.iter().map(|(tree, _)| tree.usage.entries).sum();
    UsageByKey::from_iter([(0, (entries, None, format!("there are {entries} entries")))])
}

/// Subtracts the space that will be freed without acting on further files.
fn leave_out_freed(
    catalogue: &Catalogue,
    of: UsageOf,
    trees: &[Root],
    scope_dirs: &[(&Root, PathEntry)],
    used: &mut UsageByKey,
) -> Result<(), PlanError> {
    let mut exclude = |key: u64, number: u64| {
        if let Some(row) = used.get_mut(&key) {
            row.0 = row.0.saturating_sub_unsigned(number);
        }
    };
    match of {
        // The system reports free space itself, so released files already count as free.
        UsageOf::Volume => each_in_trash(catalogue, |act| {
            exclude(u64::from(act.version.id.volume), act.version.size_bytes);
        })?,
        UsageOf::Owner => {
            each_in_trash(catalogue, |act| {
                exclude(u64::from(act.access.1), act.version.size_bytes);
            })?;
            let trees: Vec<&Root> = trees.iter().collect();
            for act in removed_files(catalogue, &trees)?.into_values() {
                if act.action.frees_space() {
                    exclude(u64::from(act.access.1), act.version.size_bytes);
                }
            }
        }
        UsageOf::Count => {
            for (tree, _) in scope_dirs {
                let mut trash = tree.path.clone();
                catalogue::join(&mut trash, TRASH.as_bytes());
                if let Some(trash) = catalogue.locate_exactly(&trash)? {
                    let entries = catalogue.usage(&trash)?.entries;
                    exclude(0, u64::try_from(entries).unwrap_or(0));
                }
            }
            let trees: Vec<&Root> = scope_dirs.iter().map(|(tree, _)| *tree).collect();
            let stays = |act: &ActRow| {
                act.action.empties_trash()
                    || act.action == ActionKind::Move
                        && trees.iter().any(|tree| is_below(&act.to, &tree.path))
            };
            for act in removed_files(catalogue, &trees)?.into_values() {
                exclude(0, u64::from(!stays(&act)));
            }
        }
    }
    Ok(())
}

/// Keeps only the files of the plan that are needed to get down to `low`.
pub(super) fn until_free(usage: &Usage, mut excess: Excess, plan: &mut Plan) {
    plan.items.retain(|item| {
        let file = &item.file;
        let (key, frees) = match usage.of {
            // A file with further hard links frees no space.
            UsageOf::Volume if file.links > 1 => (u64::from(file.id.volume), 0),
            UsageOf::Volume => (u64::from(file.id.volume), file.blocks.saturating_mul(512)),
            UsageOf::Owner => (u64::from(file.uid), file.size_bytes),
            UsageOf::Count => (0, 1),
        };
        match excess.by.get_mut(&key) {
            Some(left) if *left > 0 && frees > 0 => {
                *left = left.saturating_sub_unsigned(frees);
                true
            }
            _ => false,
        }
    });
    plan.cause = excess.cause;
}
