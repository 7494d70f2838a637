//! A cache of block tables of recently read replicas, so that a range read of a big object does not
//! read its table again.

use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;
use store_protocol::{BlockTable, Version};

use super::names::KeyHash;

/// Memory for the tables of one volume, in bytes: enough for 128 GB of objects. The last table used
/// stays even if it is larger.
const TABLES_BYTES_MAX: usize = 16 << 20;

/// Overhead of an entry, in bytes.
const ENTRY_BYTES: usize = 128;

/// The cached block tables, evicted in order of last use.
pub(super) struct Tables(Mutex<Cached>);

struct Cached {
    tables: LruCache<(KeyHash, Version), Arc<BlockTable>>,
    bytes: usize,
}

impl Default for Tables {
    fn default() -> Self {
        Self(Mutex::new(Cached {
            tables: LruCache::unbounded(),
            bytes: 0,
        }))
    }
}

impl Tables {
    /// Returns the table of a replica, if it is cached.
    pub(super) fn get(&self, hash: KeyHash, version: Version) -> Option<Arc<BlockTable>> {
        self.0.lock().tables.get(&(hash, version)).cloned()
    }

    /// Caches a table, and evicts the least recently used ones beyond [`TABLES_BYTES_MAX`].
    pub(super) fn keep(&self, hash: KeyHash, version: Version, table: Arc<BlockTable>) {
        let mut cached = self.0.lock();
        cached.bytes += cost(&table);
        if let Some(before) = cached.tables.put((hash, version), table) {
            cached.bytes -= cost(&before);
        }
        while cached.bytes > TABLES_BYTES_MAX && cached.tables.len() > 1 {
            let Some((_, oldest)) = cached.tables.pop_lru() else {
                break;
            };
            cached.bytes -= cost(&oldest);
        }
    }

    /// Forgets a removed or bad replica.
    pub(super) fn forget(&self, hash: KeyHash, version: Version) {
        let mut cached = self.0.lock();
        if let Some(table) = cached.tables.pop(&(hash, version)) {
            cached.bytes -= cost(&table);
        }
    }
}

fn cost(table: &BlockTable) -> usize {
    table.values().len() * 32 + ENTRY_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded() {
        let tables = Tables::default();
        let table = Arc::new(BlockTable::from_values(vec![[0; 32]; 32 * 1024]));
        for n in 0..100u8 {
            tables.keep([n; 16], "0".repeat(28).parse().unwrap(), table.clone());
        }
        let cached = tables.0.lock();
        assert!(cached.bytes <= TABLES_BYTES_MAX);
        assert_eq!(cached.bytes, cached.tables.len() * cost(&table));
        assert!(
            cached
                .tables
                .contains(&([99; 16], "0".repeat(28).parse().unwrap()))
        );
    }
}
