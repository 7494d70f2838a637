//! Domains, and the rankings of URIs by in-links.

use serde::{Deserialize, Serialize};

/// Asks for one domain.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Domain {
    /// A registered domain, or a host or URL of it.
    pub name: String,
}

/// A domain with its best pages.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DomainBody {
    /// The registered domain.
    pub domain: String,
    /// Its URIs, captured or linked to.
    pub uris: u64,
    /// Of these, pages.
    pub pages: u64,
    /// Links to it from other domains.
    pub inlinks_external: u64,
    /// Its first 20 URIs by in-links.
    pub top: Vec<TopRow>,
    /// Domains linking here, by number of links, from the in-links of `top` (a sample, bounded).
    pub linking_domains: Vec<LinkingDomain>,
    /// Whether that is all of them, and not a sample.
    pub linking_domains_complete: bool,
}

/// A domain that links to another.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkingDomain {
    /// The registered domain.
    pub domain: String,
    /// Links that it has there.
    pub links: u64,
}

/// Asks for all domains.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Domains {
    /// Their order.
    #[serde(default)]
    pub order: DomainOrder,
    /// `next` of the answer before.
    #[serde(default)]
    pub after: Option<String>,
    /// Most rows; 100 for 0.
    pub limit: usize,
}

/// How domains are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DomainOrder {
    /// By name, from wherever a list goes on.
    #[default]
    Name,
    /// Those with most pages first; reads all domains.
    Pages,
    /// Those with most in-links from other domains first; reads all domains.
    Inlinks,
}

/// Domains.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DomainsBody {
    /// In the order asked for.
    pub rows: Vec<DomainRow>,
    /// Where the list goes on; nothing at its end.
    pub next: Option<String>,
}

/// One domain.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DomainRow {
    /// The registered domain.
    pub domain: String,
    /// Its URIs, captured or linked to.
    pub uris: u64,
    /// Of these, pages.
    pub pages: u64,
    /// Links to it from other domains.
    pub inlinks_external: u64,
}

/// Asks for the URIs with most in-links.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Top {
    /// Only URIs of this domain.
    #[serde(default)]
    pub domain: Option<String>,
    /// `next` of the answer before.
    #[serde(default)]
    pub after: Option<String>,
    /// Most rows; 100 for 0.
    pub limit: usize,
}

/// The URIs with most in-links.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TopBody {
    /// By in-links from other domains, then all in-links, then key.
    pub rows: Vec<TopRow>,
    /// Where the list goes on; nothing at its end.
    pub next: Option<String>,
}

/// One row of a ranking.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TopRow {
    /// Its place, from 1.
    pub rank: u64,
    /// The URI's key.
    pub url_key: String,
    /// Its URL, as far as it is known.
    pub url: String,
    /// Title of its current version, empty if it has none.
    pub title: String,
    /// Whether any capture of it is held.
    pub captured: bool,
    /// Pages that link to it.
    pub inlinks: u64,
    /// Of these, the ones of other registered domains.
    pub inlinks_external: u64,
}
