//! View `captures`: every capture once.
//!
//! Definition: all captures by input and offset. Row key: URL key, `\0`, fetch time (sortable),
//! input, offset. So the captures of a key are adjacent in time order, and a known capture is found
//! by its row key.

use data_encoding::BASE32;
use extract::{Capture, CaptureKind, Original, RefersTo, Shortfall};

use crate::codec::{self, Corrupt, Reader};
use crate::cut::Cut;
use crate::error::SnapshotError;
use crate::ids::InputId;
use crate::tables::Table;
use crate::url_code;
use crate::views::links;
use crate::views::links_name::LinksName;
use crate::views::order::{self, content_of, page_of};
use crate::write::Write;

/// Longest URL key that is woven, in bytes: the engine's limit for keys is 65,535, and row keys
/// have further parts.
pub(crate) const KEY_BYTES_MAX: usize = 60_000;

const ROW_VERSION: u8 = 1;

const REDIRECTS_TO_ITSELF: u8 = 1;
const IS_PAGE: u8 = 2;
const HAS_TEXT: u8 = 4;
const IS_DOCUMENT: u8 = 8;
const HAS_LINKS: u8 = 16;

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

const SUFFIX_BYTES: usize = 1 + 8 + 4 + 8;

/// Returns why a capture cannot be woven: a reason for the quarantine and the details; `None` if it
/// can be.
pub fn refusal(capture: &Capture) -> Option<(&'static str, String)> {
    refusal_of_key(&capture.url_key)
}

/// As [`refusal`], for a URL key.
pub fn refusal_of_key(url_key: &str) -> Option<(&'static str, String)> {
    let bytes = url_key.len();
    let wrong = || format!("URL key of {bytes} bytes, must be 1 to {KEY_BYTES_MAX}");
    (!is_usable_key(url_key)).then(|| ("url-key-length", wrong()))
}

/// Returns whether a URL key can be woven.
pub(crate) fn is_usable_key(url_key: &str) -> bool {
    !url_key.is_empty() && url_key.len() <= KEY_BYTES_MAX
}

/// A capture as stored, with its key split into its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) url_key: String,
    pub(crate) fetch_time_ms: i64,
    pub(crate) input: InputId,
    pub(crate) offset: u64,
    pub(crate) url: String,
    pub(crate) mime: String,
    pub(crate) status: u16,
    /// Request method; empty if unknown.
    pub(crate) method: String,
    pub(crate) shortfall: Shortfall,
    pub(crate) digest: String,
    pub(crate) length: u64,
    pub(crate) kind: CaptureKind,
    /// See [`Capture::redirects_to_itself`].
    pub(crate) redirects_to_itself: bool,
    /// Content of the page or document. `None` for other captures.
    pub(crate) content: Option<StoredContent>,
    /// Name of the links that it has if it becomes current. `None` without links.
    pub(crate) links: Option<LinksName>,
    /// Other data for a version.
    pub(crate) details: Details,
    /// See [`Capture::refers_to`].
    pub(crate) refers_to: Option<Box<RefersTo>>,
    /// Target URL of a revisit with its own `Location`.
    pub(crate) location: Option<String>,
    /// See [`Capture::original`].
    pub(crate) original: Option<Box<Original>>,
}

/// Data of a capture that a version has and no order depends on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Details {
    pub(crate) canonical: Option<String>,
    pub(crate) robots: Option<String>,
    pub(crate) text_truncated: bool,
    pub(crate) links_dropped: u32,
}

impl Details {
    fn of(capture: &Capture) -> Details {
        let Some(content) = content_of(capture) else {
            return Details::default();
        };
        let unusable = content.links.iter().filter(|link| !is_usable_key(&link.url_key));
        Details {
            canonical: content.canonical.clone(),
            robots: content.robots.clone(),
            text_truncated: content.text_truncated,
            links_dropped: content.links_dropped + unusable.count() as u32,
        }
    }
}

/// First bytes of the BLAKE3 hash of a text. A cryptographic hash is needed, because strangers
/// write the pages and could make texts collide.
pub(crate) type TextHash = [u8; 16];

/// The stored content of a page or document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct StoredContent {
    pub(crate) title: String,
    pub(crate) language: String,
    /// `None` if it has no text.
    pub(crate) text: Option<TextHash>,
    /// Whether it is a document, not a page.
    pub(crate) is_document: bool,
}

