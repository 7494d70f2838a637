//! Look-ups in serving tables.

use std::cmp::Reverse;

use extract::{CaptureKind, Image};
use facts::serving::ServingTable;
use index::{
    CaptureRow, DomainRow, Epoch, KeyRange, LinkRow, PageRow, PastVersion, RenderedText, ShownPage, Snapshot,
    SnapshotError, TopRow, UriRow, VersionLink, When,
};

use super::walk::{RowWalk, TableCaptures, TableRow};
use super::{ServedTables, row};
use crate::views::{CaptureWalk, Rows, Views};

/// Returns the beginning of the keys of all rows with this text in the first column.
fn key_of(text: &str) -> Vec<u8> {
    let mut key = text.as_bytes().to_vec();
    key.push(0);
    key
}

/// Returns the keys that begin with `prefix`, which ends in a NUL: those behind `after` if it is given.
fn keys_with(prefix: Vec<u8>, after: Option<&str>) -> (Vec<u8>, Option<Vec<u8>>) {
    let mut from = prefix.clone();
    if let Some(after) = after {
        from.extend(key_of(after));
        // The key of the row itself is not greater than this.
        from.push(0);
    }
    let mut to = prefix;
    if let Some(last) = to.last_mut() {
        *last = 1;
    }
    (from, Some(to))
}

impl ServedTables {
    /// Returns rows with keys from the first (inclusive) to the second (exclusive), as `read` makes
    /// them. Ends after the first failure.
    fn rows<R>(
        &self,
        table: ServingTable,
        keys: (Vec<u8>, Option<Vec<u8>>),
        mut read: impl FnMut(&TableRow) -> Result<R, SnapshotError>,
    ) -> impl Iterator<Item = Result<R, SnapshotError>> {
        let mut walk = Some(RowWalk::new(self, table, keys, false));
        std::iter::from_fn(move || {
            let mut rows = match walk.take()? {
                Ok(rows) => rows,
                Err(error) => return Some(Err(error)),
            };
            let found = rows.next_row().transpose()?;
            let row = found.and_then(|found| read(&found));
            if row.is_ok() {
                walk = Some(Ok(rows));
            }
            Some(row)
        })
    }

    /// Returns the first row whose key begins with `prefix`.
    fn first(&self, table: ServingTable, prefix: &[u8]) -> Result<Option<TableRow>, SnapshotError> {
        let mut walk = RowWalk::new(self, table, (prefix.to_vec(), None), false)?;
        Ok(walk.next_row()?.filter(|found| found.key.starts_with(prefix)))
    }

    /// Returns the row of a rank in a domain, or among all URIs (an empty domain).
    fn ranked(&self, domain: &str, rank: u64) -> Result<Option<TopRow>, SnapshotError> {
        let mut key = key_of(domain);
        key.extend_from_slice(&rank.to_be_bytes());
        let found = self.first(ServingTable::Top, &key)?;
        found
            .map(|found| row::top_row(&found.group, found.row))
            .transpose()
    }

