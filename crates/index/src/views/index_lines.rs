//! Table `index_lines`: captures listed by indexes of other tools, whether their records are loaded
//! or not. Also attachments of pages ([`IndexLine::is_attachment`]), which are not among the
//! captures: [`crate::Snapshot::attachments`] lists them.
//!
//! Definition: all lines by identity (input, offset of the line). Row keys have the format of
//! `captures`, so both tables can be merged in one order. No other view depends on lines: they have
//! no links, and the text of an attachment is for search only ([`super::rendered_texts`]).
//!
//! A line is covered, and so not shown, in two cases. Either a capture of its URL key and second
//! has the same place (base name of the file, and offset of the record) or the same URL and digest.
//! Or an earlier line of the collection names the same place. So it does not matter whether the
//! index or the file is loaded first, and a line is shown again after the capture has been removed.

use extract::IndexLine;

use crate::codec::{self, Corrupt, Reader};
use crate::cut::Cut;
use crate::epoch::Arrival;
use crate::error::SnapshotError;
use crate::ids::InputId;
use crate::rows::CaptureRow;
use crate::tables::Table;
use crate::url_code;
use crate::views::capture_key;
use crate::views::capture_row::{get_digest, put_digest};
use crate::views::originals::is_known;
use crate::views::{rendered_texts, texts};
use crate::write::Write;
use format::file_name::base_name;

/// First byte of the row of a capture.
const CAPTURE: u8 = 1;

/// First byte of the row of an alias: like that of a capture, followed by the target.
const ALIAS: u8 = 2;

/// Returns whether both lines have the same place: an offset in files with the same base name.
pub fn is_same_place(line: &IndexLine, other: &IndexLine) -> bool {
    place_of(line) == place_of(other)
}

/// Returns whether a line describes `capture`, which has a record and the same URL key and second.
pub fn describes(line: &IndexLine, capture: &CaptureRow) -> bool {
    let is_there = place_of(line) == (file_name(&capture.input_name), capture.offset);
    is_there || is_known(&line.digest) && (&line.url, &line.digest) == (&capture.url, &capture.digest)
}

impl Arrival for IndexLine {
    fn url_key(&self) -> &str {
        &self.url_key
    }

    fn fetch_time_ms(&self) -> i64 {
        self.fetch_time_ms
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn length(&self) -> u64 {
        self.length
    }
}

/// Drops known lines, writes the others and returns them.
pub(crate) fn apply(
    cut: &Cut,
    write: &mut Write<'_>,
    lines: Vec<(InputId, IndexLine)>,
) -> Result<Vec<(InputId, IndexLine)>, SnapshotError> {
    let mut keyed: Vec<(Vec<u8>, InputId, IndexLine)> = lines
        .into_iter()
        .map(|(input, line)| (row_key(input, &line), input, line))
        .collect();
    keyed.sort_unstable_by(|(a, ..), (b, ..)| a.cmp(b));
    // A batch may hold a line twice if it was read again after a crash.
    keyed.dedup_by(|(a, ..), (b, ..)| a == b);
    let mut new = Vec::with_capacity(keyed.len());
    let mut compressor = texts::Compressor::new();
    for (key, input, line) in keyed {
        if cut.contains(Table::IndexLines, &key)? {
            continue;
        }
        if let Some(text) = &line.text {
            rendered_texts::put(write, &mut compressor, &key, text);
        }
        write.put(Table::IndexLines, key, encode(&line));
        new.push((input, line));
    }
    Ok(new)
}

pub(crate) fn row_key(input: InputId, line: &IndexLine) -> Vec<u8> {
    capture_key::row_key(&line.url_key, line.fetch_time_ms, input, line.offset)
}

fn encode(line: &IndexLine) -> Vec<u8> {
    let mut out = vec![match line.alias_of {
        None => CAPTURE,
        Some(_) => ALIAS,
    }];
    codec::put_varint(&mut out, u64::from(line.status));
    for number in [line.record_offset, line.record_length, line.length] {
        codec::put_varint(&mut out, number);
    }
    url_code::put(&mut out, &line.url_key, &line.url, 0);
    put_digest(&mut out, &line.digest);
    codec::put_bytes(&mut out, line.mime.as_bytes());
    codec::put_bytes(&mut out, line.filename.as_bytes());
    if let Some(target) = &line.alias_of {
        codec::put_bytes(&mut out, target.as_bytes());
    }
    out
}

pub(crate) fn decode(key: &[u8], value: &[u8]) -> Result<(InputId, IndexLine), Corrupt> {
    let (url_key, place) = capture_key::split_key(key)?;
    let url_key = codec::to_text(url_key)?;
    let is_alias = value.first() == Some(&ALIAS);
    let mut r = Reader::versioned(value, if is_alias { ALIAS } else { CAPTURE })?;
    let status = u16::try_from(r.varint()?).map_err(|_| Corrupt("status is too large"))?;
    let (record_offset, record_length, length) = (r.varint()?, r.varint()?, r.varint()?);
    let (url, _) = url_code::get(&mut r, &url_key)?;
    let line = IndexLine {
        url_key,
        fetch_time_ms: place.fetch_time_ms,
        url,
        status,
        digest: get_digest(&mut r)?,
        mime: r.str()?.to_owned(),
        filename: r.str()?.to_owned(),
        record_offset,
        record_length,
        offset: place.offset,
        length,
        alias_of: if is_alias { Some(r.str()?.to_owned()) } else { None },
        // It has a row of its own.
        text: None,
    };
    Ok((place.input, line))
}

/// The base name of a file, and an offset in it.
pub(crate) type FilePlace = (String, u64);

pub(crate) fn place_of(line: &IndexLine) -> FilePlace {
    (file_name(&line.filename), line.record_offset)
}

/// Returns the base name of a file, without the suffix of a file that is still being written.
pub(crate) fn file_name(name: &str) -> String {
    let base = base_name(name);
    base.strip_suffix(".open").unwrap_or(base).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back() {
        let line = IndexLine {
            url_key: "com,example)/a".into(),
            fetch_time_ms: 1_404_000_000_000,
            url: "https://www.example.com/A".into(),
            mime: "text/html".into(),
            status: 200,
            digest: "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ".into(),
            filename: "crawl/x.warc.gz".into(),
            record_offset: 1 << 40,
            record_length: 77,
            offset: 5,
            length: 300,
            alias_of: None,
            text: None,
        };
        let alias = IndexLine {
            alias_of: Some("http://example.org/b".into()),
            filename: String::new(),
            fetch_time_ms: IndexLine::ALIAS_TIME_MS,
            ..line.clone()
        };
        for line in [line, alias] {
            let key = row_key(InputId(3), &line);
            assert_eq!(decode(&key, &encode(&line)), Ok((InputId(3), line)));
            assert!(decode(&key, &[ALIAS + 1]).is_err());
        }
    }
}
