//! Rebuilds URIs, their in-links, and the keys of sources from captures, versions and links.

use std::collections::BTreeMap;
use std::path::Path;

use super::peeked::Peeked;
use super::{CHANGES_MAX, Failure, RebuildError, Rebuilder, Target, scratch};
use crate::bucket::inlinks_bucket;
use crate::codec::{self, Corrupt};
use crate::cut::Cut;
use crate::domain_of::DomainOf;
use crate::epoch::PageChange;
use crate::ids::Epoch;
use crate::sort::{Sorted, Sorter};
use crate::tables::Table;
use crate::views::anchors::{self, AnchorCounts, Anchors, Host};
use crate::views::inlinks::{self, Sources};
use crate::views::sources::{self, SourceId};
use crate::views::totals::TotalsRow;
use crate::views::uris::{self, Counts, INLINE_MAX, UriState};
use crate::views::{capture_key, links, version_row};

/// Size of a source's number in sortable form.
const ID_BYTES: usize = 12;

pub(super) fn rebuild(
    place: Target<'_>,
    cut: &Cut,
    rebuilder: &mut Rebuilder<'_, '_>,
    totals: &mut TotalsRow,
) -> Result<(), Failure> {
    rebuilder.begin(&[Table::Uris, Table::Inlinks, Table::Anchors, Table::Sources]);
    let read = read_links(place.dir, cut)?;
    totals.links = read.links;
    // `next_number` must be above every number in use. An interrupted run may have assigned numbers
    // that no totals row includes.
    let last = cut.iter(Table::Inlinks).next_back().transpose()?;
    let after_last = last.map_or(0, |(key, _)| number_of(&key).map_or(0, |number| number + 1));
    totals.next_number = totals.next_number.max(after_last);
    let failed = scratch(place.dir);
    let used = Uris {
        cut,
        rebuilder,
        next_number: &mut totals.next_number,
        used: Sorter::new(place.dir),
        dir: place.dir,
    }
    .rebuild(read.by_target.finish().map_err(&failed)?)?;
    let used = used.finish().map_err(&failed)?;
    remove_unused(cut, rebuilder, used, place.dir)?;
    rebuild_sources(
        cut,
        rebuilder,
        read.by_source.finish().map_err(&failed)?,
        place.dir,
    )
}

/// The links in other orders.
struct Links {
    /// Target, `\0`, number of the source, whether it is of another domain, its host, anchor text.
    by_target: Sorter,
    /// Number of the source, its key.
    by_source: Sorter,
    links: u64,
}

fn untrusted(table: Table, key: &[u8], detail: &'static str) -> Failure {
    Failure::Rebuild(RebuildError::Untrusted {
        table: table.name(),
        key: key.escape_ascii().to_string(),
        detail,
    })
}

/// Reads all links. Every version must have exactly the links that it counts.
fn read_links(dir: &Path, cut: &Cut) -> Result<Links, Failure> {
    let failed = scratch(dir);
    let mut read = Links {
        by_target: Sorter::new(dir),
        by_source: Sorter::new(dir),
        links: 0,
    };
    let (mut domain_of_source, mut domain_of_target) = (DomainOf::default(), DomainOf::default());
    let mut stored = Peeked::of(cut.iter(Table::Links).map(|row| {
        let (key, value) = row?;
        Ok((key.to_vec(), value))
    }))?;
    let stray = "links without a version";
    for row in cut.iter(Table::Versions) {
        let (key, value) = row?;
        if let Some(before) = stored.take_before(Some(&key))? {
            return Err(untrusted(Table::Versions, &before, stray));
        }
        let decoded = codec::to_text(&key).and_then(|url_key| {
            let version = version_row::decode(&url_key, &value)?;
            Ok((url_key, version.links))
        });
        let (url_key, count) = cut.decode(Table::Versions, &key, decoded)?;
        let Some(row) = stored.take(&key)? else {
            match count {
                0 => continue,
                _ => {
                    return Err(untrusted(
                        Table::Links,
                        &key,
                        "the links of a version are missing",
                    ));
                }
            }
        };
        let (id, _) = cut.decode(Table::Links, &key, links::split_head(&row))?;
        let links = links::read_row(cut, &key, &row, |_| true)?;
        if links.len() as u64 != u64::from(count) {
            return Err(untrusted(
                Table::Links,
                &key,
                "a version has the wrong number of links",
            ));
        }
        read.links += u64::from(count);
        let id = sortable(id);
        let by_source = [&id, url_key.as_bytes()].concat();
        read.by_source.push(&by_source).map_err(&failed)?;
        let (domain, host) = (
            domain_of_source.get(&url_key),
            anchors::host_of(&url_key).to_be_bytes(),
        );
        for link in links {
            let external = u8::from(domain_of_target.get(&link.url_key) != domain);
            let anchor = anchors::cut(&link.anchor).as_bytes();
            let row = [link.url_key.as_bytes(), &[0], &id, &[external], &host, anchor].concat();
            read.by_target.push(&row).map_err(&failed)?;
        }
    }
    match stored.take_before(None)? {
        Some(key) => Err(untrusted(Table::Versions, &key, stray)),
        None => Ok(read),
    }
}

