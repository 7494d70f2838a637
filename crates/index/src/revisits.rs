//! Finds the originals of revisits of other URLs without an index, for a recount.
//!
//! Possible originals and the revisits that look for them meet in sorted rows, first by URL and
//! second, then by digest, as `views::originals` defines it. Memory is bounded except for the
//! captures of one URL within a second, and the URLs with one digest.

use std::io;
use std::path::Path;

use extract::{Capture, CaptureKind};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use crate::codec;
use crate::ids::InputId;
use crate::sort::Sorter;
use crate::views::capture_row::StoredCapture;
use crate::views::history::Collections;
use crate::views::order::{content_of, is_eligible};
use crate::views::originals::{self, is_known, original_order};

const HASH_BYTES: usize = 16;
const OFFER: u8 = 0;
const REQUEST: u8 = 1;

/// Hashes of the references of revisits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReferenceHashes(pub(crate) FxHashSet<u64>);

impl ReferenceHashes {
    fn has(&self, hash: &[u8; HASH_BYTES]) -> bool {
        self.0.contains(&short(hash))
    }
}

/// Shortens a hash to the part that distinguishes references. A collision only holds more captures
/// than needed.
pub(crate) fn short(hash: &[u8; HASH_BYTES]) -> u64 {
    hash.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// A capture with the data that its order needs.
#[derive(Serialize, Deserialize)]
struct Candidate {
    input: String,
    collection: String,
    capture: Capture,
}

pub(crate) struct Revisits {
    by_target: Sorter,
    by_digest: Sorter,
    pub(crate) wanted: Option<ReferenceHashes>,
}

/// Receives the name of the input and a revisit with its content.
type TakeCompleted<'a> = dyn FnMut(&str, Capture) -> io::Result<()> + 'a;

impl Revisits {
    pub(crate) fn new(dir: &Path) -> Revisits {
        Revisits {
            by_target: Sorter::new(dir),
            by_digest: Sorter::new(dir),
            wanted: None,
        }
    }

    pub(crate) fn see(&mut self, input: &str, collection: &str, capture: &Capture) -> io::Result<()> {
        let candidate = || {
            let candidate = Candidate {
                input: input.to_owned(),
                collection: collection.to_owned(),
                capture: capture.clone(),
            };
            serde_json::to_vec(&candidate).map_err(io::Error::other)
        };
        if capture.kind == CaptureKind::Revisit {
            if originals::names_its_own(capture) || capture.redirects_to_itself {
                return Ok(());
            }
            if let Some((target, second)) = originals::target(capture) {
                let row = [&target_hash(target, second)[..], &[REQUEST], &candidate()?].concat();
                return self.by_target.push(&row);
            }
            return self.ask_by_digest(capture, &candidate()?);
        }
        let is_wanted = |hash: &[u8; HASH_BYTES]| self.wanted.as_ref().is_none_or(|wanted| wanted.has(hash));
        let by_target = target_hash(&capture.url_key, capture.fetch_time_ms.div_euclid(1000));
        let by_digest = digest_hash(&capture.digest);
        let eligible = is_eligible(capture);
        if eligible && is_wanted(&by_target) {
            self.by_target
                .push(&[&by_target[..], &[OFFER], &candidate()?].concat())?;
        }
        let is_wanted = |hash: &[u8; HASH_BYTES]| self.wanted.as_ref().is_none_or(|wanted| wanted.has(hash));
        if is_known(&capture.digest) && is_wanted(&by_digest) {
            let time = codec::sortable(capture.fetch_time_ms);
            // Captures without content are added too, because the URLs with the digest count.
            let candidate = if eligible && content_of(capture).is_some() {
                candidate()?
            } else {
                Vec::new()
            };
            let head = [&by_digest[..], &[OFFER], &time, capture.url_key.as_bytes(), &[0]].concat();
            self.by_digest.push(&[head, candidate].concat())?;
        }
        Ok(())
    }

    fn ask_by_digest(&mut self, capture: &Capture, candidate: &[u8]) -> io::Result<()> {
        if !originals::may_go_by_digest(capture) {
            return Ok(());
        }
        let row = [&digest_hash(&capture.digest)[..], &[REQUEST], candidate].concat();
        self.by_digest.push(&row)
    }

    /// Passes all revisits that have an original to `take`.
    pub(crate) fn finish(mut self, take: &mut TakeCompleted<'_>) -> io::Result<()> {
        let by_target = std::mem::replace(&mut self.by_target, Sorter::new(Path::new("")));
        let mut at: Option<[u8; HASH_BYTES]> = None;
        let mut offers: Vec<Candidate> = Vec::new();
        for row in by_target.finish()? {
            let row = row?;
            let (hash, tag, candidate) = split(&row)?;
            if at.replace(hash) != Some(hash) {
                offers.clear();
            }
            let candidate: Candidate = serde_json::from_slice(candidate).map_err(io::Error::other)?;
            if tag == OFFER {
                offers.push(candidate);
                continue;
            }
            match best_of_second(&candidate.capture, &offers) {
                Some(original) => complete(&candidate, original, take)?,
                None => {
                    let row = serde_json::to_vec(&candidate).map_err(io::Error::other)?;
                    self.ask_by_digest(&candidate.capture, &row)?;
                }
            }
        }
        self.finish_by_digest(take)
    }

    fn finish_by_digest(self, take: &mut TakeCompleted<'_>) -> io::Result<()> {
        let mut at: Option<[u8; HASH_BYTES]> = None;
        let mut keys: FxHashSet<u128> = FxHashSet::default();
        let mut first: Vec<Candidate> = Vec::new();
        let mut second: Vec<Candidate> = Vec::new();
        for row in self.by_digest.finish()? {
            let row = row?;
            let (hash, tag, rest) = split(&row)?;
            if at.replace(hash) != Some(hash) {
                keys.clear();
                first.clear();
                second.clear();
            }
            if tag == OFFER {
                let rest = rest.get(8..).unwrap_or_default();
                let end = rest.iter().position(|&byte| byte == 0).unwrap_or(rest.len());
                let (url_key, candidate) = rest.split_at(end);
                keys.insert(crate::fingerprint::key_hash(url_key));
                let candidate = candidate.get(1..).filter(|candidate| !candidate.is_empty());
                let Some(candidate) = candidate else { continue };
                let candidate: Candidate = serde_json::from_slice(candidate).map_err(io::Error::other)?;
                // Keeps the first capture of all and the first of another URL, each with the
                // captures of the same URL and time.
                if first.is_empty() || is_same_moment(&first[0], &candidate) {
                    first.push(candidate);
                } else if first[0].capture.url_key != candidate.capture.url_key
                    && (second.is_empty() || is_same_moment(&second[0], &candidate))
                {
                    second.push(candidate);
                }
                continue;
            }
            let candidate: Candidate = serde_json::from_slice(rest).map_err(io::Error::other)?;
            let own_key = &candidate.capture.url_key;
            if candidate.capture.refers_to.is_none() && keys.contains(&crate::fingerprint::key_hash(own_key))
            {
                continue;
            }
            let of_other =
                |offers: &&Vec<Candidate>| offers.first().is_some_and(|o| o.capture.url_key != *own_key);
            let offers = [&first, &second].into_iter().find(of_other);
            if let Some(original) = offers.and_then(|offers| best(offers.iter())) {
                complete(&candidate, original, take)?;
            }
        }
        Ok(())
    }
}

fn is_same_moment(a: &Candidate, b: &Candidate) -> bool {
    (a.capture.fetch_time_ms, &a.capture.url_key) == (b.capture.fetch_time_ms, &b.capture.url_key)
}

fn complete(revisit: &Candidate, original: &Candidate, take: &mut TakeCompleted<'_>) -> io::Result<()> {
    match originals::with_original(&revisit.capture, InputId(0), original.capture.clone()) {
        Some(capture) => take(&revisit.input, capture),
        None => Ok(()),
    }
}

fn best_of_second<'o>(revisit: &Capture, offers: &'o [Candidate]) -> Option<&'o Candidate> {
    let time_ms = revisit.refers_to.as_ref().and_then(|refers| refers.time_ms);
    let suits = |offer: &&Candidate| originals::is_like(revisit, offer.capture.kind, offer.capture.status);
    let is_it = |offer: &Candidate| {
        let capture = &offer.capture;
        (
            capture.digest == revisit.digest,
            Some(capture.fetch_time_ms) == time_ms,
        )
    };
    let most = offers.iter().filter(suits).map(is_it).max()?;
    best(offers.iter().filter(suits).filter(|offer| is_it(offer) == most))
}

