//! Numbers of in-links as of a time, in bounded time.
//!
//! The index has no such numbers. Whether a page linked to a URL at a time follows from the
//! captures of the page. Reading them takes some 30 microseconds, so only a few of the pages that
//! ever linked to a URL are read. The others are counted in proportion.

use index::{SnapshotError, When};

use super::VisibleSnapshot;

/// Maximum number of pages that are read for one number. Numbers up to this are exact.
const READ_MAX: usize = 16;

/// Maximum number of pages from which those to read are chosen.
const SOURCES: usize = 1000;

impl VisibleSnapshot<'_> {
    /// Returns the number of pages of other domains that linked to a key at the end of a time, for
    /// clients that see everything. `last` is the last second of the time, as 14 digits. If more
    /// than [`READ_MAX`] pages ever linked to the key, the number is an estimate.
    ///
    /// Other clients get `None`, as in [`VisibleSnapshot::inlinks_shown`]: a bound on the work
    /// would reveal how many hidden links there are.
    pub(in crate::ask) fn external_inlinks_at(
        &self,
        url_key: &str,
        last: &str,
    ) -> Result<Option<u64>, SnapshotError> {
        if !self.sees_everything {
            return Ok(None);
        }
        let sources = self.snapshot.sources_ever(url_key, None, SOURCES)?;
        let is_part = sources.len() == SOURCES;
        let is_external = |source: &&String| !urlkey::same_domain(source, url_key);
        let external: Vec<&String> = sources.iter().filter(is_external).collect();
        let mut ever = external.len() as u64;
        if is_part {
            let now = self.snapshot.uri(url_key)?.map_or(0, |uri| uri.inlinks_external);
            ever = ever.max(now);
        }
        let step = external.len().div_ceil(READ_MAX).max(1);
        let is_by_then = |time_ms: i64| format::date::digits(time_ms).as_str() <= last;
        let (mut read, mut linked) = (0, 0);
        for source in external.iter().step_by(step) {
            let link = self
                .snapshot
                .link_when(source, url_key, When::At(&is_by_then), None)?;
            read += 1;
            linked += u64::from(link.is_some());
        }
        // Without pages to read, both are 0.
        Ok(Some(ever * linked / u64::max(read, 1)))
    }
}
