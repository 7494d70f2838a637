//! The block table that all replicas are compared with.
//!
//! Each replica has a copy of it. If every copy is damaged, the table is assembled from the values
//! that the copies and the contents give for each block. Two equal values are very likely right,
//! and the whole table must hash to the digest of the version.

use std::sync::Arc;

use store_protocol::{BlockTable, block_bytes, block_count, block_value};

use super::{Union, Unreadable};

impl Union {
    /// Finds the verified table. If a replica had it, leaves that replica open at the next block.
    pub(super) async fn find_table(&mut self) -> Result<Arc<BlockTable>, Unreadable> {
        if let Some(table) = &self.table {
            return Ok(table.clone());
        }
        let mut damaged = Vec::new();
        for index in 0..self.replicas.len() {
            match self.open(index, self.next..self.end).await {
                Ok(reading) if self.is_right(&reading.table) => {
                    let table = reading.table.clone();
                    self.reading = Some(reading);
                    return Ok(self.found(table));
                }
                Ok(reading) => {
                    // Its table is wrong, but its blocks may be right, so it has not failed at any
                    // block.
                    let error = self.corrupt(index, "block table");
                    self.replicas[index].last_error = error.to_string();
                    self.report(index, &error);
                    damaged.push(reading.table);
                }
                Err(error) => self.failed(index, &error),
            }
        }
        match self.join_tables(&damaged).await {
            Some(table) => Ok(self.found(Arc::new(table))),
            None => Err(self.unreadable(self.next..self.end)),
        }
    }

    fn found(&mut self, table: Arc<BlockTable>) -> Arc<BlockTable> {
        self.table = Some(table.clone());
        table
    }

    fn is_right(&self, table: &BlockTable) -> bool {
        table.root() == Some(self.meta.digests.blake3)
            && table.values().len() as u64 == block_count(self.meta.size)
    }

    /// Assembles the table from damaged tables and the contents.
    async fn join_tables(&mut self, damaged: &[Arc<BlockTable>]) -> Option<BlockTable> {
        let blocks = block_count(self.meta.size);
        let mut values = Vec::new();
        for block in 0..blocks {
            let at = usize::try_from(block).ok()?;
            let stored = damaged.iter().filter_map(|table| table.values().get(at));
            let mut said: Vec<[u8; 32]> = stored.copied().collect();
            if said.len() < 2 || said.iter().any(|value| *value != said[0]) {
                said.extend(self.values_of(block).await);
            }
            values.push(most_frequent(&said)?);
        }
        let table = BlockTable::from_values(values);
        self.is_right(&table).then_some(table)
    }

    /// Returns the digests of one block in all contents that can be read.
    async fn values_of(&mut self, block: u64) -> Vec<[u8; 32]> {
        let length = block_bytes(block, self.meta.size);
        let mut values = Vec::new();
        for index in 0..self.replicas.len() {
            if self.replicas[index].gone || self.replicas[index].away {
                continue;
            }
            let Ok(mut reading) = self.open(index, block..block + 1).await else {
                continue;
            };
            if let Ok(bytes) = reading.block(length, self.access.stall).await {
                values.push(block_value(block, &bytes, false));
            }
        }
        values
    }
}

/// Returns the most frequent value, the last one among equally frequent ones. Contents come after
/// tables: where a table is known to be damaged, the content may be intact.
fn most_frequent(said: &[[u8; 32]]) -> Option<[u8; 32]> {
    let times = |value: &&[u8; 32]| said.iter().filter(|other| other == value).count();
    said.iter().max_by_key(times).copied()
}
