//! Counts links by anchor text, domain, page, URL linked to, or month.
//!
//! One answer counts the links of one part of the list, as many as one answer may look at. Counts of
//! several parts are added by the client, so neither memory nor time depends on the number of links.

use rustc_hash::FxHashMap;
use urlkey::domain_of_key;

use super::basis::LookUps;
use super::links::inlinks;
use crate::AskError;
use crate::question::{Inlinks, LinkCountRow, LinkCounts, LinkCountsBody, LinkGrouping, LinkRow};

/// Number of links counted in one answer at most.
const COUNTED_MAX: usize = 10_000;

/// Length of `2014-01` in `2014-01-26T20:06:24.000Z`.
const MONTH_BYTES: usize = 7;

pub(super) fn link_counts(basis: &LookUps<'_>, question: &LinkCounts) -> Result<LinkCountsBody, AskError> {
    let mut part = inlinks(
        basis,
        &Inlinks {
            limit: COUNTED_MAX,
            ..question.links.clone()
        },
    )?;
    let mut groups: FxHashMap<String, LinkCountRow> = FxHashMap::default();
    for row in &part.rows {
        let group = groups.entry(value(row, question.by)).or_default();
        count(group, row);
    }
    let named = |(value, row)| LinkCountRow { value, ..row };
    let mut rows: Vec<LinkCountRow> = groups.into_iter().map(named).collect();
    LinkCountRow::sort(&mut rows);
    let is_whole = question.links.after.is_none() && part.next.is_none();
    let links = part.rows.len() as u64;
    part.rows.truncate(question.first_links);
    Ok(LinkCountsBody {
        total: is_whole.then_some(rows.len() as u64),
        rows,
        links,
        next: part.next,
        first_links: part.rows,
    })
}

/// Returns the group of a link.
fn value(row: &LinkRow, by: LinkGrouping) -> String {
    let url_or_key = |url: &str, key: &str| {
        if url.is_empty() {
            key.to_owned()
        } else {
            url.to_owned()
        }
    };
    match by {
        LinkGrouping::Anchor => row.anchor.trim().to_owned(),
        LinkGrouping::Domain => domain_of_key(&row.source_key),
        LinkGrouping::Page => url_or_key(&row.source_url, &row.source_key),
        LinkGrouping::Target => url_or_key(&row.target_url, &row.target_key),
        LinkGrouping::Month => times(row).0.get(..MONTH_BYTES).unwrap_or_default().to_owned(),
    }
}

/// Returns the first and the last capture time of the page with a link.
fn times(row: &LinkRow) -> (&str, &str) {
    match &row.version {
        Some(version) => (&version.first_seen, &version.fetch_time),
        None => {
            let time = row.source_fetch_time.as_deref().unwrap_or_default();
            (time, time)
        }
    }
}

fn count(group: &mut LinkCountRow, row: &LinkRow) {
    let (first, last) = times(row);
    group.add(&LinkCountRow {
        value: String::new(),
        links: 1,
        links_external: u64::from(row.external),
        first: first.to_owned(),
        last: last.to_owned(),
    });
}
