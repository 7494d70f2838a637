//! Asks other nodes for the layouts in force, and whether they hold any replica.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::join_all;
use placement::{Layout, Layouts, NodeRole, Roles};
use store::LayoutTag;
use store_protocol::{Node as _, NodeId};
use tokio::time::{Duration, timeout};

use super::cluster_file::ClusterFile;
use super::layout_log::LayoutLog;
use super::settings::NodeSettings;
use super::trust::Trust;
use super::wire::client::Peers;
use super::wire::remote_node::RemoteNode;

/// Longest wait for the layouts of other nodes. Shorter could miss the newest layouts, which then
/// arrive with the first requests. Longer is added to every start while a node is down.
const ANSWER_MAX: Duration = Duration::from_secs(3);

/// The other nodes of the cluster file, and their answers about layouts.
pub(super) enum OtherNodes {
    /// There are no other nodes.
    Alone,
    /// At least one answered.
    Answered(LayoutAnswer),
    /// No node answered, at these addresses.
    Silent(String),
}

impl OtherNodes {
    /// Asks the other nodes of the cluster file, and waits for all answers.
    pub(super) async fn ask(settings: &NodeSettings) -> Self {
        let roles = settings.cluster.as_ref().map(ClusterFile::roles);
        let nodes = roles.map(|roles| roles.nodes).unwrap_or_default();
        let others: Vec<_> = nodes.into_iter().filter(|node| node.id != settings.id).collect();
        if others.is_empty() {
            return Self::Alone;
        }
        let answers = match settings.trust() {
            Ok(trust) => layouts_of(others.iter(), &trust).await,
            // The node cannot start without its keys anyway, and the start reports that error.
            Err(_) => None,
        };
        match answers {
            Some(answer) => Self::Answered(answer),
            None => {
                let addresses: Vec<_> = others.iter().map(|node| node.address.as_str()).collect();
                Self::Silent(addresses.join(", "))
            }
        }
    }
}

/// What other nodes answered about their layouts.
pub(super) struct LayoutAnswer {
    /// The newest layouts in force.
    pub(super) layouts: Layouts,
    /// The node that sent them.
    pub(super) by: NodeId,
    /// Whether any of the nodes holds a replica or a tombstone.
    pub(super) holds: bool,
}

/// Asks nodes for their layouts in parallel. Returns `None` if no node answers.
pub(super) async fn layouts_of<'a>(
    nodes: impl Iterator<Item = &'a NodeRole>,
    trust: &Trust,
) -> Option<LayoutAnswer> {
    let layout_log = LayoutLog::new(no_layouts(), Vec::new(), Vec::new());
    let peers = Peers::new("newcomer", trust.clone(), BTreeMap::new(), layout_log);
    let answers = join_all(nodes.map(|node| timeout(ANSWER_MAX, layouts_of_node(&peers, node)))).await;
    let answers: Vec<_> = answers
        .into_iter()
        .filter_map(|answers| answers.ok().flatten())
        .collect();
    let holds = answers.iter().any(|answers| answers.holds);
    let newest = answers
        .into_iter()
        .max_by_key(|answers| answers.layouts.current.number)?;
    Some(LayoutAnswer { holds, ..newest })
}

/// Returns the layouts of a process that has not asked any node yet.
fn no_layouts() -> Layouts {
    let roles = Roles {
        replicas: 1,
        nodes: Vec::new(),
        volumes: Vec::new(),
        retired: BTreeSet::new(),
    };
    let current = Layout {
        number: 0,
        seed: 0,
        roles,
    };
    Layouts {
        current,
        older: Vec::new(),
    }
}

async fn layouts_of_node(peers: &Arc<Peers>, role: &NodeRole) -> Option<LayoutAnswer> {
    let node = RemoteNode(peers.peer(LayoutTag::NONE, role));
    let (layouts, status) = (node.layouts().await.ok()?, node.status().await.ok()?);
    let holds = status
        .volumes
        .iter()
        .any(|volume| volume.replicas + volume.tombstones > 0);
    Some(LayoutAnswer {
        layouts,
        by: status.id,
        holds,
    })
}
