//! Decides the part of a starting node in the cluster: a pure function of the settings, the
//! directories and the answers of other nodes. The rules are those of [`decide`].

use std::path::PathBuf;

use placement::{Layout, Layouts};
use store::merge;
use store_protocol::VolumeId;

use super::roles::{first_layout, names};
use super::start_inputs::StartInputs;
use crate::ask_nodes::OtherNodes;
use crate::discovery::{Directory, describe};
use crate::layout_log::LayoutsFile;
use crate::open::OpenVolume;
use crate::start_error::StartError;

/// The outcome of a decision.
pub(crate) enum Decision {
    /// No decision is possible before the other nodes are asked.
    AskOthers,
    /// Take part.
    Join(Box<Membership>),
}

/// The volumes and layouts with which a node takes part.
pub(crate) struct Membership {
    /// Its volumes, in the order of the settings.
    pub(crate) volumes: Vec<OpenVolume>,
    /// The layouts in force.
    pub(crate) layouts: Layouts,
    /// Accepted layouts newer than those in force.
    pub(crate) accepted: Vec<Layout>,
    /// Volumes that are in no layout in force.
    pub(crate) unplaced: Vec<VolumeId>,
    /// Volumes of this node in the current layout that were not given.
    pub(crate) not_given: Vec<VolumeId>,
}

impl Membership {
    /// Returns the volumes with their directories.
    pub(crate) fn places(&self) -> Vec<(VolumeId, PathBuf)> {
        let places = self.volumes.iter();
        places
            .map(|volume| (volume.id.clone(), volume.path.clone()))
            .collect()
    }
}

/// Decides the part of a starting node in the cluster.
///  1. Settings that are wrong whatever the volumes hold are refused.
///  2. Every volume has a name ([`names`]). A directory of another node or under two names is
///     refused.
///  3. The newest layouts stored on a volume count. Volumes of two stores, which differ in the seed
///     or have two layouts of one number, are refused. Accepted layouts that are newer are taken
///     from the volume that knows the newest of them.
///  4. If no volume stores layouts, those of the other nodes count. The other nodes are also asked
///     whether they hold any replica.
///  5. If no other node returns layouts, the node makes layout 1, but only if its volumes were
///     never used. Otherwise their layouts are lost or on an absent volume, and the start is
///     refused ([`crate::recover_layouts`] explains why). If volumes must not be made, there is no
///     store.
///  6. A volume of a layout in force held data before, if the store did: an empty directory has
///     lost it.
///  7. An absent directory is made only if it cannot be an unmounted disk, because writing would
///     then fill the disk below. That is so if no volume here stores layouts (the node is new, or
///     replaces a lost machine), or if all volumes of the node were given and this one is in no
///     layout.
///  8. A directory that is not a volume becomes one if volumes may be made, or if a layout in force
///     names it.
///
/// # Errors
/// [`StartError`] if the rules refuse the start.
pub(crate) fn decide(found: &StartInputs<'_>) -> Result<Decision, StartError> {
    let settings = found.settings;
    settings
        .check()
        .map_err(|error| StartError::conflict(&settings.id, error))?;
    let ids = names(settings, &found.directories)?;
    let (layouts, held_before) = match (newest(found)?, &found.others) {
        (Some(layouts), _) => (layouts, true),
        (None, None) => return Ok(Decision::AskOthers),
        (None, Some(OtherNodes::Answered(told))) => (told.layouts.clone(), told.holds),
        (None, Some(OtherNodes::Silent(addresses))) => (first(found, &ids, Some(addresses))?, false),
        (None, Some(OtherNodes::Alone)) => (first(found, &ids, None)?, false),
    };
    let placed = |id: &VolumeId| {
        let mut all = std::iter::once(&layouts.current).chain(&layouts.older);
        all.any(|layout| layout.roles.volumes.iter().any(|volume| volume.id == *id))
    };
    let ours = layouts.current.roles.volumes.iter();
    let ours = ours.filter(|volume| volume.node == settings.id && !ids.contains(&volume.id));
    let not_given: Vec<_> = ours.map(|volume| volume.id.clone()).collect();
    let new_here = layouts_files(found).next().is_none();
    // If a volume of this node was not given, an absent directory may be that volume under a new
    // path.
    let makes_directory = |id: &VolumeId| new_here || (not_given.is_empty() && !placed(id));
    let volumes = settings.volumes.iter().zip(&ids);
    let volumes = volumes.map(|(volume, id)| OpenVolume {
        id: id.clone(),
        path: volume.path.clone(),
        held_before: held_before && placed(id),
        makes_directory: settings.makes_volumes && makes_directory(id),
        begins: settings.makes_volumes || placed(id),
        write_node_files: None,
    });
    Ok(Decision::Join(Box::new(Membership {
        volumes: volumes.collect(),
        accepted: accepted(found, layouts.current.number),
        unplaced: ids.iter().filter(|id| !placed(id)).cloned().collect(),
        not_given,
        layouts,
    })))
}

