//! What a write does to what the tier knows.

use cache::CachedOrigin;

/// Objects of a bucket of the upstream that a request may change. They are forgotten when it begins, because from then
/// on both versions may be there, and again at its end, whatever that is: readers in between may have seen the old one.
pub(crate) struct Forgotten {
    bucket: CachedOrigin,
    which: Which,
}

/// Which objects of a bucket.
pub(crate) enum Which {
    /// Every one.
    All,
    /// Those with these keys.
    Keys(Vec<String>),
}

impl Forgotten {
    /// Forgets, now and when this is dropped.
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
