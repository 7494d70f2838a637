//! Gzip members assembled from text that is compressed now and ballast that was compressed before.
//!
//! This works because a deflate stream is a sequence of blocks. A full flush ends a block at a byte
//! boundary, and the following block does not refer to earlier content. Ballast is compressed as
//! such a run of blocks, so its bytes can be inserted in any stream at such a boundary. Readers see
//! an ordinary member.

use flate2::{Compress, Compression, Crc, FlushCompress, Status};

/// Gzip, deflate, no flags, no time, no extra flags, Unix.
const GZIP_HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];

/// Text with its deflate blocks.
#[derive(Debug)]
pub(super) struct Ballast {
    pub plain: String,
    blocks: Vec<u8>,
    crc: Crc,
}

impl Ballast {
    /// Compresses `plain` at the default level, as web archives do.
    pub(super) fn new(plain: String) -> Ballast {
        let mut compress = Compress::new(Compression::default(), false);
        let mut blocks = Vec::new();
        append_deflated(&mut compress, plain.as_bytes(), FlushCompress::Full, &mut blocks);
        let mut crc = Crc::new();
        crc.update(plain.as_bytes());
        Ballast { plain, blocks, crc }
    }
}

/// A part of a member.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part<'a> {
    Text(&'a [u8]),
    Ballast(&'a Ballast),
}

/// Writes members one after the other.
#[derive(Debug)]
pub(super) struct Members {
    compress: Compress,
}

impl Members {
    pub(super) fn new() -> Members {
        Members {
            compress: Compress::new(Compression::fast(), false),
        }
    }

    /// Appends a member with `parts` as its content.
    pub(super) fn append(&mut self, parts: &[Part<'_>], out: &mut Vec<u8>) {
        let mut crc = Crc::new();
        self.compress.reset();
        out.extend_from_slice(&GZIP_HEADER);
        for (i, part) in parts.iter().enumerate() {
            match part {
                Part::Text(text) => {
                    crc.update(text);
                    // Ballast must follow a full flush, at a byte boundary. Between texts, a flush
                    // would only add bytes.
                    let flush = match parts.get(i + 1) {
                        Some(Part::Ballast(_)) => FlushCompress::Full,
                        _ => FlushCompress::None,
                    };
                    append_deflated(&mut self.compress, text, flush, out);
                }
                Part::Ballast(ballast) => {
                    // The checksum of the ballast is known, so its text need not be read again.
                    crc.combine(&ballast.crc);
                    out.extend_from_slice(&ballast.blocks);
                }
            }
        }
        // Ballast has no final block, so the stream always ends here.
        append_deflated(&mut self.compress, &[], FlushCompress::Finish, out);
        // A gzip member ends with the CRC-32 and the length of its content (RFC 1952, section
        // 2.3.1).
        out.extend_from_slice(&crc.sum().to_le_bytes());
        out.extend_from_slice(&crc.amount().to_le_bytes());
    }
}

/// Appends the deflated `text`. Deflating to memory stops only for lack of room, and the loop adds
/// room.
fn append_deflated(compress: &mut Compress, text: &[u8], flush: FlushCompress, out: &mut Vec<u8>) {
    let begin = compress.total_in();
    loop {
        out.reserve(text.len() / 2 + 64);
        let room = out.capacity() - out.len();
        let used = (compress.total_in() - begin) as usize;
        let before = out.len();
        let status = compress.compress_vec(&text[used..], out, flush);
        let done = match flush {
            FlushCompress::Finish => matches!(status, Ok(Status::StreamEnd)),
            // A full output buffer may mean that the flush is not finished.
            _ => out.len() - before < room && compress.total_in() - begin == text.len() as u64,
        };
        if done {
            break;
        }
    }
}
