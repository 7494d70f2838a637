//! A writer that counts and digests the bytes written.

use std::io::{self, Write};

use sha2::{Digest, Sha256};

use inputs::digest_text;

pub(super) struct HashingWriter<W> {
    out: W,
    hasher: Sha256,
    /// Bytes written so far.
    pub(super) bytes: u64,
}

impl<W: Write> HashingWriter<W> {
    pub(super) fn new(out: W) -> HashingWriter<W> {
        HashingWriter {
            out,
            hasher: Sha256::new(),
            bytes: 0,
        }
    }

    /// Returns the writer, and the digest of all bytes written (`sha256:<hex>`).
    pub(super) fn finish(self) -> (W, String) {
        (self.out, digest_text(&self.hasher.finalize()))
    }
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
