//! What a node that starts takes part in: the names of its volumes, and the layouts that they, the other nodes or the
//! settings tell.
//!
//! Invariants:
//!  - volumes of two stores, or of another node, are never mixed;
//!  - layout 1 is made only by a node that finds no layouts on its volumes and hears of none.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::cluster_file::volume_id;
use super::connect::layouts_of;
use super::keeper::Kept;
use super::start::{OpenVolume, conflict};
use super::{NodeSettings, StartError, VolumeSettings};
use crate::cluster::merge;
use crate::layout::{Layout, Layouts, NodeRole, Roles, VolumeRole};
use crate::volume::VolumeId;

/// What a node takes part in.
pub(super) struct Joined {
    /// Its volumes, in the order of the settings.
    pub(super) volumes: Vec<OpenVolume>,
    /// In force.
    pub(super) layouts: Layouts,
    /// Accepted and newer.
    pub(super) accepted: Vec<Layout>,
    /// Volumes that are in no layout in force.
    pub(super) unplaced: Vec<VolumeId>,
}

impl Joined {
    /// The volumes and their directories.
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
    let kept = read_kept(settings)?;
    let ids = names(settings, &kept)?;
    let (layouts, known_before) = match newest(settings, &kept)? {
        Some(layouts) => (layouts, true),
        None => first(settings, &ids).await,
    };
    let placed = |id: &VolumeId| {
        let mut all = std::iter::once(&layouts.current).chain(&layouts.older);
        all.any(|layout| layout.roles.volumes.iter().any(|volume| volume.id == *id))
    };
    let volumes = settings.volumes.iter().zip(&ids);
    let volumes = volumes.map(|(volume, id)| OpenVolume {
        id: id.clone(),
        path: volume.path.clone(),
        held_before: known_before && placed(id),
    });
    let joined = Joined {
        volumes: volumes.collect(),
        accepted: accepted(&kept, layouts.current.number),
        unplaced: ids.iter().filter(|id| !placed(id)).cloned().collect(),
        layouts,
    };
    report(settings, &joined);
    Ok(joined)
}

/// The roles that settings ask for: those of the cluster file, or of the volumes given. What a layout is planned and
/// applied from.
///
/// # Errors
/// [`StartError`] when the volumes cannot be told apart.
pub fn wanted_roles(settings: &NodeSettings) -> Result<Roles, StartError> {
    settings.check().map_err(|detail| conflict(settings, detail))?;
    match &settings.cluster {
        Some(cluster) => Ok(cluster.roles()),
        None => Ok(own_roles(settings, &names(settings, &read_kept(settings)?)?)),
    }
}

/// Says what is given and not placed, and what is placed and not given.
fn report(settings: &NodeSettings, joined: &Joined) {
    for volume in &joined.unplaced {
        tracing::warn!(
            %volume,
            layout = joined.layouts.current.number,
            "the volume is in no layout and holds nothing: apply a layout that names it"
        );
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

/// What each volume keeps.
fn read_kept(settings: &NodeSettings) -> Result<Vec<Option<Kept>>, StartError> {
    let read = |volume: &VolumeSettings| {
        Kept::read(&volume.path).map_err(|detail| StartError::File {
            path: volume.path.clone(),
            detail,
        })
    };
    settings.volumes.iter().map(read).collect()
}

/// Names of the volumes: as given, as kept, or after the directory.
fn names(settings: &NodeSettings, kept: &[Option<Kept>]) -> Result<Vec<VolumeId>, StartError> {
    let node = settings.id.0.as_ref();
    let mut taken = BTreeSet::new();
    let mut ids = Vec::new();
    // Those that have a name already go first, so that a new one does not take it.
    for (volume, kept) in settings.volumes.iter().zip(kept) {
        let given = volume.name.as_ref().map(|name| volume_id(node, name));
        let before = kept.as_ref().map(|kept| kept.volume.clone());
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

/// A name after the directory that none of `taken` has.
fn new_name(node: &str, volume: &VolumeSettings, taken: &mut BTreeSet<VolumeId>) -> VolumeId {
    let last = volume.path.file_name().unwrap_or_default().to_string_lossy();
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let mut name: String = last.chars().filter(|c| allowed(*c)).take(50).collect();
    if name.is_empty() {
        name = "volume".to_owned();
    }
    let numbered = (2..).map(|number| volume_id(node, &format!("{name}-{number}")));
    let mut names = std::iter::once(volume_id(node, &name)).chain(numbered);
    // The numbers do not end.
    names
        .find(|id| taken.insert(id.clone()))
        .unwrap_or_else(|| volume_id(node, &name))
}

/// The newest layouts kept.
fn newest(settings: &NodeSettings, kept: &[Option<Kept>]) -> Result<Option<Layouts>, StartError> {
    let mut newest: Option<Layouts> = None;
    for kept in kept.iter().flatten() {
        let Some(layouts) = &mut newest else {
            newest = Some(kept.layouts.clone());
            continue;
        };
        let (ours, theirs) = (&layouts.current, &kept.layouts.current);
        // A store keeps its seed for ever, and never has two layouts of one number.
        if ours.seed != theirs.seed || (ours.number == theirs.number && ours != theirs) {
            let detail = format!("volume {} is of another store than those before it", kept.volume);
            return Err(conflict(settings, detail));
        }
        if let Some(merged) = merge(layouts, kept.layouts.clone()) {
            *layouts = merged;
        }
    }
    Ok(newest)
}

/// Accepted layouts that are newer than the one in force: those of the volume that has heard of the newest.
fn accepted(kept: &[Option<Kept>], in_force: u64) -> Vec<Layout> {
    let lists = kept.iter().flatten().map(|kept| &kept.accepted);
    let newest = lists.max_by_key(|list| list.last().map(|layout| layout.number));
    let newer = newest
        .into_iter()
        .flatten()
        .filter(|layout| layout.number > in_force);
    newer.cloned().collect()
}

/// Layouts for volumes that keep none: those of the other nodes, or layout 1. The second value says whether the
/// cluster held something before.
async fn first(settings: &NodeSettings, ids: &[VolumeId]) -> (Layouts, bool) {
    let Some(cluster) = &settings.cluster else {
        return (own_layouts(settings, ids), false);
    };
    let layouts = cluster.first_layouts();
    let others = layouts
        .current
        .roles
        .nodes
        .iter()
        .filter(|node| node.id != settings.id);
    let told = layouts_of(others, &settings.secret).await;
    match told {
        Some(told) => (told.layouts, told.holds),
        None => (layouts, false),
    }
}

/// Layout 1 of a store of one process.
fn own_layouts(settings: &NodeSettings, ids: &[VolumeId]) -> Layouts {
    let roles = own_roles(settings, ids);
    let current = Layout {
        number: 1,
        seed: rand::random(),
        roles,
    };
    Layouts {
        current,
        older: Vec::new(),
    }
}

fn own_roles(settings: &NodeSettings, ids: &[VolumeId]) -> Roles {
    let listens = settings.listen.map(|address| address.to_string());
    let address = settings.advertise.clone().or(listens);
    let node = NodeRole {
        id: settings.id.clone(),
        zone: settings.id.to_string(),
        // A free port is another one at each start; whoever is sent there knows better from the owner files.
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
