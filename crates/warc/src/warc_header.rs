//! The header of a WARC record: a version line, fields, an empty line.
//!
//! Tolerant: lines end in LF with any number of CR before it, names have any case, values may be folded,
//! lines that are no field are noted and left out.

use memchr::memchr;

use crate::date::parse_date;
use crate::entry::Defect;
use crate::head::{BlockLength, HEADER_BYTES_MAX, Head, Parsed};
use crate::headers::Headers;
use crate::reason;
use crate::record::{Format, Kind};

/// Longest version line accepted, its line end included.
pub(crate) const VERSION_LINE_BYTES_MAX: usize = 64;

/// The version line at the start of `bytes`: its format and length. `None` if it is none or not whole.
pub(crate) fn version_line(bytes: &[u8]) -> Option<(Format, usize)> {
    let rest = bytes.strip_prefix(b"WARC/")?;
    let (major, rest) = small_number(rest)?;
    let (minor, rest) = small_number(rest.strip_prefix(b".")?)?;
    let blanks = rest
        .iter()
        .take_while(|b| matches!(b, b'\r' | b' ' | b'\t'))
        .count();
    let length = bytes.len() - rest.len() + blanks + 1;
    let ended = rest.get(blanks) == Some(&b'\n') && length <= VERSION_LINE_BYTES_MAX;
    ended.then_some((Format::Warc(major, minor), length))
}

/// Whether a version line stands here and the line after it begins like a field (`name:`): what is asked
/// of a record found where none was expected.
pub(crate) fn plausible(bytes: &[u8]) -> bool {
    let Some((_, length)) = version_line(bytes) else {
        return false;
    };
    let name = bytes[length..].iter().take_while(|b| is_name_byte(**b)).count();
    name > 1 && bytes.get(length + name) == Some(&b':')
}

/// Bytes from the start of a version line that [`plausible`] may need to see.
pub(crate) const PLAUSIBLE_BYTES: usize = VERSION_LINE_BYTES_MAX + 128;

/// Parses the header at the start of `bytes`; `headers` lends its memory.
pub(crate) fn parse(bytes: &[u8], headers: &mut Headers) -> Parsed {
    let Some((format, version_length)) = version_line(bytes) else {
        return Parsed::Invalid(1, Defect::new(reason::JUNK, "not a WARC version line"));
    };
    headers.clear();
    let mut lines_invalid = LinesInvalid::default();
    let mut position = version_length;
    loop {
        let Some(length) = memchr(b'\n', &bytes[position..]) else {
            return match bytes.len() > HEADER_BYTES_MAX {
                true => too_long(bytes.len()),
                false => Parsed::Incomplete,
            };
        };
        let line = trim_line_end(&bytes[position..position + length]);
        if line.is_empty() {
            position += length + 1;
            break;
        }
        if line.starts_with(b"WARC/") && version_line(&bytes[position..]).is_some() {
            let detail = format!("another record begins {position} bytes into this header");
            return Parsed::Invalid(position, Defect::new(reason::TRUNCATED_HEADER, detail));
        }
        if !push_line(line, headers) {
            lines_invalid.note(line);
        }
        position += length + 1;
        if position > HEADER_BYTES_MAX {
            return too_long(position);
        }
    }
    finish(format, headers, lines_invalid, position)
}

fn too_long(bytes: usize) -> Parsed {
    let detail = format!("no end of the header within {HEADER_BYTES_MAX} bytes");
    Parsed::Invalid(bytes, Defect::new(reason::HEADER_TOO_LONG, detail))
}

/// Adds a line to the fields; false if it is none.
fn push_line(line: &[u8], headers: &mut Headers) -> bool {
    if matches!(line[0], b' ' | b'\t') {
        headers.extend_last(line.trim_ascii());
        return !headers.is_empty();
    }
    let Some(colon) = memchr(b':', line) else {
        return false;
    };
    let name = line[..colon].trim_ascii();
    if name.is_empty() {
        return false;
    }
    headers.push_bytes(name, line[colon + 1..].trim_ascii());
    true
}

#[derive(Default)]
struct LinesInvalid {
    count: u64,
    first: String,
}

impl LinesInvalid {
    fn note(&mut self, line: &[u8]) {
        if self.count == 0 {
            self.first = String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned();
        }
        self.count += 1;
    }
}

fn finish(format: Format, headers: &mut Headers, lines_invalid: LinesInvalid, length: usize) -> Parsed {
    // One walk over the fields for all that is needed here.
    let (mut kind, mut declared, mut date) = (None, None, None);
    for (name, value) in headers.iter() {
        match name.len() {
            9 if kind.is_none() && name.eq_ignore_ascii_case("WARC-Type") => kind = Some(Kind::parse(value)),
            9 if date.is_none() && name.eq_ignore_ascii_case("WARC-Date") => date = Some(value),
            14 if declared.is_none() && name.eq_ignore_ascii_case("Content-Length") => declared = Some(value),
            _ => {}
        }
    }
    if kind.is_none() && declared.is_none() {
        let detail = "a version line without WARC-Type and Content-Length";
        return Parsed::Invalid(length, Defect::new(reason::JUNK, detail));
    }
    let mut defects = Vec::new();
    if lines_invalid.count > 0 {
        let detail = format!(
            "{} lines, the first: {}",
            lines_invalid.count, lines_invalid.first
        );
        defects.push(Defect::new(reason::HEADER_LINE_INVALID, detail));
    }
    if kind.is_none() {
        defects.push(Defect::new(reason::HEADER_INCOMPLETE, "no WARC-Type"));
    }
    if !date.and_then(parse_date).is_some_and(|date| date.exact) {
        let detail = format!("WARC-Date: {}", date.unwrap_or("missing"));
        defects.push(Defect::new(reason::DATE_INVALID, detail));
    }
    let block = block_length(declared, &mut defects);
    let headers = std::mem::take(headers);
    let kind = kind.unwrap_or(Kind::Unknown);
    Parsed::Head(
        Box::new(Head {
            format,
            kind,
            headers,
            block,
            defects,
        }),
        length,
    )
}

fn block_length(declared: Option<&str>, defects: &mut Vec<Defect>) -> BlockLength {
    let Some(text) = declared else {
        defects.push(Defect::new(reason::LENGTH_MISSING, "no Content-Length"));
        return BlockLength::UpToNext;
    };
    match parse_length(text.as_bytes()) {
        Some(length) => BlockLength::Declared(length),
        None => {
            defects.push(Defect::new(
                reason::LENGTH_INVALID,
                format!("Content-Length: {text}"),
            ));
            BlockLength::UpToNext
        }
    }
}

/// A length in decimal digits that a file can have.
pub(crate) fn parse_length(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 19 {
        return None;
    }
    text.iter().try_fold(0u64, |sum, b| {
        b.is_ascii_digit().then(|| sum * 10 + u64::from(b - b'0'))
    })
}

/// The line without the CRs that stand before its LF.
pub(crate) fn trim_line_end(mut line: &[u8]) -> &[u8] {
    while let [rest @ .., b'\r'] = line {
        line = rest;
    }
    line
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

fn small_number(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let digits = bytes.iter().take(3).take_while(|b| b.is_ascii_digit()).count();
    let value: u8 = std::str::from_utf8(&bytes[..digits]).ok()?.parse().ok()?;
    Some((value, &bytes[digits..]))
}
