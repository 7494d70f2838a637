//! Takedowns: remove captures from every view in one epoch, and keep them out until the takedown is
//! undone.
//!
//! A takedown proceeds even if an older capture that would become current cannot be read again,
//! because it promises that captures are gone. The key then gets the best readable version, or
//! none, and the result reports it.

use std::collections::{BTreeMap, BTreeSet};

use super::removal::{RemovalScan, RemovedRows, Reread};
use super::take_back::quarantined;
use super::{Index, Writer, commit_with};
use crate::chain::{EnteredTakedown, Removal};
use crate::crash;
use crate::cut::after_prefix;
use crate::epoch::EpochReport;
use crate::error::{ApplyError, SnapshotError, TakeBackError};
use crate::ids::{Epoch, InputId};
use crate::ledger::{self, InputState, LedgerRow, Names};
use crate::rows::CaptureRow;
use crate::snapshot::{Covering, Snapshot};
use crate::tables::Table;
use crate::takedown::{
    KeptOut, KeptSelector, Selector, Takedown, TakedownEnd, TakedownRules, all_kept_out, encode_kept_out,
    kept_out_key, kept_out_of,
};
use crate::views::capture_key::{CapturePosition, key_prefix, split_key};
use crate::views::captures;
use crate::views::index_lines;
use crate::write::Write;

/// A request for a takedown, with the entry of the register.
#[derive(Debug, Clone)]
pub struct TakedownRequest {
    /// The selector.
    pub selector: Selector,
    /// User whose process requests it.
    pub who: String,
    /// Reason.
    pub reason: String,
    /// Time, in milliseconds since 1970.
    pub at_ms: i64,
}

/// The result of a takedown.
#[derive(Debug)]
pub struct TakedownOutcome {
    /// Its row of the register; the existing one if the selector was taken down before.
    pub takedown: Takedown,
    /// Whether the row is new.
    pub is_new: bool,
    /// Report of the epoch; names the previous epoch if nothing changed.
    pub report: EpochReport,
    /// Captures that would be current and could not be read again, with the reason.
    pub unreadable: Vec<(CaptureRow, String)>,
}

/// What a takedown would remove.
#[derive(Debug, Default)]
pub struct TakedownPreview {
    /// Number of captures.
    pub captures: u64,
    /// Number of their URL keys.
    pub url_keys: u64,
    /// Number of captures per input.
    pub inputs: BTreeMap<InputId, u64>,
    /// The first captures.
    pub rows: Vec<CaptureRow>,
}

/// Returns the note for external files, for the new epoch and the removed captures (input and
/// offset).
pub type NoteTakenDown<'a> = dyn Fn(Epoch, &[(InputId, u64)]) -> Vec<u8> + 'a;

impl Index {
    /// Takes captures down; durable when it returns. As with [`Index::take_back`], the writer waits
    /// meanwhile. All removed captures are in memory at once.
    ///
    /// # Errors
    /// [`TakeBackError::Apply`]; nothing has changed then.
    pub fn take_down(
        &self,
        asked: &TakedownRequest,
        reread: &mut Reread<'_>,
        note: Option<&NoteTakenDown<'_>>,
    ) -> Result<TakedownOutcome, TakeBackError> {
        let inner = &*self.inner;
        let mut writer = inner.writer.lock();
        let tables = inner.usable(&writer)?;
        inner.poison_on_error(tables.wait_for_room())?;
        let snapshot = inner.published.read().clone();
        let mut register = writer.takedowns.clone();
        let rule = register.rule_of(&asked.selector, &writer.ledger);
        if let Some(known) = register.in_force(&rule) {
            let report = EpochReport {
                epoch: writer.totals.epoch,
                ..EpochReport::default()
            };
            return Ok(TakedownOutcome {
                takedown: known.clone(),
                is_new: false,
                report,
                unreadable: Vec::new(),
            });
        }
        let mut takedown = Takedown {
            id: register.next_id(),
            at_ms: asked.at_ms,
            who: asked.who.clone(),
            reason: asked.reason.clone(),
            rule,
            captures: 0,
            pages: 0,
            inputs: 0,
            undone: None,
        };
        let scan = TakedownScan::new(&asked.selector, &writer.ledger);
        let removed = inner.checked(scan.gather(&snapshot, &writer, reread))?;
        let places: Vec<(InputId, u64)> = removed.places.iter().map(|place| (place.0, place.1)).collect();
        let note = note
            .filter(|_| !places.is_empty())
            .map(|note| note(writer.totals.epoch.next(), &places));
        let (mut removal, unreadable) = removal(&writer, &snapshot, &mut takedown, removed)?;
        removal.note = note;
        removal.takedown = Some(EnteredTakedown {
            takedown: takedown.clone(),
            register,
        });
        let report = inner.remove(&tables, &mut writer, snapshot.cut(), removal)?;
        Ok(TakedownOutcome {
            takedown: Takedown {
                pages: report.pages_gone,
                ..takedown
            },
            is_new: true,
            report,
            unreadable,
        })
    }

