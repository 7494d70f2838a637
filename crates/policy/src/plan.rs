//! What a policy would do now, from the catalogue alone. Nothing is changed.

use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};

use files::{ActState, Attributes, Catalogue, CatalogueError, Go, Kind, Place, Root, Seen};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::TRASH;
use crate::condition::{Subject, name_of};
use crate::rules::{Action, Level, Order, Policy, Usage, UsageOf};

/// What a policy would do.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Files, in the order in which they would be acted upon.
    pub items: Vec<Planned>,
    /// All files that the condition holds for, and their bytes; limits and triggers may leave some of them out of `items`.
    pub matched: (u64, u64),
    /// What would let it run.
    pub cause: String,
    /// Trees that grew too much, for a policy about growth.
    pub grown: Vec<Grown>,
}

impl Plan {
    /// Bytes of the files that would be acted upon.
    pub fn size_bytes(&self) -> u64 {
        self.items.iter().map(|item| item.file.size_bytes).sum()
    }
}

/// A file that would be acted upon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// Its path, as bytes.
    pub path: Vec<u8>,
    /// The tree that it is in.
    pub tree: Vec<u8>,
    /// The directory of the scope that it is in: copies and moved files keep their paths from there.
    pub below: Vec<u8>,
    /// Directories between it and that.
    pub depth: usize,
    /// The file as the catalogue has it.
    pub file: Attributes,
}

/// A tree that grew by more than a policy says.
#[derive(Debug, Clone, PartialEq)]
pub struct Grown {
    /// Path of the tree, as bytes.
    pub path: Vec<u8>,
    /// What it held, and when, in milliseconds since 1970.
    pub before: (i64, i64),
    /// What it holds.
    pub size_bytes: i64,
    /// By how much it grew, in hundredths.
    pub percent: f64,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The catalogue failed.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// A directory of the scope is in no tree, or not there.
    #[error("policy {policy}: {} is not catalogued: `weft files scan` reads it in", path.display())]
    Unknown {
        /// The policy.
        policy: String,
        /// The directory.
        path: PathBuf,
    },
    /// The policy removes, and nobody knows the whole tree.
    #[error(
        "policy {policy}: {} was never scanned whole, and {action} is not done on a tree that is known in part: run `weft files scan {}`",
        path.display(), path.display()
    )]
    NeverWhole {
        /// The policy.
        policy: String,
        /// Its action.
        action: &'static str,
        /// The tree.
        path: PathBuf,
    },
    /// The policy removes, and the last whole scan is too long ago.
    #[error(
        "policy {policy}: the last whole scan of {} ended {age_hours} hours ago, and the policy allows {max_hours} (stale_max): \
         run `weft files scan {}`",
        path.display(), path.display()
    )]
    Stale {
        /// The policy.
        policy: String,
        /// The tree.
        path: PathBuf,
        /// Hours since the scan.
        age_hours: i64,
        /// Hours that there may be.
        max_hours: i64,
    },
    /// How full a file system is could not be found out.
    #[error("policy {policy}: how full the file system of {} is: {source}", path.display())]
    Room {
        /// The policy.
        policy: String,
        /// A directory on it.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(
        bytes,
    ))
}

/// Whether enough time has gone since the last run of a policy that ended. One that was stopped is due at once.
///
/// # Errors
/// A row could not be read.
pub fn is_due(catalogue: &Catalogue, policy: &Policy, now_ms: i64) -> Result<bool, CatalogueError> {
    let runs = catalogue.runs()?;
    let last = runs.iter().rev().find(|(_, run)| run.policy == policy.name);
    Ok(match (policy.trigger.every_ms, last) {
        // Whether enough is used up is found by the plan.
        (None, _) => policy.trigger.usage.is_some(),
        (Some(every_ms), Some((_, run))) if run.state != ActState::Begun => {
            now_ms.saturating_sub(run.ended_ms) >= every_ms
        }
        (Some(_), _) => true,
    })
}

