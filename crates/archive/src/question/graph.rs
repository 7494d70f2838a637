//! Counts of links between hosts or registered domains.

use std::fmt;
use std::str::FromStr;

use format::ParseValueError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a node of a graph represents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GraphBy {
    /// A registered domain, by the Public Suffix List.
    #[default]
    Domain,
    /// A host, without `www.` and port, as in URL keys.
    Host,
}

impl GraphBy {
    /// Both kinds of node.
    pub const ALL: [GraphBy; 2] = [GraphBy::Domain, GraphBy::Host];

    /// Returns the name used on the command line and in addresses.
    pub fn name(self) -> &'static str {
        match self {
            GraphBy::Domain => "domain",
            GraphBy::Host => "host",
        }
    }
}

impl fmt::Display for GraphBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for GraphBy {
    type Err = ParseValueError;

    fn from_str(name: &str) -> Result<GraphBy, ParseValueError> {
        let found = GraphBy::ALL.into_iter().find(|by| by.name() == name);
        found.ok_or_else(|| ParseValueError::new("no graph by ", name, "domain or host"))
    }
}

/// Asks for a part of the graph: the links of some thousand pages, counted by source and target
/// node. The caller adds up the parts ([`GraphBuilder`](crate::GraphBuilder)).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GraphPart {
    /// What a node represents.
    pub by: GraphBy,
    /// Only links of pages whose current version was captured at this time or later: a date or a
    /// prefix of one.
    pub from: Option<String>,
    /// Only links of pages whose current version was captured at this time or earlier. A prefix of
    /// a date means the end of that period.
    pub to: Option<String>,
    /// Only links of pages whose current version is in this collection.
    pub collection: Option<String>,
    /// Cursor to continue from: `next` of the previous answer.
    pub after: Option<String>,
}

/// A part of a graph.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GraphPartBody {
    /// Pages and redirects of this part that have links and match the time and collection.
    pub pages: u64,
    /// Links between two nodes, or within one node; unordered.
    pub edges: Vec<GraphEdge>,
    /// Cursor for the next part; absent at the end.
    pub next: Option<String>,
}

/// Links from one node to another, or to itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GraphEdge {
    /// The node that contains the links.
    #[schemars(example = &"example.com")]
    pub source: String,
    /// The node that the links point to.
    #[schemars(example = &"archive.org")]
    pub target: String,
    /// Number of rows of the view `links` between the two nodes.
    pub links: u64,
    /// Number of pages of the source with such links.
    pub pages: u64,
    /// When the earliest of these pages was captured, in milliseconds since 1970.
    pub first_ms: i64,
    /// When the latest of these pages was captured, in milliseconds since 1970.
    pub last_ms: i64,
}

impl GraphEdge {
    /// Returns whether the links are from a node to itself.
    pub fn is_within(&self) -> bool {
        self.source == self.target
    }
}
