//! Finds the rows to remove with captures, for an input that is taken back or a takedown.
//!
//! Invariant: afterwards all views are those of the remaining captures. If a removed capture
//! provided its key's version, the version is decided again between the remaining captures of the
//! key. The caller reads these again, because the views keep only the row of a capture that is not
//! current.

use std::collections::BTreeMap;

use extract::Capture;

use super::Writer;
use crate::cut::Cut;
use crate::error::{CallerError, RereadError, SnapshotError, TakeBackError};
use crate::ids::InputId;
use crate::ledger::Names;
use crate::rows::CaptureRow;
use crate::snapshot::{Covering, Snapshot};
use crate::tables::Table;
use crate::views::capture_key::{CapturePosition, split_key};
use crate::views::capture_row::StoredCapture;
use crate::views::captures;
use crate::views::index_lines;
use crate::views::totals::TotalsRow;
use crate::views::version_change::Redecide;
use crate::views::versions;
use crate::views::{order, originals};

/// Reads a indexed capture again.
pub type Reread<'a> = dyn FnMut(&CaptureRow) -> Result<Capture, CallerError> + 'a;

/// The captures to remove, and where to look for them.
pub(super) struct RemovalScan<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) totals: &'a TotalsRow,
    pub(super) names: Names<'a>,
    /// Row keys from the first (inclusive) to the second (exclusive; `None`: to the end) hold all
    /// captures to remove.
    pub(super) span: (Vec<u8>, Option<Vec<u8>>),
    /// Returns whether the capture of a URL key at a place is removed.
    pub(super) is_removed: &'a dyn Fn(&[u8], CapturePosition) -> bool,
    /// Whether a capture that cannot be read again is skipped; otherwise it fails the step.
    pub(super) skips_unreadable: bool,
}

/// The rows to remove, and the resulting changes.
#[derive(Default)]
pub(super) struct RemovedRows {
    /// Row keys.
    pub(super) rows: Vec<Vec<u8>>,
    /// Input, offset and length of each, in the same order.
    pub(super) places: Vec<(InputId, u64, u64)>,
    /// Request methods of these, one each.
    pub(super) methods: Vec<String>,
    pub(super) redecide: Vec<(Redecide, Vec<CapturePosition>)>,
    /// Rows of revisits that stay and get another original, or lose theirs.
    pub(super) changed_revisits: Vec<(Vec<u8>, Vec<u8>)>,
    /// Rows of `references` and `payloads` to remove.
    pub(super) reference_rows: Vec<(Table, Vec<u8>)>,
    /// Keys of index lines; then input, offset and length of each, in the same order.
    pub(super) lines: Vec<Vec<u8>>,
    pub(super) line_places: Vec<(InputId, u64, u64)>,
    /// Number of these lines that were shown, because no capture and no other line covered them.
    pub(super) lines_shown: u64,
    /// Least and greatest fetch time of the captures that stay.
    pub(super) fetch_time_ms: Option<(i64, i64)>,
    /// Captures that would be current and cannot be read again, with the reason.
    pub(super) unreadable: Vec<(CaptureRow, String)>,
}

