//! The single batch of an epoch.
//!
//! Invariant: a step writes every key of a table at most once. The engine gives all rows of a batch
//! the same sequence number and could not tell which of two came last.

use std::sync::Arc;

use fjall::{OwnedWriteBatch, PersistMode, UserKey, UserValue};

use crate::packed::Dictionary;
use crate::tables::{LINK_DICTIONARY_ROW, Table, Tables};

/// Rows to be written together.
pub(crate) struct Write<'t> {
    tables: &'t Tables,
    batch: OwnedWriteBatch,
    /// Trained in this epoch.
    link_dictionary: Option<Arc<Dictionary>>,
    #[cfg(debug_assertions)]
    seen: std::collections::HashSet<(Table, Vec<u8>)>,
}

impl<'t> Write<'t> {
    pub(crate) fn new(tables: &'t Tables) -> Write<'t> {
        Write {
            tables,
            // Only to the system's buffers: `write::commit` syncs, with a crash point between the
            // two.
            batch: tables.db.batch().durability(Some(PersistMode::Buffer)),
            link_dictionary: None,
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

    /// Writes the dictionary that rows of this batch are packed with. Readers get it when the batch
    /// is committed.
    pub(crate) fn put_link_dictionary(&mut self, dictionary: Arc<Dictionary>) {
        self.put(Table::Meta, LINK_DICTIONARY_ROW, dictionary.bytes());
        self.link_dictionary = Some(dictionary);
    }

    /// Number of rows so far.
    pub(crate) fn len(&self) -> usize {
        self.batch.len()
    }

    /// Hands the rows to the operating system, all or none; not yet durable.
    pub(crate) fn commit(self) -> fjall::Result<()> {
        self.batch.commit()?;
        if let Some(dictionary) = self.link_dictionary {
            self.tables.use_link_dictionary(dictionary);
        }
        Ok(())
    }
}
