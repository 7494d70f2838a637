//! Files that policies have removed away, from their place or from the trash, and that the catalogue
//! may still list. They are not planned again.
//!
//! Only actions that are newer than the catalogue's knowledge of their tree count. That is the time
//! of its last full scan, or the time up to which a watch keeps it current. The catalogue has seen
//! the effect of earlier actions, so a file that it lists has come back.

use crate::path::is_below;
use catalogue::{ActRow, ActState, Catalogue, CatalogueError, FileVersion, Root};
use rustc_hash::FxHashMap;

/// Actions by the path of their file and its state at that time.
pub(crate) type RemovedFiles = FxHashMap<(Vec<u8>, FileVersion), ActRow>;

/// Returns the actions that are newer than the catalogue's knowledge of these trees. Reads only the
/// runs that may have such actions.
pub(crate) fn removed_files(catalogue: &Catalogue, trees: &[&Root]) -> Result<RemovedFiles, CatalogueError> {
    let known: Vec<(&[u8], i64)> = trees
        .iter()
        .map(|tree| Ok((&*tree.path, catalogue.known_until_ms(&tree.path)?)))
        .collect::<Result<_, CatalogueError>>()?;
    let known_ms = |path: &[u8]| {
        let of = known.iter().filter(|(tree, _)| is_below(path, tree));
        of.max_by_key(|(tree, _)| tree.len()).map(|(_, ms)| *ms)
    };
    let mut removed = RemovedFiles::default();
    let Some(first_ms) = known.iter().map(|(_, ms)| *ms).min() else {
        return Ok(removed);
    };
    for (run, row) in catalogue.runs()? {
        // A run that was killed may have logged more actions than its row says.
        if row.ended_ms < first_ms && row.state != ActState::Begun {
            continue;
        }
        catalogue.each_act(Some(run), |_, _, act| {
            let is_emptied = act.action.empties_trash() && act.state == ActState::Done;
            if (act.has_removed_file() || is_emptied)
                && known_ms(&act.path).is_some_and(|known_ms| act.at_ms >= known_ms)
            {
                removed.insert((act.path.clone(), act.version), act);
            }
            Ok::<(), CatalogueError>(())
        })?;
    }
    Ok(removed)
}
