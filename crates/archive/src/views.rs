//! What answers are made from: a snapshot of the index, or serving tables.

use extract::Image;
use index::{
    CaptureRow, Captures, DomainRow, Epoch, KeyRange, LinkRow, PageRow, PastVersion, RenderedText, ShownPage,
    Snapshot, SnapshotError, TopRow, UriRow, VersionLink, When,
};

/// Captures in order. The cursor is the row key of the last capture returned.
pub(crate) trait CaptureWalk: Iterator<Item = Result<CaptureRow, SnapshotError>> {
    /// As [`Captures::cursor`].
    fn cursor(&self) -> &[u8];

    /// As [`Captures::skip_rows`].
    fn skip_rows(&mut self, count: usize) -> Result<usize, SnapshotError>;
}

impl CaptureWalk for Captures {
    fn cursor(&self) -> &[u8] {
        Captures::cursor(self)
    }

    fn skip_rows(&mut self, count: usize) -> Result<usize, SnapshotError> {
        Captures::skip_rows(self, count)
    }
}

/// Rows in order.
pub(crate) type Rows<'s, R> = Box<dyn Iterator<Item = Result<R, SnapshotError>> + 's>;

/// Look-ups, all in one epoch or batch. Each method is that of [`Snapshot`]. Serving tables fail with
/// [`SnapshotError::NotServed`] where they lack the data.
pub(crate) trait Views {
    fn epoch(&self) -> Epoch;

    fn has_references(&self) -> Result<bool, SnapshotError>;

    fn version(&self, url_key: &str) -> Result<Option<PageRow>, SnapshotError>;

    fn version_seen(
        &self,
        url_key: &str,
        sees_version: &mut dyn FnMut(&PageRow) -> bool,
        sees_capture: &mut dyn FnMut(&CaptureRow) -> bool,
    ) -> Result<Option<PageRow>, SnapshotError>;

    fn text(&self, url_key: &str) -> Result<Option<String>, SnapshotError>;

    fn images(&self, url_key: &str) -> Result<Vec<Image>, SnapshotError>;

    fn shown(&self, url_key: &str) -> Result<ShownPage, SnapshotError>;

    fn rendered_text(&self, url_key: &str) -> Result<Option<RenderedText>, SnapshotError>;

    fn history(&self, url_key: &str) -> Result<(i64, Vec<PastVersion>), SnapshotError>;

    fn history_seen(
        &self,
        url_key: &str,
        sees: &mut dyn FnMut(&CaptureRow) -> bool,
    ) -> Result<(i64, Vec<PastVersion>), SnapshotError>;

    fn past_text(&self, url_key: &str, text: [u8; 16]) -> Result<Option<String>, SnapshotError>;

    fn uri(&self, url_key: &str) -> Result<Option<UriRow>, SnapshotError>;