/// Returns the greatest in the order of content, then of time.
fn best<'o>(offers: impl Iterator<Item = &'o Candidate>) -> Option<&'o Candidate> {
    let offers: Vec<&Candidate> = offers.collect();
    let labels = Labels(offers.iter().map(|offer| offer.collection.as_str()).collect());
    let rows: Vec<StoredCapture> = (0u32..)
        .zip(&offers)
        .map(|(number, offer)| StoredCapture::of(InputId(number), &offer.capture))
        .collect();
    let greatest = rows
        .iter()
        .max_by(|a, b| original_order(a, &labels).cmp(&original_order(b, &labels)))?;
    offers.get(greatest.input.0 as usize).copied()
}

/// Collection labels of offers, by their numbers.
struct Labels<'a>(Vec<&'a str>);

impl Collections for Labels<'_> {
    fn collection_of(&self, input: InputId) -> &str {
        self.0.get(input.0 as usize).copied().unwrap_or_default()
    }
}

fn split(row: &[u8]) -> io::Result<([u8; HASH_BYTES], u8, &[u8])> {
    let short = || io::Error::other("truncated row");
    let hash = row.first_chunk().ok_or_else(short)?;
    let (tag, rest) = row[HASH_BYTES..].split_first().ok_or_else(short)?;
    Ok((*hash, *tag, rest))
}

fn target_hash(url_key: &str, second: i64) -> [u8; HASH_BYTES] {
    originals::reference_hash(&originals::target_prefix(url_key, second))
}

fn digest_hash(digest: &str) -> [u8; HASH_BYTES] {
    originals::reference_hash(&originals::digest_prefix(digest))
}
