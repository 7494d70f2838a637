//! The header of an ARC record: one line, `URL IP date type length` (version 1). Version 2 has
//! result code, checksum, location, offset and file name before the length.
//!
//! URLs in ARC files contain spaces, carriage returns and any other bytes. Dates have 10 to 18
//! digits or are not dates at all; types are empty or contain spaces; date and address may be
//! swapped. A line is therefore parsed around its IP address, from the right. The line of the
//! version block (`filedesc:`) is recognised by its scheme, because its other fields may be dashes
//! or nonsense.

use memchr::memchr;

use crate::reason;
use crate::record::date::parse_date;
use crate::record::head::{BlockLength, Head, Parsed};
use crate::record::headers::Headers;
use crate::record::line::{parse_length, record_within, trim_line_end};
use crate::record::{Format, Kind};
use crate::span::Defect;

/// Longest accepted header line in bytes, including its line end.
pub(crate) const LINE_BYTES_MAX: usize = 1 << 16;

/// How strictly a line is checked before it counts as a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// A record is expected here: unusual fields are accepted.
    Expected,
    /// The line was found by searching: every field must be well-formed.
    Searching,
}

/// The fields of a header line.
#[derive(Debug, PartialEq, Eq)]
struct Line<'a> {
    url: &'a [u8],
    ip: &'a [u8],
    date: &'a [u8],
    /// The type, and in version 2 the fields between it and the length.
    rest: Vec<&'a [u8]>,
    length: &'a [u8],
    transposed: bool,
}

/// Returns whether `bytes` begin with a header line, or `None` if they do not contain its end.
pub(crate) fn is_header(bytes: &[u8], trust: Trust) -> Option<bool> {
    if !starts_like_url(bytes) {
        // There are too few bytes to recognise a scheme, and no line end yet.
        return if bytes.len() < 32 && memchr(b'\n', bytes).is_none() && scheme_bytes(bytes) == bytes.len() {
            None
        } else {
            Some(false)
        };
    }
    match memchr(b'\n', &bytes[..bytes.len().min(LINE_BYTES_MAX)]) {
        Some(length) => Some(read_line(&bytes[..length], trust).is_some()),
        None if bytes.len() >= LINE_BYTES_MAX => Some(false),
        None => None,
    }
}

/// Parses the header line at the start of `bytes`. Reuses the memory of `headers`.
pub(crate) fn parse(bytes: &[u8], headers: &mut Headers) -> Parsed {
    let Some(length) = memchr(b'\n', bytes) else {
        return if bytes.len() > LINE_BYTES_MAX {
            Parsed::Invalid(
                bytes.len(),
                Defect::new(reason::HEADER_TOO_LONG, "no end of the line"),
            )
        } else {
            Parsed::Incomplete
        };
    };
    if let Some(at) = record_within(bytes, 0, trim_line_end(&bytes[..length]).len()) {
        return Parsed::another_begins(at);
    }
    let Some(line) = read_line(&bytes[..length], Trust::Expected) else {
        return Parsed::Invalid(length + 1, Defect::new(reason::JUNK, "not an ARC header line"));
    };
    let is_text = bytes[..length].is_ascii();
    Parsed::Head(Box::new(into_head(&line, headers, is_text)), length + 1)
}

fn into_head(line: &Line<'_>, headers: &mut Headers, is_text: bool) -> Head {
    headers.clear();
    let mut defects = Vec::new();
    let filedesc = is_filedesc(line.url);
    let kind = if filedesc { Kind::Warcinfo } else { Kind::Response };
    headers.push("WARC-Type", kind.as_str());
    headers.push_bytes(b"WARC-Target-URI", line.url);
    // A version block may have dashes for unknown values.
    let is_known = |field: &[u8]| !filedesc || field != b"-";
    if is_known(line.date) {
        push_date(line.date, headers, &mut defects);
    }
    if is_known(line.ip) {
        headers.push_bytes(b"WARC-IP-Address", line.ip);
    }
    let version = push_rest(&line.rest, headers);
    headers.push_bytes(b"Content-Length", line.length);
    if line.transposed {
        defects.push(Defect::new(
            reason::HEADER_INCOMPLETE,
            "date and address have changed places",
        ));
    }
    let block = match parse_length(line.length) {
        Some(length) => BlockLength::Declared(length),
        None => {
            let detail = format!("length: {}", String::from_utf8_lossy(line.length));
            defects.push(Defect::new(reason::LENGTH_INVALID, detail));
            BlockLength::UpToNext
        }
    };
    Head {
        format: Format::Arc(version),
        kind,
        headers: std::mem::take(headers),
        block,
        is_text,
        defects,
    }
}

