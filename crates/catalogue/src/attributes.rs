//! The identity of a file and its attributes from `statx`.

use crate::format::Format;
use crate::varint::{Corrupt, Reader, put, put_signed};

/// First number of buckets; file systems have smaller numbers.
pub(crate) const BUCKETS_BEGIN: u32 = 1 << 31;

/// The identity of a file, independent of its names: its file system (as numbered by the
/// catalogue), its inode, and the birth time of the inode, because file systems reuse inode
/// numbers. The birth time is 0 on file systems without one: there a reused inode looks like a
/// changed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FileId {
    /// Number of the file system or bucket in this catalogue. The two have separate ranges.
    pub volume: u32,
    /// Inode; for an object, one half of the hash of its key.
    pub inode: u64,
    /// Birth time in nanoseconds since 1970, or 0; for an object, the other half of the hash.
    pub born_ns: i64,
}

/// Length of [`FileId::to_bytes`].
pub(crate) const ID_LENGTH: usize = 20;

impl FileId {
    pub(crate) fn to_bytes(self) -> [u8; ID_LENGTH] {
        let mut bytes = [0; ID_LENGTH];
        bytes[..4].copy_from_slice(&self.volume.to_be_bytes());
        bytes[4..12].copy_from_slice(&self.inode.to_be_bytes());
        bytes[12..].copy_from_slice(&self.born_ns.to_be_bytes());
        bytes
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<FileId, Corrupt> {
        fn array<const N: usize>(reader: &mut Reader<'_>) -> Result<[u8; N], Corrupt> {
            let corrupt = reader.corrupt();
            reader.take(N)?.try_into().map_err(|_| corrupt)
        }
        Ok(FileId {
            volume: u32::from_be_bytes(array(reader)?),
            inode: u64::from_be_bytes(array(reader)?),
            born_ns: i64::from_be_bytes(array(reader)?),
        })
    }

    pub(crate) fn of_bytes(bytes: &[u8]) -> Result<FileId, Corrupt> {
        FileId::read(&mut Reader::new(bytes, "the key of a file"))
    }
}

/// The type of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A regular file.
    #[default]
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A block device.
    Block,
    /// A character device.
    Character,
    /// The file system did not report a type.
    Unknown,
}

impl Kind {
    /// All kinds; the position of each is its number in rows.
    pub const ALL: [Kind; 8] = [
        Kind::File,
        Kind::Directory,
        Kind::Symlink,
        Kind::Pipe,
        Kind::Socket,
        Kind::Block,
        Kind::Character,
        Kind::Unknown,
    ];

    /// Returns the name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Kind::File => "file",
            Kind::Directory => "directory",
            Kind::Symlink => "symlink",
            Kind::Pipe => "pipe",
            Kind::Socket => "socket",
            Kind::Block => "block",
            Kind::Character => "character",
            Kind::Unknown => "unknown",
        }
    }

    /// Returns the letter that `find -type` and `ls -l` use.
    pub fn letter(self) -> char {
        match self {
            Kind::File => 'f',
            Kind::Directory => 'd',
            Kind::Symlink => 'l',
            Kind::Pipe => 'p',
            Kind::Socket => 's',
            Kind::Block => 'b',
            Kind::Character => 'c',
            Kind::Unknown => '?',
        }
    }

    pub(crate) fn of_number(number: u8) -> Option<Kind> {
        Kind::ALL.get(usize::from(number)).copied()
    }
}

/// The attributes of a file as the catalogue stores them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attributes {
    /// Identity of the file.
    pub id: FileId,
    /// Type of the file.
    pub kind: Kind,
    /// Permission bits, 12 of them.
    pub mode: u16,
    /// User id of the owner.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// Number of hard links.
    pub links: u32,
    /// Length in bytes; for a symbolic link, the length of its target.
    pub size_bytes: u64,
    /// Allocated size on disk, in blocks of 512 bytes.
    pub blocks: u64,
    /// Time of the last content change, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// Time of the last attribute change, in nanoseconds since 1970.
    pub changed_ns: i64,
    /// Time of the last read, in seconds since 1970; 0 for directories and links, because every
    /// scan reads them.
    pub accessed_s: i64,
    /// Format by name, or by the first bytes if these were read.
    pub format: Format,
    /// Whether the first bytes were read. The format found there is valid until the length or the
    /// modification time changes.
    pub is_sniffed: bool,
    /// Target of a symbolic link, as bytes.
    pub target: Option<Box<[u8]>>,
}

impl Attributes {
    /// Returns whether the file may have several names and so must be counted once across them.
    pub(crate) fn is_linked(&self) -> bool {
        self.links > 1 && self.kind != Kind::Directory
    }

    /// Copies the format found in the content of the same file if the file has not changed since.
    /// Returns whether it did.
    pub(crate) fn keep_content(&mut self, known: &Attributes) -> bool {
        let is_same = known.is_sniffed
            && self.kind == Kind::File
            && self.id == known.id
            && self.size_bytes == known.size_bytes
            && self.modified_ns == known.modified_ns;
        if is_same {
            (self.format, self.is_sniffed) = (known.format, true);
        }
        is_same
    }

    /// Returns the attributes from `statx` alone, without the format that name or content gave.
    pub(crate) fn without_format(&self) -> Attributes {
        Attributes {
            format: Format::default(),
            is_sniffed: false,
            ..self.clone()
        }
    }

    /// Returns the birth time in nanoseconds since 1970, if the file system records one.
    pub fn born_ns(&self) -> Option<i64> {
        (self.id.born_ns != 0 && !self.is_object()).then_some(self.id.born_ns)
    }

    /// Returns whether this is an object of a store or a directory of objects. These have no owner,
    /// permissions or access time.
    pub fn is_object(&self) -> bool {
        self.id.volume >= BUCKETS_BEGIN
    }
}

