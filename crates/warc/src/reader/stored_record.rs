//! Additional parts of a record that a reader stores for callers that write it again: the header as
//! stored, the part of the block that is not in memory, and the bytes after the block.
//!
//! Invariant: header, block and the bytes after it are together all decoded bytes of the record,
//! except for line ends before its header.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::container::Container;
use crate::error::ReadError;
use crate::frames::Frames;
use crate::reader::Reader;
use crate::record::Record;

/// Number of bytes that a spool holds in memory before it uses a file.
const MEMORY_BYTES_MAX: usize = 64 << 10;

/// Bytes of unknown number: in memory, and beyond a limit in an unnamed temporary file.
#[derive(Debug)]
pub(crate) struct Spool {
    folder: PathBuf,
    memory: Vec<u8>,
    /// Reused for later records. Content of earlier records is after `file_bytes`, or overwritten.
    file: Option<File>,
    file_bytes: u64,
    /// Why bytes are missing. Reported when the record is complete.
    failed: Option<io::Error>,
}

impl Spool {
    pub(crate) fn new(folder: &Path) -> Spool {
        Spool {
            folder: folder.to_owned(),
            memory: Vec::new(),
            file: None,
            file_bytes: 0,
            failed: None,
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.file_bytes == 0 && self.memory.len() + bytes.len() <= MEMORY_BYTES_MAX {
            self.memory.extend_from_slice(bytes);
        } else if self.failed.is_none()
            && let Err(error) = self.push_to_file(bytes)
        {
            self.failed = Some(error);
        }
    }

    fn push_to_file(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile_in(&self.folder)?),
        };
        if self.file_bytes == 0 {
            file.seek(SeekFrom::Start(0))?;
        }
        file.write_all(bytes)?;
        self.file_bytes += bytes.len() as u64;
        Ok(())
    }

    pub(crate) fn clear(&mut self) {
        self.memory.clear();
        self.file_bytes = 0;
    }

    pub(crate) fn length(&self) -> u64 {
        self.memory.len() as u64 + self.file_bytes
    }

    /// Reads all bytes from the beginning.
    fn read(&mut self) -> io::Result<impl Read> {
        if self.file_bytes > 0
            && let Some(file) = &mut self.file
        {
            file.seek(SeekFrom::Start(0))?;
        }
        let file: Box<dyn Read + '_> = match &self.file {
            Some(file) => Box::new(file.take(self.file_bytes)),
            None => Box::new(io::empty()),
        };
        Ok(self.memory.as_slice().chain(file))
    }
}

/// How a record is stored in the container of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RecordLayout {
    /// Uncompressed.
    #[default]
    Plain,
    /// Alone in a compressed member or frame.
    OwnMember,
    /// Alone in several members.
    SeveralMembers,
    /// In a member that it shares with other records.
    SharedMember,
}

/// The stored parts of the last record.
pub(crate) struct StoredRecord {
    /// The header as stored, including its empty line.
    pub(crate) header: Vec<u8>,
    /// The container and the offset of the frame in which the header ended.
    frame: (Container, u64),
    pub(crate) layout: RecordLayout,
    /// `None` if only the header is wanted.
    spools: Option<Spools>,
}

struct Spools {
    /// The part of the block that is not in `Record::body`.
    rest: Spool,
    /// The bytes after the block.
    after: Spool,
}

impl StoredRecord {
    /// Stores the header of a new record.
    pub(crate) fn begin(&mut self, frames: &Frames, header: &[u8]) {
        self.header.clear();
        self.header.extend_from_slice(header);
        self.frame = (frames.container(), frames.frame_start());
        self.layout = match self.frame.0 {
            Container::Plain => RecordLayout::Plain,
            _ => RecordLayout::SharedMember,
        };
        if let Some(spools) = &mut self.spools {
            spools.rest.clear();
            spools.after.clear();
        }
    }

    /// Determines how the record at `offset` is stored. It ends in the frame that begins at
    /// `last_frame`.
    pub(crate) fn end(&mut self, offset: u64, last_frame: u64, frame_continues: bool) {
        if self.layout == RecordLayout::Plain || self.frame.1 < offset || frame_continues {
            return;
        }
        self.layout = if self.frame.1 == offset && last_frame == offset {
            RecordLayout::OwnMember
        } else {
            RecordLayout::SeveralMembers
        };
    }