impl RemovalScan<'_> {
    pub(super) fn gather(&self, reread: &mut Reread<'_>) -> Result<RemovedRows, TakeBackError> {
        let cut = self.snapshot.cut();
        let mut removed = RemovedRows::default();
        let mut keys: BTreeMap<String, Vec<CapturePosition>> = BTreeMap::new();
        let mut times: Option<(i64, i64)> = None;
        let mut stored_rows = Vec::new();
        for row in self.rows(cut, Table::Captures) {
            let (key, value) = row?;
            let (url_key, place) = cut.decode(Table::Captures, &key, split_key(&key))?;
            if !(self.is_removed)(url_key, place) {
                continue;
            }
            let stored = captures::read_row(cut, &key, &value)?;
            let capture = &stored.capture;
            times = widened(times, capture.fetch_time_ms);
            removed
                .places
                .push((stored.input, capture.offset, capture.length));
            removed.methods.push(capture.method.clone());
            removed.rows.push(key.to_vec());
            keys.entry(capture.url_key.clone()).or_default().push(place);
            stored_rows.push(stored);
        }
        let changed_revisits = originals::remove(cut, &self.names, self.is_removed, &stored_rows)?;
        (removed.changed_revisits, removed.reference_rows) =
            (changed_revisits.rows, changed_revisits.reference_rows);
        for url_key in changed_revisits.by_key.keys() {
            keys.entry(url_key.clone()).or_default();
        }
        removed.fetch_time_ms = self.times_left(cut, times)?;
        self.gather_lines(&mut removed)?;
        for (url_key, places) in keys {
            let changed_revisits = changed_revisits
                .by_key
                .get(&url_key)
                .map_or(&[][..], Vec::as_slice);
            let redecide = self.redecide(
                url_key,
                (&places, changed_revisits),
                reread,
                &mut removed.unreadable,
            )?;
            removed.redecide.push((redecide, places));
        }
        Ok(removed)
    }

    fn gather_lines(&self, removed: &mut RemovedRows) -> Result<(), SnapshotError> {
        let (cut, mut covering) = (self.snapshot.cut(), Covering::default());
        for row in self.rows(cut, Table::IndexLines) {
            let (key, value) = row?;
            let (url_key, place) = cut.decode(Table::IndexLines, &key, split_key(&key))?;
            if !(self.is_removed)(url_key, place) {
                continue;
            }
            let decoded = index_lines::decode(&key, &value);
            let (input, line) = cut.decode(Table::IndexLines, &key, decoded)?;
            let is_shown = line.alias_of.is_none() && !covering.covers(self.snapshot, input, &line)?;
            removed.lines_shown += u64::from(is_shown);
            removed.line_places.push((input, line.offset, line.length));
            removed.lines.push(key.to_vec());
        }
        Ok(())
    }

    fn rows(&self, cut: &Cut, table: Table) -> crate::cut::Rows {
        match &self.span {
            (from, Some(to)) => cut.range(table, from, to),
            (from, None) => cut.from(table, from),
        }
    }

    /// Returns the least and greatest fetch time of the remaining captures, if captures between
    /// `removed` are removed.
    fn times_left(
        &self,
        cut: &Cut,
        removed: Option<(i64, i64)>,
    ) -> Result<Option<(i64, i64)>, SnapshotError> {
        let now = (self.totals.fetch_time_ms_first, self.totals.fetch_time_ms_last);
        let Some(removed) = removed else {
            return Ok(Some(now));
        };
        // Only a capture at an end can move it; then all rows are read.
        if now.0 < removed.0 && removed.1 < now.1 {
            return Ok(Some(now));
        }
        let mut left = None;
        for row in cut.iter(Table::Captures) {
            let (key, _) = row?;
            let (url_key, place) = cut.decode(Table::Captures, &key, split_key(&key))?;
            if !(self.is_removed)(url_key, place) {
                left = widened(left, place.fetch_time_ms);
            }
        }
        Ok(left)
    }

    /// Returns how to decide a key with removed captures again.
    fn redecide(
        &self,
        url_key: String,
        (removed, changed_revisits): (&[CapturePosition], &[(InputId, Capture)]),
        reread: &mut Reread<'_>,
        unreadable: &mut Vec<(CaptureRow, String)>,
    ) -> Result<Redecide, TakeBackError> {
        let left = self.left(&url_key)?;
        let version = versions::read(self.snapshot.cut(), &url_key)?;
        let is_touched = version.as_ref().is_some_and(|version| {
            removed
                .iter()
                .any(|place| place.fetch_time_ms == version.fetch_time_ms)
        });
        let captured = !left.is_empty();
        let is_touched = is_touched || !changed_revisits.is_empty();
        if !is_touched && captured {
            return Ok(Redecide {
                url_key,
                captures: None,
                captured,
                is_addition: false,
            });
        }
        // Captures fetched later than the version cannot be current, or they would be already;
        // unless a revisit has found content.
        let newest = if changed_revisits.is_empty() {
            version.map_or(i64::MIN, |version| version.fetch_time_ms)
        } else {
            i64::MAX
        };
        let mut captures = self.read_newest(left, newest, changed_revisits, reread, unreadable)?;
        for (input, capture) in changed_revisits {
            let is_known = captures
                .iter()
                .any(|(i, c)| (*i, c.offset) == (*input, capture.offset));
            if !is_known {
                captures.push((*input, capture.clone()));
            }
        }
        Ok(Redecide {
            url_key,
            captures: Some(captures),
            captured,
            is_addition: false,
        })
    }

    /// Reads those of the remaining captures of a key, oldest first, that may be its version: of
    /// the latest time up to `newest` that has an eligible one. Revisits that changed are known.
    fn read_newest(
        &self,
        left: Vec<StoredCapture>,
        newest: i64,
        changed_revisits: &[(InputId, Capture)],
        reread: &mut Reread<'_>,
        unreadable: &mut Vec<(CaptureRow, String)>,
    ) -> Result<Vec<(InputId, Capture)>, TakeBackError> {
        let mut captures: Vec<(InputId, Capture)> = Vec::new();
        for stored in left
            .into_iter()
            .rev()
            .filter(|stored| stored.capture.fetch_time_ms <= newest)
        {
            // The text may come from another capture of the same time, but not from an earlier one.
            if captures
                .last()
                .is_some_and(|(_, c)| c.fetch_time_ms != stored.capture.fetch_time_ms)
            {
                break;
            }
            let is_it = |(input, c): &&(InputId, Capture)| {
                (*input, c.offset) == (stored.input, stored.capture.offset)
            };
            if let Some((input, capture)) = changed_revisits.iter().find(is_it) {
                captures.extend(order::is_eligible(capture).then(|| (*input, capture.clone())));
                continue;
            }
            if !order::is_eligible(&stored.capture) {
                continue;
            }
            // The record of a revisit does not have the content.
            if stored.capture.original.is_some() {
                captures.push((
                    stored.input,
                    originals::read_capture(self.snapshot.cut(), &stored)?,
                ));
                continue;
            }
            let row = self.snapshot.capture_row(stored)?;
            match reread_as(&row, reread) {
                Ok(capture) => captures.extend(order::is_eligible(&capture).then_some((row.input, capture))),
                Err(why) if self.skips_unreadable => unreadable.push((row, why.to_string())),
                Err(why) => {
                    return Err(TakeBackError::Reread {
                        url: row.url,
                        input: row.input_name,
                        offset: row.offset,
                        why,
                    });
                }
            }
        }
        Ok(captures)
    }

    /// Returns the remaining captures of a key, oldest first.
    fn left(&self, url_key: &str) -> Result<Vec<StoredCapture>, SnapshotError> {
        let mut left = captures::of_key(self.snapshot.cut(), url_key)?;
        left.retain(|stored| !(self.is_removed)(url_key.as_bytes(), stored.position()));
        Ok(left)
    }
}

fn widened(times: Option<(i64, i64)>, time: i64) -> Option<(i64, i64)> {
    let (first, last) = times.unwrap_or((time, time));
    Some((first.min(time), last.max(time)))
}

/// Reads the capture of a row again. Fails if another capture is there now.
fn reread_as(row: &CaptureRow, reread: &mut Reread<'_>) -> Result<Capture, RereadError> {
    let mut capture = reread(row)?;
    // The record does not have the method, which came with the record of the request.
    capture.method.clone_from(&row.method);
    let is_same = (&capture.url_key, capture.fetch_time_ms) == (&row.url_key, row.fetch_time_ms);
    if is_same && capture.offset == row.offset {
        Ok(capture)
    } else {
        Err(RereadError::OtherCapture)
    }
}

/// Takes over the ledger of a committed step. Digests of forgotten inputs are no longer found.
pub(super) fn take_over(writer: &mut Writer, ledger: Vec<(InputId, crate::ledger::LedgerRow)>) {
    for (id, entry) in ledger {
        if entry.state != crate::InputState::Forgotten {
            writer.replace(id, entry);
            continue;
        }
        let before = std::mem::replace(&mut writer.ledger[id.0 as usize - 1], entry);
        writer.by_digest.remove(&before.digest);
    }
}
