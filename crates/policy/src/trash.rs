//! The trash of a tree: `.weft-trash/RUN/ACT/NAME`, named by the action that put the file there.
//!
//! Invariants:
//! - Each file in the trash has a completed action in the log. When the file is removed
//!   permanently, that action becomes "emptied".
//! - A run is "emptied" once the trash holds none of its files and at least one of them was removed
//!   permanently. It is not read again.

use crate::path::is_there;
use catalogue::{ActRow, ActState, Catalogue, CatalogueError, LogBatch, PathHandle};

/// The directory in a tree for the files that policies have deleted from it. Only policies that
/// empty the trash act in it.
pub const TRASH: &str = ".weft-trash";

/// Returns the path in the trash for a file of a tree.
pub(crate) fn trash_path(tree: &[u8], run: u64, act: u64, name: &[u8]) -> Vec<u8> {
    let mut path = tree.to_vec();
    for name in [
        TRASH.as_bytes(),
        run.to_string().as_bytes(),
        act.to_string().as_bytes(),
        name,
    ] {
        catalogue::join(&mut path, name);
    }
    path
}

/// Returns the tree, run and action of a path in the trash; `None` for any other path.
fn parse_trash_path(path: &[u8]) -> Option<(&[u8], u64, u64)> {
    let mut parts = path.rsplitn(5, |&byte| byte == b'/');
    let _name = parts.next()?;
    let mut number = || std::str::from_utf8(parts.next()?).ok()?.parse().ok();
    let (act, run) = (number()?, number()?);
    let is_trash = parts.next()? == TRASH.as_bytes();
    let tree = parts.next()?;
    let tree = if tree.is_empty() { b"/" } else { tree };
    is_trash.then_some((tree, run, act))
}

/// Calls `each` with every action whose file is in the trash. Runs without files in the trash are
/// not read.
pub(crate) fn each_in_trash(
    catalogue: &Catalogue,
    mut each: impl FnMut(ActRow),
) -> Result<(), CatalogueError> {
    for (run, row) in catalogue.runs()? {
        if !row.action.trashes_file() || row.state == ActState::Emptied {
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

/// Returns the actions whose files have left the trash: removed by the `empty-trash` actions in
/// `ended`, or taken out by a user.
pub(crate) fn emptied<'a>(
    catalogue: &Catalogue,
    ended: impl Iterator<Item = &'a ActRow>,
) -> Result<Vec<(u64, u64, ActRow)>, CatalogueError> {
    let mut emptied = Vec::new();
    for act in ended.filter(|act| act.action.empties_trash()) {
        let Some((tree, run, number)) = parse_trash_path(&act.path) else {
            continue;
        };
        let is_gone = match act.state {
            ActState::Done => true,
            // If the tree is not mounted, its trash is not known to be empty.
            ActState::Skipped => {
                is_tree_there(catalogue, tree)? && !is_there(catalogue, &act.path, &act.version)
            }
            _ => false,
        };
        if let Some(mut row) = catalogue.act(run, number)?.filter(ActRow::is_in_trash)
            && is_gone
            && row.to == act.path
        {
            // Its time stays the one at which the file left its place.
            row.state = ActState::Emptied;
            emptied.push((run, number, row));
        }
    }
    Ok(emptied)
}

/// Returns whether the directory at the path of a tree is the one that was catalogued.
fn is_tree_there(catalogue: &Catalogue, tree: &[u8]) -> Result<bool, CatalogueError> {
    let Some(known) = catalogue.locate_exactly(tree)? else {
        return Ok(false);
    };
    let found = PathHandle::open(tree).and_then(|place| place.stat(catalogue));
    Ok(matches!(found, Ok(Some(found)) if found.id == known.attributes.id))
}

/// Marks runs as emptied whose files have all left the trash, at least one of them by permanent
/// removal.
pub(crate) fn close_runs(catalogue: &std::sync::Arc<Catalogue>) -> Result<(), CatalogueError> {
    let mut notes = LogBatch::default();
    for (run, mut row) in catalogue.runs()? {
        if !row.action.trashes_file() || matches!(row.state, ActState::Begun | ActState::Emptied) {
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
    if notes.runs.is_empty() {
        Ok(())
    } else {
        catalogue.write_log(&notes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_in_the_trash_says_what_has_put_it_there() {
        for tree in [&b"/"[..], b"/data", b"/data/.weft-trash/1/2"] {
            let path = trash_path(tree, 12, 7, b"a.warc");
            assert_eq!(
                parse_trash_path(&path),
                Some((tree, 12, 7)),
                "{}",
                path.escape_ascii()
            );
        }
        assert_eq!(trash_path(b"/data", 1, 0, b"n"), b"/data/.weft-trash/1/0/n");
        for path in [
            &b""[..],
            b"/data/n",
            b"/data/.weft-trash/n",
            b"/d/.weft-trash/1/x/n",
            b"/d/trash/1/2/n",
        ] {
            assert_eq!(parse_trash_path(path), None, "{}", path.escape_ascii());
        }
    }
}
