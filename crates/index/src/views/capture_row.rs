//! Rows of `captures`: the stored data of a capture.
//!
//! A column is added here: in [`StoredCapture::of`], [`encode`] and [`decode`] for the row, and in
//! [`columns`] for dumps and fingerprints.

use data_encoding::BASE32;
use extract::{Capture, CaptureKind, Link, LinkKind, Original, Page, RefersTo, Shortfall};

use crate::cell::Cell;
use crate::codec::{self, Corrupt, Reader};
use crate::ids::InputId;
use crate::url_code;
use crate::views::capture_key::{self, CapturePosition, is_usable_key};
use crate::views::link_set::{self, LinksName};
use crate::views::order::{content_of, page_of};

const ROW_VERSION: u8 = 1;

const REDIRECTS_TO_ITSELF: u8 = 1;
const IS_PAGE: u8 = 2;
const HAS_TEXT: u8 = 4;
const IS_DOCUMENT: u8 = 8;
const HAS_LINKS: u8 = 16;
const IS_DAMAGED: u8 = 32;

/// In the second flags: the code of the shortfall, and whether the method is known.
const SHORTFALL: u8 = 1 | 2;
const HAS_METHOD: u8 = 4;
const HAS_CANONICAL: u8 = 8;
const HAS_ROBOTS: u8 = 16;
const TEXT_TRUNCATED: u8 = 32;
const HAS_DROPPED_LINKS: u8 = 64;

/// In the flags of a revisit.
const REFERS: u8 = 1;
const REFERS_TO_TIME: u8 = 2;
const HAS_LOCATION: u8 = 4;
const HAS_ORIGINAL: u8 = 8;

/// A capture as stored. Its text and its links are stored once for all captures of its URL key, so
/// it has their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredCapture {
    pub(crate) input: InputId,
    /// The capture without text and links. It has its page or document only if that is served, and
    /// a redirect only if that is a revisit's own.
    pub(crate) capture: Capture,
    /// Name of its text. `None` without text.
    pub(crate) text: Option<TextHash>,
    /// Name of the links that it has if it becomes current. `None` without links.
    pub(crate) links: Option<LinksName>,
}

/// First bytes of the BLAKE3 hash of a text. A cryptographic hash is needed, because strangers
/// write the pages and could make texts collide.
pub(crate) type TextHash = [u8; 16];

/// Returns the name of a text among those of its key.
pub(crate) fn text_hash(text: &str) -> TextHash {
    let mut hash = TextHash::default();
    hash.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..16]);
    hash
}

impl StoredCapture {
    /// Returns the stored form of a capture.
    pub(crate) fn of(input: InputId, capture: &Capture) -> StoredCapture {
        let content = content_of(capture).map(|content| Page {
            title: content.title.clone(),
            text: String::new(),
            text_truncated: content.text_truncated,
            charset: String::new(),
            language: content.language.clone(),
            canonical: content.canonical.clone(),
            robots: content.robots.clone(),
            links: Vec::new(),
            links_dropped: links_dropped(content),
            images: Vec::new(),
        });
        let (page, document) = page_or_document(content, page_of(capture).is_some());
        StoredCapture {
            input,
            capture: Capture {
                url_key: capture.url_key.clone(),
                url: capture.url.clone(),
                fetch_time_ms: capture.fetch_time_ms,
                mime: capture.mime.clone(),
                status: capture.status,
                method: capture.method.clone(),
                shortfall: capture.shortfall,
                digest: capture.digest.clone(),
                offset: capture.offset,
                length: capture.length,
                kind: capture.kind,
                page,
                document,
                document_defect: None,
                redirect: own_location(capture).and_then(redirect_to),
                redirects_to_itself: capture.redirects_to_itself,
                refers_to: capture.refers_to.clone(),
                original: capture.original.clone(),
                truncated: mark(capture.is_damaged()),
            },
            text: text_of(capture),
            links: link_set::name_of(capture),
        }
    }

    pub(crate) fn position(&self) -> CapturePosition {
        CapturePosition {
            fetch_time_ms: self.capture.fetch_time_ms,
            input: self.input,
            offset: self.capture.offset,
        }
    }
}

/// Returns the only stored value of `truncated`: whether the record is damaged decides between
/// captures.
pub(crate) fn mark(is_damaged: bool) -> String {
    let mark = if is_damaged { Capture::DAMAGED } else { "" };
    mark.to_owned()
}

fn page_or_document(content: Option<Page>, is_page: bool) -> (Option<Page>, Option<Box<Page>>) {
    if is_page {
        (content, None)
    } else {
        (None, content.map(Box::new))
    }
}

