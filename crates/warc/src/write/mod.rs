//! Writes records, each in a gzip member, zstd or LZ4 frame of its own, or uncompressed.

pub(crate) mod draft;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::container::Compression;
use crate::container::codec::Encode;
use crate::span::Span;
use crate::write::draft::Draft;

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