    /// Returns what a takedown would remove, with at most `rows_max` of its captures.
    ///
    /// # Errors
    /// [`SnapshotError`].
    pub fn preview_takedown(
        &self,
        selector: &Selector,
        rows_max: usize,
    ) -> Result<TakedownPreview, SnapshotError> {
        let snapshot = self.snapshot();
        let cut = snapshot.cut();
        let entries: Vec<LedgerRow> = ledger::read_all(cut)?
            .into_iter()
            .map(|(_, entry)| entry)
            .collect();
        let scan = TakedownScan::new(selector, &entries);
        let mut found = TakedownPreview::default();
        let mut last = Vec::new();
        let rows = match &scan.span {
            (from, Some(to)) => cut.range(Table::Captures, from, to),
            (from, None) => cut.from(Table::Captures, from),
        };
        for row in rows {
            let (key, value) = row?;
            let (url_key, place) = cut.decode(Table::Captures, &key, split_key(&key))?;
            if !scan.selects(url_key, place) {
                continue;
            }
            found.captures += 1;
            if url_key != last.as_slice() {
                found.url_keys += 1;
                last = url_key.to_vec();
            }
            *found.inputs.entry(place.input).or_default() += 1;
            if found.rows.len() < rows_max {
                let stored = captures::read_row(cut, &key, &value)?;
                found.rows.push(snapshot.capture_row(stored)?);
            }
        }
        let mut covering = Covering::default();
        let lines = match &scan.span {
            (from, Some(to)) => cut.range(Table::IndexLines, from, to),
            (from, None) => cut.from(Table::IndexLines, from),
        };
        for row in lines {
            let (key, value) = row?;
            let (url_key, place) = cut.decode(Table::IndexLines, &key, split_key(&key))?;
            if !scan.selects(url_key, place) {
                continue;
            }
            let decoded = index_lines::decode(&key, &value);
            let (input, line) = cut.decode(Table::IndexLines, &key, decoded)?;
            if line.alias_of.is_none() && !covering.covers(&snapshot, input, &line)? {
                found.captures += 1;
                *found.inputs.entry(input).or_default() += 1;
                if found.rows.len() < rows_max {
                    found.rows.push(snapshot.line_row(input, line)?);
                }
            }
        }
        Ok(found)
    }

    /// Returns the register of takedowns.
    pub fn takedowns(&self) -> Vec<Takedown> {
        self.inner.writer.lock().takedowns.takedowns().to_vec()
    }

    /// Returns the rules of takedowns, for checking captures elsewhere.
    ///
    /// # Errors
    /// [`SnapshotError`].
    pub fn takedown_rules(&self) -> Result<TakedownRules, SnapshotError> {
        let (register, snapshot) = {
            let writer = self.inner.writer.lock();
            (writer.takedowns.clone(), self.snapshot())
        };
        let mut returning = Vec::new();
        if register
            .takedowns()
            .iter()
            .any(|takedown| takedown.undone.is_some())
        {
            for row in all_kept_out(snapshot.cut()) {
                let (input, kept_out) = row?;
                if is_undone(&register, &kept_out) {
                    returning.push((snapshot.input(input)?.input.clone(), kept_out.offset));
                }
            }
        }
        let rules = register.rules().clone().with_returning(returning);
        Ok(rules.with_referred(snapshot.referred()?))
    }