/// A name in a directory, with the attributes of the file it names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entry {
    /// The name, as bytes: it need not be UTF-8.
    pub name: Box<[u8]>,
    /// The file.
    pub attributes: Attributes,
}

// Flags in the first byte of an entry: which attributes equal those of the previous entry, and
// which optional fields follow.
const SAME_KIND_AND_MODE: u8 = 1;
const SAME_OWNERS: u8 = 2;
const ONE_LINK: u8 = 4;
const SAME_VOLUME: u8 = 8;
const CHANGED_WHEN_MODIFIED: u8 = 16;
const BORN_WHEN_MODIFIED: u8 = 32;
const HAS_TARGET: u8 = 64;
const SNIFFED: u8 = 128;

const NS_A_SECOND: i64 = 1_000_000_000;

impl Attributes {
    /// Appends the attributes as differences from those of the previous entry. Neighbours in a
    /// directory are similar. A change of these bytes changes `FORMAT` in catalogue.rs.
    pub(crate) fn write(&self, before: &Attributes, out: &mut Vec<u8>) {
        let mut flags = 0;
        let mut set = |flag: u8, is_set: bool| {
            if is_set {
                flags |= flag;
            }
        };
        let same_owners = (self.uid, self.gid) == (before.uid, before.gid);
        let same_kind = (self.kind, self.mode, self.format) == (before.kind, before.mode, before.format);
        set(SAME_KIND_AND_MODE, same_kind);
        set(SAME_OWNERS, same_owners);
        set(ONE_LINK, self.links == 1);
        set(SAME_VOLUME, self.id.volume == before.id.volume);
        set(CHANGED_WHEN_MODIFIED, self.changed_ns == self.modified_ns);
        set(BORN_WHEN_MODIFIED, self.id.born_ns == self.modified_ns);
        set(HAS_TARGET, self.target.is_some());
        set(SNIFFED, self.is_sniffed);
        out.push(flags);
        if !same_kind {
            out.push(self.kind as u8);
            put(out, u64::from(self.mode));
            out.push(self.format.number());
        }
        if !same_owners {
            put(out, u64::from(self.uid));
            put(out, u64::from(self.gid));
        }
        if self.links != 1 {
            put(out, u64::from(self.links));
        }
        if flags & SAME_VOLUME == 0 {
            put(out, u64::from(self.id.volume));
        }
        put_signed(out, self.id.inode.wrapping_sub(before.id.inode) as i64);
        put(out, self.size_bytes);
        // Usually equals the number of 4 KiB blocks that the size needs.
        put_signed(
            out,
            self.blocks.wrapping_sub(expected_blocks(self.size_bytes)) as i64,
        );
        put_signed(out, self.modified_ns.wrapping_sub(before.modified_ns));
        if flags & CHANGED_WHEN_MODIFIED == 0 {
            put_signed(out, self.changed_ns.wrapping_sub(before.changed_ns));
        }
        if flags & BORN_WHEN_MODIFIED == 0 {
            put_signed(out, self.id.born_ns.wrapping_sub(before.id.born_ns));
        }
        put_signed(out, self.accessed_s.wrapping_sub(self.modified_ns / NS_A_SECOND));
        if let Some(target) = &self.target {
            crate::varint::put_bytes(out, target);
        }
    }

    /// Reads the output of [`Attributes::write`]; `before` must be the same previous entry.
    pub(crate) fn read(before: &Attributes, reader: &mut Reader<'_>) -> Result<Attributes, Corrupt> {
        let flags = reader.byte()?;
        let (mut kind, mut mode, mut format) = (before.kind, before.mode, before.format);
        if flags & SAME_KIND_AND_MODE == 0 {
            kind = Kind::of_number(reader.byte()?).ok_or(reader.corrupt())?;
            mode = reader.small()?;
            format = Format::of_number(reader.byte()?).ok_or(reader.corrupt())?;
        }
        let (mut uid, mut gid) = (before.uid, before.gid);
        if flags & SAME_OWNERS == 0 {
            (uid, gid) = (reader.small()?, reader.small()?);
        }
        let links = if flags & ONE_LINK == 0 { reader.small()? } else { 1 };
        let volume = if flags & SAME_VOLUME == 0 {
            reader.small()?
        } else {
            before.id.volume
        };
        let inode = before.id.inode.wrapping_add(reader.signed()? as u64);
        let size_bytes = reader.number()?;
        let blocks = expected_blocks(size_bytes).wrapping_add(reader.signed()? as u64);
        let modified_ns = before.modified_ns.wrapping_add(reader.signed()?);
        let changed_ns = match flags & CHANGED_WHEN_MODIFIED {
            0 => before.changed_ns.wrapping_add(reader.signed()?),
            _ => modified_ns,
        };
        let born_ns = match flags & BORN_WHEN_MODIFIED {
            0 => before.id.born_ns.wrapping_add(reader.signed()?),
            _ => modified_ns,
        };
        let accessed_s = (modified_ns / NS_A_SECOND).wrapping_add(reader.signed()?);
        let target = match flags & HAS_TARGET {
            0 => None,
            _ => Some(reader.bytes()?.into()),
        };
        Ok(Attributes {
            id: FileId {
                volume,
                inode,
                born_ns,
            },
            kind,
            mode,
            uid,
            gid,
            links,
            size_bytes,
            blocks,
            modified_ns,
            changed_ns,
            accessed_s,
            format,
            is_sniffed: flags & SNIFFED != 0,
            target,
        })
    }
}

fn expected_blocks(size_bytes: u64) -> u64 {
    size_bytes.div_ceil(4096).wrapping_mul(8)
}
