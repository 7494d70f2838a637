//! The graph of links between domains or hosts. Its parts are requested as clients do, added up,
//! and written for other programs.
//!
//! Invariants:
//! - the links of all edges add up to the links of the pages read;
//! - memory is bounded for any number of nodes and edges, which are sorted in temporary files. If
//!   only the largest nodes are requested, their names are held in memory.
//!
//! Each part is from the newest epoch, like each batch of an export. A page that exists throughout
//! is counted once.

mod build;
mod error;
mod format;
mod gexf;
mod graphml;
mod row;
mod spool;
mod table;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::io::Write;

use serde::Serialize;

pub use self::build::GraphBuilder;
pub use self::error::GraphError;
pub use self::format::GraphFormat;
pub use self::row::Node;
use self::spool::Spool;
use archive::question::{GraphBy, GraphEdge};

/// The part of a graph to keep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GraphSelection {
    /// Edges with fewer links are left out, and nodes that then have no edge.
    pub links_min: u64,
    /// Limit of nodes. Those with the most links from and to others are kept, then by name, with
    /// the edges between them.
    pub nodes_max: Option<usize>,
}

/// The totals of a graph.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct GraphTotals {
    /// Number of pages and redirects with links that match the time and collection.
    pub pages: u64,
    /// Number of all their links.
    pub links: u64,
    /// Number of nodes in the graph.
    pub nodes: u64,
    /// Number of edges in the graph between different nodes.
    pub edges: u64,
    /// Number of links of these edges.
    pub links_between: u64,
    /// Number of links of nodes in the graph to themselves.
    pub links_within: u64,
    /// Epoch of the first part.
    pub epoch_first: u64,
    /// Epoch of the last part. It differs from the first if something was loaded meanwhile.
    pub epoch_last: u64,
}

/// A complete graph.
pub struct Graph {
    by: GraphBy,
    /// Nodes by name.
    nodes: Spool,
    /// Edges by source and target, including those left out because of `kept`.
    edges: Spool,
    /// Names of the nodes in the graph, if some are left out.
    kept: Option<HashSet<String>>,
    totals: GraphTotals,
}

impl Graph {
    /// Returns the totals.
    pub fn totals(&self) -> GraphTotals {
        self.totals
    }

    /// Keeps only a node and the nodes at the other ends of its heaviest edges: at most `nodes_max`
    /// in total, and none if the graph does not contain the node.
    ///
    /// # Errors
    /// [`GraphError::Scratch`].
    pub fn keep_around(&mut self, name: &str, nodes_max: usize) -> Result<(), GraphError> {
        // The node itself is one of them.
        let others_max = nodes_max.saturating_sub(1);
        // The lightest is on top. A neighbour has at most two edges with the node.
        let mut heaviest: BinaryHeap<Reverse<(u64, Reverse<String>)>> = BinaryHeap::new();
        self.for_each_edge(&mut |edge| {
            let is_end = edge.source == name || edge.target == name;
            if is_end && !edge.is_within() {
                let other = if edge.source == name {
                    &edge.target
                } else {
                    &edge.source
                };
                heaviest.push(Reverse((edge.links, Reverse(other.clone()))));
                if heaviest.len() > 2 * others_max {
                    heaviest.pop();
                }
            }
            Ok(())
        })?;
        let mut kept = HashSet::from([name.to_owned()]);
        // In descending order of weight.
        for Reverse((_, Reverse(other))) in heaviest.into_sorted_vec() {
            if kept.len() < nodes_max {
                kept.insert(other);
            }
        }
        self.kept = Some(kept);
        build::count(self)
    }

    /// Calls `each` for all nodes, sorted by name. Their counts include all edges with enough
    /// links, even to nodes left out of the graph.
    ///
    /// # Errors
    /// [`GraphError::Scratch`], or the error of `each`.
    pub fn for_each_node(
        &mut self,
        each: &mut dyn FnMut(&Node) -> Result<(), GraphError>,
    ) -> Result<(), GraphError> {
        let kept = self.kept.as_ref();
        self.nodes.for_each(&mut |row| {
            let node = Node::decode(row);
            if kept.is_none_or(|kept| kept.contains(&node.name)) {
                each(&node)
            } else {
                Ok(())
            }
        })
    }

    /// Calls `each` for all edges, sorted by source and target. If the two are equal, the links are
    /// within the node.
    ///
    /// # Errors
    /// [`GraphError::Scratch`], or the error of `each`.
    pub fn for_each_edge(
        &mut self,
        each: &mut dyn FnMut(&GraphEdge) -> Result<(), GraphError>,
    ) -> Result<(), GraphError> {
        let kept = self.kept.as_ref();
        self.edges.for_each(&mut |row| {
            let edge = row::edge_of(row);
            let has = |name: &String| kept.is_none_or(|kept| kept.contains(name));
            if has(&edge.source) && has(&edge.target) {
                each(&edge)
            } else {
                Ok(())
            }
        })
    }

    /// Writes the graph. The same graph gives the same bytes.
    ///
    /// # Errors
    /// [`GraphError`]. The output may be incomplete.
    pub fn write(&mut self, format: GraphFormat, out: &mut dyn Write) -> Result<(), GraphError> {
        match format {
            GraphFormat::Gexf => gexf::write(self, out),
            GraphFormat::Graphml => graphml::write(self, out),
            GraphFormat::Csv => table::write_csv(self, out),
            GraphFormat::Parquet => table::write_parquet(self, out),
        }?;
        out.flush().map_err(GraphError::Output)
    }
}

/// Returns text for XML: special characters are escaped, and characters not allowed in XML are
/// replaced.
fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // XML 1.0 has no way to write some of these, not even as references (section 2.2).
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                escaped.push(char::REPLACEMENT_CHARACTER)
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests;
