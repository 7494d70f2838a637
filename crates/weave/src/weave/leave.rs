//! Which rows leave when captures do, whatever makes them leave: an input that is taken back, or a takedown.
//!
//! Invariant: afterwards all views are those of the captures that are left. Where one that leaves made up its key's
//! version, the version is decided anew between the captures of the key that are left, and the caller reads
//! these again: the views keep of a capture that is not current no more than its row.

use std::collections::BTreeMap;

use extract::Capture;

use super::{TakeBackError, Writer};
use crate::cut::Cut;
use crate::error::SnapshotError;
use crate::ids::InputId;
use crate::ledger::Names;
use crate::rows::CaptureRow;
use crate::snapshot::Snapshot;
use crate::tables::Table;
use crate::views::captures::{self, Place, Stored};
use crate::views::index_lines::{self, Covering};
use crate::views::totals::TotalsRow;
use crate::views::version_change::Anew;
use crate::views::versions;
use crate::views::{order, originals};

/// Reads a capture again as it was woven, or says why it cannot.
pub type Reread<'a> = dyn FnMut(&CaptureRow) -> Result<Capture, String> + 'a;

/// Captures that leave, and where they are looked for.
pub(super) struct Leave<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) totals: &'a TotalsRow,
    pub(super) names: Names<'a>,
    /// Row keys from here on, up to but without the second (`None`: to the end), hold all that leaves.
    pub(super) span: (Vec<u8>, Option<Vec<u8>>),
    /// Whether the capture of a URL key at a place leaves.
    pub(super) leaves: &'a dyn Fn(&[u8], Place) -> bool,
    /// Whether a capture that cannot be read again is passed over, or ends the step.
    pub(super) passes_over: bool,
}

/// What leaves, and what comes of it.
#[derive(Default)]
pub(super) struct Gone {
    /// Keys of rows.
    pub(super) rows: Vec<Vec<u8>>,
    /// Input, offset and length of each, in the same order.
    pub(super) places: Vec<(InputId, u64, u64)>,
    /// Methods of the requests of these, one each.
    pub(super) methods: Vec<String>,
    pub(super) anew: Vec<(Anew, Vec<Place>)>,
    /// Rows of revisits that stay and have another original, or none.
    pub(super) turned: Vec<(Vec<u8>, Vec<u8>)>,
    /// Rows of `references` and `payloads` that go.
    pub(super) unreferred: Vec<(Table, Vec<u8>)>,
    /// Keys of lines of indexes, and input, offset and length of each, in the same order.
    pub(super) lines: Vec<Vec<u8>>,
    pub(super) line_places: Vec<(InputId, u64, u64)>,
    /// How many of the lines were shown: no capture and no other line covered them.
    pub(super) lines_shown: u64,
    /// Least and greatest fetch time of the captures that stay.
    pub(super) fetch_time_ms: Option<(i64, i64)>,
    /// Captures that would be current and cannot be read again, and why.
    pub(super) unreadable: Vec<(CaptureRow, String)>,
}

