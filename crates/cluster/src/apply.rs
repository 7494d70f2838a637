//! Changes the layout: a majority of the nodes accepts a new one, then it comes into force
//! everywhere.
//!
//! Why two layouts in force never share a number, and no layout that was in force is forgotten: a
//! node accepts rising numbers, one layout of each ([`store_protocol::Node::propose`]), and a layout
//! comes into force only after a majority of the previous layout's nodes has accepted it. Two
//! majorities share a node, so at most one layout of a number can come into force.
//!
//! Suppose another process's layout A of a lower number came into force, or still may. Then a node
//! of our majority accepted A before it accepted ours (afterwards it refuses A). We therefore ask
//! for accepted layouts twice: before choosing our number, and after our majority. An A that
//! appears only the second time stops us. An A that we knew, and that may be in force somewhere,
//! becomes one of the older layouts that reads look into. One that no majority can have accepted is
//! left out.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::join_all;
use placement::{Layout, Layouts, Roles};
use store::{Cluster, Topology, announce};
use store_protocol::{Node, NodeError, VolumeId};

use super::REPLICAS_MAX;

/// Why a layout was not applied.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The roles are contradictory.
    #[error("the roles cannot be applied: {0}")]
    Roles(String),
    /// Fewer than a majority of the nodes accepted it. Retry when more of them can be reached.
    #[error("layout {number} was accepted by {accepted} of {nodes} nodes, a majority is needed: {detail}")]
    NoMajority {
        /// Its number.
        number: u64,
        /// Nodes that accepted it.
        accepted: usize,
        /// Nodes of the current layout.
        nodes: usize,
        /// What the other nodes answered.
        detail: String,
    },
    /// Another process changes the layout at the same time: look at its layout, then retry.
    #[error("another process applied layout {number} in the meantime: plan again")]
    Overtaken {
        /// Its number.
        number: u64,
    },
}

/// The answers of nodes to a request, and the errors of those that failed.
struct Answers<T> {
    good: Vec<(Arc<dyn Node>, T)>,
    failures: Vec<String>,
}

/// The layouts that a node knows.
struct NodeLayouts {
    layouts: Layouts,
    accepted: Vec<Layout>,
}

/// Makes these roles the next layout, and puts it into force on every node that can be reached; the
/// others learn of it when they next talk to one of these. Volumes that leave are retired: their
/// names are never used again. Roles that are already in force change nothing.
///
/// # Errors
/// [`ApplyError`] if the roles are wrong, too few nodes answer, or another layout came first. The
/// layout is then not in force. A node may have accepted it, and another process's layout may be in
/// force.
pub async fn apply_layout(cluster: &Arc<Cluster>, roles: Roles) -> Result<Layouts, ApplyError> {
    let topology = cluster.topology();
    let base = &topology.layouts;
    let voters = voters(&topology);
    let known = all(&voters, known_by).await;
    check_no_newer_layout(cluster, base, &known).await?;
    majority(&known, voters.len(), base.current.number + 1)?;
    let unfinished_layouts = unfinished_layouts(&known);
    let roles = checked(roles, &base.current.roles)?;
    if roles == base.current.roles && unfinished_layouts.is_empty() {
        return Ok(base.clone());
    }
    let newest = unfinished_layouts
        .last()
        .map_or(base.current.number, |layout| layout.number);
    let next = Layout {
        number: newest + 1,
        seed: base.current.seed,
        roles,
    };
    // The layout may be used only after a majority has accepted it.
    propose(&voters, &next).await?;
    // The second time: another layout may have been accepted before ours (see the head of the
    // file).
    let known = all(&voters, known_by).await;
    check_no_newer_layout(cluster, base, &known).await?;
    majority(&known, voters.len(), next.number)?;
    let possible = possible_layouts(&known, &next, voters.len());
    let strange = |layout: &&Layout| layout.number > next.number || !unfinished_layouts.contains(layout);
    if let Some(other) = possible.iter().find(strange) {
        return Err(ApplyError::Overtaken { number: other.number });
    }
    let older = possible.into_iter().rev().chain([base.current.clone()]);
    let layouts = Layouts {
        current: next,
        older: older.chain(base.older.iter().cloned()).collect(),
    };
    announce(cluster, &layouts).await;
    Ok(layouts)
}

/// Returns the nodes of the current layout, whose majority decides.
fn voters(topology: &Topology) -> Vec<Arc<dyn Node>> {
    let nodes = topology.layouts.current.roles.nodes.iter();
    nodes
        .filter_map(|node| topology.nodes.get(&node.id).cloned())
        .collect()
}

/// Asks all nodes in parallel.
async fn all<T, F>(nodes: &[Arc<dyn Node>], ask: impl Fn(Arc<dyn Node>) -> F) -> Answers<T>
where
    F: Future<Output = Result<T, NodeError>>,
{
    let answers = join_all(nodes.iter().map(|node| ask(node.clone()))).await;
    let mut all = Answers {
        good: Vec::new(),
        failures: Vec::new(),
    };
    for (node, answer) in nodes.iter().zip(answers) {
        match answer {
            Ok(answer) => all.good.push((node.clone(), answer)),
            Err(error) => all.failures.push(error.to_string()),
        }
    }
    all
}

