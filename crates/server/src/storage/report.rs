//! What is said of a store: the same on the page, in the API, in the metrics and on the command line.

use serde::{Deserialize, Serialize};
use store::upkeep::Census;
use store::{RequestCount, WorkerStatus};

/// How a store is doing.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct StoreReport {
    /// When this was put together, milliseconds since 1970.
    pub time_ms: u64,
    /// Number of the layout in force.
    pub layout: u64,
    /// Older layouts from which data may not have moved yet, newest first.
    pub layouts_older: Vec<u64>,
    /// Copies of every object.
    pub replicas: u8,
    /// Nodes, in order of name.
    pub nodes: Vec<NodeReport>,
    /// Volumes, in order of name.
    pub volumes: Vec<VolumeReport>,
    /// The last census that this process took or was told of.
    pub census: Option<Census>,
    /// Requests at the S3 face of this process, if it has one.
    pub s3: Vec<RequestCount>,
    /// Connections of that face: for the metrics alone, the API does not show them.
    #[serde(skip)]
    pub s3_connections: Option<ConnectionCount>,
}

/// Connections of a port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConnectionCount {
    /// Open at this moment.
    pub open: u64,
    /// Closed as they came since the start, because there were too many.
    pub refused: u64,
}

/// One node.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct NodeReport {
    /// Its name.
    pub id: String,
    /// Its failure domain.
    pub zone: String,
    /// Where other nodes reach it.
    pub address: String,
    /// Whether it answered.
    pub reachable: bool,
    /// Why it did not; empty where it did.
    pub problem: String,
    /// Version of its program; empty where it did not answer.
    pub program: String,
    /// When it started, milliseconds since 1970; 0 where it did not answer.
    pub started_ms: u64,
    /// Number of the layout that it works under; 0 where it did not answer.
    pub layout: u64,
    /// Its background workers.
    pub workers: Vec<WorkerStatus>,
    /// Requests since its start.
    pub requests: Vec<RequestCount>,
}

/// Whether a volume takes part in reads and writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum VolumeCondition {
    /// It takes part, and what belongs on it is there.
    #[default]
    #[serde(rename = "in service")]
    InService,
    /// It takes part, and what belongs on it is not all there yet.
    #[serde(rename = "rebuilding")]
    Rebuilding,
    /// Its node has taken it out of use.
    #[serde(rename = "out")]
    Out,
    /// It is in an older layout only: its data moves away.
    #[serde(rename = "leaving")]
    Leaving,
    /// Its node does not answer, or does not serve it.
    #[serde(rename = "unreachable")]
    Unreachable,
}

impl VolumeCondition {
    /// Its words in JSON, on the page and on the terminal.
    pub fn name(self) -> &'static str {
        match self {
            VolumeCondition::InService => "in service",
            VolumeCondition::Rebuilding => "rebuilding",
            VolumeCondition::Out => "out",
            VolumeCondition::Leaving => "leaving",
            VolumeCondition::Unreachable => "unreachable",
        }
    }

    /// Whether reads and writes reach it.
    pub fn takes_part(self) -> bool {
        !matches!(self, VolumeCondition::Out | VolumeCondition::Unreachable)
    }
}

impl std::fmt::Display for VolumeCondition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// One volume.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct VolumeReport {
    /// Its name.
    pub id: String,
    /// The node that serves it.
    pub node: String,
    /// Its failure domain.
    pub zone: String,
    /// Its share relative to the others, as settled by a person; 0 while it is drained.
    pub weight: u32,
    /// Share of all replicas that the layout gives it, 0 to 1.
    pub share: f64,
    /// Whether it takes part in reads and writes.
    pub state: VolumeCondition,
    /// Why it is out or unreachable; else empty.
    pub problem: String,
    /// Directory on its node.
    pub path: String,
    /// Size of its file system in bytes.
    pub capacity_bytes: u64,
    /// Free for the store on its file system, in bytes.
    pub free_bytes: u64,
    /// Live replicas held.
    pub replicas: u64,
    /// Bytes of content in them.
    pub replica_bytes: u64,
    /// Tombstones held.
    pub tombstones: u64,
    /// Replicas marked bad.
    pub bad: u64,
    /// Uploads under way.
    pub staged: u64,
}

impl StoreReport {
    /// Requests of all nodes together, by operation.
    pub fn requests(&self) -> Vec<RequestCount> {
        let mut sums: std::collections::BTreeMap<&str, RequestCount> = std::collections::BTreeMap::new();
        for count in self.nodes.iter().flat_map(|node| &node.requests) {
            match sums.get_mut(count.operation.as_str()) {
                Some(sum) => sum.add(count),
                None => {
                    sums.insert(&count.operation, count.clone());
                }
            }
        }
        sums.into_values().collect()
    }
}

impl VolumeReport {
    /// Used part of its file system, 0 to 1; by whatever.
    pub fn fill(&self) -> f64 {
        match self.capacity_bytes {
            0 => 0.0,
            capacity => capacity.saturating_sub(self.free_bytes) as f64 / capacity as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_nodes_add_up_by_operation() {
        let count = |operation: &str, count| RequestCount {
            operation: operation.into(),
            count,
            failures: 1,
            bytes_in: 2,
            bytes_out: 3,
            micros: 4,
            buckets: vec![0, 1],
        };
        let node = |requests| NodeReport {
            requests,
            ..NodeReport::default()
        };
        let report = StoreReport {
            nodes: vec![
                node(vec![count("put", 5), count("get", 1)]),
                node(vec![count("put", 7)]),
            ],
            ..StoreReport::default()
        };
        let sums = report.requests();
        let shown: Vec<_> = sums
            .iter()
            .map(|r| (r.operation.as_str(), r.count, r.micros))
            .collect();
        assert_eq!(shown, [("get", 1, 4), ("put", 12, 8)]);
        assert_eq!(sums[1].buckets, [0, 2]);
    }

    #[test]
    fn a_volume_without_figures_is_not_full() {
        let volume = |capacity_bytes, free_bytes| VolumeReport {
            capacity_bytes,
            free_bytes,
            ..VolumeReport::default()
        };
        assert_eq!(volume(0, 0).fill(), 0.0);
        assert_eq!(volume(100, 25).fill(), 0.75);
        assert_eq!(volume(100, 200).fill(), 0.0);
    }
}
