//! The report about a store. The page, the API, the metrics and the command line all show the same
//! report.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::upkeep::Census;
use store::{RequestCount, WorkerStatus};

/// The state of a store.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct StoreReport {
    /// When the report was made, in milliseconds since 1970.
    pub time_ms: u64,
    /// Number of the layout in force.
    pub layout: u64,
    /// Older layouts from which data may not have moved yet, newest first.
    pub layouts_older: Vec<u64>,
    /// Number of copies of every object.
    pub replicas: u8,
    /// Number of copies that the layout requires, if fewer volumes than that may hold new data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas_asked: Option<u8>,
    /// Nodes, sorted by name.
    pub nodes: Vec<NodeReport>,
    /// Volumes, sorted by name.
    pub volumes: Vec<VolumeReport>,
    /// The last census that this process made or received.
    pub census: Option<Census>,
    /// Requests at the S3 server of this process; absent if it has none.
    pub s3: Vec<RequestCount>,
    /// Connections of the S3 server. Only the metrics show them, not the API.
    #[serde(skip)]
    pub s3_connections: Option<ConnectionCount>,
}

/// Connections of a port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConnectionCount {
    /// Connections that are open now.
    pub open: u64,
    /// Connections closed at once since the start, because there were too many.
    pub refused: u64,
}

/// The state of one node.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct NodeReport {
    /// Name of the node.
    #[schemars(example = &"local")]
    pub id: String,
    /// Failure domain of the node.
    #[schemars(example = &"local")]
    pub zone: String,
    /// Address at which other nodes reach it.
    #[schemars(example = &"127.0.0.1:41234")]
    pub address: String,
    /// Whether it answered.
    pub reachable: bool,
    /// Why the node did not answer; empty if it did.
    pub problem: String,
    /// Version of its program; empty if it did not answer.
    #[schemars(example = &"0.1.0")]
    pub program: String,
    /// When it started, in milliseconds since 1970; 0 if it did not answer.
    pub started_ms: u64,
    /// Number of the layout that it uses; 0 if it did not answer.
    pub layout: u64,
    /// Background workers of the node.
    pub workers: Vec<WorkerStatus>,
    /// Requests since the node's start.
    pub requests: Vec<RequestCount>,
}

/// Whether a volume takes part in reads and writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum VolumeCondition {
    /// Takes part, and has everything that belongs on it.
    #[default]
    #[serde(rename = "in service")]
    InService,
    /// Takes part, but some data that belongs on it is still missing.
    #[serde(rename = "rebuilding")]
    Rebuilding,
    /// Taken out of use by its node.
    #[serde(rename = "out")]
    Out,
    /// Only in an older layout: its data is being moved away.
    #[serde(rename = "leaving")]
    Leaving,
    /// Its node does not answer, or does not serve it.
    #[serde(rename = "unreachable")]
    Unreachable,
}

impl VolumeCondition {
    /// Returns its name in JSON, on the page and on the terminal.
    pub fn name(self) -> &'static str {
        match self {
            VolumeCondition::InService => "in service",
            VolumeCondition::Rebuilding => "rebuilding",
            VolumeCondition::Out => "out",
            VolumeCondition::Leaving => "leaving",
            VolumeCondition::Unreachable => "unreachable",
        }
    }

    /// Returns whether the volume takes part in reads and writes.
    pub fn takes_part(self) -> bool {
        !matches!(self, VolumeCondition::Out | VolumeCondition::Unreachable)
    }
}

impl std::fmt::Display for VolumeCondition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The state of one volume.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct VolumeReport {
    /// Name of the volume.
    #[schemars(example = &"local/a")]
    pub id: String,
    /// The node that serves it.
    #[schemars(example = &"local")]
    pub node: String,
    /// Failure domain of the volume.
    #[schemars(example = &"local/a")]
    pub zone: String,
    /// Weight relative to other volumes, as set by an administrator; 0 while it is being drained.
    pub weight: u32,
    /// Share of all replicas that the layout gives the volume, 0 to 1.
    pub share: f64,
    /// Whether it takes part in reads and writes.
    pub state: VolumeCondition,
    /// Why it is out of use or unreachable; empty otherwise.
    pub problem: String,
    /// Directory of the volume on its node; empty in the HTTP API.
    pub path: String,
    /// Size of its file system in bytes.
    pub capacity_bytes: u64,
    /// Space on its file system that the store can use, in bytes.
    pub free_bytes: u64,
    /// Number of live replicas.
    pub replicas: u64,
    /// Size of their content in bytes.
    pub replica_bytes: u64,
    /// Number of tombstones.
    pub tombstones: u64,
    /// Number of replicas marked bad.
    pub bad: u64,
    /// Number of uploads in progress.
    pub staged: u64,
}

impl StoreReport {
    /// Returns the requests of all nodes together, by operation.
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
    /// Returns the used part of its file system, 0 to 1, including the files of other programs.
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
