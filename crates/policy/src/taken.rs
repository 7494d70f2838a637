//! Files that policies have taken away, also from the trash, and that the catalogue may still have: they are not planned again.
//!
//! Of the log, only actions count that are newer than what the catalogue knows of their tree: its last whole scan, or how far a
//! watch keeps it current. What was done before that the catalogue has seen; if such a file is there, it has come back.

use files::{ActRow, ActState, Catalogue, CatalogueError, Root, Seen};
use rustc_hash::FxHashMap;

use crate::plan::is_below;

/// Files by path, and as they were, with what was done.
pub(crate) type Taken = FxHashMap<(Vec<u8>, Seen), ActRow>;

/// Reads runs that wrote after the catalogue knew all of some of these trees, and no others.
pub(crate) fn taken(catalogue: &Catalogue, trees: &[&Root]) -> Result<Taken, CatalogueError> {
    let known: Vec<(&[u8], i64)> = trees
        .iter()
        .map(|tree| Ok((&*tree.path, catalogue.known_until_ms(&tree.path)?)))
        .collect::<Result<_, CatalogueError>>()?;
    let known_ms = |path: &[u8]| {
        let of = known.iter().filter(|(tree, _)| is_below(path, tree));
        of.max_by_key(|(tree, _)| tree.len()).map(|(_, ms)| *ms)
    };
    let mut taken = Taken::default();
    let Some(first_ms) = known.iter().map(|(_, ms)| *ms).min() else {
        return Ok(taken);
    };
    for (run, row) in catalogue.runs()? {
        // A run that was killed has written more than its row says.
        if row.ended_ms < first_ms && row.state != ActState::Begun {
            continue;
        }
        catalogue.each_act(Some(run), |_, _, act| {
            let is_emptied = act.action == "empty-trash" && act.state == ActState::Done;
            if (act.takes_away() || is_emptied)
                && known_ms(&act.path).is_some_and(|known_ms| act.at_ms >= known_ms)
            {
                taken.insert((act.path.clone(), act.seen), act);
            }
            Ok::<(), CatalogueError>(())
        })?;
    }
    Ok(taken)
}
