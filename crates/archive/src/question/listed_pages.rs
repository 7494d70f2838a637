//! The pages that packages list: what a crawl was for, seeds and pages, out of all that it captured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::CdxRow;

/// Asks for the pages that packages (WACZ) list, by package, then in the order of their lists. They are read from the packages
/// themselves.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ListedPages {
    /// Only those of packages with this name, the last part of it, or location, or with such a member.
    #[serde(default)]
    pub input: Option<String>,
    /// Only those of packages with this label.
    #[serde(default)]
    pub collection: Option<String>,
    /// Return the whole of what is listed of each page, too.
    #[serde(default)]
    pub whole: bool,
    /// Cursor to continue from: `next` of the previous answer.
    #[serde(default)]
    pub after: Option<String>,
    /// Most rows in one answer; 0 means 100. There may be fewer, and more behind them.
    pub limit: usize,
}

/// A part of the pages that packages list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListedPagesBody {
    /// The pages, by package, then in the order of its lists.
    pub rows: Vec<ListedPageRow>,
    /// Packages, lists and lines that cannot be used; for those alone from whom nothing is hidden.
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
    /// The list in it.
    #[schemars(example = &"pages/pages.jsonl")]
    pub list: String,
    /// The line of the list, counted from 1.
    pub line: u64,
    /// URL as it is listed.
    #[schemars(example = &"http://www.iana.org/")]
    pub url: String,
    /// When the page was captured, as it is listed (ISO 8601).
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub fetch_time: String,
    /// Title as it is listed; empty if there is none.
    pub title: String,
    /// Its identifier in the list; empty if there is none.
    pub id: String,
    /// Whether the crawl began with it, as far as that is listed.
    pub seed: bool,
    /// Whether the list has a text of the page.
    pub has_text: bool,
    /// The capture of this URL in the package nearest to the time, at most an hour away; absent if there is none.
    pub capture: Option<CdxRow>,
    /// If there is none so near: when the nearest one in the package was made (ISO 8601); absent if the URL was not captured.
    pub nearest: Option<String>,
    /// Where a server replays the capture: a path.
    #[schemars(example = &"/replay/20140126200624/http://www.iana.org/")]
    pub replay: Option<String>,
    /// The whole of what is listed, if that was asked for.
    #[serde(default)]
    pub listed: Option<Map<String, Value>>,
}

/// Something of a package's lists that cannot be used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListedPagesProblem {
    /// Name of the package.
    pub package: String,
    /// The list in it; empty if the package itself cannot be read.
    pub list: String,
    /// The line, counted from 1; 0 if it is about the whole list.
    pub line: u64,
    /// Where the line begins, in bytes.
    pub offset: u64,
    /// What was found.
    pub what: String,
}