fn push_date(date: &[u8], headers: &mut Headers, defects: &mut Vec<Defect>) {
    let text = String::from_utf8_lossy(date);
    let parsed = parse_date(&text);
    match parsed {
        Some(date) => headers.push("WARC-Date", &format::date::iso_short(date.ms)),
        None => headers.push("WARC-Date", &text),
    }
    // If a date was parsed only partly, its original form is stored as well.
    if !parsed.is_some_and(|date| date.exact) {
        headers.push("ARC-Date", &text);
        defects.push(Defect::new(reason::DATE_INVALID, format!("ARC date: {text}")));
    }
}

/// Adds the type and the additional fields of version 2. Returns the version.
fn push_rest(rest: &[&[u8]], headers: &mut Headers) -> u8 {
    let (mime, more) = match rest {
        [mime @ .., code, checksum, location, offset, file]
            if !mime.is_empty() && is_number_or_dash(code) && is_number_or_dash(offset) =>
        {
            (
                mime,
                Some([
                    (b"ARC-Result-Code".as_slice(), code),
                    (b"ARC-Checksum", checksum),
                    (b"ARC-Location", location),
                    (b"ARC-Filename", file),
                ]),
            )
        }
        mime => (mime, None),
    };
    headers.push_bytes(b"Content-Type", mime.join(&b' ').trim_ascii());
    for (name, value) in more.iter().flatten() {
        headers.push_bytes(name, value);
    }
    if more.is_some() { 2 } else { 1 }
}

fn read_line(line: &[u8], trust: Trust) -> Option<Line<'_>> {
    if !starts_like_url(line) {
        return None;
    }
    let line = trim_line_end(line);
    let (line, length) = cut_last(line)?;
    let words: Vec<&[u8]> = line.split(|b| *b == b' ').collect();
    let fields = fields_around_ip(&words, line).or_else(|| fields_by_count(&words, line))?;
    let fields = Line { length, ..fields };
    let digits = fields.date.iter().take_while(|b| b.is_ascii_digit()).count();
    let dated = (10..=18).contains(&digits);
    // Some files have negative lengths; the reader reports them as invalid.
    let counted = parse_length(length.strip_prefix(b"-").unwrap_or(length)).is_some();
    let sure = match trust {
        Trust::Expected if is_filedesc(fields.url) => true,
        Trust::Expected if is_ip(fields.ip) => dated || counted,
        Trust::Expected => dated && counted,
        Trust::Searching => is_ip(fields.ip) && dated && counted && !fields.url.contains(&b'<'),
    };
    sure.then_some(fields)
}

/// Returns whether a URL is that of a version block, which begins an ARC file.
pub(crate) fn is_filedesc(url: &[u8]) -> bool {
    url.starts_with(b"filedesc:")
}

/// Splits off the last word of a line.
fn cut_last(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = memchr::memrchr(b' ', line)?;
    Some((&line[..space], &line[space + 1..]))
}

/// Parses `URL IP date type`, or the same with date and address swapped. The URL may contain
/// spaces.
fn fields_around_ip<'a>(words: &[&'a [u8]], line: &'a [u8]) -> Option<Line<'a>> {
    for at in (1..words.len().saturating_sub(1)).rev().take(16) {
        if !is_ip(words[at]) {
            continue;
        }
        let digits_follow = words[at + 1].first().is_some_and(u8::is_ascii_digit);
        if at >= 2 && !digits_follow && is_date_14(words[at - 1]) {
            let url = before(line, words, at - 1);
            let rest = words[at + 1..].to_vec();
            return Some(Line {
                url,
                ip: words[at],
                date: words[at - 1],
                rest,
                length: b"",
                transposed: true,
            });
        }
        if at + 2 < words.len() {
            let rest = words[at + 2..].to_vec();
            let url = before(line, words, at);
            return Some(Line {
                url,
                ip: words[at],
                date: words[at + 1],
                rest,
                length: b"",
                transposed: false,
            });
        }
    }
    None
}

/// Parses the four fields before the length, counted from the right, for lines without a valid
/// address.
fn fields_by_count<'a>(words: &[&'a [u8]], line: &'a [u8]) -> Option<Line<'a>> {
    let at = words.len().checked_sub(3).filter(|at| *at >= 1)?;
    let url = before(line, words, at);
    let rest = words[at + 2..].to_vec();
    Some(Line {
        url,
        ip: words[at],
        date: words[at + 1],
        rest,
        length: b"",
        transposed: false,
    })
}

/// Returns the part of `line` before word number `at`.
fn before<'a>(line: &'a [u8], words: &[&[u8]], at: usize) -> &'a [u8] {
    let after: usize = words[at..].iter().map(|word| word.len() + 1).sum();
    &line[..line.len().saturating_sub(after)]
}

fn is_ip(word: &[u8]) -> bool {
    if word == b"None" {
        return true;
    }
    let likely = word.len() >= 2 && word.len() <= 45 && word.iter().any(|b| matches!(b, b'.' | b':'));
    likely && std::str::from_utf8(word).is_ok_and(|text| text.parse::<std::net::IpAddr>().is_ok())
}

