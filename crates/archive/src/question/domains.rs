//! Domains, and URIs ranked by in-links.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DomainRow;

/// Asks for one domain.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Domain {
    /// A registered domain, or a host or URL that belongs to it.
    pub name: String,
}

/// A domain with its most linked pages.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DomainBody {
    /// The registered domain.
    #[schemars(example = &"example.com")]
    pub domain: String,
    /// URIs of the domain that are captured or linked to.
    pub uris: u64,
    /// Number of these URIs whose current version is a page.
    pub pages: u64,
    /// Links from other domains to this one.
    pub inlinks_external: u64,
    /// The 20 URIs of the domain with the most in-links.
    pub top: Vec<TopRow>,
    /// Domains that link to this one, ordered by number of links, at most 50. They are counted from
    /// a bounded sample: the in-links of `top`.
    pub linking_domains: Vec<LinkingDomain>,
    /// Whether `linking_domains` contains every linking domain, not only those of the sample.
    pub linking_domains_complete: bool,
}

/// A domain that links to another.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkingDomain {
    /// The registered domain.
    #[schemars(example = &"archive.org")]
    pub domain: String,
    /// Number of links to the domain asked for.
    pub links: u64,
}

/// Asks for all domains.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Domains {
    /// Order of the rows.
    #[serde(default)]
    pub order: DomainOrder,
    /// Cursor to continue from: `next` of the previous answer.
    #[serde(default)]
    pub after: Option<String>,
    /// Maximum number of rows per answer; 0 means 100.
    pub limit: usize,
}

/// Order in which domains are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DomainOrder {
    /// By name. Each part of the list reads only its own domains.
    #[default]
    Name,
    /// Most pages first. This reads all domains.
    Pages,
    /// Most in-links from other domains first. This reads all domains.
    Inlinks,
}

impl DomainOrder {
    /// The names of the orders in JSON, as the API accepts them.
    pub const NAMES: [&'static str; 3] = ["name", "pages", "inlinks"];

    /// Returns the order with this name in JSON.
    pub fn named(name: &str) -> Option<DomainOrder> {
        match name {
            "name" => Some(DomainOrder::Name),
            "pages" => Some(DomainOrder::Pages),
            "inlinks" => Some(DomainOrder::Inlinks),
            _ => None,
        }
    }
}

/// One part of the list of domains.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DomainsBody {
    /// The domains, in the order asked for.
    pub rows: Vec<DomainRow>,
    /// Cursor for the next part; absent at the end of the list.
    pub next: Option<String>,
}

/// Asks for the URIs with the most in-links.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Top {
    /// Return only URIs of this registered domain.
    #[serde(default)]
    pub domain: Option<String>,
    /// Cursor to continue from: `next` of the previous answer.
    #[serde(default)]
    pub after: Option<String>,
    /// Maximum number of rows per answer; 0 means 100.
    pub limit: usize,
}

/// The URIs with the most in-links.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TopBody {
    /// The URIs, ordered by in-links from other domains, then by all in-links, then by key.
    pub rows: Vec<TopRow>,
    /// Cursor for the next part; absent at the end of the list.
    pub next: Option<String>,
}

/// One row of a ranking.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TopRow {
    /// Position in the ranking, starting at 1.
    pub rank: u64,
    /// Sort key of the URI.
    #[schemars(example = &"com,example)/")]
    pub url_key: String,
    /// URL of the URI, if known.
    #[schemars(example = &"http://example.com/")]
    pub url: String,
    /// Title of the URI's current version; empty if it has none.
    pub title: String,
    /// Whether the archive has a capture of the URI.
    pub captured: bool,
    /// Number of pages that link to the URI.
    pub inlinks: u64,
    /// Number of these pages that belong to another registered domain.
    pub inlinks_external: u64,
}