/// Lists what a policy would do now. `kept` are directories in which no policy acts (those of the archive itself).
///
/// # Errors
/// [`PlanError`].
pub fn plan(
    catalogue: &Catalogue,
    policy: &Policy,
    kept: &[Vec<u8>],
    now_ms: i64,
) -> Result<Plan, PlanError> {
    let mut trees = catalogue.trees()?;
    // What rules do is done with files on disks.
    trees.retain(|tree| !files::is_address(&tree.path));
    if let Action::Growth {
        more_than_percent,
        within_ms,
    } = policy.action
    {
        return growth(catalogue, policy, &trees, more_than_percent, within_ms, now_ms);
    }
    let scope: Vec<PathBuf> = match policy.scope.is_empty() {
        true => trees.iter().map(|tree| path_of(&tree.path)).collect(),
        false => policy.scope.clone(),
    };
    let mut planner = Planner {
        catalogue,
        policy,
        kept,
        now_ms,
        removed: removed(catalogue)?,
        seen: FxHashSet::default(),
        best: BinaryHeap::new(),
        matched: (0, 0),
    };
    let mut directories = Vec::new();
    for path in &scope {
        let unknown = || PlanError::Unknown {
            policy: policy.name.clone(),
            path: path.clone(),
        };
        let found = catalogue.locate(path)?.ok_or_else(unknown)?;
        let tree = trees
            .iter()
            .filter(|tree| is_below(&found.path, &tree.path))
            .max_by_key(|tree| tree.path.len())
            .ok_or_else(unknown)?;
        check_fresh(policy, tree, now_ms)?;
        directories.push((tree, found.path.clone()));
        if !matches!(policy.action, Action::EmptyTrash { .. }) {
            planner.list(tree, found)?;
        }
    }
    if let Action::EmptyTrash { older_than_ms } = policy.action {
        planner.list_trash(&directories, older_than_ms)?;
    }
    let (best, matched) = (planner.best, planner.matched);
    let items: Vec<Planned> = best
        .into_sorted_vec()
        .into_iter()
        .map(|ranked| ranked.item)
        .collect();
    let mut plan = Plan {
        items,
        matched,
        cause: "due, or asked for".to_owned(),
        grown: Vec::new(),
    };
    if let Some(usage) = &policy.trigger.usage {
        until_free(catalogue, policy, usage, &directories, &mut plan)?;
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

fn check_fresh(policy: &Policy, tree: &Root, now_ms: i64) -> Result<(), PlanError> {
    if !policy.action.removes() {
        return Ok(());
    }
    if tree.whole_scan == 0 {
        return Err(PlanError::NeverWhole {
            policy: policy.name.clone(),
            action: policy.action.name(),
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

/// Whether a path is that of a directory, or below it.
pub(crate) fn is_below(path: &[u8], directory: &[u8]) -> bool {
    path.strip_prefix(directory)
        .is_some_and(|rest| rest.is_empty() || rest[0] == b'/' || directory == b"/")
}

/// Files that policies have taken away; the catalogue may not know it yet.
fn removed(catalogue: &Catalogue) -> Result<FxHashSet<(Vec<u8>, Seen)>, CatalogueError> {
    let mut removed = FxHashSet::default();
    catalogue.each_act(None, |_, _, act| {
        if act.state == ActState::Done && matches!(&*act.action, "delete" | "release" | "move") {
            removed.insert((act.path, act.seen));
        }
        Ok::<(), CatalogueError>(())
    })?;
    Ok(removed)
}

struct Planner<'a> {
    catalogue: &'a Catalogue,
    policy: &'a Policy,
    kept: &'a [Vec<u8>],
    now_ms: i64,
    removed: FxHashSet<(Vec<u8>, Seen)>,
    /// Names that are planned: directories of a scope may be within each other.
    seen: FxHashSet<Vec<u8>>,
    best: BinaryHeap<Ranked>,
    matched: (u64, u64),
}

/// A file with its rank: the least comes first, and the greatest goes when there are too many.
struct Ranked {
    rank: i64,
    item: Planned,
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

impl Planner<'_> {
    fn list(&mut self, tree: &Root, top: files::Found) -> Result<(), PlanError> {
        let below = top.path.clone();
        let catalogue = self.catalogue;
        catalogue.each(top, |found| {
            let is_kept = name_of(&found.path) == TRASH.as_bytes()
                || self.kept.iter().any(|kept| is_below(&found.path, kept));
            if is_kept {
                return Ok(Go::Past);
            }
            if is_for(&self.policy.action, found.attributes.kind) {
                self.consider(Planned {
                    path: found.path.clone(),
                    tree: tree.path.clone(),
                    below: below.clone(),
                    depth: found.depth,
                    file: found.attributes.clone(),
                })?;
            }
            Ok::<Go, CatalogueError>(Go::On)
        })?;
        Ok(())
    }

    fn consider(&mut self, item: Planned) -> Result<(), CatalogueError> {
        if !holds(self.catalogue, self.policy, &item, &item.file, self.now_ms)?
            || self.removed.contains(&(item.path.clone(), Seen::of(&item.file)))
        {
            return Ok(());
        }
        self.push(item);
        Ok(())
    }

    fn push(&mut self, item: Planned) {
        if self.policy.scope.len() > 1 && !self.seen.insert(item.path.clone()) {
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

    /// What has been in the trash of these directories for long enough.
    fn list_trash(&mut self, directories: &[(&Root, Vec<u8>)], older_than_ms: i64) -> Result<(), PlanError> {
        let before_ms = self.now_ms.saturating_sub(older_than_ms);
        let catalogue = self.catalogue;
        catalogue.each_act(None, |_, _, act| {
            let directory = directories.iter().find(|(_, below)| is_below(&act.path, below));
            let is_old = act.action == "delete" && act.state == ActState::Done && act.at_ms <= before_ms;
            if let (true, Some((tree, below))) = (is_old, directory) {
                let (mode, uid, gid) = act.access;
                let file = Attributes {
                    id: act.seen.id,
                    size_bytes: act.seen.size_bytes,
                    modified_ns: act.seen.modified_ns,
                    mode,
                    uid,
                    gid,
                    ..Attributes::default()
                };
                self.push(Planned {
                    path: act.to,
                    tree: tree.path.clone(),
                    below: below.clone(),
                    depth: 0,
                    file,
                });
            }
            Ok::<(), CatalogueError>(())
        })?;
        Ok(())
    }
}

/// What an action can be done with.
fn is_for(action: &Action, kind: Kind) -> bool {
    match action {
        Action::Report => true,
        Action::Delete | Action::Move { .. } => matches!(kind, Kind::File | Kind::Symlink),
        _ => kind == Kind::File,
    }
}

/// Whether the condition of a policy holds for a file, as the catalogue or the disk has it.
pub(crate) fn holds(
    catalogue: &Catalogue,
    policy: &Policy,
    item: &Planned,
    file: &Attributes,
    now_ms: i64,
) -> Result<bool, CatalogueError> {
    let digest = match policy.condition.needs_digest() {
        true => catalogue.known(file)?,
        false => None,
    };
    Ok(policy.condition.holds(&Subject {
        path: &item.path,
        depth: item.depth,
        file,
        digest: digest.as_ref(),
        now_ms,
    }))
}

/// Leaves of the plan what is needed to come from above `high` to `low`.
fn until_free(
    catalogue: &Catalogue,
    policy: &Policy,
    usage: &Usage,
    directories: &[(&Root, Vec<u8>)],
    plan: &mut Plan,
) -> Result<(), PlanError> {
    // What is too much, by file system, owner, or for all.
    let mut excess: FxHashMap<u64, i64> = FxHashMap::default();
    let mut causes = Vec::new();
    match usage.of {
        UsageOf::Volume => {
            for (_, path) in directories {
                let room = |source| PlanError::Room {
                    policy: policy.name.clone(),
                    path: path_of(path),
                    source,
                };
                let mut probe = path.clone();
                files::join(&mut probe, b"x");
                let (total, free) = Place::open(&probe).and_then(|place| place.room()).map_err(room)?;
                let volume = catalogue.locate(Path::new(&path_of(path)))?;
                let volume = volume.map_or(0, |found| u64::from(found.attributes.id.volume));
                let (total, free) = (total as i64, free as i64);
                let used = total - free;
                let level = |level: Level| match level {
                    Level::Percent(percent) => (total as f64 * percent / 100.0) as i64,
                    Level::Number(bytes) => bytes,
                };
                if used >= level(usage.high) {
                    excess.insert(volume, used - level(usage.low));
                    let percent = used as f64 * 100.0 / (total.max(1)) as f64;
                    causes.push(format!(
                        "the file system of {} is {percent:.1}% full",
                        path_of(path).display()
                    ));
                }
            }
        }
        UsageOf::Owner => {
            let mut owners: FxHashMap<u32, i64> = FxHashMap::default();
            let groups = catalogue.groups()?.into_iter();
            for (group, sums) in groups.filter(|(group, _)| group.uid != files::NO_OWNER) {
                *owners.entry(group.uid).or_default() += sums.size_bytes;
            }
            for (uid, used) in owners {
                if let (Level::Number(high), Level::Number(low)) = (usage.high, usage.low)
                    && used >= high
                {
                    excess.insert(u64::from(uid), used - low);
                    causes.push(format!("user {uid} has {used} bytes"));
                }
            }
        }
        UsageOf::Count => {
            let entries: i64 = directories.iter().map(|(tree, _)| tree.usage.entries).sum();
            if let (Level::Number(high), Level::Number(low)) = (usage.high, usage.low)
                && entries >= high
            {
                excess.insert(0, entries - low);
                causes.push(format!("there are {entries} entries"));
            }
        }
    }
    causes.sort();
    plan.cause = match causes.is_empty() {
        true => "less is used than the trigger says".to_owned(),
        false => causes.join(", "),
    };
    plan.items.retain(|item| {
        let file = &item.file;
        let (key, frees) = match usage.of {
            // What has other names takes its room as before.
            UsageOf::Volume if file.links > 1 => (u64::from(file.id.volume), 0),
            UsageOf::Volume => (u64::from(file.id.volume), file.blocks.saturating_mul(512)),
            UsageOf::Owner => (u64::from(file.uid), file.size_bytes),
            UsageOf::Count => (0, 1),
        };
        match excess.get_mut(&key) {
            Some(left) if *left > 0 && frees > 0 => {
                *left = left.saturating_sub_unsigned(frees);
                true
            }
            _ => false,
        }
    });
    Ok(())
}

/// Trees that hold so much more than at the last scan before a time, or the first within it.
fn growth(
    catalogue: &Catalogue,
    policy: &Policy,
    trees: &[Root],
    more_than_percent: f64,
    within_ms: i64,
    now_ms: i64,
) -> Result<Plan, PlanError> {
    let scans = catalogue.scans()?;
    let mut grown = Vec::new();
    for tree in trees {
        let path = path_of(&tree.path);
        if !policy.scope.is_empty() && !policy.scope.contains(&path) {
            continue;
        }
        let whole = scans.iter().filter(|(_, scan)| {
            *scan.root == *tree.path && scan.below.is_empty() && scan.state == files::ScanState::Done
        });
        let whole: Vec<_> = whole
            .map(|(_, scan)| (scan.ended_ms, scan.total.size_bytes))
            .collect();
        let from_ms = now_ms.saturating_sub(within_ms);
        let before = whole
            .iter()
            .rev()
            .find(|(at_ms, _)| *at_ms <= from_ms)
            .or(whole.first());
        let Some(&(at_ms, before)) = before else { continue };
        let size_bytes = tree.usage.size_bytes;
        let percent = (size_bytes - before) as f64 * 100.0 / before.max(1) as f64;
        if percent > more_than_percent {
            grown.push(Grown {
                path: tree.path.clone(),
                before: (before, at_ms),
                size_bytes,
                percent,
            });
        }
    }
    if let Some(path) = policy
        .scope
        .iter()
        .find(|path| !trees.iter().any(|tree| path_of(&tree.path) == **path))
    {
        return Err(PlanError::Unknown {
            policy: policy.name.clone(),
            path: path.clone(),
        });
    }
    Ok(Plan {
        cause: "due, or asked for".to_owned(),
        grown,
        ..Plan::default()
    })
}
