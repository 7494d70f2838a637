//! Rows of `versions`: the stored data of a current version.

use extract::{Capture, CaptureKind, Page};

use crate::codec::{self, Corrupt, Reader};
use crate::ids::InputId;
use crate::ledger::Names;
use crate::url_code;
use crate::views::capture_key::CapturePosition;
use crate::views::capture_row::{get_digest, kind_code, kind_of_code, put_digest};
use crate::views::order::{Order, content_of, page_of, source_rank};

const ROW_VERSION: u8 = 1;

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
    /// No page, but with a text for search. Never set together with `is_page`.
    pub(crate) is_document: bool,
    pub(crate) title: String,
    pub(crate) language: String,
    pub(crate) canonical: Option<String>,
    pub(crate) robots: Option<String>,
    pub(crate) links: u32,
    pub(crate) links_dropped: u32,
    pub(crate) text: Option<TextOrigin>,
    /// Captures that differ only in the names of their inputs are stored in `ties`.
    pub(crate) has_ties: bool,
    /// Its record is damaged.
    pub(crate) is_damaged: bool,
}

/// The capture that a text came from; its fetch time is the version's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextOrigin {
    pub(crate) kind: CaptureKind,
    pub(crate) digest: String,
    pub(crate) input: InputId,
    pub(crate) offset: u64,
    pub(crate) language: String,
    pub(crate) truncated: bool,
    pub(crate) is_damaged: bool,
}

impl VersionRow {
    pub(crate) fn of(input: InputId, capture: &Capture, links: u32, links_dropped: u32) -> VersionRow {
        let none = Page::default();
        let is_page = page_of(capture).is_some();
        let content = content_of(capture);
        let is_document = content.is_some() && !is_page;
        let page = content.unwrap_or(&none);
        VersionRow {
            fetch_time_ms: capture.fetch_time_ms,
            kind: capture.kind,
            digest: capture.digest.clone(),
            input,
            offset: capture.offset,
            url: capture.url.clone(),
            status: capture.shown_status(),
            mime: capture.shown_mime().to_owned(),
            is_page,
            is_document,
            title: page.title.clone(),
            language: page.language.clone(),
            canonical: page.canonical.clone(),
            robots: page.robots.clone(),
            links,
            links_dropped,
            text: None,
            has_ties: false,
            is_damaged: capture.is_damaged(),
        }
    }

    /// The position of the capture that it is.
    pub(crate) fn position(&self) -> CapturePosition {
        CapturePosition {
            fetch_time_ms: self.fetch_time_ms,
            input: self.input,
            offset: self.offset,
        }
    }

    pub(crate) fn order<'a>(&'a self, names: Names<'a>) -> Order<&'a str> {
        Order {
            fetch_time_ms: self.fetch_time_ms,
            rank: source_rank(self.kind, self.is_damaged),
            digest: self.digest.as_str(),
            input: names.get(self.input),
            offset: self.offset,
        }
    }

    pub(crate) fn text_order<'a>(&'a self, names: Names<'a>) -> Option<Order<&'a str>> {
        self.text.as_ref().map(|text| Order {
            fetch_time_ms: self.fetch_time_ms,
            rank: source_rank(text.kind, text.is_damaged),
            digest: text.digest.as_str(),
            input: names.get(text.input),
            offset: text.offset,
        })
    }

    /// The capture that its text comes from, if it is not the version's own.
    pub(crate) fn text_of_another(&self) -> Option<&TextOrigin> {
        let text = self.text.as_ref()?;
        ((text.input, text.offset) != (self.input, self.offset)).then_some(text)
    }

    /// Returns whether search has it.
    pub(crate) fn has_content(&self) -> bool {
        self.is_page || self.is_document
    }

    /// Language of its content: the language of its capture, or else of the text's capture.
    pub(crate) fn page_language(&self) -> &str {
        match &self.text {
            Some(text) if self.has_content() && self.language.is_empty() => &text.language,
            _ => &self.language,
        }
    }
}

