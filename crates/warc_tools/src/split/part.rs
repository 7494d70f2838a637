//! A part that is being written. It can be closed and opened again, because there may be more parts
//! than a process can have open.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write as _};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use warc::{Compression, Record, Writer};

use crate::error::{WriteError, io_error};
use crate::record_digests::{self, HashingReader, RecordDigests};
use crate::source::Source;

/// Size of the write buffer in bytes.
const BUFFER_BYTES: usize = 128 << 10;

/// A record in memory.
pub(super) struct Stored {
    header: Vec<u8>,
    block: Vec<u8>,
    line_ends: Vec<u8>,
}

impl Stored {
    /// Reads a small record into memory.
    pub(super) fn of(source: &mut Source, record: &Record, folder: &Path) -> Result<Stored, WriteError> {
        let failed = record_digests::keep(folder);
        let line_ends = source.line_ends(record.format)?;
        let header = source.reader.header_bytes().to_vec();
        let mut block = Vec::new();
        let content = source.reader.block(record).map_err(&failed)?;
        content
            .take(record.body_length)
            .read_to_end(&mut block)
            .map_err(&failed)?;
        Ok(Stored {
            header,
            block,
            line_ends,
        })
    }

    /// Returns a copy with its own id and the name of the file it is for.
    pub(super) fn copy_for(&self, name: &str) -> Stored {
        let mut header = Vec::with_capacity(self.header.len());
        let lines: Vec<&[u8]> = self.header.split_inclusive(|byte| *byte == b'\n').collect();
        let mut leaves_out = false;
        for (number, line) in lines.iter().enumerate() {
            if number + 1 == lines.len() {
                header.extend_from_slice(format!("WARC-Record-ID: {}\r\n", self.id_for(name)).as_bytes());
                header.extend_from_slice(format!("WARC-Filename: {name}\r\n").as_bytes());
            }
            if !matches!(line.first(), Some(b' ' | b'\t')) {
                let colon = line.iter().position(|byte| *byte == b':').unwrap_or(0);
                let field = line[..colon].trim_ascii();
                leaves_out = ["WARC-Record-ID", "WARC-Filename"]
                    .iter()
                    .any(|name| field.eq_ignore_ascii_case(name.as_bytes()));
            }
            if !leaves_out {
                header.extend_from_slice(line);
            }
        }
        Stored {
            header,
            block: self.block.clone(),
            line_ends: self.line_ends.clone(),
        }
    }

    /// Derives the id from the record and the name, so that splitting again gives the same bytes.
    fn id_for(&self, name: &str) -> String {
        let digest = Sha256::new()
            .chain_update(&self.header)
            .chain_update(&self.block)
            .chain_update(name)
            .finalize();
        let mut id = [0; 16];
        id.copy_from_slice(&digest[..16]);
        // Version 8 and the variant bits (RFC 9562): a UUID with an application-specific rule.
        id[6] = id[6] & 0x0f | 0x80;
        id[8] = id[8] & 0x3f | 0x80;
        let hex = HEXLOWER.encode(&id);
        let (a, b, c, d, e) = (&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
        format!("<urn:uuid:{a}-{b}-{c}-{d}-{e}>")
    }
}

/// A part.
pub(super) struct Part {
    path: PathBuf,
    compression: Compression,
    writer: Option<Writer<BufWriter<File>>>,
    /// Bytes written before it was last closed.
    closed_bytes: u64,
    record_digests: RecordDigests,
    /// Number of records that count towards its end.
    pub(super) counted: u64,
    /// Number of copied `warcinfo` records.
    pub(super) copies: u64,
    /// The number of the `warcinfo` record written to it last; 0 before the first.
    pub(super) described: u64,
}

impl Part {
    pub(super) fn new(path: PathBuf, compression: Compression) -> Result<Part, WriteError> {
        let file = File::create_new(&path).map_err(io_error("write", &path))?;
        let mut part = Part {
            path,
            compression,
            writer: None,
            closed_bytes: 0,
            record_digests: RecordDigests::default(),
            counted: 0,
            copies: 0,
            described: 0,
        };
        part.open(file)?;
        Ok(part)
    }

    /// Returns its name in the folder.
    pub(super) fn name(&self) -> String {
        self.path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }

    pub(super) fn is_open(&self) -> bool {
        self.writer.is_some()
    }

    /// Returns the stored bytes so far.
    pub(super) fn bytes(&self) -> u64 {
        self.closed_bytes + self.writer.as_ref().map_or(0, Writer::position)
    }

    fn open(&mut self, file: File) -> Result<(), WriteError> {
        let buffered = BufWriter::with_capacity(BUFFER_BYTES, file);
        let writer = Writer::new(buffered, self.compression.clone()).map_err(self.failed())?;
        self.writer = Some(writer);
        Ok(())
    }

    fn failed(&self) -> impl Fn(io::Error) -> WriteError + use<> {
        io_error("write", &self.path)
    }

    pub(super) fn close(&mut self) -> Result<(), WriteError> {
        let Some(writer) = self.writer.take() else {
            return Ok(());
        };
        self.closed_bytes += writer.position();
        let mut out = writer.finish().map_err(self.failed())?;
        out.flush().map_err(self.failed())
    }

    pub(super) fn write_stored(&mut self, stored: &Stored) -> Result<(), WriteError> {
        let bytes = stored.block.len() as u64;
        self.write(&stored.header, &stored.block[..], bytes, &stored.line_ends)
    }

    pub(super) fn write(
        &mut self,
        header: &[u8],
        block: impl Read,
        block_bytes: u64,
        line_ends: &[u8],
    ) -> Result<(), WriteError> {
        if self.writer.is_none() {
            let file = File::options().append(true).open(&self.path);
            self.open(file.map_err(self.failed())?)?;
        }
        let failed = self.failed();
        let Some(writer) = &mut self.writer else {
            return Ok(());
        };
        let bytes = header.len() as u64 + block_bytes + line_ends.len() as u64;
        let mut content = HashingReader::new(header.chain(block));
        writer
            .write_from(content.by_ref().chain(line_ends), bytes)
            .map_err(failed)?;
        self.record_digests.push(content.finish());
        Ok(())
    }

    /// Finishes writing. Returns the file, its expected records, and its size.
    pub(super) fn finish(mut self) -> Result<(PathBuf, RecordDigests, u64), WriteError> {
        self.close()?;
        let file = File::open(&self.path).map_err(self.failed())?;
        file.sync_all().map_err(io_error("sync", &self.path))?;
        Ok((self.path, self.record_digests, self.closed_bytes))
    }
}
