//! What records are wrapped in, told by the bytes themselves, never by a file name.
//!
//! Everything that is known of a compression stands in its module, which ends in a [`Row`]; this file has the table
//! of them. So a new one is a module, and here a row, a variant of [`Container`] and one of [`Compression`]. Nothing
//! else, in this crate or another, tells containers apart.

use std::io;

pub(crate) mod codec;
pub(crate) mod decoders;
pub(crate) mod file_name;
mod gzip;
mod lz4;
mod plain;
pub(crate) mod skippable;
pub(crate) mod stream;
pub(crate) mod zstd;

pub(crate) use gzip::compressed as gzip_member;

use codec::{Decode, Encode, FrameHeader};

/// What records are wrapped in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Container {
    /// Nothing: records follow one another as they are.
    Plain,
    /// gzip members.
    Gzip,
    /// zstd frames, in the form of `.warc.zst`: perhaps with a dictionary in front.
    Zstd,
    /// LZ4 frames.
    Lz4,
}

/// The containers whose bytes are compressed.
static COMPRESSED: [Row; 3] = [gzip::ROW, zstd::ROW, lz4::ROW];

/// What there is to know of a container whose bytes are compressed.
pub(crate) struct Row {
    container: Container,
    /// As messages call it.
    pub(crate) name: &'static str,
    /// Of a file's name, without a dot.
    extension: &'static str,
    media_type: &'static str,
    /// The first bytes of every frame.
    pub(crate) magic: &'static [u8],
    /// Whether a frame may begin with these bytes, of which there may be fewer than [`MAGIC_BYTES`].
    begins: fn(&[u8]) -> bool,
    /// Bytes that a frame's header seldom exceeds.
    pub(crate) header_bytes: usize,
    /// Measures the header of the frame that begins here; the flag says whether there is a dictionary.
    pub(crate) header: fn(&[u8], bool) -> FrameHeader,
    decoder: MakeDecoder,
}

/// A decoder for what follows a frame's header, with the input's dictionary.
type MakeDecoder = fn(Option<&[u8]>) -> io::Result<Box<dyn Decode>>;

/// How a writer wraps records.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all.
    Plain,
    /// A gzip member for each record; level 0 (stored) to 9 (smallest).
    Gzip {
        /// Level of effort.
        level: u32,
    },
    /// A zstd frame for each record (`.warc.zst`).
    Zstd {
        /// Level of effort, 1 to 22.
        level: i32,
        /// A dictionary, written as the file's first frame.
        dictionary: Option<Vec<u8>>,
    },
    /// An LZ4 frame for each record.
    Lz4,
}

impl Compression {
    /// gzip at the level most archives use.
    pub const GZIP: Compression = Compression::Gzip { level: 6 };

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
    /// The container's place in the table; `None` where nothing is compressed.
    fn index(self) -> Option<usize> {
        COMPRESSED.iter().position(|row| row.container == self)
    }

    /// `None` where nothing is compressed.
    pub(crate) fn row(self) -> Option<&'static Row> {
        COMPRESSED.iter().find(|row| row.container == self)
    }
}

/// What begins at a place in a file, between records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begins {
    Frame(Container),
    /// A frame without records, with so many bytes of content.
    Skippable(u32),
}

/// Bytes needed to tell what begins; also the length of a skippable frame's header.
pub(crate) const MAGIC_BYTES: usize = 8;

/// Recognises what begins here. `None`: nothing that is compressed.
pub(crate) fn sniff(bytes: &[u8]) -> Option<Begins> {
    match COMPRESSED.iter().find(|row| (row.begins)(bytes)) {
        Some(row) => Some(Begins::Frame(row.container)),
        None => skippable::content_bytes(bytes).map(Begins::Skippable),
    }
}

/// The compressed container of which a frame begins here.
pub(crate) fn frame_of(bytes: &[u8]) -> Option<Container> {
    match sniff(bytes)? {
        Begins::Frame(container) => Some(container),
        Begins::Skippable(_) => None,
    }
}

/// Where the first bytes of frames are in `bytes`, first to last.
pub(crate) fn magics_in(bytes: &[u8]) -> Vec<usize> {
    let mut starts: Vec<usize> = COMPRESSED
        .iter()
        .flat_map(|row| memchr::memmem::find_iter(bytes, row.magic))
        .collect();
    starts.sort_unstable();
    starts
}
