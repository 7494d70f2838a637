//! The cluster from one process's view: the layouts in force, and a handle to every volume and node
//! in them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use futures_util::future::join_all;
use parking_lot::{Mutex, RwLock};
use placement::{Domains, Layout, Layouts, NodeRole, Placement, VolumeRole, Width};
use serde::{Deserialize, Serialize};
use store_protocol::{Clock, Node, NodeId, PARTITIONS, Partition, Volume, VolumeId};

/// Makes handles: local volumes directly, others as clients of their node. Handles connect on first
/// use, so making one never fails or waits. A handle sends the layout it was made for, so that
/// nodes that know a newer layout refuse an operation that began under an older one.
pub trait Connect: Send + Sync + 'static {
    /// Returns a handle to a volume whose requests name this layout.
    fn volume(&self, under: LayoutTag, volume: &VolumeRole, node: &NodeRole) -> Arc<dyn Volume>;

    /// Returns a handle to a node whose requests name this layout.
    fn node(&self, under: LayoutTag, node: &NodeRole) -> Arc<dyn Node>;
}

/// Identifies a layout: its number, and a digest because two layouts could claim the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutTag {
    /// [`Layout::number`].
    pub number: u64,
    /// BLAKE3 of the layout as JSON.
    pub digest: [u8; 32],
}

/// The cluster as this process knows it.
pub struct Cluster {
    /// This process's node; `None` if the process is only a client.
    me: Option<NodeId>,
    /// Makes version numbers.
    pub clock: Clock,
    connect: Box<dyn Connect>,
    topology: RwLock<Arc<Topology>>,
    /// Held while a new topology is made, so that two changes do not overwrite each other.
    adopting: Mutex<()>,
}

/// A consistent set of layouts and handles. An operation uses one topology from beginning to end.
pub struct Topology {
    /// The layouts in force.
    pub layouts: Layouts,
    /// The placement tables of the layouts: the current one first, then the older ones.
    pub placements: Vec<Arc<Placement>>,
    /// Every volume of every layout in force.
    pub volumes: BTreeMap<VolumeId, Arc<dyn Volume>>,
    /// Every node of every layout in force.
    pub nodes: BTreeMap<NodeId, Arc<dyn Node>>,
    /// Node and zone of every volume.
    pub domains: Domains,
    /// [`Topology::guaranteed_width`] of the partition where it is smallest.
    guaranteed_width_min: OnceLock<Width>,
}

impl Cluster {
    /// Returns a cluster with these layouts.
    pub fn new(me: Option<NodeId>, layouts: Layouts, connect: Box<dyn Connect>) -> Arc<Self> {
        Self::with_tables_of(None, me, layouts, connect)
    }

    /// Like [`Cluster::new`], but reuses the tables that another cluster's topology has computed.
    pub fn with_tables_of(
        before: Option<&Topology>,
        me: Option<NodeId>,
        layouts: Layouts,
        connect: Box<dyn Connect>,
    ) -> Arc<Self> {
        let name = me.as_ref().map_or_else(
            || format!("client-{:016x}", system::random::<u64>()),
            |id| id.0.to_string(),
        );
        let topology = RwLock::new(Arc::new(Topology::new(layouts, connect.as_ref(), before)));
        Arc::new(Self {
            me,
            clock: Clock::new(&name),
            connect,
            topology,
            adopting: Mutex::new(()),
        })
    }

    /// Returns this process's node, if it is one.
    pub fn me(&self) -> Option<&NodeId> {
        self.me.as_ref()
    }

    /// Returns the current topology.
    pub fn topology(&self) -> Arc<Topology> {
        self.topology.read().clone()
    }

    /// Puts newer layouts into force and ignores older ones. If the current layout is the same,
    /// keeps only the older layouts that both sides still read. The node makes the result durable.
    pub fn adopt(&self, layouts: Layouts) {
        let _one = self.adopting.lock();
        if let Some(merged) = merge(&self.topology().layouts, layouts) {
            // Computed before the lock is taken, so that readers do not wait for it.
            let topology = Arc::new(Topology::new(
                merged,
                self.connect.as_ref(),
                Some(&self.topology()),
            ));
            *self.topology.write() = topology;
        }
    }
}

