//! Gives a new layout to a store whose layouts are lost on all its volumes, when an operator asks
//! for it.
//!
//! A node never does this by itself. Layouts are missing from the given volumes if `node/` was
//! deleted, or a copy was restored without it, but also if the one volume that knows them is away.
//! An invented layout would look for every object in other places, and would not know retired
//! volumes: given again, they would bring back deleted objects. So the start is refused, with what
//! was found and the command that leads here.
//!
//! Crash argument: the volumes are marked first and the layouts written last. Until one volume has
//! them, the only change is that some volumes count as being rebuilt, and the command can be run
//! again. After that the next start writes them to the others.

use placement::Layouts;

use super::layout_log::LayoutLog;
use super::membership::{Recovery, StartInputs, decide_recovery};
use super::open;
use super::settings::NodeSettings;
use super::start_error::StartError;

/// Makes a new layout for volumes that were used before and that no longer store any layout. No
/// process may have them open. They are closed again when this returns.
///
/// The rules of `membership/recovery.rs` say what it does and when it refuses. It is recorded in
/// the fixity log of every volume.
///
/// # Errors
/// [`StartError`] if the layouts are not lost, or if a volume that may know them cannot be read or
/// opened. The layouts are then unchanged.
pub async fn recover_layouts(settings: &NodeSettings) -> Result<Layouts, StartError> {
    let refused = |detail| StartError::conflict(&settings.id, detail);
    let mut found = StartInputs::inspect(settings);
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
        let marked = used.map(|(id, path)| open::open_as_rebuilding(id, path, &detail));
        marked.collect::<Result<Vec<_>, StartError>>()
    };
    // Kept open, and so locked, until the layouts are written.
    let _marked = system::blocking(mark)
        .await
        .map_err(|error| refused(format!("mark the volumes: {error}")))??;
    let filled = layout_log.fill().await;
    filled.map_err(|error| refused(error.to_string()))?;
    Ok(layouts)
}
