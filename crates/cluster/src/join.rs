//! Finds out what a starting node takes part in: the names of its volumes, and the layouts that they, the
//! other nodes or the settings give.
//!
//! Invariants:
//!  - volumes of two stores, or of another node, are never mixed;
//!  - layout 1 is made only by a node that hears of no layouts and whose volumes were never used: where they
//!    were used, their layouts are lost or on an absent volume, and the start is refused
//!    ([`super::recover_layouts`] says why);
//!  - the directory of a volume that took part before is never made if another volume of the node knows of
//!    it: its disk may only be unmounted, and writing there would fill the disk below.

use std::collections::BTreeSet;
use std::path::PathBuf;

use contract::VolumeId;
use placement::{Layout, Layouts, NodeRole, Roles, VolumeRole};
use store::merge;

use super::cluster_file::{ClusterFile, volume_id};
use super::connect::{Told, layouts_of};
use super::discovery::Directory;
use super::layout_log::LayoutsFile;
use super::start::{OpenVolume, conflict, told};
use super::{NodeSettings, StartError, VolumeSettings};

/// What a node takes part in.
pub(super) struct Joined {
    /// Its volumes, in the order of the settings.
    pub(super) volumes: Vec<OpenVolume>,
    /// The layouts in force.
    pub(super) layouts: Layouts,
    /// Layouts that are accepted and newer than those in force.
    pub(super) accepted: Vec<Layout>,
    /// Volumes that are in no layout in force.
    pub(super) unplaced: Vec<VolumeId>,
}

impl Joined {
    /// Returns the volumes with their directories.
    pub(super) fn places(&self) -> Vec<(VolumeId, PathBuf)> {
        let places = self.volumes.iter();
        places
            .map(|volume| (volume.id.clone(), volume.path.clone()))
            .collect()
    }
}

/// Finds out what a node of these settings takes part in.
pub(super) async fn join(settings: &NodeSettings) -> Result<Joined, StartError> {
    settings.check().map_err(|detail| conflict(settings, detail))?;
    let found = Directory::all(settings);
    let ids = names(settings, &found)?;
    let (layouts, known_before) = match newest(settings, &found)? {
        Some(layouts) => (layouts, true),
        None => first(settings, &found, &ids).await?,
    };
    let placed = |id: &VolumeId| {
        let mut all = std::iter::once(&layouts.current).chain(&layouts.older);
        all.any(|layout| layout.roles.volumes.iter().any(|volume| volume.id == *id))
    };
    // If none of its volumes keeps layouts, the node is new or replaces a lost machine: it may make all
    // directories.
    let new_here = layouts_files(&found).next().is_none();
    // If a volume of this node was not given, an absent directory may be that volume under a new path, so
    // none is made.
    let mut ours = layouts.current.roles.volumes.iter();
    let all_given = ours.all(|volume| volume.node != settings.id || ids.contains(&volume.id));
    let volumes = settings.volumes.iter().zip(&ids);
    let volumes = volumes.map(|(volume, id)| OpenVolume {
        id: id.clone(),
        path: volume.path.clone(),
        held_before: known_before && placed(id),
        makes_directory: settings.makes_volumes && (new_here || (all_given && !placed(id))),
        begins: settings.makes_volumes || placed(id),
        furnish: None,
    });
    let joined = Joined {
        volumes: volumes.collect(),
        accepted: accepted(&found, layouts.current.number),
        unplaced: ids.iter().filter(|id| !placed(id)).cloned().collect(),
        layouts,
    };
    report(settings, &joined);
    Ok(joined)
}

/// The roles that settings ask for: those of the cluster file, or of the volumes given. A layout is planned
/// and applied from them.
///
/// # Errors
/// [`StartError`] when the settings are wrong or two directories claim to be the same volume.
pub fn wanted_roles(settings: &NodeSettings) -> Result<Roles, StartError> {
    settings.check().map_err(|detail| conflict(settings, detail))?;
    match &settings.cluster {
        Some(cluster) => Ok(cluster.roles()),
        None => Ok(own_roles(settings, &names(settings, &Directory::all(settings))?)),
    }
}

/// Warning for a volume that is in no layout.
const UNPLACED: &str = "is in no layout and holds nothing: weft store layout apply takes it in";