/// Puts layouts that a majority has accepted into force here and on all their nodes that can be
/// reached. Rebalance calls it when an older layout no longer needs to be read.
pub async fn announce(cluster: &Arc<Cluster>, layouts: &Layouts) {
    // Adopted first: the handles of the new topology include nodes that joined with the new
    // layouts.
    cluster.adopt(layouts.clone());
    let topology = cluster.topology();
    let told = join_all(topology.nodes.values().map(|node| node.adopt(layouts))).await;
    for failure in told.into_iter().filter_map(Result::err) {
        tracing::warn!(
            layout = layouts.current.number,
            failure = failure.to_string(),
            "could not send the layout to a node, which will get it later"
        );
    }
}

impl LayoutTag {
    /// No layout: the tag of requests that do not depend on one.
    pub const NONE: Self = Self {
        number: 0,
        digest: [0; 32],
    };

    /// Returns the tag of a layout.
    pub fn of(layout: &Layout) -> Self {
        // A layout is plain data with text keys, so writing it as JSON cannot fail. An empty text
        // would match nothing.
        let text = serde_json::to_vec(layout).unwrap_or_default();
        Self {
            number: layout.number,
            digest: *blake3::hash(&text).as_bytes(),
        }
    }
}

/// Returns the layouts in force after `ours` and `theirs` were merged, or `None` if nothing
/// changes.
///
/// For one current layout the list of older ones only shrinks, so nodes agree in whatever order
/// they learn of it. A majority cannot accept two different layouts with the same number; if two
/// meet nevertheless, each side keeps its own.
pub fn merge(ours: &Layouts, theirs: Layouts) -> Option<Layouts> {
    if theirs.current.number != ours.current.number {
        return (theirs.current.number > ours.current.number).then_some(theirs);
    }
    if theirs.current != ours.current {
        return None;
    }
    let both: Vec<_> = ours
        .older
        .iter()
        .filter(|older| theirs.older.contains(older))
        .cloned()
        .collect();
    (both.len() < ours.older.len()).then_some(Layouts {
        current: theirs.current,
        older: both,
    })
}

impl Topology {
    /// Makes a topology. Reuses the tables that the earlier one has computed.
    fn new(layouts: Layouts, connect: &dyn Connect, before: Option<&Topology>) -> Self {
        let under = LayoutTag::of(&layouts.current);
        let all = || std::iter::once(&layouts.current).chain(&layouts.older);
        let known = |layout: &Layout| before.and_then(|before| before.placement(layout));
        let placements = all()
            .map(|layout| known(layout).unwrap_or_else(|| Arc::new(Placement::compute(layout))))
            .collect();
        let mut nodes = BTreeMap::new();
        let mut volumes = BTreeMap::new();
        for layout in all() {
            for node in &layout.roles.nodes {
                nodes
                    .entry(node.id.clone())
                    .or_insert_with(|| connect.node(under, node));
            }
            for volume in &layout.roles.volumes {
                let Some(node) = layout.roles.nodes.iter().find(|node| node.id == volume.node) else {
                    continue;
                };
                volumes
                    .entry(volume.id.clone())
                    .or_insert_with(|| connect.volume(under, volume, node));
            }
        }
        let domains = Domains::new(all());
        Self {
            layouts,
            placements,
            volumes,
            nodes,
            domains,
            guaranteed_width_min: OnceLock::new(),
        }
    }

    /// Returns the same topology with only these volumes.
    #[must_use]
    pub fn of_volumes(&self, volumes: BTreeMap<VolumeId, Arc<dyn Volume>>) -> Self {
        let layouts = || std::iter::once(&self.layouts.current).chain(&self.layouts.older);
        Self {
            layouts: self.layouts.clone(),
            placements: self.placements.clone(),
            volumes,
            nodes: self.nodes.clone(),
            domains: Domains::new(layouts()),
            guaranteed_width_min: OnceLock::new(),
        }
    }

