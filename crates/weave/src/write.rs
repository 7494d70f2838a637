//! The one batch of an epoch.
//!
//! Invariant: a step writes every key of a table at most once (the engine gives all rows of a batch the same
//! number and could not tell which of two came last).

use fjall::{OwnedWriteBatch, PersistMode, UserKey, UserValue};

use crate::tables::{Table, Tables};

/// Rows to be written together.
pub(crate) struct Write<'t> {
    tables: &'t Tables,
    batch: OwnedWriteBatch,
    #[cfg(debug_assertions)]
    seen: std::collections::HashSet<(Table, Vec<u8>)>,
}

impl<'t> Write<'t> {
    pub(crate) fn new(tables: &'t Tables) -> Write<'t> {
        Write {
            tables,
            // To the system's buffers only: `weave::commit` syncs, with a crash point between the two.
            batch: tables.db.batch().durability(Some(PersistMode::Buffer)),
            #[cfg(debug_assertions)]
            seen: std::collections::HashSet::new(),
        }
    }

    pub(crate) fn put(&mut self, table: Table, key: impl Into<UserKey>, value: impl Into<UserValue>) {
        let key = key.into();
        self.check_once(table, &key);
        self.batch.insert(self.tables.space(table), key, value);
    }

    pub(crate) fn remove(&mut self, table: Table, key: impl Into<UserKey>) {
        let key = key.into();
        self.check_once(table, &key);
        self.batch.remove(self.tables.space(table), key);
    }

    #[cfg(debug_assertions)]
    fn check_once(&mut self, table: Table, key: &[u8]) {
        assert!(
            self.seen.insert((table, key.to_vec())),
            "row written twice in one epoch: {} {}",
            table.name(),
            key.escape_ascii()
        );
    }

    #[cfg(not(debug_assertions))]
    fn check_once(&mut self, _table: Table, _key: &[u8]) {}

    /// Rows so far.
    pub(crate) fn len(&self) -> usize {
        self.batch.len()
    }

    /// Hands the rows to the operating system, all or none; not yet durable.
    pub(crate) fn commit(self) -> fjall::Result<()> {
        self.batch.commit()
    }
}
