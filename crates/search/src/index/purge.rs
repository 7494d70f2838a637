//! Removes every file that the last commit does not refer to.
//!
//! tantivy removes files of old segments in the background, but skips those that a running merge,
//! commit or deletion still uses. They wait for the next commit, which may never come. Here no file
//! is in use: the writer has ended, and a new one knows only the last commit.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashSet;
use tantivy::Index;

use super::shared::{Shared, State};
use crate::documents::bucket_log;
use crate::error::ApplyError;
use crate::index::view::View;

/// Interval at which to check whether searches have ended.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// The searches that use a view, to wait for their end.
pub struct ActiveSearches(std::sync::Weak<View>);

impl ActiveSearches {
    pub(super) fn of(view: &Arc<View>) -> ActiveSearches {
        ActiveSearches(Arc::downgrade(view))
    }

    /// Waits until no search uses the view, but no longer than `time_max`. Until then the system
    /// keeps the data of removed files that a search has open. Returns whether all have ended.
    pub fn wait_for_end(&self, time_max: Duration) -> bool {
        let deadline = system::now() + time_max;
        while self.0.strong_count() > 0 {
            if system::now() >= deadline {
                return false;
            }
            system::pause(LOOK_INTERVAL);
        }
        true
    }
}

impl Shared {
    /// Ends the writer and its merges, and removes the files that the last commit does not refer
    /// to.
    pub(super) fn remove_unnamed(&self, state: &mut State) -> Result<(), ApplyError> {
        // A new writer uses no files, so it removes all those that tantivy knows of.
        state.writer = None;
        let opened = self.writer(state).map(drop);
        let named = opened.and_then(|()| named_by(&self.index));
        let named = named.map_err(|error| self.fail(state, error))?;
        let removed = bucket_log::remove_others(&self.dir, state.log)
            .and_then(|()| remove_segments_but(&self.dir, &named));
        removed.map_err(|error| self.fail(state, error.into()))
    }
}

/// Returns the segments of the last commit.
fn named_by(index: &Index) -> tantivy::Result<FxHashSet<String>> {
    let metas = index.load_metas()?;
    Ok(metas
        .segments
        .iter()
        .map(|segment| segment.id().uuid_string())
        .collect())
}

/// Removes the files of other segments. Their names begin with the segment's id, of 32 hexadecimal
/// digits.
fn remove_segments_but(dir: &Path, named: &FxHashSet<String>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let segment = name.to_str().and_then(|name| name.split('.').next());
        let is_segment = |name: &&str| name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if segment
            .filter(is_segment)
            .is_some_and(|segment| !named.contains(segment))
        {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SearchIndex, Settings};

    #[test]
    fn a_search_that_goes_on_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let index = SearchIndex::open(dir.path(), Settings::default()).unwrap();
        let (searches, search) = (index.searches(), index.view());
        index.clear().unwrap();
        index.purge().unwrap();
        assert!(!searches.wait_for_end(Duration::from_millis(20)));
        drop(search);
        assert!(searches.wait_for_end(Duration::ZERO));
    }
}
