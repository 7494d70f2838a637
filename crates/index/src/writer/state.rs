//! The state of the writer: ledger, sums and register, equal to those on disk.
//!
//! Invariant: an epoch replaces it only after that epoch is durable.

use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use system::holds;

use crate::codec::Corrupt;
use crate::cut::Cut;
use crate::domain_of::DomainOf;
use crate::error::{ApplyError, SnapshotError};
use crate::ids::InputId;
use crate::ledger::{self, InputState, LedgerRow};
use crate::snapshot::Snapshot;
use crate::tables::{Table, Tables};
use crate::takedown::Register;
use crate::views::totals::{self, TotalsRow};

/// State that only the writer has. All of it is also on disk.
pub(super) struct Writer {
    /// `None` only if the index could not be opened again.
    pub(super) tables: Option<Arc<Tables>>,
    /// Entry of input `i + 1`.
    pub(super) ledger: Vec<LedgerRow>,
    /// Digested inputs only.
    pub(super) by_digest: FxHashMap<String, InputId>,
    pub(super) totals: TotalsRow,
    pub(super) takedowns: Register,
    pub(super) domain_of: DomainOf,
}

impl Writer {
    /// Reads the state from the tables, for the writer and for readers.
    pub(super) fn read(dir: &Path, tables: Arc<Tables>) -> Result<(Writer, Snapshot), SnapshotError> {
        let cut = Cut::take(&tables);
        let entries = ledger::read_all(&cut)?;
        // From here on an entry's number is its position.
        for ((id, _), place) in entries.iter().zip(1..) {
            let dense = if id.0 == place {
                Ok(())
            } else {
                Err(Corrupt("the input before it is missing"))
            };
            cut.decode(Table::Inputs, &ledger::entry_key(*id), dense)?;
        }
        let ledger: Vec<LedgerRow> = entries.into_iter().map(|(_, entry)| entry).collect();
        let by_digest = ledger
            .iter()
            .zip(1..)
            .filter(|(entry, _)| entry.state != InputState::Forgotten && entry.is_digested())
            .map(|(e, id)| (e.digest.clone(), InputId(id)))
            .collect();
        let totals = totals::read(&cut)?;
        let writer = Writer {
            tables: Some(tables),
            ledger,
            by_digest,
            totals: totals.clone(),
            takedowns: Register::read(&cut)?,
            domain_of: DomainOf::default(),
        };
        Ok((writer, Snapshot::new(dir, cut, totals)))
    }

    /// Checks that the epoch number grows by one, and that no URI numbers are assigned twice.
    pub(super) fn check_next(&self, next: &TotalsRow) -> Result<(), ApplyError> {
        let now = &self.totals;
        holds!(
            "index.epochs",
            next.epoch.0 == now.epoch.0 + 1 && next.next_number >= now.next_number,
            "epoch {} (numbers up to {}) follows epoch {} (numbers up to {})",
            next.epoch.0,
            next.next_number,
            now.epoch.0,
            now.next_number
        );
        Ok(())
    }

    /// Checks that inputs are numbered without gaps, and that no two have the same digest.
    pub(super) fn check_identity(&self, id: InputId, entry: &LedgerRow) -> Result<(), ApplyError> {
        holds!(
            "index.inputs",
            (1..=self.ledger.len() as u64 + 1).contains(&id.0.into()),
            "input {} in a ledger of {} inputs",
            id.0,
            self.ledger.len()
        );
        let holder = self.by_digest.get(&entry.digest);
        holds!(
            "index.digests",
            holder.is_none_or(|holder| *holder == id),
            "inputs {holder:?} and {} have the digest {}",
            id.0,
            entry.digest
        );
        Ok(())
    }

    /// Checks that the archive's sums are those of the inputs.
    pub(super) fn check_sums(&self) {
        let sum = |count: fn(&LedgerRow) -> u64| self.ledger.iter().map(count).sum::<u64>();
        debug_assert!(
            self.totals.captures == sum(|entry| entry.captures)
                && self.totals.records == sum(|entry| entry.records)
                && self.totals.quarantined == sum(|entry| entry.quarantined),
            "epoch {}: {:?} is not the sum of the ledger",
            self.totals.epoch.0,
            self.totals
        );
    }

    /// Replaces the entry of an input by the committed one.
    pub(super) fn replace(&mut self, id: InputId, entry: LedgerRow) {
        let place = &mut self.ledger[id.0 as usize - 1];
        let is_known = place.digest == entry.digest;
        let before = std::mem::replace(place, entry);
        if !is_known {
            self.by_digest.remove(&before.digest);
            self.find_by_digest(id);
        }
    }

    /// Makes the input findable by its digest, if it is digested.
    pub(super) fn find_by_digest(&mut self, id: InputId) {
        let entry = &self.ledger[id.0 as usize - 1];
        if entry.is_digested() {
            self.by_digest.insert(entry.digest.clone(), id);
        }
    }

    pub(super) fn entry(&self, id: InputId) -> Result<&LedgerRow, ApplyError> {
        // Inputs are numbered from 1: 0 becomes an index that no ledger has.
        let index = (id.0 as usize).wrapping_sub(1);
        self.ledger.get(index).ok_or(ApplyError::UnknownInput(id))
    }
}