const IS_PAGE: u8 = 1;
const HAS_TEXT: u8 = 2;
const HAS_CANONICAL: u8 = 4;
const HAS_ROBOTS: u8 = 8;
const TEXT_TRUNCATED: u8 = 16;
const HAS_TIES: u8 = 32;
const IS_DOCUMENT: u8 = 64;
const IS_DAMAGED: u8 = 128;

/// With the kind of the capture that the text came from: its record is damaged.
const TEXT_IS_DAMAGED: u8 = 128;

/// Encodes a row.
pub(crate) fn encode(url_key: &str, row: &VersionRow) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    out.push(ROW_VERSION);
    out.push(codec::flags(&[
        (IS_PAGE, row.is_page),
        (HAS_TEXT, row.text.is_some()),
        (HAS_CANONICAL, row.canonical.is_some()),
        (HAS_ROBOTS, row.robots.is_some()),
        (
            TEXT_TRUNCATED,
            row.text.as_ref().is_some_and(|text| text.truncated),
        ),
        (HAS_TIES, row.has_ties),
        (IS_DOCUMENT, row.is_document),
        (IS_DAMAGED, row.is_damaged),
    ]));
    out.push(kind_code(row.kind));
    codec::put_signed(&mut out, row.fetch_time_ms);
    codec::put_varint(&mut out, u64::from(row.input.0));
    codec::put_varint(&mut out, row.offset);
    codec::put_varint(&mut out, u64::from(row.status));
    codec::put_varint(&mut out, u64::from(row.links));
    codec::put_varint(&mut out, u64::from(row.links_dropped));
    url_code::put(&mut out, url_key, &row.url, 0);
    put_digest(&mut out, &row.digest);
    for text in [&row.mime, &row.title, &row.language] {
        codec::put_bytes(&mut out, text.as_bytes());
    }
    for text in [&row.canonical, &row.robots].into_iter().flatten() {
        codec::put_bytes(&mut out, text.as_bytes());
    }
    if let Some(text) = &row.text {
        let damaged = codec::flags(&[(TEXT_IS_DAMAGED, text.is_damaged)]);
        out.push(kind_code(text.kind) | damaged);
        codec::put_varint(&mut out, u64::from(text.input.0));
        codec::put_varint(&mut out, text.offset);
        put_digest(&mut out, &text.digest);
        codec::put_bytes(&mut out, text.language.as_bytes());
    }
    out
}

/// Inverse of [`encode`].
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
        is_document: flags & IS_DOCUMENT != 0,
        has_ties: flags & HAS_TIES != 0,
        is_damaged: flags & IS_DAMAGED != 0,
        kind: kind_of_code(r.u8()?)?,
        fetch_time_ms: r.signed()?,
        input: InputId(r.varint_u32()?),
        offset: r.varint()?,
        status: u16::try_from(r.varint()?).map_err(|_| Corrupt("status is too large"))?,
        links: r.varint_u32()?,
        links_dropped: r.varint_u32()?,
        url: url_code::get(&mut r, url_key)?.0,
        digest: get_digest(&mut r)?,
        mime: r.str()?.to_owned(),
        title: r.str()?.to_owned(),
        language: r.str()?.to_owned(),
        canonical: optional(&mut r, HAS_CANONICAL)?,
        robots: optional(&mut r, HAS_ROBOTS)?,
        text: if flags & HAS_TEXT == 0 {
            None
        } else {
            let kind = r.u8()?;
            Some(TextOrigin {
                kind: kind_of_code(kind & !TEXT_IS_DAMAGED)?,
                is_damaged: kind & TEXT_IS_DAMAGED != 0,
                input: InputId(r.varint_u32()?),
                offset: r.varint()?,
                digest: get_digest(&mut r)?,
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
            is_document: false,
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
                is_damaged: true,
            }),
            has_ties: true,
            is_damaged: false,
        };
        let key = "com,example)/x";
        assert_eq!(decode(key, &encode(key, &row)), Ok(row.clone()));
        let row = VersionRow {
            text: None,
            robots: Some("noindex".into()),
            is_page: false,
            is_document: true,
            has_ties: false,
            ..row
        };
        assert_eq!(decode(key, &encode(key, &row)), Ok(row));
    }
}
