//! Dumps: every row of a view, sorted, in bytes that depend only on the captures.
//!
//! Rows are streamed. If the order of the dump is not that of a table (`inlinks`, `top`), they are
//! sorted in temporary files. The brute-force model uses the same printer.

mod details;
mod print;
mod rows;
mod serving;

use std::fmt;
use std::str::FromStr;

pub use details::Details;
pub(crate) use print::Printer;
#[cfg(any(test, feature = "model"))]
pub(crate) use rows::{dump_ledger, dump_quarantine, print_captures};
pub use serving::ServingRows;

/// A view that can be dumped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the views")]
pub enum View {
    Captures,
    Pages,
    Links,
    Inlinks,
    Uris,
    Domains,
    Top,
    Ledger,
    Quarantine,
}

impl View {
    /// All views.
    pub const ALL: [View; 9] = [
        View::Captures,
        View::Pages,
        View::Links,
        View::Inlinks,
        View::Uris,
        View::Domains,
        View::Top,
        View::Ledger,
        View::Quarantine,
    ];

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            View::Captures => "captures",
            View::Pages => "pages",
            View::Links => "links",
            View::Inlinks => "inlinks",
            View::Uris => "uris",
            View::Domains => "domains",
            View::Top => "top",
            View::Ledger => "ledger",
            View::Quarantine => "quarantine",
        }
    }
}

impl FromStr for View {
    type Err = DumpNameError;

    fn from_str(name: &str) -> Result<View, DumpNameError> {
        let known = View::ALL.into_iter().find(|view| view.name() == name);
        known.ok_or_else(|| DumpNameError::View(name.to_owned()))
    }
}

/// A dump has no part or format of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DumpNameError {
    /// There is no such view.
    #[error("unknown view `{0}`; expected one of {names}", names = View::ALL.map(View::name).join(", "))]
    View(String),
    /// There are no such details.
    #[error("unknown details `{0}`")]
    Details(String),
    /// There is no such serving table.
    #[error("unknown serving table `{0}`")]
    Serving(String),
    /// There is no such format.
    #[error("unknown format `{0}`; expected tsv or jsonl")]
    Format(String),
}

/// A part of a view: rows whose first column is in the range `from` (inclusive) to `to`
/// (exclusive), at most `rows_max` of them. The default is the whole view.
///
/// The keys apply only to `pages`, `links`, `inlinks`, `uris` and `domains`.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct DumpRange {
    /// First key.
    pub from: Option<String>,
    /// End of the range, exclusive.
    pub to: Option<String>,
    /// Maximum number of rows.
    pub rows_max: Option<u64>,
}

impl DumpRange {
    /// Returns whether a key is in the range.
    fn contains(&self, key: &[u8]) -> bool {
        let begins = self.from.as_deref().is_none_or(|from| key >= from.as_bytes());
        begins && self.to.as_deref().is_none_or(|to| key < to.as_bytes())
    }
}

/// Format of a dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DumpFormat {
    /// Tab-separated text without a header; `\t`, `\n`, `\r` and `\\` are escaped.
    #[default]
    Tsv,
    /// One JSON object per row.
    Jsonl,
}

impl DumpFormat {
    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            DumpFormat::Tsv => "tsv",
            DumpFormat::Jsonl => "jsonl",
        }
    }
}

impl fmt::Display for DumpFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for DumpFormat {
    type Err = DumpNameError;

    fn from_str(name: &str) -> Result<DumpFormat, DumpNameError> {
        match name {
            "tsv" => Ok(DumpFormat::Tsv),
            "jsonl" => Ok(DumpFormat::Jsonl),
            _ => Err(DumpNameError::Format(name.to_owned())),
        }
    }
}
