//! Taking an input back to an earlier position: what was woven of it from there on leaves every view.
//!
//! For inputs whose end turns out to have been none (an interrupted copy, which was woven with its last record as far as it
//! went), and for those that are forgotten.
//!
//! Invariants:
//!  - one epoch: rows of captures and quarantine, versions, links, sums and the ledger's position leave together;
//!  - afterwards all views are those of the captures that are left. Where one that leaves made up its key's
//!    version, the version is decided anew between the captures of the key that are left, and the caller reads
//!    these again: the views keep of a capture that is not current no more than its row.

use std::collections::BTreeMap;

use extract::Capture;
use invariant::{Broken, holds};

use super::{Inner, Weave, Writer, commit};
use crate::chain::{Leaving, StepClock};
use crate::crash;
use crate::cut::{Cut, after_prefix};
use crate::epoch::EpochReport;
use crate::error::{ApplyError, SnapshotError};
use crate::ids::{Epoch, InputId};
use crate::ledger;
use crate::ledger::{InputState, LedgerEntry};
use crate::rows::CaptureRow;
use crate::tables::Table;
use crate::views::captures::{self, Stored};
use crate::views::order;
use crate::views::version_change::Anew;
use crate::views::versions;

/// Where an input is taken back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakeBack {
    /// What begins here or later leaves; the position from now on.
    pub bytes_done: u64,
    /// Records before that position.
    pub records: u64,
    /// State from now on; with [`InputState::Forgotten`], and position 0, the ledger has no entry of it any more.
    pub state: InputState,
}

/// Why an input was not taken back; nothing was changed then.
#[derive(Debug, thiserror::Error)]
pub enum TakeBackError {
    /// As [`Weave::apply`] fails.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// A capture that would become current could not be read again.
    #[error("the capture of {url} at offset {offset} of {input} cannot be read again: {why}")]
    Reread {
        /// Its URL.
        url: String,
        /// The input that holds it.
        input: String,
        /// Where.
        offset: u64,
        /// Why not, as the caller says it.
        why: String,
    },
}

impl From<Broken> for TakeBackError {
    fn from(broken: Broken) -> TakeBackError {
        TakeBackError::Apply(broken.into())
    }
}

impl From<SnapshotError> for TakeBackError {
    fn from(error: SnapshotError) -> TakeBackError {
        TakeBackError::Apply(error.into())
    }
}

impl Weave {
    /// Takes an input back; `reread` reads a capture again as it was woven, and `note` says, of the epoch to be, what it is to
    /// keep as its note ([`Weave::note_beside`]). Durable when it returns. The writer waits
    /// meanwhile, and all rows of `captures` are looked at once: this is for what happens seldom.
    ///
    /// # Errors
    /// [`TakeBackError`].
    pub fn take_back(
        &self,
        id: InputId,
        to: &TakeBack,
        reread: &mut dyn FnMut(&CaptureRow) -> Result<Capture, String>,
        note: Option<&dyn Fn(Epoch) -> Vec<u8>>,
    ) -> Result<EpochReport, TakeBackError> {
        let inner = &*self.inner;
        let mut writer = inner.writer.lock();
        let tables = inner.usable(&writer)?;
        inner.poison_on_error(tables.wait_for_room())?;
        let snapshot = inner.published.read().clone();
        let cut = snapshot.cut();
        let taking = Taking {
            inner,
            writer: &writer,
            cut,
            id,
            from: to.bytes_done,
        };
        let leaving = taking.leaving(to, reread);
        let mut leaving = leaving.inspect_err(|error| {
            if let TakeBackError::Apply(error) = error {
                inner.poison_if_broken(error);
            }
        })?;
        leaving.note = note.map(|note| note(writer.totals.epoch.next()));
        let mut clock = StepClock::start();
        let woven = inner
            .chain(&tables, &mut writer, cut)
            .take_back(leaving, &mut clock);
        let woven = inner.poison_on_broken(woven)?;
        let mut report = woven.report;
        let Some(write) = woven.write else {
            return Ok(report);
        };
        inner.poison_on_broken(writer.check_next(&woven.totals))?;
        crash::point("take_back.before_commit");
        inner.poison_on_error(commit(&tables, write, "take_back.before_sync"))?;
        crash::point("take_back.before_publish");
        writer.totals = woven.totals;
        for (id, entry) in woven.ledger {
            let before = std::mem::replace(&mut writer.ledger[id.0 as usize - 1], entry);
            if to.state == InputState::Forgotten {
                writer.by_digest.remove(&before.digest);
            }
        }
        writer.check_sums();
        inner.publish(&tables, &writer);
        report.step_times = clock.times;
        Ok(report)
    }
}

struct Taking<'a> {
    inner: &'a Inner,
    writer: &'a Writer,
    cut: &'a Cut,
    id: InputId,
    from: u64,
}

