//! The header of a WARC record (ISO 28500): a version line, fields, an empty line.
//!
//! The parser is tolerant: lines end in LF preceded by any number of CR, names have any case,
//! values may be folded, and lines that are not fields are reported and ignored.

use memchr::{memchr, memchr_iter};

use crate::reason;
use crate::record::arc::{self, Trust};
use crate::record::date::parse_date;
use crate::record::head::{BlockLength, HEADER_BYTES_MAX, Head, Parsed};
use crate::record::headers::{Field, Headers};
use crate::record::line::{may_be_version_line, parse_length, record_within, trim_line_end, version_line};
use crate::record::{Format, Kind};
use crate::span::Defect;

/// Fields that most records have exactly once. If one is repeated after a version line within a
/// line, the header was cut in that line and another record begins there. Otherwise the version
/// line is the end of a value, such as a URL.
const ONCE: [&str; 6] = [
    "WARC-Type",
    "WARC-Record-ID",
    "WARC-Date",
    "WARC-Target-URI",
    "Content-Type",
    "Content-Length",
];

/// Parses the header at the start of `bytes`. Reuses the memory of `headers`.
pub(crate) fn parse(bytes: &[u8], headers: &mut Headers) -> Parsed {
    let Some((format, version_length)) = version_line(bytes) else {
        return Parsed::Invalid(1, Defect::new(reason::JUNK, "not a WARC version line"));
    };
    let mut lines = Lines {
        fields: headers.take_ranges(),
        ..Lines::default()
    };
    let mut position = version_length;
    // Version lines within lines: their positions, and the number of fields before each.
    let mut within: Vec<(usize, usize)> = Vec::new();
    loop {
        let Some(length) = memchr(b'\n', &bytes[position..]) else {
            return if bytes.len() > HEADER_BYTES_MAX {
                too_long(bytes.len())
            } else {
                Parsed::Incomplete
            };
        };
        let line = trim_line_end(&bytes[position..position + length]);
        if line.is_empty() {
            position += length + 1;
            break;
        }
        if may_be_version_line(line) && version_line(&bytes[position..]).is_some() {
            return Parsed::another_begins(position);
        }
        let is_field = lines.add(line, position);
        // Few lines end in a digit, but a line in which another record begins always does.
        if line.last().is_some_and(u8::is_ascii_digit) {
            if is_arc_header(line, &bytes[position..]) {
                return Parsed::another_begins(position);
            }
            if let Some(at) = record_within(bytes, position, line.len()) {
                if !is_field {
                    return Parsed::another_begins(at);
                }
                within.push((at, lines.fields.len()));
            }
        }
        position += length + 1;
        if position > HEADER_BYTES_MAX {
            return too_long(position);
        }
    }
    if let Some((at, _)) = within
        .iter()
        .find(|(_, fields)| lines.repeats_a_field_after(*fields, bytes))
    {
        return Parsed::another_begins(*at);
    }
    let is_text = lines.write_into(&bytes[..position], headers);
    finish(format, headers, lines, position, is_text)
}

/// The lines of a header: the positions of its fields, and the invalid lines.
#[derive(Default)]
struct Lines {
    fields: Vec<Field>,
    /// Each continuation of a value, with the number of fields before it.
    folded: Vec<((u32, u32), usize)>,
    invalid: u64,
    /// The beginning of the first invalid line, for the message.
    invalid_first: String,
}

impl Lines {
    /// Adds the line that begins at `position`. Returns false if it is invalid.
    fn add(&mut self, line: &[u8], position: usize) -> bool {
        if matches!(line[0], b' ' | b'\t') && !self.fields.is_empty() {
            self.folded.push((trimmed(line, position), self.fields.len()));
            return true;
        }
        let colon = memchr(b':', line).unwrap_or(0);
        let name = trimmed(&line[..colon], position);
        if name.0 == name.1 {
            if self.invalid == 0 {
                self.invalid_first = String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned();
            }
            self.invalid += 1;
            return false;
        }
        let value = trimmed(&line[colon + 1..], position + colon + 1);
        self.fields.push(Field { name, value });
        true
    }

    /// Returns whether a field that a record has only once is among the first `count` fields and
    /// again among the others. If so, the others belong to another record.
    fn repeats_a_field_after(&self, count: usize, header: &[u8]) -> bool {
        let name = |field: &Field| &header[field.name.0 as usize..field.name.1 as usize];
        let (before, behind) = self.fields.split_at(count);
        before.iter().any(|field| {
            ONCE.iter()
                .any(|once| name(field).eq_ignore_ascii_case(once.as_bytes()))
                && behind
                    .iter()
                    .any(|other| name(other).eq_ignore_ascii_case(name(field)))
        })
    }

    /// Stores the fields in `headers`. Returns whether the header is UTF-8.
    fn write_into(&mut self, header: &[u8], headers: &mut Headers) -> bool {
        let fields = std::mem::take(&mut self.fields);
        let text = std::str::from_utf8(header);
        if self.folded.is_empty()
            && let Ok(text) = text
        {
            // The usual case: the ranges are valid in the header itself, and one copy is enough.
            headers.take_over(text, fields);
            return true;
        }
        let bytes = |(start, end): (u32, u32)| &header[start as usize..end as usize];
        let mut folded = self.folded.iter().peekable();
        for (n, field) in fields.into_iter().enumerate() {
            headers.push_bytes(bytes(field.name), bytes(field.value));
            while let Some((more, _)) = folded.next_if(|(_, before)| *before == n + 1) {
                headers.extend_last(bytes(*more));
            }
        }
        text.is_ok()
    }
}

/// Returns the range of a part of the header without surrounding blanks; `position` is where the
/// part begins.
fn trimmed(part: &[u8], position: usize) -> (u32, u32) {
    let start = position + part.len() - part.trim_ascii_start().len();
    (start as u32, (start + part.trim_ascii().len()) as u32)
}

/// Reports whether the line at the start of `bytes` is the header of an ARC record, which has at
/// least five fields.
fn is_arc_header(line: &[u8], bytes: &[u8]) -> bool {
    line.len() > 24
        && memchr_iter(b' ', line).nth(3).is_some()
        && arc::is_header(bytes, Trust::Searching) == Some(true)
}

fn too_long(bytes: usize) -> Parsed {
    let detail = format!("no end of the header within {HEADER_BYTES_MAX} bytes");
    Parsed::Invalid(bytes, Defect::new(reason::HEADER_TOO_LONG, detail))
}

fn finish(format: Format, headers: &mut Headers, lines: Lines, length: usize, is_text: bool) -> Parsed {
    // One pass over the fields finds everything needed here.
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
    if lines.invalid > 0 {
        let detail = format!("{} lines, the first: {}", lines.invalid, lines.invalid_first);
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
            is_text,
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
