//! View `uris`: every URL key that is captured or linked to, with its in-links.
//!
//! Definition: `captured` if the key has any capture; `inlinks` is the number of sources whose
//! current version links to it, and `inlinks_external` the number of those in another domain. A key
//! that is neither captured nor linked to has no row.
//!
//! Most URIs have one or two in-links. Up to [`INLINE_MAX`] sources are stored in the row itself,
//! which must be read and written for its counts anyway. With more, the URI gets a number, and its
//! sources are stored in table `inlinks` under that number, with a row for each epoch in which they
//! were numbered ([`crate::views::sources`]). Numbers are internal: views stay a pure function of
//! the captures.
//!
//! | bytes | content |
//! |---|---|
//! | 1 | version |
//! | 1 | bits: 0 captured, 1 page, 2 sources in `inlinks`, 3 anchors, 4 in `anchors`, 5 document |
//! | varint, varint | inlinks, inlinks_external |
//! | | with bit 3: anchors, see [`crate::views::anchors`] |
//! | varint | with bit 2: number of the URI |
//! | varint, varint | without bit 2, per in-link: source as epochs since the previous, place |

use std::collections::BTreeMap;
use std::sync::Arc;

use system::holds;

use crate::codec::{self, Corrupt, Reader};
use crate::cut::{Cut, Rows};
use crate::domain_of::DomainOf;
use crate::error::SnapshotError;
use crate::ids::Epoch;
use crate::rows::AnchorRow;
use crate::tables::Table;
use crate::views::anchors::{self, AnchorCounts, AnchorDeltas, Anchors, Host};
use crate::views::inlinks::{self, Sources};
use crate::views::links::{LinkChange, LinkChanges};
use crate::views::sources::{SourceId, SourceKeys};
use crate::views::version_change::VersionChange;
use crate::write::Write;

const ROW_VERSION: u8 = 1;
const CAPTURED: u8 = 1;
const IS_PAGE: u8 = 2;
const SPILLED: u8 = 4;
const HAS_ANCHORS: u8 = 8;
const ANCHORS_SPILLED: u8 = 16;
const IS_DOCUMENT: u8 = 32;

/// Maximum number of in-links stored in the row itself.
pub(crate) const INLINE_MAX: usize = if cfg!(test) { 3 } else { 8 };

const _: () = assert!(
    anchors::INLINE_MAX >= INLINE_MAX,
    "a URI with its own anchors has a number"
);

/// In-link counts of a URI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    pub(crate) inlinks: u64,
    pub(crate) inlinks_external: u64,
}

/// A decoded URI row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct UriState {
    pub(crate) captured: bool,
    pub(crate) is_page: bool,
    /// Whether its current version is a document: no page, but in search.
    pub(crate) is_document: bool,
    pub(crate) counts: Counts,
    pub(crate) sources: Sources,
    /// Anchor texts of the links.
    pub(crate) anchors: Anchors,
}

/// The changes of one URI in an epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UriChange {
    pub(crate) url_key: String,
    pub(crate) domain: Arc<str>,
    /// Old counts, if the row existed.
    pub(crate) before: Option<Counts>,
    /// New counts, if the row exists.
    pub(crate) after: Option<Counts>,
    pub(crate) was_page: bool,
    pub(crate) is_page: bool,
    /// Whether search has it.
    pub(crate) has_content: bool,
    /// New anchors to report to search for a page or document, if they changed for search.
    pub(crate) anchors: Option<Vec<AnchorRow>>,
}

