//! The layout changes under load: a node joins, a volume is drained before everything has moved, a
//! zone leaves.

use std::collections::BTreeSet;

use cluster::apply_layout;
use placement::{NodeRole, Roles, VolumeRole};
use store_protocol::NodeId;

use super::harness::{Fifteen, SPARE, until, volume_id};
use super::load::Load;

/// The drained node, and the zone that leaves.
const DRAINED: &str = "n05";
const GONE: &str = "z5";

pub(crate) async fn run(cluster: &mut Fifteen, load: &mut Load) {
    cluster.start_spare();
    let added = load
        .during(async |progress| {
            progress.reaches(20).await;
            let spare = cluster.spare.clone();
            apply(cluster, |roles| {
                let id = NodeId::from(SPARE.to_owned());
                roles.volumes.push(VolumeRole {
                    id: volume_id(SPARE),
                    node: id.clone(),
                    zone: spare.zone.clone(),
                    weight: 1,
                });
                let (zone, address) = (spare.zone, spare.address);
                roles.nodes.push(NodeRole { id, zone, address });
            })
            .await;
            progress.reaches(60).await;
            apply(cluster, |roles| {
                let mut volumes = roles.volumes.iter_mut();
                let drained = volumes.find(|volume| volume.id == volume_id(DRAINED));
                drained.unwrap().weight = 0;
            })
            .await;
        })
        .await;
    moved(cluster, "one node added, another drained").await;
    cluster.count("one node added, another drained").await;
    load.check().await;
    let replicas = |node: &str| cluster.volume(node);
    assert_eq!(replicas(DRAINED).status().await.unwrap().replicas, 0);
    assert!(replicas(SPARE).status().await.unwrap().replicas > 0);

    let dropped = load
        .during(async |progress| {
            progress.reaches(20).await;
            apply(cluster, |roles| {
                roles.volumes.retain(|volume| volume.zone != GONE);
                roles.nodes.retain(|node| node.zone != GONE);
            })
            .await;
        })
        .await;
    assert_eq!(
        (added.unserved, dropped.unserved),
        (0, 0),
        "reads while the layout changes"
    );
    let stay = moved(cluster, "a zone removed").await;
    cluster.count("a zone removed").await;
    for node in cluster.nodes() {
        if !stay.contains(&node) {
            cluster.dismiss(&node);
        }
    }
    cluster.count("the zone is gone").await;
    load.check().await;
}

/// Changes the roles in force.
async fn apply(cluster: &Fifteen, change: impl FnOnce(&mut Roles)) {
    let store = cluster.store();
    let mut roles = store.cluster().topology().layouts.current.roles.clone();
    change(&mut roles);
    apply_layout(store.cluster(), roles).await.unwrap();
}

/// Repairs until no older layout is in force. Returns the nodes that take part.
async fn moved(cluster: &Fifteen, after: &str) -> BTreeSet<String> {
    until(after, async || {
        cluster.repair(after).await;
        cluster.topology().layouts.older.is_empty()
    })
    .await;
    let topology = cluster.topology();
    let nodes = topology.layouts.current.roles.nodes.iter();
    nodes.map(|node| node.id.to_string()).collect()
}