impl Taking<'_> {
    fn leaving(
        &self,
        to: &TakeBack,
        reread: &mut dyn FnMut(&CaptureRow) -> Result<Capture, String>,
    ) -> Result<Leaving, TakeBackError> {
        let mut entry = self.writer.entry(self.id)?.clone();
        let mut rows = Vec::new();
        let mut keys: BTreeMap<String, Vec<i64>> = BTreeMap::new();
        let mut fetch_time_ms: Option<(i64, i64)> = None;
        let totals = &self.writer.totals;
        // Its captures are found by looking at all there are, so not where it has none.
        let captures = match entry.captures {
            0 => {
                fetch_time_ms = Some((totals.fetch_time_ms_first, totals.fetch_time_ms_last));
                self.cut.range(Table::Captures, b"", b"")
            }
            _ => self.cut.iter(Table::Captures),
        };
        for row in captures {
            let (key, value) = row?;
            let place = self
                .cut
                .decode(Table::Captures, &key, captures::place_of_key(&key))?;
            if place.input != self.id || place.offset < self.from {
                let (first, last) = fetch_time_ms.unwrap_or((place.fetch_time_ms, place.fetch_time_ms));
                fetch_time_ms = Some((first.min(place.fetch_time_ms), last.max(place.fetch_time_ms)));
                continue;
            }
            let stored = captures::decode(&key, &value);
            let stored = self.cut.decode(Table::Captures, &key, stored)?;
            keys.entry(stored.url_key).or_default().push(stored.fetch_time_ms);
            rows.push(key.to_vec());
        }
        let mut anew = Vec::new();
        for (url_key, times) in keys {
            anew.extend(self.anew(url_key, &times, reread)?);
        }
        let quarantined = self.quarantined()?;
        holds!(
            "weave.positions",
            to.bytes_done <= entry.bytes_done && to.records <= entry.records,
            "input {} is taken back from {} ({} records) to {} ({} records)",
            self.id.0,
            entry.bytes_done,
            entry.records,
            to.bytes_done,
            to.records
        );
        holds!(
            "weave.taken_back",
            entry.captures >= rows.len() as u64 && entry.quarantined >= quarantined.len() as u64,
            "{} captures and {} in quarantine leave of input {}, which had {} and {}",
            rows.len(),
            quarantined.len(),
            self.id.0,
            entry.captures,
            entry.quarantined
        );
        entry.bytes_done = to.bytes_done;
        entry.records = to.records;
        entry.captures -= rows.len() as u64;
        entry.quarantined -= quarantined.len() as u64;
        entry.state = to.state.clone();
        entry.cut = String::new();
        if to.state == InputState::Forgotten {
            debug_assert!(
                entry.captures == 0 && entry.quarantined == 0,
                "nothing is left of it"
            );
            entry = LedgerEntry::forgotten();
        }
        Ok(Leaving {
            rows,
            anew,
            quarantined,
            fetch_time_ms,
            id: self.id,
            entry,
            note: None,
        })
    }

    /// Keys of the quarantine's rows that leave.
    fn quarantined(&self) -> Result<Vec<Vec<u8>>, SnapshotError> {
        let first = ledger::entry_key(self.id);
        let mut from = first.to_vec();
        from.extend_from_slice(&self.from.to_be_bytes());
        let rows = match after_prefix(&first) {
            Some(to) => self.cut.range(Table::Quarantine, &from, &to),
            None => self.cut.from(Table::Quarantine, &from),
        };
        rows.map(|row| Ok(row?.0.to_vec())).collect()
    }

    /// What becomes of a key of which captures fetched at `times` leave; `None` where its version stays.
    fn anew(
        &self,
        url_key: String,
        times: &[i64],
        reread: &mut dyn FnMut(&CaptureRow) -> Result<Capture, String>,
    ) -> Result<Option<Anew>, TakeBackError> {
        let left = self.left(&url_key)?;
        let version = versions::read(self.cut, &url_key)?;
        let is_touched = version
            .as_ref()
            .is_some_and(|version| times.contains(&version.fetch_time_ms));
        if !is_touched && !left.is_empty() {
            return Ok(None);
        }
        let captured = !left.is_empty();
        // Whatever was fetched later cannot be current, or it would be.
        let newest = version.map_or(i64::MIN, |version| version.fetch_time_ms);
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
            if order::may_be_eligible(stored.kind, stored.status) {
                let (input, capture) = self.reread(stored, reread)?;
                captures.extend(order::is_eligible(&capture).then_some((input, capture)));
            }
        }
        Ok(Some(Anew {
            url_key,
            captures,
            captured,
        }))
    }

    /// Captures of a key that stay, oldest first.
    fn left(&self, url_key: &str) -> Result<Vec<Stored>, SnapshotError> {
        let mut left = Vec::new();
        for row in self.cut.prefix(Table::Captures, &captures::key_prefix(url_key)) {
            let (key, value) = row?;
            let stored = captures::decode(&key, &value);
            let stored = self.cut.decode(Table::Captures, &key, stored)?;
            let leaves = stored.input == self.id && stored.offset >= self.from;
            if stored.url_key == url_key && !leaves {
                left.push(stored);
            }
        }
        Ok(left)
    }

    fn reread(
        &self,
        stored: Stored,
        reread: &mut dyn FnMut(&CaptureRow) -> Result<Capture, String>,
    ) -> Result<(InputId, Capture), TakeBackError> {
        let row = self.inner.published.read().capture_row(stored)?;
        let capture = reread(&row).and_then(|capture| {
            let is_same = (&capture.url_key, capture.fetch_time_ms) == (&row.url_key, row.fetch_time_ms);
            match is_same && capture.offset == row.offset {
                true => Ok(capture),
                false => Err("another capture is there now".to_owned()),
            }
        });
        capture
            .map(|capture| (row.input, capture))
            .map_err(|why| TakeBackError::Reread {
                url: row.url,
                input: row.input_name,
                offset: row.offset,
                why,
            })
    }
}