/// Applies link changes (sorted by target and source) and version changes (sorted by key) to the
/// URIs that they affect. `next_number` is the first number not yet assigned to a URI.
pub(crate) fn apply(
    cut: &Cut,
    write: &mut Write<'_>,
    domain_of: &mut DomainOf,
    versions: &[VersionChange],
    links: LinkChanges,
    next_number: &mut u64,
) -> Result<Vec<UriChange>, SnapshotError> {
    debug_assert!(
        versions.is_sorted_by(|a, b| a.url_key < b.url_key),
        "versions are decided once per key, in order"
    );
    let LinkChanges {
        epoch,
        changes: mut links,
        sources,
    } = links;
    debug_assert!(
        links.is_sorted_by(|a, b| a.target_key <= b.target_key),
        "changed links are in order of their targets"
    );
    let origins = origins(domain_of, versions, &links);
    let mut changes = Vec::with_capacity(links.len() / 2 + versions.len());
    let mut captured = versions
        .iter()
        .filter(|v| v.maybe_first_capture || v.is_uncaptured || v.is_of_another_kind())
        .peekable();
    let mut groups = links.chunk_by_mut(|a, b| a.target_key == b.target_key).peekable();
    let mut incoming = Vec::new();
    let mut step = Step {
        cut,
        write,
        epoch,
        next_number,
    };
    loop {
        let target = groups.peek().map(|group| group[0].target_key.as_str());
        let version = captured.next_if(|v| target.is_none_or(|target| *v.url_key <= *target));
        let group = match version {
            Some(version) => groups.next_if(|group| group[0].target_key == version.url_key),
            None => groups.next(),
        };
        incoming.clear();
        let url_key = match (group, version) {
            (Some(group), _) => {
                incoming.extend(group.iter_mut().map(|link| Incoming {
                    source: sources[link.source as usize],
                    origin: &origins[link.source as usize],
                    before: link.before.take(),
                    after: link.after.take(),
                }));
                std::mem::take(&mut group[0].target_key)
            }
            (None, Some(version)) => version.url_key.clone(),
            (None, None) => return Ok(changes),
        };
        incoming.sort_unstable_by_key(|link| link.source);
        let row = cut.get(Table::Uris, url_key.as_bytes())?;
        let was = row.as_deref().map(decode).transpose();
        let was = cut.decode(Table::Uris, url_key.as_bytes(), was)?;
        let domain = domain_of.get(&url_key);
        let change = step.fold(url_key, domain, was, version, &incoming)?;
        changes.extend(change);
    }
}

/// The origin of a link.
#[derive(Clone)]
struct Origin {
    domain: Arc<str>,
    host: Host,
}

/// Returns the origin of every version that is the source of a changed link.
fn origins(domain_of: &mut DomainOf, versions: &[VersionChange], links: &[LinkChange]) -> Vec<Origin> {
    let none = Origin {
        domain: Arc::from(""),
        host: 0,
    };
    let mut origins = vec![none; versions.len()];
    let mut is_source = vec![false; versions.len()];
    for link in links {
        is_source[link.source as usize] = true;
    }
    for (i, version) in versions.iter().enumerate().filter(|&(i, _)| is_source[i]) {
        origins[i] = Origin {
            domain: domain_of.get(&version.url_key),
            host: anchors::host_of(&version.url_key),
        };
    }
    origins
}

/// A link to the current URI that was added or removed, or whose anchor text changed.
struct Incoming<'a> {
    source: SourceId,
    origin: &'a Origin,
    before: Option<String>,
    after: Option<String>,
}

/// Returns the changes of the URI's anchors.
fn deltas(incoming: &[Incoming<'_>]) -> AnchorDeltas {
    let mut deltas = AnchorDeltas::new();
    for link in incoming {
        for (text, by) in [(&link.before, -1), (&link.after, 1)] {
            let text = text.as_deref().map_or("", anchors::cut);
            if !text.is_empty() {
                *deltas.entry((text.to_owned(), link.origin.host)).or_default() += by;
            }
        }
    }
    deltas.retain(|_, by| *by != 0);
    deltas
}

/// Which anchors of a URI are reported to search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AnchorReport {
    /// It is neither page nor document.
    Nothing,
    Changes,
    /// It is a new page or document.
    All,
}

/// Applies changes to URIs, one by one.
struct Step<'s, 'w> {
    cut: &'s Cut,
    write: &'s mut Write<'w>,
    /// The epoch in progress.
    epoch: Epoch,
    next_number: &'s mut u64,
}

