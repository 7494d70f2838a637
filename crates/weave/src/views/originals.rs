//! Whose content revisits of other URLs have.
//!
//! Definition (docs/views.md, "Revisits"): a revisit that names its own URL has no original. One that names another URL and a date has the
//! best capture of that URL within that second; if there is none that suits, or no date, and of a revisit that names no URL and has a digest that no
//! capture of its own URL has, it is the first page or document of all URLs with its digest. An original is no revisit, may be current itself, and
//! has a status like that of the revisit. Without one a revisit is no version.
//!
//! What a revisit has of its original is kept with the revisit as if it were its own: title and language in its row of `captures`, text
//! and links with its URL key. So everything that follows from captures knows nothing of originals. When captures come or go, the
//! revisits that may have another original now are found by `references`, and their keys are decided anew.
//!
//! `references` has rows of revisits that do not name their own URL:
//! - 1, hash of the target key (16), second (8), key of the revisit's row; of those with a date;
//! - 2, hash of the digest (16), key of the revisit's row; of those with a digest.
//!
//! `payloads` has a row for each page and document that is no revisit and has a digest: the first 8 bytes of the hash of the digest, time, URL key.

use std::collections::{BTreeMap, BTreeSet};

use extract::{Capture, CaptureKind, Link, LinkKind, Original, Page};
use rustc_hash::FxHashMap;

use crate::codec::{self, Corrupt};
use crate::cut::Cut;
use crate::error::SnapshotError;
use crate::ids::InputId;
use crate::tables::Table;
use crate::views::captures::{self, Place, Stored};
use crate::views::order::{content_of, is_eligible, is_eligible_row};
use crate::views::past::{self, Collections, content_order};
use crate::views::version_change::Anew;
use crate::views::version_row::VersionRow;
use crate::views::{links, past_links, texts, versions};
use crate::write::Write;

const BY_TARGET: u8 = 1;
const BY_DIGEST: u8 = 2;
const HASH_BYTES: usize = 16;
const PAYLOAD_HASH_BYTES: usize = 8;

/// What stands for a digest that is not known.
const UNKNOWN_DIGEST: &str = "-";

/// Captures that leave.
pub(crate) type Leaves<'a> = dyn Fn(&[u8], Place) -> bool + 'a;

/// Whether a digest says which payload it is of.
pub(crate) fn is_known(digest: &str) -> bool {
    !matches!(digest, "" | UNKNOWN_DIGEST)
}

/// What is asked of a revisit to find its original.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Revisit<'a> {
    url_key: &'a str,
    digest: &'a str,
    status: u16,
    redirects_to_itself: bool,
    refers_to: Option<&'a extract::RefersTo>,
}

impl<'a> From<&'a Stored> for Revisit<'a> {
    fn from(row: &'a Stored) -> Revisit<'a> {
        Revisit {
            url_key: &row.url_key,
            digest: &row.digest,
            status: row.status,
            redirects_to_itself: row.redirects_to_itself,
            refers_to: row.refers_to.as_deref(),
        }
    }
}

impl<'a> From<&'a Capture> for Revisit<'a> {
    fn from(capture: &'a Capture) -> Revisit<'a> {
        Revisit {
            url_key: &capture.url_key,
            digest: &capture.digest,
            status: capture.status,
            redirects_to_itself: capture.redirects_to_itself,
            refers_to: capture.refers_to.as_deref(),
        }
    }
}

impl<'a> Revisit<'a> {
    pub(crate) fn names_its_own(self) -> bool {
        self.refers_to
            .is_some_and(|refers| refers.url_key == self.url_key)
    }

    pub(crate) fn redirects_to_itself(self) -> bool {
        self.redirects_to_itself
    }

    /// The key and the second that it refers to.
    pub(crate) fn target(self) -> Option<(&'a str, i64)> {
        let refers = self.refers_to.filter(|_| !self.names_its_own())?;
        Some((&refers.url_key, refers.time_ms?.div_euclid(1000)))
    }

    /// Whether a capture that answers with this kind and status may have the content of what the revisit answers with. A
    /// revisit without head does not say, nor one whose server said that nothing was modified.
    pub(crate) fn is_like(self, kind: CaptureKind, status: u16) -> bool {
        let is_redirect =
            (300..400).contains(&status) && !matches!(kind, CaptureKind::Resource | CaptureKind::Wet);
        match self.status {
            0 | 304 => true,
            200..=299 => !is_redirect,
            300..=399 => is_redirect,
            _ => false,
        }
    }

