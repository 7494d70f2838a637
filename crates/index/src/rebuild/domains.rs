//! Rebuilds domains and rankings from the URIs.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::peeked::Peeked;
use super::{Failure, Rebuilder, Target, scratch};
use crate::codec;
use crate::cut::{Cut, Row};
use crate::domain_of::DomainOf;
use crate::error::SnapshotError;
use crate::sort::Sorter;
use crate::tables::Table;
use crate::views::domains::{self, DomainState};
use crate::views::rankings::{RankingState, Scope};
use crate::views::totals::TotalsRow;
use crate::views::uris::{self, UriState};

pub(super) fn rebuild(
    place: Target<'_>,
    cut: &Cut,
    rebuilder: &mut Rebuilder<'_, '_>,
    totals: &mut TotalsRow,
) -> Result<(), Failure> {
    rebuilder.begin(&[Table::Domains, Table::Rankings]);
    let (runs, all) = counted(place, cut)?;
    let (domains, large) = rebuild_domains(place, cut, rebuilder, runs)?;
    totals.ranking = all
        .ranking
        .settled(&totals.ranking, all.uris, place.ranking_rows_max);
    (totals.uris, totals.pages, totals.domains) = (all.uris, all.pages, domains);
    rebuild_rankings(place, cut, rebuilder, &totals.ranking, &large)
}

fn uri_of_row(cut: &Cut, (key, value): Row) -> Result<(String, UriState), SnapshotError> {
    let url_key = cut.decode(Table::Uris, &key, codec::to_text(&key))?;
    let uri = cut.decode(Table::Uris, &key, uris::decode_counts(&value))?;
    Ok((url_key, uri))
}

/// Counts the URIs of each domain in parts, with a row for each run of URIs of one domain, and all
/// of them together.
fn counted(place: Target<'_>, cut: &Cut) -> Result<(Sorter, DomainState), Failure> {
    let failed = scratch(place.dir);
    let none = || DomainState {
        ranking: RankingState::counting(),
        ..DomainState::default()
    };
    let (mut runs, mut all) = (Sorter::new(place.dir), none());
    let mut run: Option<(Arc<str>, DomainState)> = None;
    let mut domain_of = DomainOf::default();
    let mut end = |run: Option<(Arc<str>, DomainState)>| match run {
        None => Ok(()),
        Some((domain, state)) => {
            let mut row = domains::row_key(&domain);
            row.extend(domains::encode(&state));
            runs.push(&row)
        }
    };
    for row in uris::scan(cut) {
        let (url_key, uri) = uri_of_row(cut, row?)?;
        let domain = domain_of.get(&url_key);
        if run.as_ref().is_none_or(|(of, _)| *of != domain) {
            end(run.replace((domain, none()))).map_err(&failed)?;
        }
        let of_run = run.as_mut().map(|(_, state)| state);
        for state in of_run.into_iter().chain([&mut all]) {
            state.uris += 1;
            state.pages += u64::from(uri.is_page);
            state.inlinks_external += uri.counts.inlinks_external;
            state.ranking.add(uri.counts);
        }
    }
    end(run).map_err(&failed)?;
    Ok((runs, all))
}

/// Domains with a stored ranking.
type Large = FxHashMap<String, RankingState>;

/// Compares the rows of all domains. Returns their number, and the domains with a stored ranking.
fn rebuild_domains(
    place: Target<'_>,
    cut: &Cut,
    rebuilder: &mut Rebuilder<'_, '_>,
    runs: Sorter,
) -> Result<(u64, Large), Failure> {
    let failed = scratch(place.dir);
    let runs = runs.finish().map_err(&failed)?;
    let runs = runs.map(|row| decode_run(cut, &row.map_err(&failed)?));
    let mut runs = Peeked::of(runs)?;
    let mut stored = Peeked::of(cut.iter(Table::Domains).map(|row| {
        let (key, value) = row?;
        Ok((key.to_vec(), value))
    }))?;
    let (mut count, mut large) = (0, Large::default());
    while let Some(key) = runs.key().map(<[u8]>::to_vec) {
        while let Some(stray) = stored.take_before(Some(&key))? {
            rebuilder.remove(Table::Domains, stray);
            rebuilder.flush_if_full()?;
        }
        let mut state = DomainState {
            ranking: RankingState::counting(),
            ..DomainState::default()
        };
        while let Some(run) = runs.take(&key)? {
            state.uris += run.uris;
            state.pages += run.pages;
            state.inlinks_external += run.inlinks_external;
            state.ranking.add_all(&run.ranking);
        }
        let row = stored.take(&key)?;
        // An undecodable row counts as missing and is rewritten.
        let before = row
            .as_ref()
            .and_then(|row| domains::decode(row).ok())
            .unwrap_or_default();
        state.ranking = state
            .ranking
            .settled(&before.ranking, state.uris, place.ranking_rows_max);
        count += 1;
        rebuilder.compared(Table::Domains);
        let expected = domains::encode(&state);
        if row.as_deref() != Some(&expected[..]) {
            rebuilder.put(Table::Domains, key.as_slice(), expected);
        }
        if state.ranking.is_kept() {
            let domain = cut.decode(Table::Domains, &key, domains::domain_of_row(&key))?;
            large.insert(domain, state.ranking);
        }
        rebuilder.flush_if_full()?;
    }
    while let Some(stray) = stored.take_before(None)? {
        rebuilder.remove(Table::Domains, stray);
        rebuilder.flush_if_full()?;
    }
    Ok((count, large))
}

/// Splits a sorted row into the key of a domain, which ends with a NUL, and a part of its sums.
fn decode_run(cut: &Cut, row: &[u8]) -> Result<(Vec<u8>, DomainState), Failure> {
    let length = row
        .iter()
        .position(|byte| *byte == 0)
        .map_or(row.len(), |at| at + 1);
    let (key, state) = row.split_at(length);
    let state = cut.decode(Table::Domains, key, domains::decode(state))?;
    Ok((key.to_vec(), state))
}

fn rebuild_rankings(
    place: Target<'_>,
    cut: &Cut,
    rebuilder: &mut Rebuilder<'_, '_>,
    all: &RankingState,
    large: &Large,
) -> Result<(), Failure> {
    let failed = scratch(place.dir);
    let (mut expected, mut domain_of) = (Sorter::new(place.dir), DomainOf::default());
    for row in uris::scan(cut) {
        let (url_key, uri) = uri_of_row(cut, row?)?;
        let domain = domain_of.get(&url_key);
        let of_domain = large
            .get(&*domain)
            .and_then(|state| state.row(Scope::Domain(&domain), &url_key, uri.counts));
        let of_all = all.row(Scope::All, &url_key, uri.counts);
        for row in of_all.into_iter().chain(of_domain) {
            expected.push(&row).map_err(&failed)?;
        }
    }
    let mut stored = Peeked::of(cut.iter(Table::Rankings).map(|row| Ok((row?.0.to_vec(), ()))))?;
    for key in expected.finish().map_err(&failed)? {
        let key = key.map_err(&failed)?;
        while let Some(stray) = stored.take_before(Some(&key))? {
            rebuilder.remove(Table::Rankings, stray);
            rebuilder.flush_if_full()?;
        }
        rebuilder.compared(Table::Rankings);
        if stored.take(&key)?.is_none() {
            rebuilder.put(Table::Rankings, key, []);
        }
        rebuilder.flush_if_full()?;
    }
    while let Some(stray) = stored.take_before(None)? {
        rebuilder.remove(Table::Rankings, stray);
        rebuilder.flush_if_full()?;
    }
    Ok(())
}
