//! Reads the lists of pages of a package (`pages/pages.jsonl`, `pages/extraPages.jsonl` and others
//! of that form): one JSON object per line.
//!
//! Invariants:
//! - memory is bounded by one line of [`LINE_BYTES_MAX`], even if lines are longer;
//! - a line that cannot be used is returned with its position and the reason, and reading continues
//!   after it.

use std::io::{self, BufRead, Read};

use serde_json::{Map, Value};

use crate::byte_order_mark::without_bom;

/// Limit of the length of a line in bytes. It may contain the text of a page.
const LINE_BYTES_MAX: u64 = 4 << 20;

/// The list of the pages for which a crawl was made.
pub const MAIN_LIST: &str = "pages/pages.jsonl";

/// Returns whether a member of a package is a list of pages by its name.
pub(crate) fn is_page_list(member: &str) -> bool {
    let name = member.strip_prefix("pages/");
    name.is_some_and(|name| name.ends_with(".jsonl") && !name.contains('/'))
}

/// A page in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedPage {
    /// URL as listed.
    pub url: String,
    /// URL key of `url`.
    pub url_key: String,
    /// Milliseconds since 1970.
    pub fetch_time_ms: i64,
    /// The complete object.
    pub object: Map<String, Value>,
}

impl ListedPage {
    /// Returns a field with a string value.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.object.get(field).and_then(Value::as_str)
    }
}

/// Why a line has no page that can be used.
#[derive(Debug, thiserror::Error)]
pub enum PageLineError {
    /// The line is too long.
    #[error("found {0} bytes, expected at most {LINE_BYTES_MAX}")]
    Length(u64),
    /// The line is not JSON.
    #[error("found no JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The line is another value than an object.
    #[error("found no JSON object")]
    NoObject,
    /// The object has no URL.
    #[error("found no url")]
    NoUrl,
    /// The URL has no key.
    #[error("found the url {0:?}: {1}")]
    Url(String, urlkey::KeyError),
    /// The time of the capture is missing or invalid.
    #[error("found the ts {0}, expected a time as 2020-10-07T21:22:36Z")]
    Time(Value),
}

/// A line with its position in the unpacked list.
#[derive(Debug)]
pub struct PageLine {
    /// Counted from 1.
    pub number: u64,
    /// First byte of the line.
    pub offset: u64,
    /// The page, or why it cannot be used; `None` for an empty line and for the header line.
    pub page: Result<Option<ListedPage>, PageLineError>,
}

/// The lines of a list, in order.
pub struct PageLines<R> {
    reader: R,
    /// Number of lines read.
    number: u64,
    /// Offset of the next line.
    offset: u64,
    buffer: Vec<u8>,
}

impl<R: BufRead> PageLines<R> {
    /// Continues after `number` lines, `offset` bytes from the beginning of the list.
    pub(crate) fn at(reader: R, offset: u64, number: u64) -> PageLines<R> {
        PageLines {
            reader,
            number,
            offset,
            buffer: Vec::new(),
        }
    }

    /// Returns the offset of the next line, and the number of lines read.
    pub fn position(&self) -> (u64, u64) {
        (self.offset, self.number)
    }

    /// Returns the underlying reader.
    pub(super) fn into_reader(self) -> R {
        self.reader
    }

    /// Returns the next line; `None` at the end.
    ///
    /// # Errors
    /// The list cannot be read.
    pub fn next_line(&mut self) -> io::Result<Option<PageLine>> {
        self.buffer.clear();
        let offset = self.offset;
        let mut bounded = (&mut self.reader).take(LINE_BYTES_MAX);
        let mut length = bounded.read_until(b'\n', &mut self.buffer)? as u64;
        if length == 0 {
            return Ok(None);
        }
        let is_whole = self.buffer.ends_with(b"\n") || length < LINE_BYTES_MAX;
        if !is_whole {
            length += self.pass_line()?;
        }
        self.number += 1;
        self.offset += length;
        let page = match is_whole {
            true if offset == 0 => page_of(without_bom(&self.buffer)),
            true => page_of(&self.buffer),
            false => Err(PageLineError::Length(length)),
        };
        Ok(Some(PageLine {
            number: self.number,
            offset,
            page,
        }))
    }

    /// Skips the rest of a line, and returns its length in bytes.
    fn pass_line(&mut self) -> io::Result<u64> {
        let mut passed = 0;
        loop {
            let piece = self.reader.fill_buf()?;
            let end = piece.iter().position(|byte| *byte == b'\n');
            let bytes = end.map_or(piece.len(), |at| at + 1);
            self.reader.consume(bytes);
            passed += bytes as u64;
            if end.is_some() || bytes == 0 {
                return Ok(passed);
            }
        }
    }
}

/// Parses the page in a line; `None` if the line is not that of a page.
fn page_of(line: &[u8]) -> Result<Option<ListedPage>, PageLineError> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    let Value::Object(object) = serde_json::from_slice(line)? else {
        return Err(PageLineError::NoObject);
    };
    let Some(url) = object.get("url").and_then(Value::as_str) else {
        return if object.contains_key("format") {
            Ok(None)
        } else {
            Err(PageLineError::NoUrl)
        };
    };
    let url_key = urlkey::url_key(url).map_err(|error| PageLineError::Url(url.to_owned(), error))?;
    let ts = object.get("ts");
    let Some(fetch_time_ms) = ts.and_then(ms_of) else {
        return Err(PageLineError::Time(ts.cloned().unwrap_or_default()));
    };
    Ok(Some(ListedPage {
        url: url.to_owned(),
        url_key,
        fetch_time_ms,
        object,
    }))
}

