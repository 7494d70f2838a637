//! The graph of links between domains or hosts: parts of it are asked for as clients do, added up, and written for other programs.
//!
//! Invariants:
//! - the links of all edges add up to the links of the pages that were gone through;
//! - memory is bounded however many nodes and edges there are: they are sorted in temporary files. Where only the largest nodes are
//!   wanted, their names are held.
//!
//! Each part is of the newest epoch, as each thousand of an export is: a page that is there throughout is counted once.

mod build;
mod format;
mod gexf;
mod graphml;
mod row;
mod spool;
mod table;

use std::collections::HashSet;
use std::io::{self, Write};

use facts::RowStreamError;
use serde::Serialize;

pub use self::build::GraphBuilder;
pub use self::format::GraphFormat;
pub use self::row::{Edge, Node};
use self::spool::Spool;
use archive::AskError;
use archive::question::GraphBy;

/// What of a graph is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GraphSelection {
    /// Edges of fewer links are left out, and nodes that then have none.
    pub links_min: u64,
    /// Only so many nodes: those with most links from and to others, then by name. Edges are those between them.
    pub nodes_max: Option<usize>,
}

/// What a graph comes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct GraphTotals {
    /// Pages and redirects with links that were gone through, of the time and collection asked for.
    pub pages: u64,
    /// Their links, all of them.
    pub links: u64,
    /// Nodes of the graph.
    pub nodes: u64,
    /// Edges of the graph between different nodes.
    pub edges: u64,
    /// Links of these edges.
    pub links_between: u64,
    /// Links of nodes of the graph to themselves.
    pub links_within: u64,
    /// Epoch of the first part.
    pub epoch_first: u64,
    /// Epoch of the last part: another one where something was loaded meanwhile.
    pub epoch_last: u64,
}

/// Why there is no graph.
#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    /// The archive did not answer.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// A temporary file cannot be used.
    #[error("sort the graph in temporary files below {dir}: {source}")]
    Scratch {
        /// The directory for temporary files.
        dir: String,
        /// What failed.
        source: io::Error,
    },
    /// The output does not take more.
    #[error("write the graph: {0}")]
    Output(#[source] io::Error),
    /// The edges do not become a Parquet file.
    #[error(transparent)]
    Parquet(#[from] RowStreamError),
}

/// A graph, complete.
pub struct Graph {
    by: GraphBy,
    /// Nodes by name.
    nodes: Spool,
    /// Edges by source and target; also those that `kept` leaves out.
    edges: Spool,
    /// Names of the nodes, if not all there are belong to the graph.
    kept: Option<HashSet<String>>,
    totals: GraphTotals,
}

impl Graph {
    /// What it comes to.
    pub fn totals(&self) -> GraphTotals {
        self.totals
    }

    /// Calls `each` for all nodes, by name. Their counts are over all edges that are large enough, also to nodes that do not belong to
    /// the graph.
    ///
    /// # Errors
    /// [`GraphError::Scratch`], or what `each` returns.
    pub fn for_each_node(
        &mut self,
        each: &mut dyn FnMut(&Node) -> Result<(), GraphError>,
    ) -> Result<(), GraphError> {
        let kept = self.kept.as_ref();
        self.nodes.for_each(&mut |row| {
            let node = Node::decode(row);
            match kept.is_none_or(|kept| kept.contains(&node.name)) {
                true => each(&node),
                false => Ok(()),
            }
        })
    }

    /// Calls `each` for all edges, by source and target; where these are the same, the links are within the node.
    ///
    /// # Errors
    /// [`GraphError::Scratch`], or what `each` returns.
    pub fn for_each_edge(
        &mut self,
        each: &mut dyn FnMut(&Edge) -> Result<(), GraphError>,
    ) -> Result<(), GraphError> {
        let kept = self.kept.as_ref();
        self.edges.for_each(&mut |row| {
            let edge = Edge::decode(row);
            let has = |name: &String| kept.is_none_or(|kept| kept.contains(name));
            match has(&edge.source) && has(&edge.target) {
                true => each(&edge),
                false => Ok(()),
            }
        })
    }

    /// Writes it. The same graph gives the same bytes.
    ///
    /// # Errors
    /// [`GraphError`]; some of it may have been written.
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

/// Text in XML: what has a meaning there is escaped, and what XML cannot have at all is replaced.
fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
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
