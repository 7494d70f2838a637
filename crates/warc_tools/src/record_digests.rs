//! Verifies copied records, by a digest of each before, and of each after, read from the written
//! file.

use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest as _, Sha256};
use warc::{Entry, Input, ReadError, Reader, ReaderSettings, RecordLayout};

use crate::defects::loses;
use crate::error::{WriteError, io_error};
use crate::progress::Progress;
use crate::temp_file::folder_of;

/// Bytes of a block that are held in memory. The rest is kept in an unnamed temporary file.
const BODY_BYTES_MAX: u64 = 4 << 20;

/// The SHA-256 of header and block of a record. The header determines where the block begins, so
/// records with the same digest have the same header and the same block.
pub(crate) type RecordDigest = [u8; 32];

/// The digests of records in their order, with 32 bytes of memory per record.
#[derive(Debug, Default)]
pub(crate) struct RecordDigests {
    records: Vec<RecordDigest>,
}

impl RecordDigests {
    /// Adds the next record.
    pub(crate) fn push(&mut self, digest: RecordDigest) {
        self.records.push(digest);
    }

    /// Returns the number of records.
    pub(crate) fn records(&self) -> u64 {
        self.records.len() as u64
    }

    /// Reads a written file and compares its records with these. In a compressed file, each record
    /// must have its own member. The file must have no other content, except the frame of a
    /// dictionary.
    pub(crate) fn compare(
        &self,
        file: Box<dyn Input>,
        out: &Path,
        each: &mut Progress<'_>,
    ) -> Result<(), WriteError> {
        let name = &out.display().to_string();
        let mut reader = open(file, name, folder_of(out))?;
        let keep = keep(out);
        let mut number = 0;
        loop {
            let differs = |detail: String| WriteError::NotTheSame {
                path: name.to_owned(),
                number: number as u64 + 1,
                detail,
            };
            let record = match reader.next_entry()? {
                Some(Entry::Record(record)) => record,
                Some(Entry::Quarantined(span, defect)) => {
                    return Err(differs(format!("{} at offset {}", defect.reason, span.offset)));
                }
                // The frame of a dictionary. No other entries without data were written.
                Some(_) => continue,
                None => break,
            };
            if let Some(defect) = record.defects.iter().find(|defect| loses(defect)) {
                return Err(differs(format!("{}: {}", defect.reason, defect.detail)));
            }
            if matches!(
                reader.layout(),
                RecordLayout::SharedMember | RecordLayout::SeveralMembers
            ) {
                return Err(differs("it does not have its own compressed member".to_owned()));
            }
            let header = reader.header_bytes().to_vec();
            let digest = digest(&header, reader.block(&record).map_err(&keep)?).map_err(&keep)?;
            match self.records.get(number) {
                Some(expected) if *expected == digest => {}
                Some(_) => return Err(differs("its content differs".to_owned())),
                None => return Err(differs("it is an extra record".to_owned())),
            }
            number += 1;
            reader.recycle(record);
            if !each(reader.position()) {
                return Err(WriteError::Stopped);
            }
        }
        if number == self.records.len() {
            Ok(())
        } else {
            Err(WriteError::NotTheSame {
                path: name.to_owned(),
                number: number as u64 + 1,
                detail: "it is missing".to_owned(),
            })
        }
    }
}

/// Opens a file and keeps all of each record, large ones in `folder`.
pub(crate) fn open(input: Box<dyn Input>, name: &str, folder: &Path) -> Result<Reader, ReadError> {
    open_with(input, name, folder, false)
}

/// Like [`open`]; with `verify`, declared digests are verified.
pub(crate) fn open_with(
    input: Box<dyn Input>,
    name: &str,
    folder: &Path,
    verify: bool,
) -> Result<Reader, ReadError> {
    let mut settings = ReaderSettings::default();
    settings.body_bytes_max = BODY_BYTES_MAX;
    settings.verify_digests = verify;
    let mut reader = Reader::from_input(input, name, settings)?;
    reader.keep_all(folder);
    Ok(reader)
}

/// Returns the digest of a record.
pub(crate) fn digest(header: &[u8], block: impl Read) -> io::Result<RecordDigest> {
    let mut hashed = HashingReader::new(header.chain(block));
    io::copy(&mut hashed, &mut io::sink())?;
    Ok(hashed.finish())
}

/// Computes the digest of the bytes that are read through it.
pub(crate) struct HashingReader<R> {
    content: R,
    hasher: Sha256,
}

impl<R: Read> HashingReader<R> {
    pub(crate) fn new(content: R) -> HashingReader<R> {
        HashingReader {
            content,
            hasher: Sha256::new(),
        }
    }

    pub(crate) fn finish(self) -> RecordDigest {
        self.hasher.finalize().into()
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.content.read(into)?;
        self.hasher.update(&into[..bytes]);
        Ok(bytes)
    }
}

/// Wraps errors of the temporary file, next to `out`, that holds a large record.
pub(crate) fn keep(out: &Path) -> impl Fn(io::Error) -> WriteError + use<> {
    io_error("read the temporary copy of a large record for", out)
}
