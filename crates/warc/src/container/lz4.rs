//! An LZ4 frame (LZ4 Frame Format): descriptor, blocks (linked or not, compressed or not), end
//! mark, checksums.
//!
//! ```text
//! magic 4 | FLG 1 | BD 1 | [content size 8] | [dictionary id 4] | header check 1
//! block: size 4 (highest bit: stored uncompressed) | data | [checksum 4]
//! end: zero 4 | [content checksum 4]
//! ```
//!
//! Invariant: `history` holds the last decoded bytes (at most 64 KiB), to which a linked block may
//! refer; `block[block_head..]` are decoded bytes not yet returned.

use std::hash::Hasher;
use std::io::{self, Read, Write};

use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
use twox_hash::XxHash32;

use super::codec::{Decode, Decoded, Encode, FrameHeader};
use super::row::{Container, Row};

pub(super) const ROW: Row = Row {
    container: Container::Lz4,
    name: "LZ4",
    extension: "lz4",
    media_type: "application/x-lz4",
    magic: &MAGIC,
    begins: |bytes| bytes.starts_with(&MAGIC),
    header_bytes: 0,
    // The decoder reads the header itself.
    header: |_, _| FrameHeader::Bytes(0),
    // Content Checksum flag of FLG.
    has_checksum: |bytes| bytes.get(MAGIC.len()).is_some_and(|flags| flags & 4 != 0),
    decoder: |_| Ok(Box::new(Lz4::new())),
};

const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];

/// Number of bytes before a linked block that it may refer to.
const HISTORY_BYTES: usize = 64 << 10;

struct Lz4 {
    part: Part,
    /// The bytes of the current part received so far.
    held: Vec<u8>,
    descriptor: Descriptor,
    block: Vec<u8>,
    block_head: usize,
    history: Vec<u8>,
    content: XxHash32,
    content_bytes: u64,
}

/// The part of the frame that comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Magic number, FLG and BD. FLG determines the length of the header.
    HeaderStart,
    Header(usize),
    BlockSize,
    Block {
        bytes: usize,
        stored: bool,
    },
    ContentChecksum,
    Finished,
}

#[derive(Debug, Clone, Copy, Default)]
struct Descriptor {
    linked: bool,
    block_checksums: bool,
    content_size: Option<u64>,
    content_checksum: bool,
    block_bytes_max: usize,
}