impl StoredContent {
    fn of(capture: &Capture) -> Option<StoredContent> {
        content_of(capture).map(|content| StoredContent {
            title: content.title.clone(),
            language: content.language.clone(),
            text: (!content.text.is_empty()).then(|| text_hash(&content.text)),
            is_document: page_of(capture).is_none(),
        })
    }
}

/// Returns the name of a text among those of its key.
pub(crate) fn text_hash(text: &str) -> TextHash {
    let mut hash = TextHash::default();
    hash.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..16]);
    hash
}

impl Stored {
    /// Returns the stored form of a capture.
    pub(crate) fn of(input: InputId, capture: &Capture) -> Stored {
        Stored {
            url_key: capture.url_key.clone(),
            fetch_time_ms: capture.fetch_time_ms,
            input,
            offset: capture.offset,
            url: capture.url.clone(),
            mime: capture.mime.clone(),
            status: capture.status,
            method: capture.method.clone(),
            shortfall: capture.shortfall,
            digest: capture.digest.clone(),
            length: capture.length,
            kind: capture.kind,
            redirects_to_itself: capture.redirects_to_itself,
            content: StoredContent::of(capture),
            links: links::name_of(capture),
            details: Details::of(capture),
            refers_to: capture.refers_to.clone(),
            location: own_location(capture).map(str::to_owned),
            original: capture.original.clone(),
        }
    }

    /// See [`Capture::shown_mime`].
    pub(crate) fn shown_mime(&self) -> &str {
        self.original
            .as_ref()
            .map_or(&self.mime, |original| &original.mime)
    }

    pub(crate) fn place(&self) -> CapturePosition {
        CapturePosition {
            fetch_time_ms: self.fetch_time_ms,
            input: self.input,
            offset: self.offset,
        }
    }

    /// Returns whether the capture confirms the current version without being a version itself.
    pub(crate) fn confirms(&self) -> bool {
        order::confirms(self)
    }
}

/// Returns the target of a revisit's own `Location`. A revisit that uses the `Location` of its
/// original also has the original's status.
fn own_location(capture: &Capture) -> Option<&str> {
    let leads = capture.kind == CaptureKind::Revisit && (300..400).contains(&capture.status);
    let link = capture.redirect.as_ref().filter(|_| leads)?;
    Some(&link.url)
}

/// Sorts a batch, drops known captures, writes the others and returns them in key order.
pub(crate) fn apply(
    cut: &Cut,
    write: &mut Write<'_>,
    mut batch: Vec<(InputId, Capture)>,
) -> Result<Vec<(InputId, Capture)>, SnapshotError> {
    // In key order, look-ups of neighbours hit the same blocks, and the captures of one key are
    // adjacent for `versions`.
    batch.sort_unstable_by(|(a_input, a), (b_input, b)| {
        (a.url_key.as_bytes(), a.fetch_time_ms, a_input, a.offset).cmp(&(
            b.url_key.as_bytes(),
            b.fetch_time_ms,
            b_input,
            b.offset,
        ))
    });
    let mut new = Vec::with_capacity(batch.len());
    let mut previous = Vec::new();
    for (input, capture) in batch {
        let key = row_key(&capture.url_key, capture.fetch_time_ms, input, capture.offset);
        // The batch may hold a capture twice (read again after a crash), or the index may already
        // have it.
        if key == previous || cut.contains(Table::Captures, &key)? {
            continue;
        }
        // `originals` writes the rows of revisits, with the content of their originals.
        if capture.kind != CaptureKind::Revisit {
            write.put(Table::Captures, key.as_slice(), encode(&capture));
        }
        previous = key;
        new.push((input, capture));
    }
    Ok(new)
}

pub(crate) fn row_key(url_key: &str, fetch_time_ms: i64, input: InputId, offset: u64) -> Vec<u8> {
    let mut key = Vec::with_capacity(url_key.len() + SUFFIX_BYTES);
    key.extend_from_slice(url_key.as_bytes());
    // Ends the URL key, so that rows of a key come before those of longer keys with the same
    // beginning.
    key.push(0);
    key.extend_from_slice(&codec::sortable(fetch_time_ms));
    key.extend_from_slice(&input.0.to_be_bytes());
    key.extend_from_slice(&offset.to_be_bytes());
    key
}

/// Returns the media type of a capture as versions show it; `None` if there is no such capture.
pub(crate) fn mime_at(
    cut: &Cut,
    url_key: &str,
    place: &CapturePosition,
) -> Result<Option<String>, SnapshotError> {
    Ok(at(cut, url_key, place)?.map(|stored| stored.shown_mime().to_owned()))
}

