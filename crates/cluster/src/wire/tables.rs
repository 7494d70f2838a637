//! Block tables cached by a client, so that not every request for a small range of a large object
//! transfers its table.
//!
//! Invariants:
//!  - a table is kept only if its root is the BLAKE3 of its object, so the table of a damaged
//!    replica is never used for others;
//!  - the cached tables never exceed [`super::TABLES_KEPT_BYTES`] together.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use store_protocol::{BlockTable, Key, Meta, Version};

use super::TABLES_KEPT_BYTES;

/// Bytes of one entry in addition to its values: key, version, and two places in maps.
const ENTRY_BYTES: usize = 300;

/// Tables by object. The least recently used are dropped first.
pub(crate) struct Tables {
    bytes_max: usize,
    cached: Mutex<Cached>,
}

#[derive(Default)]
struct Cached {
    tables: HashMap<(Key, Version), (Arc<BlockTable>, u64)>,
    /// When each table was last used, by a counter.
    by_use: BTreeMap<u64, (Key, Version)>,
    uses: u64,
    bytes: usize,
}

impl Default for Tables {
    fn default() -> Self {
        Self::new(TABLES_KEPT_BYTES)
    }
}

impl Tables {
    fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            cached: Mutex::default(),
        }
    }

    /// Returns the table of an object, if it is cached.
    pub(crate) fn get(&self, key: &Key, version: Version) -> Option<Arc<BlockTable>> {
        let mut cached = self.cached.lock();
        cached.uses += 1;
        let now = cached.uses;
        let of = (key.clone(), version);
        let (table, used) = cached.tables.get_mut(&of)?;
        let (table, before) = (table.clone(), std::mem::replace(used, now));
        cached.by_use.remove(&before);
        cached.by_use.insert(now, of);
        Some(table)
    }

    /// Caches the table of an object, if it is the right one.
    pub(crate) fn put(&self, meta: &Meta, table: &Arc<BlockTable>) {
        // The table of an object of one block is only its digest, so caching it saves nothing.
        if table.values().len() < 2 || table.root() != Some(meta.digests.blake3) {
            return;
        }
        let mut cached = self.cached.lock();
        let of = (meta.key.clone(), meta.version);
        if cached.tables.contains_key(&of) {
            return;
        }
        cached.uses += 1;
        let now = cached.uses;
        cached.bytes += entry_bytes(table);
        cached.by_use.insert(now, of.clone());
        cached.tables.insert(of, (table.clone(), now));
        cached.shrink(self.bytes_max);
    }
}

impl Cached {
    fn shrink(&mut self, bytes_max: usize) {
        while self.bytes > bytes_max
            && let Some((_, of)) = self.by_use.pop_first()
        {
            if let Some((table, _)) = self.tables.remove(&of) {
                self.bytes -= entry_bytes(&table);
            }
        }
        debug_assert!(
            self.bytes <= bytes_max && self.by_use.len() == self.tables.len(),
            "{} bytes of {bytes_max} in {} tables, {} by use",
            self.bytes,
            self.tables.len(),
            self.by_use.len()
        );
    }
}

fn entry_bytes(table: &BlockTable) -> usize {
    table.values().len() * 32 + ENTRY_BYTES
}

#[cfg(test)]
mod tests {
    use store_protocol::{BLOCK_BYTES, BlockHasher, Digests};

    use super::*;

    fn object(number: u64) -> (Meta, Arc<BlockTable>) {
        let mut hasher = BlockHasher::default();
        let content = vec![number as u8; BLOCK_BYTES as usize + 1];
        hasher.update(&content);
        let (table, blake3) = hasher.finish();
        let meta = Meta {
            key: Key::new("b", &number.to_string()).unwrap(),
            version: Version {
                term: store_protocol::Term::NONE,
                millis: number,
                counter: 0,
                node: 0,
            },
            deleted: false,
            size: content.len() as u64,
            etag: String::new(),
            attributes: BTreeMap::new(),
            digests: Digests {
                md5: [0; 16],
                sha256: [0; 32],
                blake3,
            },
            write: None,
        };
        (meta, Arc::new(table))
    }

    #[test]
    fn right_tables_are_kept_and_wrong_ones_are_not() {
        let tables = Tables::default();
        let (one, table) = object(1);
        let (two, other) = object(2);
        tables.put(&one, &table);
        tables.put(&two, &table);
        assert_eq!(tables.get(&one.key, one.version), Some(table));
        assert_eq!(tables.get(&two.key, two.version), None, "another object's table");
        tables.put(&two, &other);
        assert_eq!(tables.get(&two.key, two.version), Some(other));
        assert_eq!(tables.get(&one.key, two.version), None, "another version");
    }

    #[test]
    fn those_used_longest_ago_go_first() {
        let (first, table) = object(1);
        let tables = Tables::new(entry_bytes(&table) * 3);
        tables.put(&first, &table);
        let more: Vec<_> = (2..6).map(object).collect();
        for (meta, table) in &more {
            assert!(
                tables.get(&first.key, first.version).is_some(),
                "used again and again"
            );
            tables.put(meta, table);
        }
        let cached = |(meta, _): &(Meta, _)| tables.get(&meta.key, meta.version).is_some();
        assert_eq!(
            more.iter().map(cached).collect::<Vec<_>>(),
            [false, false, true, true]
        );
        assert_eq!(tables.cached.lock().bytes, entry_bytes(&table) * 3);
    }
}
