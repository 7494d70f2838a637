//! Fingerprints of the tables, each read once from end to end.

use std::sync::Arc;

use super::damage::Damage;
use crate::codec;
use crate::domain_of::DomainOf;
use crate::error::SnapshotError;
use crate::fingerprint::{DomainCounts, DomainHashes, Fingerprint, RowHasher, key_hash, text_hash};
use crate::snapshot::Snapshot;
use crate::tables::Table;
use crate::views::sources::SourceKeys;
use crate::views::uris::Counts;
use crate::views::version_row;
use crate::views::{anchors, captures, domains, index_lines, inlinks, links, texts, uris};

pub(super) fn captures(snapshot: &Snapshot) -> Result<Fingerprint, SnapshotError> {
    let (cut, mut hasher) = (snapshot.cut(), RowHasher::default());
    let mut found = Fingerprint::default();
    for row in cut.iter(Table::Captures) {
        let (key, value) = row?;
        let stored = captures::read_row(cut, &key, &value)?;
        let input = snapshot.input(stored.input)?;
        found.add(hasher.capture(&stored.capture, &input.input, &input.collection));
    }
    Ok(found)
}

pub(super) fn index_lines(snapshot: &Snapshot) -> Result<Fingerprint, SnapshotError> {
    let (cut, mut hasher) = (snapshot.cut(), RowHasher::default());
    let mut found = Fingerprint::default();
    for row in cut.iter(Table::IndexLines) {
        let (key, value) = row?;
        let decoded = index_lines::decode(&key, &value);
        let (input, line) = cut.decode(Table::IndexLines, &key, decoded)?;
        let input = snapshot.input(input)?;
        found.add(hasher.index_line(&line, &input.input, &input.collection));
    }
    Ok(found)
}

/// Fingerprints of `versions` and `texts`.
#[derive(Default)]
pub(super) struct Versions {
    pub(super) all: Fingerprint,
    /// Keys of the pages.
    pub(super) pages: Fingerprint,
    /// Keys of the documents.
    pub(super) documents: Fingerprint,
}

pub(super) fn versions(snapshot: &Snapshot) -> Result<Versions, SnapshotError> {
    let (cut, mut hasher) = (snapshot.cut(), RowHasher::default());
    let mut found = Versions::default();
    for row in cut.iter(Table::Versions) {
        let (key, value) = row?;
        let decoded = codec::to_text(&key).and_then(|url_key| {
            let version = version_row::decode(&url_key, &value)?;
            Ok((url_key, version))
        });
        let (url_key, version) = cut.decode(Table::Versions, &key, decoded)?;
        let text = match &version.text {
            // A missing text has the hash 0, which differs from the hash of every text.
            Some(origin) => {
                let text = texts::read(cut, &url_key)?;
                Some((text.map_or(0, |text| text_hash(&text)), origin.truncated))
            }
            None => None,
        };
        let (key, input) = (key_hash(&key), snapshot.input(version.input)?);
        found.all.add(hasher.version(key, &version, &input.input));
        found.all.mix(hasher.text_of(key, version.page_language(), text));
        if version.is_page {
            found.pages.add(key);
        } else if version.is_document {
            found.documents.add(key);
        }
    }
    Ok(found)
}

/// Fingerprints of `links`.
#[derive(Default)]
pub(super) struct Links {
    pub(super) all: Fingerprint,
    /// Source and target only.
    pub(super) pairs: Fingerprint,
    /// Target, host of the source, and anchor text.
    pub(super) said: Fingerprint,
}

pub(super) fn links(snapshot: &Snapshot) -> Result<Links, SnapshotError> {
    let (cut, mut hasher) = (snapshot.cut(), RowHasher::default());
    let mut found = Links::default();
    for row in cut.iter(Table::Links) {
        let (key, value) = row?;
        let source = key_hash(&key);
        let host = anchors::host_of(&cut.decode(Table::Links, &key, codec::to_text(&key))?);
        for link in links::read_row(cut, &key, &value, |_| true)? {
            let target = key_hash(&link.url_key);
            found.all.add(hasher.link(source, &link));
            found.pairs.add(hasher.pair(source, target));
            let text = anchors::cut(&link.anchor);
            if !text.is_empty() {
                found.said.add(hasher.saying(target, host, text));
            }
        }
    }
    Ok(found)
}

