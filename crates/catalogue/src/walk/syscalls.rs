//! System calls: names of a directory, attributes of a name.

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;

use super::{Handle, Names};
use crate::attributes::{Attributes, FileId, Kind};
use crate::format::Format;
use crate::rows::Stamp;

/// Attributes of a file, as the system returns them.
#[derive(Debug)]
pub(crate) struct FileStat {
    pub(crate) device: u64,
    inode: u64,
    born_ns: i64,
    kind: Kind,
    mode: u16,
    uid: u32,
    gid: u32,
    links: u32,
    size_bytes: u64,
    blocks: u64,
    modified_ns: i64,
    changed_ns: i64,
    accessed_s: i64,
}

impl FileStat {
    pub(crate) fn id(&self, volume: u32) -> FileId {
        FileId {
            volume,
            inode: self.inode,
            born_ns: self.born_ns,
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn stamp(&self) -> Stamp {
        Stamp {
            modified_ns: self.modified_ns,
            changed_ns: self.changed_ns,
        }
    }

    pub(crate) fn attributes(&self, volume: u32, name: &[u8], target: Option<Box<[u8]>>) -> Attributes {
        // Scans read directories and links themselves.
        let is_read_by_scans = matches!(self.kind, Kind::Directory | Kind::Symlink);
        Attributes {
            id: self.id(volume),
            kind: self.kind,
            mode: self.mode,
            uid: self.uid,
            gid: self.gid,
            links: self.links,
            size_bytes: self.size_bytes,
            blocks: self.blocks,
            modified_ns: self.modified_ns,
            changed_ns: self.changed_ns,
            accessed_s: if is_read_by_scans { 0 } else { self.accessed_s },
            format: if self.kind == Kind::File {
                Format::of_name(name)
            } else {
                Format::default()
            },
            is_sniffed: false,
            target,
        }
    }
}

fn kind_of(file_type: FileType) -> Kind {
    match file_type {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Symlink,
        FileType::Fifo => Kind::Pipe,
        FileType::Socket => Kind::Socket,
        FileType::BlockDevice => Kind::Block,
        FileType::CharacterDevice => Kind::Character,
        FileType::Unknown => Kind::Unknown,
    }
}

fn ns(seconds: i64, ns: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(ns)
}

/// Returns the target of a symbolic link.
pub(crate) fn target_of(dir: &Handle, name: &[u8]) -> Result<Box<[u8]>, Errno> {
    Ok(rustix::fs::readlinkat(dir, name, Vec::new())?.into_bytes().into())
}

/// Returns the attributes of a name in a directory, or with the empty name of the open directory or
/// file itself. Does not follow links.
pub(crate) fn stat_at(dir: impl AsFd, name: &[u8]) -> Result<FileStat, Errno> {
    let mut flags = AtFlags::SYMLINK_NOFOLLOW;
    if name.is_empty() {
        flags |= AtFlags::EMPTY_PATH;
    }
    own::stat_at(dir, name, flags)
}

pub(crate) use own::{Buffer, read_names};

#[cfg(target_os = "linux")]
mod own {
    use std::mem::MaybeUninit;

    use rustix::fs::{RawDir, StatxFlags, statx};

    use super::*;

    /// Buffer for the result of one getdents call.
    pub(crate) struct Buffer(Vec<MaybeUninit<u8>>);

    /// 64 KiB hold some 1,500 names, so that most directories need one call that returns names and
    /// one that returns none.
    const BUFFER_LENGTH: usize = 64 << 10;

    impl Buffer {
        pub(crate) fn new() -> Buffer {
            Buffer(vec![MaybeUninit::uninit(); BUFFER_LENGTH])
        }
    }

    /// Continues reading a directory until it has `enough` more names or reaches the end. Returns
    /// whether it reached the end.
    pub(crate) fn read_names(
        dir: &Handle,
        buffer: &mut Buffer,
        enough: usize,
        names: &mut Names,
    ) -> Result<bool, Errno> {
        let mut entries = RawDir::new(dir, &mut buffer.0);
        let before = names.len();
        loop {
            // Stopping earlier would lose the rest of the buffer.
            if names.len() - before >= enough && entries.is_buffer_empty() {
                return Ok(false);
            }
            let entry = match entries.next() {
                None => return Ok(true),
                Some(Err(Errno::INTR)) => continue,
                Some(entry) => entry?,
            };
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(name, kind_of(entry.file_type()), entry.ino());
            }
        }
    }

    pub(super) fn stat_at(dir: impl AsFd, name: &[u8], flags: AtFlags) -> Result<FileStat, Errno> {
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        let found = statx(dir, name, flags | AtFlags::NO_AUTOMOUNT, wanted)?;
        let time = |time: rustix::fs::StatxTimestamp| ns(time.tv_sec, i64::from(time.tv_nsec));
        let has_birth = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::BTIME);
        Ok(FileStat {
            device: u64::from(found.stx_dev_major) << 32 | u64::from(found.stx_dev_minor),
            inode: found.stx_ino,
            born_ns: if has_birth { time(found.stx_btime) } else { 0 },
            kind: kind_of(FileType::from_raw_mode(u32::from(found.stx_mode))),
            mode: found.stx_mode & 0o7777,
            uid: found.stx_uid,
            gid: found.stx_gid,
            links: found.stx_nlink,
            size_bytes: found.stx_size,
            blocks: found.stx_blocks,
            modified_ns: time(found.stx_mtime),
            changed_ns: time(found.stx_ctime),
            accessed_s: found.stx_atime.tv_sec,
        })
    }
}

