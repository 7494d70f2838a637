//! The three tables: their columns, and the conversion of a capture to rows. `docs/facts.md`
//! explains the columns.

use extract::{
    Capture, CaptureKind, ImageFacts, Link, Page, RefersTo, Shortfall, stored_image_lines, stored_images,
    visible_text,
};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use crate::field::{Field, Kind};
use crate::rows::{Row, Rows};

/// A table of facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// One row per capture, sorted by URL key and time.
    Captures,
    /// One row per link of a capture, sorted by the key of its source.
    Links,
    /// One row per capture that has text, sorted by URL key and time.
    Texts,
}

/// Names of the first columns follow Common Crawl's `cc-index-table`, so that queries written for
/// it work here. Names of the columns of images are those of the fields of warc-indexer.
///
/// Columns are only ever added, at the end and nullable. Older tables get them too, and older rows
/// have no value in them.
static CAPTURES: [Field; 43] = [
    Field::new("url_surtkey", Kind::Text)
        .sorted()
        .looked_up()
        .bounds(),
    Field::new("url", Kind::Text).many(),
    Field::new("url_host_name", Kind::Text).nullable(),
    Field::new("url_host_tld", Kind::Text).nullable(),
    Field::new("url_host_registered_domain", Kind::Text).bounds(),
    Field::new("url_protocol", Kind::Text),
    Field::new("url_port", Kind::Int).nullable(),
    Field::new("url_path", Kind::Text).many(),
    Field::new("url_query", Kind::Text).many().nullable(),
    Field::new("fetch_time", Kind::Time).bounds(),
    Field::new("fetch_status", Kind::Int).bounds(),
    Field::new("content_digest", Kind::Text).many(),
    Field::new("content_mime_type", Kind::Text),
    Field::new("content_mime_detected", Kind::Text).nullable(),
    Field::new("content_charset", Kind::Text).nullable(),
    Field::new("content_languages", Kind::Text).nullable(),
    Field::new("content_truncated", Kind::Text).nullable(),
    Field::new("warc_filename", Kind::Text),
    Field::new("warc_record_offset", Kind::Long),
    Field::new("warc_record_length", Kind::Long),
    Field::new("collection", Kind::Text),
    Field::new("kind", Kind::Text),
    Field::new("is_page", Kind::Bool),
    Field::new("redirects_to_itself", Kind::Bool),
    Field::new("title", Kind::Text).many().nullable(),
    Field::new("text_length", Kind::Long).nullable(),
    Field::new("links_dropped", Kind::Int).nullable(),
    Field::new("input_id", Kind::Long).bounds(),
    Field::new("input_digest", Kind::Text),
    Field::new("epoch", Kind::Long).bounds(),
    Field::new("method", Kind::Text).nullable(),
    Field::new("shortfall", Kind::Text).nullable(),
    Field::new("refers_to_surtkey", Kind::Text).nullable(),
    Field::new("refers_to_time", Kind::Time).nullable(),
    Field::new("is_document", Kind::Bool).nullable(),
    Field::new("image_width", Kind::Long).nullable(),
    Field::new("image_height", Kind::Long).nullable(),
    Field::new("image_size", Kind::Long).nullable(),
    Field::new("image_p_hash", Kind::Text).many().nullable(),
    Field::new("links_images", Kind::Text).many().nullable(),
    Field::new("exif_time", Kind::Text).many().nullable(),
    Field::new("exif_location", Kind::Text).many().nullable(),
    Field::new("exif_version", Kind::Text).nullable(),
];

static LINKS: [Field; 16] = [
    Field::new("source_surtkey", Kind::Text).looked_up().bounds(),
    Field::new("source_url", Kind::Text),
    Field::new("source_host_name", Kind::Text).nullable(),
    Field::new("source_registered_domain", Kind::Text),
    Field::new("target_surtkey", Kind::Text).many().looked_up(),
    Field::new("target_url", Kind::Text).many(),
    Field::new("target_host_name", Kind::Text).nullable(),
    Field::new("target_registered_domain", Kind::Text),
    Field::new("anchor", Kind::Text).many().nullable(),
    Field::new("nofollow", Kind::Bool),
    Field::new("kind", Kind::Text),
    Field::new("fetch_time", Kind::Time).bounds(),
    Field::new("warc_filename", Kind::Text),
    Field::new("warc_record_offset", Kind::Long),
    Field::new("input_id", Kind::Long).bounds(),
    Field::new("epoch", Kind::Long).bounds(),
];

