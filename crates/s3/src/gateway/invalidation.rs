//! Invalidation of cached objects by writes.

use cache::CachedOrigin;

/// Objects in a bucket of the upstream that a request may change. They are invalidated when the
/// request begins, because from then on either version may be returned. They are invalidated again
/// when it ends, even if it failed, because concurrent reads may have cached the old version.
pub(crate) struct Invalidation {
    bucket: CachedOrigin,
    objects: InvalidatedObjects,
}

/// A selection of objects in a bucket.
pub(crate) enum InvalidatedObjects {
    /// All objects.
    All,
    /// The objects with these keys.
    Keys(Vec<String>),
}

impl Invalidation {
    /// Invalidates the objects now, and again on drop.
    pub(crate) fn new(bucket: CachedOrigin, objects: InvalidatedObjects) -> Self {
        let invalidation = Self { bucket, objects };
        invalidation.invalidate();
        invalidation
    }

    fn invalidate(&self) {
        match &self.objects {
            InvalidatedObjects::All => self.bucket.forget_below(""),
            InvalidatedObjects::Keys(keys) => keys.iter().for_each(|key| self.bucket.forget(key)),
        }
    }
}

impl Drop for Invalidation {
    fn drop(&mut self) {
        self.invalidate();
    }
}
