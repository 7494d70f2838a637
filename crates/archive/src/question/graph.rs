//! Links between hosts or registered domains, counted.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a node of a graph is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GraphBy {
    /// A registered domain, by the Public Suffix List.
    #[default]
    Domain,
    /// A host, without `www.` and port, as URL keys have it.
    Host,
}

impl GraphBy {
    /// Both of them.
    pub const ALL: [GraphBy; 2] = [GraphBy::Domain, GraphBy::Host];

    /// Its name on the command line and in addresses.
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
    type Err = String;

    fn from_str(name: &str) -> Result<GraphBy, String> {
        let found = GraphBy::ALL.into_iter().find(|by| by.name() == name);
        found.ok_or_else(|| format!("no graph by {name:?}: domain or host is expected"))
    }
}

/// Asks for a part of the graph: the links of some thousand pages, counted by the ends that they lead from and to. Who asks adds the
/// parts up ([`GraphBuilder`](crate::GraphBuilder)).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GraphPart {
    /// What a node is.
    pub by: GraphBy,
    /// Only links of pages whose current version was captured then or later: a date or its beginning.
    pub from: Option<String>,
    /// Only links of pages whose current version was captured then or earlier; a beginning stands for its end.
    pub to: Option<String>,
    /// Only links of pages whose current version is of this collection.
    pub collection: Option<String>,
    /// Cursor to continue from: `next` of the previous answer.
    pub after: Option<String>,
}

/// A part of a graph.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GraphPartBody {
    /// Pages and redirects of the part that have links and are in the time and collection asked for.
    pub pages: u64,
    /// Links between two nodes, and of a node to itself; in no order.
    pub edges: Vec<GraphEdge>,
    /// Cursor for the next part; absent at the end.
    pub next: Option<String>,
}

/// Links from one node to another, or to itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GraphEdge {
    /// The node that the links are on.
    #[schemars(example = &"example.com")]
    pub source: String,
    /// The node that they lead to.
    #[schemars(example = &"archive.org")]
    pub target: String,
    /// Rows of the view `links` between the two.
    pub links: u64,
    /// Pages of the source that have such links.
    pub pages: u64,
    /// When the earliest of these pages was captured, in milliseconds since 1970.
    pub first_ms: i64,
    /// When the latest of these pages was captured, in milliseconds since 1970.
    pub last_ms: i64,
}
