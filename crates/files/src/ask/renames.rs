//! Renames among changes: a file that has left one name and come to another.
//!
//! Invariants:
//!  - only the same file is joined: the same file system, inode and time of birth. Where a file system keeps no times of birth
//!    nothing is joined, because the number of a deleted file is given to the next one at once;
//!  - a file with several names is joined only where both were found together: a name may come long before another one goes;
//!  - the sum of all differences of size is the same before and after.

use rustc_hash::FxHashMap;

use super::history::Changed;
use crate::attributes::FileId;
use crate::changes::What;

/// Changes that watches find so close together may be of one rename: its two directories can be read in different rounds.
const TOGETHER_MS: u64 = 10_000;

/// Joins changes, in the order of finding, where a file or directory left one name and came to another: one
/// [`What::Renamed`], at the place of the name that it came to, instead of both.
pub fn with_renames(changes: Vec<Changed>) -> Vec<Changed> {
    let mut open = Open {
        came_from: vec![None; changes.len()],
        is_moved: vec![false; changes.len()],
        ..Open::default()
    };
    for at in 0..changes.len() {
        open.take(&changes, at);
    }
    let Open {
        came_from, is_moved, ..
    } = open;
    let mut joined = Vec::with_capacity(changes.len());
    for (at, changed) in changes.iter().enumerate() {
        let is_left_over = is_moved[at] && changed.what == What::Removed;
        if !is_left_over {
            let from = came_from[at].map(|from: usize| &changes[from]);
            joined.push(seen(changed, from, is_moved[at]));
        }
    }
    joined
}

/// A change as it is told: what came to its name `from` another one, and whether what left its name is told there.
fn seen(changed: &Changed, from: Option<&Changed>, is_moved: bool) -> Changed {
    let mut seen = changed.clone();
    let had_another = changed.what == What::Changed;
    if let Some(from) = from {
        seen.what = What::Renamed;
        seen.from = Some(from.path.clone());
        seen.size_bytes.0 = from.size_bytes.0;
        seen.replaced_size_bytes = (had_another && !is_moved).then_some(changed.size_bytes.0);
    } else if is_moved {
        // The file that was here has another name; this one is new.
        seen.what = What::Added;
        seen.size_bytes.0 = 0;
    }
    seen
}

/// Changes that are not joined yet, by their files.
#[derive(Default)]
struct Open {
    came: FxHashMap<FileId, Vec<usize>>,
    left: FxHashMap<FileId, Vec<usize>>,
    /// For each change the one that says where its file came from.
    came_from: Vec<Option<usize>>,
    /// Whether the file that left a name is told where it came to.
    is_moved: Vec<bool>,
}

impl Open {
    fn take(&mut self, changes: &[Changed], at: usize) {
        let changed = &changes[at];
        let Some(file) = changed.file else { return };
        let (left, came) = match changed.what {
            What::Added => (None, Some(file.id)),
            What::Removed => (Some(file.id), None),
            What::Changed => (file.before, file.before.map(|_| file.id)),
            What::Renamed => (None, None),
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

/// Takes the last of the open changes of a file that can be the other side of one. Those of the same name cannot: the file was
/// there for a time, and that is over.
fn partner(
    changes: &[Changed],
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

fn may_join(a: &Changed, b: &Changed) -> bool {
    let is_together = match (a.scan, b.scan) {
        (0, _) | (_, 0) => a.at_ms.abs_diff(b.at_ms) <= TOGETHER_MS,
        (a, b) => a == b,
    };
    let has_one_name = |changed: &Changed| changed.file.is_some_and(|file| !file.has_other_names);
    is_together || has_one_name(a) && has_one_name(b)
}
