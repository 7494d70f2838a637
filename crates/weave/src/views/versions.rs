//! View `versions`: the current version of every URL key that has one.
//!
//! Definition: of a key's captures with status 200-399, and those from `resource` or WET records, the greatest
//! by [`Order`]; revisits never. Its text is that of the greatest such capture with the same fetch time that
//! has text (a WAT has links and no text, the WET of the same capture has text and no links).
//!
//! The row keeps the order of the capture the text came from, so that a better text can be told from a worse
//! one whatever the order of loading; when the version moves on in time, the text goes with it.

use extract::{Capture, CaptureKind, Link, Page};

use crate::codec::{self, Corrupt, Reader};
use crate::cut::Cut;
use crate::ledger::Names;
use crate::tables::Table;
use crate::views::{captures, texts};
use crate::write::Write;
use crate::{InputId, SnapshotError, url_code};

const ROW_VERSION: u8 = 1;

/// Place of a capture among those of its key: the greatest is current. Names, not numbers, of inputs count,
/// because numbers depend on the order of loading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Order<'a> {
    fetch_time_ms: i64,
    rank: u8,
    digest: &'a str,
    input: &'a str,
    offset: u64,
}

impl<'a> Order<'a> {
    pub(crate) fn of(capture: &'a Capture, input: &'a str) -> Order<'a> {
        Order {
            fetch_time_ms: capture.fetch_time_ms,
            rank: source_rank(capture.kind),
            digest: &capture.digest,
            input,
            offset: capture.offset,
        }
    }
}

/// WARC or ARC over WAT over WET.
fn source_rank(kind: CaptureKind) -> u8 {
    match kind {
        CaptureKind::Wet => 0,
        CaptureKind::Wat => 1,
        _ => 2,
    }
}

/// Whether a capture can be current.
pub(crate) fn is_eligible(capture: &Capture) -> bool {
    match capture.kind {
        CaptureKind::Revisit => false,
        CaptureKind::Resource | CaptureKind::Wet => true,
        _ => (200..400).contains(&capture.status),
    }
}

/// What makes the capture a page, if it is one.
pub(crate) fn page_of(capture: &Capture) -> Option<&Page> {
    let served = (200..300).contains(&capture.status)
        || matches!(capture.kind, CaptureKind::Resource | CaptureKind::Wet);
    capture.page.as_ref().filter(|_| served)
}

/// Links of the capture, should it become current, sorted by target key; and how many were dropped.
pub(crate) fn take_links(capture: &mut Capture) -> (Vec<Link>, u32) {
    let is_page = page_of(capture).is_some();
    let is_redirect = (300..400).contains(&capture.status);
    let (mut links, mut dropped) = match &mut capture.page {
        Some(page) if is_page => (std::mem::take(&mut page.links), page.links_dropped),
        _ if is_redirect => (capture.redirect.take().into_iter().collect(), 0),
        _ => (Vec::new(), 0),
    };
    links.retain(|link| link.url_key != capture.url_key);
    let before = links.len();
    links.retain(|link| captures::is_usable_key(&link.url_key));
    dropped += (before - links.len()) as u32;
    // Stable: of several for one target the first in document order stays.
    links.sort_by(|a, b| a.url_key.as_bytes().cmp(b.url_key.as_bytes()));
    links.dedup_by(|later, first| later.url_key == first.url_key);
    (links, dropped)
}

/// A current version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VersionRow {
    pub(crate) fetch_time_ms: i64,
    pub(crate) kind: CaptureKind,
    pub(crate) digest: String,
    pub(crate) input: InputId,
    pub(crate) offset: u64,
    pub(crate) url: String,
    pub(crate) status: u16,
    pub(crate) mime: String,
    pub(crate) is_page: bool,
    pub(crate) title: String,
    pub(crate) language: String,
    pub(crate) canonical: Option<String>,
    pub(crate) robots: Option<String>,
    pub(crate) links: u32,
    pub(crate) links_dropped: u32,
    pub(crate) text: Option<TextOrigin>,
}

/// The capture a text came from; its fetch time is the version's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextOrigin {
    pub(crate) kind: CaptureKind,
    pub(crate) digest: String,
    pub(crate) input: InputId,
    pub(crate) offset: u64,
    pub(crate) language: String,
    pub(crate) truncated: bool,
}

impl VersionRow {
    fn of(input: InputId, capture: &Capture, links: u32, links_dropped: u32) -> VersionRow {
        let none = Page::default();
        let page = page_of(capture);
        let is_page = page.is_some();
        let page = page.unwrap_or(&none);
        VersionRow {
            fetch_time_ms: capture.fetch_time_ms,
            kind: capture.kind,
            digest: capture.digest.clone(),
            input,
            offset: capture.offset,
            url: capture.url.clone(),
            status: capture.status,
            mime: capture.mime.clone(),
            is_page,
            title: page.title.clone(),
            language: page.language.clone(),
            canonical: page.canonical.clone(),
            robots: page.robots.clone(),
            links,
            links_dropped,
            text: None,
        }
    }

