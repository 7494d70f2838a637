//! Revisits of other URLs, and the captures that have their content.

use extract::{CaptureKind, Original};

use super::Snapshot;
use crate::error::SnapshotError;
use crate::ids::InputId;
use crate::revisits::{self, ReferenceHashes};
use crate::rows::{CaptureRow, OriginalCapture};
use crate::tables::Table;
use crate::views::capture_key::CapturePosition;
use crate::views::capture_row::StoredCapture;
use crate::views::{captures, originals};

impl Snapshot {
    /// Returns what revisits of other URLs refer to, for a recount of the same captures.
    ///
    /// # Errors
    /// [`SnapshotError`].
    pub fn referred(&self) -> Result<ReferenceHashes, SnapshotError> {
        let mut referred = ReferenceHashes::default();
        for row in self.cut().iter(Table::References) {
            let (key, _) = row?;
            referred
                .0
                .insert(revisits::short(&originals::referred_hash(&key)));
        }
        Ok(referred)
    }

    /// Returns whether any revisit refers, or may refer, to another URL.
    ///
    /// # Errors
    /// [`SnapshotError`].
    pub fn has_references(&self) -> Result<bool, SnapshotError> {
        Ok(self.cut().iter(Table::References).next().transpose()?.is_some())
    }

    /// Returns the original of a capture, if it has one.
    pub(super) fn original_of(
        &self,
        stored: &StoredCapture,
    ) -> Result<Option<OriginalCapture>, SnapshotError> {
        let Some(original) = &stored.capture.original else {
            return Ok(None);
        };
        let collection = self.input(InputId(original.input))?.collection.clone();
        Ok(Some(OriginalCapture::of(original, collection)))
    }

    /// Returns the original of a revisit of another URL: the capture with its content. `None` for
    /// other captures.
    ///
    /// # Errors
    /// [`SnapshotError`].
    pub fn original(&self, capture: &CaptureRow) -> Result<Option<CaptureRow>, SnapshotError> {
        if capture.kind != CaptureKind::Revisit {
            return Ok(None);
        }
        let place = CapturePosition {
            fetch_time_ms: capture.fetch_time_ms,
            input: capture.input,
            offset: capture.offset,
        };
        let stored = captures::at(self.cut(), &capture.url_key, &place)?;
        match stored.and_then(|stored| stored.capture.original) {
            Some(original) => self.capture_of(&original),
            None => Ok(None),
        }
    }

    fn capture_of(&self, original: &Original) -> Result<Option<CaptureRow>, SnapshotError> {
        let place = CapturePosition {
            fetch_time_ms: original.fetch_time_ms,
            input: InputId(original.input),
            offset: original.offset,
        };
        let stored = captures::at(self.cut(), &original.url_key, &place)?;
        stored.map(|stored| self.capture_row(stored)).transpose()
    }

    /// Returns whether `sees` permits a capture and, if it has the content of another capture, that
    /// one too.
    pub(super) fn sees_whole(
        &self,
        stored: &StoredCapture,
        sees: &mut dyn FnMut(&CaptureRow) -> bool,
    ) -> Result<bool, SnapshotError> {
        if !sees(&self.capture_row(stored.clone())?) {
            return Ok(false);
        }
        let Some(original) = &stored.capture.original else {
            return Ok(true);
        };
        Ok(self.capture_of(original)?.is_some_and(|original| sees(&original)))
    }
}
