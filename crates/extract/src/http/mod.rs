//! Reads the HTTP layer of a response: the status, the needed headers, and where the payload
//! begins.
//!
//! Every input has a head: a status line without a number gives status 0, lines without a colon are
//! ignored, lines may end in CR LF or LF, and a head without its empty line reaches to the end of
//! the block.

pub(crate) mod chunked;
pub(crate) mod coding;

use std::borrow::Cow;

/// Maximum number of codings kept. Real responses have fewer, but a header may name millions.
const CODINGS_MAX: usize = 8;

/// Maximum number of fields returned from a head. Servers send some tens.
const FIELDS_MAX: usize = 256;

/// The fields kept of an HTTP head.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    /// The status; 0 if the status line has none.
    pub(crate) status: u16,
    /// Number of bytes before the payload.
    pub(crate) length: usize,
    /// The first Content-Type.
    pub(crate) content_type: Option<String>,
    /// The first Content-Length.
    pub(crate) content_length: Option<String>,
    /// The first Content-Language.
    pub(crate) content_language: Option<String>,
    /// The first Location.
    pub(crate) location: Option<String>,
    /// The first Refresh.
    pub(crate) refresh: Option<String>,
    /// The first Content-Range.
    pub(crate) content_range: Option<String>,
    /// The first Content-Encodings in the order they were applied, lower case.
    pub(crate) codings: Vec<String>,
    /// Whether Transfer-Encoding names `chunked`.
    pub(crate) chunked: bool,
    /// The first other Transfer-Encodings in the order they were applied, lower case, without
    /// parameters.
    pub(crate) transfer_codings: Vec<String>,
}

/// Returns whether a block begins like an HTTP response.
pub(crate) fn begins_like_http(block: &[u8]) -> bool {
    let Some((word, rest)) = block.split_at_checked(4) else {
        return false;
    };
    word.eq_ignore_ascii_case(b"HTTP") && matches!(rest.first(), Some(b'/' | b' '))
}

/// Reads the head of `block`. Interim responses (`100 Continue`) before the final one are skipped
/// (RFC 9110, 15.2).
pub(crate) fn parse_head(block: &[u8]) -> Head {
    let (length, head) = last_head(block);
    Head { length, ..head }
}

/// Returns the final head, and the length of all heads together.
fn last_head(block: &[u8]) -> (usize, Head) {
    let mut head = parse_one_head(block);
    let mut skipped = 0;
    while matches!(head.status, 100 | 102 | 103) && begins_like_http(&block[skipped + head.length..]) {
        skipped += head.length;
        head = parse_one_head(&block[skipped..]);
    }
    (skipped + head.length, head)
}

fn parse_one_head(block: &[u8]) -> Head {
    let mut head = Head::default();
    let (status_line, length) = read_fields(block, |name, value| head.take_field(name, value));
    head.status = status_line.map_or(0, status_of);
    head.length = length;
    head
}

/// Reads one head. Returns its first line and its length, and passes each field to `take`.
fn read_fields(block: &[u8], mut take: impl FnMut(&[u8], &[u8])) -> (Option<&[u8]>, usize) {
    let mut lines = Lines { block, at: 0 };
    let status_line = lines.next();
    let mut field: Option<(&[u8], Cow<[u8]>)> = None;
    for line in lines.by_ref() {
        if line.is_empty() {
            break;
        }
        // RFC 9112, 5.2 forbids folded lines, but old servers send them.
        let folded = line.starts_with(b" ") || line.starts_with(b"\t");
        if folded && let Some((_, value)) = &mut field {
            let value = value.to_mut();
            value.push(b' ');
            value.extend_from_slice(line.trim_ascii());
            continue;
        }
        if let Some((name, value)) = field.take() {
            take(name, &value);
        }
        field = memchr::memchr(b':', line).map(|colon| {
            (
                line[..colon].trim_ascii(),
                Cow::Borrowed(line[colon + 1..].trim_ascii()),
            )
        });
    }
    if let Some((name, value)) = field {
        take(name, &value);
    }
    (status_line, lines.at)
}

