//! Writes records, each in a separate gzip member, zstd or LZ4 frame, or uncompressed.

pub(crate) mod draft;

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use crate::container::Compression;
use crate::container::codec::Encode;
use crate::span::Span;
use crate::write::draft::Draft;

/// Records of up to this number of bytes are compressed in memory, which is faster.
const AT_ONCE_BYTES_MAX: u64 = 1 << 20;

/// Writes records to `W`, one after the other. Reuses the compressor and all memory.
///
/// ```
/// use warc::{Compression, Draft, Entry, Reader, ReaderSettings, Writer};
///
/// let mut writer = Writer::new(Vec::new(), Compression::GZIP)?;
/// writer.write(&Draft::warcinfo(0, &[("software", "example")]))?;
/// let page = Draft::resource("http://example.com/", 0, "text/plain", b"hello".to_vec());
/// let span = writer.write(&page)?;
/// assert_eq!(writer.position(), span.end());
///
/// let file = writer.finish()?;
/// let mut reader = Reader::from_input(Box::new(file), "example", ReaderSettings::default())?;
/// reader.next_entry()?;
/// let Some(Entry::Record(record)) = reader.next_entry()? else { panic!("a record was written") };
/// assert_eq!(record.target(), Some("http://example.com/"));
/// assert_eq!(record.body, b"hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Writer<W: Write> {
    out: W,
    encoder: Box<dyn Encode>,
    /// Number of stored bytes written so far.
    offset: u64,
    /// Number of records written so far.
    records: u64,
    plain: Vec<u8>,
    stored: Vec<u8>,
}

impl Writer<BufWriter<File>> {
    /// Creates a file, or empties an existing one.
    pub fn create(path: &Path, compression: Compression) -> io::Result<Writer<BufWriter<File>>> {
        Writer::new(
            BufWriter::with_capacity(1 << 20, File::create(path)?),
            compression,
        )
    }
}

impl<W: Write> Writer<W> {
    /// Starts a file. Writes the dictionary frame if there is a dictionary.
    pub fn new(mut out: W, compression: Compression) -> io::Result<Writer<W>> {
        let encoder = compression.encoder()?;
        let preamble = encoder.preamble()?;
        out.write_all(&preamble)?;
        let offset = preamble.len() as u64;
        Ok(Writer {
            out,
            encoder,
            offset,
            records: 0,
            plain: Vec::new(),
            stored: Vec::new(),
        })
    }

    /// Writes one record. Returns its position in the file.
    pub fn write(&mut self, draft: &Draft) -> io::Result<Span> {
        self.plain.clear();
        draft.encode(self.records, &mut self.plain);
        self.records += 1;
        self.write_plain_buffer()
    }

    /// Writes one record, given as in an uncompressed file (header, block and line ends).
    pub fn write_encoded(&mut self, record: &[u8]) -> io::Result<Span> {
        self.plain.clear();
        self.plain.extend_from_slice(record);
        self.records += 1;
        self.write_plain_buffer()
    }

    /// Writes one record of `bytes` bytes, given as in an uncompressed file and read piece by
    /// piece. The memory used does not depend on its size.
    ///
    /// # Errors
    /// Errors of `record` and of the output; `InvalidData` if `record` does not have `bytes` bytes.
    /// After an error, part of the record may have been written, so the file is unusable.
    pub fn write_from(&mut self, mut record: impl Read, bytes: u64) -> io::Result<Span> {
        self.records += 1;
        if bytes <= AT_ONCE_BYTES_MAX {
            self.plain.clear();
            record.take(bytes + 1).read_to_end(&mut self.plain)?;
            has_length(self.plain.len() as u64, bytes)?;
            return self.write_plain_buffer();
        }
        let mut limited = record.by_ref().take(bytes);
        let mut out = Counting {
            out: &mut self.out,
            bytes: 0,
        };
        self.encoder.encode_from(&mut limited, bytes, &mut out)?;
        let span = Span {
            offset: self.offset,
            length: out.bytes,
        };
        let missing = limited.limit();
        has_length(bytes - missing + record.read(&mut [0])? as u64, bytes)?;
        self.offset = span.end();
        Ok(span)
    }

    /// Returns the number of stored bytes written so far.
    pub fn position(&self) -> u64 {
        self.offset
    }

    /// Flushes the output and returns it.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn write_plain_buffer(&mut self) -> io::Result<Span> {
        self.stored.clear();
        let stored = self.encoder.encode(&self.plain, &mut self.stored)?;
        self.out.write_all(stored)?;
        let span = Span {
            offset: self.offset,
            length: stored.len() as u64,
        };
        self.offset = span.end();
        Ok(span)
    }
}

fn has_length(found: u64, expected: u64) -> io::Result<()> {
    if found == expected {
        Ok(())
    } else {
        let message = format!("the record does not have the expected {expected} bytes");
        Err(io::Error::new(io::ErrorKind::InvalidData, message))
    }
}

/// Counts the bytes written.
struct Counting<'a, W> {
    out: &'a mut W,
    bytes: u64,
}

impl<W: Write> Write for Counting<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
