//! A buffer in which content is collected for writes past the system's cache: its bytes are aligned
//! in memory as in the file.

use std::io;

use crate::io::{DIRECT_ALIGN, DiskFile};

/// Length in bytes of one write. A shorter one leaves a disk idle between writes, a longer one
/// takes more memory for every upload.
pub(super) const CHUNK_BYTES: usize = 1024 * 1024;

/// Consecutive bytes of a file, from any offset.
pub(super) struct Chunk {
    memory: Vec<u8>,
    /// Where `memory` is aligned.
    aligned: usize,
    /// The bytes in `memory`, from `aligned`.
    from: usize,
    to: usize,
    /// Offset in the file of the byte at `aligned`.
    at: u64,
}

impl Chunk {
    /// Returns an empty buffer for the bytes from `offset` on.
    pub(super) fn at(offset: u64) -> Self {
        let memory = vec![0; CHUNK_BYTES + DIRECT_ALIGN];
        let aligned = memory.as_ptr().align_offset(DIRECT_ALIGN).min(DIRECT_ALIGN);
        // Less than a chunk, so it fits into `usize`.
        let from = (offset % CHUNK_BYTES as u64) as usize;
        Self {
            memory,
            aligned,
            from,
            to: from,
            at: offset - from as u64,
        }
    }

    /// Adds bytes and writes each chunk that is full.
    ///
    /// # Errors
    /// Fails if a write fails.
    pub(super) fn add(&mut self, mut bytes: &[u8], file: &dyn DiskFile) -> io::Result<()> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(CHUNK_BYTES - self.to));
            let start = self.aligned + self.to;
            self.memory[start..start + now.len()].copy_from_slice(now);
            self.to += now.len();
            bytes = later;
            if self.to == CHUNK_BYTES {
                self.write(file)?;
            }
        }
        Ok(())
    }

    /// Writes the bytes that are not written yet.
    ///
    /// # Errors
    /// Fails if the write fails.
    pub(super) fn write(&mut self, file: &dyn DiskFile) -> io::Result<()> {
        let bytes = &self.memory[self.aligned + self.from..self.aligned + self.to];
        file.write_uncached_at(bytes, self.at + self.from as u64)?;
        self.from = self.to;
        if self.to == CHUNK_BYTES {
            (self.from, self.to) = (0, 0);
            self.at += CHUNK_BYTES as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{Disk, RealDisk};

    /// Lengths around those of pages and chunks, from offsets that are aligned and not.
    #[test]
    fn the_file_has_the_bytes_whatever_their_length() {
        let dir = tempfile::tempdir().unwrap();
        for offset in [0, 2048, 4096, 5000] {
            for bytes in [
                0,
                1,
                2048,
                4096,
                10_000,
                CHUNK_BYTES - 2048,
                CHUNK_BYTES,
                2 * CHUNK_BYTES + 77,
            ] {
                let content: Vec<u8> = (0..bytes).map(|i| (i * 7 % 251) as u8).collect();
                let file = RealDisk
                    .create(&dir.path().join(format!("{offset}-{bytes}")))
                    .unwrap();
                let mut chunk = Chunk::at(offset);
                for piece in content.chunks(300_000) {
                    chunk.add(piece, file.as_ref()).unwrap();
                }
                chunk.write(file.as_ref()).unwrap();
                file.sync().unwrap();
                let mut found = vec![0; bytes];
                file.read_at(&mut found, offset).unwrap();
                assert_eq!(found, content, "{bytes} bytes at {offset}");
            }
        }
    }
}
