//! Changing who takes part: a new layout is accepted by a majority of the nodes, then taken into force everywhere.

use std::sync::Arc;

use crate::cluster::Cluster;
use crate::layout::{Layouts, Roles};

/// Why a layout was not applied.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Roles that cannot be.
    #[error("the roles cannot be applied: {0}")]
    Roles(String),
    /// Fewer than a majority of the nodes accepted it. Ask again when more of them can be reached.
    #[error("layout {number} was accepted by {accepted} of {nodes} nodes, a majority is needed: {detail}")]
    NoMajority {
        /// Its number.
        number: u64,
        /// Nodes that accepted it.
        accepted: usize,
        /// Nodes of the current layout.
        nodes: usize,
        /// What the others said.
        detail: String,
    },
    /// Somebody else's layout has come into force meanwhile: look at it, then ask again.
    #[error("layout {number} of somebody else has come into force meanwhile: plan again")]
    Overtaken {
        /// Its number.
        number: u64,
    },
}

/// Makes these roles the next layout, and takes it into force on every node that can be reached; the others learn of it
/// when they next talk to one of these. Volumes that leave are retired: their names are never used again.
/// Roles that are in force already change nothing.
///
/// # Errors
/// [`ApplyError`]; nothing has changed then, but for a layout of somebody else that was completed.
pub async fn apply_layout(cluster: &Arc<Cluster>, roles: Roles) -> Result<Layouts, ApplyError> {
    let _ = (cluster, roles);
    todo!()
}

/// Takes layouts that a majority has accepted into force here and on every node of theirs that can be reached: what
/// rebalance uses when an older layout need not be looked into any more.
pub async fn announce(cluster: &Arc<Cluster>, layouts: &Layouts) {
    let _ = (cluster, layouts);
    todo!()
}