    /// Stores bytes after the block.
    pub(crate) fn push_after(&mut self, bytes: &[u8]) {
        if let Some(spools) = &mut self.spools {
            spools.after.push(bytes);
        }
    }

    /// Takes the spool for the rest of a block.
    pub(crate) fn take_rest(&mut self) -> Option<Spool> {
        let spools = self.spools.as_mut()?;
        let unused = Spool::new(&spools.rest.folder);
        Some(std::mem::replace(&mut spools.rest, unused))
    }

    /// Returns the spool taken by [`StoredRecord::take_rest`].
    pub(crate) fn put_rest(&mut self, rest: Spool) {
        if let Some(spools) = &mut self.spools {
            spools.rest = rest;
        }
    }
}

impl Reader {
    /// Stores, from the next record on, the header of each record until the next entry is read.
    pub fn keep_headers(&mut self) {
        self.stored_record = Some(Box::new(StoredRecord {
            header: Vec::new(),
            frame: (Container::Plain, 0),
            layout: RecordLayout::Plain,
            spools: None,
        }));
    }

    /// Stores each record completely, including its header, until the next entry is read. The part
    /// of a block that exceeds `body_bytes_max` goes to an unnamed temporary file in `folder`.
    pub fn keep_all(&mut self, folder: &Path) {
        self.keep_headers();
        if let Some(kept) = &mut self.stored_record {
            kept.spools = Some(Spools {
                rest: Spool::new(folder),
                after: Spool::new(folder),
            });
        }
    }

    fn spools(&mut self) -> Option<&mut Spools> {
        self.stored_record.as_mut()?.spools.as_mut()
    }

    /// Returns the header of the last record as stored, including its empty line. Empty without
    /// [`Reader::keep_headers`].
    pub fn header_bytes(&self) -> &[u8] {
        self.stored_record.as_ref().map_or(&[], |kept| &kept.header)
    }

    /// Returns how the last record is stored in its file. Needs [`Reader::keep_headers`].
    pub fn layout(&self) -> RecordLayout {
        self.stored_record
            .as_ref()
            .map_or(RecordLayout::Plain, |kept| kept.layout)
    }

    /// Returns the container of the last record's header. Needs [`Reader::keep_headers`].
    pub fn container(&self) -> Container {
        self.stored_record
            .as_ref()
            .map_or(Container::Plain, |kept| kept.frame.0)
    }

    /// Reads the block of the last record, which must be `record`. It is complete only with
    /// [`Reader::keep_all`].
    ///
    /// # Errors
    /// Errors of the temporary file with the part of the block that is not in memory.
    pub fn block<'a>(&'a mut self, record: &'a Record) -> io::Result<impl Read + 'a> {
        let rest: Box<dyn Read + 'a> = match self.spools() {
            Some(spools) => Box::new(spools.rest.read()?),
            None => Box::new(io::empty()),
        };
        Ok(record.body.as_slice().chain(rest))
    }

    /// Reads the bytes after the block that belong to the last record: line ends and, in a
    /// compressed member, everything up to the next record or the end of the member. Empty without
    /// [`Reader::keep_all`].
    ///
    /// # Errors
    /// Errors of the temporary file that holds these bytes if they are many.
    pub fn after_block(&mut self) -> io::Result<impl Read + '_> {
        let after: Box<dyn Read + '_> = match self.spools() {
            Some(spools) => Box::new(spools.after.read()?),
            None => Box::new(io::empty()),
        };
        Ok(after)
    }

    /// Returns the number of bytes of [`Reader::after_block`].
    pub fn after_block_bytes(&self) -> u64 {
        let spools = self.stored_record.as_ref().and_then(|kept| kept.spools.as_ref());
        spools.map_or(0, |spools| spools.after.length())
    }

    /// Fails if bytes could not be stored.
    pub(crate) fn check_kept(&mut self) -> Result<(), ReadError> {
        let Some(spools) = self.spools() else {
            return Ok(());
        };
        for spool in [&mut spools.rest, &mut spools.after] {
            if let Some(source) = spool.failed.take() {
                return Err(ReadError::Keep {
                    folder: spool.folder.clone(),
                    source,
                });
            }
        }
        Ok(())
    }
}
