//! Examines, decides, asks the other nodes if the decision needs it, and warns.

use super::decide::{Decision, Membership, decide};
use super::start_inputs::StartInputs;
use crate::settings::NodeSettings;
use crate::start_error::StartError;

/// Warning for a volume that is in no layout.
const UNPLACED: &str = "is in no layout and stores nothing: add it with weft store layout apply";

/// Warning for a volume that a layout has left out.
const RETIRED: &str = "was retired when a layout left it out, and is not used, because it may hold objects that were \
                       deleted since. Leave it out; to use the disk again, empty the directory, give it a new name \
                       (name=NEW) and run weft store layout apply";

/// Determines the part in the cluster of a node with these settings.
pub(crate) async fn join(settings: &NodeSettings) -> Result<Box<Membership>, StartError> {
    let mut found = StartInputs::inspect(settings);
    let membership = loop {
        match decide(&found)? {
            // Asked only now, because silent nodes cost seconds. With their answer a decision is
            // always possible.
            Decision::AskOthers => found.ask_others().await,
            Decision::Join(membership) => break membership,
        }
    };
    warn(&membership);
    Ok(membership)
}

/// Warns of given volumes that are in no layout, and of volumes in the layout that were not given.
fn warn(membership: &Membership) {
    let current = &membership.layouts.current;
    for volume in &membership.unplaced {
        let retired = current.roles.retired.contains(volume);
        let what = if retired { RETIRED } else { UNPLACED };
        tracing::warn!("volume {volume} {what}");
    }
    for volume in &membership.not_given {
        tracing::warn!(
            %volume,
            layout = current.number,
            "the volume is in the layout but was not given to this node: its replicas cannot be reached"
        );
    }
}
