//! Links to a page, grouped by the domain that they come from.

use std::cmp::Reverse;

use archive::question::LinkRow;
use maud::{Markup, html};

use super::archived::ArchivedView;
use super::links::{self, Side};
use super::parts;
use crate::{link, present};

/// Number of links that are grouped.
pub(super) const LINKS: usize = 200;
/// Maximum number of domains shown.
const DOMAINS: usize = 12;
/// Number of links of a domain that are shown without a click.
const LINKS_OPEN: usize = 3;

/// The links from one domain.
struct Group<'a> {
    domain: String,
    links: &'a [LinkRow],
}

impl Group<'_> {
    /// Returns whether the links come from other domains than the page's.
    fn is_external(&self) -> bool {
        self.links.iter().any(|row| row.external)
    }
}

/// Groups links, which are sorted by the key of their source. Other domains come first, then those
/// with the most links.
fn by_domain(rows: &[LinkRow]) -> Vec<Group<'_>> {
    let domain = |row: &LinkRow| urlkey::domain_key_of_key(&row.source_key).to_owned();
    let groups = rows.chunk_by(|a, b| domain(a) == domain(b));
    let mut groups: Vec<Group<'_>> = groups
        .map(|links| Group {
            domain: links.first().map(name).unwrap_or_default(),
            links,
        })
        .collect();
    groups.sort_by_key(|group| (Reverse(group.is_external()), Reverse(group.links.len())));
    groups
}

/// Returns the domain of a link's source, or its key if the key has no domain.
fn name(row: &LinkRow) -> String {
    match urlkey::domain_of_key(&row.source_key) {
        domain if domain.is_empty() => row.source_key.clone(),
        domain => domain,
    }
}

/// Shows links by domain, each with its anchor. `total` is the number of all links.
pub(super) fn list(rows: &[LinkRow], total: u64, view: ArchivedView) -> Markup {
    let groups = by_domain(rows);
    let more = groups.len().saturating_sub(DOMAINS) as u64;
    html! {
        @if total > rows.len() as u64 {
            p.soft { "The first " (present::count(rows.len() as u64)) " of " (present::count(total)) " links in the order of URLs, by domain." }
        }
        ul.linking { @for group in groups.iter().take(DOMAINS) { li { (one(group, view)) } } }
        @if more > 0 { p.soft { "and " (present::counted(more, "more domain", "more domains")) } }
    }
}

fn one(group: &Group<'_>, view: ArchivedView) -> Markup {
    let (open, folded) = group.links.split_at(group.links.len().min(LINKS_OPEN));
    html! {
        p.from {
            a href=(link::domain(&group.domain)) { (parts::url_text(&group.domain)) }
            span.amount { (present::counted(group.links.len() as u64, "link", "links")) }
        }
        (links::list(open, Side::Source, view))
        @if !folded.is_empty() {
            details {
                summary { (present::counted(folded.len() as u64, "more link", "more links")) " of this domain" }
                (links::list(folded, Side::Source, view))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(source_key: &str, external: bool) -> LinkRow {
        LinkRow {
            source_key: source_key.into(),
            source_url: format!("http://{source_key}/"),
            anchor: format!("anchor of {source_key}"),
            external,
            ..LinkRow::default()
        }
    }

    #[test]
    fn other_domains_come_first_then_those_with_most_links() {
        let rows = [
            row("com,a)/", true),
            row("com,own)/1", false),
            row("com,own)/2", false),
            row("com,own)/3", false),
            row("org,b)/1", true),
            row("org,b,www)/2", true),
        ];
        let groups = by_domain(&rows);
        let shown: Vec<_> = groups
            .iter()
            .map(|group| (group.domain.as_str(), group.links.len()))
            .collect();
        assert_eq!(shown, [("b.org", 2), ("a.com", 1), ("own.com", 3)]);
    }

    #[test]
    fn many_links_of_a_domain_are_folded_and_parts_are_named() {
        let rows: Vec<_> = (0..5).map(|n| row(&format!("com,a)/{n}"), true)).collect();
        let html = list(&rows, 5, ArchivedView::Sandbox).into_string();
        assert!(html.contains("2 more links of this domain"), "{html}");
        assert!(
            html.contains("anchor of com,a)/4") && !html.contains("The first"),
            "{html}"
        );
        let html = list(&rows, 1_000, ArchivedView::Sandbox).into_string();
        assert!(html.contains("The first 5 of 1,000 links"), "{html}");
        let rows: Vec<_> = (0..20).map(|n| row(&format!("com,a{n})/"), true)).collect();
        let html = list(&rows, 20, ArchivedView::Sandbox).into_string();
        assert!(html.contains("and 8 more domains"), "{html}");
    }
}
