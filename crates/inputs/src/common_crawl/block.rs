//! Reads a block of the index: lines `URL key, time, JSON` in one gzip member.

use std::io::Read as _;

use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use urlkey::KeyRange;
use warc::Input;

use super::cluster::{Block, shown};
use super::{CrawlError, read_exact};

/// Limit of the size of a block, compressed or not: 3,000 lines take less than 2 MiB.
const BLOCK_BYTES_MAX: u64 = 64 << 20;

/// A capture in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// URL key.
    pub url_key: String,
    /// Time of the capture, 14 digits.
    pub timestamp: String,
    /// Path of the file that contains its record.
    pub path: String,
    /// Offset of the record in bytes.
    pub offset: u64,
    /// Stored length of the record in bytes.
    pub length: u64,
}

/// The JSON of a line, where numbers are strings.
#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    filename: std::borrow::Cow<'a, str>,
    offset: Number,
    length: Number,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Text(String),
    Number(u64),
}

impl Number {
    fn value(&self) -> Option<u64> {
        match self {
            Number::Text(text) => text.parse().ok(),
            Number::Number(number) => Some(*number),
        }
    }
}

/// Returns the lines of a block whose keys are in `ranges`. `input` is the file that contains the
/// block, and `address` its address.
///
/// # Errors
/// [`CrawlError::Read`], and [`CrawlError::Index`] if the block or a line is invalid.
pub fn lines(
    input: &dyn Input,
    address: &str,
    block: &Block,
    ranges: &[KeyRange],
) -> Result<Vec<Line>, CrawlError> {
    let wrong = |found: String, expected| CrawlError::Index {
        address: address.to_owned(),
        offset: block.offset,
        found,
        expected,
    };
    if block.length > BLOCK_BYTES_MAX {
        return Err(wrong(
            format!("a block of {} bytes", block.length),
            "at most a few megabytes",
        ));
    }
    let length = usize::try_from(block.length).unwrap_or(usize::MAX);
    let stored = read_exact(input, address, block.offset, length)?;
    let mut text = Vec::new();
    MultiGzDecoder::new(stored.as_slice())
        .take(BLOCK_BYTES_MAX + 1)
        .read_to_end(&mut text)
        .map_err(|error| wrong(error.to_string(), "a gzip member"))?;
    if text.len() as u64 > BLOCK_BYTES_MAX {
        return Err(wrong(
            format!("a block of more than {BLOCK_BYTES_MAX} bytes"),
            "at most a few megabytes",
        ));
    }
    let mut lines = Vec::new();
    for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let line = parse(line).ok_or_else(|| {
            let expected = "a URL key, a time, and JSON with filename, offset and length";
            wrong(format!("{:?}", shown(line)), expected)
        })?;
        if ranges.iter().any(|range| range.contains(&line.url_key)) {
            lines.push(line);
        }
    }
    Ok(lines)
}

fn parse(line: &[u8]) -> Option<Line> {
    let text = std::str::from_utf8(line).ok()?;
    let (url_key, rest) = text.split_once(' ')?;
    let (timestamp, json) = rest.split_once(' ')?;
    let fields: Fields<'_> = serde_json::from_str(json).ok()?;
    // The path becomes part of an address.
    let is_path = !fields.filename.split('/').any(|part| part == "..");
    is_path.then_some(())?;
    Some(Line {
        url_key: url_key.to_owned(),
        timestamp: timestamp.to_owned(),
        path: fields.filename.into_owned(),
        offset: fields.offset.value()?,
        length: fields.length.value()?,
    })
}