fn sortable(id: SourceId) -> [u8; ID_BYTES] {
    let mut bytes = [0; ID_BYTES];
    bytes[..8].copy_from_slice(&id.epoch.0.to_be_bytes());
    bytes[8..].copy_from_slice(&id.place.to_be_bytes());
    bytes
}

fn of_sortable(bytes: &[u8]) -> Option<SourceId> {
    let (epoch, place) = bytes.split_first_chunk::<8>()?;
    Some(SourceId {
        epoch: Epoch(u64::from_be_bytes(*epoch)),
        place: u32::from_be_bytes(place.try_into().ok()?),
    })
}

/// Decodes a link as [`read_links`] encodes it after the target: source, whether it is external,
/// host, anchor text.
fn link_of(bytes: &[u8]) -> Option<(SourceId, bool, Host, &str)> {
    let (id, rest) = bytes.split_at_checked(ID_BYTES)?;
    let (external, rest) = rest.split_first()?;
    let (host, anchor) = rest.split_first_chunk()?;
    let anchor = std::str::from_utf8(anchor).ok()?;
    Some((
        of_sortable(id)?,
        *external != 0,
        u32::from_be_bytes(*host),
        anchor,
    ))
}

/// Number of the URI that a row of `inlinks` or `anchors` belongs to.
fn number_of(key: &[u8]) -> Option<u64> {
    key.first_chunk().map(|number| u64::from_be_bytes(*number))
}

/// The URIs being compared.
struct Uris<'a, 'r, 't> {
    cut: &'a Cut,
    rebuilder: &'a mut Rebuilder<'r, 't>,
    next_number: &'a mut u64,
    /// Numbers of URIs with rows in `inlinks`.
    used: Sorter,
    dir: &'a Path,
}

