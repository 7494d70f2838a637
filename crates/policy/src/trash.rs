//! The trash of a tree: `.weft-trash/RUN/ACT/NAME`, by the action that has put a file there.
//!
//! Invariants:
//!  - what lies in the trash has an action in the log that is done; when it is removed for good, that action is emptied;
//!  - a run of which nothing is left in the trash, and something was removed for good, is emptied and not read again.

use files::{ActRow, ActState, Catalogue, CatalogueError, Notes, Place};

use crate::run::is_there;

/// The directory in a tree that holds what policies have deleted from it. No policy but one that empties it acts in it.
pub const TRASH: &str = ".weft-trash";

/// Where a file of a tree goes.
pub(crate) fn place_of(tree: &[u8], run: u64, act: u64, name: &[u8]) -> Vec<u8> {
    let mut path = tree.to_vec();
    for name in [
        TRASH.as_bytes(),
        run.to_string().as_bytes(),
        act.to_string().as_bytes(),
        name,
    ] {
        files::join(&mut path, name);
    }
    path
}

/// The tree of a path in the trash, and the run and action that have put it there; `None` if it is no such path.
fn origin(path: &[u8]) -> Option<(&[u8], u64, u64)> {
    let mut parts = path.rsplitn(5, |&byte| byte == b'/');
    let _name = parts.next()?;
    let mut number = || std::str::from_utf8(parts.next()?).ok()?.parse().ok();
    let (act, run) = (number()?, number()?);
    let is_trash = parts.next()? == TRASH.as_bytes();
    let tree = parts.next()?;
    let tree = if tree.is_empty() { b"/" } else { tree };
    is_trash.then_some((tree, run, act))
}

/// Calls `each` with every action whose file lies in the trash, and its run. Runs that have nothing there are not read.
pub(crate) fn each_in_trash(
    catalogue: &Catalogue,
    mut each: impl FnMut(ActRow),
) -> Result<(), CatalogueError> {
    for (run, row) in catalogue.runs()? {
        if row.action != "delete" || row.state == ActState::Emptied {
            continue;
        }
        catalogue.each_act(Some(run), |_, _, act| {
            if act.is_in_trash() {
                each(act);
            }
            Ok::<(), CatalogueError>(())
        })?;
    }
    Ok(())
}

/// The actions that had put files into the trash which are there no more: by what an `empty-trash` did just now, or because
/// somebody has taken them out.
pub(crate) fn emptied<'a>(
    catalogue: &Catalogue,
    ended: impl Iterator<Item = &'a ActRow>,
) -> Result<Vec<(u64, u64, ActRow)>, CatalogueError> {
    let mut emptied = Vec::new();
    for act in ended.filter(|act| act.action == "empty-trash") {
        let Some((tree, run, number)) = origin(&act.path) else {
            continue;
        };
        let is_gone = match act.state {
            ActState::Done => true,
            // In a tree that is not mounted nothing can be missing.
            ActState::Skipped => {
                is_tree_there(catalogue, tree)? && !is_there(catalogue, &act.path, &act.seen)
            }
            _ => false,
        };
        if let Some(mut row) = catalogue.act(run, number)?.filter(ActRow::is_in_trash)
            && is_gone
            && row.to == act.path
        {
            // Its time stays that at which the file left its place.
            row.state = ActState::Emptied;
            emptied.push((run, number, row));
        }
    }
    Ok(emptied)
}

/// Whether the directory at the path of a tree is the one that was catalogued.
fn is_tree_there(catalogue: &Catalogue, tree: &[u8]) -> Result<bool, CatalogueError> {
    let Some(known) = catalogue.locate_exactly(tree)? else {
        return Ok(false);
    };
    let found = Place::open(tree).and_then(|place| place.look(catalogue));
    Ok(matches!(found, Ok(Some(found)) if found.id == known.attributes.id))
}

/// Notes of runs that all of what they had put into the trash was removed for good, if it was.
pub(crate) fn close_runs(catalogue: &std::sync::Arc<Catalogue>) -> Result<(), CatalogueError> {
    let mut notes = Notes::default();
    for (run, mut row) in catalogue.runs()? {
        if row.action != "delete" || matches!(row.state, ActState::Begun | ActState::Emptied) {
            continue;
        }
        let (mut emptied, mut left) = (0u64, 0u64);
        catalogue.each_act(Some(run), |_, _, act| {
            emptied += u64::from(act.state == ActState::Emptied);
            left += u64::from(act.is_in_trash());
            Ok::<(), CatalogueError>(())
        })?;
        if emptied > 0 && left == 0 {
            row.state = ActState::Emptied;
            notes.runs.push((run, row));
        }
    }
    match notes.runs.is_empty() {
        true => Ok(()),
        false => catalogue.note(&notes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_in_the_trash_says_what_has_put_it_there() {
        for tree in [&b"/"[..], b"/data", b"/data/.weft-trash/1/2"] {
            let path = place_of(tree, 12, 7, b"a.warc");
            assert_eq!(origin(&path), Some((tree, 12, 7)), "{}", path.escape_ascii());
        }
        assert_eq!(place_of(b"/data", 1, 0, b"n"), b"/data/.weft-trash/1/0/n");
        for path in [
            &b""[..],
            b"/data/n",
            b"/data/.weft-trash/n",
            b"/d/.weft-trash/1/x/n",
            b"/d/trash/1/2/n",
        ] {
            assert_eq!(origin(path), None, "{}", path.escape_ascii());
        }
    }
}
