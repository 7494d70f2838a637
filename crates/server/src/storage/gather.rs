//! Builds a report: asks every node of the layouts in force at once, with a time limit.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

use store::{
    Cluster, NodeRole, NodeStatus, PARTITIONS, Partition, Topology, VolumeId, VolumeRole, VolumeState,
    VolumeStatus,
};
use tokio::task::JoinError;
use tokio::time::error::Elapsed;

use super::report::{NodeReport, StoreReport, VolumeCondition, VolumeReport};

/// Time limit of a node's answer. A node that does not answer by then is reported as unreachable.
const ANSWER_TIME: Duration = Duration::from_secs(3);

/// Asks all nodes of a cluster for their state. The caller adds the census and the S3 counters.
pub async fn gather(cluster: &Cluster) -> StoreReport {
    let topology = cluster.topology();
    let roles = node_roles(&topology);
    // All nodes are asked before the first answer is awaited, so the whole report takes at most
    // [`ANSWER_TIME`], even if several nodes are down.
    let asked: Vec<_> = roles
        .iter()
        .map(|role| tokio::spawn(ask(std::sync::Arc::clone(&topology), role.clone())))
        .collect();
    let mut nodes = Vec::with_capacity(roles.len());
    let mut statuses = BTreeMap::new();
    for (role, asked) in roles.iter().zip(asked) {
        // A panic while one node was asked affects only that node's row, not the report.
        let answer = asked.await.unwrap_or_else(|error| Err(error.into()));
        nodes.push(node_report(role, &answer));
        let Ok(status) = answer else { continue };
        statuses.extend(
            status
                .volumes
                .into_iter()
                .map(|volume| (volume.id.clone(), volume)),
        );
    }
    let current = &topology.layouts.current.roles;
    StoreReport {
        time_ms: system::wall_ms(),
        layout: topology.layouts.current.number,
        layouts_older: topology
            .layouts
            .older
            .iter()
            .map(|layout| layout.number)
            .collect(),
        replicas: current.copies(),
        replicas_asked: (current.copies() < current.replicas).then_some(current.replicas),
        volumes: volume_reports(&topology, &nodes, &statuses),
        nodes,
        ..StoreReport::default()
    }
}

/// Why the state of a node is unknown.
#[derive(Debug, thiserror::Error)]
enum StatusError {
    #[error("it is not in any layout")]
    NoLayout,
    #[error(transparent)]
    Node(Box<dyn Error + Send + Sync>),
    #[error("no response within {} s", ANSWER_TIME.as_secs())]
    Timeout(#[from] Elapsed),
    #[error(transparent)]
    Panic(#[from] JoinError),
}

async fn ask(topology: std::sync::Arc<Topology>, role: NodeRole) -> Result<NodeStatus, StatusError> {
    let node = topology.nodes.get(&role.id).ok_or(StatusError::NoLayout)?;
    let answer = tokio::time::timeout(ANSWER_TIME, node.status()).await?;
    answer.map_err(|error| StatusError::Node(error.into()))
}

/// Returns every node of the layouts in force once, sorted by name, as the newest layout describes
/// it.
fn node_roles(topology: &Topology) -> Vec<NodeRole> {
    let mut roles = BTreeMap::new();
    // The current layout comes first, because it has the address of a node that moved.
    for layout in std::iter::once(&topology.layouts.current).chain(&topology.layouts.older) {
        for node in &layout.roles.nodes {
            roles.entry(node.id.clone()).or_insert_with(|| node.clone());
        }
    }
    roles.into_values().collect()
}

fn node_report(role: &NodeRole, answer: &Result<NodeStatus, StatusError>) -> NodeReport {
    let report = NodeReport {
        id: role.id.to_string(),
        zone: role.zone.clone(),
        address: role.address.clone(),
        ..NodeReport::default()
    };
    match answer {
        Ok(status) => NodeReport {
            reachable: true,
            program: status.program.clone(),
            started_ms: status.started_ms,
            layout: status.layout,
            workers: status.workers.clone(),
            requests: status.requests.clone(),
            ..report
        },
        Err(error) => NodeReport {
            problem: error.to_string(),
            ..report
        },
    }
}

fn volume_reports(
    topology: &Topology,
    nodes: &[NodeReport],
    statuses: &BTreeMap<VolumeId, VolumeStatus>,
) -> Vec<VolumeReport> {
    let shares = shares(topology);
    let mut reports: BTreeMap<&VolumeId, VolumeReport> = BTreeMap::new();
    for (age, layout) in std::iter::once(&topology.layouts.current)
        .chain(&topology.layouts.older)
        .enumerate()
    {
        for role in &layout.roles.volumes {
            reports.entry(&role.id).or_insert_with(|| {
                let share = shares.get(&role.id).copied().unwrap_or(0.0);
                volume_report(role, age > 0, share, nodes, statuses.get(&role.id))
            });
        }
    }
    reports.into_values().collect()
}

fn volume_report(
    role: &VolumeRole,
    leaving: bool,
    share: f64,
    nodes: &[NodeReport],
    status: Option<&VolumeStatus>,
) -> VolumeReport {
    let mut report = VolumeReport {
        id: role.id.to_string(),
        node: role.node.to_string(),
        zone: role.zone.clone(),
        // An older layout still has the weight that the volume had before it was removed.
        weight: if leaving { 0 } else { role.weight },
        share,
        ..VolumeReport::default()
    };
    let Some(status) = status else {
        // A node that answers without this volume has a different problem than an unreachable node.
        let node = nodes
            .iter()
            .find(|node| node.id == report.node && !node.reachable);
        report.state = VolumeCondition::Unreachable;
        report.problem = match node {
            Some(node) => node.problem.clone(),
            None => format!("node {} does not serve it", report.node),
        };
        return report;
    };
    (report.state, report.problem) = match &status.state {
        VolumeState::Out(reason) => (VolumeCondition::Out, reason.clone()),
        VolumeState::Rebuilding => (VolumeCondition::Rebuilding, String::new()),
        VolumeState::InService if leaving => (VolumeCondition::Leaving, String::new()),
        VolumeState::InService => (VolumeCondition::InService, String::new()),
    };
    VolumeReport {
        path: status.path.clone(),
        capacity_bytes: status.capacity_bytes,
        free_bytes: status.free_bytes,
        replicas: status.replicas,
        replica_bytes: status.replica_bytes,
        tombstones: status.tombstones,
        bad: status.bad,
        staged: status.uploads,
        ..report
    }
}

/// Returns the share of all replicas that the current layout gives each volume.
fn shares(topology: &Topology) -> BTreeMap<VolumeId, f64> {
    let mut counts: BTreeMap<VolumeId, u64> = BTreeMap::new();
    for partition in 0..PARTITIONS {
        for volume in topology.home(Partition(partition)) {
            *counts.entry(volume.clone()).or_default() += 1;
        }
    }
    let all: u64 = counts.values().sum();
    // A layout without volumes has no replicas to share.
    let share = |count: u64| count as f64 / all.max(1) as f64;
    counts
        .into_iter()
        .map(|(volume, count)| (volume, share(count)))
        .collect()
}