/// Warning for a volume that a layout has left out.
const RETIRED: &str = "was retired when a layout left it out, and is not used: it may hold objects that were deleted \
                       since. Leave it out; to use the disk again, empty the directory and give it a new name (name=NEW), then weft \
                       store layout apply";

/// Warns of volumes that were given but are in no layout, and of those in the layout that were not given.
fn report(settings: &NodeSettings, joined: &Joined) {
    for volume in &joined.unplaced {
        let retired = joined.layouts.current.roles.retired.contains(volume);
        let what = if retired { RETIRED } else { UNPLACED };
        tracing::warn!("volume {volume} {what}");
    }
    let given = |id: &VolumeId| joined.volumes.iter().any(|volume| volume.id == *id);
    let ours = joined.layouts.current.roles.volumes.iter();
    for volume in ours.filter(|volume| volume.node == settings.id && !given(&volume.id)) {
        tracing::warn!(
            volume = %volume.id,
            layout = joined.layouts.current.number,
            "the volume is in the layout but was not given to this node: its replicas cannot be reached"
        );
    }
}

/// Returns the names of the volumes: the name given, else the one in the directory, else one made from its
/// path.
pub(super) fn names(settings: &NodeSettings, found: &[Directory]) -> Result<Vec<VolumeId>, StartError> {
    let node = settings.id.0.as_ref();
    let mut taken = BTreeSet::new();
    let mut ids = Vec::new();
    // Volumes that have a name go first, so that a new name never takes one of theirs.
    for (volume, found) in settings.volumes.iter().zip(found) {
        let given = volume.name.as_ref().map(|name| volume_id(node, name));
        let before = found.id.clone();
        if let (Some(given), Some(before)) = (&given, &before)
            && given != before
        {
            let path = volume.path.display();
            return Err(conflict(
                settings,
                format!("directory {path} is volume {before}, not {given}"),
            ));
        }
        let id = given.or(before);
        if let Some(id) = &id {
            let path = volume.path.display();
            if !id.0.strip_prefix(node).is_some_and(|rest| rest.starts_with('/')) {
                return Err(conflict(
                    settings,
                    format!("directory {path} is volume {id} of another node"),
                ));
            }
            if !taken.insert(id.clone()) {
                return Err(conflict(
                    settings,
                    format!("two directories are volume {id}: {path} and another"),
                ));
            }
        }
        ids.push(id);
    }
    let named = ids.into_iter().zip(&settings.volumes);
    Ok(named
        .map(|(id, volume)| id.unwrap_or_else(|| new_name(node, volume, &mut taken)))
        .collect())
}

/// Makes a name from the last part of the path that is not in `taken`.
fn new_name(node: &str, volume: &VolumeSettings, taken: &mut BTreeSet<VolumeId>) -> VolumeId {
    let last = volume.path.file_name().unwrap_or_default().to_string_lossy();
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let mut name: String = last.chars().filter(|c| allowed(*c)).take(50).collect();
    if name.is_empty() {
        name = "volume".to_owned();
    }
    let numbered = (2..).map(|number| volume_id(node, &format!("{name}-{number}")));
    let mut names = std::iter::once(volume_id(node, &name)).chain(numbered);
    // The numbers do not end, so a free name is always found.
    names
        .find(|id| taken.insert(id.clone()))
        .unwrap_or_else(|| volume_id(node, &name))
}

/// Returns the newest layouts that the volumes keep.
pub(super) fn newest(settings: &NodeSettings, found: &[Directory]) -> Result<Option<Layouts>, StartError> {
    let mut newest: Option<Layouts> = None;
    for file in layouts_files(found) {
        let Some(layouts) = &mut newest else {
            newest = Some(file.layouts.clone());
            continue;
        };
        let (ours, theirs) = (&layouts.current, &file.layouts.current);
        // A store keeps its seed for ever, and never has two layouts of one number.
        if ours.seed != theirs.seed || (ours.number == theirs.number && ours != theirs) {
            let detail = format!("volume {} is of another store than those before it", file.volume);
            return Err(conflict(settings, detail));
        }
        if let Some(merged) = merge(layouts, file.layouts.clone()) {
            *layouts = merged;
        }
    }
    Ok(newest)
}

/// Returns the accepted layouts that are newer than the one in force, from the volume that knows the newest.
fn accepted(found: &[Directory], in_force: u64) -> Vec<Layout> {
    let lists = layouts_files(found).map(|file| &file.accepted);
    let newest = lists.max_by_key(|list| list.last().map(|layout| layout.number));
    let newer = newest
        .into_iter()
        .flatten()
        .filter(|layout| layout.number > in_force);
    newer.cloned().collect()
}