    fn order<'a>(&'a self, names: Names<'a>) -> Order<'a> {
        Order {
            fetch_time_ms: self.fetch_time_ms,
            rank: source_rank(self.kind),
            digest: &self.digest,
            input: names.get(self.input),
            offset: self.offset,
        }
    }

    fn text_order<'a>(&'a self, names: Names<'a>) -> Option<Order<'a>> {
        self.text.as_ref().map(|text| Order {
            fetch_time_ms: self.fetch_time_ms,
            rank: source_rank(text.kind),
            digest: &text.digest,
            input: names.get(text.input),
            offset: text.offset,
        })
    }

    /// Language of the page: as its own capture says, else as the text's does.
    pub(crate) fn page_language(&self) -> &str {
        match &self.text {
            Some(text) if self.is_page && self.language.is_empty() => &text.language,
            _ => &self.language,
        }
    }
}

/// What an epoch did to one URL key with new captures.
#[derive(Debug)]
pub(crate) struct VersionChange {
    pub(crate) url_key: String,
    /// The new links, sorted by target, where the version was replaced.
    pub(crate) links: Option<Vec<Link>>,
    /// Links of the version before.
    pub(crate) links_before: u32,
    pub(crate) was_page: bool,
    pub(crate) is_page: bool,
    /// Something that a page shows has changed.
    pub(crate) page_changed: bool,
    /// There may have been no capture of the key before.
    pub(crate) maybe_first_capture: bool,
}

/// Decides the versions of all keys with new captures (sorted by key).
pub(crate) fn apply(
    cut: &Cut,
    write: &mut Write<'_>,
    names: Names<'_>,
    mut captures: Vec<(InputId, Capture)>,
) -> Result<Vec<VersionChange>, SnapshotError> {
    let mut changes = Vec::with_capacity(captures.len());
    let mut compressor = texts::Compressor::new();
    for group in captures.chunk_by_mut(|(_, a), (_, b)| a.url_key == b.url_key) {
        let url_key = group[0].1.url_key.clone();
        let before = read(cut, &url_key)?;
        changes.push(decide(write, names, &mut compressor, url_key, before, group));
    }
    Ok(changes)
}

/// The current version of a key.
pub(crate) fn read(cut: &Cut, url_key: &str) -> Result<Option<VersionRow>, SnapshotError> {
    let row = cut.get(Table::Versions, url_key.as_bytes())?;
    row.map(|value| cut.decode(Table::Versions, url_key.as_bytes(), decode(url_key, &value)))
        .transpose()
}

fn decide(
    write: &mut Write<'_>,
    names: Names<'_>,
    compressor: &mut texts::Compressor,
    url_key: String,
    before: Option<VersionRow>,
    group: &mut [(InputId, Capture)],
) -> VersionChange {
    let mut change = VersionChange {
        links: None,
        links_before: before.as_ref().map_or(0, |row| row.links),
        was_page: before.as_ref().is_some_and(|row| row.is_page),
        is_page: before.as_ref().is_some_and(|row| row.is_page),
        page_changed: false,
        maybe_first_capture: before.is_none(),
        url_key,
    };
    let best = (0..group.len())
        .filter(|&i| is_eligible(&group[i].1))
        .max_by_key(|&i| Order::of(&group[i].1, names.get(group[i].0)));
    let Some(best) = best else { return change };
    let replaces = match &before {
        Some(row) => Order::of(&group[best].1, names.get(group[best].0)) > row.order(names),
        None => true,
    };
    let text_before = before.as_ref().and_then(|row| row.text.clone());
    let time_before = before.as_ref().map(|row| row.fetch_time_ms);
    let mut row = match before {
        Some(row) if !replaces => row,
        before => {
            let (input, capture) = &mut group[best];
            let (links, dropped) = take_links(capture);
            let mut row = VersionRow::of(*input, capture, links.len() as u32, dropped);
            row.text = before
                .filter(|old| old.fetch_time_ms == row.fetch_time_ms)
                .and_then(|old| old.text);
            change.links = Some(links);
            row
        }
    };
    let text = better_text(&row, names, group);
    if let Some(i) = text {
        let (input, capture) = &group[i];
        let page = capture.page.as_ref().map_or((0, "", false, ""), |p| {
            (
                p.text.len(),
                p.text.as_str(),
                p.text_truncated,
                p.language.as_str(),
            )
        });
        row.text = Some(TextOrigin {
            kind: capture.kind,
            digest: capture.digest.clone(),
            input: *input,
            offset: capture.offset,
            language: page.3.to_owned(),
            truncated: page.2,
        });
        texts::put(write, compressor, &change.url_key, page.1);
    } else if text_before.is_some() && time_before != Some(row.fetch_time_ms) {
        texts::remove(write, &change.url_key);
    }
    if replaces || text.is_some() {
        change.is_page = row.is_page;
        change.page_changed = row.is_page || change.was_page;
        write.put(
            Table::Versions,
            change.url_key.as_str(),
            encode(&change.url_key, &row),
        );
    }
    change
}

