//! Containers of records. The content of a file determines its container; the file name does not
//! matter.
//!
//! Each compression has a module that defines a [`Row`], and this file has the table of rows. A new
//! compression needs a module, a row here, and a variant of [`Container`] and of [`Compression`].
//! File extension and media type are in the row: others ask [`Compression::extension`] and
//! [`file_name::media_type_of_name`]. In this crate, only `frames` asks for one container: zstd may
//! begin with a dictionary. The catalogue of file systems has its own names and magic numbers,
//! because it recognises files of every kind.

use std::io;

pub(crate) mod codec;
pub(crate) mod decoders;
pub(crate) mod file_name;
mod gzip;
mod lz4;
mod plain;
mod row;
pub(crate) mod skippable;
pub(crate) mod stream;
pub(crate) mod zstd;

pub(crate) use gzip::compressed as gzip_member;

use codec::Encode;
pub use row::Container;
pub(crate) use row::Row;

/// The compressed containers.
static COMPRESSED: [Row; 3] = [gzip::ROW, zstd::ROW, lz4::ROW];

/// How a writer compresses records.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Compression {
    /// No compression.
    Plain,
    /// A gzip member for each record; level 0 (stored) to 9 (smallest).
    Gzip {
        /// Compression level, 0 to 9.
        level: u32,
    },
    /// A zstd frame for each record (`.warc.zst`).
    Zstd {
        /// Compression level, 1 to 22.
        level: i32,
        /// A dictionary, written as the file's first frame.
        dictionary: Option<Vec<u8>>,
    },
    /// An LZ4 frame for each record.
    Lz4,
}

impl Compression {
    /// gzip at level 6, the level of most archives.
    pub const GZIP: Compression = Compression::Gzip { level: 6 };

    /// Returns the container that a writer with this compression makes.
    fn container(&self) -> Container {
        match self {
            Compression::Plain => Container::Plain,
            Compression::Gzip { .. } => Container::Gzip,
            Compression::Zstd { .. } => Container::Zstd,
            Compression::Lz4 => Container::Lz4,
        }
    }

    /// Returns the extension that follows `.warc` or `.arc` in file names, without a dot, for
    /// example `gz`. `None` without compression.
    pub fn extension(&self) -> Option<&'static str> {
        self.container().row().map(|row| row.extension)
    }

    pub(crate) fn encoder(self) -> io::Result<Box<dyn Encode>> {
        Ok(match self {
            Compression::Plain => Box::new(plain::Encoder),
            Compression::Gzip { level } => Box::new(gzip::Encoder::new(level)),
            Compression::Zstd { level, dictionary } => Box::new(zstd::Encoder::new(level, dictionary)?),
            Compression::Lz4 => Box::new(lz4::Encoder),
        })
    }
}

impl Container {
    /// Returns the row's index in the table; `None` for plain records.
    fn index(self) -> Option<usize> {
        COMPRESSED.iter().position(|row| row.container == self)
    }

    /// Returns the row in the table; `None` for plain records.
    pub(crate) fn row(self) -> Option<&'static Row> {
        COMPRESSED.iter().find(|row| row.container == self)
    }
}

/// A compression that is recognised but not supported. It is used on whole files, not on records.
struct UnsupportedCompression {
    name: &'static str,
    /// Extension of file names.
    extension: &'static str,
    /// The program that decompresses it.
    program: &'static str,
    begins: fn(&[u8]) -> bool,
}

static UNSUPPORTED: [UnsupportedCompression; 2] = [
    UnsupportedCompression {
        name: "xz",
        extension: "xz",
        program: "xz -d",
        begins: |bytes| bytes.starts_with(b"\xfd7zXZ\0"),
    },
    UnsupportedCompression {
        name: "bzip2",
        extension: "bz2",
        program: "bzip2 -d",
        begins: |bytes| {
            let block = bytes.strip_prefix(b"BZh").and_then(|rest| rest.split_first());
            block.is_some_and(|(level, rest)| matches!(level, b'1'..=b'9') && rest.starts_with(b"1AY&"))
        },
    },
];

/// Returns the name of the unsupported compression that `bytes` begin with, and the program that
/// decompresses it.
pub(crate) fn unsupported_compression(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let unsupported = UNSUPPORTED.iter().find(|unsupported| (unsupported.begins)(bytes));
    unsupported.map(|unsupported| (unsupported.name, unsupported.program))
}

/// What begins at a position between records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begins {
    Frame(Container),
    /// A frame without records, with this many bytes of content.
    Skippable(u32),
}

/// Number of bytes needed to recognise what begins. Also the length of the header of a skippable
/// frame.
pub(crate) const MAGIC_BYTES: usize = 8;

/// Recognises what begins here. Returns `None` for uncompressed bytes.
pub(crate) fn sniff(bytes: &[u8]) -> Option<Begins> {
    match COMPRESSED.iter().find(|row| (row.begins)(bytes)) {
        Some(row) => Some(Begins::Frame(row.container)),
        None => skippable::content_bytes(bytes).map(Begins::Skippable),
    }
}

/// Returns the container if a compressed frame begins here.
pub(crate) fn frame_of(bytes: &[u8]) -> Option<Container> {
    match sniff(bytes)? {
        Begins::Frame(container) => Some(container),
        Begins::Skippable(_) => None,
    }
}

/// Returns the positions of magic numbers in `bytes`, in ascending order.
pub(crate) fn magics_in(bytes: &[u8]) -> Vec<usize> {
    let mut starts: Vec<usize> = COMPRESSED
        .iter()
        .flat_map(|row| memchr::memmem::find_iter(bytes, row.magic))
        .collect();
    starts.sort_unstable();
    starts
}
