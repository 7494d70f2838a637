//! The text of a page as a browser rendered it, which crawlers attach to the page.
//!
//! It belongs to the capture of the URL key that is nearest in time, whatever that capture is. So a
//! text of another version, or of an error page, is never that of the current version. The result
//! depends on rows only, not on the order in which they came.

use extract::CaptureKind;
use urlkey::Spelling;

use super::Snapshot;
use crate::cut::Row;
use crate::error::SnapshotError;
use crate::rows::CaptureRow;
use crate::tables::Table;
use crate::views::capture_key::{is_of_key, split_key, time_prefix};
use crate::views::version_row::VersionRow;
use crate::views::{index_lines, rendered_texts, texts, versions};

/// How far a text may be from the capture of its page, in milliseconds. Crawlers write it within
/// minutes.
const APART_MS: i64 = 3_600_000;

/// Limit of texts read of one page.
const ROWS_MAX: usize = 100;

/// The text of a page as a browser rendered it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedText {
    /// The text.
    pub text: String,
    /// The attachment that has it. The text has the same rights.
    pub attachment: CaptureRow,
}

impl RenderedText {
    /// Returns its place among the texts of a version: the nearest is the first. The other fields
    /// decide between texts of one time, because they do not depend on the order of loading.
    fn rank(&self, version_ms: i64) -> (u64, i64, &str, [&str; 3]) {
        let of = &self.attachment;
        (
            of.fetch_time_ms.abs_diff(version_ms),
            of.fetch_time_ms,
            self.text.as_str(),
            [of.digest.as_str(), of.collection.as_str(), of.mime.as_str()],
        )
    }
}

impl Snapshot {
    /// Returns the rendered text of the current version of a page; `None` if the key is no page, or
    /// its version is a revisit or has no such text.
    ///
    /// # Errors
    /// [`SnapshotError`].
    pub fn rendered_text(&self, url_key: &str) -> Result<Option<RenderedText>, SnapshotError> {
        if !rendered_texts::may_have(self.cut(), url_key)? {
            return Ok(None);
        }
        match versions::read(self.cut(), url_key)? {
            // The content of a revisit is that of another URL.
            Some(version) if version.is_page && version.kind != CaptureKind::Revisit => {
                self.rendered_text_of(url_key, &version)
            }
            _ => Ok(None),
        }
    }

    fn rendered_text_of(
        &self,
        url_key: &str,
        version: &VersionRow,
    ) -> Result<Option<RenderedText>, SnapshotError> {
        let (cut, version_ms) = (self.cut(), version.fetch_time_ms);
        let (first_ms, last_ms) = self.times_nearest(url_key, version_ms)?;
        let from = time_prefix(url_key, first_ms);
        let to = time_prefix(url_key, last_ms.saturating_add(1));
        let spelling = Spelling::new(&version.url).ok();
        let mut found: Option<RenderedText> = None;
        for row in cut.range(Table::RenderedTexts, &from, &to).take(ROWS_MAX) {
            let (key, value) = row?;
            if !is_of_key(&key, url_key) {
                continue;
            }
            let Some(attachment) = self.attachment(&key)? else {
                continue;
            };
            let page = extract::derived_from(&attachment.url).unwrap_or_default();
            if spelling.as_ref().is_some_and(|spelling| !spelling.matches(page)) {
                continue;
            }
            let text = cut.decode(Table::RenderedTexts, &key, texts::decode(&value))?;
            let next = RenderedText { text, attachment };
            if found
                .as_ref()
                .is_none_or(|found| next.rank(version_ms) < found.rank(version_ms))
            {
                found = Some(next);
            }
        }
        Ok(found)
    }

    /// Returns the attachment with a row key of `index_lines`.
    fn attachment(&self, row_key: &[u8]) -> Result<Option<CaptureRow>, SnapshotError> {
        let cut = self.cut();
        let Some(value) = cut.get(Table::IndexLines, row_key)? else {
            return Ok(None);
        };
        let decoded = index_lines::decode(row_key, &value);
        let (input, line) = cut.decode(Table::IndexLines, row_key, decoded)?;
        self.line_row(input, line).map(Some)
    }

    /// Returns the first and the last time near a version to which no other capture of its URL key
    /// is nearer.
    fn times_nearest(&self, url_key: &str, version_ms: i64) -> Result<(i64, i64), SnapshotError> {
        let captures = |from_ms: i64, to_ms: i64| {
            let (from, to) = (time_prefix(url_key, from_ms), time_prefix(url_key, to_ms));
            self.cut().range(Table::Captures, &from, &to)
        };
        // The middle between the version and a capture further away is too far in any case.
        let before = captures(version_ms.saturating_sub(2 * APART_MS), version_ms).rev();
        let after = captures(
            version_ms.saturating_add(1),
            version_ms.saturating_add(2 * APART_MS),
        );
        let half_way = |other_ms: Option<i64>| {
            let apart = other_ms.map_or(APART_MS, |other_ms| {
                other_ms.saturating_sub(version_ms).saturating_abs() / 2
            });
            apart.min(APART_MS)
        };
        let before_ms = half_way(self.first_time(url_key, before)?);
        let after_ms = half_way(self.first_time(url_key, after)?);
        Ok((
            version_ms.saturating_sub(before_ms),
            version_ms.saturating_add(after_ms),
        ))
    }

    /// Returns the time of the first capture of a URL key among rows.
    fn first_time(
        &self,
        url_key: &str,
        rows: impl Iterator<Item = Result<Row, SnapshotError>>,
    ) -> Result<Option<i64>, SnapshotError> {
        for row in rows {
            let (key, _) = row?;
            if is_of_key(&key, url_key) {
                let (_, place) = self.cut().decode(Table::Captures, &key, split_key(&key))?;
                return Ok(Some(place.fetch_time_ms));
            }
        }
        Ok(None)
    }
}