/// The new capture whose text is to be kept, if one is better than what the row has.
fn better_text(row: &VersionRow, names: Names<'_>, group: &[(InputId, Capture)]) -> Option<usize> {
    let best = (0..group.len())
        .filter(|&i| {
            let capture = &group[i].1;
            capture.fetch_time_ms == row.fetch_time_ms
                && is_eligible(capture)
                && page_of(capture).is_some_and(|page| !page.text.is_empty())
        })
        .max_by_key(|&i| Order::of(&group[i].1, names.get(group[i].0)))?;
    let order = Order::of(&group[best].1, names.get(group[best].0));
    (row.text_order(names) < Some(order)).then_some(best)
}

const IS_PAGE: u8 = 1;
const HAS_TEXT: u8 = 2;
const HAS_CANONICAL: u8 = 4;
const HAS_ROBOTS: u8 = 8;
const TEXT_TRUNCATED: u8 = 16;

fn encode(url_key: &str, row: &VersionRow) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    out.push(ROW_VERSION);
    let mut flags = 0;
    for (flag, is_set) in [
        (IS_PAGE, row.is_page),
        (HAS_TEXT, row.text.is_some()),
        (HAS_CANONICAL, row.canonical.is_some()),
        (HAS_ROBOTS, row.robots.is_some()),
        (
            TEXT_TRUNCATED,
            row.text.as_ref().is_some_and(|text| text.truncated),
        ),
    ] {
        flags |= if is_set { flag } else { 0 };
    }
    out.push(flags);
    out.push(captures::kind_code(row.kind));
    codec::put_signed(&mut out, row.fetch_time_ms);
    codec::put_varint(&mut out, u64::from(row.input.0));
    codec::put_varint(&mut out, row.offset);
    codec::put_varint(&mut out, u64::from(row.status));
    codec::put_varint(&mut out, u64::from(row.links));
    codec::put_varint(&mut out, u64::from(row.links_dropped));
    url_code::put(&mut out, url_key, &row.url, 0);
    captures::put_digest(&mut out, &row.digest);
    for text in [&row.mime, &row.title, &row.language] {
        codec::put_bytes(&mut out, text.as_bytes());
    }
    for text in [&row.canonical, &row.robots].into_iter().flatten() {
        codec::put_bytes(&mut out, text.as_bytes());
    }
    if let Some(text) = &row.text {
        out.push(captures::kind_code(text.kind));
        codec::put_varint(&mut out, u64::from(text.input.0));
        codec::put_varint(&mut out, text.offset);
        captures::put_digest(&mut out, &text.digest);
        codec::put_bytes(&mut out, text.language.as_bytes());
    }
    out
}

pub(crate) fn decode(url_key: &str, bytes: &[u8]) -> Result<VersionRow, Corrupt> {
    let mut r = Reader::versioned(bytes, ROW_VERSION)?;
    let flags = r.u8()?;
    let optional = |r: &mut Reader<'_>, flag: u8| -> Result<Option<String>, Corrupt> {
        if flags & flag == 0 {
            Ok(None)
        } else {
            Ok(Some(r.str()?.to_owned()))
        }
    };
    Ok(VersionRow {
        is_page: flags & IS_PAGE != 0,
        kind: captures::kind_of_code(r.u8()?)?,
        fetch_time_ms: r.signed()?,
        input: InputId(r.varint_u32()?),
        offset: r.varint()?,
        status: u16::try_from(r.varint()?).map_err(|_| Corrupt("status too large"))?,
        links: r.varint_u32()?,
        links_dropped: r.varint_u32()?,
        url: url_code::get(&mut r, url_key)?.0,
        digest: captures::get_digest(&mut r)?,
        mime: r.str()?.to_owned(),
        title: r.str()?.to_owned(),
        language: r.str()?.to_owned(),
        canonical: optional(&mut r, HAS_CANONICAL)?,
        robots: optional(&mut r, HAS_ROBOTS)?,
        text: if flags & HAS_TEXT == 0 {
            None
        } else {
            Some(TextOrigin {
                kind: captures::kind_of_code(r.u8()?)?,
                input: InputId(r.varint_u32()?),
                offset: r.varint()?,
                digest: captures::get_digest(&mut r)?,
                language: r.str()?.to_owned(),
                truncated: flags & TEXT_TRUNCATED != 0,
            })
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back() {
        let row = VersionRow {
            fetch_time_ms: -3,
            kind: CaptureKind::Wat,
            digest: "sha".into(),
            input: InputId(7),
            offset: 99,
            url: "http://example.com/X".into(),
            status: 200,
            mime: "text/html".into(),
            is_page: true,
            title: "T".into(),
            language: "en".into(),
            canonical: Some("http://example.com/".into()),
            robots: None,
            links: 3,
            links_dropped: 1,
            text: Some(TextOrigin {
                kind: CaptureKind::Wet,
                digest: "other".into(),
                input: InputId(8),
                offset: 5,
                language: "de".into(),
                truncated: true,
            }),
        };
        let key = "com,example)/x";
        assert_eq!(decode(key, &encode(key, &row)), Ok(row.clone()));
        let row = VersionRow {
            text: None,
            robots: Some("noindex".into()),
            is_page: false,
            ..row
        };
        assert_eq!(decode(key, &encode(key, &row)), Ok(row));
    }
}
