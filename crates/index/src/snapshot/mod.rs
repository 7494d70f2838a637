//! One consistent cut, and the answers made from it.

mod attachments;
mod captures_read;
mod covering;
mod history;
mod linking;
mod past_links;
mod shown;
mod totals;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use extract::{CaptureKind, Original};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

pub use captures_read::{Captures, Span};
pub(crate) use covering::Covering;
pub use linking::LinkingVersions;
pub use past_links::When;

use crate::codec::{self, Corrupt};
use crate::cut::{Cut, Row};
use crate::domain_of::DomainOf;
use crate::epoch::PageChange;
use crate::error::SnapshotError;
use crate::external;
use crate::ids::{Epoch, InputId};
use crate::ledger;
use crate::ledger::{InputState, LedgerRow, QuarantineEntry};
use crate::revisits::{self, ReferenceHashes};
use crate::rows::{
    AnchorRow, CaptureRow, DomainRow, KeyRange, LinkRow, OriginalCapture, PageRow, TextCapture, TopRow,
    Totals, UriRow,
};
use crate::tables::Table;
use crate::views::capture_key::{CapturePosition, key_prefix, time_prefix};
use crate::views::capture_row::StoredCapture;
use crate::views::order::confirms;
use crate::views::rankings::{Ranked, Scope};
use crate::views::totals::TotalsRow;
use crate::views::uris::Counts;
use crate::views::version_row::{self, VersionRow};
use crate::views::{captures, changes, domains, links, originals, rankings, texts, uris, versions};
use extract::IndexLine;

/// One consistent cut of an archive: all its answers belong to the same epoch. Cheap to clone.
///
/// The rows of a snapshot stay on disk while it is held. Hold it for an answer, not longer.
#[derive(Clone)]
pub struct Snapshot {
    inner: Arc<Inner>,
}

struct Inner {
    dir: PathBuf,
    cut: Cut,
    totals: TotalsRow,
    inputs: Mutex<FxHashMap<InputId, Arc<LedgerRow>>>,
    /// Computed on first use, like the next field.
    has_lines: OnceLock<bool>,
    sums: OnceLock<Totals>,
}

impl Snapshot {
    pub(crate) fn new(dir: &Path, cut: Cut, totals: TotalsRow) -> Snapshot {
        let inner = Inner {
            dir: dir.to_owned(),
            cut,
            totals,
            inputs: Mutex::default(),
            has_lines: OnceLock::new(),
            sums: OnceLock::new(),
        };
        Snapshot {
            inner: Arc::new(inner),
        }
    }

    /// Returns whether this is the only handle.
    pub(crate) fn is_unshared(&self) -> bool {
        Arc::strong_count(&self.inner) == 1
    }

    pub(crate) fn cut(&self) -> &Cut {
        &self.inner.cut
    }

    /// Directory of the index, for temporary files.
    pub(crate) fn dir(&self) -> &Path {
        &self.inner.dir
    }

