//! The pages that packages list: the seeds and pages a crawl was made for, among everything it
//! captured.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::CdxRow;

/// Asks for the pages that packages (WACZ) list, by package, then in list order. They are read from
/// the packages themselves.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ListedPages {
    /// Only pages of packages with this name, last part of the name, or location, or with a member
    /// that matches.
    #[serde(default)]
    pub input: Option<String>,
    /// Only pages of packages with this label.
    #[serde(default)]
    pub collection: Option<String>,
    /// Return the complete entry of each page too.
    #[serde(default)]
    pub whole: bool,
    /// Cursor to continue from: `next` of the previous answer.
    #[serde(default)]
    pub after: Option<String>,
    /// Maximum number of rows per answer; 0 means 100. An answer may have fewer rows although more
    /// follow.
    pub limit: usize,
}

/// One part of the pages that packages list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListedPagesBody {
    /// The pages, by package, then in list order.
    pub rows: Vec<ListedPageRow>,
    /// Packages, lists and lines that cannot be used. Only clients that may see everything get
    /// them.
    pub problems: Vec<ListedPagesProblem>,
    /// Cursor for the next part; absent at the end.
    pub next: Option<String>,
}

/// A page that a package lists.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListedPageRow {
    /// Name of the package in the ledger.
    #[schemars(example = &"crawl.wacz")]
    pub package: String,
    /// Name of the list in the package.
    #[schemars(example = &"pages/pages.jsonl")]
    pub list: String,
    /// Line in the list, counted from 1.
    pub line: u64,
    /// URL from the list.
    #[schemars(example = &"http://www.iana.org/")]
    pub url: String,
    /// When the page was captured, according to the list (ISO 8601).
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub fetch_time: String,
    /// Title from the list, if any.
    pub title: String,
    /// Identifier from the list, if any.
    pub id: String,
    /// Whether the page is a seed of the crawl, as far as the list says so.
    pub seed: bool,
    /// Whether the list contains the text of the page.
    pub has_text: bool,
    /// The capture of this URL in the package nearest to that time, at most an hour away, if any.
    pub capture: Option<CdxRow>,
    /// Without `capture`: when the nearest capture in the package was made (ISO 8601); absent if
    /// the URL was not captured.
    pub nearest: Option<String>,
    /// Path at which a server replays the capture.
    #[schemars(example = &"/replay/20140126200624/http://www.iana.org/")]
    pub replay: Option<String>,
    /// The complete entry, if it was asked for.
    #[serde(default)]
    pub listed: Option<Map<String, Value>>,
}

/// A part of a package's lists that cannot be used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListedPagesProblem {
    /// Name of the package.
    pub package: String,
    /// Name of the list in the package; empty if the package itself cannot be read.
    pub list: String,
    /// Line in the list, counted from 1; 0 if the problem concerns the whole list.
    pub line: u64,
    /// Offset of the line in bytes.
    pub offset: u64,
    /// Description of the problem.
    pub what: String,
}

impl fmt::Display for ListedPagesProblem {
    /// Writes package, list and line, without those that are unknown, and the problem.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.package)?;
        if !self.list.is_empty() {
            write!(f, " {}", self.list)?;
        }
        if self.line > 0 {
            write!(f, " line {} at offset {}", self.line, self.offset)?;
        }
        write!(f, ": {}", self.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_name_what_is_known() {
        for (list, line, expected) in [
            ("", 0, "x.wacz: cannot be read"),
            ("pages/pages.jsonl", 0, "x.wacz pages/pages.jsonl: cannot be read"),
            (
                "pages/pages.jsonl",
                7,
                "x.wacz pages/pages.jsonl line 7 at offset 600: cannot be read",
            ),
        ] {
            let problem = ListedPagesProblem {
                package: "x.wacz".into(),
                list: list.into(),
                line,
                offset: 600,
                what: "cannot be read".into(),
            };
            assert_eq!(problem.to_string(), expected);
        }
    }
}
