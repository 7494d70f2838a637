//! File formats of graphs.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use format::ParseValueError;

/// A file format of graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphFormat {
    /// GEXF 1.3: nodes and edges, each edge with the time range in which its links were seen. Gephi
    /// reads it.
    Gexf,
    /// GraphML: nodes and edges. networkx, igraph and yEd read it.
    Graphml,
    /// Edges as a Parquet file.
    Parquet,
    /// Edges as comma-separated values with a header line (RFC 4180).
    Csv,
}

impl GraphFormat {
    /// All formats.
    pub const ALL: [GraphFormat; 4] = [
        GraphFormat::Gexf,
        GraphFormat::Graphml,
        GraphFormat::Parquet,
        GraphFormat::Csv,
    ];

    /// Returns the name of the format, which is also the extension of such files.
    pub fn name(self) -> &'static str {
        match self {
            GraphFormat::Gexf => "gexf",
            GraphFormat::Graphml => "graphml",
            GraphFormat::Parquet => "parquet",
            GraphFormat::Csv => "csv",
        }
    }

    /// Returns the format for the extension of a file.
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
    type Err = ParseValueError;

    fn from_str(name: &str) -> Result<GraphFormat, ParseValueError> {
        let found = GraphFormat::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| ParseValueError::new("unknown format ", name, "gexf, graphml, parquet or csv"))
    }
}
