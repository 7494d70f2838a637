//! Recomputes the views from captures as [`Fingerprints`], without an index.
//!
//! Each capture becomes a row of bounded size, which is sorted by key (on disk, see
//! [`crate::sort`]). The row holds its rank among the captures of its key, and what it adds to the
//! fingerprints if it is current. So memory is bounded, whatever the number of captures and links.
//!
//! Which capture is current, what its links are, and which text it has is defined in
//! `docs/views.md`.

use std::io;
use std::path::Path;

use extract::Capture;

use crate::codec::{self, Corrupt, Reader};
use crate::fingerprint::{Fingerprint, Fingerprints, RowHasher, key_hash, text_hash};
use crate::ids::InputId;
use crate::revisits::{ReferenceHashes, Revisits};
use crate::sort::Sorter;
use crate::views::link_set::take_links;
use crate::views::order::{Order, content_of, is_eligible};
use crate::views::version_row::VersionRow;
use extract::IndexLine;

/// Collects captures for fingerprints.
pub struct Recount {
    sorter: Sorter,
    revisits: Revisits,
    hasher: RowHasher,
    captures: Fingerprint,
    index_lines: Fingerprint,
    row: Vec<u8>,
}

impl Recount {
    /// Creates a recount with temporary files in `dir`.
    pub fn new(dir: &Path) -> Recount {
        Recount {
            sorter: Sorter::new(dir),
            revisits: Revisits::new(dir),
            hasher: RowHasher::default(),
            captures: Fingerprint::default(),
            index_lines: Fingerprint::default(),
            row: Vec::new(),
        }
    }

    /// Adds a capture of the input with this name and collection. Each capture must be added once.
    ///
    /// # Errors
    /// If a temporary file cannot be written.
    pub fn add(&mut self, input: &str, collection: &str, mut capture: Capture) -> io::Result<()> {
        self.captures
            .add(self.hasher.capture(&capture, input, collection));
        self.revisits.see(input, collection, &capture)?;
        let key = key_hash(&capture.url_key);
        let candidate = is_eligible(&capture).then(|| self.candidate(key, input, &mut capture));
        self.push(key, candidate)
    }

    fn push(&mut self, key: u128, candidate: Option<Candidate>) -> io::Result<()> {
        self.row.clear();
        self.row.extend_from_slice(&key.to_be_bytes());
        if let Some(candidate) = candidate {
            candidate.encode(&mut self.row);
        }
        self.sorter.push(&self.row)
    }

    /// Adds the revisits of other URLs again, with the content of their originals.
    fn add_revisits(&mut self) -> io::Result<()> {
        let revisits = std::mem::replace(&mut self.revisits, Revisits::new(Path::new("")));
        revisits.finish(&mut |input, mut capture| {
            let key = key_hash(&capture.url_key);
            let candidate = is_eligible(&capture).then(|| self.candidate(key, input, &mut capture));
            self.push(key, candidate)
        })
    }

    /// Limits the held originals to the URLs and seconds, and the digests, that revisits refer to
    /// ([`crate::Snapshot::referred`]). By default all are held.
    pub fn with_referred(mut self, referred: ReferenceHashes) -> Recount {
        self.revisits.wanted = Some(referred);
        self
    }

    /// Adds an index line. Each line must be added once.
    pub fn add_line(&mut self, input: &str, collection: &str, line: &IndexLine) {
        self.index_lines
            .add(self.hasher.index_line(line, input, collection));
    }

    fn candidate(&mut self, key: u128, input: &str, capture: &mut Capture) -> Candidate {
        let text = content_of(capture)
            .filter(|content| !content.text.is_empty())
            .map(|content| (text_hash(&content.text), content.text_truncated));
        let (links, dropped) = take_links(capture);
        let mut fingerprint = Fingerprint::default();
        for link in &links {
            fingerprint.add(self.hasher.link(key, link));
        }
        // The hash contains names of inputs, not their numbers.
        let version = VersionRow::of(InputId(0), capture, links.len() as u32, dropped);
        Candidate {
            order: Order::of(capture, input).into_owned(),
            version: self.hasher.version(key, &version, input),
            is_page: version.is_page,
            has_content: version.has_content(),
            language: version.language,
            text,
            links: fingerprint,
        }
    }

