//! View `domains`: one row for each registered domain of a URI.
//!
//! Definition: `uris` is the number of its URIs, `pages` the number of these whose current version
//! is a page, and `inlinks_external` the sum over its URIs. A domain without URIs has no row. The
//! row also holds the state of the domain's ranking (see [`super::rankings`]).

use system::holds;

use crate::codec::{self, Corrupt, Reader};
use crate::cut::{Cut, Rows};
use crate::error::SnapshotError;
use crate::tables::Table;
use crate::views::rankings::{self, RankingState, Scope};
use crate::views::uris::UriChange;
use crate::write::Write;

const ROW_VERSION: u8 = 1;

/// Counts of a domain, and its ranking.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct DomainState {
    pub(crate) uris: u64,
    pub(crate) pages: u64,
    pub(crate) inlinks_external: u64,
    pub(crate) ranking: RankingState,
}

/// Numbers of added and removed domains.
#[derive(Debug, Default)]
pub(crate) struct DomainChanges {
    pub(crate) new: u64,
    pub(crate) gone: u64,
}

/// Applies URI changes to their domains and the domains' rankings.
pub(crate) fn apply(
    cut: &Cut,
    write: &mut Write<'_>,
    uris: &[UriChange],
    ranking_rows_max: u64,
) -> Result<DomainChanges, SnapshotError> {
    // Sorted by key, the URIs of a domain are mostly adjacent, so sorting the runs is cheap.
    let mut runs: Vec<&[UriChange]> = uris.chunk_by(|a, b| a.domain == b.domain).collect();
    runs.sort_by(|a, b| a[0].domain.cmp(&b[0].domain));
    let mut moved = DomainChanges::default();
    let mut changes: Vec<&UriChange> = Vec::new();
    for group in runs.chunk_by(|a, b| a[0].domain == b[0].domain) {
        let domain = &group[0][0].domain;
        changes.clear();
        changes.extend(group.iter().copied().flatten());
        let key = row_key(domain);
        let before = read(cut, domain)?;
        let mut now = before.clone().unwrap_or_default();
        for change in &changes {
            count(&mut now, change)?;
        }
        let scope = Scope::Domain(domain);
        rankings::apply(
            cut,
            write,
            scope,
            &mut now.ranking,
            now.uris,
            &changes,
            ranking_rows_max,
        )?;
        moved.new += u64::from(before.is_none() && now.uris > 0);
        moved.gone += u64::from(before.is_some() && now.uris == 0);
        if now.uris > 0 {
            if before.as_ref() != Some(&now) {
                write.put(Table::Domains, key, encode(&now));
            }
        } else if before.is_some() {
            write.remove(Table::Domains, key);
        }
    }
    Ok(moved)
}

fn count(now: &mut DomainState, change: &UriChange) -> Result<(), SnapshotError> {
    let shift = |value: u64, before: u64, after: u64| -> Result<u64, SnapshotError> {
        let shifted = (value + after).checked_sub(before);
        holds!(
            "index.domain_counts",
            shifted.is_some(),
            "{}: {before} are removed from {value} and {after} new ones",
            change.domain
        );
        Ok(shifted.unwrap_or_default())
    };
    let is_page_before = change.before.is_some() && change.was_page;
    let is_page_after = change.after.is_some() && change.is_page;
    now.uris = shift(
        now.uris,
        u64::from(change.before.is_some()),
        u64::from(change.after.is_some()),
    )?;
    now.pages = shift(now.pages, u64::from(is_page_before), u64::from(is_page_after))?;
    now.inlinks_external = shift(
        now.inlinks_external,
        change.before.map_or(0, |c| c.inlinks_external),
        change.after.map_or(0, |c| c.inlinks_external),
    )?;
    Ok(())
}

/// Key of a domain's row: the name followed by a NUL, so that no key is empty.
pub(crate) fn row_key(domain: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(domain.len() + 1);
    key.extend_from_slice(domain.as_bytes());
    key.push(0);
    key
}

pub(crate) fn domain_of_row(key: &[u8]) -> Result<String, Corrupt> {
    let (_, name) = key.split_last().ok_or(Corrupt("key is too short"))?;
    codec::to_text(name)
}

pub(crate) fn read(cut: &Cut, domain: &str) -> Result<Option<DomainState>, SnapshotError> {
    let key = row_key(domain);
    cut.get(Table::Domains, &key)?
        .map(|row| cut.decode(Table::Domains, &key, decode(&row)))
        .transpose()
}

/// Returns the rows of all domains after `after`.
pub(crate) fn scan(cut: &Cut, after: Option<&str>) -> Rows {
    match after {
        None => cut.iter(Table::Domains),
        Some(after) => {
            let mut from = row_key(after);
            from.push(0);
            cut.from(Table::Domains, &from)
        }
    }
}

pub(crate) fn encode(domain: &DomainState) -> Vec<u8> {
    let mut out = vec![ROW_VERSION];
    codec::put_varint(&mut out, domain.uris);
    codec::put_varint(&mut out, domain.pages);
    codec::put_varint(&mut out, domain.inlinks_external);
    domain.ranking.encode(&mut out);
    out
}

pub(crate) fn decode(row: &[u8]) -> Result<DomainState, Corrupt> {
    let mut r = Reader::versioned(row, ROW_VERSION)?;
    Ok(DomainState {
        uris: r.varint()?,
        pages: r.varint()?,
        inlinks_external: r.varint()?,
        ranking: RankingState::decode(&mut r)?,
    })
}