    /// Returns the first rank behind a row, which need not exist. Ranks are dense and begin with 1.
    fn rank_behind(&self, domain: &str, after: &TopRow) -> Result<u64, SnapshotError> {
        let place = |row: &TopRow| {
            let counts = (Reverse(row.inlinks_external), Reverse(row.inlinks));
            (counts, row.url_key.clone())
        };
        let after = place(after);
        let is_behind = |rank| {
            let row = self.ranked(domain, rank)?;
            Ok::<_, SnapshotError>(row.is_none_or(|row| place(&row) > after))
        };
        let (mut low, mut high) = (1, 1);
        while !is_behind(high)? {
            low = high + 1;
            high *= 2;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if is_behind(middle)? {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(low)
    }

    fn links(
        &self,
        table: ServingTable,
        (url_key, after): (&str, Option<&str>),
        limit: usize,
    ) -> Result<Vec<LinkRow>, SnapshotError> {
        let keys = keys_with(key_of(url_key), after);
        let read = |found: &TableRow| Ok(row::link_row(table, &found.group, found.row));
        self.rows(table, keys, read).take(limit).collect()
    }
}

impl Views for ServedTables {
    fn epoch(&self) -> Epoch {
        Epoch(self.batch())
    }

    fn has_references(&self) -> Result<bool, SnapshotError> {
        Ok(true)
    }

    fn version(&self, url_key: &str) -> Result<Option<PageRow>, SnapshotError> {
        let found = self.first(ServingTable::Versions, &key_of(url_key))?;
        found
            .map(|found| self.page_row(&found.group, found.row))
            .transpose()
    }

    fn version_seen(
        &self,
        _: &str,
        _: &mut dyn FnMut(&PageRow) -> bool,
        _: &mut dyn FnMut(&CaptureRow) -> bool,
    ) -> Result<Option<PageRow>, SnapshotError> {
        Err(SnapshotError::NotServed("versions under access rules"))
    }

    /// Returns the first 2,000 characters. Answers about pages show no more.
    fn text(&self, url_key: &str) -> Result<Option<String>, SnapshotError> {
        let found = self.first(ServingTable::Previews, &key_of(url_key))?;
        let text = found.and_then(|found| Some(found.group.text("text_preview", found.row)?.to_owned()));
        Ok(text.filter(|text| !text.is_empty()))
    }

    fn images(&self, _: &str) -> Result<Vec<Image>, SnapshotError> {
        Err(SnapshotError::NotServed("images"))
    }

    fn shown(&self, _: &str) -> Result<ShownPage, SnapshotError> {
        Err(SnapshotError::NotServed("texts"))
    }

    fn rendered_text(&self, _: &str) -> Result<Option<RenderedText>, SnapshotError> {
        Err(SnapshotError::NotServed("texts"))
    }

    fn history(&self, url_key: &str) -> Result<(i64, Vec<PastVersion>), SnapshotError> {
        let current = self.first(ServingTable::Previews, &key_of(url_key))?;
        let since = current.and_then(|current| current.group.number("since", current.row));
        let keys = keys_with(key_of(url_key), None);
        let read = |found: &TableRow| Ok(row::past_version(&found.group, found.row));
        let past = self.rows(ServingTable::PastVersions, keys, read);
        Ok((since.unwrap_or_default(), past.collect::<Result<_, _>>()?))
    }

    fn history_seen(
        &self,
        _: &str,
        _: &mut dyn FnMut(&CaptureRow) -> bool,
    ) -> Result<(i64, Vec<PastVersion>), SnapshotError> {
        Err(SnapshotError::NotServed("past versions"))
    }

    /// Returns the first 2,000 characters, and only for the present state of a page.
    fn past_text(&self, url_key: &str, text: [u8; 16]) -> Result<Option<String>, SnapshotError> {
        let keys = keys_with(key_of(url_key), None);
        let mut walk = RowWalk::new(self, ServingTable::PastVersions, keys, false)?;
        while let Some(TableRow { group, row, .. }) = walk.next_row()? {
            let preview = group.text("text_preview", row);
            if row::past_version(&group, row).text == Some(text) && preview.is_some() {
                return Ok(preview.map(str::to_owned));
            }
        }
        Ok(None)
    }

    fn uri(&self, url_key: &str) -> Result<Option<UriRow>, SnapshotError> {
        let found = self.first(ServingTable::Uris, &key_of(url_key))?;
        found
            .map(|found| row::uri_row(&found.group, found.row))
            .transpose()
    }

    fn uris_between<'s>(&'s self, from: &str, to: &str) -> Rows<'s, UriRow> {
        let keys = (key_of(from), Some(key_of(to)));
        let read = |found: &TableRow| row::uri_row(&found.group, found.row);
        Box::new(self.rows(ServingTable::Uris, keys, read))
    }

    fn captures(&self, range: KeyRange, after: Option<&[u8]>) -> Box<dyn CaptureWalk> {
        Box::new(TableCaptures::new(self, range, after, false, true))
    }

    fn captures_reversed(&self, range: KeyRange, before: Option<&[u8]>) -> Box<dyn CaptureWalk> {
        Box::new(TableCaptures::new(self, range, before, true, true))
    }

    fn captures_and_lines(&self, range: KeyRange, reversed: bool, at: Option<&[u8]>) -> Box<dyn CaptureWalk> {
        Box::new(TableCaptures::new(self, range, at, reversed, false))
    }

