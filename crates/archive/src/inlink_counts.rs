//! A cache of in-link counts of clients that do not see everything. Rankings, domains and pages
//! need the same counts repeatedly, and counting visible versions has to read each source.
//!
//! Invariant: an entry records the epoch and the filter for which it was counted, and is used for no
//! other.

use access::AccessFilterId;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// Memory for counts, in bytes: some 100,000 of them.
const CACHE_BYTES: u64 = 16 << 20;

/// Approximate memory of an entry in addition to the key.
const ENTRY_BYTES: u64 = 128;

/// The filter, and the URL key.
type CacheKey = (AccessFilterId, Box<str>);

/// In-links, and those from other domains.
type Counts = (u64, u64);

/// Recent counts.
pub(crate) struct InlinkCounts(Cache<CacheKey, (u64, Counts), ByBytes>);

#[derive(Clone)]
struct ByBytes;

impl Weighter<CacheKey, (u64, Counts)> for ByBytes {
    fn weight(&self, (_, url_key): &CacheKey, _: &(u64, Counts)) -> u64 {
        ENTRY_BYTES + url_key.len() as u64
    }
}

impl Default for InlinkCounts {
    fn default() -> InlinkCounts {
        let count = (CACHE_BYTES / ENTRY_BYTES) as usize;
        InlinkCounts(Cache::with_weighter(count, CACHE_BYTES, ByBytes))
    }
}

impl InlinkCounts {
    /// Returns the counts of a URL key at an epoch, from the cache or from `count`.
    pub(crate) fn get_or_count<E>(
        &self,
        filter: AccessFilterId,
        epoch: u64,
        url_key: &str,
        count: impl FnOnce() -> Result<Counts, E>,
    ) -> Result<Counts, E> {
        let key = (filter, Box::from(url_key));
        if let Some((_, counts)) = self.0.get(&key).filter(|(counted_at, _)| *counted_at == epoch) {
            return Ok(counts);
        }
        let counts = count()?;
        self.0.insert(key, (epoch, counts));
        Ok(counts)
    }
}
