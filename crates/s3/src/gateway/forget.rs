//! Invalidation of cached objects by writes.

use cache::CachedOrigin;

/// Objects in a bucket of the upstream that a request may change. They are invalidated when the
/// request begins, because from then on either version may be returned. They are invalidated again
/// when it ends, even if it failed, because concurrent reads may have cached the old version.
pub(crate) struct Forgotten {
    bucket: CachedOrigin,
    which: Which,
}

/// A selection of objects in a bucket.
pub(crate) enum Which {
    /// All objects.
    All,
    /// The objects with these keys.
    Keys(Vec<String>),
}

impl Forgotten {
    /// Invalidates the objects now, and again on drop.
    pub(crate) fn new(bucket: CachedOrigin, which: Which) -> Self {
        let forgotten = Self { bucket, which };
        forgotten.forget();
        forgotten
    }

    fn forget(&self) {
        match &self.which {
            Which::All => self.bucket.forget_below(""),
            Which::Keys(keys) => keys.iter().for_each(|key| self.bucket.forget(key)),
        }
    }
}

impl Drop for Forgotten {
    fn drop(&mut self) {
        self.forget();
    }
}