/// Returns the capture of a URL key at a place; `None` if there is no such capture.
pub(crate) fn at(cut: &Cut, url_key: &str, place: &CapturePosition) -> Result<Option<Stored>, SnapshotError> {
    let key = row_key(url_key, place.fetch_time_ms, place.input, place.offset);
    let Some(value) = cut.get(Table::Captures, &key)? else {
        return Ok(None);
    };
    cut.decode(Table::Captures, &key, decode(&key, &value)).map(Some)
}

/// URL key of a row.
pub(crate) fn url_key_of_row(key: &[u8]) -> Result<&[u8], Corrupt> {
    let length = key.len().checked_sub(SUFFIX_BYTES);
    length
        .map(|length| &key[..length])
        .ok_or(Corrupt("key is too short"))
}

/// Common prefix of all row keys of one URL key. Rows of a longer key that contains a NUL may have
/// the same prefix: [`decode`] distinguishes them.
pub(crate) fn key_prefix(url_key: &str) -> Vec<u8> {
    let mut prefix = url_key.as_bytes().to_vec();
    prefix.push(0);
    prefix
}

/// Common prefix of all row keys of one URL key and time; also a valid position if there are no
/// such rows.
pub(crate) fn time_prefix(url_key: &str, fetch_time_ms: i64) -> Vec<u8> {
    let mut prefix = key_prefix(url_key);
    prefix.extend_from_slice(&codec::sortable(fetch_time_ms));
    prefix
}

/// Returns whether a row key with the [`key_prefix`] of a URL key belongs to that key and not to a
/// longer one.
pub(crate) fn is_of_key(key: &[u8], url_key: &str) -> bool {
    key.len() == url_key.len() + SUFFIX_BYTES
}