    fn original(&self, capture: &CaptureRow) -> Result<Option<CaptureRow>, SnapshotError> {
        if capture.kind != CaptureKind::Revisit || capture.index_only {
            return Ok(None);
        }
        let key = |url_key: &str, time_ms: i64, input: u32, offset: u64| {
            let mut key = Snapshot::captures_cursor_at(url_key, time_ms);
            key.extend_from_slice(&input.to_be_bytes());
            key.extend_from_slice(&offset.to_be_bytes());
            key
        };
        let own = key(
            &capture.url_key,
            capture.fetch_time_ms,
            capture.input.0,
            capture.offset,
        );
        let Some(TableRow { group, row, .. }) = self.first(ServingTable::Captures, &own)? else {
            return Ok(None);
        };
        let number = |column| group.number(column, row);
        let (Some(url_key), Some(time_ms), Some(input), Some(offset)) = (
            group.text("original_url_key", row),
            number("original_fetch_time"),
            number("original_input_number").and_then(|input| u32::try_from(input).ok()),
            number("original_offset").and_then(|offset| u64::try_from(offset).ok()),
        ) else {
            return Ok(None);
        };
        let found = self.first(ServingTable::Captures, &key(url_key, time_ms, input, offset))?;
        found
            .map(|found| self.capture_row(&found.group, found.row))
            .transpose()
    }

    fn alias_of(&self, url_key: &str, collection: Option<&str>) -> Result<Option<String>, SnapshotError> {
        let keys = keys_with(key_of(url_key), None);
        let mut newest_first = RowWalk::new(self, ServingTable::Aliases, keys, true)?;
        while let Some(TableRow { group, row, .. }) = newest_first.next_row()? {
            let number = group.number("input_number", row);
            let number = number.and_then(|number| u32::try_from(number).ok());
            let is_of_it = match (collection, number) {
                (Some(collection), Some(number)) => self.input(number)?.collection == collection,
                (Some(_), None) => false,
                (None, _) => true,
            };
            if is_of_it {
                return Ok(group.text("alias_of", row).map(str::to_owned));
            }
        }
        Ok(None)
    }

    fn attachments(&self, url_key: &str, rows_max: usize) -> Result<Vec<CaptureRow>, SnapshotError> {
        let keys = keys_with(key_of(url_key), None);
        let mut newest_first = RowWalk::new(self, ServingTable::Attachments, keys, true)?;
        let mut found = Vec::new();
        while found.len() < rows_max
            && let Some(row) = newest_first.next_row()?
        {
            found.push(self.attachment_row(&row.group, row.row)?);
        }
        Ok(found)
    }

    fn attachments_between(
        &self,
        _: &str,
        _: (i64, i64),
        _: usize,
    ) -> Result<Vec<CaptureRow>, SnapshotError> {
        Err(SnapshotError::NotServed("attachments"))
    }

    fn outlinks(
        &self,
        url_key: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<LinkRow>, SnapshotError> {
        self.links(ServingTable::Outlinks, (url_key, after), limit)
    }

    fn inlinks(
        &self,
        url_key: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<LinkRow>, SnapshotError> {
        self.links(ServingTable::Inlinks, (url_key, after), limit)
    }

    fn sources(
        &self,
        url_key: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, SnapshotError> {
        let links = self.inlinks(url_key, after, limit)?;
        Ok(links.into_iter().map(|link| link.source_key).collect())
    }

    /// The tables have links of current versions only, so past ones are unknown here.
    fn sources_ever(
        &self,
        url_key: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, SnapshotError> {
        self.sources(url_key, after, limit)
    }

    fn link_when(
        &self,
        _: &str,
        _: &str,
        _: When<'_>,
        _: Option<&mut dyn FnMut(&CaptureRow) -> bool>,
    ) -> Result<Option<VersionLink>, SnapshotError> {
        Err(SnapshotError::NotServed("links of past versions"))
    }

    fn domain(&self, domain: &str) -> Result<Option<DomainRow>, SnapshotError> {
        let found = self.first(ServingTable::Domains, &key_of(domain))?;
        found
            .map(|found| row::domain_row(&found.group, found.row))
            .transpose()
    }

    fn all_domains<'s>(&'s self, after: Option<&str>) -> Rows<'s, DomainRow> {
        let mut from = after.map(key_of).unwrap_or_default();
        if after.is_some() {
            from.push(0);
        }
        let read = |found: &TableRow| row::domain_row(&found.group, found.row);
        Box::new(self.rows(ServingTable::Domains, (from, None), read))
    }

    fn top(
        &self,
        domain: Option<&str>,
        after: Option<&TopRow>,
        limit: usize,
    ) -> Result<Vec<TopRow>, SnapshotError> {
        let domain = domain.unwrap_or_default();
        let rank = match after {
            Some(after) => self.rank_behind(domain, after)?,
            None => 1,
        };
        let (mut from, to) = keys_with(key_of(domain), None);
        from.extend_from_slice(&rank.to_be_bytes());
        let read = |found: &TableRow| row::top_row(&found.group, found.row);
        self.rows(ServingTable::Top, (from, to), read)
            .take(limit)
            .collect()
    }
}
