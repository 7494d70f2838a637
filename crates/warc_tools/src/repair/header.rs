//! Changes the stored header of a record. All other bytes in it stay the same.

use warc::{Entry, Format, Kind, ReadError, Reader, ReaderSettings, Record};

/// The changes to make.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Change {
    /// The correct length of the block.
    pub(super) length: Option<u64>,
    /// Whether the block is truncated.
    pub(super) cut: bool,
}

/// Fields that keep the digests of a truncated block.
const OF_WHOLE: [(&str, &str); 2] = [
    ("WARC-Block-Digest", "Weft-Block-Digest-Of-Whole"),
    ("WARC-Payload-Digest", "Weft-Payload-Digest-Of-Whole"),
];

/// Returns whether a reader finds the whole changed header, with the new length. In a damaged
/// header, an added line can turn the text before it into the beginning of another record.
///
/// # Errors
/// Never fails, because the header is in memory.
pub(super) fn says(header: &[u8], change: &Change) -> Result<bool, ReadError> {
    let mut reader = Reader::from_input(Box::new(header.to_vec()), "header", ReaderSettings::default())?;
    reader.keep_headers();
    let Some(Entry::Record(record)) = reader.next_entry()? else {
        return Ok(false);
    };
    let length = record.headers.get("Content-Length").map(str::parse);
    Ok(reader.header_bytes() == header && (change.length.is_none() || change.length.map(Ok) == length))
}

/// Returns the header of a record with the changes applied.
pub(super) fn changed(header: &[u8], record: &Record, change: &Change) -> Vec<u8> {
    if *change == Change::default() {
        return header.to_vec();
    }
    match record.format {
        Format::Arc(_) => arc(header, change.length.unwrap_or(record.body_length)),
        _ => warc(header, record.kind, change),
    }
}

/// Replaces the length, which follows the last blank of an ARC header line. A URL in it may contain
/// carriage returns.
fn arc(header: &[u8], length: u64) -> Vec<u8> {
    let is_of_line = |byte: &u8| !matches!(byte, b'\r' | b'\n');
    let (line, line_end) = header.split_at(header.iter().rposition(is_of_line).map_or(0, |last| last + 1));
    let last = line
        .iter()
        .rposition(|byte| *byte == b' ')
        .map_or(0, |blank| blank + 1);
    [&line[..last], length.to_string().as_bytes(), line_end].concat()
}

fn warc(header: &[u8], kind: Kind, change: &Change) -> Vec<u8> {
    let lines: Vec<&[u8]> = header.split_inclusive(|byte| *byte == b'\n').collect();
    // The last line is empty.
    let fields = lines.len().saturating_sub(1);
    let mut into = Vec::with_capacity(header.len() + 64);
    let mut length = change.length;
    let mut is_truncated = false;
    let mut skips_continued = false;
    for line in &lines[..fields] {
        if matches!(line.first(), Some(b' ' | b'\t')) && skips_continued {
            continue;
        }
        // Readers skip a line that is not a field, so a continuation line after it belongs to the
        // field before it.
        skips_continued &= !is_field(line);
        is_truncated |= name_is(line, "WARC-Truncated");
        if name_is(line, "Content-Length")
            && let Some(bytes) = length.take()
        {
            into.extend_from_slice(format!("Content-Length: {bytes}\r\n").as_bytes());
            skips_continued = true;
            continue;
        }
        let renamed = OF_WHOLE
            .iter()
            .filter(|_| change.cut)
            .find(|(name, _)| name_is(line, name))
            // The payload of a revisit is not in its block, so its digest stays valid.
            .filter(|(name, _)| kind != Kind::Revisit || *name != "WARC-Payload-Digest");
        match renamed {
            Some((name, other)) => {
                into.extend_from_slice(other.as_bytes());
                into.extend_from_slice(&line[name.len()..]);
            }
            None => into.extend_from_slice(line),
        }
    }
    if let Some(bytes) = length {
        into.extend_from_slice(format!("Content-Length: {bytes}\r\n").as_bytes());
    }
    if change.cut && !is_truncated {
        into.extend_from_slice(b"WARC-Truncated: unspecified\r\n");
    }
    for line in &lines[fields..] {
        into.extend_from_slice(line);
    }
    into
}

/// Returns whether a line has a field name.
fn is_field(line: &[u8]) -> bool {
    let colon = line.iter().position(|byte| *byte == b':');
    colon.is_some_and(|colon| !line[..colon].trim_ascii().is_empty())
}

/// Returns whether a line is the field with this name. Blanks before the colon are ignored.
fn name_is(line: &[u8], name: &str) -> bool {
    line.get(..name.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
        && line[name.len()..].trim_ascii_start().starts_with(b":")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(header: &str, change: Change, expected: &str) {
        let changed = warc(header.as_bytes(), Kind::Response, &change);
        assert_eq!(String::from_utf8_lossy(&changed), expected);
    }

    #[test]
    fn only_what_is_wrong_changes() {
        let cut = Change {
            length: Some(7),
            cut: true,
        };
        let mended = Change { cut: false, ..cut };
        check(
            "WARC/1.0\r\ncontent-length:  99\r\n 9\r\nX: y\r\n\r\n",
            mended,
            "WARC/1.0\r\nContent-Length: 7\r\nX: y\r\n\r\n",
        );
        check(
            "WARC/1.0\r\nContent-Length: x\r\nno field\r\n 9\r\nX: y\r\n z\r\n\r\n",
            mended,
            "WARC/1.0\r\nContent-Length: 7\r\nno field\r\nX: y\r\n z\r\n\r\n",
        );
        check(
            "WARC/1.0\nX: y\n\n",
            mended,
            "WARC/1.0\nX: y\nContent-Length: 7\r\n\n",
        );
        check(
            "WARC/1.0\r\nWARC-Block-Digest : a\r\nWarc-payload-digest: b\r\nContent-Length: 9\r\n\r\n",
            cut,
            "WARC/1.0\r\nWeft-Block-Digest-Of-Whole : a\r\nWeft-Payload-Digest-Of-Whole: b\r\nContent-Length: 7\r\n\
             WARC-Truncated: unspecified\r\n\r\n",
        );
        check(
            "WARC/1.0\r\nWARC-Truncated: time\r\nContent-Length: 9\r\n\r\n",
            cut,
            "WARC/1.0\r\nWARC-Truncated: time\r\nContent-Length: 7\r\n\r\n",
        );
        for (line, expected) in [
            (
                "http://x/ 1.2.3.4 20240101000000 text/html 99\n",
                "http://x/ 1.2.3.4 20240101000000 text/html 7\n",
            ),
            (
                "http://x/\ry 1.2.3.4 20240101000000 text/html 99\r\n",
                "http://x/\ry 1.2.3.4 20240101000000 text/html 7\r\n",
            ),
            (
                "http://x/ 1.2.3.4 20240101000000 text/html \n",
                "http://x/ 1.2.3.4 20240101000000 text/html 7\n",
            ),
        ] {
            assert_eq!(String::from_utf8_lossy(&arc(line.as_bytes(), 7)), expected);
        }
    }
}
