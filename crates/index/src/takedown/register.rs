//! The register of takedowns in table `meta`, and its use by the writer.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{KeptSelector, Selector, Takedown, TakedownRules, encode_kept_out, kept_out_by, kept_out_key};
use crate::codec::Corrupt;
use crate::cut::Cut;
use crate::epoch::Arrival;
use crate::error::SnapshotError;
use crate::ids::InputId;
use crate::ledger::{InputState, LedgerRow};
use crate::tables::Table;
use crate::write::Write;

/// Row of the key of the hashes, in table `meta`; created with the first takedown.
const KEY_ROW: &str = "takedown key";

/// Prefix of the keys of the register's rows, in table `meta`; the number follows (4 bytes,
/// big-endian).
const ROW_PREFIX: &[u8] = b"takedown ";

/// All takedowns of an archive.
#[derive(Debug, Clone, Default)]
pub(crate) struct Register {
    key: Option<[u8; 32]>,
    takedowns: Vec<Takedown>,
    rules: TakedownRules,
}

impl Register {
    pub(crate) fn read(cut: &Cut) -> Result<Register, SnapshotError> {
        let Some(row) = cut.get(Table::Meta, KEY_ROW.as_bytes())? else {
            return Ok(Register::default());
        };
        let key = row.first_chunk::<32>().copied();
        let key = key.ok_or(Corrupt("key is too short"));
        let key = cut.decode(Table::Meta, KEY_ROW.as_bytes(), key)?;
        let mut takedowns = Vec::new();
        for row in cut.prefix(Table::Meta, ROW_PREFIX) {
            let (at, value) = row?;
            // The row of the hash key has the same prefix but another length.
            if at.len() != ROW_PREFIX.len() + 4 {
                continue;
            }
            let takedown = serde_json::from_slice(&value).map_err(|_| Corrupt("takedown is malformed"));
            takedowns.push(cut.decode(Table::Meta, &at, takedown)?);
        }
        Ok(Register::of(Some(key), takedowns))
    }

    fn of(key: Option<[u8; 32]>, takedowns: Vec<Takedown>) -> Register {
        let rules = TakedownRules::new(key.unwrap_or_default(), takedowns.iter());
        Register {
            key,
            takedowns,
            rules,
        }
    }

    pub(crate) fn takedowns(&self) -> &[Takedown] {
        &self.takedowns
    }

    pub(crate) fn get(&self, id: u32) -> Option<&Takedown> {
        self.takedowns.iter().find(|takedown| takedown.id == id)
    }

    pub(crate) fn rules(&self) -> &TakedownRules {
        &self.rules
    }

    /// Returns the rule of a selector. Creates the register's hash key on first use.
    pub(crate) fn rule_of(&mut self, selector: &Selector, ledger: &[LedgerRow]) -> KeptSelector {
        if self.key.is_none() {
            *self = Register::of(Some(system::random()), Vec::new());
        }
        let digest = |id: u32| {
            let entry = ledger.get((id as usize).wrapping_sub(1));
            entry.map_or_else(String::new, |entry| entry.digest.clone())
        };
        self.rules.rule(selector, digest)
    }

    /// Returns the takedown in force with this rule.
    pub(crate) fn in_force(&self, rule: &KeptSelector) -> Option<&Takedown> {
        let mut in_force = self.takedowns.iter().filter(|takedown| takedown.undone.is_none());
        in_force.find(|takedown| takedown.rule == *rule)
    }

    pub(crate) fn next_id(&self) -> u32 {
        self.takedowns.last().map_or(1, |last| last.id + 1)
    }

    /// Returns the register with a new or changed takedown.
    pub(crate) fn with(&self, takedown: Takedown) -> Register {
        let mut takedowns = self.takedowns.clone();
        match takedowns.iter_mut().find(|known| known.id == takedown.id) {
            Some(known) => *known = takedown,
            None => takedowns.push(takedown),
        }
        Register::of(self.key, takedowns)
    }

    /// Writes the row of a takedown.
    pub(crate) fn put(&self, write: &mut Write<'_>, takedown: &Takedown) {
        if let Some(key) = self.key {
            write.put(Table::Meta, KEY_ROW, key.to_vec());
        }
        let at = [ROW_PREFIX, &takedown.id.to_be_bytes()].concat();
        // Serialising plain structs and strings cannot fail.
        write.put(Table::Meta, at, serde_json::to_vec(takedown).unwrap_or_default());
    }

    /// Separates the arriving captures or lines that are admitted from those that are kept out.
    /// Records the newly kept-out ones, and removes the records of those that no longer are.
    pub(crate) fn admit<T: Arrival>(
        &self,
        cut: &Cut,
        write: &mut Write<'_>,
        ledger: &[LedgerRow],
        arriving: Vec<(InputId, T)>,
    ) -> Result<Admission<T>, SnapshotError> {
        let mut admission = Admission::default();
        if self.takedowns.is_empty() {
            admission.admitted = arriving;
            return Ok(admission);
        }
        let mut seen = FxHashSet::default();
        for (input, arrival) in arriving {
            // Batches are checked before they are admission.
            let Some(entry) = ledger.get((input.0 as usize).wrapping_sub(1)) else {
                admission.admitted.push((input, arrival));
                continue;
            };
            // The whole input is kept out.
            if entry.state == InputState::TakenDown {
                admission.kept_out += 1;
                continue;
            }
            let rules = &self.rules;
            let (url_key, collection) = (arrival.url_key().as_bytes(), entry.collection.as_str());
            let takedown = rules.takes_down(url_key, arrival.fetch_time_ms(), collection);
            if takedown.is_none() && entry.taken_down == 0 {
                admission.admitted.push((input, arrival));
                continue;
            }
            let key = kept_out_key(input, arrival.offset());
            // A capture may be in a batch twice.
            let is_first = seen.insert(key);
            let known = kept_out_by(cut, &key)?;
            match takedown {
                Some(id) => {
                    admission.kept_out += u64::from(is_first);
                    if is_first && known != Some(id) {
                        write.put(
                            Table::TakenDown,
                            key,
                            encode_kept_out(id, arrival.length(), arrival.method()),
                        );
                        *admission.count_changes.entry(input).or_default() += i64::from(known.is_none());
                    }
                }
                None => {
                    if is_first && known.is_some() {
                        write.remove(Table::TakenDown, key);
                        *admission.count_changes.entry(input).or_default() -= 1;
                    }
                    admission.admitted.push((input, arrival));
                }
            }
        }
        Ok(admission)
    }
}

/// The admitted arrivals, and the numbers of those kept out.
#[derive(Debug)]
pub(crate) struct Admission<T> {
    pub(crate) admitted: Vec<(InputId, T)>,
    /// Number of arrivals that are kept out.
    pub(crate) kept_out: u64,
    /// Changes of the numbers of kept-out captures, per input.
    pub(crate) count_changes: FxHashMap<InputId, i64>,
}

impl<T> Default for Admission<T> {
    fn default() -> Admission<T> {
        Admission {
            admitted: Vec::new(),
            kept_out: 0,
            count_changes: FxHashMap::default(),
        }
    }
}