    /// Returns the placement table of a layout in force.
    fn placement(&self, layout: &Layout) -> Option<Arc<Placement>> {
        let layouts = std::iter::once(&self.layouts.current).chain(&self.layouts.older);
        let mut tables = layouts.zip(&self.placements);
        tables
            .find(|(of, _)| *of == layout)
            .map(|(_, table)| table.clone())
    }

    /// Returns the number of copies of every object.
    pub fn replicas(&self) -> usize {
        usize::from(self.layouts.current.roles.copies())
    }

    /// Returns the home volumes of a partition, to which its writes go, the decider first.
    pub fn home(&self, partition: Partition) -> &[VolumeId] {
        self.placements
            .first()
            .map_or(&[], |placement| placement.replicas(partition))
    }

    /// Returns the width that the copies of a version of this partition must have before it is
    /// acknowledged: that of its home volumes.
    pub fn required_width(&self, partition: Partition) -> Width {
        self.domains.width(self.home(partition))
    }

    /// Returns the width that every acknowledged version of this partition has at least, whichever
    /// layout in force it was written under.
    pub fn guaranteed_width(&self, partition: Partition) -> Width {
        let widths = self
            .placements
            .iter()
            .map(|placement| self.domains.width(placement.replicas(partition)));
        widths.reduce(|a, b| a.min(&b)).unwrap_or_default()
    }

    /// Returns the smallest [`Topology::guaranteed_width`] of all partitions.
    pub fn guaranteed_width_min(&self) -> Width {
        *self.guaranteed_width_min.get_or_init(|| {
            let widths = (0..PARTITIONS).map(|partition| self.guaranteed_width(Partition(partition)));
            widths.reduce(|a, b| a.min(&b)).unwrap_or_default()
        })
    }

    /// Returns whether every safe version is also on a volume outside `unknown`: either no place of
    /// the partition is unknown, or the unknown volumes are too few, or on too few nodes or zones,
    /// to hold all its copies.
    pub fn is_visible_without(&self, partition: Partition, unknown: &BTreeSet<VolumeId>) -> bool {
        let guaranteed_width = self.guaranteed_width(partition);
        let places = self.places(partition);
        guaranteed_width.volumes > 0
            && (places.iter().all(|place| !unknown.contains(place))
                || guaranteed_width.is_visible_without(&self.domains.width(unknown)))
    }

    /// Returns whether a version on these volumes may be acknowledged: R of them, on enough nodes
    /// and zones, and one at home.
    pub fn is_safe(&self, partition: Partition, held: &[VolumeId]) -> bool {
        let home = self.home(partition);
        held.iter().any(|volume| home.contains(volume))
            && self.domains.width(held).reaches(&self.required_width(partition))
    }

    /// Returns the volumes where any layout in force may have put a partition's objects: home
    /// first, each volume once.
    pub fn places(&self, partition: Partition) -> Vec<VolumeId> {
        let mut places = Vec::new();
        for volume in self
            .placements
            .iter()
            .flat_map(|placement| placement.replicas(partition))
        {
            if !places.contains(volume) {
                places.push(volume.clone());
            }
        }
        places
    }

    /// Returns the nodes that may decide for a partition, each if those before it do not answer.
    /// The nodes of its home volumes come first, then the others, starting at a different one for
    /// each partition.
    pub fn deciders(&self, partition: Partition) -> Vec<NodeId> {
        let mut deciders: Vec<NodeId> = Vec::new();
        let home = self.home(partition).iter();
        let roles = &self.layouts.current.roles.nodes;
        let turn = usize::from(partition.0) % roles.len().max(1);
        let (after, first) = roles.split_at(turn);
        let others = first.iter().chain(after).map(|node| &node.id);
        for node in home.filter_map(|volume| self.domains.node(volume)).chain(others) {
            if !deciders.contains(node) {
                deciders.push(node.clone());
            }
        }
        deciders
    }
}