    /// Ends a takedown: captures read from now on are no longer kept out. Returns its row; `None`
    /// if there is no such takedown. A takedown that is already undone stays unchanged.
    ///
    /// # Errors
    /// [`ApplyError`], as [`Index::apply`].
    pub fn undo_takedown(&self, id: u32, who: &str, at_ms: i64) -> Result<Option<Takedown>, ApplyError> {
        let inner = &*self.inner;
        let mut writer = inner.writer.lock();
        let tables = inner.usable(&writer)?;
        let Some(known) = writer.takedowns.get(id) else {
            return Ok(None);
        };
        if known.undone.is_some() {
            return Ok(Some(known.clone()));
        }
        let mut undone = known.clone();
        undone.undone = Some(TakedownEnd {
            at_ms,
            who: who.to_owned(),
        });
        let register = writer.takedowns.with(undone.clone());
        let mut write = Write::new(&tables);
        register.put(&mut write, &undone);
        let mut entries = Vec::new();
        if let KeptSelector::Inputs { ids, .. } = &undone.rule {
            for id in ids {
                let mut entry = writer.entry(InputId(*id))?.clone();
                // The input may have been forgotten since.
                if entry.state != InputState::TakenDown {
                    continue;
                }
                (entry.state, entry.taken_down) = (InputState::Pending, 0);
                write.put(
                    Table::Inputs,
                    ledger::entry_key(InputId(*id)),
                    ledger::encode_entry(&entry),
                );
                entries.push((InputId(*id), entry));
            }
        }
        crash::undoing_point("undo_takedown.before_commit");
        inner.poison_on_error(commit_with(&tables, write, || {
            crash::undoing_point("undo_takedown.before_sync");
        }))?;
        writer.takedowns = register;
        for (id, entry) in entries {
            writer.replace(id, entry);
        }
        inner.publish(&tables, &writer);
        Ok(Some(undone))
    }

    /// Returns captures of an input that are kept out although their takedown is undone. They come
    /// back when they are read again.
    ///
    /// # Errors
    /// [`SnapshotError`].
    pub fn returning(&self, input: InputId) -> Result<Vec<KeptOut>, SnapshotError> {
        let (register, snapshot) = {
            let writer = self.inner.writer.lock();
            (writer.takedowns.clone(), self.snapshot())
        };
        let kept_out = kept_out_of(snapshot.cut(), input, 0);
        kept_out
            .filter(|row| row.as_ref().map_or(true, |row| is_undone(&register, row)))
            .collect()
    }
}

fn is_undone(register: &crate::takedown::Register, kept_out: &KeptOut) -> bool {
    let takedown = register.get(kept_out.takedown);
    takedown.is_none_or(|takedown| takedown.undone.is_some())
}

/// A plain-text selector, applied to rows.
struct TakedownScan<'a> {
    selector: &'a Selector,
    /// Inputs that it selects as a whole or by label.
    inputs: BTreeSet<InputId>,
    /// Range of the rows that it selects.
    span: (Vec<u8>, Option<Vec<u8>>),
}

