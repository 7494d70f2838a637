//! Reads inputs that are indexes of other tools, recognised by their names, line by line.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use cdx::{Line, LineReader};
use flate2::bufread::MultiGzDecoder;
use warc::{Defect, Input};

use super::source::InputReader;
use crate::byte_order_mark::without_bom;

/// Limit of the length of a line in bytes. URLs are far shorter.
const LINE_BYTES_MAX: u64 = 1 << 20;

const BUFFER_BYTES: usize = 64 << 10;

/// The first bytes of a gzip file (RFC 1952).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// A line with its position in the decompressed index.
pub struct NumberedLine {
    /// Counted from 1.
    pub number: u64,
    /// First byte of the line in the decompressed index.
    pub offset: u64,
    /// Length in bytes, including the line end.
    pub length: u64,
    /// The line, parsed.
    pub line: Line,
}

/// The lines of an index, in order.
pub struct IndexLines {
    reader: Box<dyn BufRead + Send>,
    /// Bytes of the input read so far.
    bytes_read: Arc<AtomicU64>,
    lines: LineReader,
    number: u64,
    offset: u64,
    buffer: Vec<u8>,
}

impl IndexLines {
    /// Reads the lines of an index, which may be compressed with gzip.
    ///
    /// # Errors
    /// The input cannot be read.
    pub fn open(input: Arc<dyn Input>) -> io::Result<IndexLines> {
        let bytes_read = Arc::new(AtomicU64::new(0));
        let counted = Counted {
            input: InputReader::of(input),
            bytes_read: bytes_read.clone(),
        };
        let mut reader = BufReader::with_capacity(BUFFER_BYTES, counted);
        let is_gzip = reader.fill_buf()?.starts_with(&GZIP_MAGIC);
        let reader: Box<dyn BufRead + Send> = if is_gzip {
            Box::new(BufReader::with_capacity(
                BUFFER_BYTES,
                MultiGzDecoder::new(reader),
            ))
        } else {
            Box::new(reader)
        };
        Ok(IndexLines {
            reader,
            bytes_read,
            lines: LineReader::default(),
            number: 0,
            offset: 0,
            buffer: Vec::new(),
        })
    }

    /// Returns the number of lines read.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the number of bytes read from the input. Some of them may belong to later lines.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Relaxed)
    }

    /// Returns the next line; `None` at the end.
    ///
    /// # Errors
    /// The input cannot be read or decompressed. Reading cannot continue after an error.
    pub fn next_line(&mut self) -> io::Result<Option<NumberedLine>> {
        self.buffer.clear();
        let mut bounded = (&mut self.reader).take(LINE_BYTES_MAX);
        let mut length = bounded.read_until(b'\n', &mut self.buffer)? as u64;
        if length == 0 {
            return Ok(None);
        }
        let is_whole = self.buffer.ends_with(b"\n") || length < LINE_BYTES_MAX;
        let line = if is_whole {
            let line = self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer);
            self.lines.read(match self.number {
                0 => without_bom(line),
                _ => line,
            })
        } else {
            length += self.pass_line()?;
            Line::Bad(Defect::new(
                "index-line-length",
                format!("found a line of {length} bytes, expected at most {LINE_BYTES_MAX}"),
            ))
        };
        self.number += 1;
        let numbered = NumberedLine {
            number: self.number,
            offset: self.offset,
            length,
            line,
        };
        self.offset += length;
        Ok(Some(numbered))
    }

    /// Skips the rest of a line, and returns its length in bytes.
    fn pass_line(&mut self) -> io::Result<u64> {
        let mut passed = 0;
        loop {
            self.buffer.clear();
            let mut bounded = (&mut self.reader).take(LINE_BYTES_MAX);
            let bytes = bounded.read_until(b'\n', &mut self.buffer)? as u64;
            passed += bytes;
            if bytes == 0 || self.buffer.ends_with(b"\n") {
                return Ok(passed);
            }
        }
    }
}

/// Counts the bytes read.
struct Counted {
    input: InputReader,
    bytes_read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.input.read(into)?;
        self.bytes_read.fetch_add(bytes as u64, Relaxed);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    #[track_caller]
    fn check(bytes: &[u8], expected: &[(u64, u64, u64)]) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let mut lines = IndexLines::open(Arc::new(file)).unwrap();
        let mut found = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            found.push((line.number, line.offset, line.length));
        }
        assert_eq!(found, expected);
        assert_eq!(lines.bytes_read(), bytes.len() as u64);
    }

    #[test]
    fn lines_are_numbered_whatever_the_compression() {
        let expected = [(1, 0, 2), (2, 2, 1), (3, 3, 3)];
        check(b"a\n\nbcd", &expected);
        check(&gzip("a\n\nbcd"), &expected);
        // Members as in ZipNum.
        check(&[gzip("a\n"), gzip("\nbcd")].concat(), &expected);
        check(b"", &[]);
    }

    #[test]
    fn a_line_without_end_costs_itself_alone() {
        let long = "x".repeat(3 * LINE_BYTES_MAX as usize);
        let text = format!("{long}\nb\n");
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let mut lines = IndexLines::open(Arc::new(file)).unwrap();
        let first = lines.next_line().unwrap().unwrap();
        assert!(matches!(first.line, Line::Bad(_)));
        assert_eq!(first.length, long.len() as u64 + 1);
        assert_eq!(lines.next_line().unwrap().unwrap().offset, first.length);
        assert!(lines.next_line().unwrap().is_none());
    }

    #[test]
    fn a_damaged_member_is_an_error_and_no_end() {
        let mut bytes = gzip(&"a line\n".repeat(10_000));
        bytes.truncate(bytes.len() / 2);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        let mut lines = IndexLines::open(Arc::new(file)).unwrap();
        let error = loop {
            match lines.next_line() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("a cut member is taken for whole"),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