pub(crate) fn encode(capture: &Capture) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    out.push(ROW_VERSION);
    out.push(kind_code(capture.kind));
    let (content, links) = (StoredContent::of(capture), links::name_of(capture));
    let mut flags = 0;
    for (flag, is_set) in [
        (REDIRECTS_TO_ITSELF, capture.redirects_to_itself),
        (
            IS_PAGE,
            content.as_ref().is_some_and(|content| !content.is_document),
        ),
        (
            IS_DOCUMENT,
            content.as_ref().is_some_and(|content| content.is_document),
        ),
        (
            HAS_TEXT,
            content.as_ref().is_some_and(|content| content.text.is_some()),
        ),
        (HAS_LINKS, links.is_some()),
    ] {
        flags |= if is_set { flag } else { 0 };
    }
    out.push(flags);
    let details = Details::of(capture);
    let mut more = shortfall_code(capture.shortfall);
    for (flag, is_set) in [
        (HAS_METHOD, !capture.method.is_empty()),
        (HAS_CANONICAL, details.canonical.is_some()),
        (HAS_ROBOTS, details.robots.is_some()),
        (TEXT_TRUNCATED, details.text_truncated),
        (HAS_DROPPED_LINKS, details.links_dropped > 0),
    ] {
        more |= if is_set { flag } else { 0 };
    }
    out.push(more);
    codec::put_varint(&mut out, u64::from(capture.status));
    codec::put_varint(&mut out, capture.length);
    url_code::put(&mut out, &capture.url_key, &capture.url, 0);
    put_digest(&mut out, &capture.digest);
    codec::put_bytes(&mut out, capture.mime.as_bytes());
    if !capture.method.is_empty() {
        codec::put_bytes(&mut out, capture.method.as_bytes());
    }
    if let Some(content) = content {
        codec::put_bytes(&mut out, content.title.as_bytes());
        codec::put_bytes(&mut out, content.language.as_bytes());
        out.extend_from_slice(content.text.as_ref().map_or(&[][..], |hash| &hash[..]));
    }
    out.extend_from_slice(links.as_ref().map_or(&[][..], |name| &name[..]));
    if let Some(canonical) = &details.canonical {
        // Most pages name their own URL.
        url_code::put(&mut out, &capture.url_key, canonical, 0);
    }
    if let Some(robots) = &details.robots {
        codec::put_bytes(&mut out, robots.as_bytes());
    }
    if details.links_dropped > 0 {
        codec::put_varint(&mut out, u64::from(details.links_dropped));
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
    let mut flags = 0;
    for (flag, is_set) in [
        (REFERS, capture.refers_to.is_some()),
        (REFERS_TO_TIME, time_ms.is_some()),
        (HAS_LOCATION, location.is_some()),
        (HAS_ORIGINAL, capture.original.is_some()),
    ] {
        flags |= if is_set { flag } else { 0 };
    }
    out.push(flags);
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
fn get_references(r: &mut Reader<'_>, stored: &mut Stored) -> Result<(), Corrupt> {
    let flags = r.u8()?;
    if flags & REFERS != 0 {
        stored.refers_to = Some(Box::new(RefersTo {
            url_key: r.str()?.to_owned(),
            time_ms: match flags & REFERS_TO_TIME {
                0 => None,
                _ => Some(r.signed()?),
            },
        }));
    }
    if flags & HAS_LOCATION != 0 {
        stored.location = Some(r.str()?.to_owned());
    }
    if flags & HAS_ORIGINAL != 0 {
        stored.original = Some(Box::new(Original {
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

/// The parts of a row key other than the URL key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CapturePosition {
    pub(crate) fetch_time_ms: i64,
    pub(crate) input: InputId,
    pub(crate) offset: u64,
}

/// Splits a row key into URL key and place.
pub(crate) fn split_key(key: &[u8]) -> Result<(&[u8], CapturePosition), Corrupt> {
    let short = Corrupt("key is too short");
    let split = key.len().checked_sub(SUFFIX_BYTES).ok_or(short)?;
    let (url_key, suffix) = key.split_at(split);
    let mut suffix = Reader::new(suffix);
    suffix.u8()?;
    let fetch_time = suffix.take(8)?.first_chunk().ok_or(short)?;
    let input = suffix.take(4)?.first_chunk().ok_or(short)?;
    let offset = suffix.take(8)?.first_chunk().ok_or(short)?;
    let place = CapturePosition {
        fetch_time_ms: codec::from_sortable(*fetch_time),
        input: InputId(u32::from_be_bytes(*input)),
        offset: u64::from_be_bytes(*offset),
    };
    Ok((url_key, place))
}

pub(crate) fn decode(key: &[u8], value: &[u8]) -> Result<Stored, Corrupt> {
    let (url_key, place) = split_key(key)?;
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
    let content = if flags & (IS_PAGE | IS_DOCUMENT) != 0 {
        Some(StoredContent {
            title: r.str()?.to_owned(),
            language: r.str()?.to_owned(),
            text: name(&mut r, flags & HAS_TEXT != 0)?,
            is_document: flags & IS_DOCUMENT != 0,
        })
    } else {
        None
    };
    let links = name(&mut r, flags & HAS_LINKS != 0)?;
    let details = Details {
        canonical: match more & HAS_CANONICAL {
            0 => None,
            _ => Some(url_code::get(&mut r, &url_key)?.0),
        },
        robots: match more & HAS_ROBOTS {
            0 => None,
            _ => Some(r.str()?.to_owned()),
        },
        text_truncated: more & TEXT_TRUNCATED != 0,
        links_dropped: match more & HAS_DROPPED_LINKS {
            0 => 0,
            _ => r.varint_u32()?,
        },
    };
    let mut stored = Stored {
        fetch_time_ms: place.fetch_time_ms,
        input: place.input,
        offset: place.offset,
        url_key,
        url,
        mime,
        status,
        method,
        shortfall: shortfall_of_code(more & SHORTFALL),
        digest,
        length,
        kind,
        redirects_to_itself: flags & REDIRECTS_TO_ITSELF != 0,
        content,
        links,
        details,
        refers_to: None,
        location: None,
        original: None,
    };
    if kind == CaptureKind::Revisit {
        get_references(&mut r, &mut stored)?;
    }
    Ok(stored)
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
            ..Capture::default()
        };
        let key = row_key(&capture.url_key, fetch_time_ms, InputId(3), capture.offset);
        assert!(key.starts_with(&key_prefix(&capture.url_key)));
        let stored = decode(&key, &encode(&capture)).unwrap();
        assert_eq!(
            stored,
            Stored {
                url_key: capture.url_key,
                fetch_time_ms,
                input: InputId(3),
                offset: 1 << 40,
                url: url.into(),
                mime: "text/html".into(),
                status: 200,
                method: "POST".into(),
                shortfall: Shortfall::Part,
                digest: digest.into(),
                length: 77,
                kind: CaptureKind::Arc,
                redirects_to_itself,
                content: None,
                links: None,
                details: Details::default(),
                refers_to: None,
                location: None,
                original: None,
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
        let row = decode(&key, &value).unwrap();
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