/// Asks for the layouts in force last, so that a layout that comes into force between the two
/// requests is seen.
async fn known_by(node: Arc<dyn Node>) -> Result<NodeLayouts, NodeError> {
    let accepted = node.accepted().await?;
    let layouts = node.layouts().await?;
    Ok(NodeLayouts { layouts, accepted })
}

fn majority<T>(answers: &Answers<T>, nodes: usize, number: u64) -> Result<(), ApplyError> {
    if answers.good.len() > nodes / 2 {
        return Ok(());
    }
    Err(ApplyError::NoMajority {
        number,
        accepted: answers.good.len(),
        nodes,
        detail: answers.failures.join("; "),
    })
}

async fn propose(voters: &[Arc<dyn Node>], layout: &Layout) -> Result<(), ApplyError> {
    let proposed = all(voters, |node| async move { node.propose(layout).await }).await;
    majority(&proposed, voters.len(), layout.number)
}

/// Fails if a node has a newer layout in force than the one we started from, and adopts that
/// layout.
async fn check_no_newer_layout(
    cluster: &Arc<Cluster>,
    base: &Layouts,
    known: &Answers<NodeLayouts>,
) -> Result<(), ApplyError> {
    let newest = known.good.iter().map(|(_, known)| &known.layouts);
    match newest.max_by_key(|layouts| layouts.current.number) {
        Some(newest) if newest.current.number > base.current.number => {
            announce(cluster, newest).await;
            Err(ApplyError::Overtaken {
                number: newest.current.number,
            })
        }
        _ => Ok(()),
    }
}

/// Returns the layouts accepted somewhere and not in force, each once, in order of number.
fn unfinished_layouts(known: &Answers<NodeLayouts>) -> Vec<Layout> {
    let mut layouts: Vec<Layout> = Vec::new();
    for layout in known.good.iter().flat_map(|(_, known)| &known.accepted) {
        if !layouts.contains(layout) {
            layouts.push(layout.clone());
        }
    }
    layouts.sort_by_key(|layout| layout.number);
    layouts
}

/// Returns the accepted layouts other than `next` that are in force somewhere or still may be. A
/// node that holds `next` and not another layout has refused that layout forever. The remaining
/// nodes must be able to form a majority for it.
fn possible_layouts(known: &Answers<NodeLayouts>, next: &Layout, nodes: usize) -> Vec<Layout> {
    let refused = |layout: &Layout| {
        let accepted = known.good.iter().map(|(_, known)| &known.accepted);
        accepted
            .filter(|all| all.contains(next) && !all.contains(layout))
            .count()
    };
    let mut layouts = unfinished_layouts(known);
    layouts.retain(|layout| {
        layout != next && (layout.number > next.number || nodes - refused(layout) > nodes / 2)
    });
    layouts
}

/// Checks the roles and returns them in order, with every volume that leaves added to `retired`.
fn checked(mut roles: Roles, before: &Roles) -> Result<Roles, ApplyError> {
    let wrong = |detail: String| Err(ApplyError::Roles(detail));
    roles.nodes.sort_by(|a, b| a.id.cmp(&b.id));
    roles.volumes.sort_by(|a, b| a.id.cmp(&b.id));
    if !(1..=REPLICAS_MAX).contains(&roles.replicas) {
        return wrong(format!(
            "{} replicas: expected 1 to {REPLICAS_MAX}",
            roles.replicas
        ));
    }
    if roles.volumes.iter().all(|volume| volume.weight == 0) {
        return wrong("no volume has a weight above 0".to_owned());
    }
    roles
        .check_copies()
        .map_err(|error| ApplyError::Roles(error.to_string()))?;
    if let Some(pair) = roles.nodes.windows(2).find(|pair| pair[0].id == pair[1].id) {
        return wrong(format!("two nodes have the id {}", pair[0].id));
    }
    if let Some(pair) = roles.volumes.windows(2).find(|pair| pair[0].id == pair[1].id) {
        return wrong(format!("two volumes have the id {}", pair[0].id));
    }
    let nodes: BTreeSet<_> = roles.nodes.iter().map(|node| &node.id).collect();
    if let Some(volume) = roles.volumes.iter().find(|volume| !nodes.contains(&volume.node)) {
        return wrong(format!(
            "volume {} belongs to node {}, which is not in the list of nodes",
            volume.id, volume.node
        ));
    }
    let stay: BTreeSet<VolumeId> = roles.volumes.iter().map(|volume| volume.id.clone()).collect();
    roles.retired.extend(before.retired.iter().cloned());
    let left = before.volumes.iter().map(|volume| &volume.id);
    roles
        .retired
        .extend(left.filter(|id| !stay.contains(*id)).cloned());
    match roles.retired.iter().find(|retired| stay.contains(*retired)) {
        Some(retired) => wrong(format!(
            "volume {retired} was in the cluster before and was retired: its name is never used again, because its \
             directory may hold objects that were deleted since. Empty the directory and give the volume a new \
             name (--volume DIR,name=NEW)"
        )),
        None => Ok(roles),
    }
}