static TEXTS: [Field; 9] = [
    Field::new("url_surtkey", Kind::Text)
        .sorted()
        .looked_up()
        .bounds(),
    Field::new("fetch_time", Kind::Time).bounds(),
    Field::new("content_digest", Kind::Text).many(),
    Field::new("content_languages", Kind::Text).nullable(),
    Field::new("text", Kind::Text).many(),
    Field::new("warc_record_offset", Kind::Long),
    Field::new("input_id", Kind::Long).bounds(),
    Field::new("epoch", Kind::Long).bounds(),
    Field::new("images", Kind::Text).many().nullable(),
];

impl Table {
    /// All of them.
    pub const ALL: [Table; Table::COUNT] = [Table::Captures, Table::Links, Table::Texts];

    /// The number of tables.
    pub const COUNT: usize = 3;

    /// Its name, which is also that of its directory.
    pub fn name(self) -> &'static str {
        match self {
            Table::Captures => "captures",
            Table::Links => "links",
            Table::Texts => "texts",
        }
    }

    /// Returns the settings for writing its files, for any writer.
    ///
    /// # Errors
    /// Cannot happen while the columns have Parquet's names.
    pub fn writer_properties(self) -> Result<WriterProperties, ParquetError> {
        crate::field::properties(self.fields())
    }

    /// Its columns, in order.
    pub fn fields(self) -> &'static [Field] {
        match self {
            Table::Captures => &CAPTURES,
            Table::Links => &LINKS,
            Table::Texts => &TEXTS,
        }
    }
}

/// Which facts are written.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Settings {
    /// Whether to write the texts of pages too.
    pub texts: bool,
}

impl Settings {
    /// Returns the tables that are written.
    pub(crate) fn tables(&self) -> Vec<Table> {
        let is_written = |table: &Table| match table {
            Table::Captures | Table::Links => true,
            Table::Texts => self.texts,
        };
        Table::ALL.into_iter().filter(is_written).collect()
    }
}

/// Hexadecimal digits of a digest that make the number of an input: 8 bytes.
const ID_DIGITS: usize = 16;

/// Returns a number for an input by its content, from 0 to 2^63 - 1, for tables outside an archive:
/// the same bytes have the same number under every name. Among a million different inputs, two have
/// the same number with a probability of 1 in 18 million.
pub fn input_id_of(digest: &str) -> i64 {
    let hex = digest.rsplit(':').next().unwrap_or_default();
    let first = hex.get(..ID_DIGITS).unwrap_or_default();
    let number = u64::from_str_radix(first, 16).unwrap_or_default();
    (number & i64::MAX as u64) as i64
}

/// The input of a capture.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Number of the input, never negative. In an archive it stays the same when the input grows or
    /// is renamed.
    pub id: i64,
    /// Name of the input when the capture was indexed.
    pub name: &'a str,
    /// Its digest, or that of its beginning, when the capture was indexed.
    pub digest: &'a str,
    /// Its collection.
    pub collection: &'a str,
}

/// A capture with its input.
#[derive(Debug, Clone, Copy)]
pub struct Fact<'a> {
    /// The input.
    pub source: Source<'a>,
    /// The capture.
    pub capture: &'a Capture,
}