    fn uris_between<'s>(&'s self, from: &str, to: &str) -> Rows<'s, UriRow>;

    fn captures(&self, range: KeyRange, after: Option<&[u8]>) -> Box<dyn CaptureWalk>;

    fn captures_reversed(&self, range: KeyRange, before: Option<&[u8]>) -> Box<dyn CaptureWalk>;

    fn captures_and_lines(&self, range: KeyRange, reversed: bool, at: Option<&[u8]>) -> Box<dyn CaptureWalk>;

    fn original(&self, capture: &CaptureRow) -> Result<Option<CaptureRow>, SnapshotError>;

    fn alias_of(&self, url_key: &str, collection: Option<&str>) -> Result<Option<String>, SnapshotError>;

    fn attachments(&self, url_key: &str, rows_max: usize) -> Result<Vec<CaptureRow>, SnapshotError>;

    fn attachments_between(
        &self,
        url_key: &str,
        times_ms: (i64, i64),
        rows_max: usize,
    ) -> Result<Vec<CaptureRow>, SnapshotError>;

    fn outlinks(
        &self,
        url_key: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<LinkRow>, SnapshotError>;

    fn inlinks(
        &self,
        url_key: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<LinkRow>, SnapshotError>;

    fn sources(&self, url_key: &str, after: Option<&str>, limit: usize)
    -> Result<Vec<String>, SnapshotError>;

    fn sources_ever(
        &self,
        url_key: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, SnapshotError>;

    fn link_when(
        &self,
        source_key: &str,
        target_key: &str,
        when: When<'_>,
        sees: Option<&mut dyn FnMut(&CaptureRow) -> bool>,
    ) -> Result<Option<VersionLink>, SnapshotError>;

    fn domain(&self, domain: &str) -> Result<Option<DomainRow>, SnapshotError>;

    fn all_domains<'s>(&'s self, after: Option<&str>) -> Rows<'s, DomainRow>;

    fn top(
        &self,
        domain: Option<&str>,
        after: Option<&TopRow>,
        limit: usize,
    ) -> Result<Vec<TopRow>, SnapshotError>;
}

impl Views for Snapshot {
    fn epoch(&self) -> Epoch {
        Snapshot::epoch(self)
    }

    fn has_references(&self) -> Result<bool, SnapshotError> {
        Snapshot::has_references(self)
    }

    fn version(&self, url_key: &str) -> Result<Option<PageRow>, SnapshotError> {
        Snapshot::version(self, url_key)
    }

    fn version_seen(
        &self,
        url_key: &str,
        sees_version: &mut dyn FnMut(&PageRow) -> bool,
        sees_capture: &mut dyn FnMut(&CaptureRow) -> bool,
    ) -> Result<Option<PageRow>, SnapshotError> {
        Snapshot::version_seen(self, url_key, sees_version, sees_capture)
    }

    fn text(&self, url_key: &str) -> Result<Option<String>, SnapshotError> {
        Snapshot::text(self, url_key)
    }

    fn images(&self, url_key: &str) -> Result<Vec<Image>, SnapshotError> {
        Snapshot::images(self, url_key)
    }

    fn shown(&self, url_key: &str) -> Result<ShownPage, SnapshotError> {
        Snapshot::shown(self, url_key)
    }

    fn rendered_text(&self, url_key: &str) -> Result<Option<RenderedText>, SnapshotError> {
        Snapshot::rendered_text(self, url_key)
    }

    fn history(&self, url_key: &str) -> Result<(i64, Vec<PastVersion>), SnapshotError> {
        Snapshot::history(self, url_key)
    }

    fn history_seen(
        &self,
        url_key: &str,
        sees: &mut dyn FnMut(&CaptureRow) -> bool,
    ) -> Result<(i64, Vec<PastVersion>), SnapshotError> {
        Snapshot::history_seen(self, url_key, sees)
    }

    fn past_text(&self, url_key: &str, text: [u8; 16]) -> Result<Option<String>, SnapshotError> {
        Snapshot::past_text(self, url_key, text)
    }

    fn uri(&self, url_key: &str) -> Result<Option<UriRow>, SnapshotError> {
        Snapshot::uri(self, url_key)
    }

    fn uris_between<'s>(&'s self, from: &str, to: &str) -> Rows<'s, UriRow> {
        Box::new(Snapshot::uris_between(self, from, to))
    }

    fn captures(&self, range: KeyRange, after: Option<&[u8]>) -> Box<dyn CaptureWalk> {
        Box::new(Snapshot::captures(self, range, after))
    }

    fn captures_reversed(&self, range: KeyRange, before: Option<&[u8]>) -> Box<dyn CaptureWalk> {
        Box::new(Snapshot::captures_reversed(self, range, before))
    }

    fn captures_and_lines(&self, range: KeyRange, reversed: bool, at: Option<&[u8]>) -> Box<dyn CaptureWalk> {
        Box::new(Snapshot::captures_and_lines(self, range, reversed, at))
    }

    fn original(&self, capture: &CaptureRow) -> Result<Option<CaptureRow>, SnapshotError> {
        Snapshot::original(self, capture)
    }

    fn alias_of(&self, url_key: &str, collection: Option<&str>) -> Result<Option<String>, SnapshotError> {
        Snapshot::alias_of(self, url_key, collection)
    }

    fn attachments(&self, url_key: &str, rows_max: usize) -> Result<Vec<CaptureRow>, SnapshotError> {
        Snapshot::attachments(self, url_key, rows_max)
    }

    fn attachments_between(
        &self,
        url_key: &str,
        times_ms: (i64, i64),
        rows_max: usize,
    ) -> Result<Vec<CaptureRow>, SnapshotError> {
        Snapshot::attachments_between(self, url_key, times_ms, rows_max)
    }

    fn outlinks(
        &self,
        url_key: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<LinkRow>, SnapshotError> {
        Snapshot::outlinks(self, url_key, after, limit)
    }

    fn inlinks(
        &self,
        url_key: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<LinkRow>, SnapshotError> {
        Snapshot::inlinks(self, url_key, after, limit)
    }

    fn sources(
        &self,
        url_key: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, SnapshotError> {
        Snapshot::sources(self, url_key, after, limit)
    }

    fn sources_ever(
        &self,
        url_key: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, SnapshotError> {
        Snapshot::sources_ever(self, url_key, after, limit)
    }

    fn link_when(
        &self,
        source_key: &str,
        target_key: &str,
        when: When<'_>,
        sees: Option<&mut dyn FnMut(&CaptureRow) -> bool>,
    ) -> Result<Option<VersionLink>, SnapshotError> {
        Snapshot::link_when(self, source_key, target_key, when, sees)
    }

    fn domain(&self, domain: &str) -> Result<Option<DomainRow>, SnapshotError> {
        Snapshot::domain(self, domain)
    }

    fn all_domains<'s>(&'s self, after: Option<&str>) -> Rows<'s, DomainRow> {
        Box::new(Snapshot::all_domains(self, after))
    }

    fn top(
        &self,
        domain: Option<&str>,
        after: Option<&TopRow>,
        limit: usize,
    ) -> Result<Vec<TopRow>, SnapshotError> {
        Snapshot::top(self, domain, after, limit)
    }
}