    /// Returns the fingerprints of all captures added.
    ///
    /// # Errors
    /// If temporary files cannot be written or read.
    pub fn finish(mut self) -> io::Result<Fingerprints> {
        self.add_revisits()?;
        let mut found = Fingerprints {
            captures: self.captures,
            index_lines: self.index_lines,
            ..Fingerprints::default()
        };
        let mut hasher = self.hasher;
        let mut group: Option<Group> = None;
        for row in self.sorter.finish()? {
            let row = row?;
            let (key, candidate) = split(&row).map_err(|Corrupt(detail)| io::Error::other(detail))?;
            if group.as_ref().is_none_or(|group| group.key != key)
                && let Some(before) = group.replace(Group::of(key))
            {
                before.count(&mut hasher, &mut found);
            }
            if let (Some(group), Some(candidate)) = (&mut group, candidate) {
                group.add(candidate);
            }
        }
        if let Some(group) = group {
            group.count(&mut hasher, &mut found);
        }
        Ok(found)
    }
}

/// The best captures of one key; the others are dropped.
struct Group {
    key: u128,
    /// The current version.
    best: Option<Candidate>,
    /// The greatest capture that has text.
    best_text: Option<Candidate>,
}

impl Group {
    fn of(key: u128) -> Group {
        Group {
            key,
            best: None,
            best_text: None,
        }
    }

    fn add(&mut self, candidate: Candidate) {
        let is_greater =
            |than: &Option<Candidate>| than.as_ref().is_none_or(|than| candidate.order > than.order);
        if candidate.text.is_some() && is_greater(&self.best_text) {
            self.best_text = Some(candidate.clone());
        }
        if is_greater(&self.best) {
            self.best = Some(candidate);
        }
    }

    fn count(self, hasher: &mut RowHasher, found: &mut Fingerprints) {
        found.captured.add(self.key);
        let Some(version) = self.best else { return };
        // The order starts with the time. If the greatest capture with text is older than the
        // version, no capture of the version's time has text.
        let text = self
            .best_text
            .filter(|text| text.order.fetch_time_ms == version.order.fetch_time_ms);
        let language = match &text {
            Some(text) if version.has_content && version.language.is_empty() => &text.language,
            _ => &version.language,
        };
        found.versions.add(version.version);
        let text = text.as_ref().and_then(|text| text.text);
        found.versions.mix(hasher.text_of(self.key, language, text));
        if version.is_page {
            found.pages.add(self.key);
        }
        found.links.add_all(version.links);
    }
}

/// A capture that may be current.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    order: Order<String>,
    /// Hash of the version without language and text.
    version: u128,
    is_page: bool,
    has_content: bool,
    language: String,
    /// Hash of its text, and whether the text is truncated.
    text: Option<(u128, bool)>,
    links: Fingerprint,
}

impl Candidate {
    fn encode(&self, out: &mut Vec<u8>) {
        codec::put_signed(out, self.order.fetch_time_ms);
        out.push(self.order.rank);
        codec::put_varint(out, self.order.offset);
        for text in [&self.order.digest, &self.order.input, &self.language] {
            codec::put_bytes(out, text.as_bytes());
        }
        out.push(u8::from(self.is_page));
        out.push(u8::from(self.has_content));
        out.extend_from_slice(&self.version.to_be_bytes());
        codec::put_varint(out, self.links.rows);
        out.extend_from_slice(&self.links.hash.to_be_bytes());
        if let Some((hash, truncated)) = self.text {
            out.push(u8::from(truncated));
            out.extend_from_slice(&hash.to_be_bytes());
        }
    }

    fn decode(mut r: Reader<'_>) -> Result<Candidate, Corrupt> {
        Ok(Candidate {
            // In the order of `encode`.
            order: Order {
                fetch_time_ms: r.signed()?,
                rank: r.u8()?,
                offset: r.varint()?,
                digest: r.str()?.to_owned(),
                input: r.str()?.to_owned(),
            },
            language: r.str()?.to_owned(),
            is_page: r.u8()? == 1,
            has_content: r.u8()? == 1,
            version: hash(&mut r)?,
            links: Fingerprint {
                rows: r.varint()?,
                hash: hash(&mut r)?,
            },
            text: if r.is_empty() {
                None
            } else {
                let truncated = r.u8()? == 1;
                Some((hash(&mut r)?, truncated))
            },
        })
    }
}

/// Splits a row into the hash of the key, and the candidate if the capture may be current.
fn split(row: &[u8]) -> Result<(u128, Option<Candidate>), Corrupt> {
    let mut r = Reader::new(row);
    let key = hash(&mut r)?;
    let candidate = (!r.is_empty()).then(|| Candidate::decode(r)).transpose()?;
    Ok((key, candidate))
}

fn hash(r: &mut Reader<'_>) -> Result<u128, Corrupt> {
    let bytes = r.take(16)?.first_chunk().ok_or(Corrupt("truncated row"))?;
    Ok(u128::from_be_bytes(*bytes))
}
