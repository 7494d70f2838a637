//! Links to a URL and links of a page.

use std::fmt;
use std::str::FromStr;

use format::ParseValueError;
use format::terminal::shell_word;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MatchType;
use crate::as_text;

/// Asks for the links to a URL.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Inlinks {
    /// The URL that the links point to, or its key.
    pub url: String,
    /// Which URLs belong to `url`: with another type than `exact`, links to all of them are returned,
    /// sorted by the key of the URL linked to, then by the key of the page.
    #[serde(default, with = "as_text", skip_serializing_if = "is_default")]
    pub match_type: MatchType,
    /// Return only these links.
    #[serde(default, skip_serializing_if = "is_default")]
    pub filter: LinkFilter,
    /// Cursor to continue from: `next` of the previous answer.
    #[serde(default)]
    pub after: Option<String>,
    /// Maximum number of rows per answer; 0 means 100. An answer may have fewer rows although more
    /// follow: `looked_at` says so.
    pub limit: usize,
    /// Return the links of the versions that were current at the end of this time, 1 to 14 digits.
    /// If absent, return the links of the current versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Return the links of all versions. Cannot be combined with `at`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ever: bool,
}

impl Inlinks {
    /// Returns the command for the same links, without `after` and `limit`. `url` may have a star,
    /// in place of a `match_type`.
    pub fn command(&self, url: &str, match_type: Option<MatchType>) -> String {
        let LinkFilter {
            external,
            from_domain,
            anchor,
            from,
            to,
        } = &self.filter;
        let mut command = format!("weft inlinks {}", shell_word(url));
        for (name, value) in [
            ("match-type", match_type.map(MatchType::name)),
            ("from-domain", from_domain.as_deref()),
            ("anchor", anchor.as_deref()),
            ("from", from.as_deref()),
            ("to", to.as_deref()),
            ("at", self.at.as_deref()),
        ] {
            if let Some(value) = value {
                command.push_str(&format!(" --{name} {}", shell_word(value)));
            }
        }
        for (name, is_given) in [("external", *external), ("ever", self.ever)] {
            if is_given {
                command.push_str(&format!(" --{name}"));
            }
        }
        command
    }
}

/// Conditions on links. All that are given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LinkFilter {
    /// The page and the URL linked to belong to different registered domains.
    pub external: bool,
    /// The page belongs to this domain or to a host below it.
    pub from_domain: Option<String>,
    /// The anchor text contains this text, in any case.
    pub anchor: Option<String>,
    /// Earliest capture time of the page, 1 to 14 digits (`YYYYMMDDhhmmss`), inclusive.
    pub from: Option<String>,
    /// Latest capture time of the page, 1 to 14 digits, inclusive.
    pub to: Option<String>,
}

/// Asks how many links have each anchor text, come from each domain, and so on. An answer counts
/// some thousand links; counts of consecutive answers are added.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct LinkCounts {
    /// The links to count. `limit` is ignored.
    pub links: Inlinks,
    /// What to count by.
    #[serde(with = "as_text")]
    pub by: LinkGrouping,
    /// Return the first links too, at most this number. Only pages of the server ask for them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub first_links: usize,
}

/// What links are counted by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LinkGrouping {
    /// The anchor text.
    #[default]
    Anchor,
    /// The registered domain of the page.
    Domain,
    /// The page.
    Page,
    /// The URL linked to.
    Target,
    /// The month in which the page was captured; with `ever`, first captured with the link.
    Month,
}

impl LinkGrouping {
    /// All groupings.
    pub const ALL: [LinkGrouping; 5] = [
        LinkGrouping::Anchor,
        LinkGrouping::Domain,
        LinkGrouping::Page,
        LinkGrouping::Target,
        LinkGrouping::Month,
    ];

    /// The names of the groupings, as the API accepts them.
    pub const NAMES: [&'static str; 5] = ["anchor", "domain", "page", "target", "month"];

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            LinkGrouping::Anchor => "anchor",
            LinkGrouping::Domain => "domain",
            LinkGrouping::Page => "page",
            LinkGrouping::Target => "target",
            LinkGrouping::Month => "month",
        }
    }
}

impl fmt::Display for LinkGrouping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for LinkGrouping {
    type Err = ParseValueError;

    fn from_str(name: &str) -> Result<LinkGrouping, ParseValueError> {
        let mut all = LinkGrouping::ALL.into_iter();
        all.find(|grouping| grouping.name() == name).ok_or_else(|| {
            ParseValueError::new(
                "cannot count links by ",
                name,
                "anchor, domain, page, target or month",
            )
        })
    }
}

/// Counts of links, of one part of the links that were asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkCountsBody {
    /// The groups, those with the most links first.
    pub rows: Vec<LinkCountRow>,
    /// Number of links counted in this answer.
    pub links: u64,
    /// Number of all groups; absent if this answer counts only a part of the links.
    pub total: Option<u64>,
    /// Cursor of the links that are not counted yet; absent if all are. With conditions, all links
    /// after it may fail them. `weft inlinks --by` counts all links, and this is the cursor of the
    /// groups that follow.
    pub next: Option<String>,
    /// The first of the links counted, if the question asks for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub first_links: Vec<LinkRow>,
}