/// Returns all fields of the final head of `block`, as sent: names and values, at most
/// [`FIELDS_MAX`].
pub(crate) fn fields(block: &[u8]) -> Vec<(String, String)> {
    let (length, last) = last_head(block);
    let mut fields = Vec::new();
    read_fields(&block[length - last.length..], |name, value| {
        if fields.len() < FIELDS_MAX {
            fields.push((text(name), text(value)));
        }
    });
    fields
}

impl Head {
    /// Returns all codings in the order in which they were applied: those of the content, then
    /// those of the transfer without `chunked`.
    pub(crate) fn all_codings(&self) -> Vec<String> {
        [self.codings.as_slice(), &self.transfer_codings].concat()
    }

    /// Returns the first transfer coding that cannot be decoded.
    pub(crate) fn unknown_transfer_coding(&self) -> Option<&str> {
        let mut codings = self.transfer_codings.iter().map(String::as_str);
        codings.find(|coding| !coding::is_known(coding))
    }

    /// Stores one header field. If a field is repeated the first one counts, except that all
    /// codings are kept.
    fn take_field(&mut self, name: &[u8], value: &[u8]) {
        let slot = match name.len() {
            12 if name.eq_ignore_ascii_case(b"content-type") => &mut self.content_type,
            14 if name.eq_ignore_ascii_case(b"content-length") => &mut self.content_length,
            16 if name.eq_ignore_ascii_case(b"content-language") => &mut self.content_language,
            8 if name.eq_ignore_ascii_case(b"location") => &mut self.location,
            7 if name.eq_ignore_ascii_case(b"refresh") => &mut self.refresh,
            13 if name.eq_ignore_ascii_case(b"content-range") => &mut self.content_range,
            16 if name.eq_ignore_ascii_case(b"content-encoding") => {
                let room = CODINGS_MAX.saturating_sub(self.codings.len());
                self.codings.extend(words(value).take(room));
                return;
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                for word in words(value) {
                    let coding = word.split(';').next().unwrap_or("").trim_end();
                    match coding {
                        "chunked" => self.chunked = true,
                        _ if self.transfer_codings.len() >= CODINGS_MAX => {}
                        _ => self.transfer_codings.push(coding.to_owned()),
                    }
                }
                return;
            }
            _ => return,
        };
        if slot.is_none() && !value.is_empty() {
            *slot = Some(text(value));
        }
    }
}

/// Returns comma-separated words in lower case.
fn words(value: &[u8]) -> impl Iterator<Item = String> {
    value
        .split(|b| *b == b',')
        .map(|word| text(word.trim_ascii()).to_ascii_lowercase())
        .filter(|word| !word.is_empty())
}

/// Decodes header text as UTF-8, or else as Windows-1252.
fn text(value: &[u8]) -> String {
    match std::str::from_utf8(value) {
        Ok(value) => value.to_owned(),
        Err(_) => encoding_rs::WINDOWS_1252
            .decode_without_bom_handling(value)
            .0
            .into_owned(),
    }
}

/// Reads the status of `HTTP/1.1 200 OK`, `HTTP/2 200`, `HTTP 200`, `HTTP/1.1  404`: the first
/// number after the version.
fn status_of(line: &[u8]) -> u16 {
    let mut words = line
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    let Some(code) = words.nth(1) else { return 0 };
    let code = match code {
        [a, b, c] | [a, b, c, b'.' | b',' | b':', ..] => [*a, *b, *c],
        _ => return 0,
    };
    if !code.iter().all(u8::is_ascii_digit) {
        return 0;
    }
    code.iter()
        .fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0'))
}

/// Iterates over lines without their ends.
struct Lines<'a> {
    block: &'a [u8],
    /// Start of the next line; at most the length of `block`.
    at: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = &self.block[self.at..];
        if rest.is_empty() {
            return None;
        }
        let (line, used) = match memchr::memchr(b'\n', rest) {
            Some(end) => (&rest[..end], end + 1),
            None => (rest, rest.len()),
        };
        self.at += used;
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