impl Step<'_, '_> {
    /// Updates one URI: reads its old row, applies the changes, and writes its new row.
    fn fold(
        &mut self,
        url_key: String,
        domain: Arc<str>,
        was: Option<UriState>,
        version: Option<&VersionChange>,
        incoming: &[Incoming<'_>],
    ) -> Result<Option<UriChange>, SnapshotError> {
        let existed = was.is_some();
        let old = was.unwrap_or_default();
        let captured = version.map_or(old.captured, |v| !v.is_uncaptured);
        let is_page = version.map_or(old.is_page, |v| v.is_page);
        let is_document = version.map_or(old.is_document, VersionChange::is_document);
        // The row would not change: most captures of known pages end here, without a write.
        let stays_so = (captured, is_page, is_document) == (old.captured, old.is_page, old.is_document);
        if incoming.is_empty() && existed && stays_so {
            return Ok(None);
        }
        let counts = count(&url_key, old.counts, &domain, incoming)?;
        let sources = self.move_sources(old.sources, incoming)?;
        let has_content = is_page || is_document;
        let report = match (has_content, old.is_page || old.is_document) {
            (false, _) => AnchorReport::Nothing,
            (true, true) => AnchorReport::Changes,
            (true, false) => AnchorReport::All,
        };
        let (anchors, reported) =
            self.move_anchors(old.anchors, sources.number(), deltas(incoming), report)?;
        let now = UriState {
            captured,
            is_page,
            is_document,
            counts,
            sources,
            anchors,
        };
        let stays = captured || counts.inlinks > 0;
        if stays {
            self.write.put(Table::Uris, url_key.as_str(), encode(&now));
        } else if existed {
            self.write.remove(Table::Uris, url_key.as_str());
        }
        holds!(
            "index.pages",
            stays || !has_content,
            "{url_key} is a page or document, but neither captured nor linked to"
        );
        Ok(Some(UriChange {
            url_key,
            domain,
            before: existed.then_some(old.counts),
            after: stays.then_some(counts),
            was_page: old.is_page,
            is_page,
            has_content,
            anchors: reported,
        }))
    }

    /// Updates the anchors of a URI. Returns them, and those to report to search. `number` is that
    /// of the URI, if it has one.
    fn move_anchors(
        &mut self,
        before: Anchors,
        number: Option<u64>,
        deltas: AnchorDeltas,
        report: AnchorReport,
    ) -> Result<(Anchors, Option<Vec<AnchorRow>>), SnapshotError> {
        let (mut anchor_counts, number) = match (before, number) {
            (Anchors::Inline(anchor_counts), number) => (anchor_counts, number),
            // Without a number there are no rows to read.
            (Anchors::Spilled, None) => (AnchorCounts::new(), None),
            (Anchors::Spilled, Some(number)) => {
                let recounted = anchors::rows::apply(self.cut, self.write, number, deltas)?;
                let reported = match report {
                    AnchorReport::Nothing => None,
                    _ => anchors::rows::shown(self.cut, number, recounted, report == AnchorReport::All)?,
                };
                return Ok((Anchors::Spilled, reported));
            }
        };
        // Most links lead to URIs that are not pages, which skip this.
        let before = (report == AnchorReport::Changes && !deltas.is_empty())
            .then(|| anchors::anchor_rows(&anchor_counts));
        anchors::apply(&mut anchor_counts, deltas);
        let reported = match (report, before) {
            (AnchorReport::All, _) => Some(anchors::anchor_rows(&anchor_counts)),
            (_, None) => None,
            (_, Some(before)) => Some(anchors::anchor_rows(&anchor_counts))
                .filter(|now| !anchors::weigh_the_same(now, &before)),
        };
        match number.filter(|_| anchor_counts.len() > anchors::INLINE_MAX) {
            None => Ok((Anchors::Inline(anchor_counts), reported)),
            Some(number) => {
                anchors::rows::put_all(self.write, number, &anchor_counts);
                Ok((Anchors::Spilled, reported))
            }
        }
    }

    /// Adds and removes sources: in the row while there are few, then in separate rows.
    fn move_sources(&mut self, before: Sources, incoming: &[Incoming<'_>]) -> Result<Sources, SnapshotError> {
        let mut inline = match before {
            Sources::Spilled(number) => {
                for of_epoch in incoming.chunk_by(|a, b| a.source.epoch == b.source.epoch) {
                    self.move_spilled(number, of_epoch)?;
                }
                return Ok(Sources::Spilled(number));
            }
            Sources::Inline(inline) => inline,
        };
        for link in incoming {
            match inline.binary_search(&link.source) {
                Err(place) if link.before.is_none() => inline.insert(place, link.source),
                Ok(place) if link.after.is_none() => {
                    inline.remove(place);
                }
                _ => {}
            }
        }
        if inline.len() <= INLINE_MAX {
            return Ok(Sources::Inline(inline));
        }
        let number = *self.next_number;
        // Assigned once: the next number goes into the totals row, in the same batch.
        *self.next_number += 1;
        for of_epoch in inline.chunk_by(|a, b| a.epoch == b.epoch) {
            inlinks::put(
                self.write,
                number,
                of_epoch[0].epoch,
                of_epoch.iter().map(|source| source.place),
            );
        }
        Ok(Sources::Spilled(number))
    }

    /// Adds and removes sources (sorted, all of one epoch) of a URI with many.
    fn move_spilled(&mut self, number: u64, incoming: &[Incoming<'_>]) -> Result<(), SnapshotError> {
        let epoch = incoming[0].source.epoch;
        let key = inlinks::row_key(number, epoch);
        // Sources numbered in this epoch have no stored row.
        let stored = if epoch == self.epoch {
            None
        } else {
            self.cut.get(Table::Inlinks, &key)?
        };
        let mut places = match stored {
            Some(row) => self
                .cut
                .decode(Table::Inlinks, &key, inlinks::decode_places(&row))?,
            None => Vec::new(),
        };
        for link in incoming {
            let place = link.source.place;
            match places.binary_search(&place) {
                Err(at) if link.before.is_none() => places.insert(at, place),
                Ok(at) if link.after.is_none() => {
                    places.remove(at);
                }
                _ => {}
            }
        }
        if places.is_empty() {
            self.write.remove(Table::Inlinks, key);
        } else {
            inlinks::put(self.write, number, epoch, places);
        }
        Ok(())
    }
}

fn count(
    url_key: &str,
    before: Counts,
    domain: &str,
    incoming: &[Incoming<'_>],
) -> Result<Counts, SnapshotError> {
    let (mut added, mut removed) = (Counts::default(), Counts::default());
    for link in incoming {
        let side = match (&link.before, &link.after) {
            (None, _) => &mut added,
            (_, None) => &mut removed,
            // The same link with another anchor text.
            _ => continue,
        };
        side.inlinks += 1;
        side.inlinks_external += u64::from(*link.origin.domain != *domain);
    }
    let inlinks = (before.inlinks + added.inlinks).checked_sub(removed.inlinks);
    let external = (before.inlinks_external + added.inlinks_external).checked_sub(removed.inlinks_external);
    holds!(
        "index.inlinks",
        inlinks.is_some() && external.is_some() && external <= inlinks,
        "{url_key} had {before:?}; {added:?} were added and {removed:?} removed"
    );
    Ok(Counts {
        inlinks: inlinks.unwrap_or_default(),
        inlinks_external: external.unwrap_or_default(),
    })
}

pub(crate) fn encode(uri: &UriState) -> Vec<u8> {
    let mut out = Vec::with_capacity(24);
    out.push(ROW_VERSION);
    let spilled = matches!(uri.sources, Sources::Spilled(_));
    let anchors = match &uri.anchors {
        Anchors::Inline(anchor_counts) if anchor_counts.is_empty() => 0,
        Anchors::Inline(_) => HAS_ANCHORS,
        Anchors::Spilled => ANCHORS_SPILLED,
    };
    out.push(
        u8::from(uri.captured) * CAPTURED
            + u8::from(uri.is_page) * IS_PAGE
            + u8::from(spilled) * SPILLED
            + anchors
            + u8::from(uri.is_document) * IS_DOCUMENT,
    );
    codec::put_varint(&mut out, uri.counts.inlinks);
    codec::put_varint(&mut out, uri.counts.inlinks_external);
    if let Anchors::Inline(anchor_counts) = &uri.anchors
        && !anchor_counts.is_empty()
    {
        anchors::put_inline(&mut out, anchor_counts);
    }
    match &uri.sources {
        Sources::Spilled(number) => codec::put_varint(&mut out, *number),
        Sources::Inline(sources) => {
            let mut before = Epoch(0);
            for source in sources {
                codec::put_varint(&mut out, source.epoch.0 - before.0);
                codec::put_varint(&mut out, u64::from(source.place));
                before = source.epoch;
            }
        }
    }
    out
}

pub(crate) fn decode(row: &[u8]) -> Result<UriState, Corrupt> {
    let mut r = Reader::versioned(row, ROW_VERSION)?;
    let flags = r.u8()?;
    let counts = Counts {
        inlinks: r.varint()?,
        inlinks_external: r.varint()?,
    };
    let anchors = match flags & (HAS_ANCHORS | ANCHORS_SPILLED) {
        0 => Anchors::default(),
        HAS_ANCHORS => Anchors::Inline(anchors::get_inline(&mut r)?),
        ANCHORS_SPILLED if flags & SPILLED != 0 => Anchors::Spilled,
        _ => return Err(Corrupt("anchors in two places or without a number")),
    };
    let sources = if flags & SPILLED != 0 {
        Sources::Spilled(r.varint()?)
    } else {
        let (mut sources, mut epoch) = (Vec::with_capacity(INLINE_MAX + 1), 0u64);
        while !r.is_empty() {
            let more = r.varint()?;
            epoch = epoch.checked_add(more).ok_or(Corrupt("epoch is too large"))?;
            sources.push(SourceId {
                epoch: Epoch(epoch),
                place: r.varint_u32()?,
            });
        }
        Sources::Inline(sources)
    };
    Ok(UriState {
        captured: flags & CAPTURED != 0,
        is_page: flags & IS_PAGE != 0,
        is_document: flags & IS_DOCUMENT != 0,
        counts,
        sources,
        anchors,
    })
}

/// Decodes the flags and counts of a row, without its sources.
pub(crate) fn decode_counts(row: &[u8]) -> Result<UriState, Corrupt> {
    let mut r = Reader::versioned(row, ROW_VERSION)?;
    let flags = r.u8()?;
    Ok(UriState {
        captured: flags & CAPTURED != 0,
        is_page: flags & IS_PAGE != 0,
        is_document: flags & IS_DOCUMENT != 0,
        counts: Counts {
            inlinks: r.varint()?,
            inlinks_external: r.varint()?,
        },
        sources: Sources::default(),
        anchors: Anchors::default(),
    })
}

/// Returns the number of external links to a URI, and the anchors of all links as reported to
/// search.
pub(crate) fn read_anchors(cut: &Cut, url_key: &str) -> Result<(u64, Vec<AnchorRow>), SnapshotError> {
    let Some(row) = cut.get(Table::Uris, url_key.as_bytes())? else {
        return Ok((0, Vec::new()));
    };
    let uri = cut.decode(Table::Uris, url_key.as_bytes(), decode(&row))?;
    let shown = match (&uri.anchors, uri.sources.number()) {
        (Anchors::Inline(anchor_counts), _) => anchors::anchor_rows(anchor_counts),
        (Anchors::Spilled, Some(number)) => {
            anchors::rows::shown(cut, number, BTreeMap::new(), true)?.unwrap_or_default()
        }
        (Anchors::Spilled, None) => Vec::new(),
    };
    Ok((uri.counts.inlinks_external, shown))
}

/// Returns the flags and counts of one URI.
pub(crate) fn read(cut: &Cut, url_key: &str) -> Result<Option<UriState>, SnapshotError> {
    cut.get(Table::Uris, url_key.as_bytes())?
        .map(|row| cut.decode(Table::Uris, url_key.as_bytes(), decode_counts(&row)))
        .transpose()
}

/// Returns the keys of the sources that link to a URI, sorted: those after `after`, at most
/// `limit`.
pub(crate) fn read_sources(
    cut: &Cut,
    url_key: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<String>, SnapshotError> {
    let Some(row) = cut.get(Table::Uris, url_key.as_bytes())? else {
        return Ok(Vec::new());
    };
    let uri = cut.decode(Table::Uris, url_key.as_bytes(), decode(&row))?;
    let mut keys = SourceKeys::of(cut);
    inlinks::sorted(&mut keys, &uri.sources, after)?
        .take(limit)
        .collect()
}

/// Returns all rows in key order.
pub(crate) fn scan(cut: &Cut) -> Rows {
    cut.iter(Table::Uris)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back() {
        let source = |epoch, place| SourceId {
            epoch: Epoch(epoch),
            place,
        };
        let anchor_counts = AnchorCounts::from([(("home".to_owned(), 7), 2)]);
        for sources in [
            Sources::Inline(vec![]),
            Sources::Inline(vec![source(1, 7), source(1, 300), source(u64::MAX, 0)]),
            Sources::Spilled(300),
        ] {
            let uri = UriState {
                captured: true,
                is_page: false,
                is_document: true,
                counts: Counts {
                    inlinks: 500,
                    inlinks_external: 2,
                },
                anchors: match sources {
                    Sources::Inline(_) => Anchors::Inline(anchor_counts.clone()),
                    Sources::Spilled(_) => Anchors::Spilled,
                },
                sources,
            };
            let row = encode(&uri);
            assert_eq!(decode(&row), Ok(uri.clone()));
            assert_eq!(decode_counts(&row).map(|u| u.counts), Ok(uri.counts));
        }
    }
}