impl Fact<'_> {
    fn fetch_time_us(&self) -> i64 {
        self.capture.fetch_time_ms.saturating_mul(1_000)
    }

    /// Appends its rows of a table: one, many (`links`) or none.
    pub(crate) fn add_rows(&self, table: Table, epoch: u64, rows: &mut Rows) {
        match table {
            Table::Captures => self.capture_row(epoch, rows),
            Table::Links => self.link_rows(epoch, rows),
            Table::Texts => self.text_row(epoch, rows),
        }
    }

    /// Returns the size of the page's text and images in its rows of a table, in bytes, or more.
    pub(crate) fn page_text_bytes(&self, table: Table) -> usize {
        let text = self.capture.page.as_ref().map_or("", |page| page.text.as_str());
        match table {
            Table::Captures => stored_image_lines(text).len(),
            Table::Links => 0,
            Table::Texts => text.len(),
        }
    }

    /// Appends its row of `captures`.
    fn capture_row(&self, epoch: u64, rows: &mut Rows) {
        let capture = self.capture;
        let url = UrlParts::of(&capture.url);
        let page = capture.page.as_ref();
        let mut row = rows.row();
        row.text(&capture.url_key).text(&capture.url);
        row.host(url.host).host(url.tld());
        row.text(&urlkey::domain_of_key(&capture.url_key));
        row.text(url.protocol);
        match url.port {
            Some(port) => row.int(port),
            None => row.none(),
        };
        row.text(url.path);
        match url.query {
            Some(query) => row.text(query),
            None => row.none(),
        };
        row.long(self.fetch_time_us()).int(capture.status.into());
        row.text(&capture.digest).text(&capture.mime);
        row.text_if_any(capture.mime_detected())
            .text_if_any(page.map_or("", |page| &page.charset))
            .text_if_any(page.map_or("", |page| &page.language))
            .text_if_any(&capture.truncated);
        row.text(self.source.name)
            .long(capture.offset as i64)
            .long(capture.length as i64)
            .text(self.source.collection)
            .text(capture.kind.name())
            .bool(page.is_some())
            .bool(capture.redirects_to_itself);
        match page {
            Some(page) => row
                .text(&page.title)
                .long(visible_text(&page.text).len() as i64)
                .int(i32::try_from(page.links_dropped).unwrap_or(i32::MAX)),
            None => row.none().none().none(),
        };
        row.long(self.source.id)
            .text(self.source.digest)
            .long(epoch as i64)
            .text_if_any(&capture.method)
            .text_if_any(capture.shortfall.name());
        let refers_to = capture.refers_to.as_ref();
        row.text_if_any(refers_to.map_or("", |refers| &refers.url_key));
        match refers_to.and_then(|refers| refers.time_ms) {
            Some(time_ms) => row.long(time_ms.saturating_mul(1_000)),
            None => row.none(),
        };
        row.bool(capture.page.is_none() && capture.document.is_some());
        add_images(capture, &mut row);
        row.end();
    }

    /// Its links, in document order.
    pub(crate) fn links(&self) -> impl Iterator<Item = &Link> {
        let of_page = self.capture.page.iter().flat_map(|page| &page.links);
        of_page.chain(&self.capture.redirect)
    }

    /// Appends its rows of `links`.
    fn link_rows(&self, epoch: u64, rows: &mut Rows) {
        let capture = self.capture;
        let mut links = self.links().peekable();
        if links.peek().is_none() {
            return;
        }
        let source_host = host_of(&capture.url);
        let source_domain = urlkey::domain_of_key(&capture.url_key);
        for link in links {
            let mut row = rows.row();
            row.text(&capture.url_key)
                .text(&capture.url)
                .host(source_host)
                .text(&source_domain);
            row.text(&link.url_key)
                .text(&link.url)
                .host(host_of(&link.url))
                .text(&urlkey::domain_of_key(&link.url_key))
                .text_if_any(&link.anchor)
                .bool(link.nofollow)
                .text(link.kind.name());
            row.long(self.fetch_time_us())
                .text(self.source.name)
                .long(capture.offset as i64)
                .long(self.source.id)
                .long(epoch as i64)
                .end();
        }
    }

    /// Appends its row of `texts`, if it has text.
    fn text_row(&self, epoch: u64, rows: &mut Rows) {
        let capture = self.capture;
        let Some(page) = capture.page.as_ref().filter(|page| !page.text.is_empty()) else {
            return;
        };
        rows.row()
            .text(&capture.url_key)
            .long(self.fetch_time_us())
            .text(&capture.digest)
            .text_if_any(&page.language)
            .text(visible_text(&page.text))
            .long(capture.offset as i64)
            .long(self.source.id)
            .long(epoch as i64)
            .text_if_any(stored_image_lines(&page.text))
            .end();
    }
}