    /// The epoch of all answers.
    pub fn epoch(&self) -> Epoch {
        self.inner.totals.epoch
    }

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
    fn original_of(&self, stored: &StoredCapture) -> Result<Option<OriginalCapture>, SnapshotError> {
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
    fn sees_whole(
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

    /// Returns the note of the last epoch that had one ([`crate::Index::apply_with_external`]).
    pub fn external_note(&self) -> Result<Option<Vec<u8>>, SnapshotError> {
        external::read(self.cut())
    }

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

    fn page_row(&self, url_key: &str, row: VersionRow, last_seen_ms: i64) -> Result<PageRow, SnapshotError> {
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

    fn captures_backwards(
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

    /// Returns whether a URL key is captured, and the counts of links to it.
    pub fn uri(&self, url_key: &str) -> Result<Option<UriRow>, SnapshotError> {
        Ok(uris::read(self.cut(), url_key)?.map(|uri| UriRow {
            url_key: url_key.to_owned(),
            captured: uri.captured,
            is_page: uri.is_page,
            inlinks: uri.counts.inlinks,
            inlinks_external: uri.counts.inlinks_external,
        }))
    }

    /// Returns the number of external links to a URI, and the weightiest anchor texts of all links:
    /// at most 16, by weight and then by text.
    pub fn anchors(&self, url_key: &str) -> Result<(u64, Vec<AnchorRow>), SnapshotError> {
        uris::read_anchors(self.cut(), url_key)
    }

    /// Returns the URIs with keys from `from` (inclusive) to `to` (exclusive), sorted by key.
    pub fn uris_between<'s>(
        &'s self,
        from: &str,
        to: &str,
    ) -> impl Iterator<Item = Result<UriRow, SnapshotError>> + use<'s> {
        let rows = self.cut().range(Table::Uris, from.as_bytes(), to.as_bytes());
        rows.map(|row| {
            let (key, value) = row?;
            let decoded = codec::to_text(&key).and_then(|url_key| {
                let uri = uris::decode_counts(&value)?;
                Ok(UriRow {
                    url_key,
                    captured: uri.captured,
                    is_page: uri.is_page,
                    inlinks: uri.counts.inlinks,
                    inlinks_external: uri.counts.inlinks_external,
                })
            });
            self.cut().decode(Table::Uris, &key, decoded)
        })
    }

    /// Returns the keys of versions that link to a key, sorted: those after `after`, at most
    /// `limit`.
    pub fn sources(
        &self,
        url_key: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, SnapshotError> {
        uris::read_sources(self.cut(), url_key, after, limit)
    }

    /// Returns the links of a key's current version, sorted by target key: those after target
    /// `after`, at most `limit`.
    pub fn outlinks(
        &self,
        url_key: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<LinkRow>, SnapshotError> {
        let mut taken = 0;
        let links = links::read(self.cut(), url_key, |target| {
            let is_wanted = taken < limit && after.is_none_or(|after| target > after.as_bytes());
            taken += usize::from(is_wanted);
            is_wanted
        })?;
        let mut domain_of = DomainOf::default();
        Ok(links
            .into_iter()
            .map(|link| link_row(&mut domain_of, url_key, link))
            .collect())
    }

    /// Returns the links to a key, sorted by source key: those after source `after`, at most
    /// `limit`.
    pub fn inlinks(
        &self,
        url_key: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<LinkRow>, SnapshotError> {
        let mut domain_of = DomainOf::default();
        let mut rows = Vec::new();
        for source_key in uris::read_sources(self.cut(), url_key, after, limit)? {
            let links = links::read(self.cut(), &source_key, |target| target == url_key.as_bytes())?;
            rows.extend(
                links
                    .into_iter()
                    .map(|link| link_row(&mut domain_of, &source_key, link)),
            );
        }
        Ok(rows)
    }

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
    fn has_lines(&self) -> bool {
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

    /// Returns the ledger entry of an input that some row names.
    pub fn input(&self, id: InputId) -> Result<Arc<LedgerRow>, SnapshotError> {
        if let Some(entry) = self.inner.inputs.lock().get(&id) {
            return Ok(entry.clone());
        }
        let key = ledger::entry_key(id);
        let row = self.cut().get(Table::Inputs, &key)?;
        let entry = row
            .as_deref()
            .ok_or(Corrupt("input is missing"))
            .and_then(ledger::decode_entry);
        let entry = Arc::new(self.cut().decode(Table::Inputs, &key, entry)?);
        self.inner.inputs.lock().insert(id, entry.clone());
        Ok(entry)
    }

    /// Returns the counts of a registered domain.
    pub fn domain(&self, domain: &str) -> Result<Option<DomainRow>, SnapshotError> {
        Ok(domains::read(self.cut(), domain)?.map(|row| domain_row(domain.to_owned(), &row)))
    }

    /// Returns domains sorted by name: those after `after`, at most `limit`.
    pub fn domains(&self, after: Option<&str>, limit: usize) -> Result<Vec<DomainRow>, SnapshotError> {
        self.all_domains(after).take(limit).collect()
    }

    /// Returns all domains after `after`, sorted by name.
    pub fn all_domains<'s>(
        &'s self,
        after: Option<&str>,
    ) -> impl Iterator<Item = Result<DomainRow, SnapshotError>> + use<'s> {
        domains::scan(self.cut(), after).map(|row| self.domain_row(row?))
    }

    pub(crate) fn domain_row(&self, (key, value): Row) -> Result<DomainRow, SnapshotError> {
        let decoded =
            domains::domain_of_row(&key).and_then(|name| Ok(domain_row(name, &domains::decode(&value)?)));
        self.cut().decode(Table::Domains, &key, decoded)
    }

    /// Returns URIs of a domain, or all, in rank order: those after `after` (as ranked in this
    /// snapshot), at most `limit`.
    pub fn top(
        &self,
        domain: Option<&str>,
        after: Option<&TopRow>,
        limit: usize,
    ) -> Result<Vec<TopRow>, SnapshotError> {
        let after = after.map(|row| Ranked {
            counts: Counts {
                inlinks: row.inlinks,
                inlinks_external: row.inlinks_external,
            },
            url_key: row.url_key.clone(),
        });
        let ranked = match domain {
            None => rankings::read(
                self.cut(),
                Scope::All,
                &self.inner.totals.ranking,
                after.as_ref(),
                limit,
            )?,
            Some(domain) => {
                let state = domains::read(self.cut(), domain)?.unwrap_or_default();
                rankings::read(
                    self.cut(),
                    Scope::Domain(domain),
                    &state.ranking,
                    after.as_ref(),
                    limit,
                )?
            }
        };
        let row = |ranked: Ranked| TopRow {
            url_key: ranked.url_key,
            inlinks: ranked.counts.inlinks,
            inlinks_external: ranked.counts.inlinks_external,
        };
        Ok(ranked.into_iter().map(row).collect())
    }

    /// Returns the ledger, by input number.
    pub fn ledger(&self) -> Result<Vec<(InputId, LedgerRow)>, SnapshotError> {
        let mut entries = ledger::read_all(self.cut())?;
        entries.retain(|(_, entry)| entry.state != InputState::Forgotten);
        Ok(entries)
    }

    /// Returns the quarantine of one input or of all, by input number and offset: entries after
    /// `after`, at most `limit`.
    pub fn quarantine(
        &self,
        input: Option<InputId>,
        after: Option<&(InputId, QuarantineEntry)>,
        limit: usize,
    ) -> Result<Vec<(InputId, QuarantineEntry)>, SnapshotError> {
        let (mut from, to) = match input {
            None => (Vec::new(), vec![u8::MAX; 5]),
            Some(id) => (
                ledger::entry_key(id).to_vec(),
                ledger::entry_key(InputId(id.0 + 1)).to_vec(),
            ),
        };
        if let Some((id, entry)) = after {
            from = ledger::quarantine_key(*id, entry);
            from.push(0);
        }
        let rows = self.cut().range(Table::Quarantine, &from, &to);
        rows.take(limit)
            .map(|row| {
                let (key, value) = row?;
                self.cut()
                    .decode(Table::Quarantine, &key, ledger::decode_quarantine(&key, &value))
            })
            .collect()
    }

    /// Returns the changes of pages in all epochs after `since`, oldest first, for a search index
    /// to catch up. If `since` is 0 or very old, returns every page as an upsert and every other
    /// current version as a delete.
    pub fn pages_changed_since(
        &self,
        since: Epoch,
    ) -> impl Iterator<Item = Result<PageChange, SnapshotError>> + '_ {
        self.pages_changed_between(since, self.epoch())
    }

    /// As [`Snapshot::pages_changed_since`], up to epoch `until`.
    pub fn pages_changed_between(
        &self,
        since: Epoch,
        until: Epoch,
    ) -> impl Iterator<Item = Result<PageChange, SnapshotError>> + '_ {
        changes::read(self.cut(), since, until, self.epoch())
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

fn link_row(domain_of: &mut DomainOf, source_key: &str, link: extract::Link) -> LinkRow {
    LinkRow {
        source_key: source_key.to_owned(),
        external: domain_of.get(source_key) != domain_of.get(&link.url_key),
        target_key: link.url_key,
        target_url: link.url,
        anchor: link.anchor,
        nofollow: link.nofollow,
    }
}

fn domain_row(domain: String, row: &domains::DomainState) -> DomainRow {
    DomainRow {
        domain,
        uris: row.uris,
        pages: row.pages,
        inlinks_external: row.inlinks_external,
    }
}
