//! View `top`: URIs in rank order, overall and per domain: by `inlinks_external` descending,
//! `inlinks` descending, URL key ascending.
//!
//! A scope with few URIs has no stored ranking: its URIs are read and sorted. For a larger scope
//! the best URIs are in an index by **bucket**: a number that grows with the rank and changes only
//! at half-octaves of the counts, so most new in-links write nothing here. Reading sorts within a
//! bucket.
//!
//! Invariants of a scope's state, once it has an index:
//! - `histogram[b]` is the number of the scope's URIs in bucket `b`, for every `b`;
//! - exactly the URIs whose bucket is at least `floor` have an index row;
//! - the index has at most the wanted rows, or `floor` is above every bucket in use.
//!
//! The floor only rises. After links are removed it may be higher than needed. Reads below the
//! floor use the scope's URIs, so answers are always right.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use crate::bucket::inlinks_bucket;
use crate::codec::{self, Corrupt, Reader};
use crate::cut::{Cut, Row};
use crate::domain_of::{self, DomainOf};
use crate::error::SnapshotError;
use crate::tables::Table;
use crate::views::uris::{self, Counts, UriChange};
use crate::write::Write;

/// The URIs that are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope<'a> {
    All,
    Domain(&'a str),
}

/// A URI in rank order: `a < b` if `a` comes before `b`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ranked {
    pub(crate) counts: Counts,
    pub(crate) url_key: String,
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        let place = |r: &Ranked| (Reverse(r.counts.inlinks_external), Reverse(r.counts.inlinks));
        place(self)
            .cmp(&place(other))
            .then_with(|| self.url_key.cmp(&other.url_key))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Bucket of a URI: never falls when its rank rises. URIs without external in-links are below all
/// others.
fn bucket(counts: Counts) -> u8 {
    const EXTERNAL: u8 = 100;
    match counts.inlinks_external {
        0 => inlinks_bucket(counts.inlinks).min(EXTERNAL - 1),
        // A half-octave of a 64-bit count is at most 127.
        n => EXTERNAL + inlinks_bucket(n),
    }
}

/// State of a scope's index; empty until the scope is large.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RankingState {
    /// 0: no index.
    floor: u8,
    histogram: BTreeMap<u8, u64>,
}

impl RankingState {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.floor);
        if self.floor > 0 {
            for (&bucket, &count) in &self.histogram {
                out.push(bucket);
                codec::put_varint(out, count);
            }
        }
    }

    pub(crate) fn decode(r: &mut Reader<'_>) -> Result<RankingState, Corrupt> {
        let mut state = RankingState {
            floor: r.u8()?,
            histogram: BTreeMap::new(),
        };
        while !r.is_empty() {
            let bucket = r.u8()?;
            state.histogram.insert(bucket, r.varint()?);
        }
        Ok(state)
    }

    /// Returns a state for counting the URIs of a scope with [`RankingState::add`].
    pub(crate) fn counting() -> RankingState {
        RankingState {
            floor: 1,
            histogram: BTreeMap::new(),
        }
    }

    /// Counts a URI.
    pub(crate) fn add(&mut self, counts: Counts) {
        self.count(Some(counts), true);
    }

    /// Adds the counts of another state.
    pub(crate) fn add_all(&mut self, other: &RankingState) {
        for (&bucket, &count) in &other.histogram {
            *self.histogram.entry(bucket).or_default() += count;
        }
    }

    /// Returns the state of a scope whose `uris` were all counted. An existing index keeps its
    /// floor; a large scope without an index gets one.
    pub(crate) fn settled(self, stored: &RankingState, uris: u64, rows_max: u64) -> RankingState {
        if stored.floor == 0 && uris <= rows_max {
            return RankingState::default();
        }
        let mut now = RankingState {
            floor: stored.floor,
            ..self
        };
        if now.floor == 0 || now.rows() > rows_max {
            now.floor = now.lowest_floor(rows_max / 2);
        }
        now
    }

    /// Returns whether the scope has an index.
    pub(crate) fn is_kept(&self) -> bool {
        self.floor > 0
    }

    /// Key of the index row of a URI of the scope, if it has one.
    pub(crate) fn row(&self, scope: Scope<'_>, url_key: &str, counts: Counts) -> Option<Vec<u8>> {
        let bucket = bucket(counts);
        (self.floor > 0 && bucket >= self.floor).then(|| row_key(scope, bucket, url_key))
    }

    fn count(&mut self, counts: Option<Counts>, came: bool) {
        let Some(counts) = counts else { return };
        let bucket = bucket(counts);
        let count = self.histogram.entry(bucket).or_default();
        *count = if came { *count + 1 } else { count.saturating_sub(1) };
        if *count == 0 {
            self.histogram.remove(&bucket);
        }
    }

    /// Returns the lowest floor with at most `rows_max` rows.
    fn lowest_floor(&self, rows_max: u64) -> u8 {
        let mut rows = 0;
        for (&bucket, &count) in self.histogram.iter().rev() {
            rows += count;
            if rows > rows_max {
                return bucket + 1;
            }
        }
        1
    }

    fn rows(&self) -> u64 {
        self.histogram.range(self.floor..).map(|(_, &count)| count).sum()
    }
}

