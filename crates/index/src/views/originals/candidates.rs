//! Candidates for the original of a revisit.

use std::collections::BTreeSet;

use extract::{Capture, CaptureKind};
use rustc_hash::FxHashMap;

use super::content::{bare, read_capture, with_original};
use super::revisit::{is_known, is_like, may_go_by_digest, names_its_own, target};
use super::rows::{digest_prefix, is_payload, payload_prefix, split_payload, target_prefix};
use crate::cut::Cut;
use crate::error::SnapshotError;
use crate::ids::InputId;
use crate::tables::Table;
use crate::views::capture_key::{CapturePosition, is_of_key, key_prefix, time_prefix};
use crate::views::capture_row::StoredCapture;
use crate::views::captures;
use crate::views::history::{Collections, content_order};
use crate::views::order::is_eligible;

/// Returns whether a capture is being removed.
pub(crate) type IsRemoved<'a> = dyn Fn(&[u8], CapturePosition) -> bool + 'a;

/// Rank of a capture among the possible originals. Captures that are equal in all of this are
/// interchangeable.
pub(crate) fn original_order<'r>(row: &'r StoredCapture, names: &'r dyn Collections) -> impl Ord + use<'r> {
    let capture = &row.capture;
    let details = capture.content().map(|content| {
        let (canonical, robots) = (&content.canonical, &content.robots);
        (canonical, robots, content.text_truncated, content.links_dropped)
    });
    let rest = (capture.status, capture.kind, capture.fetch_time_ms, details);
    (content_order(row, names), rest)
}

/// A possible original: a new capture, by its index in the batch, or a stored one.
pub(super) struct Candidate {
    pub(super) row: StoredCapture,
    added: Option<usize>,
}

/// The captures after this step: stored ones that stay, and new ones.
pub(super) struct Captures<'a> {
    cut: &'a Cut,
    names: &'a dyn Collections,
    is_removed: &'a IsRemoved<'a>,
    /// Sorted by key and time.
    added: &'a [(InputId, Capture)],
    /// New pages and documents, by digest.
    added_by_digest: FxHashMap<&'a str, Vec<usize>>,
}