/// Returns layouts for volumes that keep none: those of the other nodes, or layout 1 if nothing was used
/// before. The second value says whether the cluster held anything before.
async fn first(
    settings: &NodeSettings,
    found: &[Directory],
    ids: &[VolumeId],
) -> Result<(Layouts, bool), StartError> {
    let silent = match Others::ask(settings).await {
        Others::Told(told) => return Ok((told.layouts, told.holds)),
        Others::Silent(addresses) => Some(addresses),
        Others::None => None,
    };
    // Checked only after the other nodes were asked: one that knows the layouts makes the start safe.
    if !found.iter().all(Directory::is_new) {
        return Err(lost(found, silent.as_deref()));
    }
    if !settings.makes_volumes {
        return Err(StartError::no_store(found));
    }
    let layouts = Layouts {
        current: wanted(settings, ids),
        older: Vec::new(),
    };
    Ok((layouts, false))
}

/// The error for volumes that were used before and whose layouts are not found.
fn lost(found: &[Directory], silent: Option<&str>) -> StartError {
    let first = match silent {
        Some(addresses) => {
            format!("Start another node first, which may know them (none answers at {addresses}).")
        }
        None => "Bring back the volume that knows them, if one is away.".to_owned(),
    };
    StartError::LayoutsLost {
        found: told(found),
        advice: format!(
            "{first} If they are lost for good: weft store layout recover makes a new one, with the same --volume or --config"
        ),
    }
}

/// The other nodes of the cluster file, asked for their layouts.
pub(super) enum Others {
    /// There are none.
    None,
    /// At least one answered.
    Told(Told),
    /// None answered, at these addresses.
    Silent(String),
}

impl Others {
    /// Asks the other nodes of the cluster file, and waits for all answers.
    pub(super) async fn ask(settings: &NodeSettings) -> Self {
        let roles = settings.cluster.as_ref().map(ClusterFile::roles);
        let nodes = roles.map(|roles| roles.nodes).unwrap_or_default();
        let others: Vec<_> = nodes.into_iter().filter(|node| node.id != settings.id).collect();
        if others.is_empty() {
            return Self::None;
        }
        let told = match settings.trust() {
            Ok(trust) => layouts_of(others.iter(), &trust).await,
            // The node cannot start without its keys either, and reports that error.
            Err(_) => None,
        };
        match told {
            Some(told) => Self::Told(told),
            None => {
                let addresses: Vec<_> = others.iter().map(|node| node.address.as_str()).collect();
                Self::Silent(addresses.join(", "))
            }
        }
    }
}

/// Makes layout 1 from the settings.
pub(super) fn wanted(settings: &NodeSettings, ids: &[VolumeId]) -> Layout {
    match &settings.cluster {
        Some(cluster) => cluster.first_layouts().current,
        None => Layout {
            number: 1,
            seed: ambient::random(),
            roles: own_roles(settings, ids),
        },
    }
}

/// The layout files of the volumes that have one.
fn layouts_files(found: &[Directory]) -> impl Iterator<Item = &LayoutsFile> {
    found.iter().filter_map(|found| found.file.as_ref())
}

fn own_roles(settings: &NodeSettings, ids: &[VolumeId]) -> Roles {
    let listens = settings.listen.map(|address| address.to_string());
    let address = settings.advertise.clone().or(listens);
    let node = NodeRole {
        id: settings.id.clone(),
        zone: settings.id.to_string(),
        // A free port changes at each start, so this address is never used: callers take the real one from
        // the beacons.
        address: address.unwrap_or_else(|| "127.0.0.1:0".to_owned()),
    };
    let volumes = settings.volumes.iter().zip(ids).map(|(volume, id)| VolumeRole {
        id: id.clone(),
        node: settings.id.clone(),
        zone: volume.zone.clone().unwrap_or_else(|| id.to_string()),
        weight: volume.weight,
    });
    let mut volumes: Vec<_> = volumes.collect();
    volumes.sort_by(|a, b| a.id.cmp(&b.id));
    Roles {
        replicas: settings.replicas.unwrap_or(if volumes.len() > 1 { 2 } else { 1 }),
        nodes: vec![node],
        volumes,
        retired: BTreeSet::new(),
    }
}
