//! The past versions of a page, read from its captures.

use rustc_hash::FxHashMap;

use super::Snapshot;
use crate::error::SnapshotError;
use crate::ids::InputId;
use crate::rows::{CaptureRow, PastVersion};
use crate::views::capture_row::{StoredCapture, text_hash};
use crate::views::{captures, history, past, texts, versions};

impl Snapshot {
    /// Returns when the current version of a key began (0 without one), and the past versions of
    /// the key, oldest first.
    pub fn history(&self, url_key: &str) -> Result<(i64, Vec<PastVersion>), SnapshotError> {
        let rows = captures::of_key(self.cut(), url_key)?;
        self.history_of(url_key, &rows)
    }

    /// As [`Snapshot::history`], from the captures that `sees` permits. The current version must be
    /// among them.
    pub fn history_seen(
        &self,
        url_key: &str,
        sees: &mut dyn FnMut(&CaptureRow) -> bool,
    ) -> Result<(i64, Vec<PastVersion>), SnapshotError> {
        let mut seen = Vec::new();
        for row in captures::of_key(self.cut(), url_key)? {
            if self.sees_whole(&row, sees)? {
                seen.push(row);
            }
        }
        self.history_of(url_key, &seen)
    }

    fn history_of(
        &self,
        url_key: &str,
        rows: &[StoredCapture],
    ) -> Result<(i64, Vec<PastVersion>), SnapshotError> {
        let current = versions::read(self.cut(), url_key)?;
        let labels = Labels::of(self, rows)?;
        let history = history::history(
            &rows.iter().collect::<Vec<_>>(),
            current.map(|row| row.fetch_time_ms),
            &labels,
        );
        let past = history.past.into_iter().map(|past| past.shown(&labels));
        Ok((history.since_ms, past.collect()))
    }

    /// Returns the text of a past version by its name; `None` if the page has no such text.
    pub fn past_text(&self, url_key: &str, text: [u8; 16]) -> Result<Option<String>, SnapshotError> {
        match past::read_text(self.cut(), url_key, text)? {
            Some(found) => Ok(Some(texts::visible(found))),
            // The text of the current version, page or not, is stored only with that version.
            None => {
                let current = texts::read(self.cut(), url_key)?;
                let named = current.filter(|found| text_hash(found) == text);
                Ok(named.map(texts::visible))
            }
        }
    }
}

/// Collection labels of inputs, read in advance.
#[derive(Default)]
pub(super) struct Labels(FxHashMap<InputId, String>);

impl Labels {
    /// Reads the labels of the inputs of these captures.
    pub(super) fn of(snapshot: &Snapshot, rows: &[StoredCapture]) -> Result<Labels, SnapshotError> {
        let mut labels = Labels::default();
        let originals = rows.iter().filter_map(|row| row.capture.original.as_ref());
        let originals = originals.map(|original| InputId(original.input));
        for input in rows.iter().map(|row| row.input).chain(originals) {
            if let std::collections::hash_map::Entry::Vacant(unread) = labels.0.entry(input) {
                unread.insert(snapshot.input(input)?.collection.clone());
            }
        }
        Ok(labels)
    }
}

impl history::Collections for Labels {
    fn collection_of(&self, input: InputId) -> &str {
        self.0.get(&input).map_or("", String::as_str)
    }
}
