//! Captures of URL keys, with and without the lines of indexes.

use extract::IndexLine;

use super::captures_read::Span;
use super::{Captures, Snapshot, covering};
use crate::error::SnapshotError;
use crate::ids::InputId;
use crate::rows::{CaptureRow, KeyRange};
use crate::tables::Table;
use crate::views::capture_key::{key_prefix, time_prefix};
use crate::views::capture_row::StoredCapture;
use crate::views::captures;

impl Snapshot {
    /// Returns captures sorted by URL key and time: those after `after` (a [`Captures::cursor`]).
    pub fn captures(&self, range: KeyRange, after: Option<&[u8]>) -> Captures {
        self.captures_of(Span::of(range).beyond(false, after), false)
    }

    /// Returns the same captures in reverse order: those before `before` (a [`Captures::cursor`]).
    pub fn captures_reversed(&self, range: KeyRange, before: Option<&[u8]>) -> Captures {
        self.captures_of(Span::of(range).beyond(true, before), true)
    }

    /// As [`Snapshot::captures`], or as [`Snapshot::captures_reversed`], with the captures that
    /// only indexes list among them ([`CaptureRow::index_only`]).
    pub fn captures_and_lines(&self, range: KeyRange, reversed: bool, at: Option<&[u8]>) -> Captures {
        let captures = if reversed {
            self.captures_reversed(range.clone(), at)
        } else {
            self.captures(range.clone(), at)
        };
        // Most archives have no lines, and their look-ups should not pay for them.
        if !self.has_lines() {
            return captures;
        }
        let span = Span::of(range).beyond(reversed, at);
        let lines = match &span.to {
            Some(to) => self.cut().range(Table::IndexLines, &span.from, to),
            None => self.cut().from(Table::IndexLines, &span.from),
        };
        captures.with_lines(lines)
    }

    /// Returns the captures with records of a URL key within the second of a time.
    ///
    /// # Errors
    /// [`SnapshotError`].
    pub fn captures_within_second(
        &self,
        url_key: &str,
        time_ms: i64,
    ) -> Result<Vec<CaptureRow>, SnapshotError> {
        let stored = covering::captures_within(self, url_key, time_ms.div_euclid(1000))?;
        stored
            .into_iter()
            .map(|stored| self.capture_row(stored))
            .collect()
    }

    /// Returns the index lines of a URL key within the second of a time, including those covered by
    /// captures.
    ///
    /// # Errors
    /// [`SnapshotError`].
    pub fn lines_within_second(
        &self,
        url_key: &str,
        time_ms: i64,
    ) -> Result<Vec<(InputId, IndexLine)>, SnapshotError> {
        covering::lines_within(self, url_key, time_ms.div_euclid(1000))
    }

    /// Returns the URL that a URL key is an alias of, from the newest index of a collection (of any
    /// collection, if it is `None`).
    ///
    /// # Errors
    /// [`SnapshotError`].
    pub fn alias_of(&self, url_key: &str, collection: Option<&str>) -> Result<Option<String>, SnapshotError> {
        if !self.has_lines() {
            return Ok(None);
        }
        let newest_first = self
            .lines_within_second(url_key, IndexLine::ALIAS_TIME_MS)?
            .into_iter()
            .rev();
        for (input, line) in newest_first {
            let is_of_it = match collection {
                Some(collection) => self.input(input)?.collection == collection,
                None => true,
            };
            if is_of_it && line.alias_of.is_some() {
                return Ok(line.alias_of);
            }
        }
        Ok(None)
    }

    /// Returns whether there are index lines. Also true if that cannot be read; then reading them
    /// returns the error.
    pub(super) fn has_lines(&self) -> bool {
        let first = || self.cut().iter(Table::IndexLines).next().is_some();
        *self.inner.has_lines.get_or_init(first)
    }

    /// Returns a cursor between the captures of a URL key before a time and those from that time
    /// on.
    pub fn captures_cursor_at(url_key: &str, fetch_time_ms: i64) -> Vec<u8> {
        time_prefix(url_key, fetch_time_ms)
    }

    fn captures_of(&self, span: Span, reversed: bool) -> Captures {
        let rows = match &span.to {
            Some(to) => self.cut().range(Table::Captures, &span.from, to),
            None => self.cut().from(Table::Captures, &span.from),
        };
        Captures {
            snapshot: self.clone(),
            rows,
            reversed,
            exact: span.exact,
            cursor: Vec::new(),
            line_merge: None,
        }
    }

    /// Returns the latest captures of one URL key, newest first, at most `limit`.
    pub fn captures_newest(&self, url_key: &str, limit: usize) -> Result<Vec<CaptureRow>, SnapshotError> {
        self.captures_backwards(url_key)
            .take(limit)
            .map(|stored| self.capture_row(stored?))
            .collect()
    }

    pub(crate) fn capture_row(&self, stored: StoredCapture) -> Result<CaptureRow, SnapshotError> {
        let StoredCapture {
            input: id, capture, ..
        } = stored;
        let input = self.input(id)?;
        Ok(CaptureRow {
            is_damaged: capture.is_damaged(),
            url_key: capture.url_key,
            fetch_time_ms: capture.fetch_time_ms,
            url: capture.url,
            mime: capture.mime,
            status: capture.status,
            method: capture.method,
            digest: capture.digest,
            length: capture.length,
            offset: capture.offset,
            input: id,
            input_name: input.input.clone(),
            location: input.location.clone(),
            collection: input.collection.clone(),
            kind: capture.kind,
            index_only: false,
        })
    }

    /// Converts an index line to a capture whose record is not loaded, or to an attachment.
    pub(crate) fn line_row(&self, id: InputId, line: IndexLine) -> Result<CaptureRow, SnapshotError> {
        let input = self.input(id)?;
        let is_attachment = line.is_attachment();
        Ok(CaptureRow {
            kind: line.kind(),
            is_damaged: false,
            url_key: line.url_key,
            fetch_time_ms: line.fetch_time_ms,
            url: line.url,
            mime: line.mime,
            status: line.status,
            // Index lines do not store the method.
            method: String::new(),
            digest: line.digest,
            length: line.record_length,
            offset: line.record_offset,
            input: id,
            input_name: if is_attachment {
                input.input.clone()
            } else {
                line.filename
            },
            location: input.location.clone(),
            collection: input.collection.clone(),
            index_only: !is_attachment,
        })
    }

    /// Returns the captures of a URL key, newest first.
    pub(super) fn captures_backwards(
        &self,
        url_key: &str,
    ) -> impl Iterator<Item = Result<StoredCapture, SnapshotError>> {
        self.cut()
            .prefix(Table::Captures, &key_prefix(url_key))
            .rev()
            .map(|row| {
                let (key, value) = row?;
                captures::read_row(self.cut(), &key, &value)
            })
            .filter(move |row| row.as_ref().map_or(true, |row| row.capture.url_key == url_key))
    }
}
