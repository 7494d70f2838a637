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

use placement::Layouts;

use super::layout_log::LayoutLog;
use super::membership::{Found, Recovery, decide_recovery};
use super::open;
use super::settings::NodeSettings;
use super::start_error::StartError;

/// Makes a new layout for volumes that were used before and of which none knows the layouts any more. No
/// process may have them open; they are closed again when this returns.
///
/// What it does, and when it refuses, are the rules of `membership/recovery.rs`. The fixity log says so on every
/// volume.
///
/// # Errors
/// [`StartError`] when the layouts are not lost, or when a volume that may know them cannot be read or
/// opened. The layouts are then unchanged.
pub async fn recover_layouts(settings: &NodeSettings) -> Result<Layouts, StartError> {
    let refused = |detail| StartError::conflict(&settings.id, detail);
    let mut found = Found::look(settings);
    let (layouts, used) = loop {
        match decide_recovery(&found, system::wall_ms())? {
            Recovery::AskOthers => found.ask_others().await,
            Recovery::Make { layouts, used } => break (layouts, used),
        }
    };
    let layout_log = LayoutLog::new(layouts.clone(), Vec::new(), used.clone());
    let detail = format!(
        "all its layouts were lost: layout {} is new",
        layouts.current.number
    );
    let mark = move || {
        let used = used.into_iter();
        let marked = used.map(|(id, path)| open::distrusted(id, path, &detail));
        marked.collect::<Result<Vec<_>, StartError>>()
    };
    // Held open, and so locked, until the layouts are written.
    let _marked = system::blocking(mark)
        .await
        .map_err(|error| refused(format!("mark the volumes: {error}")))??;
    layout_log.fill().await.map_err(refused)?;
    Ok(layouts)
}