impl Uris<'_, '_, '_> {
    /// Compares all URIs and returns the numbers in use.
    fn rebuild(mut self, targets: Sorted) -> Result<Sorter, Failure> {
        let (cut, failed) = (self.cut, scratch(self.dir));
        let mut captured = Peeked::of(cut.iter(Table::Captures).map(|row| {
            let (key, _) = row?;
            let url_key = cut.decode(Table::Captures, &key, capture_key::url_key_of_row(&key))?;
            Ok((url_key.to_vec(), ()))
        }))?;
        let mut versions = Peeked::of(cut.iter(Table::Versions).map(|row| {
            let (key, value) = row?;
            let decoded = codec::to_text(&key).and_then(|url_key| version_row::decode(&url_key, &value));
            let version = cut.decode(Table::Versions, &key, decoded)?;
            Ok((key.to_vec(), (version.is_page, version.is_document)))
        }))?;
        let mut targets = Peeked::of(targets.map(|row| Ok(split_target(row.map_err(&failed)?))))?;
        let mut stored = Peeked::of(cut.iter(Table::Uris).map(|row| {
            let (key, value) = row?;
            Ok((key.to_vec(), value))
        }))?;
        loop {
            let keys = [captured.key(), versions.key(), targets.key()];
            let least = keys.into_iter().flatten().min().map(<[u8]>::to_vec);
            while let Some(stray) = stored.take_before(least.as_deref())? {
                self.rebuilder.remove(Table::Uris, stray);
                self.rebuilder.flush_if_full()?;
            }
            let Some(key) = least else { break };
            let mut uri = UriState::default();
            while captured.take(&key)?.is_some() {
                uri.captured = true;
            }
            if let Some((is_page, is_document)) = versions.take(&key)? {
                if !uri.captured {
                    return Err(untrusted(Table::Captures, &key, "a version without a capture"));
                }
                (uri.is_page, uri.is_document) = (is_page, is_document);
            }
            let (mut ids, mut anchor_counts) = (Vec::new(), AnchorCounts::new());
            while let Some(source) = targets.take(&key)? {
                let Some((id, external, host, anchor)) = link_of(&source) else {
                    continue;
                };
                ids.push(id);
                uri.counts.inlinks += 1;
                uri.counts.inlinks_external += u64::from(external);
                if !anchor.is_empty() {
                    *anchor_counts.entry((anchor.to_owned(), host)).or_default() += 1;
                }
            }
            let row = stored.take(&key)?;
            self.rebuild_one(&key, uri, (ids, anchor_counts), row.as_deref())?;
            self.rebuilder.flush_if_full()?;
        }
        Ok(self.used)
    }

    /// Compares one URI with its expected state, given its sources, sorted, and their anchor texts.
    fn rebuild_one(
        &mut self,
        key: &[u8],
        mut uri: UriState,
        (ids, anchor_counts): (Vec<SourceId>, AnchorCounts),
        row: Option<&[u8]>,
    ) -> Result<(), Failure> {
        self.rebuilder.compared(Table::Uris);
        // An undecodable row counts as missing and is rewritten.
        let before = row.and_then(|row| uris::decode(row).ok());
        let number = match before.as_ref().and_then(|before| before.sources.number()) {
            None if ids.len() > INLINE_MAX => {
                *self.next_number += 1;
                Some(*self.next_number - 1)
            }
            number => number,
        };
        let was_spilled = before
            .as_ref()
            .is_some_and(|before| before.anchors == Anchors::Spilled);
        let (inline, spilled) = if was_spilled || anchor_counts.len() > anchors::INLINE_MAX {
            (Anchors::Spilled, anchor_counts)
        } else {
            (Anchors::Inline(anchor_counts), AnchorCounts::new())
        };
        uri.anchors = inline;
        let mut is_said_otherwise = before.as_ref().is_none_or(|before| before.anchors != uri.anchors);
        uri.sources = match number {
            Some(number) => {
                self.mend_inlinks(number, &ids)?;
                is_said_otherwise |= self.rebuild_anchors(number, &spilled)?;
                Sources::Spilled(number)
            }
            None => Sources::Inline(ids),
        };
        let expected = uris::encode(&uri);
        if row != Some(&expected[..]) {
            self.rebuilder.put(Table::Uris, key, expected);
        }
        let counts = before.map_or(Counts::default(), |before| before.counts);
        self.report(key, &uri, counts, is_said_otherwise)
    }

    /// Compares the rows of anchors of a URI with a number. Returns whether any was wrong.
    fn rebuild_anchors(&mut self, number: u64, anchor_counts: &AnchorCounts) -> Result<bool, Failure> {
        let mut stored = anchors::rows::stored(self.cut, number)?;
        let mut is_other = false;
        for (key, expected) in anchors::rows::of(number, anchor_counts) {
            self.rebuilder.compared(Table::Anchors);
            if stored.remove(&key).as_ref() != Some(&expected) {
                self.rebuilder.put(Table::Anchors, key, expected);
                is_other = true;
            }
        }
        is_other |= !stored.is_empty();
        for key in stored.into_keys() {
            self.rebuilder.remove(Table::Anchors, key);
        }
        Ok(is_other)
    }

    /// Compares the rows of a URI with many in-links.
    fn mend_inlinks(&mut self, number: u64, ids: &[SourceId]) -> Result<(), Failure> {
        let failed = scratch(self.dir);
        self.used.push(&number.to_be_bytes()).map_err(&failed)?;
        let mut stored = BTreeMap::new();
        for row in self.cut.prefix(Table::Inlinks, &number.to_be_bytes()) {
            let (key, value) = row?;
            stored.insert(key.to_vec(), value);
        }
        for of_epoch in ids.chunk_by(|a, b| a.epoch == b.epoch) {
            let key = inlinks::row_key(number, of_epoch[0].epoch);
            let expected = inlinks::encode_places(of_epoch.iter().map(|id| id.place));
            self.rebuilder.compared(Table::Inlinks);
            let before = stored.remove(&key[..]);
            if before.as_deref() != Some(&expected[..]) {
                self.rebuilder.put(Table::Inlinks, key, expected);
            }
        }
        for key in stored.into_keys() {
            self.rebuilder.remove(Table::Inlinks, key);
        }
        Ok(())
    }

    /// Reports to search that the in-links or anchor texts of a page or document changed.
    fn report(
        &mut self,
        key: &[u8],
        uri: &UriState,
        before: Counts,
        is_said_otherwise: bool,
    ) -> Result<(), Failure> {
        let bucket = inlinks_bucket(uri.counts.inlinks_external);
        let is_other = is_said_otherwise || bucket != inlinks_bucket(before.inlinks_external);
        if (uri.is_page || uri.is_document) && is_other && self.rebuilder.changes.len() <= CHANGES_MAX {
            let url_key = self.cut.decode(Table::Uris, key, codec::to_text(key))?;
            self.rebuilder.changed(if is_said_otherwise {
                PageChange::Anchors(url_key)
            } else {
                PageChange::Bucket(url_key, bucket)
            });
        }
        Ok(())
    }
}