/// Returns the name of the text of a capture.
fn text_of(capture: &Capture) -> Option<TextHash> {
    let content = content_of(capture).filter(|content| !content.text.is_empty());
    content.map(|content| text_hash(&content.text))
}

/// Returns how many links of a page are not kept, with those whose keys cannot be indexed.
fn links_dropped(content: &Page) -> u32 {
    let unusable = content.links.iter().filter(|link| !is_usable_key(&link.url_key));
    content.links_dropped + unusable.count() as u32
}

/// Returns the target of a revisit's own `Location`. A revisit that uses the `Location` of its
/// original also has the original's status.
fn own_location(capture: &Capture) -> Option<&str> {
    let leads = capture.kind == CaptureKind::Revisit && (300..400).contains(&capture.status);
    let link = capture.redirect.as_ref().filter(|_| leads)?;
    Some(&link.url)
}

fn redirect_to(url: &str) -> Option<Link> {
    Some(Link {
        url_key: urlkey::url_key(url).ok()?,
        url: url.to_owned(),
        anchor: String::new(),
        nofollow: false,
        kind: LinkKind::Location,
    })
}

/// Returns the columns of a capture of an input in dumps, in order. Fingerprints have them too.
pub(crate) fn columns<'c>(capture: &'c Capture, input: &'c str) -> [(&'static str, Cell<'c>); 10] {
    [
        ("url_key", Cell::Text(&capture.url_key)),
        ("fetch_time", Cell::Time(capture.fetch_time_ms)),
        ("url", Cell::Text(&capture.url)),
        ("mime", Cell::Text(&capture.mime)),
        ("status", Cell::Number(u64::from(capture.status))),
        ("digest", Cell::Text(&capture.digest)),
        ("length", Cell::Number(capture.length)),
        ("offset", Cell::Number(capture.offset)),
        ("input", Cell::Text(input)),
        ("method", Cell::Text(&capture.method)),
    ]
}

pub(crate) fn encode(capture: &Capture) -> Vec<u8> {
    let none = Page::default();
    let (content, is_page) = (content_of(capture), page_of(capture).is_some());
    let (text, links) = (text_of(capture), link_set::name_of(capture));
    let details = content.unwrap_or(&none);
    let links_dropped = links_dropped(details);
    let mut out = Vec::with_capacity(64);
    out.push(ROW_VERSION);
    out.push(kind_code(capture.kind));
    out.push(codec::flags(&[
        (REDIRECTS_TO_ITSELF, capture.redirects_to_itself),
        (IS_PAGE, is_page),
        (IS_DOCUMENT, content.is_some() && !is_page),
        (HAS_TEXT, text.is_some()),
        (HAS_LINKS, links.is_some()),
        (IS_DAMAGED, capture.is_damaged()),
    ]));
    let more = codec::flags(&[
        (HAS_METHOD, !capture.method.is_empty()),
        (HAS_CANONICAL, details.canonical.is_some()),
        (HAS_ROBOTS, details.robots.is_some()),
        (TEXT_TRUNCATED, details.text_truncated),
        (HAS_DROPPED_LINKS, links_dropped > 0),
    ]);
    out.push(shortfall_code(capture.shortfall) | more);
    codec::put_varint(&mut out, u64::from(capture.status));
    codec::put_varint(&mut out, capture.length);
    url_code::put(&mut out, &capture.url_key, &capture.url, 0);
    put_digest(&mut out, &capture.digest);
    codec::put_bytes(&mut out, capture.mime.as_bytes());
    if !capture.method.is_empty() {
        codec::put_bytes(&mut out, capture.method.as_bytes());
    }
    if content.is_some() {
        codec::put_bytes(&mut out, details.title.as_bytes());
        codec::put_bytes(&mut out, details.language.as_bytes());
    }
    for name in [text, links].iter().flatten() {
        out.extend_from_slice(name);
    }
    if let Some(canonical) = &details.canonical {
        // Most pages name their own URL.
        url_code::put(&mut out, &capture.url_key, canonical, 0);
    }
    if let Some(robots) = &details.robots {
        codec::put_bytes(&mut out, robots.as_bytes());
    }
    if links_dropped > 0 {
        codec::put_varint(&mut out, u64::from(links_dropped));
    }
    if capture.kind == CaptureKind::Revisit {
        put_references(&mut out, capture);
    }
    out
}