fn is_date_14(word: &[u8]) -> bool {
    word.len() == 14 && word.iter().all(u8::is_ascii_digit)
}

fn is_number_or_dash(word: &[u8]) -> bool {
    word == b"-" || (!word.is_empty() && word.iter().all(u8::is_ascii_digit))
}

/// Returns whether the text begins with `scheme:`.
fn starts_like_url(bytes: &[u8]) -> bool {
    let scheme = scheme_bytes(bytes);
    (2..=20).contains(&scheme) && bytes.get(scheme) == Some(&b':')
}

fn scheme_bytes(bytes: &[u8]) -> usize {
    match bytes.first() {
        Some(first) if first.is_ascii_alphabetic() => {
            let more = |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
            bytes.iter().take(32).take_while(more).count()
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, trust: Trust, expected: Option<[&str; 5]>) {
        let read = read_line(line.as_bytes(), trust);
        let found = read.map(|l| {
            let mime = l.rest.join(&b' ');
            [l.url, l.ip, l.date, &mime, l.length].map(|f| String::from_utf8_lossy(f).into_owned())
        });
        assert_eq!(found, expected.map(|fields| fields.map(str::to_owned)), "{line}");
    }

    #[test]
    fn lines_seen_in_archives() {
        use Trust::{Expected, Searching};
        let plain = ["http://a.b/", "1.2.3.4", "20000823054100", "image/gif", "881"];
        check(
            "http://a.b/ 1.2.3.4 20000823054100 image/gif 881",
            Searching,
            Some(plain),
        );
        let spaces = [
            "http://a.b/x y  z&",
            "1.2.3.4",
            "20000823054100",
            "image/gif",
            "881",
        ];
        check(
            "http://a.b/x y  z& 1.2.3.4 20000823054100 image/gif 881",
            Searching,
            Some(spaces),
        );
        let short = ["http://a.b/", "1.2.3.4", "20110804181142", "", "39"];
        check("http://a.b/ 1.2.3.4 20110804181142  39", Searching, Some(short));
        let typed = [
            "http://a.b/",
            "1.2.3.4",
            "20000824015105",
            "text/html; Charset=iso-8859-1",
            "20567",
        ];
        check(
            "http://a.b/ 1.2.3.4 20000824015105 text/html; Charset=iso-8859-1 20567",
            Searching,
            Some(typed),
        );
        let none = ["http://a.b/", "None", "20160211000000jpg", "text/html", "12"];
        check(
            "http://a.b/ None 20160211000000jpg text/html 12",
            Expected,
            Some(none),
        );
        let hex = ["http://a.b/", "1.2.3.4", "a0d1fdddf316", "text/html", "12"];
        check(
            "http://a.b/ 1.2.3.4 a0d1fdddf316 text/html 12",
            Expected,
            Some(hex),
        );
        check("http://a.b/ 1.2.3.4 a0d1fdddf316 text/html 12", Searching, None);
        let swapped = ["http://a.b/", "1.2.3.4", "20031219215023", "text/plain", "285"];
        check(
            "http://a.b/ 20031219215023 1.2.3.4 text/plain 285",
            Expected,
            Some(swapped),
        );
        let negative = ["http://a.b/", "1.2.3.4", "20031219215023", "text/plain", "-285"];
        check(
            "http://a.b/ 1.2.3.4 20031219215023 text/plain -285",
            Searching,
            Some(negative),
        );
    }

    #[test]
    fn version_blocks_need_no_field_but_their_scheme() {
        use Trust::{Expected, Searching};
        let dashes = ["filedesc://", "-", "-", "-", "76"];
        check("filedesc:// - - - 76", Expected, Some(dashes));
        check("filedesc:// - - - 76", Searching, None);
        let nonsense = [
            "filedesc://x|\\\\y",
            "a.b.c.d",
            "blue_monday",
            "gif\\image",
            "one",
        ];
        check(
            "filedesc://x|\\\\y a.b.c.d blue_monday gif\\image one",
            Expected,
            Some(nonsense),
        );
        let defects = |line: &str| match parse(line.as_bytes(), &mut Headers::new()) {
            Parsed::Head(head, _) => {
                assert_eq!(head.kind, Kind::Warcinfo);
                head.defects
                    .iter()
                    .map(|defect| defect.reason)
                    .collect::<Vec<_>>()
            }
            _ => panic!("{line}"),
        };
        assert!(defects("filedesc:// - - - 76\n").is_empty());
        assert_eq!(
            defects("filedesc://x a.b.c.d blue_monday gif\\image one\n"),
            [reason::DATE_INVALID, reason::LENGTH_INVALID]
        );
    }

    #[test]
    fn not_header_lines() {
        for line in [
            "",
            "http:",
            "http://a.b/ c d e f",
            "x 1.2.3.4 20031219215023 text/plain 1",
            "a: b c",
        ] {
            check(line, Trust::Expected, None);
        }
    }
}