impl Leave<'_> {
    pub(super) fn gather(&self, reread: &mut Reread<'_>) -> Result<Gone, TakeBackError> {
        let cut = self.snapshot.cut();
        let mut gone = Gone::default();
        let mut keys: BTreeMap<String, Vec<Place>> = BTreeMap::new();
        let mut times: Option<(i64, i64)> = None;
        let mut leaving = Vec::new();
        for row in self.rows(cut, Table::Captures) {
            let (key, value) = row?;
            let (url_key, place) = cut.decode(Table::Captures, &key, captures::split_key(&key))?;
            if !(self.leaves)(url_key, place) {
                continue;
            }
            let stored = captures::decode(&key, &value);
            let stored = cut.decode(Table::Captures, &key, stored)?;
            times = widened(times, stored.fetch_time_ms);
            gone.places.push((stored.input, stored.offset, stored.length));
            gone.methods.push(stored.method.clone());
            gone.rows.push(key.to_vec());
            keys.entry(stored.url_key.clone()).or_default().push(place);
            leaving.push(stored);
        }
        let turned = originals::leave(cut, &self.names, self.leaves, &leaving)?;
        (gone.turned, gone.unreferred) = (turned.rows, turned.gone);
        for url_key in turned.by_key.keys() {
            keys.entry(url_key.clone()).or_default();
        }
        gone.fetch_time_ms = self.times_left(cut, times)?;
        self.gather_lines(&mut gone)?;
        for (url_key, places) in keys {
            let turned = turned.by_key.get(&url_key).map_or(&[][..], Vec::as_slice);
            let anew = self.anew(url_key, (&places, turned), reread, &mut gone.unreadable)?;
            gone.anew.push((anew, places));
        }
        Ok(gone)
    }

    fn gather_lines(&self, gone: &mut Gone) -> Result<(), SnapshotError> {
        let (cut, mut covering) = (self.snapshot.cut(), Covering::default());
        for row in self.rows(cut, Table::IndexLines) {
            let (key, value) = row?;
            let (url_key, place) = cut.decode(Table::IndexLines, &key, captures::split_key(&key))?;
            if !(self.leaves)(url_key, place) {
                continue;
            }
            let decoded = index_lines::decode(&key, &value);
            let (input, line) = cut.decode(Table::IndexLines, &key, decoded)?;
            let is_shown = line.alias_of.is_none() && !covering.covers(self.snapshot, input, &line)?;
            gone.lines_shown += u64::from(is_shown);
            gone.line_places.push((input, line.offset, line.length));
            gone.lines.push(key.to_vec());
        }
        Ok(())
    }

    fn rows(&self, cut: &Cut, table: Table) -> crate::cut::Rows {
        match &self.span {
            (from, Some(to)) => cut.range(table, from, to),
            (from, None) => cut.from(table, from),
        }
    }

    /// Least and greatest fetch time of what is left, when captures between `gone` leave.
    fn times_left(&self, cut: &Cut, gone: Option<(i64, i64)>) -> Result<Option<(i64, i64)>, SnapshotError> {
        let now = (self.totals.fetch_time_ms_first, self.totals.fetch_time_ms_last);
        let Some(gone) = gone else { return Ok(Some(now)) };
        // Only who holds an end can move it: then all rows are looked at.
        if now.0 < gone.0 && gone.1 < now.1 {
            return Ok(Some(now));
        }
        let mut left = None;
        for row in cut.iter(Table::Captures) {
            let (key, _) = row?;
            let (url_key, place) = cut.decode(Table::Captures, &key, captures::split_key(&key))?;
            if !(self.leaves)(url_key, place) {
                left = widened(left, place.fetch_time_ms);
            }
        }
        Ok(left)
    }

    /// What becomes of a key of which captures leave.
    fn anew(
        &self,
        url_key: String,
        (leaving, turned): (&[Place], &[(InputId, Capture)]),
        reread: &mut Reread<'_>,
        unreadable: &mut Vec<(CaptureRow, String)>,
    ) -> Result<Anew, TakeBackError> {
        let left = self.left(&url_key)?;
        let version = versions::read(self.snapshot.cut(), &url_key)?;
        let is_touched = version.as_ref().is_some_and(|version| {
            leaving
                .iter()
                .any(|place| place.fetch_time_ms == version.fetch_time_ms)
        });
        let captured = !left.is_empty();
        let is_touched = is_touched || !turned.is_empty();
        if !is_touched && captured {
            return Ok(Anew {
                url_key,
                captures: None,
                captured,
                arrives: false,
            });
        }
        // Whatever was fetched later cannot be current, or it would be; unless a revisit has found content.
        let newest = match turned.is_empty() {
            true => version.map_or(i64::MIN, |version| version.fetch_time_ms),
            false => i64::MAX,
        };
        let mut captures: Vec<(InputId, Capture)> = Vec::new();
        for stored in left
            .into_iter()
            .rev()
            .filter(|stored| stored.fetch_time_ms <= newest)
        {
            // The text may come from another capture of the same time, and none from an earlier one.
            if captures
                .last()
                .is_some_and(|(_, c)| c.fetch_time_ms != stored.fetch_time_ms)
            {
                break;
            }
            let of_turned =
                |(input, c): &&(InputId, Capture)| (*input, c.offset) == (stored.input, stored.offset);
            if let Some((input, capture)) = turned.iter().find(of_turned) {
                captures.extend(order::is_eligible(capture).then(|| (*input, capture.clone())));
                continue;
            }
            if !order::is_eligible_row(&stored) {
                continue;
            }
            // Its record does not have the content.
            if stored.original.is_some() {
                captures.push((stored.input, originals::whole(self.snapshot.cut(), &stored)?));
                continue;
            }
            let row = self.snapshot.capture_row(stored)?;
            match reread_as(&row, reread) {
                Ok(capture) => captures.extend(order::is_eligible(&capture).then_some((row.input, capture))),
                Err(why) if self.passes_over => unreadable.push((row, why)),
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
        for (input, capture) in turned {
            let is_known = captures
                .iter()
                .any(|(i, c)| (*i, c.offset) == (*input, capture.offset));
            if !is_known {
                captures.push((*input, capture.clone()));
            }
        }
        Ok(Anew {
            url_key,
            captures: Some(captures),
            captured,
            arrives: false,
        })
    }

    /// Captures of a key that stay, oldest first.
    fn left(&self, url_key: &str) -> Result<Vec<Stored>, SnapshotError> {
        let cut = self.snapshot.cut();
        let mut left = Vec::new();
        for row in cut.prefix(Table::Captures, &captures::key_prefix(url_key)) {
            let (key, value) = row?;
            let (of, place) = cut.decode(Table::Captures, &key, captures::split_key(&key))?;
            if of == url_key.as_bytes() && !(self.leaves)(of, place) {
                let stored = captures::decode(&key, &value);
                left.push(cut.decode(Table::Captures, &key, stored)?);
            }
        }
        Ok(left)
    }
}

fn widened(times: Option<(i64, i64)>, time: i64) -> Option<(i64, i64)> {
    let (first, last) = times.unwrap_or((time, time));
    Some((first.min(time), last.max(time)))
}

/// The capture of a row, if it is still what was woven.
fn reread_as(row: &CaptureRow, reread: &mut Reread<'_>) -> Result<Capture, String> {
    let mut capture = reread(row)?;
    // The record itself does not tell it: it came with the record of the request.
    capture.method.clone_from(&row.method);
    let is_same = (&capture.url_key, capture.fetch_time_ms) == (&row.url_key, row.fetch_time_ms);
    match is_same && capture.offset == row.offset {
        true => Ok(capture),
        false => Err("another capture is there now".to_owned()),
    }
}

/// Takes over the ledger of a step that is committed. Of inputs that are forgotten the digest leads nowhere any more.
pub(super) fn take_over(writer: &mut Writer, ledger: Vec<(InputId, crate::ledger::LedgerEntry)>) {
    for (id, entry) in ledger {
        if entry.state != crate::InputState::Forgotten {
            writer.replace(id, entry);
            continue;
        }
        let before = std::mem::replace(&mut writer.ledger[id.0 as usize - 1], entry);
        writer.by_digest.remove(&before.digest);
    }
}