impl<'a> Captures<'a> {
    pub(super) fn new(
        cut: &'a Cut,
        names: &'a dyn Collections,
        is_removed: &'a IsRemoved<'a>,
        added: &'a [(InputId, Capture)],
    ) -> Captures<'a> {
        let mut added_by_digest: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
        for (index, (_, capture)) in added.iter().enumerate() {
            if is_payload(capture) {
                added_by_digest.entry(&capture.digest).or_default().push(index);
            }
        }
        Captures {
            cut,
            names,
            is_removed,
            added,
            added_by_digest,
        }
    }

    /// Returns the original of a revisit.
    pub(super) fn original(&self, revisit: &Capture) -> Result<Option<Candidate>, SnapshotError> {
        if names_its_own(revisit) || revisit.redirects_to_itself {
            return Ok(None);
        }
        if let Some((target, second)) = target(revisit)
            && let Some(found) = self.at(revisit, target, second)?
        {
            return Ok(Some(found));
        }
        if !may_go_by_digest(revisit)
            || (revisit.refers_to.is_none() && self.has_digest(&revisit.url_key, &revisit.digest)?)
        {
            return Ok(None);
        }
        self.first_with_digest(revisit)
    }

    /// Returns the best capture of a key within a second.
    fn at(&self, revisit: &Capture, target: &str, second: i64) -> Result<Option<Candidate>, SnapshotError> {
        let time_ms = revisit.refers_to.as_ref().and_then(|refers| refers.time_ms);
        let times = (
            second.saturating_mul(1000),
            second.saturating_mul(1000).saturating_add(999),
        );
        let suits = |capture: &Capture| {
            let is_record = capture.kind != CaptureKind::Revisit && is_eligible(capture);
            is_record && is_like(revisit, capture.kind, capture.status)
        };
        let order = |candidate: &Candidate| {
            let capture = &candidate.row.capture;
            (
                capture.digest == revisit.digest,
                Some(capture.fetch_time_ms) == time_ms,
            )
        };
        let found = self
            .between(target, times)?
            .into_iter()
            .filter(|found| suits(&found.row.capture));
        Ok(found.max_by(|a, b| {
            order(a)
                .cmp(&order(b))
                .then_with(|| original_order(&a.row, self.names).cmp(&original_order(&b.row, self.names)))
        }))
    }

    /// Returns the captures of a key between two times, both inclusive.
    fn between(&self, url_key: &str, (from_ms, to_ms): (i64, i64)) -> Result<Vec<Candidate>, SnapshotError> {
        let mut found = Vec::new();
        let from = time_prefix(url_key, from_ms);
        let to = time_prefix(url_key, to_ms.saturating_add(1));
        for row in self.cut.range(Table::Captures, &from, &to) {
            let (key, value) = row?;
            if !is_of_key(&key, url_key) {
                continue;
            }
            let row = captures::read_row(self.cut, &key, &value)?;
            if !(self.is_removed)(url_key.as_bytes(), row.position()) {
                found.push(Candidate { row, added: None });
            }
        }
        let first = self.added.partition_point(|(_, capture)| {
            (capture.url_key.as_bytes(), capture.fetch_time_ms) < (url_key.as_bytes(), from_ms)
        });
        let added = self.added.iter().enumerate().skip(first);
        for (index, (input, capture)) in
            added.take_while(|(_, (_, c))| c.url_key == url_key && c.fetch_time_ms <= to_ms)
        {
            found.push(Candidate {
                row: StoredCapture::of(*input, capture),
                added: Some(index),
            });
        }
        Ok(found)
    }

    /// Returns whether a capture of a key, other than a revisit, has a digest.
    fn has_digest(&self, url_key: &str, digest: &str) -> Result<bool, SnapshotError> {
        let all = self.between(url_key, (i64::MIN, i64::MAX - 1))?;
        let mut captures = all.iter().map(|found| &found.row.capture);
        Ok(captures.any(|capture| capture.kind != CaptureKind::Revisit && capture.digest == digest))
    }

    /// Returns the first page or document of another URL with the digest of a revisit.
    fn first_with_digest(&self, revisit: &Capture) -> Result<Option<Candidate>, SnapshotError> {
        let added = self.added_by_digest.get(revisit.digest.as_str());
        let added = added.into_iter().flatten().map(|index| &self.added[*index].1);
        let added = added.filter(|capture| capture.url_key != revisit.url_key);
        let added = added.min_by(|a, b| time_and_key(a).cmp(&time_and_key(b)));
        let mut first = added.map(|capture| (capture.fetch_time_ms, capture.url_key.clone()));
        for row in self.cut.prefix(Table::Payloads, &payload_prefix(&revisit.digest)) {
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
                    .best_with_digest(&revisit.digest, time_ms, &url_key)?
                    .is_some()
            {
                first = Some((time_ms, url_key));
                break;
            }
        }
        match first {
            Some((time_ms, url_key)) => self.best_with_digest(&revisit.digest, time_ms, &url_key),
            None => Ok(None),
        }
    }

    pub(super) fn best_with_digest(
        &self,
        digest: &str,
        time_ms: i64,
        url_key: &str,
    ) -> Result<Option<Candidate>, SnapshotError> {
        let all = self.between(url_key, (time_ms, time_ms))?.into_iter();
        let with_digest =
            all.filter(|found| is_payload(&found.row.capture) && found.row.capture.digest == digest);
        Ok(with_digest
            .max_by(|a, b| original_order(&a.row, self.names).cmp(&original_order(&b.row, self.names))))
    }

    /// Returns a capture with its page or links.
    fn whole(&self, candidate: &Candidate) -> Result<Capture, SnapshotError> {
        match candidate.added {
            Some(index) => Ok(self.added[index].1.clone()),
            None => read_capture(self.cut, &candidate.row),
        }
    }

    /// Collects the row keys of revisits whose original may change when this capture is added or
    /// removed.
    pub(super) fn find_affected(
        &self,
        capture: &Capture,
        into: &mut BTreeSet<Vec<u8>>,
    ) -> Result<(), SnapshotError> {
        if capture.kind == CaptureKind::Revisit {
            return Ok(());
        }
        if is_eligible(capture) {
            let second = capture.fetch_time_ms.div_euclid(1000);
            self.referring(&target_prefix(&capture.url_key, second), 0, into)?;
        }
        if !is_known(&capture.digest) {
            return Ok(());
        }
        let prefix = digest_prefix(&capture.digest);
        let own = [prefix.as_slice(), &key_prefix(&capture.url_key)].concat();
        self.referring(&own, key_prefix(&capture.url_key).len(), into)?;
        // After payloads of two other URLs, this one is the first for no revisit.
        if is_payload(capture) && !self.comes_third(capture)? {
            self.referring(&prefix, 0, into)?;
        }
        Ok(())
    }

    /// Collects the row keys of revisits with a prefix in `references`. The last `own` bytes of the
    /// prefix are part of the row key.
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

    /// Returns whether payloads of two URLs with the capture's digest are stored before it and
    /// stay.
    fn comes_third(&self, capture: &Capture) -> Result<bool, SnapshotError> {
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

    /// Returns a revisit with the content of a capture; `None` if that leads to the revisit's own
    /// key.
    pub(super) fn with_content(
        &self,
        revisit: &Capture,
        original: &Candidate,
    ) -> Result<Option<Capture>, SnapshotError> {
        Ok(with_original(revisit, original.row.input, self.whole(original)?))
    }

    /// Returns a stored revisit and its new state, if its original changes.
    pub(super) fn with_new_original(
        &self,
        row_key: &[u8],
    ) -> Result<Option<(StoredCapture, Capture)>, SnapshotError> {
        let Some(value) = self.cut.get(Table::Captures, row_key)? else {
            return Ok(None);
        };
        let stored = captures::read_row(self.cut, row_key, &value)?;
        if (self.is_removed)(stored.capture.url_key.as_bytes(), stored.position()) {
            return Ok(None);
        }
        let original = self.original(&stored.capture)?;
        let known = stored.capture.original.as_ref();
        let is_it = |row: &StoredCapture| {
            let capture = &row.capture;
            known.is_some_and(|known| {
                (known.input, known.offset, &known.url_key) == (row.input.0, capture.offset, &capture.url_key)
            })
        };
        if original.as_ref().is_some_and(|found| is_it(&found.row)) {
            return Ok(None);
        }
        let bare = bare(&stored);
        let now = match &original {
            Some(original) => self.with_content(&bare, original)?.unwrap_or(bare),
            None => bare,
        };
        let is_same = now.original.is_none() && known.is_none();
        Ok((!is_same).then_some((stored, now)))
    }
}

fn time_and_key(capture: &Capture) -> (i64, &str) {
    (capture.fetch_time_ms, &capture.url_key)
}
