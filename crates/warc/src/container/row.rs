//! Properties of a container.

use std::io;

use super::codec::{Decode, FrameHeader};

/// A container of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Container {
    /// No container: records follow one another uncompressed.
    Plain,
    /// gzip members.
    Gzip,
    /// zstd frames as in `.warc.zst`, optionally with a dictionary in the first frame.
    Zstd,
    /// LZ4 frames.
    Lz4,
}

/// The properties and functions of a compressed container.
pub(crate) struct Row {
    pub(super) container: Container,
    /// The name in messages.
    pub(crate) name: &'static str,
    /// The extension of file names, without a dot.
    pub(super) extension: &'static str,
    pub(super) media_type: &'static str,
    /// The first bytes of every frame, used for searching.
    pub(crate) magic: &'static [u8],
    /// Returns whether a frame may begin with these bytes. There may be fewer than [`MAGIC_BYTES`].
    pub(super) begins: fn(&[u8]) -> bool,
    /// Number of bytes that contain most frame headers completely.
    pub(crate) header_bytes: usize,
    /// Returns the length of the header of the frame that begins here. The flag says whether the
    /// input has a dictionary.
    pub(crate) header: fn(&[u8], bool) -> FrameHeader,
    /// Returns whether a frame that begins with these bytes, at least
    /// [`MAGIC_BYTES`](super::MAGIC_BYTES), ends with a checksum of its content. Without a
    /// checksum, arbitrary bytes may decode successfully.
    pub(crate) has_checksum: fn(&[u8]) -> bool,
    pub(super) decoder: MakeDecoder,
}

/// Creates a decoder for the bytes after a frame header, with the dictionary of the input.
pub(super) type MakeDecoder = fn(Option<&[u8]>) -> io::Result<Box<dyn Decode>>;
