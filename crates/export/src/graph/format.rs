//! The forms of files that a graph is written as.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// What a graph is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphFormat {
    /// GEXF 1.3: nodes and edges, each edge with the time from which to which its links were seen. Gephi reads it.
    Gexf,
    /// GraphML: nodes and edges. networkx, igraph and yEd read it.
    Graphml,
    /// Edges as a Parquet file.
    Parquet,
    /// Edges as comma-separated values with a line of names (RFC 4180).
    Csv,
}

impl GraphFormat {
    /// All of them.
    pub const ALL: [GraphFormat; 4] = [
        GraphFormat::Gexf,
        GraphFormat::Graphml,
        GraphFormat::Parquet,
        GraphFormat::Csv,
    ];

    /// Its name, which is also what names of such files end in.
    pub fn name(self) -> &'static str {
        match self {
            GraphFormat::Gexf => "gexf",
            GraphFormat::Graphml => "graphml",
            GraphFormat::Parquet => "parquet",
            GraphFormat::Csv => "csv",
        }
    }

    /// The format that a file's name ends in.
    pub fn of_path(path: &Path) -> Option<GraphFormat> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        extension.parse().ok()
    }
}

impl fmt::Display for GraphFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for GraphFormat {
    type Err = String;

    fn from_str(name: &str) -> Result<GraphFormat, String> {
        let found = GraphFormat::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| format!("no format {name:?}: gexf, graphml, parquet or csv is expected"))
    }
}
