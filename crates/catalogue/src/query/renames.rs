//! Detection of renames among changes: a file left one name and appeared under another.
//!
//! Invariants:
//!  - Only changes of the same file are joined: same file system, inode and birth time. File
//!    systems without birth times have no renames, because they reuse the inode number of a deleted
//!    file at once.
//!  - A file with several names is joined only if both changes were found together: a name may be
//!    added long before another one is removed.
//!  - The sum of all size differences is the same before and after.

use rustc_hash::FxHashMap;

use super::history::ReportedChange;
use crate::attributes::FileId;
use crate::changes::ChangeKind;

/// Maximum interval between two changes of one rename, if a watch found them: it may read the two
/// directories in different rounds.
const TOGETHER_MS: u64 = 10_000;

/// Joins the two changes of each renamed file or directory into one [`ChangeKind::Renamed`] at the
/// position of the new name. `changes` must be in the order they were found.
pub fn join_renames(changes: Vec<ReportedChange>) -> Vec<ReportedChange> {
    let mut open = PendingMoves {
        came_from: vec![None; changes.len()],
        is_moved: vec![false; changes.len()],
        ..PendingMoves::default()
    };
    for at in 0..changes.len() {
        open.take(&changes, at);
    }
    let PendingMoves {
        came_from, is_moved, ..
    } = open;
    let mut joined = Vec::with_capacity(changes.len());
    for (at, changed) in changes.iter().enumerate() {
        let is_left_over = is_moved[at] && changed.what == ChangeKind::Removed;
        if !is_left_over {
            let from = came_from[at].map(|from: usize| &changes[from]);
            joined.push(reported(changed, from, is_moved[at]));
        }
    }
    joined
}

/// Returns the reported form of a change. `from` is the change in which the file left its old name;
/// `is_moved` is whether the file that left this name is reported under its new name.
fn reported(changed: &ReportedChange, from: Option<&ReportedChange>, is_moved: bool) -> ReportedChange {
    let mut reported = changed.clone();
    let had_another = changed.what == ChangeKind::Changed;
    if let Some(from) = from {
        reported.what = ChangeKind::Renamed;
        reported.from = Some(from.path.clone());
        reported.size_bytes.0 = from.size_bytes.0;
        reported.replaced_size_bytes = (had_another && !is_moved).then_some(changed.size_bytes.0);
    } else if is_moved {
        // The old file was renamed, so the file here is new.
        reported.what = ChangeKind::Added;
        reported.size_bytes.0 = 0;
    }
    reported
}

/// Changes not joined yet, by file.
#[derive(Default)]
struct PendingMoves {
    came: FxHashMap<FileId, Vec<usize>>,
    left: FxHashMap<FileId, Vec<usize>>,
    /// For each change, the change in which its file left its old name.
    came_from: Vec<Option<usize>>,
    /// For each change, whether the file that left the name is reported under its new name.
    is_moved: Vec<bool>,
}

impl PendingMoves {
    fn take(&mut self, changes: &[ReportedChange], at: usize) {
        let changed = &changes[at];
        let Some(file) = changed.file else { return };
        let (left, came) = match changed.what {
            ChangeKind::Added => (None, Some(file.id)),
            ChangeKind::Removed => (Some(file.id), None),
            ChangeKind::Changed => (file.before, file.before.map(|_| file.id)),
            ChangeKind::Renamed => (None, None),
        };
        let has_identity = |id: &FileId| id.born_ns != 0;
        if let Some(id) = left.filter(has_identity) {
            match partner(changes, at, &mut self.came, id) {
                Some(came) => self.join(came, at),
                None => self.left.entry(id).or_default().push(at),
            }
        }
        if let Some(id) = came.filter(has_identity) {
            match partner(changes, at, &mut self.left, id) {
                Some(left) => self.join(at, left),
                None => self.came.entry(id).or_default().push(at),
            }
        }
    }

    fn join(&mut self, came: usize, left: usize) {
        self.came_from[came] = Some(left);
        self.is_moved[left] = true;
    }
}

/// Removes and returns the last open change of a file that can be the other half of a rename.
/// Changes of the same name cannot: the file appeared there for a while and was removed again.
fn partner(
    changes: &[ReportedChange],
    at: usize,
    open: &mut FxHashMap<FileId, Vec<usize>>,
    id: FileId,
) -> Option<usize> {
    let open = open.get_mut(&id)?;
    open.retain(|&other| changes[other].path != changes[at].path);
    let found = open
        .iter()
        .rposition(|&other| may_join(&changes[other], &changes[at]))?;
    Some(open.remove(found))
}

fn may_join(a: &ReportedChange, b: &ReportedChange) -> bool {
    let is_together = match (a.scan, b.scan) {
        (0, _) | (_, 0) => a.at_ms.abs_diff(b.at_ms) <= TOGETHER_MS,
        (a, b) => a == b,
    };
    let has_one_name = |changed: &ReportedChange| changed.file.is_some_and(|file| !file.has_other_names);
    is_together || has_one_name(a) && has_one_name(b)
}
