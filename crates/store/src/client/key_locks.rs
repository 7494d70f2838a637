//! The locks under which this process decides about keys.

use store_protocol::Key;
use tokio::sync::{Mutex, MutexGuard};

/// Number of locks for all keys. Keys that share a lock wait for each other, which costs time only.
const LOCKS: usize = 1024;

/// One lock per key, in effect.
pub(crate) struct KeyLocks(Vec<Mutex<()>>);

impl KeyLocks {
    pub(super) fn new() -> Self {
        Self((0..LOCKS).map(|_| Mutex::new(())).collect())
    }

    pub(crate) async fn lock(&self, key: &Key) -> MutexGuard<'_, ()> {
        let hash = key.hash();
        // Uses other bytes than those that choose the partition, because this node may own few
        // partitions.
        let index = usize::from(u16::from_be_bytes([hash[4], hash[5]])) % LOCKS;
        self.0[index].lock().await
    }
}