/// Appends the reference of a revisit, and its original.
fn put_references(out: &mut Vec<u8>, capture: &Capture) {
    let location = own_location(capture);
    let time_ms = capture.refers_to.as_ref().and_then(|refers| refers.time_ms);
    out.push(codec::flags(&[
        (REFERS, capture.refers_to.is_some()),
        (REFERS_TO_TIME, time_ms.is_some()),
        (HAS_LOCATION, location.is_some()),
        (HAS_ORIGINAL, capture.original.is_some()),
    ]));
    if let Some(refers) = &capture.refers_to {
        codec::put_bytes(out, refers.url_key.as_bytes());
    }
    if let Some(time_ms) = time_ms {
        codec::put_signed(out, time_ms);
    }
    if let Some(location) = location {
        codec::put_bytes(out, location.as_bytes());
    }
    if let Some(original) = &capture.original {
        codec::put_bytes(out, original.url_key.as_bytes());
        codec::put_signed(out, original.fetch_time_ms);
        codec::put_varint(out, u64::from(original.input));
        codec::put_varint(out, original.offset);
        codec::put_bytes(out, original.mime.as_bytes());
        codec::put_varint(out, u64::from(original.status));
        out.push(kind_code(original.kind));
        put_digest(out, &original.digest);
    }
}

/// Inverse of [`put_references`].
fn get_references(r: &mut Reader<'_>, capture: &mut Capture) -> Result<(), Corrupt> {
    let flags = r.u8()?;
    if flags & REFERS != 0 {
        capture.refers_to = Some(Box::new(RefersTo {
            url_key: r.str()?.to_owned(),
            time_ms: match flags & REFERS_TO_TIME {
                0 => None,
                _ => Some(r.signed()?),
            },
        }));
    }
    if flags & HAS_LOCATION != 0 {
        capture.redirect = redirect_to(r.str()?);
    }
    if flags & HAS_ORIGINAL != 0 {
        capture.original = Some(Box::new(Original {
            url_key: r.str()?.to_owned(),
            fetch_time_ms: r.signed()?,
            input: r.varint_u32()?,
            offset: r.varint()?,
            mime: r.str()?.to_owned(),
            status: u16::try_from(r.varint()?).map_err(|_| Corrupt("status is too large"))?,
            kind: kind_of_code(r.u8()?)?,
            digest: get_digest(r)?,
        }));
    }
    Ok(())
}

pub(crate) fn decode(key: &[u8], value: &[u8]) -> Result<StoredCapture, Corrupt> {
    let (url_key, position) = capture_key::split_key(key)?;
    let url_key = codec::to_text(url_key)?;
    let mut r = Reader::versioned(value, ROW_VERSION)?;
    let kind = kind_of_code(r.u8()?)?;
    let (flags, more) = (r.u8()?, r.u8()?);
    let status = u16::try_from(r.varint()?).map_err(|_| Corrupt("status is too large"))?;
    let length = r.varint()?;
    let (url, _) = url_code::get(&mut r, &url_key)?;
    let digest = get_digest(&mut r)?;
    let mime = r.str()?.to_owned();
    let method = if more & HAS_METHOD != 0 { r.str()? } else { "" }.to_owned();
    let is_document = flags & IS_DOCUMENT != 0;
    let has_content = is_document || flags & IS_PAGE != 0;
    let mut content = Page {
        text_truncated: more & TEXT_TRUNCATED != 0,
        ..Page::default()
    };
    if has_content {
        content.title = r.str()?.to_owned();
        content.language = r.str()?.to_owned();
    }
    let text = name(&mut r, has_content && flags & HAS_TEXT != 0)?;
    let links = name(&mut r, flags & HAS_LINKS != 0)?;
    if more & HAS_CANONICAL != 0 {
        content.canonical = Some(url_code::get(&mut r, &url_key)?.0);
    }
    if more & HAS_ROBOTS != 0 {
        content.robots = Some(r.str()?.to_owned());
    }
    if more & HAS_DROPPED_LINKS != 0 {
        content.links_dropped = r.varint_u32()?;
    }
    let (page, document) = page_or_document(has_content.then_some(content), !is_document);
    let mut capture = Capture {
        url_key,
        url,
        fetch_time_ms: position.fetch_time_ms,
        mime,
        status,
        method,
        shortfall: shortfall_of_code(more & SHORTFALL),
        digest,
        offset: position.offset,
        length,
        kind,
        page,
        document,
        document_defect: None,
        redirect: None,
        redirects_to_itself: flags & REDIRECTS_TO_ITSELF != 0,
        refers_to: None,
        original: None,
        truncated: mark(flags & IS_DAMAGED != 0),
    };
    if kind == CaptureKind::Revisit {
        get_references(&mut r, &mut capture)?;
    }
    Ok(StoredCapture {
        input: position.input,
        capture,
        text,
        links,
    })
}