/// Parses a time (RFC 3339, or 14 digits). Old tools wrote milliseconds since 1970.
fn ms_of(ts: &Value) -> Option<i64> {
    match ts {
        Value::String(text) => warc::parse_date(text).map(|date| date.ms),
        Value::Number(number) => number.as_i64(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expects `(number, offset, url or prefix of the reason)` for each line.
    #[track_caller]
    fn check(text: &[u8], expected: &[(u64, u64, &str)]) {
        let mut lines = PageLines::at(text, 0, 0);
        let mut expected = expected.iter();
        while let Some(line) = lines.next_line().unwrap() {
            let told = match line.page {
                Ok(None) => continue,
                Ok(Some(page)) => page.url,
                Err(error) => error.to_string(),
            };
            let (number, offset, begins) = expected.next().expect("no more lines");
            assert_eq!((line.number, line.offset), (*number, *offset), "{told}");
            assert!(told.starts_with(begins), "{told}, expected {begins}");
        }
        assert_eq!(expected.next(), None);
        assert_eq!(lines.position().0, text.len() as u64);
    }

    #[test]
    fn pages_and_damage_are_told_with_their_places() {
        let text = concat!(
            "{\"format\": \"json-pages-1.0\", \"id\": \"pages\"}\n",
            "{\"url\": \"http://a.example/\", \"ts\": \"2020-10-07T21:22:36Z\"}\r\n",
            "\n",
            "{\"url\": \"http://a.example/\", \"ts\": 1602105756000}\n",
            "{\"url\": \"http://a.ex",
        );
        check(
            text.as_bytes(),
            &[
                (2, 44, "http://a.example/"),
                (4, 105, "http://a.example/"),
                (5, 155, "found no JSON: EOF"),
            ],
        );
        for (line, why) in [
            ("[]", "found no JSON object"),
            ("{}", "found no url"),
            (r#"{"url": 3, "ts": "2020"}"#, "found no url"),
            (r#"{"url": "http://a.example/"}"#, "found the ts null"),
            (r#"{"url": "http://a.example/", "ts": "x"}"#, "found the ts \"x\""),
            (r#"{"url": "//", "ts": "2020"}"#, "found the url"),
            ("\u{0}\u{1}", "found no JSON"),
        ] {
            check(line.as_bytes(), &[(1, 0, why)]);
        }
        check(b"", &[]);
    }

    #[test]
    fn a_line_without_end_costs_itself_alone() {
        let mut text = vec![b'x'; 2 * LINE_BYTES_MAX as usize + 5];
        text.extend(b"\n{\"url\": \"http://a.example/\", \"ts\": \"2020\"}");
        let behind = 2 * LINE_BYTES_MAX + 6;
        check(
            &text,
            &[(1, 0, "found 8388614 bytes"), (2, behind, "http://a.example/")],
        );
    }

    #[test]
    fn reading_goes_on_at_any_line() {
        let text = b"{\"url\": \"http://a.example/\", \"ts\": \"2020\"}\n{\"url\": \"http://b.example/\", \"ts\": \"2021\"}\n";
        let mut lines = PageLines::at(&text[..], 0, 0);
        let first = lines.next_line().unwrap().unwrap();
        assert_eq!(first.page.unwrap().unwrap().fetch_time_ms, 1_577_836_800_000);
        let (offset, number) = lines.position();
        let mut lines = PageLines::at(&text[offset as usize..], offset, number);
        let second = lines.next_line().unwrap().unwrap();
        assert_eq!((second.number, second.offset), (2, offset));
    }

    /// Returns all lines as `(number, offset, page or reason)`, and the position after each of
    /// them.
    fn all_lines(text: &[u8], offset: u64, number: u64) -> (Vec<String>, Vec<(u64, u64)>) {
        let mut lines = PageLines::at(text, offset, number);
        let (mut told, mut places) = (Vec::new(), vec![lines.position()]);
        while let Some(line) = lines.next_line().unwrap() {
            told.push(format!("{line:?}"));
            places.push(lines.position());
        }
        (told, places)
    }

    proptest::proptest! {
        #[test]
        fn whatever_a_list_holds_each_byte_is_in_one_line_and_reading_goes_on_at_each(
            pieces in proptest::collection::vec("\\PC{0,6}|\n|\r\n|\\{\"url\": \"http://a.example/\", \"ts\": \"2020\"\\}|[\\x00-\\x1f]", 0..20)
        ) {
            let text = pieces.concat().into_bytes();
            let (told, places) = all_lines(&text, 0, 0);
            let (end, lines) = *places.last().unwrap();
            proptest::prop_assert_eq!(end, text.len() as u64);
            proptest::prop_assert_eq!(lines, told.len() as u64);
            for (read, (offset, number)) in places.iter().enumerate() {
                let rest = all_lines(&text[*offset as usize..], *offset, *number).0;
                proptest::prop_assert_eq!(&rest[..], &told[read..]);
            }
        }
    }

    #[test]
    fn lists_are_known_by_their_names() {
        assert!(is_page_list(MAIN_LIST) && is_page_list("pages/extraPages.jsonl"));
        assert!(
            !is_page_list("pages/x.json")
                && !is_page_list("pages/a/x.jsonl")
                && !is_page_list("x/pages.jsonl")
        );
    }
}
