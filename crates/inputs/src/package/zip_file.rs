//! A ZIP file that is read by ranges: its directory, and the positions of its members.

use std::collections::BTreeMap;
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use warc::Input;
use zip::{CompressionMethod, ZipArchive};

use crate::source::InputStat;
use crate::spool::{Spool, SpoolRoom};

/// Limit of bytes read to learn the directory of a package: about two million members.
const DIRECTORY_BYTES_MAX: u64 = 256 << 20;

/// Bytes read at a time. Directories and descriptions of most packages are smaller.
const READ_BYTES: usize = 16 << 10;

/// The signature of a directory entry (APPNOTE 4.3.12), and the number of bytes from there to its
/// name. At byte 24 are the lengths of name, extra field and comment.
const ENTRY_MARK: [u8; 4] = *b"PK\x01\x02";
const ENTRY_HEAD_BYTES: usize = 42;

/// An open package. A clone shares its directory.
#[derive(Clone)]
pub(super) struct ZipFile {
    input: Arc<dyn Input>,
    zip: ZipArchive<Buffered>,
    /// Number of members for each name that several members share. Only the last of them can be
    /// read.
    same_names: Arc<BTreeMap<String, u64>>,
}

/// A member, as the directory describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Member {
    index: usize,
    /// Size in bytes when unpacked.
    size: u64,
    crc32: u32,
    stored_size: u64,
    start: u64,
    method: CompressionMethod,
    encrypted: bool,
}

impl Member {
    /// Returns the status of the member as an input of a package with this validator.
    pub(super) fn stat(&self, package: Option<&str>) -> InputStat {
        InputStat {
            size: self.size,
            validator: package.map(|package| format!("{package} {:08x}", self.crc32)),
            sha256: None,
        }
    }

    /// Returns whether the member has to be unpacked to be read.
    pub(super) fn is_deflated(&self) -> bool {
        self.method == CompressionMethod::Deflated
    }
}

impl ZipFile {
    /// Reads the directory of a package.
    ///
    /// # Errors
    /// The error of reading; [`ErrorKind::InvalidData`] if it is not a ZIP file.
    pub(super) fn open(input: Arc<dyn Input>) -> io::Result<ZipFile> {
        let left = Arc::new(AtomicU64::new(DIRECTORY_BYTES_MAX));
        let ranges = Ranges {
            size: input.size()?,
            input: input.clone(),
            position: 0,
            left: left.clone(),
        };
        let zip = ZipArchive::new(Buffered::of(ranges)).map_err(io::Error::from)?;
        left.store(u64::MAX, Relaxed);
        let same_names = if zip.has_duplicate_names() {
            same_names(&input, zip.central_directory_start())?
        } else {
            BTreeMap::new()
        };
        Ok(ZipFile {
            input,
            zip,
            same_names: Arc::new(same_names),
        })
    }

    /// Reopens the same package: its members are read from `input`, which may have its own
    /// read-ahead.
    pub(super) fn over(&self, input: Arc<dyn Input>) -> ZipFile {
        ZipFile {
            input,
            ..self.clone()
        }
    }

    /// Returns whether there is a member with this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(name).is_some()
    }

    /// Returns the number of members with this name.
    pub(super) fn count_of(&self, name: &str) -> u64 {
        let several = self.same_names.get(name).copied();
        several.unwrap_or_else(|| u64::from(self.has(name)))
    }

    /// Returns the names of all members that are files, in the order of the directory.
    pub(super) fn names(&self) -> Vec<String> {
        let names = self.zip.file_names().filter_map(Result::ok);
        let files = names.filter(|name| !name.ends_with('/'));
        files.map(|name| name.into_owned()).collect()
    }

    /// Returns the member with this name, if any.
    ///
    /// # Errors
    /// The error of reading; [`ErrorKind::InvalidData`] if the member extends beyond the package.
    pub(super) fn member(&mut self, name: &str) -> io::Result<Option<Member>> {
        let Some(index) = self.zip.index_for_name(name) else {
            return Ok(None);
        };
        let size_of_package = self.input.size()?;
        let file = self.zip.by_index_raw(index).map_err(io::Error::from)?;
        let start = file.data_start().unwrap_or(u64::MAX);
        let stored_size = file.compressed_size();
        if start
            .checked_add(stored_size)
            .is_none_or(|end| end > size_of_package)
        {
            let what = format!(
                "the package ends at {size_of_package}, expected {stored_size} bytes from {start} on: it is cut, copy it again"
            );
            return Err(io::Error::new(ErrorKind::InvalidData, what));
        }
        Ok(Some(Member {
            index,
            size: file.size(),
            crc32: file.crc32(),
            stored_size,
            start,
            method: file.compression(),
            encrypted: file.encrypted(),
        }))
    }

    /// Returns the content of a small member.
    ///
    /// # Errors
    /// The errors of [`ZipFile::input`]; [`ErrorKind::InvalidData`] also if it is longer than
    /// `most` bytes.
    pub(super) fn content(&mut self, member: Member, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let file = self.zip.by_index(member.index).map_err(io::Error::from)?;
        file.take(most + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            Err(io::Error::new(
                ErrorKind::InvalidData,
                format!("it is longer than {most} bytes"),
            ))
        } else {
            Ok(bytes)
        }
    }

    /// Returns a reader of a member from its beginning. At the end it fails if the checksum does
    /// not match.
    ///
    /// # Errors
    /// The error of reading; also if the member is encrypted or its compression is unknown.
    pub(super) fn read(&mut self, member: Member) -> io::Result<impl Read + '_> {
        self.zip.by_index(member.index).map_err(io::Error::from)
    }

    /// Opens a member for reading at any position. A deflated one is unpacked into a file in the
    /// folder for temporary files.
    ///
    /// # Errors
    /// The error of reading; [`ErrorKind::Unsupported`] if it is encrypted or compressed in another
    /// way; [`ErrorKind::StorageFull`] if there is no space to unpack it.
    pub(super) fn input(mut self, member: Member) -> io::Result<Arc<dyn Input>> {
        if member.encrypted {
            return Err(io::Error::new(ErrorKind::Unsupported, "the member is encrypted"));
        }
        match member.method {
            CompressionMethod::Stored if member.size != member.stored_size => Err(io::Error::new(
                ErrorKind::InvalidData,
                format!(
                    "it is stored in {} bytes, expected {}",
                    member.stored_size, member.size
                ),
            )),
            CompressionMethod::Stored => Ok(Arc::new(Range {
                package: self.input,
                start: member.start,
                size: member.size,
            })),
            CompressionMethod::Deflated => Ok(Arc::new(self.unpacked(member)?)),
            other => Err(io::Error::new(
                ErrorKind::Unsupported,
                format!(
                    "the member is compressed by {other}, expected stored or deflated: unpack the package and load its files"
                ),
            )),
        }
    }

    fn unpacked(&mut self, member: Member) -> io::Result<Spool> {
        let folder = std::env::temp_dir();
        let mut spool = SpoolRoom::new(&folder).begin(member.size).ok_or_else(|| {
            let what = format!(
                "no room in {} to unpack {} bytes: unpack the package and load its files",
                folder.display(),
                member.size
            );
            io::Error::new(ErrorKind::StorageFull, what)
        })?;
        let file = self.zip.by_index(member.index).map_err(io::Error::from)?;
        // Space is reserved only for the declared size.
        let mut file = file.take(member.size.saturating_add(1));
        let (mut piece, mut bytes) = (vec![0; 256 << 10], 0);
        loop {
            let count = file.read(&mut piece)?;
            bytes += count as u64;
            if bytes > member.size || count == 0 && bytes < member.size {
                let what = format!(
                    "it unpacks to other than the {} bytes that are declared",
                    member.size
                );
                return Err(io::Error::new(ErrorKind::InvalidData, what));
            }
            if count == 0 {
                return Ok(spool);
            }
            spool.push(&piece[..count])?;
        }
    }
}

