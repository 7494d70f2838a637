//! Finds the captures that have the payload of revisits.
//!
//! The rule is the same as for the original of a record (`record`) if no version determines it: of
//! the captures of the same key with the same digest, the latest one up to the revisit, or else the
//! first. Damaged ones count only if all are damaged. A list has many revisits of one key, so the
//! captures of the key are read only once.

use extract::CaptureKind;
use index::CaptureRow;
use rustc_hash::FxHashMap;

use super::limit::CAPTURES_OF_KEY_MAX;
use super::visible_snapshot::VisibleSnapshot;
use crate::AskError;

/// Originals of the most recent key.
pub(super) struct Originals<'s> {
    visible: &'s VisibleSnapshot<'s>,
    url_key: Option<String>,
    /// By digest, oldest first.
    by_digest: FxHashMap<String, Vec<CaptureRow>>,
}

impl<'s> Originals<'s> {
    pub(super) fn of(visible: &'s VisibleSnapshot<'s>) -> Originals<'s> {
        Originals {
            visible,
            url_key: None,
            by_digest: FxHashMap::default(),
        }
    }

    /// Returns the capture that has the payload of `capture`, if that is a revisit.
    pub(super) fn original(&mut self, capture: &CaptureRow) -> Result<Option<&CaptureRow>, AskError> {
        if capture.kind != CaptureKind::Revisit {
            return Ok(None);
        }
        if self.url_key.as_ref() != Some(&capture.url_key) {
            self.read(&capture.url_key)?;
        }
        let Some(same) = self.by_digest.get(&capture.digest) else {
            return Ok(None);
        };
        let before = same.partition_point(|original| original.fetch_time_ms <= capture.fetch_time_ms);
        Ok(same.get(before.saturating_sub(1)))
    }

    fn read(&mut self, url_key: &str) -> Result<(), AskError> {
        self.by_digest.clear();
        self.url_key = Some(url_key.to_owned());
        for capture in self.visible.captures(url_key).take(CAPTURES_OF_KEY_MAX) {
            let capture = capture?;
            if capture.kind != CaptureKind::Revisit {
                let same = self.by_digest.entry(capture.digest.clone()).or_default();
                same.push(capture);
            }
        }
        // The digest of a damaged record is not that of its bytes.
        for same in self.by_digest.values_mut() {
            if same.iter().any(|capture| !capture.is_damaged) {
                same.retain(|capture| !capture.is_damaged);
            }
        }
        Ok(())
    }
}