/// Reads the name of a text or of links, if there is one.
fn name(r: &mut Reader<'_>, is_there: bool) -> Result<Option<[u8; 16]>, Corrupt> {
    if is_there {
        Ok(Some(*r.take(16)?.first_chunk().ok_or(Corrupt("truncated row"))?))
    } else {
        Ok(None)
    }
}

/// Encodes a digest. A SHA-1 in Base32 takes 21 bytes instead of 33.
pub(crate) fn put_digest(out: &mut Vec<u8>, digest: &str) {
    let mut sha1 = [0; 20];
    if digest.len() == 32 && BASE32.decode_mut(digest.as_bytes(), &mut sha1) == Ok(20) {
        out.push(1);
        out.extend_from_slice(&sha1);
    } else {
        out.push(0);
        codec::put_bytes(out, digest.as_bytes());
    }
}

pub(crate) fn get_digest(r: &mut Reader<'_>) -> Result<String, Corrupt> {
    match r.u8()? {
        0 => Ok(r.str()?.to_owned()),
        1 => Ok(BASE32.encode(r.take(20)?)),
        _ => Err(Corrupt("unknown form of digest")),
    }
}

fn shortfall_code(shortfall: Shortfall) -> u8 {
    match shortfall {
        Shortfall::None => 0,
        Shortfall::Empty => 1,
        Shortfall::Part => 2,
        Shortfall::NoTarget => 3,
    }
}

fn shortfall_of_code(code: u8) -> Shortfall {
    match code {
        1 => Shortfall::Empty,
        2 => Shortfall::Part,
        3 => Shortfall::NoTarget,
        _ => Shortfall::None,
    }
}

pub(crate) fn kind_code(kind: CaptureKind) -> u8 {
    match kind {
        CaptureKind::Wet => 0,
        CaptureKind::Wat => 1,
        CaptureKind::Revisit => 2,
        CaptureKind::Arc => 3,
        CaptureKind::Resource => 4,
        CaptureKind::Response => 5,
        CaptureKind::Conversion => 6,
    }
}

pub(crate) fn kind_of_code(code: u8) -> Result<CaptureKind, Corrupt> {
    Ok(match code {
        0 => CaptureKind::Wet,
        1 => CaptureKind::Wat,
        2 => CaptureKind::Revisit,
        3 => CaptureKind::Arc,
        4 => CaptureKind::Resource,
        5 => CaptureKind::Response,
        6 => CaptureKind::Conversion,
        _ => return Err(Corrupt("unknown kind of capture")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::capture_key::{key_prefix, row_key};

    #[track_caller]
    fn check(digest: &str, fetch_time_ms: i64, url: &str, redirects_to_itself: bool) {
        let capture = Capture {
            url_key: "com,example)/a".into(),
            url: url.into(),
            fetch_time_ms,
            mime: "text/html".into(),
            status: 200,
            method: "POST".into(),
            shortfall: Shortfall::Part,
            digest: digest.into(),
            offset: 1 << 40,
            length: 77,
            kind: CaptureKind::Arc,
            redirects_to_itself,
            // One of the tables' rows is damaged.
            truncated: mark(digest.is_empty()),
            ..Capture::default()
        };
        let key = row_key(&capture.url_key, fetch_time_ms, InputId(3), capture.offset);
        assert!(key.starts_with(&key_prefix(&capture.url_key)));
        let stored = decode(&key, &encode(&capture)).unwrap();
        assert_eq!(stored, StoredCapture::of(InputId(3), &capture));
        assert_eq!(
            stored,
            StoredCapture {
                input: InputId(3),
                capture,
                text: None,
                links: None,
            }
        );
    }

    /// A row of format 1, byte by byte.
    #[test]
    fn rows_of_version_1_are_read() {
        let key = row_key("com,example)/a", 5, InputId(3), 7);
        let mut value = vec![1, 5, 0, 0, 0xc8, 0x01, 77];
        url_code::put(&mut value, "com,example)/a", "http://example.com/a", 0);
        value.extend_from_slice(b"\x00\x03sha\x09text/html");
        let row = decode(&key, &value).unwrap().capture;
        assert_eq!((row.status, row.length, row.digest.as_str()), (200, 77, "sha"));
        assert_eq!((row.mime.as_str(), row.redirects_to_itself), ("text/html", false));
        value[0] = ROW_VERSION + 1;
        assert_eq!(decode(&key, &value), Err(Corrupt("unknown row version")));
    }

    #[test]
    fn rows_come_back() {
        check(
            "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
            1_404_000_000_123,
            "http://example.com/A",
            true,
        );
        check(
            "3i42h3s6nnfq2msvx7xzkyayscx5qbyj",
            0,
            "https://www.example.com/a/",
            false,
        );
        check("", -5, "http://example.com/a", false);
    }
}