/// The number of links of one group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkCountRow {
    /// The anchor text, domain, page, URL or month (`2014-01`). Links without a text have an empty
    /// one.
    #[schemars(example = &"the archive")]
    pub value: String,
    /// Number of links.
    pub links: u64,
    /// Number of these links that lead to another registered domain.
    pub links_external: u64,
    /// The earliest capture time of their pages (ISO 8601).
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub first: String,
    /// The latest capture time of their pages (ISO 8601).
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub last: String,
}

impl LinkCountRow {
    /// Adds the counts of another part of the links of this group.
    pub fn add(&mut self, other: &LinkCountRow) {
        self.links += other.links;
        self.links_external += other.links_external;
        if self.first.is_empty() || (!other.first.is_empty() && other.first < self.first) {
            self.first.clone_from(&other.first);
        }
        if other.last > self.last {
            self.last.clone_from(&other.last);
        }
    }

    /// Sorts groups: those with the most links first, then by value.
    pub fn sort(rows: &mut [LinkCountRow]) {
        rows.sort_by(|a, b| b.links.cmp(&a.links).then_with(|| a.value.cmp(&b.value)));
    }
}

/// Asks for the links of a page.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Outlinks {
    /// URL of the page, or its key.
    pub url: String,
    /// Cursor to continue from: `next` of the previous answer.
    #[serde(default)]
    pub after: Option<String>,
    /// Maximum number of rows per answer; 0 means 100.
    pub limit: usize,
}

/// One part of the links to a URL or of a page.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinksBody {
    /// Key of the URL asked for.
    #[schemars(example = &"com,example)/")]
    pub url_key: String,
    /// The links, sorted by the key of the other end.
    pub rows: Vec<LinkRow>,
    /// Number of all links to one URL or of one page, including those not in this answer. Absent
    /// with conditions, for links to several URLs, and with `at` or `ever`: these are not counted.
    pub total: Option<u64>,
    /// The number of links that were looked at (with `at` or `ever`, of pages), if this answer ended
    /// because of this number. More rows may follow after `next`, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looked_at: Option<u64>,
    /// Cursor for the next part; absent at the end of the list.
    pub next: Option<String>,
}

/// One link from a page to a URL.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkRow {
    /// Key of the page that contains the link.
    #[schemars(example = &"com,example)/")]
    pub source_key: String,
    /// URL of that page.
    #[schemars(example = &"http://example.com/")]
    pub source_url: String,
    /// Title of that page.
    pub source_title: String,
    /// When the current version of that page was captured (ISO 8601). Absent if versions other than
    /// the current one were asked for: `version` has the times then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"2014-01-26T20:06:24.000Z")]
    pub source_fetch_time: Option<String>,
    /// Key of the URL linked to.
    #[schemars(example = &"org,archive)/")]
    pub target_key: String,
    /// URL that the link points to, resolved from the text in the page.
    #[schemars(example = &"http://www.archive.org/")]
    pub target_url: String,
    /// Text of the link's first occurrence on the page that has any text.
    #[schemars(example = &"the archive")]
    pub anchor: String,
    /// Whether every occurrence of the link on the page is `nofollow`, `ugc` or `sponsored`.
    pub nofollow: bool,
    /// Whether source and target belong to different registered domains.
    pub external: bool,
    /// The version that contains the link, if versions other than the current one were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<LinkVersion>,
}

/// The versions of a page that contain a link. All times are times of captures; changes between two
/// captures are not known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkVersion {
    /// When the first version with such a link was captured (ISO 8601).
    #[schemars(example = &"2008-01-26T20:06:24.000Z")]
    pub first_seen: String,
    /// With `ever`, when the last version with the link was captured. With `at`, when the version
    /// of that time was captured. Anchor, URL and title are those of this version.
    #[schemars(example = &"2012-01-26T20:06:24.000Z")]
    pub fetch_time: String,
    /// Whether the page's current version contains such a link.
    pub is_current: bool,
}

/// Returns whether a field may be left out of JSON.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_every_condition() {
        let mut question = Inlinks::default();
        let check = |question: &Inlinks, match_type, expected: &str| {
            assert_eq!(question.command("*.example.org", match_type), expected);
        };
        check(&question, None, "weft inlinks '*.example.org'");
        question.filter = LinkFilter {
            external: true,
            from_domain: Some("museum.example".into()),
            anchor: Some("it's".into()),
            from: Some("2012".into()),
            to: Some("2014".into()),
        };
        question.at = Some("2015".into());
        question.ever = true;
        check(
            &question,
            Some(MatchType::Host),
            "weft inlinks '*.example.org' --match-type host --from-domain museum.example --anchor 'it'\\''s' \
             --from 2012 --to 2014 --at 2015 --external --ever",
        );
    }
}