/// Adds the columns of images to a row of `captures`: what the file of an image looks like, and the
/// addresses of the images that a page shows.
fn add_images(capture: &Capture, row: &mut Row<'_>) {
    let document = capture.document.as_ref();
    let file = document
        .filter(|_| capture.mime.starts_with("image/"))
        .and_then(|document| ImageFacts::parse(&document.text));
    let pixels = |file: ImageFacts| i64::from(file.width).saturating_mul(file.height.into());
    let hash = file.and_then(|file| file.hash);
    row.optional_long(file.map(|file| file.width.into()))
        .optional_long(file.map(|file| file.height.into()))
        .optional_long(file.map(pixels))
        .text_if_any(&hash.map_or_else(String::new, |hash| format!("{hash:016x}")));
    let shown = capture.page.as_ref().map(|page| stored_images(&page.text));
    let addresses: Vec<String> = shown.into_iter().flatten().map(|image| image.url).collect();
    row.text_if_any(&addresses.join("\n"));
    let exif = file.and_then(|file| file.exif).unwrap_or_default();
    for text in [exif.time_text(), exif.location_text(), exif.version_text()] {
        row.text_if_any(&text.unwrap_or_default());
    }
}

/// A row of a table, by the names of its columns. A column that the table lacks has no value.
pub trait Cells {
    /// Why a value cannot be read.
    type Error;

    /// Returns a text; empty without a value.
    fn text(&self, column: &str) -> Result<String, Self::Error>;

    /// Returns a number; 0 without a value.
    fn number(&self, column: &str) -> Result<u64, Self::Error>;

    /// Returns a time in milliseconds since 1970.
    fn time_ms(&self, column: &str) -> Result<Option<i64>, Self::Error>;

    /// Returns a truth value; false without one.
    fn boolean(&self, column: &str) -> Result<bool, Self::Error>;

    /// Returns the error for a word that this program does not know.
    fn unknown(&self, column: &str, word: &str) -> Self::Error;
}

/// The columns of `captures` that [`capture_of`] reads.
pub const CAPTURE_COLUMNS: [&str; 20] = [
    "warc_record_offset",
    "warc_record_length",
    "url_surtkey",
    "url",
    "fetch_time",
    "fetch_status",
    "content_digest",
    "content_mime_type",
    "content_charset",
    "content_languages",
    "content_truncated",
    "kind",
    "is_page",
    "redirects_to_itself",
    "title",
    "links_dropped",
    "method",
    "shortfall",
    "refers_to_surtkey",
    "refers_to_time",
];

/// Returns the capture of a row of `captures`, without text and links, which other tables have.
///
/// # Errors
/// Any error of the row.
pub fn capture_of<Row: Cells>(row: &Row) -> Result<Capture, Row::Error> {
    let (kind, shortfall) = (row.text("kind")?, row.text("shortfall")?);
    let refers_to = match row.text("refers_to_surtkey")? {
        url_key if url_key.is_empty() => None,
        url_key => Some(Box::new(RefersTo {
            url_key,
            time_ms: row.time_ms("refers_to_time")?,
        })),
    };
    let page = if row.boolean("is_page")? {
        Some(Page {
            title: row.text("title")?,
            charset: row.text("content_charset")?,
            language: row.text("content_languages")?,
            links_dropped: u32::try_from(row.number("links_dropped")?).unwrap_or(u32::MAX),
            ..Page::default()
        })
    } else {
        None
    };
    Ok(Capture {
        url_key: row.text("url_surtkey")?,
        url: row.text("url")?,
        fetch_time_ms: row.time_ms("fetch_time")?.unwrap_or_default(),
        mime: row.text("content_mime_type")?,
        status: u16::try_from(row.number("fetch_status")?).unwrap_or_default(),
        method: row.text("method")?,
        shortfall: Shortfall::named(&shortfall).ok_or_else(|| row.unknown("shortfall", &shortfall))?,
        digest: row.text("content_digest")?,
        offset: row.number("warc_record_offset")?,
        length: row.number("warc_record_length")?,
        kind: CaptureKind::named(&kind).ok_or_else(|| row.unknown("kind", &kind))?,
        page,
        document: None,
        document_defect: None,
        redirect: None,
        redirects_to_itself: row.boolean("redirects_to_itself")?,
        refers_to,
        original: None,
        truncated: row.text("content_truncated")?,
    })
}

/// Returns the host of an http or https URL as written, like [`UrlParts`].
fn host_of(url: &str) -> &str {
    // Most URLs have no user and no port: then the host ends where the authority does.
    let begin = url.find("://").map_or(0, |colon| colon + 3);
    let rest = &url[begin..];
    let bytes = rest.as_bytes();
    let end = bytes
        .iter()
        .position(|byte| matches!(byte, b'/' | b'?' | b'#' | b'@' | b':' | b'['));
    match end {
        Some(end) if matches!(bytes[end], b'@' | b':' | b'[') => UrlParts::of(url).host,
        end => &rest[..end.unwrap_or(rest.len())],
    }
}