impl<'a> TakedownScan<'a> {
    fn new(selector: &'a Selector, ledger: &[LedgerRow]) -> TakedownScan<'a> {
        let inputs = match selector {
            Selector::Inputs(ids) => ids.iter().copied().collect(),
            Selector::Collection(label) => ledger
                .iter()
                .zip(1..)
                .filter(|(entry, _)| entry.collection == *label && entry.state != InputState::Forgotten)
                .map(|(_, id)| InputId(id))
                .collect(),
            _ => BTreeSet::new(),
        };
        let between = |prefix: Vec<u8>| {
            let to = after_prefix(&prefix);
            (prefix, to)
        };
        let span = match selector {
            Selector::Url(url_key) => between(key_prefix(url_key)),
            Selector::Prefix(prefix) => between(prefix.as_bytes().to_vec()),
            _ => (Vec::new(), None),
        };
        TakedownScan {
            selector,
            inputs,
            span,
        }
    }

    fn selects(&self, url_key: &[u8], place: CapturePosition) -> bool {
        match self.selector {
            Selector::Url(of) => url_key == of.as_bytes(),
            Selector::Prefix(prefix) => url_key.starts_with(prefix.as_bytes()),
            Selector::Inputs(_) | Selector::Collection(_) => self.inputs.contains(&place.input),
            Selector::Before(before_ms) => place.fetch_time_ms < *before_ms,
        }
    }

    fn gather(
        &self,
        snapshot: &Snapshot,
        writer: &Writer,
        reread: &mut Reread<'_>,
    ) -> Result<RemovedRows, TakeBackError> {
        let scan = RemovalScan {
            snapshot,
            totals: &writer.totals,
            names: Names::new(&writer.ledger),
            span: self.span.clone(),
            is_removed: &|url_key, place| self.selects(url_key, place),
            skips_unreadable: true,
        };
        scan.gather(reread)
    }
}

/// Returns the changes of a takedown, and the captures that could not be read again. Sets the
/// counts of `takedown`.
fn removal(
    writer: &Writer,
    snapshot: &Snapshot,
    takedown: &mut Takedown,
    removed: RemovedRows,
) -> Result<(Removal, Vec<(CaptureRow, String)>), TakeBackError> {
    let cut = snapshot.cut();
    let mut entries: BTreeMap<InputId, LedgerRow> = BTreeMap::new();
    let mut kept_out = Vec::new();
    let captures = removed.places.iter().zip(&removed.methods);
    let captures = captures.map(|(place, method)| (place, Some(method.as_str())));
    let lines = removed.line_places.iter().map(|place| (place, None));
    for ((input, offset, length), method_of_capture) in captures.chain(lines) {
        if !entries.contains_key(input) {
            entries.insert(*input, writer.entry(*input)?.clone());
        }
        if let Some(entry) = entries.get_mut(input) {
            let count = match method_of_capture {
                Some(_) => &mut entry.captures,
                None => &mut entry.index_lines,
            };
            *count = count.saturating_sub(1);
            entry.taken_down += 1;
        }
        kept_out.push((
            kept_out_key(*input, *offset),
            encode_kept_out(takedown.id, *length, method_of_capture.unwrap_or_default()),
        ));
    }
    takedown.captures = removed.places.len() as u64 + removed.lines_shown;
    takedown.inputs = entries.len() as u64;
    let (mut quarantine, mut admitted) = (Vec::new(), Vec::new());
    if let KeptSelector::Inputs { ids, .. } = &takedown.rule {
        // The ledger keeps whole inputs out.
        kept_out.clear();
        for id in ids.iter().copied().map(InputId) {
            quarantine.extend(quarantined(cut, id, 0)?);
            for row in kept_out_of(cut, id, 0) {
                admitted.push(kept_out_key(id, row?.offset));
            }
            let entry = match entries.remove(&id) {
                Some(entry) => entry,
                None => writer.entry(id)?.clone(),
            };
            entries.insert(id, taken_down_whole(entry));
        }
    }
    let removal = Removal {
        rows: removed.rows,
        lines: removed.lines,
        redecide: removed.redecide,
        changed_revisits: removed.changed_revisits,
        reference_rows: removed.reference_rows,
        quarantined: quarantine,
        fetch_time_ms: removed.fetch_time_ms,
        entries: entries.into_iter().collect(),
        kept_out,
        admitted,
        ..Removal::default()
    };
    Ok((removal, removed.unreadable))
}

/// Returns the entry of an input that is taken down as a whole, with its sums reset.
fn taken_down_whole(entry: LedgerRow) -> LedgerRow {
    LedgerRow {
        state: InputState::TakenDown,
        records: 0,
        quarantined: 0,
        bytes_done: 0,
        exchange_from: 0,
        cut: String::new(),
        missing: String::new(),
        ..entry
    }
}
