//! Builds a graph from its parts.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::path::{Path, PathBuf};

use archive::AskError;
use archive::question::{GraphEdge, GraphPart};
use index::Sorter;

use super::row::{self, Node};
use super::spool::{Spool, SpoolWriter, scratch};
use super::{Graph, GraphError, GraphSelection, GraphTotals};
use crate::results::AskFn;

/// A graph being built.
pub struct GraphBuilder {
    question: GraphPart,
    dir: PathBuf,
    edges: Sorter,
    ended: bool,
    totals: GraphTotals,
}

impl GraphBuilder {
    /// Builds the graph of the links that `question` selects, from its cursor on. `scratch` is a
    /// directory for unnamed temporary files.
    pub fn new(question: GraphPart, scratch: &Path) -> GraphBuilder {
        GraphBuilder {
            question,
            dir: scratch.to_owned(),
            edges: Sorter::new(scratch),
            ended: false,
            totals: GraphTotals::default(),
        }
    }

    /// Returns the number of pages read so far that match the time and collection.
    pub fn pages(&self) -> u64 {
        self.totals.pages
    }

    /// Returns whether all links have been added.
    pub fn is_complete(&self) -> bool {
        self.ended
    }

    /// Adds the next part. Returns `false` after the last one.
    ///
    /// # Errors
    /// [`GraphError`].
    pub fn next(&mut self, ask: &AskFn<'_>) -> Result<bool, GraphError> {
        if self.ended {
            return Ok(false);
        }
        let answer = ask(self.question.clone().into())?.to::<GraphPart>()?;
        let mut encoded = Vec::new();
        for edge in &answer.body.edges {
            row::put_edge(edge, &mut encoded);
            self.edges.push(&encoded).map_err(scratch(&self.dir))?;
            self.totals.links += edge.links;
        }
        if self.totals.epoch_last == 0 {
            self.totals.epoch_first = answer.epoch;
        }
        self.totals.epoch_last = answer.epoch;
        self.totals.pages += answer.body.pages;
        match answer.body.next {
            // A part that leads to itself would be added forever.
            Some(next) if self.question.after.as_ref() == Some(&next) => {
                Err(AskError::internal("the next part of the graph has the same cursor").into())
            }
            Some(next) => {
                self.question.after = Some(next);
                Ok(true)
            }
            None => {
                self.ended = true;
                Ok(true)
            }
        }
    }

    /// Returns the graph of the parts added.
    ///
    /// # Errors
    /// [`GraphError::Scratch`].
    pub fn finish(self, selection: GraphSelection) -> Result<Graph, GraphError> {
        let dir = self.dir;
        let mut ends = Sorter::new(&dir);
        let mut edges = SpoolWriter::new(&dir);
        let sorted = self.edges.finish().map_err(scratch(&dir))?;
        let mut encoded = Vec::new();
        for edge in row::merged(sorted, row::edge_of, row::is_same_edge, row::add_edge) {
            let edge = edge.map_err(scratch(&dir))?;
            // Checked before the nodes: a node has a row only if one of its edges is kept.
            if edge.links < selection.links_min {
                continue;
            }
            row::put_edge(&edge, &mut encoded);
            edges.push(&encoded)?;
            for node in ends_of(&edge) {
                node.put(&mut encoded);
                ends.push(&encoded).map_err(scratch(&dir))?;
            }
        }
        let (nodes, kept) = nodes(ends, &dir, selection.nodes_max)?;
        let mut graph = Graph {
            by: self.question.by,
            nodes,
            edges: edges.finish()?,
            kept,
            totals: self.totals,
        };
        // Limits take effect when the graph is read, so its rows are counted by reading them.
        count(&mut graph)?;
        Ok(graph)
    }
}

/// Returns the contributions of an edge to its nodes.
fn ends_of(edge: &GraphEdge) -> Vec<Node> {
    let source = Node {
        name: edge.source.clone(),
        ..Node::default()
    };
    if edge.is_within() {
        return vec![Node {
            links_within: edge.links,
            ..source
        }];
    }
    let target = Node {
        name: edge.target.clone(),
        links_in: edge.links,
        ..Node::default()
    };
    vec![
        Node {
            links_out: edge.links,
            ..source
        },
        target,
    ]
}

/// Returns all nodes, and the names of the largest ones if their number is limited.
fn nodes(
    ends: Sorter,
    dir: &Path,
    nodes_max: Option<usize>,
) -> Result<(Spool, Option<HashSet<String>>), GraphError> {
    let mut nodes = SpoolWriter::new(dir);
    // The smallest is on top, and is replaced by a larger one.
    let mut largest: BinaryHeap<Reverse<(u64, Reverse<String>)>> = BinaryHeap::new();
    let sorted = ends.finish().map_err(scratch(dir))?;
    let mut encoded = Vec::new();
    for node in row::merged(sorted, Node::decode, |a, b| a.name == b.name, Node::add) {
        let node = node.map_err(scratch(dir))?;
        node.put(&mut encoded);
        nodes.push(&encoded)?;
        if let Some(nodes_max) = nodes_max {
            largest.push(Reverse((node.links(), Reverse(node.name))));
            if largest.len() > nodes_max {
                largest.pop();
            }
        }
    }
    let names = largest.into_iter().map(|Reverse((_, Reverse(name)))| name);
    let kept = nodes_max.map(|_| names.collect());
    Ok((nodes.finish()?, kept))
}

/// Counts the nodes, edges and links that are in the graph.
pub(super) fn count(graph: &mut Graph) -> Result<(), GraphError> {
    let mut totals = GraphTotals {
        nodes: 0,
        edges: 0,
        links_between: 0,
        links_within: 0,
        ..graph.totals
    };
    graph.for_each_node(&mut |_| {
        totals.nodes += 1;
        Ok(())
    })?;
    graph.for_each_edge(&mut |edge| {
        if edge.is_within() {
            totals.links_within += edge.links
        } else {
            totals.edges += 1;
            totals.links_between += edge.links;
        }
        Ok(())
    })?;
    graph.totals = totals;
    Ok(())
}
