//! Evenness of placement for as many objects as in 2009, whatever the length of the run: the same
//! names and layout, without content.

use std::path::Path;

use anyhow::Context;
use cluster::ClusterFile;
use placement::Placement;
use store::Key;

use crate::cluster::BUCKET;
use crate::content::Object;

/// Returns the number of replicas of the first `objects` objects on each volume of the cluster
/// file, in its order.
pub(crate) fn by_server(cluster_file: &Path, objects: u64) -> anyhow::Result<Vec<u64>> {
    let layouts = ClusterFile::read(cluster_file)?.first_layouts();
    let placement = Placement::compute(&layouts.current);
    let volumes = &layouts.current.roles.volumes;
    let mut counts = vec![0; volumes.len()];
    for number in 0..objects {
        let key = Key::new(BUCKET, &Object { number, bytes: 0 }.name())?;
        for replica in placement.replicas(key.partition()) {
            let server = volumes.iter().position(|volume| volume.id == *replica);
            counts[server.context("an object was placed outside the layout")?] += 1;
        }
    }
    Ok(counts)
}