/// The state of a ranking and the rows of its index, recomputed for comparison from all URIs of the
/// scope.
#[derive(Debug)]
pub(crate) struct Recomputed<'s> {
    stored: &'s RankingState,
    histogram: BTreeMap<u8, u64>,
}

impl<'s> Recomputed<'s> {
    /// Returns `None` for a scope without an index.
    pub(crate) fn of(stored: &'s RankingState) -> Option<Recomputed<'s>> {
        (stored.floor > 0).then(|| Recomputed {
            stored,
            histogram: BTreeMap::new(),
        })
    }

    /// Counts a URI of the scope. Returns the key of its row, if it has one.
    pub(crate) fn uri(&mut self, scope: Scope<'_>, url_key: &str, counts: Counts) -> Option<Vec<u8>> {
        let bucket = bucket(counts);
        *self.histogram.entry(bucket).or_default() += 1;
        (bucket >= self.stored.floor).then(|| row_key(scope, bucket, url_key))
    }

    /// Returns whether the stored histogram equals that of the counted URIs.
    pub(crate) fn agrees(&self) -> bool {
        self.histogram == self.stored.histogram
    }
}

/// Updates a scope's index with the changes of its URIs, `uris_now` in number.
pub(crate) fn apply(
    cut: &Cut,
    write: &mut Write<'_>,
    scope: Scope<'_>,
    state: &mut RankingState,
    uris_now: u64,
    changes: &[&UriChange],
    rows_max: u64,
) -> Result<(), SnapshotError> {
    if state.floor == 0 {
        return if uris_now > rows_max {
            build(cut, write, scope, state, changes, rows_max)
        } else {
            Ok(())
        };
    }
    for change in changes {
        state.count(change.before, false);
        state.count(change.after, true);
    }
    let floor_before = state.floor;
    if state.rows() > rows_max {
        // Keeps half of the allowed rows, so that the floor does not have to rise again soon.
        state.floor = state.lowest_floor(rows_max / 2);
    }
    let mut gone = BTreeSet::new();
    // Rows of buckets below the new floor are removed; `gone` keeps a row that also changes from
    // being written twice.
    for risen in floor_before..state.floor {
        for row in cut.prefix(Table::Rankings, &bucket_prefix(scope, risen)) {
            gone.insert(row?.0.to_vec());
        }
    }
    for change in changes {
        let before = change.before.map(bucket).filter(|&b| b >= floor_before);
        let after = change.after.map(bucket).filter(|&b| b >= state.floor);
        if before == after {
            continue;
        }
        if let Some(bucket) = before {
            gone.insert(row_key(scope, bucket, &change.url_key));
        }
        if let Some(bucket) = after {
            write.put(Table::Rankings, row_key(scope, bucket, &change.url_key), []);
        }
    }
    for key in gone {
        write.remove(Table::Rankings, key);
    }
    Ok(())
}

/// Builds the index of a scope that has become large, from its old URIs and the changes of this
/// epoch.
fn build(
    cut: &Cut,
    write: &mut Write<'_>,
    scope: Scope<'_>,
    state: &mut RankingState,
    changes: &[&UriChange],
    rows_max: u64,
) -> Result<(), SnapshotError> {
    // Holds the whole scope in memory once: it has only just exceeded `rows_max` URIs.
    let mut now: BTreeMap<String, Counts> = BTreeMap::new();
    for uri in scan(cut, scope) {
        let uri = uri?;
        now.insert(uri.url_key, uri.counts);
    }
    for change in changes {
        match change.after {
            Some(counts) => now.insert(change.url_key.clone(), counts),
            None => now.remove(&change.url_key),
        };
    }
    for &counts in now.values() {
        state.count(Some(counts), true);
    }
    state.floor = state.lowest_floor(rows_max / 2);
    for (url_key, counts) in now {
        if bucket(counts) >= state.floor {
            write.put(Table::Rankings, row_key(scope, bucket(counts), &url_key), []);
        }
    }
    Ok(())
}

/// Returns the next `limit` URIs of a scope after `after`, in rank order.
pub(crate) fn read(
    cut: &Cut,
    scope: Scope<'_>,
    state: &RankingState,
    after: Option<&Ranked>,
    limit: usize,
) -> Result<Vec<Ranked>, SnapshotError> {
    let mut found = Vec::new();
    if state.floor > 0 {
        // Buckets order the whole; each bucket is sorted when it is read.
        let highest = after.map_or(u8::MAX, |after| bucket(after.counts));
        let indexed = state.histogram.range(state.floor..).rev();
        for (&bucket, _) in indexed.filter(|&(&bucket, _)| bucket <= highest) {
            if found.len() >= limit {
                break;
            }
            let mut members = read_bucket(cut, scope, bucket)?;
            members.retain(|uri| after.is_none_or(|after| uri > after));
            members.sort_unstable();
            found.extend(members);
        }
    }
    found.truncate(limit);
    if found.len() < limit {
        let below = |uri: &Ranked| state.floor == 0 || bucket(uri.counts) < state.floor;
        let rest = best_of(cut, scope, limit - found.len(), |uri| {
            below(uri) && after.is_none_or(|after| uri > after)
        })?;
        found.extend(rest);
    }
    Ok(found)
}

fn read_bucket(cut: &Cut, scope: Scope<'_>, bucket: u8) -> Result<Vec<Ranked>, SnapshotError> {
    let prefix = bucket_prefix(scope, bucket);
    let mut members = Vec::new();
    for row in cut.prefix(Table::Rankings, &prefix) {
        let (key, _) = row?;
        let url_key = cut.decode(Table::Rankings, &key, codec::to_text(&key[prefix.len()..]))?;
        let counts = uris::read(cut, &url_key)?.map(|uri| uri.counts);
        let counts = cut.decode(
            Table::Rankings,
            &key,
            counts.ok_or(Corrupt("ranked URI is missing")),
        )?;
        members.push(Ranked { counts, url_key });
    }
    Ok(members)
}

/// Returns the first `limit` URIs of a scope in rank order that satisfy `wanted`, by reading them
/// all.
fn best_of(
    cut: &Cut,
    scope: Scope<'_>,
    limit: usize,
    wanted: impl Fn(&Ranked) -> bool,
) -> Result<Vec<Ranked>, SnapshotError> {
    let mut best = BinaryHeap::new();
    for uri in scan(cut, scope) {
        let uri = uri?;
        if !wanted(&uri) {
            continue;
        }
        if best.len() < limit {
            best.push(uri);
        // A heap of `limit` entries, because the URIs of a scope might not fit into memory.
        } else if let Some(mut last) = best.peek_mut()
            && uri < *last
        {
            *last = uri;
        }
    }
    Ok(best.into_sorted_vec())
}

/// Returns all URIs of a scope, in key order within its ranges.
fn scan<'c>(cut: &'c Cut, scope: Scope<'c>) -> Box<dyn Iterator<Item = Result<Ranked, SnapshotError>> + 'c> {
    match scope {
        Scope::All => Box::new(uris::scan(cut).map(|row| ranked(cut, row?))),
        Scope::Domain(domain) => {
            let mut domain_of = DomainOf::default();
            let rows = domain_of::key_ranges(domain)
                .into_iter()
                .flat_map(|(from, to)| cut.range(Table::Uris, &from, &to));
            Box::new(rows.map(|row| ranked(cut, row?)).filter(move |uri| {
                uri.as_ref()
                    .map_or(true, |uri| *domain_of.get(&uri.url_key) == *domain)
            }))
        }
    }
}

fn ranked(cut: &Cut, (key, value): Row) -> Result<Ranked, SnapshotError> {
    let decoded = codec::to_text(&key).and_then(|url_key| {
        Ok(Ranked {
            counts: uris::decode_counts(&value)?.counts,
            url_key,
        })
    });
    cut.decode(Table::Uris, &key, decoded)
}

/// Scope, `\0`, bucket (highest first), URL key.
fn row_key(scope: Scope<'_>, bucket: u8, url_key: &str) -> Vec<u8> {
    let mut key = bucket_prefix(scope, bucket);
    key.extend_from_slice(url_key.as_bytes());
    key
}

fn bucket_prefix(scope: Scope<'_>, bucket: u8) -> Vec<u8> {
    let mut key = Vec::with_capacity(64);
    match scope {
        Scope::All => key.push(0),
        Scope::Domain(domain) => {
            key.push(1);
            key.extend_from_slice(domain.as_bytes());
            key.push(0);
        }
    }
    key.push(u8::MAX - bucket);
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn buckets_follow_the_rank(a in (0u64..60, 0u64..60), b in (0u64..60, 0u64..60)) {
            let ranked = |(external, more): (u64, u64)| Ranked {
                counts: Counts { inlinks: external + more, inlinks_external: external },
                url_key: String::new(),
            };
            let (a, b) = (ranked(a), ranked(b));
            if a < b {
                prop_assert!(bucket(a.counts) >= bucket(b.counts));
            }
        }
    }

    #[test]
    fn the_largest_counts_have_a_bucket() {
        let most = Counts {
            inlinks: u64::MAX,
            inlinks_external: u64::MAX,
        };
        assert_eq!(bucket(most), 100 + 127);
        assert_eq!(
            bucket(Counts {
                inlinks_external: 0,
                ..most
            }),
            99
        );
    }
}