    /// Whether it may have the original that its digest alone finds.
    pub(crate) fn may_go_by_digest(self) -> bool {
        !self.names_its_own() && is_known(self.digest) && self.is_like(CaptureKind::Response, 200)
    }
}

/// Keys of the rows of `references` of a revisit whose row of `captures` has this key.
pub(crate) fn reference_keys(revisit: Revisit<'_>, row_key: &[u8]) -> Vec<Vec<u8>> {
    if revisit.names_its_own() {
        return Vec::new();
    }
    let by_target = revisit.target().map(|(target, second)| {
        let mut key = target_prefix(target, second);
        key.extend_from_slice(row_key);
        key
    });
    let by_digest = is_known(revisit.digest).then(|| {
        let mut key = digest_prefix(revisit.digest);
        key.extend_from_slice(row_key);
        key
    });
    by_target.into_iter().chain(by_digest).collect()
}

/// What stands for a target with its second, or for a digest, where references meet without an index.
pub(crate) fn reference_hash(prefix: &[u8]) -> [u8; HASH_BYTES] {
    let mut hash = [0; HASH_BYTES];
    hash.copy_from_slice(&blake3::hash(prefix).as_bytes()[..HASH_BYTES]);
    hash
}

/// What the row of `references` with this key refers to.
pub(crate) fn referred_hash(key: &[u8]) -> [u8; HASH_BYTES] {
    let bytes = match key.first() {
        Some(&BY_TARGET) => 1 + HASH_BYTES + 8,
        _ => 1 + HASH_BYTES,
    };
    reference_hash(key.get(..bytes).unwrap_or_default())
}

pub(crate) fn target_prefix(target: &str, second: i64) -> Vec<u8> {
    let hash = blake3::hash(target.as_bytes());
    [
        &[BY_TARGET],
        &hash.as_bytes()[..HASH_BYTES],
        &codec::sortable(second),
    ]
    .concat()
}

pub(crate) fn digest_prefix(digest: &str) -> Vec<u8> {
    let hash = blake3::hash(digest.as_bytes());
    [&[BY_DIGEST], &hash.as_bytes()[..HASH_BYTES]].concat()
}

/// Key of the row of `payloads` of a capture, if it has one.
pub(crate) fn payload_key(row: &Stored) -> Option<Vec<u8>> {
    let has_one = is_payload(row) && is_known(&row.digest);
    has_one.then(|| {
        let mut key = payload_prefix(&row.digest);
        key.extend_from_slice(&codec::sortable(row.fetch_time_ms));
        key.extend_from_slice(row.url_key.as_bytes());
        key
    })
}

fn payload_prefix(digest: &str) -> Vec<u8> {
    blake3::hash(digest.as_bytes()).as_bytes()[..PAYLOAD_HASH_BYTES].to_vec()
}

/// Time and URL key of a row of `payloads`.
fn split_payload(key: &[u8]) -> Result<(i64, String), Corrupt> {
    let short = Corrupt("key too short");
    let time = key
        .get(PAYLOAD_HASH_BYTES..)
        .and_then(<[u8]>::first_chunk)
        .ok_or(short)?;
    let url_key = codec::to_text(&key[PAYLOAD_HASH_BYTES + 8..])?;
    Ok((codec::from_sortable(*time), url_key))
}

/// Whether it is a page or document that is no revisit.
fn is_payload(row: &Stored) -> bool {
    row.kind != CaptureKind::Revisit && row.content.is_some() && is_eligible_row(row)
}

/// Place of a capture among those that may be an original. Of two that are alike in all this it does not matter which it is.
pub(crate) fn original_order<'r>(row: &'r Stored, names: &'r dyn Collections) -> impl Ord + use<'r> {
    let rest = (row.status, row.kind, row.fetch_time_ms, &row.details);
    (content_order(row, names), rest)
}

/// A capture that may be an original: one that came, by its place in the batch, or one that is stored.
struct Candidate {
    row: Stored,
    came: Option<usize>,
}