/// Why a frame cannot be decoded.
#[derive(Debug, thiserror::Error)]
enum Lz4Error {
    #[error("flags {0:#04x} of an unknown version")]
    Version(u8),
    #[error("{0}'s checksum disagrees")]
    Checksum(&'static str),
    #[error("a dictionary is needed")]
    Dictionary,
    #[error("block size code {0}")]
    BlockSizeCode(u8),
    #[error("no content size")]
    NoContentSize,
    #[error("content has {found} bytes, declared {declared:?}")]
    ContentSize { found: u64, declared: Option<u64> },
    #[error("a block of {bytes} bytes, at most {bytes_max}")]
    BlockSize { bytes: usize, bytes_max: usize },
    #[error(transparent)]
    Block(#[from] lz4_flex::block::DecompressError),
}

impl Lz4 {
    fn new() -> Lz4 {
        Lz4 {
            part: Part::HeaderStart,
            held: Vec::new(),
            descriptor: Descriptor::default(),
            block: Vec::new(),
            block_head: 0,
            history: Vec::new(),
            content: XxHash32::with_seed(0),
            content_bytes: 0,
        }
    }

    fn part_bytes(&self) -> usize {
        match self.part {
            Part::HeaderStart => 6,
            Part::Header(bytes) => bytes,
            Part::BlockSize | Part::ContentChecksum => 4,
            Part::Block { bytes, .. } => bytes + if self.descriptor.block_checksums { 4 } else { 0 },
            Part::Finished => 0,
        }
    }

    /// Interprets the current part, which must be complete in `held`, and moves to the next part.
    fn take_part(&mut self) -> Result<(), Lz4Error> {
        self.part = match self.part {
            Part::HeaderStart => {
                let bytes = header_bytes(&self.held)?;
                self.part = Part::Header(bytes);
                // Keep the held bytes, which begin the header.
                return Ok(());
            }
            Part::Header(_) => {
                self.descriptor = read_header(&self.held)?;
                Part::BlockSize
            }
            Part::BlockSize => self.read_block_size()?,
            Part::Block { bytes, stored } => {
                let held = std::mem::take(&mut self.held);
                let decoded = self.decode_block(&held[..bytes], &held[bytes..], stored);
                self.held = held;
                decoded?;
                Part::BlockSize
            }
            Part::ContentChecksum => {
                if self.content.finish_32() != le32(&self.held) {
                    return Err(Lz4Error::Checksum("the content"));
                }
                Part::Finished
            }
            Part::Finished => Part::Finished,
        };
        self.held.clear();
        Ok(())
    }

    fn read_block_size(&self) -> Result<Part, Lz4Error> {
        let word = le32(&self.held);
        if word == 0 {
            let declared = self.descriptor.content_size;
            if declared.is_some_and(|size| size != self.content_bytes) {
                return Err(Lz4Error::ContentSize {
                    found: self.content_bytes,
                    declared,
                });
            }
            return Ok(if self.descriptor.content_checksum {
                Part::ContentChecksum
            } else {
                Part::Finished
            });
        }
        // The highest bit marks a block that is stored uncompressed; the other bits are its size.
        let (bytes, stored) = ((word & 0x7fff_ffff) as usize, word & 0x8000_0000 != 0);
        // The input is untrusted, so the size is checked before memory is reserved for it.
        if bytes > self.descriptor.block_bytes_max {
            let bytes_max = self.descriptor.block_bytes_max;
            return Err(Lz4Error::BlockSize { bytes, bytes_max });
        }
        Ok(Part::Block { bytes, stored })
    }

    fn decode_block(&mut self, data: &[u8], checksum: &[u8], stored: bool) -> Result<(), Lz4Error> {
        // A block checksum covers the stored (compressed) block.
        if !checksum.is_empty() && XxHash32::oneshot(0, data) != le32(checksum) {
            return Err(Lz4Error::Checksum("a block"));
        }
        self.block_head = 0;
        if stored {
            self.block.clear();
            self.block.extend_from_slice(data);
        } else {
            self.block.resize(self.descriptor.block_bytes_max, 0);
            let decoded = if self.descriptor.linked {
                lz4_flex::block::decompress_into_with_dict(data, &mut self.block, &self.history)
            } else {
                lz4_flex::block::decompress_into(data, &mut self.block)
            };
            self.block.truncate(decoded.as_ref().copied().unwrap_or(0));
            decoded?;
        }
        self.content_bytes += self.block.len() as u64;
        if self.descriptor.content_checksum {
            self.content.write(&self.block);
        }
        // A linked block refers to the blocks before it; independent blocks need no history.
        if self.descriptor.linked {
            self.remember();
        }
        Ok(())
    }

    fn remember(&mut self) {
        if self.block.len() >= HISTORY_BYTES {
            self.history.clear();
            self.history
                .extend_from_slice(&self.block[self.block.len() - HISTORY_BYTES..]);
            return;
        }
        let surplus = (self.history.len() + self.block.len()).saturating_sub(HISTORY_BYTES);
        self.history.drain(..surplus);
        self.history.extend_from_slice(&self.block);
    }
}

impl Decode for Lz4 {
    fn reset(&mut self) -> io::Result<()> {
        self.part = Part::HeaderStart;
        self.held.clear();
        self.block.clear();
        self.block_head = 0;
        self.history.clear();
        self.content = XxHash32::with_seed(0);
        self.content_bytes = 0;
        Ok(())
    }

    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Decoded {
        let mut done = Decoded::default();
        loop {
            let ready = &self.block[self.block_head..];
            let given = ready.len().min(output.len() - done.produced);
            output[done.produced..done.produced + given].copy_from_slice(&ready[..given]);
            self.block_head += given;
            done.produced += given;
            if self.block_head < self.block.len() {
                return done;
            }
            if self.part == Part::Finished {
                done.finished = true;
                return done;
            }
            let missing = self.part_bytes() - self.held.len();
            let taken = missing.min(input.len() - done.consumed);
            self.held
                .extend_from_slice(&input[done.consumed..done.consumed + taken]);
            done.consumed += taken;
            if taken < missing {
                return done;
            }
            if let Err(error) = self.take_part() {
                done.failed = Some(error.to_string());
                return done;
            }
        }
    }
}

/// Returns the length of a header from its first six bytes.
fn header_bytes(start: &[u8]) -> Result<usize, Lz4Error> {
    let flags = start[4];
    if start[..4] != MAGIC || flags >> 6 != 1 {
        return Err(Lz4Error::Version(flags));
    }
    let content_size = if flags & 0x08 != 0 { 8 } else { 0 };
    let dictionary_id = if flags & 0x01 != 0 { 4 } else { 0 };
    Ok(7 + content_size + dictionary_id)
}

fn read_header(header: &[u8]) -> Result<Descriptor, Lz4Error> {
    let (flags, sizes, check) = (header[4], header[5], header[header.len() - 1]);
    // The header checksum is the second byte of the xxHash-32 of the descriptor.
    if (XxHash32::oneshot(0, &header[4..header.len() - 1]) >> 8) as u8 != check {
        return Err(Lz4Error::Checksum("the header"));
    }
    if flags & 0x01 != 0 {
        return Err(Lz4Error::Dictionary);
    }
    // Codes 0 to 3 are reserved.
    let block_bytes_max = match sizes >> 4 & 7 {
        4 => 64 << 10,
        5 => 256 << 10,
        6 => 1 << 20,
        7 => 4 << 20,
        other => return Err(Lz4Error::BlockSizeCode(other)),
    };
    let content_size = (flags & 0x08 != 0).then(|| header[6..14].try_into().map(u64::from_le_bytes));
    Ok(Descriptor {
        linked: flags & 0x20 == 0,
        block_checksums: flags & 0x10 != 0,
        content_size: content_size.transpose().map_err(|_| Lz4Error::NoContentSize)?,
        content_checksum: flags & 0x04 != 0,
        block_bytes_max,
    })
}

fn le32(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .take(4)
        .rev()
        .fold(0, |word, b| word << 8 | u32::from(*b))
}

/// Compresses each record into a separate frame.
pub(super) struct Encoder;

impl Encode for Encoder {
    fn encode<'a>(&mut self, record: &'a [u8], into: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        let mut encoder = FrameEncoder::with_frame_info(frame_info(record.len() as u64), &mut *into);
        encoder.write_all(record)?;
        encoder.finish().map_err(io::Error::other)?;
        Ok(into)
    }

    fn encode_from(&mut self, record: &mut dyn Read, bytes: u64, out: &mut dyn Write) -> io::Result<()> {
        let mut encoder = FrameEncoder::with_frame_info(frame_info(bytes), out);
        io::copy(record, &mut encoder)?;
        encoder.finish().map(drop).map_err(io::Error::other)
    }
}

fn frame_info(content_bytes: u64) -> FrameInfo {
    FrameInfo::new()
        .block_mode(BlockMode::Linked)
        .block_size(BlockSize::Max256KB)
        .content_size(Some(content_bytes))
        .content_checksum(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(content: &[u8], info: FrameInfo) -> Vec<u8> {
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
        encoder.write_all(content).expect("encoded");
        encoder.finish().expect("finished")
    }

    fn decode(frame: &[u8], input_bytes: usize, output_bytes: usize) -> Result<Vec<u8>, String> {
        let (mut lz4, mut content, mut at) = (Lz4::new(), Vec::new(), 0);
        let mut output = vec![0; output_bytes];
        loop {
            let input = &frame[at..frame.len().min(at + input_bytes)];
            let done = lz4.decode(input, &mut output);
            at += done.consumed;
            content.extend_from_slice(&output[..done.produced]);
            if let Some(why) = done.failed {
                return Err(why);
            }
            if done.finished {
                assert_eq!(at, frame.len(), "the frame's end is found");
                return Ok(content);
            }
            if input.is_empty() && done.produced == 0 {
                return Err("cut".to_owned());
            }
        }
    }

    #[test]
    fn frames_of_every_form_come_back() {
        let words = b"some words, some more words, and some again; ".repeat(9000);
        let noise: Vec<u8> = (0..300_000u32)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
            .collect();
        for content in [&words[..], &noise, b"", b"x"] {
            for mode in [BlockMode::Linked, BlockMode::Independent] {
                for size in [BlockSize::Max64KB, BlockSize::Max1MB] {
                    let info = FrameInfo::new()
                        .block_mode(mode)
                        .block_size(size)
                        .block_checksums(content.len() % 2 == 0)
                        .content_checksum(true)
                        .content_size(Some(content.len() as u64));
                    let frame = frame(content, info);
                    for (input, output) in [(1 << 14, 1 << 13), (777, 5000), (frame.len(), 1 << 20)] {
                        assert_eq!(decode(&frame, input, output).as_deref(), Ok(content));
                    }
                }
            }
        }
    }

    #[test]
    fn flipped_bytes_are_found() {
        let content = b"some words, some more words, and some again; ".repeat(40);
        let whole = frame(&content, FrameInfo::new().content_checksum(true));
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x11;
            assert_ne!(
                decode(&flipped, 100, 100).as_deref(),
                Ok(&content[..]),
                "byte {at}"
            );
        }
    }
}
