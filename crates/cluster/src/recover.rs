//! Gives a store whose layouts are lost on all its volumes a new one, when a person asks for it.
//!
//! A node never does this by itself. Layouts are gone from the volumes at hand when `node/` was deleted, or a
//! copy was restored without it, but also when the one volume that knows them is away. A layout made up
//! meanwhile would look for everything in other places, and know nothing of volumes that were retired: given
//! again, they would bring back what was deleted. So the start is refused, with what was found and the
//! command that leads here.
//!
//! Crash argument: the volumes are marked first and the layouts written last. Until one volume has them, the
//! only change is that some volumes count as being rebuilt, and the command can be run again. After that the
//! next start writes them to the others.

use placement::{Layout, Layouts};

use super::discovery::{Directory, DirectoryState};
use super::join::{Others, names, newest, wanted};
use super::layout_log::LayoutLog;
use super::start::conflict;
use super::{NodeSettings, StartError, open};

/// Makes a new layout for volumes that were used before and of which none knows the layouts any more. No
/// process may have them open; they are closed again when this returns.
///
/// What the command does:
///  - the number is the time in seconds since 1970. Layouts are numbered from 1, one more at each change: no
///    earlier one has it, and the next change counts on from it;
///  - every volume that was used before counts as being rebuilt: its "not found" means "not known", so that
///    reads ask everybody, until repair has moved every replica to its place;
///  - the fixity log says so on every volume.
///
/// # Errors
/// [`StartError`] when the layouts are not lost, or when a volume that may know them cannot be read or
/// opened. The layouts are then unchanged.
pub async fn recover_layouts(settings: &NodeSettings) -> Result<Layouts, StartError> {
    settings.check().map_err(|detail| conflict(settings, detail))?;
    let found = Directory::all(settings);
    may_recover(settings, &found).await?;
    let ids = names(settings, &found)?;
    let layouts = Layouts {
        current: Layout {
            number: ambient::wall_ms() / 1000,
            ..wanted(settings, &ids)
        },
        older: Vec::new(),
    };
    let used = found.iter().zip(ids).filter(|(found, _)| !found.is_new());
    let used: Vec<_> = used.map(|(found, id)| (id, found.path.clone())).collect();
    let layout_log = LayoutLog::new(layouts.clone(), Vec::new(), used.clone());
    let mark = move || {
        let detail = format!(
            "all its layouts were lost: layout {} is new",
            layouts.current.number
        );
        let mut marked = Vec::new();
        for (id, path) in used {
            marked.push(open::distrusted(id, path, &detail)?);
        }
        Ok::<_, StartError>((marked, layouts))
    };
    // Held open, and so locked, until the layouts are written.
    let (_marked, layouts) = ambient::blocking(mark)
        .await
        .map_err(|error| conflict(settings, format!("mark the volumes: {error}")))??;
    let written = layout_log.fill().await;
    written.map_err(|detail| conflict(settings, detail))?;
    Ok(layouts)
}

/// Refuses if layouts are known, or may be known by a volume that cannot be read.
async fn may_recover(settings: &NodeSettings, found: &[Directory]) -> Result<(), StartError> {
    let refused = |detail: String| Err(conflict(settings, detail));
    if let Some(layouts) = newest(settings, found)? {
        let number = layouts.current.number;
        return refused(format!("nothing is lost: its volumes know layout {number}"));
    }
    if found.iter().all(Directory::is_new) {
        return Err(StartError::no_store(found));
    }
    let hidden = |found: &&Directory| {
        matches!(
            found.state,
            DirectoryState::Absent | DirectoryState::Unreadable(_)
        )
    };
    if let Some(hidden) = found.iter().find(hidden) {
        return refused(format!(
            "{}: it may know the layouts; bring it back, or leave it out if it is gone for good",
            hidden.told()
        ));
    }
    match Others::ask(settings).await {
        Others::Told(told) => refused(format!(
            "nothing is lost: node {} knows layout {}, which this node takes over when it starts",
            told.by, told.layouts.current.number
        )),
        Others::None | Others::Silent(_) => Ok(()),
    }
}