/// Returns the newest layouts stored on the volumes.
pub(super) fn newest(found: &StartInputs<'_>) -> Result<Option<Layouts>, StartError> {
    let mut newest: Option<Layouts> = None;
    for file in layouts_files(found) {
        let Some(layouts) = &mut newest else {
            newest = Some(file.layouts.clone());
            continue;
        };
        let (ours, theirs) = (&layouts.current, &file.layouts.current);
        // A store never changes its seed, and never has two layouts of one number.
        if ours.seed != theirs.seed || (ours.number == theirs.number && ours != theirs) {
            let detail = format!(
                "volume {} belongs to another store than the volumes before it",
                file.volume
            );
            return Err(StartError::conflict(&found.settings.id, detail));
        }
        if let Some(merged) = merge(layouts, file.layouts.clone()) {
            *layouts = merged;
        }
    }
    Ok(newest)
}

/// Returns the accepted layouts newer than the one in force, from the volume that knows the newest.
fn accepted(found: &StartInputs<'_>, in_force: u64) -> Vec<Layout> {
    let lists = layouts_files(found).map(|file| &file.accepted);
    let newest = lists.max_by_key(|list| list.last().map(|layout| layout.number));
    let newest = newest.into_iter().flatten();
    newest
        .filter(|layout| layout.number > in_force)
        .cloned()
        .collect()
}

/// Returns layout 1 for a node that finds no layouts. `silent` holds the addresses of other nodes
/// that do not answer.
fn first(found: &StartInputs<'_>, ids: &[VolumeId], silent: Option<&String>) -> Result<Layouts, StartError> {
    if !found.directories.iter().all(Directory::is_new) {
        return Err(lost(found, silent));
    }
    if !found.settings.makes_volumes {
        return Err(StartError::NoStore {
            found: describe(&found.directories),
        });
    }
    Ok(Layouts {
        current: first_layout(found.settings, ids, found.seed)?,
        older: Vec::new(),
    })
}

/// Returns the error for volumes that were used before and whose layouts are not found.
fn lost(found: &StartInputs<'_>, silent: Option<&String>) -> StartError {
    let first = match silent {
        Some(addresses) => {
            format!("Start another node first, because it may know them (no node answers at {addresses}).")
        }
        None => "If a volume is missing, bring it back, because it may know them.".to_owned(),
    };
    StartError::LayoutsLost {
        found: describe(&found.directories),
        advice: format!(
            "{first} If they are lost for good, run weft store layout recover with the same --volume \
             or --config to make a new layout"
        ),
    }
}

/// Returns the layout files of the volumes that have one.
fn layouts_files<'a>(found: &'a StartInputs<'_>) -> impl Iterator<Item = &'a LayoutsFile> {
    found
        .directories
        .iter()
        .filter_map(|directory| directory.file.as_ref())
}