/// Returns whether a `Content-Range` covers the whole (RFC 9110, 14.4): from the first byte to the
/// last of a known length.
pub(crate) fn is_whole_range(content_range: Option<&str>) -> bool {
    let whole = |range: &str| -> Option<bool> {
        let (unit, range) = range
            .trim()
            .split_once(|c: char| c.is_ascii_whitespace() || c == '=')?;
        let (span, length) = range.split_once('/')?;
        let (first, last) = span.split_once('-')?;
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let reaches_end = number(last)?.checked_add(1)? == number(length)?;
        Some(unit.eq_ignore_ascii_case("bytes") && number(first)? == 0 && reaches_end)
    };
    content_range.and_then(whole).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(block: &str, status: u16, payload: &str) -> Head {
        let head = parse_head(block.as_bytes());
        assert_eq!(head.status, status, "{block:?}");
        assert_eq!(&block[head.length..], payload, "{block:?}");
        head
    }

    #[test]
    fn ordinary_head() {
        let head = check(
            "HTTP/1.1 301 Moved\r\nContent-Type: text/html; charset=x\r\nLOCATION:/y\r\n\
             Transfer-Encoding: gzip, Chunked\r\nContent-Encoding: br\r\ncontent-encoding: GZIP\r\n\r\nbody",
            301,
            "body",
        );
        assert_eq!(head.content_type.as_deref(), Some("text/html; charset=x"));
        assert_eq!(head.location.as_deref(), Some("/y"));
        assert_eq!(head.codings, ["br", "gzip"]);
        assert!(head.chunked);
        assert_eq!(head.transfer_codings, ["gzip"]);
        assert_eq!(head.all_codings(), ["br", "gzip", "gzip"]);
    }

    #[test]
    fn ranges_of_the_whole() {
        for (range, is_whole) in [
            ("bytes 0-999/1000", true),
            ("Bytes 0-0/1 ", true),
            ("bytes=0-999/1000", true),
            ("bytes 0-998/1000", false),
            ("bytes 1-999/1000", false),
            ("bytes 0-999/*", false),
            ("bytes */1000", false),
            ("items 0-9/10", false),
            ("bytes 0-18446744073709551615/0", false),
            ("", false),
        ] {
            assert_eq!(is_whole_range(Some(range)), is_whole, "{range:?}");
        }
        assert!(!is_whole_range(None));
    }

    #[test]
    fn odd_heads() {
        check("HTTP/1.1 200\r\n\r\nx", 200, "x");
        check("HTTP/1.1 200 \n\nx", 200, "x");
        check("HTTP 404 Not Found\n\r\nx", 404, "x");
        check("HTTP/2 204\r\n\r\n", 204, "");
        check("HTTP/1.1 OK\r\n\r\nx", 0, "x");
        check("HTTP/1.1\r\n\r\nx", 0, "x");
        check("HTTP/1.1 99999 x\r\n\r\nx", 0, "x");
        check("HTTP/1.1 200 OK\r\nno colon\r\n: no name\r\n\r\nx", 200, "x");
        check("", 0, "");
    }

    #[test]
    fn head_without_end_reaches_to_the_end() {
        let head = check("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n", 200, "");
        assert_eq!(head.content_type.as_deref(), Some("text/plain"));
        check("HTTP/1.0 200 OK", 200, "");
    }

    #[test]
    fn folded_lines_belong_to_the_field_before() {
        let head = check(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html;\r\n  charset=utf-8\r\n\r\n",
            200,
            "",
        );
        assert_eq!(head.content_type.as_deref(), Some("text/html; charset=utf-8"));
    }

    #[test]
    fn interim_responses_are_passed_over() {
        check("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nx", 200, "x");
        check("HTTP/1.1 100 Continue\r\n\r\n", 100, "");
    }

    #[test]
    fn header_values_that_are_not_utf8() {
        let head = parse_head(b"HTTP/1.1 302 Found\r\nLocation: /caf\xe9\r\n\r\n");
        assert_eq!(head.location.as_deref(), Some("/café"));
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_head(block in proptest::collection::vec(prop_oneof![
            Just(b'\r'), Just(b'\n'), Just(b':'), Just(b' '), Just(b'H'), Just(b'1'), any::<u8>()
        ], 0..200)) {
            prop_assert!(parse_head(&block).length <= block.len());
            let mut http = b"HTTP/1.1 100 X\r\n\r\nHTTP/".to_vec();
            http.extend(&block);
            prop_assert!(parse_head(&http).length <= http.len());
        }
    }
}