/// Fingerprints of `uris` and `inlinks`.
#[derive(Default)]
pub(super) struct Uris {
    pub(super) rows: u64,
    /// Keys of URIs that have a capture.
    pub(super) captured: Fingerprint,
    /// Keys of URIs that are marked as pages.
    pub(super) pages: Fingerprint,
    /// Keys of URIs that are marked as documents.
    pub(super) documents: Fingerprint,
    /// URIs with their sources.
    pub(super) pairs: Fingerprint,
    /// As [`Links::said`].
    pub(super) said: Fingerprint,
    /// Whether the counts of every URI agree with its sources.
    pub(super) counts_agree: bool,
    /// The counts of the domains, computed from the URIs.
    pub(super) domains: DomainCounts,
    /// A URI without a capture or an in-link.
    pub(super) stray: Option<Damage>,
    /// Rows of anchors that belong to no URI.
    pub(super) stray_anchors: Option<Damage>,
}

pub(super) fn uris(snapshot: &Snapshot) -> Result<Uris, SnapshotError> {
    let (cut, mut hasher) = (snapshot.cut(), RowHasher::default());
    let mut found = Uris {
        counts_agree: true,
        ..Uris::default()
    };
    let (mut domain_of_target, mut domain_of_source) = (DomainOf::default(), DomainOf::default());
    let mut hashes = DomainsInTurn::default();
    let (mut keys, mut anchor_rows) = (SourceKeys::of(cut), 0);
    for row in uris::scan(cut) {
        let (key, value) = row?;
        let url_key = cut.decode(Table::Uris, &key, codec::to_text(&key))?;
        let uri = cut.decode(Table::Uris, &key, uris::decode(&value))?;
        let (target, domain) = (key_hash(&key), domain_of_target.get(&url_key));
        let mut counts = Counts::default();
        for id in inlinks::ids(cut, &uri.sources)? {
            let source = keys.get(id)?;
            found.pairs.add(hasher.pair(key_hash(source), target));
            counts.inlinks += 1;
            counts.inlinks_external += u64::from(domain_of_source.get(source) != domain);
        }
        found.counts_agree &= counts == uri.counts;
        let (said, rows) = anchors::read(cut, uri.anchors, uri.sources.number())?;
        anchor_rows += rows;
        for ((text, host), pages) in said {
            found.said.add_times(hasher.saying(target, host, &text), pages);
        }
        found.rows += 1;
        if uri.captured {
            found.captured.add(target);
        } else if uri.counts.inlinks == 0 && found.stray.is_none() {
            let detail = format!("{url_key} is neither captured nor linked to");
            found.stray = Some(Damage::of(Table::Uris, detail));
        }
        if uri.is_page {
            found.pages.add(target);
        } else if uri.is_document {
            found.documents.add(target);
        }
        let (pages, external) = (u64::from(uri.is_page), uri.counts.inlinks_external);
        found.domains.add(hashes.of(&domain), 1, pages, external);
    }
    let mut all_anchor_rows = 0;
    for row in cut.iter(Table::Anchors) {
        row?;
        all_anchor_rows += 1;
    }
    if all_anchor_rows != anchor_rows {
        let detail = format!("{all_anchor_rows} rows, but only {anchor_rows} belong to URIs");
        found.stray_anchors = Some(Damage::of(Table::Anchors, detail));
    }
    Ok(found)
}

/// Hashes of the domain of the last URI. URIs are read in order, so the next one mostly has the
/// same domain.
#[derive(Default)]
struct DomainsInTurn(Option<(Arc<str>, DomainHashes)>);

impl DomainsInTurn {
    fn of(&mut self, domain: &Arc<str>) -> DomainHashes {
        match &self.0 {
            Some((last, hashes)) if last == domain => *hashes,
            _ => {
                let hashes = DomainHashes::of(domain);
                self.0 = Some((domain.clone(), hashes));
                hashes
            }
        }
    }
}

/// Fingerprints of `domains`.
#[derive(Default)]
pub(super) struct Domains {
    pub(super) rows: u64,
    pub(super) counts: DomainCounts,
}

pub(super) fn domains(snapshot: &Snapshot) -> Result<Domains, SnapshotError> {
    let (cut, mut found) = (snapshot.cut(), Domains::default());
    for row in domains::scan(cut, None) {
        let (key, value) = row?;
        let decoded = domains::domain_of_row(&key).and_then(|domain| Ok((domain, domains::decode(&value)?)));
        let (domain, counts) = cut.decode(Table::Domains, &key, decoded)?;
        let hashes = DomainHashes::of(&domain);
        found
            .counts
            .add(hashes, counts.uris, counts.pages, counts.inlinks_external);
        found.rows += 1;
    }
    Ok(found)
}
