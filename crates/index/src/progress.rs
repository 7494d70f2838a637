//! Ledger and quarantine in an epoch: positions and sums change together with their captures.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use system::holds;

use crate::cut::Cut;
use crate::epoch::Arrival;
use crate::error::ApplyError;
use crate::ids::InputId;
use crate::ledger::{self, DigestProgress, InputProgress, InputState, LedgerRow, Names, QuarantineEntry};
use crate::tables::Table;
use crate::views::capture_key::refusal_of_key;
use crate::views::totals::TotalsRow;
use crate::write::Write;

/// New ledger entries of an epoch.
pub(crate) struct LedgerChanges<'l> {
    ledger: &'l [LedgerRow],
    by_digest: &'l FxHashMap<String, InputId>,
    changed: BTreeMap<InputId, LedgerRow>,
    quarantined: BTreeMap<Vec<u8>, (InputId, QuarantineEntry)>,
}

impl<'l> LedgerChanges<'l> {
    pub(crate) fn new(
        ledger: &'l [LedgerRow],
        by_digest: &'l FxHashMap<String, InputId>,
    ) -> LedgerChanges<'l> {
        LedgerChanges {
            ledger,
            by_digest,
            changed: BTreeMap::new(),
            quarantined: BTreeMap::new(),
        }
    }

    fn entry(&mut self, id: InputId) -> Result<&mut LedgerRow, ApplyError> {
        let index = (id.0 as usize).wrapping_sub(1);
        let before = self.ledger.get(index).ok_or(ApplyError::UnknownInput(id))?;
        Ok(self.changed.entry(id).or_insert_with(|| before.clone()))
    }

    /// Quarantines arrivals with unusable URL keys and returns the others.
    pub(crate) fn keep_usable<T: Arrival>(
        &mut self,
        arriving: Vec<(InputId, T)>,
    ) -> Result<Vec<(InputId, T)>, ApplyError> {
        let mut usable = Vec::with_capacity(arriving.len());
        for (input, arrival) in arriving {
            let Some((reason, detail)) = refusal_of_key(arrival.url_key()) else {
                usable.push((input, arrival));
                continue;
            };
            self.entry(input)?;
            self.quarantine(
                input,
                QuarantineEntry {
                    offset: arrival.offset(),
                    length: arrival.length(),
                    reason: reason.into(),
                    detail,
                },
            );
        }
        Ok(usable)
    }

    fn quarantine(&mut self, input: InputId, entry: QuarantineEntry) {
        self.quarantined
            .entry(ledger::quarantine_key(input, &entry))
            .or_insert((input, entry));
    }

    /// Adds new captures to the sums of their inputs.
    pub(crate) fn count_captures<T>(&mut self, captures: &[(InputId, T)]) -> Result<(), ApplyError> {
        for (input, count) in of_inputs(captures) {
            self.entry(input)?.captures += count;
        }
        Ok(())
    }

    /// Adds new index lines to the sums of their inputs.
    pub(crate) fn count_lines<T>(&mut self, lines: &[(InputId, T)]) -> Result<(), ApplyError> {
        for (input, count) in of_inputs(lines) {
            self.entry(input)?.index_lines += count;
        }
        Ok(())
    }

    /// Changes the numbers of captures that takedowns keep out, per input.
    pub(crate) fn count_taken_down(&mut self, changed: &FxHashMap<InputId, i64>) -> Result<(), ApplyError> {
        for (input, by) in changed {
            let entry = self.entry(*input)?;
            let now = entry.taken_down.checked_add_signed(*by);
            holds!(
                "index.taken_down",
                now.is_some(),
                "input {}: cannot add {by} to the captures kept out by takedowns, which are {}",
                input.0,
                entry.taken_down
            );
            entry.taken_down = now.unwrap_or_default();
        }
        Ok(())
    }

    /// Records how far an input is digested. Its full digest is known only after all of it was
    /// read, so another input may have been loaded with the same content in the meantime.
    fn digest(&mut self, id: InputId, now: DigestProgress) -> Result<(), ApplyError> {
        let holder = self.by_digest.get(&now.digest).copied();
        let other = holder.filter(|holder| *holder != id);
        let name = other.map(|other| Names::new(self.ledger).get(other));
        let entry = self.entry(id)?;
        if let Some(name) = name {
            // Keeps the digest of the beginning: a look-up by the full digest must find the other
            // input.
            entry.state = InputState::Failed {
                reason: format!("it has the content of {name}, which came meanwhile: load it again"),
            };
            return Ok(());
        }
        entry.digest = now.digest;
        entry.digesting = now.digesting;
        entry.size = now.size.unwrap_or(entry.size);
        let (bytes, is_digested) = (entry.beginning().0, entry.is_digested());
        holds!(
            "index.digested",
            is_digested || (entry.bytes_done <= bytes && bytes < entry.size),
            "input {}: {} bytes of {} are indexed, but {bytes} are digested",
            id.0,
            entry.bytes_done,
            entry.size
        );
        Ok(())
    }

    /// Applies the positions, writes the changed entries and returns them.
    pub(crate) fn finish(
        mut self,
        cut: &Cut,
        write: &mut Write<'_>,
        totals: &mut TotalsRow,
        progress: Vec<InputProgress>,
    ) -> Result<Vec<(InputId, LedgerRow)>, ApplyError> {
        for step in progress {
            let entry = self.entry(step.input)?;
            // No capture of a taken-down input counts, so its position does not advance either.
            if entry.state == InputState::TakenDown {
                continue;
            }
            holds!(
                "index.positions",
                entry.bytes_done <= step.bytes_done,
                "the position of input {} moves back from {} to {}",
                step.input.0,
                entry.bytes_done,
                step.bytes_done
            );
            // In the same batch as the captures before this position: neither is durable without
            // the other.
            entry.bytes_done = step.bytes_done;
            entry.exchange_from = step.exchange_from.min(step.bytes_done);
            entry.records += step.records;
            entry.captures += step.captures_recounted;
            entry.state = step.state;
            if let Some(digested) = step.digested {
                self.digest(step.input, digested)?;
            }
            let entry = self.entry(step.input)?;
            if let Some(cut) = step.cut {
                entry.cut = cut;
            }
            totals.records += step.records;
            totals.captures += step.captures_recounted;
            for entry in step.quarantined {
                self.quarantine(step.input, entry);
            }
        }
        for (key, (input, entry)) in std::mem::take(&mut self.quarantined) {
            // After a crash the same span may come a second time. It is counted once.
            if cut.contains(Table::Quarantine, &key)? {
                continue;
            }
            self.entry(input)?.quarantined += 1;
            totals.quarantined += 1;
            write.put(Table::Quarantine, key, ledger::encode_quarantine(&entry));
        }
        let ledger = self.ledger;
        // Unchanged entries are dropped: without other changes there is no epoch.
        self.changed
            .retain(|id, entry| *entry != ledger[id.0 as usize - 1]);
        for (id, entry) in &self.changed {
            write.put(Table::Inputs, ledger::entry_key(*id), ledger::encode_entry(entry));
        }
        Ok(self.changed.into_iter().collect())
    }
}

/// Returns the number of arrivals of each input.
fn of_inputs<T>(arrived: &[(InputId, T)]) -> BTreeMap<InputId, u64> {
    let mut counts = BTreeMap::new();
    for (input, _) in arrived {
        *counts.entry(*input).or_default() += 1;
    }
    counts
}
