//! Current versions of URL keys, with their texts and images.

use extract::CaptureKind;

use super::Snapshot;
use crate::codec;
use crate::error::SnapshotError;
use crate::rows::{CaptureRow, PageRow, TextCapture};
use crate::tables::Table;
use crate::views::order::confirms;
use crate::views::version_row::{self, VersionRow};
use crate::views::{captures, texts, versions};

impl Snapshot {
    /// Returns the current version of a URL key, page or not.
    pub fn version(&self, url_key: &str) -> Result<Option<PageRow>, SnapshotError> {
        let Some(row) = versions::read(self.cut(), url_key)? else {
            return Ok(None);
        };
        let last_seen_ms = self.last_seen(url_key, row.fetch_time_ms, &mut |_| true)?;
        self.page_row(url_key, row, last_seen_ms).map(Some)
    }

    /// Returns the current version of a URL key, if `sees_version` permits it. Only captures that
    /// `sees_capture` permits confirm it.
    pub fn version_seen(
        &self,
        url_key: &str,
        sees_version: &mut dyn FnMut(&PageRow) -> bool,
        sees_capture: &mut dyn FnMut(&CaptureRow) -> bool,
    ) -> Result<Option<PageRow>, SnapshotError> {
        let Some(row) = versions::read(self.cut(), url_key)? else {
            return Ok(None);
        };
        let fetch_time_ms = row.fetch_time_ms;
        let mut page = self.page_row(url_key, row, fetch_time_ms)?;
        if !sees_version(&page) {
            return Ok(None);
        }
        page.last_seen_ms = self.last_seen(url_key, fetch_time_ms, sees_capture)?;
        Ok(Some(page))
    }

    /// Returns the greatest fetch time of the version and of later captures that confirm it.
    fn last_seen(
        &self,
        url_key: &str,
        fetch_time_ms: i64,
        sees: &mut dyn FnMut(&CaptureRow) -> bool,
    ) -> Result<i64, SnapshotError> {
        for stored in self.captures_backwards(url_key) {
            let stored = stored?;
            let time_ms = stored.capture.fetch_time_ms;
            if time_ms <= fetch_time_ms {
                break;
            }
            if confirms(&stored.capture) && sees(&self.capture_row(stored)?) {
                return Ok(time_ms);
            }
        }
        Ok(fetch_time_ms)
    }

    pub(super) fn page_row(
        &self,
        url_key: &str,
        row: VersionRow,
        last_seen_ms: i64,
    ) -> Result<PageRow, SnapshotError> {
        let collection = self.input(row.input)?.collection.clone();
        let text_capture = match row.text_of_another() {
            Some(text) => Some(TextCapture {
                digest: text.digest.clone(),
                collection: self.input(text.input)?.collection.clone(),
                mime: captures::text_mime(self.cut(), url_key, &row, text)?,
            }),
            None => None,
        };
        let original = match row.kind {
            CaptureKind::Revisit => match captures::at(self.cut(), url_key, &row.position())? {
                Some(stored) => self.original_of(&stored)?,
                None => None,
            },
            _ => None,
        };
        Ok(PageRow {
            original,
            ..page_row(url_key, row, last_seen_ms, collection, text_capture)
        })
    }

    /// Returns the keys of all versions, sorted bytewise, and whether each is a page or document.
    pub fn version_keys(&self) -> impl Iterator<Item = Result<(String, bool), SnapshotError>> + '_ {
        self.cut().iter(Table::Versions).map(|row| {
            let (key, value) = row?;
            let decoded = codec::to_text(&key).and_then(|url_key| {
                let has_content = version_row::decode(&url_key, &value)?.has_content();
                Ok((url_key, has_content))
            });
            self.cut().decode(Table::Versions, &key, decoded)
        })
    }

    /// Returns the keys of all pages and documents, sorted bytewise, and whether each is a page.
    pub(crate) fn content_keys(&self) -> impl Iterator<Item = Result<(String, bool), SnapshotError>> + '_ {
        self.cut().iter(Table::Versions).filter_map(|row| {
            let page = row.and_then(|(key, value)| {
                let decoded = codec::to_text(&key).and_then(|url_key| {
                    let version = version_row::decode(&url_key, &value)?;
                    Ok(version.has_content().then_some((url_key, version.is_page)))
                });
                self.cut().decode(Table::Versions, &key, decoded)
            });
            page.transpose()
        })
    }

    /// Returns the visible text of a page or document; `None` if the key is neither or its captures
    /// have no text.
    pub fn text(&self, url_key: &str) -> Result<Option<String>, SnapshotError> {
        Ok(self.stored_text(url_key)?.map(texts::visible))
    }

    /// Returns the images that a page shows, in document order.
    pub fn images(&self, url_key: &str) -> Result<Vec<extract::Image>, SnapshotError> {
        let stored = self.stored_text(url_key)?;
        Ok(stored.map_or_else(Vec::new, |stored| extract::stored_images(&stored)))
    }

    /// Returns the text of a page or document, with its images.
    fn stored_text(&self, url_key: &str) -> Result<Option<String>, SnapshotError> {
        match versions::read(self.cut(), url_key)? {
            Some(row) if row.has_content() && row.text.is_some() => texts::read(self.cut(), url_key),
            _ => Ok(None),
        }
    }
}

fn page_row(
    url_key: &str,
    row: VersionRow,
    last_seen_ms: i64,
    collection: String,
    text_capture: Option<TextCapture>,
) -> PageRow {
    PageRow {
        url_key: url_key.to_owned(),
        language: row.page_language().to_owned(),
        url: row.url,
        fetch_time_ms: row.fetch_time_ms,
        last_seen_ms,
        kind: row.kind,
        status: row.status,
        mime: row.mime,
        digest: row.digest,
        is_page: row.is_page,
        is_document: row.is_document,
        title: row.title,
        canonical: row.canonical,
        robots: row.robots,
        links: row.links,
        links_dropped: row.links_dropped,
        text_truncated: row
            .text
            .filter(|_| row.is_page || row.is_document)
            .map(|text| text.truncated),
        text_capture,
        original: None,
        input: row.input,
        collection,
        offset: row.offset,
    }
}
