//! Records of buckets that this process has read or written.

use std::collections::HashMap;

use parking_lot::Mutex;
use store_protocol::Meta;

/// The newest records that this process has read or written, by bucket name. Holds at most one
/// entry per bucket.
#[derive(Default)]
pub(crate) struct Records(Mutex<HashMap<String, Meta>>);

impl Records {
    /// Remembers a record, unless a newer one is known.
    pub(crate) fn note(&self, name: &str, record: &Meta) {
        let mut known = self.0.lock();
        if known.get(name).is_none_or(|known| known.version < record.version) {
            known.insert(name.to_owned(), record.clone());
        }
    }

    /// Removes a bucket from the remembered records.
    pub(crate) fn forget(&self, name: &str) {
        self.0.lock().remove(name);
    }

    pub(crate) fn get(&self, name: &str) -> Option<Meta> {
        self.0.lock().get(name).cloned()
    }
}
