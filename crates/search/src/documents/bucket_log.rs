//! In-link buckets on disk: an append-only log that every commit extends.
//!
//! The file `buckets-NUMBER` is a sequence of records. The last record of a hash is the valid one.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | hash of the URL key, little endian |
//! | 1 | bucket |
//!
//! A commit first appends and syncs the buckets that changed since the last commit, and then stores
//! the number and length of the file in its payload. Bytes after that length were never committed
//! and are truncated before the next append. A log with many superseded records is replaced by a
//! file with the next number. The old file is removed after the commit.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Size of a record in bytes.
const RECORD_BYTES: usize = 9;

/// A log below this size is not compacted.
const GROWTH_BYTES_MIN: u64 = 1 << 20;

/// Size of the read and write buffers in bytes.
const BUFFER_BYTES: usize = 1 << 16;

const PREFIX: &str = "buckets-";

/// The file of a log and the length of its committed part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LogEnd {
    file: u64,
    bytes: u64,
    /// CRC-32 of the committed bytes.
    crc: u32,
    /// Size of the file when it was created by compaction.
    bytes_made: u64,
}

impl LogEnd {
    pub(crate) fn records(self) -> u64 {
        self.bytes / RECORD_BYTES as u64
    }

    /// Returns whether the log has grown so much that most of it may be outdated.
    pub(crate) fn has_grown(self) -> bool {
        self.bytes > 2 * self.bytes_made + GROWTH_BYTES_MIN
    }

    /// Returns an empty log in the next file.
    pub(crate) fn next(self) -> LogEnd {
        LogEnd {
            file: self.file + 1,
            ..LogEnd::default()
        }
    }

    /// Returns whether both logs are in the same file.
    pub(crate) fn is_in_file_of(self, other: LogEnd) -> bool {
        self.file == other.file
    }

    /// Returns the same log, marked as just compacted.
    pub(crate) fn made(self) -> LogEnd {
        LogEnd {
            bytes_made: self.bytes,
            ..self
        }
    }

    fn path(self, dir: &Path) -> PathBuf {
        dir.join(format!("{PREFIX}{}", self.file))
    }
}

/// Appends records after the end of a log.
pub(crate) struct Appender {
    out: BufWriter<File>,
    end: LogEnd,
    crc: crc32fast::Hasher,
}

impl Appender {
    /// Opens a log and truncates what no commit refers to.
    pub(crate) fn open(dir: &Path, end: LogEnd) -> io::Result<Appender> {
        let mut options = File::options();
        let file = options.write(true).create(true).truncate(false);
        let mut file = file.open(end.path(dir))?;
        file.set_len(end.bytes)?;
        file.seek(SeekFrom::End(0))?;
        if end.bytes == 0 {
            // The directory entry of a new file must be on disk before a commit refers to it.
            File::open(dir)?.sync_all()?;
        }
        Ok(Appender {
            out: BufWriter::with_capacity(BUFFER_BYTES, file),
            crc: crc32fast::Hasher::new_with_initial(end.crc),
            end,
        })
    }

    pub(crate) fn push(&mut self, hash: u64, bucket: u8) -> io::Result<()> {
        let mut record = [bucket; RECORD_BYTES];
        record[..8].copy_from_slice(&hash.to_le_bytes());
        self.crc.update(&record);
        self.end.bytes += RECORD_BYTES as u64;
        self.out.write_all(&record)
    }

    /// Syncs the log and returns its new end.
    pub(crate) fn finish(mut self) -> io::Result<LogEnd> {
        self.out.flush()?;
        self.out.get_ref().sync_all()?;
        Ok(LogEnd {
            crc: self.crc.finalize(),
            ..self.end
        })
    }
}

/// Calls `each` with every record, oldest first.
pub(crate) fn read(dir: &Path, end: LogEnd, mut each: impl FnMut(u64, u8)) -> io::Result<()> {
    if end.bytes == 0 {
        return Ok(());
    }
    let path = end.path(dir);
    let damaged =
        |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("{} {what}", path.display()));
    let file = File::open(&path)
        .map_err(|error| io::Error::new(error.kind(), format!("open {}: {error}", path.display())))?;
    let mut input = BufReader::with_capacity(BUFFER_BYTES, file);
    let mut crc = crc32fast::Hasher::new();
    let mut record = [0; RECORD_BYTES];
    for _ in 0..end.records() {
        input
            .read_exact(&mut record)
            .map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => damaged("is damaged: it is truncated"),
                _ => error,
            })?;
        crc.update(&record);
        let (hash, bucket) = (u64::from_le_bytes(first_eight(record)), record[8]);
        each(hash, bucket);
    }
    if crc.finalize() == end.crc {
        Ok(())
    } else {
        Err(damaged("is damaged: its checksum does not match"))
    }
}

fn first_eight(record: [u8; RECORD_BYTES]) -> [u8; 8] {
    let mut first = [0; 8];
    first.copy_from_slice(&record[..8]);
    first
}

/// Removes the log files with other numbers; no commit refers to them.
pub(crate) fn remove_others(dir: &Path, end: LogEnd) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        if number.is_some_and(|number| number != end.file.to_string()) {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn append<const N: usize>(dir: &Path, end: LogEnd, records: [(u64, u8); N]) -> io::Result<LogEnd> {
        let mut appender = Appender::open(dir, end)?;
        for (hash, bucket) in records {
            appender.push(hash, bucket)?;
        }
        appender.finish()
    }

    fn records(dir: &Path, end: LogEnd) -> io::Result<Vec<(u64, u8)>> {
        let mut records = Vec::new();
        read(dir, end, |hash, bucket| records.push((hash, bucket)))?;
        Ok(records)
    }

    #[test]
    fn what_was_not_committed_is_cut_off() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let first = append(dir, LogEnd::default(), [(1, 1), (2, 2)]).unwrap();
        // Records that were never committed.
        append(dir, first, [(3, 3), (4, 4), (5, 5)]).unwrap();
        assert_eq!(records(dir, first).unwrap(), [(1, 1), (2, 2)]);
        let second = append(dir, first, [(6, 6)]).unwrap();
        assert_eq!(records(dir, second).unwrap(), [(1, 1), (2, 2), (6, 6)]);
        assert_eq!(records(dir, LogEnd::default()).unwrap(), []);
    }

    #[test]
    fn damage_is_an_error_and_other_files_go() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let first = append(dir, LogEnd::default(), [(1, 1), (2, 2)]).unwrap();
        let next = append(dir, first.next(), [(7, 7)]).unwrap();
        remove_others(dir, next).unwrap();
        assert!(records(dir, first).is_err());
        assert_eq!(records(dir, next).unwrap(), [(7, 7)]);
        let path = next.path(dir);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[3] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(records(dir, next).unwrap_err().to_string().contains("checksum"));
        std::fs::write(&path, &bytes[..4]).unwrap();
        assert!(records(dir, next).unwrap_err().to_string().contains("truncated"));
    }
}