/// Splits a sorted row into the key of the target and the rest.
fn split_target(mut row: Vec<u8>) -> (Vec<u8>, Vec<u8>) {
    // NUL separates the parts: no key contains it.
    let end = row.iter().position(|&byte| byte == 0).unwrap_or(row.len());
    let mut rest = row.split_off(end);
    rest.drain(..rest.len().min(1));
    (row, rest)
}

/// Removes rows of in-links and anchors whose numbers no URI has.
fn remove_unused(
    cut: &Cut,
    rebuilder: &mut Rebuilder<'_, '_>,
    used: Sorted,
    dir: &Path,
) -> Result<(), Failure> {
    let failed = scratch(dir);
    // Sorted by number, like the rows of both tables.
    let mut used = Peeked::of(used.map(|number| Ok((number.map_err(&failed)?, ()))))?;
    let (mut inlinks, mut anchors) = (
        rows_by_number(cut, Table::Inlinks)?,
        rows_by_number(cut, Table::Anchors)?,
    );
    loop {
        let next = used.key().map(<[u8]>::to_vec);
        for (table, rows) in [(Table::Inlinks, &mut inlinks), (Table::Anchors, &mut anchors)] {
            while let Some(key) = rows.take_before(next.as_deref())? {
                rebuilder.remove(table, key);
                rebuilder.flush_if_full()?;
            }
        }
        let Some(number) = next else { return Ok(()) };
        used.take(&number)?;
        let behind = number_of(&number)
            .map_or(u64::MAX, |number| number.saturating_add(1))
            .to_be_bytes();
        for rows in [&mut inlinks, &mut anchors] {
            while rows.take_before(Some(&behind))?.is_some() {}
        }
    }
}

/// A key without its row.
type Key = Result<(Vec<u8>, ()), Failure>;

/// Returns the keys of a table whose rows begin with numbers of URIs.
fn rows_by_number(cut: &Cut, table: Table) -> Result<Peeked<impl Iterator<Item = Key>, ()>, Failure> {
    Peeked::of(cut.iter(table).map(|row| Ok((row?.0.to_vec(), ()))))
}

/// Compares the rows that map numbers of sources to their keys.
fn rebuild_sources(
    cut: &Cut,
    rebuilder: &mut Rebuilder<'_, '_>,
    by_source: Sorted,
    dir: &Path,
) -> Result<(), Failure> {
    let failed = scratch(dir);
    let mut expected = Peeked::of(by_source.map(|row| {
        let mut row = row.map_err(&failed)?;
        let key = row.split_off(row.len().min(ID_BYTES));
        let id = of_sortable(&row).map(|id| (id.row_key().to_vec(), (id, key)));
        Ok(cut.decode(
            Table::Sources,
            &row,
            id.ok_or(Corrupt("number has the wrong length")),
        )?)
    }))?;
    let mut stored = Peeked::of(cut.iter(Table::Sources).map(|row| {
        let (key, value) = row?;
        Ok((key.to_vec(), value))
    }))?;
    loop {
        let row_key = expected.key().map(<[u8]>::to_vec);
        while let Some(stray) = stored.take_before(row_key.as_deref())? {
            rebuilder.remove(Table::Sources, stray);
            rebuilder.flush_if_full()?;
        }
        let Some(row_key) = row_key else { return Ok(()) };
        let mut keys = Vec::new();
        while let Some((id, key)) = expected.take(&row_key)? {
            sources::place_key(&mut keys, id, key);
        }
        rebuilder.compared(Table::Sources);
        let row = stored.take(&row_key)?;
        if row.as_deref().is_none_or(|row| !sources::has_keys(row, &keys)) {
            rebuilder.put(Table::Sources, row_key, sources::encode(&keys));
        }
        rebuilder.flush_if_full()?;
    }
}