/// The parts of an http or https URL as written. Nothing is decoded or checked, because it was
/// archived so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct UrlParts<'a> {
    protocol: &'a str,
    host: &'a str,
    port: Option<i32>,
    path: &'a str,
    query: Option<&'a str>,
}

impl<'a> UrlParts<'a> {
    fn of(url: &'a str) -> UrlParts<'a> {
        let (protocol, rest) = url.split_once("://").unwrap_or(("", url));
        let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
        // The colons of an IPv6 address are within its brackets.
        let end = place.rfind(':').filter(|colon| !place[*colon..].contains(']'));
        let (host, port) = place.split_at(end.unwrap_or(place.len()));
        let tail = tail.split_once('#').map_or(tail, |(tail, _)| tail);
        let (path, query) = match tail.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (tail, None),
        };
        UrlParts {
            protocol,
            host,
            port: port.get(1..).and_then(|port| port.parse().ok()),
            path: if path.is_empty() { "/" } else { path },
            query,
        }
    }

    /// The last label of the host; empty for an IP address.
    fn tld(&self) -> &'a str {
        match self.host.rsplit_once('.') {
            Some((_, last)) if last.bytes().any(|byte| byte.is_ascii_alphabetic()) => last,
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    use super::*;

    #[track_caller]
    fn check(url: &str, expected: (&str, &str, Option<i32>, &str, Option<&str>), tld: &str) {
        let parts = UrlParts::of(url);
        let found = (parts.protocol, parts.host, parts.port, parts.path, parts.query);
        assert_eq!(found, expected, "{url}");
        assert_eq!(parts.tld(), tld, "{url}");
        assert_eq!(host_of(url), parts.host, "{url}");
    }

    #[test]
    fn urls_are_taken_apart() {
        check(
            "http://www.example.org/a/b?c=1#d",
            ("http", "www.example.org", None, "/a/b", Some("c=1")),
            "org",
        );
        check(
            "https://user:pw@example.org:8443?q",
            ("https", "example.org", Some(8443), "/", Some("q")),
            "org",
        );
        check(
            "http://[::1]:8080/x",
            ("http", "[::1]", Some(8080), "/x", None),
            "",
        );
        check("http://[::1]/x?", ("http", "[::1]", None, "/x", Some("")), "");
        check(
            "http://192.168.1.254",
            ("http", "192.168.1.254", None, "/", None),
            "",
        );
        check("http://a:b/#?", ("http", "a", None, "/", None), "");
        check("", ("", "", None, "/", None), "");
    }

    /// Records which columns are read.
    #[derive(Default)]
    struct ReadColumns(RefCell<BTreeSet<String>>);

    impl ReadColumns {
        fn add(&self, column: &str) {
            self.0.borrow_mut().insert(column.to_owned());
        }
    }

    impl Cells for ReadColumns {
        type Error = String;

        fn text(&self, column: &str) -> Result<String, String> {
            self.add(column);
            Ok(if column == "shortfall" { "" } else { "response" }.to_owned())
        }

        fn number(&self, column: &str) -> Result<u64, String> {
            self.add(column);
            Ok(7)
        }

        fn time_ms(&self, column: &str) -> Result<Option<i64>, String> {
            self.add(column);
            Ok(Some(5))
        }

        fn boolean(&self, column: &str) -> Result<bool, String> {
            self.add(column);
            Ok(true)
        }

        fn unknown(&self, column: &str, word: &str) -> String {
            format!("{column}: {word}")
        }
    }

    #[test]
    fn a_capture_is_read_from_the_listed_columns() {
        let row = ReadColumns::default();
        capture_of(&row).unwrap();
        assert_eq!(row.0.take(), CAPTURE_COLUMNS.map(str::to_owned).into());
        let fields = Table::Captures.fields();
        for column in CAPTURE_COLUMNS {
            assert!(fields.iter().any(|field| field.name == column), "{column}");
        }
    }

    #[test]
    fn names_are_unlike() {
        for table in Table::ALL {
            let mut names: Vec<_> = table.fields().iter().map(|field| field.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), table.fields().len(), "{}", table.name());
        }
    }
}
