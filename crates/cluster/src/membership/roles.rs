//! The roles that a node's settings ask for, and the names of its volumes.

use std::collections::BTreeSet;

use placement::{Layout, NodeRole, Roles, VolumeRole};
use store_protocol::VolumeId;

use crate::cluster_file::volume_id;
use crate::discovery::Directory;
use crate::settings::{NodeSettings, VolumeSettings};
use crate::start_error::StartError;

/// Returns the roles that settings ask for: those of the cluster file, or of the given volumes. A
/// layout is planned and applied from them.
///
/// # Errors
/// [`StartError`] if the settings are wrong or two directories claim to be the same volume.
pub fn wanted_roles(settings: &NodeSettings) -> Result<Roles, StartError> {
    settings
        .check()
        .map_err(|error| StartError::conflict(&settings.id, error))?;
    match &settings.cluster {
        Some(cluster) => Ok(cluster.roles()),
        None => Ok(own_roles(settings, &names(settings, &Directory::all(settings))?)),
    }
}

/// Returns the names of the volumes: the name given, else the one in the directory, else one made
/// from the path.
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
            return Err(StartError::conflict(
                &settings.id,
                format!("directory {path} is volume {before}, not {given}"),
            ));
        }
        let id = given.or(before);
        if let Some(id) = &id {
            let path = volume.path.display();
            if !id.0.strip_prefix(node).is_some_and(|rest| rest.starts_with('/')) {
                return Err(StartError::conflict(
                    &settings.id,
                    format!("directory {path} is volume {id} of another node"),
                ));
            }
            if !taken.insert(id.clone()) {
                return Err(StartError::conflict(
                    &settings.id,
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

/// Makes a name that is not in `taken` from the last part of the path.
fn new_name(node: &str, volume: &VolumeSettings, taken: &mut BTreeSet<VolumeId>) -> VolumeId {
    let last = volume.path.file_name().unwrap_or_default().to_string_lossy();
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let mut name: String = last.chars().filter(|c| allowed(*c)).take(50).collect();
    if name.is_empty() {
        name = "volume".to_owned();
    }
    let numbered = (2..).map(|number| volume_id(node, &format!("{name}-{number}")));
    let mut names = std::iter::once(volume_id(node, &name)).chain(numbered);
    // The numbers are unlimited, so a free name is always found.
    names
        .find(|id| taken.insert(id.clone()))
        .unwrap_or_else(|| volume_id(node, &name))
}

/// Makes layout 1 from the settings. A cluster file has its own seed, because all nodes must make
/// the same layout.
///
/// # Errors
/// [`StartError`] if the settings ask for more copies than there are volumes with a weight.
pub(super) fn first_layout(
    settings: &NodeSettings,
    ids: &[VolumeId],
    seed: u64,
) -> Result<Layout, StartError> {
    let layout = match &settings.cluster {
        Some(cluster) => cluster.first_layouts().current,
        None => Layout {
            number: 1,
            seed,
            roles: own_roles(settings, ids),
        },
    };
    let copies = layout.roles.check_copies();
    copies.map_err(|error| StartError::conflict(&settings.id, error))?;
    Ok(layout)
}

fn own_roles(settings: &NodeSettings, ids: &[VolumeId]) -> Roles {
    let listens = settings.listen.map(|address| address.to_string());
    let address = settings.advertise.clone().or(listens);
    let node = NodeRole {
        id: settings.id.clone(),
        zone: settings.id.to_string(),
        // A free port changes at each start, so this address is never used: callers take the real
        // one from the beacons.
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
    // A drained volume holds no new data, so it does not provide a second copy.
    let weighted = volumes.iter().filter(|volume| volume.weight > 0).count();
    Roles {
        replicas: settings.replicas.unwrap_or(if weighted > 1 { 2 } else { 1 }),
        nodes: vec![node],
        volumes,
        retired: BTreeSet::new(),
    }
}