#[cfg(not(target_os = "linux"))]
use portable as own;

/// For other systems: reads all names at once, without birth times.
#[cfg(any(not(target_os = "linux"), test))]
mod portable {
    use rustix::fs::{Dir, statat};

    use super::*;

    pub(crate) struct Buffer;

    impl Buffer {
        pub(crate) fn new() -> Buffer {
            Buffer
        }
    }

    pub(crate) fn read_names(
        dir: &Handle,
        _: &mut Buffer,
        _: usize,
        names: &mut Names,
    ) -> Result<bool, Errno> {
        for entry in Dir::read_from(dir)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(name, kind_of(entry.file_type()), entry.ino());
            }
        }
        Ok(true)
    }

    #[allow(
        clippy::unnecessary_cast,
        clippy::useless_conversion,
        reason = "the types differ between systems"
    )]
    pub(super) fn stat_at(dir: impl AsFd, name: &[u8], flags: AtFlags) -> Result<FileStat, Errno> {
        let found = match name {
            b"" => rustix::fs::fstat(dir)?,
            name => statat(dir, name, flags)?,
        };
        let mode = found.st_mode as u32;
        Ok(FileStat {
            device: found.st_dev as u64,
            inode: found.st_ino as u64,
            born_ns: 0,
            kind: kind_of(FileType::from_raw_mode(mode)),
            mode: (mode & 0o7777) as u16,
            uid: found.st_uid,
            gid: found.st_gid,
            links: u32::try_from(found.st_nlink).unwrap_or(u32::MAX),
            size_bytes: found.st_size as u64,
            blocks: found.st_blocks as u64,
            modified_ns: ns(found.st_mtime as i64, found.st_mtime_nsec as i64),
            changed_ns: ns(found.st_ctime as i64, found.st_ctime_nsec as i64),
            accessed_s: found.st_atime as i64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walk::Handles;

    #[test]
    fn both_ways_to_ask_the_system_say_the_same() {
        let root = tempfile::tempdir().unwrap();
        for n in 0..5000 {
            std::fs::write(root.path().join(format!("file {n}")), vec![b'x'; n % 100]).unwrap();
        }
        std::os::unix::fs::symlink("nowhere", root.path().join("link")).unwrap();
        std::fs::create_dir(root.path().join("dir")).unwrap();
        let handles = Handles::new();
        let read = |is_portable: bool| {
            let handle = handles.open_root(root.path()).unwrap();
            let mut names = Names::default();
            if is_portable {
                assert!(portable::read_names(&handle, &mut portable::Buffer::new(), 10, &mut names).unwrap());
            } else {
                let mut buffer = Buffer::new();
                while !read_names(&handle, &mut buffer, 10, &mut names).unwrap() {}
            }
            let mut rows: Vec<_> = names
                .iter()
                .map(|listed| {
                    let looked = if is_portable {
                        portable::stat_at(&handle, listed.name, AtFlags::SYMLINK_NOFOLLOW).unwrap()
                    } else {
                        stat_at(&handle, listed.name).unwrap()
                    };
                    let mut attributes = looked.attributes(0, listed.name, None);
                    attributes.id.born_ns = 0;
                    (listed.name.to_vec(), listed.kind, listed.inode, attributes)
                })
                .collect();
            rows.sort_by(|a, b| a.0.cmp(&b.0));
            rows
        };
        let rows = read(false);
        assert_eq!(rows.len(), 5002);
        assert_eq!(rows, read(true));
    }
}
