//! Writes records, each in a gzip member, zstd or LZ4 frame of its own, or uncompressed.

pub(crate) mod draft;

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use crate::container::Compression;
use crate::container::codec::Encode;
use crate::span::Span;
use crate::write::draft::Draft;

/// Records of up to this number of bytes are compressed in memory, which is quicker.
const AT_ONCE_BYTES_MAX: u64 = 1 << 20;

/// Writes records to `W`, one after the other. It reuses the compressor and all memory.
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
    /// Creates (or empties) a file.
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

    /// Writes one record. Returns its place in the file.
    pub fn write(&mut self, draft: &Draft) -> io::Result<Span> {
        self.plain.clear();
        draft.encode(self.records, &mut self.plain);
        self.records += 1;
        self.write_plain_buffer()
    }

    /// Writes one record in the form that it has in an uncompressed file (header, block and line ends).
    pub fn write_encoded(&mut self, record: &[u8]) -> io::Result<Span> {
        self.plain.clear();
        self.plain.extend_from_slice(record);
        self.records += 1;
        self.write_plain_buffer()
    }

    /// Writes one record in the form that it has in an uncompressed file, of `bytes` bytes, which are read piece by piece.
    /// Memory does not depend on their number.
    ///
    /// # Errors
    /// Those of `record` and of the output, and one of kind `InvalidData` if `record` has not `bytes` bytes. A part of the
    /// record may have been written then, so that the file is of no use.
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

    /// Number of stored bytes written so far.
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
    match found == expected {
        true => Ok(()),
        false => {
            let message = format!("the record has not the {expected} bytes that it should have");
            Err(io::Error::new(io::ErrorKind::InvalidData, message))
        }
    }
}

/// Counts what is written.
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
