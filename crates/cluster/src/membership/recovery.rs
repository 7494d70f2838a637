//! Decides whether a store may be given a new layout: a pure function of the inputs.
//!  1. Settings that are wrong whatever the volumes hold are refused.
//!  2. If a volume stores layouts, nothing is lost.
//!  3. If no directory was ever used, there is no store.
//!  4. A directory that is absent or cannot be read may know the layouts.
//!  5. Another node may know them, so it is asked.
//!  6. Otherwise the new layout's number is the time in seconds since 1970. Layouts are numbered
//!     from 1, one more at each change, so no earlier layout has this number, and later changes
//!     continue from it.
//!  7. Every volume that was used before counts as being rebuilt: its "not found" means "not
//!     known", so reads ask all volumes, until repair has moved every replica to its place.

use std::path::PathBuf;

use placement::{Layout, Layouts};
use store_protocol::VolumeId;

use super::decide::newest;
use super::roles::{first_layout, names};
use super::start_inputs::StartInputs;
use crate::ask_nodes::OtherNodes;
use crate::discovery::{Directory, DirectoryState, describe};
use crate::start_error::StartError;

/// What to do when an operator declares the layouts lost.
pub(crate) enum Recovery {
    /// No decision is possible before the other nodes are asked.
    AskOthers,
    /// Mark the used volumes as being rebuilt, then write the layouts.
    Make {
        /// The new layout.
        layouts: Layouts,
        /// The volumes that were used before.
        used: Vec<(VolumeId, PathBuf)>,
    },
}

/// Decides whether a new layout is made at this time.
///
/// # Errors
/// [`StartError`] if the rules refuse it.
pub(crate) fn decide_recovery(found: &StartInputs<'_>, now_ms: u64) -> Result<Recovery, StartError> {
    let (settings, directories) = (found.settings, &found.directories);
    let refused = |detail: String| Err(StartError::conflict(&settings.id, detail));
    if let Err(error) = settings.check() {
        return refused(error.to_string());
    }
    if let Some(layouts) = newest(found)? {
        let number = layouts.current.number;
        return refused(format!(
            "nothing is lost: the node's volumes have layout {number}"
        ));
    }
    if directories.iter().all(Directory::is_new) {
        return Err(StartError::NoStore {
            found: describe(directories),
        });
    }
    let hidden = |directory: &&Directory| {
        matches!(
            directory.state,
            DirectoryState::Absent | DirectoryState::Unreadable(_)
        )
    };
    if let Some(hidden) = directories.iter().find(hidden) {
        return refused(format!(
            "{}: it may have the layouts; bring it back, or leave it out if it is gone for good",
            hidden.description()
        ));
    }
    match &found.others {
        None => return Ok(Recovery::AskOthers),
        Some(OtherNodes::Answered(told)) => {
            return refused(format!(
                "nothing is lost: node {} has layout {}, which this node adopts when it starts",
                told.by, told.layouts.current.number
            ));
        }
        Some(OtherNodes::Alone | OtherNodes::Silent(_)) => {}
    }
    let ids = names(settings, directories)?;
    let current = Layout {
        number: now_ms / 1000,
        ..first_layout(settings, &ids, found.seed)?
    };
    let used = directories.iter().zip(ids);
    let used = used.filter(|(directory, _)| !directory.is_new());
    Ok(Recovery::Make {
        layouts: Layouts {
            current,
            older: Vec::new(),
        },
        used: used.map(|(directory, id)| (id, directory.path.clone())).collect(),
    })
}