/// Captures as they will be: those that are stored and do not leave, and those that come.
struct Captures<'a> {
    cut: &'a Cut,
    names: &'a dyn Collections,
    leaves: &'a Leaves<'a>,
    /// Sorted by key and time.
    came: &'a [(InputId, Capture)],
    /// Pages and documents that came, by digest.
    came_by_digest: FxHashMap<&'a str, Vec<usize>>,
}

impl<'a> Captures<'a> {
    fn new(
        cut: &'a Cut,
        names: &'a dyn Collections,
        leaves: &'a Leaves<'a>,
        came: &'a [(InputId, Capture)],
    ) -> Captures<'a> {
        let mut came_by_digest: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
        for (index, (_, capture)) in came.iter().enumerate() {
            let is_payload = capture.kind != CaptureKind::Revisit && content_of(capture).is_some();
            if is_payload && is_eligible(capture) && is_known(&capture.digest) {
                came_by_digest.entry(&capture.digest).or_default().push(index);
            }
        }
        Captures {
            cut,
            names,
            leaves,
            came,
            came_by_digest,
        }
    }

    /// The original of a revisit.
    fn original(&self, revisit: Revisit<'_>) -> Result<Option<Candidate>, SnapshotError> {
        if revisit.names_its_own() || revisit.redirects_to_itself {
            return Ok(None);
        }
        if let Some((target, second)) = revisit.target()
            && let Some(found) = self.at(revisit, target, second)?
        {
            return Ok(Some(found));
        }
        if !revisit.may_go_by_digest()
            || (revisit.refers_to.is_none() && self.has_digest(revisit.url_key, revisit.digest)?)
        {
            return Ok(None);
        }
        self.first_with_digest(revisit)
    }

    /// The best capture of a key within a second.
    fn at(
        &self,
        revisit: Revisit<'_>,
        target: &str,
        second: i64,
    ) -> Result<Option<Candidate>, SnapshotError> {
        let time_ms = revisit.refers_to.and_then(|refers| refers.time_ms);
        let times = (
            second.saturating_mul(1000),
            second.saturating_mul(1000).saturating_add(999),
        );
        let suits = |row: &Stored| {
            row.kind != CaptureKind::Revisit && is_eligible_row(row) && revisit.is_like(row.kind, row.status)
        };
        let order = |candidate: &Candidate| {
            let row = &candidate.row;
            (row.digest == revisit.digest, Some(row.fetch_time_ms) == time_ms)
        };
        let found = self
            .between(target, times)?
            .into_iter()
            .filter(|found| suits(&found.row));
        Ok(found.max_by(|a, b| {
            order(a)
                .cmp(&order(b))
                .then_with(|| original_order(&a.row, self.names).cmp(&original_order(&b.row, self.names)))
        }))
    }

    /// Captures of a key between two times, both included.
    fn between(&self, url_key: &str, (from_ms, to_ms): (i64, i64)) -> Result<Vec<Candidate>, SnapshotError> {
        let mut found = Vec::new();
        let from = captures::time_prefix(url_key, from_ms);
        let to = captures::time_prefix(url_key, to_ms.saturating_add(1));
        for row in self.cut.range(Table::Captures, &from, &to) {
            let (key, value) = row?;
            if !captures::is_of_key(&key, url_key) {
                continue;
            }
            let row = self
                .cut
                .decode(Table::Captures, &key, captures::decode(&key, &value))?;
            if row.url_key == url_key && !(self.leaves)(url_key.as_bytes(), row.place()) {
                found.push(Candidate { row, came: None });
            }
        }
        let first = self.came.partition_point(|(_, capture)| {
            (capture.url_key.as_bytes(), capture.fetch_time_ms) < (url_key.as_bytes(), from_ms)
        });
        let came = self.came.iter().enumerate().skip(first);
        for (index, (input, capture)) in
            came.take_while(|(_, (_, c))| c.url_key == url_key && c.fetch_time_ms <= to_ms)
        {
            found.push(Candidate {
                row: Stored::of(*input, capture),
                came: Some(index),
            });
        }
        Ok(found)
    }

    /// Whether a capture of a key that is no revisit has a digest.
    fn has_digest(&self, url_key: &str, digest: &str) -> Result<bool, SnapshotError> {
        let all = self.between(url_key, (i64::MIN, i64::MAX - 1))?;
        Ok(all
            .iter()
            .any(|found| found.row.kind != CaptureKind::Revisit && found.row.digest == digest))
    }

    /// The first page or document of another URL with the digest of a revisit.
    fn first_with_digest(&self, revisit: Revisit<'_>) -> Result<Option<Candidate>, SnapshotError> {
        let came = self.came_by_digest.get(revisit.digest);
        let came = came.into_iter().flatten().map(|index| &self.came[*index].1);
        let came = came.filter(|capture| capture.url_key != revisit.url_key);
        let came = came.min_by(|a, b| time_and_key(a).cmp(&time_and_key(b)));
        let mut first = came.map(|capture| (capture.fetch_time_ms, capture.url_key.clone()));
        for row in self.cut.prefix(Table::Payloads, &payload_prefix(revisit.digest)) {
            let (key, _) = row?;
            let (time_ms, url_key) = self.cut.decode(Table::Payloads, &key, split_payload(&key))?;
            if first
                .as_ref()
                .is_some_and(|first| *first < (time_ms, url_key.clone()))
            {
                break;
            }
            if url_key != revisit.url_key
                && self
                    .best_with_digest(revisit.digest, time_ms, &url_key)?
                    .is_some()
            {
                first = Some((time_ms, url_key));
                break;
            }
        }
        match first {
            Some((time_ms, url_key)) => self.best_with_digest(revisit.digest, time_ms, &url_key),
            None => Ok(None),
        }
    }

    fn best_with_digest(
        &self,
        digest: &str,
        time_ms: i64,
        url_key: &str,
    ) -> Result<Option<Candidate>, SnapshotError> {
        let all = self.between(url_key, (time_ms, time_ms))?.into_iter();
        let with_digest = all.filter(|found| is_payload(&found.row) && found.row.digest == digest);
        Ok(with_digest
            .max_by(|a, b| original_order(&a.row, self.names).cmp(&original_order(&b.row, self.names))))
    }

    /// A capture with its page or links.
    fn whole(&self, candidate: &Candidate) -> Result<Capture, SnapshotError> {
        match candidate.came {
            Some(index) => Ok(self.came[index].1.clone()),
            None => whole(self.cut, &candidate.row),
        }
    }

    /// Revisits that may have another original when this capture comes or goes: keys of their rows.
    fn may_turn(&self, capture: &Stored, into: &mut BTreeSet<Vec<u8>>) -> Result<(), SnapshotError> {
        if capture.kind == CaptureKind::Revisit {
            return Ok(());
        }
        if is_eligible_row(capture) {
            let second = capture.fetch_time_ms.div_euclid(1000);
            self.referring(&target_prefix(&capture.url_key, second), 0, into)?;
        }
        if !is_known(&capture.digest) {
            return Ok(());
        }
        let prefix = digest_prefix(&capture.digest);
        let own = [prefix.as_slice(), &captures::key_prefix(&capture.url_key)].concat();
        self.referring(&own, captures::key_prefix(&capture.url_key).len(), into)?;
        // A payload that comes after those of two other URLs is first for nobody.
        if is_payload(capture) && !self.comes_third(capture)? {
            self.referring(&prefix, 0, into)?;
        }
        Ok(())
    }

    /// Keys of the rows of revisits that `references` has under a prefix, of which the last bytes are of that key already.
    fn referring(
        &self,
        prefix: &[u8],
        own: usize,
        into: &mut BTreeSet<Vec<u8>>,
    ) -> Result<(), SnapshotError> {
        for row in self.cut.prefix(Table::References, prefix) {
            let (key, _) = row?;
            into.insert(key[prefix.len() - own..].to_vec());
        }
        Ok(())
    }

    /// Whether payloads of two URLs with its digest are stored that stand before it and stay.
    fn comes_third(&self, capture: &Stored) -> Result<bool, SnapshotError> {
        let mut first: Option<String> = None;
        for row in self.cut.prefix(Table::Payloads, &payload_prefix(&capture.digest)) {
            let (key, _) = row?;
            let (time_ms, url_key) = self.cut.decode(Table::Payloads, &key, split_payload(&key))?;
            if (time_ms, url_key.as_str()) >= (capture.fetch_time_ms, capture.url_key.as_str()) {
                return Ok(false);
            }
            if first.as_ref() == Some(&url_key)
                || self
                    .best_with_digest(&capture.digest, time_ms, &url_key)?
                    .is_none()
            {
                continue;
            }
            if first.replace(url_key).is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn time_and_key(capture: &Capture) -> (i64, &str) {
    (capture.fetch_time_ms, &capture.url_key)
}

/// Keys whose revisits have come with content or have another now.
pub(crate) struct Arrived {
    pub(crate) anew: Vec<(Anew, Vec<Place>)>,
}

/// Finds the originals of revisits that come, and of those that what comes may be the original of; writes the rows of these. Takes the
/// captures of keys that are to be decided anew out of `new`.
pub(crate) fn arrive(
    cut: &Cut,
    write: &mut Write<'_>,
    names: &dyn Collections,
    new: &mut Vec<(InputId, Capture)>,
) -> Result<Arrived, SnapshotError> {
    let row_key =
        |input: InputId, c: &Capture| captures::row_key(&c.url_key, c.fetch_time_ms, input, c.offset);
    let mut turned: BTreeMap<Vec<u8>, (InputId, Capture)> = BTreeMap::new();
    let mut payloads = BTreeSet::new();
    {
        let all = Captures::new(cut, names, &|_, _| false, new);
        let mut affected = BTreeSet::new();
        let has_references = cut.iter(Table::References).next().transpose()?.is_some();
        for (input, capture) in new.iter() {
            if capture.kind == CaptureKind::Revisit {
                let key = row_key(*input, capture);
                for reference in reference_keys(capture.into(), &key) {
                    write.put(Table::References, reference, []);
                }
                let now = match all.original(capture.into())? {
                    Some(original) => with_content(capture, &original, &all)?,
                    None => None,
                };
                write.put(
                    Table::Captures,
                    key.as_slice(),
                    captures::encode(now.as_ref().unwrap_or(capture)),
                );
                if let Some(now) = now {
                    turned.insert(key, (*input, now));
                }
                continue;
            }
            let may_be = has_references || content_of(capture).is_some();
            if !may_be {
                continue;
            }
            let row = Stored::of(*input, capture);
            payloads.extend(payload_key(&row));
            if has_references {
                all.may_turn(&row, &mut affected)?;
            }
        }
        for key in affected {
            if let Some((stored, now)) = all.turn(&key)? {
                write.put(Table::Captures, key.as_slice(), captures::encode(&now));
                turned.insert(key, (stored.input, now));
            }
        }
    }
    for key in payloads {
        if !cut.contains(Table::Payloads, &key)? {
            write.put(Table::Payloads, key, []);
        }
    }
    if turned.is_empty() {
        return Ok(Arrived { anew: Vec::new() });
    }
    let keys: BTreeSet<String> = turned.values().map(|(_, c)| c.url_key.clone()).collect();
    let mut groups: BTreeMap<String, Vec<(InputId, Capture)>> = BTreeMap::new();
    for (input, capture) in new.extract_if(.., |(_, c)| keys.contains(&c.url_key)) {
        let is_turned =
            capture.kind == CaptureKind::Revisit && turned.contains_key(&row_key(input, &capture));
        if !is_turned {
            groups
                .entry(capture.url_key.clone())
                .or_default()
                .push((input, capture));
        }
    }
    for turned in turned.into_values() {
        groups.entry(turned.1.url_key.clone()).or_default().push(turned);
    }
    let anew = groups.into_iter().map(|(url_key, group)| {
        let captures = Some(with_newest(cut, &url_key, group)?);
        let anew = Anew {
            url_key,
            captures,
            captured: true,
            arrives: true,
        };
        Ok((anew, Vec::new()))
    });
    Ok(Arrived {
        anew: anew.collect::<Result<_, SnapshotError>>()?,
    })
}

/// Adds to captures of a key the stored ones of the latest time at which any may be current.
fn with_newest(
    cut: &Cut,
    url_key: &str,
    mut group: Vec<(InputId, Capture)>,
) -> Result<Vec<(InputId, Capture)>, SnapshotError> {
    let known: Vec<(InputId, u64)> = group.iter().map(|(input, c)| (*input, c.offset)).collect();
    let rows = past::rows(cut, url_key)?;
    let stay = || {
        rows.iter()
            .filter(|row| is_eligible_row(row) && !known.contains(&(row.input, row.offset)))
    };
    let came = group
        .iter()
        .filter(|(_, c)| is_eligible(c))
        .map(|(_, c)| c.fetch_time_ms);
    let newest = stay().map(|row| row.fetch_time_ms).chain(came).max();
    for row in stay().filter(|row| Some(row.fetch_time_ms) == newest) {
        group.push((row.input, whole(cut, row)?));
    }
    Ok(group)
}

impl Captures<'_> {
    /// A stored revisit and what it is now, if its original is another one.
    fn turn(&self, row_key: &[u8]) -> Result<Option<(Stored, Capture)>, SnapshotError> {
        let Some(value) = self.cut.get(Table::Captures, row_key)? else {
            return Ok(None);
        };
        let stored = captures::decode(row_key, &value);
        let stored = self.cut.decode(Table::Captures, row_key, stored)?;
        if (self.leaves)(stored.url_key.as_bytes(), stored.place()) {
            return Ok(None);
        }
        let original = self.original((&stored).into())?;
        let is_it = |row: &Stored| {
            stored.original.as_ref().is_some_and(|known| {
                (known.input, known.offset, &known.url_key) == (row.input.0, row.offset, &row.url_key)
            })
        };
        if original.as_ref().is_some_and(|found| is_it(&found.row)) {
            return Ok(None);
        }
        let bare = bare(&stored)?;
        let now = match &original {
            Some(original) => with_content(&bare, original, self)?.unwrap_or(bare),
            None => bare,
        };
        let is_same = now.original.is_none() && stored.original.is_none();
        Ok((!is_same).then_some((stored, now)))
    }
}

/// What becomes of revisits that stay when captures leave.
#[derive(Default)]
pub(crate) struct Turned {
    /// By URL key: what they are now.
    pub(crate) by_key: BTreeMap<String, Vec<(InputId, Capture)>>,
    /// Rows of `references` and `payloads` that go.
    pub(crate) gone: Vec<(Table, Vec<u8>)>,
    /// Rows of `captures` that change.
    pub(crate) rows: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Finds the revisits that have another original, or none, when captures leave.
pub(crate) fn leave(
    cut: &Cut,
    names: &dyn Collections,
    leaves: &Leaves<'_>,
    leaving: &[Stored],
) -> Result<Turned, SnapshotError> {
    let all = Captures::new(cut, names, leaves, &[]);
    let mut turned = Turned::default();
    let mut affected = BTreeSet::new();
    let mut payloads = BTreeSet::new();
    let has_references = cut.iter(Table::References).next().transpose()?.is_some();
    for row in leaving {
        if row.kind == CaptureKind::Revisit {
            let key = captures::row_key(&row.url_key, row.fetch_time_ms, row.input, row.offset);
            let references = reference_keys(row.into(), &key).into_iter();
            turned.gone.extend(references.map(|key| (Table::References, key)));
            continue;
        }
        if let Some(key) = payload_key(row)
            && all
                .best_with_digest(&row.digest, row.fetch_time_ms, &row.url_key)?
                .is_none()
        {
            payloads.insert(key);
        }
        if has_references {
            all.may_turn(row, &mut affected)?;
        }
    }
    turned
        .gone
        .extend(payloads.into_iter().map(|key| (Table::Payloads, key)));
    for key in affected {
        if let Some((stored, now)) = all.turn(&key)? {
            turned.rows.push((key, captures::encode(&now)));
            let of_key = turned.by_key.entry(stored.url_key).or_default();
            of_key.push((stored.input, now));
        }
    }
    Ok(turned)
}

/// A revisit with the content of a capture; `None` where that leads to the revisit's own key.
fn with_content(
    revisit: &Capture,
    original: &Candidate,
    captures: &Captures<'_>,
) -> Result<Option<Capture>, SnapshotError> {
    let whole = captures.whole(original)?;
    Ok(given(revisit, original.row.input, whole))
}

/// A revisit with the content of a capture of an input; `None` where that leads to the revisit's own key.
pub(crate) fn given(revisit: &Capture, input: InputId, mut original: Capture) -> Option<Capture> {
    let own_key = &revisit.url_key;
    let its_key = original.url_key.clone();
    if let Some(content) = original.content_mut() {
        content
            .links
            .retain(|link| link.url_key != its_key && link.url_key != *own_key);
    }
    let is_redirect = (300..400).contains(&original.status)
        && !matches!(original.kind, CaptureKind::Resource | CaptureKind::Wet);
    let mut now = Capture {
        original: Some(Box::new(Original {
            url_key: original.url_key.clone(),
            fetch_time_ms: original.fetch_time_ms,
            input: input.0,
            offset: original.offset,
            mime: original.mime.clone(),
            status: original.status,
            kind: original.kind,
            digest: original.digest.clone(),
        })),
        ..revisit.clone()
    };
    if is_redirect {
        // What its own head says comes first.
        if now.redirect.is_none() {
            now.redirect = original.redirect.filter(|link| link.url_key != original.url_key);
        }
        if now.redirect.as_ref().is_some_and(|link| link.url_key == *own_key) {
            return None;
        }
    } else {
        (now.page, now.document) = (original.page, original.document);
    }
    Some(now)
}

/// A revisit as its record has it.
pub(crate) fn bare(stored: &Stored) -> Result<Capture, SnapshotError> {
    Ok(Capture {
        original: None,
        ..base(stored)
    })
}

fn base(stored: &Stored) -> Capture {
    let location = stored.location.as_ref().and_then(|url| {
        Some(Link {
            url_key: urlkey::url_key(url).ok()?,
            url: url.clone(),
            anchor: String::new(),
            nofollow: false,
            kind: LinkKind::Location,
        })
    });
    Capture {
        url_key: stored.url_key.clone(),
        url: stored.url.clone(),
        fetch_time_ms: stored.fetch_time_ms,
        mime: stored.mime.clone(),
        status: stored.status,
        method: stored.method.clone(),
        shortfall: stored.shortfall,
        digest: stored.digest.clone(),
        offset: stored.offset,
        length: stored.length,
        kind: stored.kind,
        redirect: location,
        redirects_to_itself: stored.redirects_to_itself,
        refers_to: stored.refers_to.clone(),
        original: stored.original.clone(),
        ..Capture::default()
    }
}

/// A stored capture with its text and links, as far as views show them.
pub(crate) fn whole(cut: &Cut, stored: &Stored) -> Result<Capture, SnapshotError> {
    let mut capture = base(stored);
    let version = versions::read(cut, &stored.url_key)?;
    let version = version.filter(|version| past_links::place_of(version) == stored.place());
    let mut links = links_of(cut, stored, version.as_ref())?;
    let Some(content) = &stored.content else {
        if (300..400).contains(&capture.shown_status()) && capture.redirect.is_none() {
            capture.redirect = links.pop();
        }
        return Ok(capture);
    };
    let text = match content.text {
        Some(name) => match past::read_text(cut, &stored.url_key, name)? {
            Some(text) => Some(text),
            None => texts::read(cut, &stored.url_key)?.filter(|text| captures::text_hash(text) == name),
        },
        None => None,
    };
    let details = &stored.details;
    let mut page = Page {
        title: content.title.clone(),
        language: content.language.clone(),
        text: text.unwrap_or_default(),
        text_truncated: details.text_truncated,
        canonical: details.canonical.clone(),
        robots: details.robots.clone(),
        links_dropped: details.links_dropped,
        links,
        ..Page::default()
    };
    // Rows of older formats do not say it, but those of versions do.
    if let Some(version) = version {
        page.canonical = version.canonical;
        page.robots = version.robots;
        page.links_dropped = version.links_dropped;
        if let Some(text) = version
            .text
            .filter(|text| (text.input, text.offset) == (stored.input, stored.offset))
        {
            page.text_truncated = text.truncated;
        }
    }
    match content.is_document {
        true => capture.document = Some(Box::new(page)),
        false => capture.page = Some(page),
    }
    Ok(capture)
}

fn links_of(cut: &Cut, stored: &Stored, version: Option<&VersionRow>) -> Result<Vec<Link>, SnapshotError> {
    let past = match stored.links {
        Some(name) => past_links::read_set(cut, &stored.url_key, name)?,
        // Rows of older formats do not name the links of the current version either.
        None if version.is_none() => return Ok(Vec::new()),
        None => None,
    };
    match past {
        Some(links) => Ok(links),
        None => links::read(cut, &stored.url_key, |_| true),
    }
}