/// Returns the names that occur several times in a directory, with their counts. The directory was
/// read before, so its size is bounded.
fn same_names(input: &Arc<dyn Input>, start: u64) -> io::Result<BTreeMap<String, u64>> {
    let ranges = Ranges {
        size: input.size()?,
        input: input.clone(),
        position: start,
        left: Arc::new(AtomicU64::new(DIRECTORY_BYTES_MAX)),
    };
    let mut directory = BufReader::with_capacity(READ_BYTES, ranges);
    let mut counts = BTreeMap::new();
    loop {
        let mut mark = [0; ENTRY_MARK.len()];
        directory.read_exact(&mut mark)?;
        if mark != ENTRY_MARK {
            break;
        }
        let mut head = [0; ENTRY_HEAD_BYTES];
        directory.read_exact(&mut head)?;
        let length_at = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let (name, extra, comment) = (length_at(24), length_at(26), length_at(28));
        let mut text = vec![0; usize::from(name)];
        directory.read_exact(&mut text)?;
        directory.seek_relative(i64::from(extra) + i64::from(comment))?;
        *counts
            .entry(String::from_utf8_lossy(&text).into_owned())
            .or_insert(0) += 1;
    }
    counts.retain(|_, count| *count > 1);
    Ok(counts)
}

/// A stored member.
struct Range {
    package: Arc<dyn Input>,
    start: u64,
    size: u64,
}

impl Input for Range {
    fn size(&self) -> io::Result<u64> {
        Ok(self.size)
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let left = self.size.saturating_sub(offset).min(into.len() as u64) as usize;
        match left {
            0 => Ok(0),
            left => self.package.read_at(&mut into[..left], self.start + offset),
        }
    }
}

/// A reader of a package. A clone has the same position and its own buffer.
struct Buffered(BufReader<Ranges>);

impl Buffered {
    fn of(ranges: Ranges) -> Buffered {
        Buffered(BufReader::with_capacity(READ_BYTES, ranges))
    }
}

impl Clone for Buffered {
    fn clone(&self) -> Buffered {
        let mut ranges = self.0.get_ref().clone();
        ranges.position -= self.0.buffer().len() as u64;
        Buffered::of(ranges)
    }
}

impl Read for Buffered {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Seek for Buffered {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

/// An input with a position, of which only `left` more bytes may be read.
#[derive(Clone)]
struct Ranges {
    input: Arc<dyn Input>,
    size: u64,
    position: u64,
    left: Arc<AtomicU64>,
}

impl Read for Ranges {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read_at(into, self.position)?;
        self.position += count as u64;
        let spent = |left: u64| left.checked_sub(count as u64);
        self.left.fetch_update(Relaxed, Relaxed, spent).map_err(|_| {
            let what = format!("its directory is longer than {DIRECTORY_BYTES_MAX} bytes");
            io::Error::new(ErrorKind::InvalidData, what)
        })?;
        Ok(count)
    }
}

impl Seek for Ranges {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(by) => self.size.checked_add_signed(by),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
        };
        self.position = position
            .ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "a position before the beginning"))?;
        Ok(self.position)
    }
}
