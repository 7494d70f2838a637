//! Links to a page, counted by the domain that they come from, each domain with some of its links.

use std::cmp::Reverse;

use archive::question::{Inlinks, LinkCountRow, LinkCounts, LinkCountsBody, LinkGrouping, LinkRow};
use maud::{Markup, html};

use super::archived::ArchivedView;
use super::links::{self, Side};
use super::parts;
use crate::{link, present};

/// Number of links that are returned with their anchors.
const LINKS: usize = 200;
/// Maximum number of domains shown.
const DOMAINS: usize = 12;
/// Maximum number of links shown of a domain.
const LINKS_OF_DOMAIN: usize = 3;

/// The links to a page.
pub(super) struct Linking {
    /// Number of links of each domain, and the first links, sorted by the key of their source.
    pub(super) counts: LinkCountsBody,
    /// Number of all links.
    pub(super) total: u64,
}

/// The links from one domain.
struct Group<'a> {
    counted: &'a LinkCountRow,
    /// Those that are among the first links.
    links: &'a [LinkRow],
}

/// Returns the question whose answer has the counts of a [`Linking`].
pub(super) fn question(url: &str) -> LinkCounts {
    LinkCounts {
        links: Inlinks {
            url: url.to_owned(),
            ..Inlinks::default()
        },
        by: LinkGrouping::Domain,
        first_links: LINKS,
    }
}

impl Linking {
    /// Returns the domains that are shown: other domains than the page's first, then those with the
    /// most links.
    fn by_domain(&self) -> Vec<Group<'_>> {
        let mut counts: Vec<&LinkCountRow> = self.counts.rows.iter().collect();
        // They are sorted by the number of links, and equal ones keep their order.
        counts.sort_by_key(|counted| Reverse(counted.links_external > 0));
        let shown = counts.into_iter().take(DOMAINS);
        shown
            .map(|counted| Group {
                counted,
                links: self.links_of(counted),
            })
            .collect()
    }

    fn links_of(&self, counted: &LinkCountRow) -> &[LinkRow] {
        let mut groups = self
            .counts
            .first_links
            .chunk_by(|a, b| urlkey::same_domain(&a.source_key, &b.source_key));
        let is_counted = |row: &LinkRow| urlkey::domain_of_key(&row.source_key) == counted.value;
        let found = groups.find(|links| links.first().is_some_and(is_counted));
        found.unwrap_or_default()
    }
}

/// Shows the links to `url` by domain, with anchors.
pub(super) fn list(url: &str, linking: &Linking, view: ArchivedView) -> Markup {
    let more = linking.counts.rows.len().saturating_sub(DOMAINS) as u64;
    let all = link::with("/page/inlinks", &[("url", Some(url)), ("by", Some("domain"))]);
    html! {
        @if linking.counts.next.is_some() {
            p.soft {
                "By domain: the first " (present::count(linking.counts.links)) " of " (present::count(linking.total))
                " links, in the order of URLs."
            }
        }
        ul.linking { @for group in linking.by_domain() { li { (one(url, &group, view)) } } }
        @if more > 0 { p { a.more href=(all) { (present::counted(more, "more domain", "more domains")) } } }
    }
}

fn one(url: &str, group: &Group<'_>, view: ArchivedView) -> Markup {
    let domain = group.counted.value.as_str();
    let shown = group.links.get(..LINKS_OF_DOMAIN).unwrap_or(group.links);
    let more = group.counted.links.saturating_sub(shown.len() as u64);
    let all = link::with(
        "/page/inlinks",
        &[("url", Some(url)), ("from_domain", Some(domain))],
    );
    html! {
        p.from {
            @if domain.is_empty() { span.soft { "no domain" } } @else { a href=(link::domain(domain)) { (parts::url_text(domain)) } }
            span.amount { (present::counted(group.counted.links, "link", "links")) }
        }
        @if !shown.is_empty() { (links::list(shown, Side::Source, view)) }
        @if more > 0 && !domain.is_empty() {
            p { a.more href=(all) { "All links of this domain" span.hidden { " " (parts::url_text(domain)) } } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(source_key: &str) -> LinkRow {
        LinkRow {
            source_key: source_key.into(),
            source_url: format!("http://{source_key}/"),
            anchor: format!("anchor of {source_key}"),
            ..LinkRow::default()
        }
    }

    fn linking(counts: &[(&str, u64, u64)], keys: &[&str]) -> Linking {
        let counted = |(domain, links, links_external): &(&str, u64, u64)| LinkCountRow {
            value: (*domain).to_owned(),
            links: *links,
            links_external: *links_external,
            ..LinkCountRow::default()
        };
        Linking {
            counts: LinkCountsBody {
                rows: counts.iter().map(counted).collect(),
                links: 10_000,
                total: None,
                next: None,
                first_links: keys.iter().map(|key| row(key)).collect(),
            },
            total: 12_000,
        }
    }

    fn shown(linking: &Linking) -> String {
        list("http://own.com/", linking, ArchivedView::Sandbox).into_string()
    }

    #[test]
    fn other_domains_come_first_and_have_their_links() {
        let counts = [("own.com", 30, 0), ("b.org", 7, 7), ("z.net", 2, 2)];
        let keys = ["com,own)/1", "org,b)/1", "org,b,www)/2"];
        let linking = linking(&counts, &keys);
        let groups: Vec<_> = linking
            .by_domain()
            .iter()
            .map(|group| (group.counted.value.as_str(), group.links.len()))
            .collect();
        assert_eq!(groups, [("b.org", 2), ("z.net", 0), ("own.com", 1)]);
    }

    #[test]
    fn what_is_not_shown_is_counted_and_a_click_away() {
        let keys: Vec<String> = (0..5).map(|n| format!("com,a)/{n}")).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let mut few = linking(&[("a.com", 5, 5)], &keys);
        let html = shown(&few);
        let all = "/page/inlinks?url=http%3A%2F%2Fown.com%2F&amp;from_domain=a.com";
        assert!(html.contains(all) && html.contains("5 links"), "{html}");
        assert!(
            html.contains("anchor of com,a)/2") && !html.contains("anchor of com,a)/3"),
            "{html}"
        );
        assert!(!html.contains("By domain:"), "{html}");
        few.counts.next = Some("x".into());
        let html = shown(&few);
        assert!(html.contains("the first 10,000 of 12,000 links"), "{html}");
        few.counts.rows = vec![
            LinkCountRow {
                links: 1,
                ..LinkCountRow::default()
            };
            20
        ];
        let html = shown(&few);
        assert!(
            html.contains("8 more domains") && html.contains("no domain"),
            "{html}"
        );
    }
}
