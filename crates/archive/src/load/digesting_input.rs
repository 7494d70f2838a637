//! An input that is digested while it is read, so that it is read only once.
//!
//! Invariants:
//! - the digest takes every byte of the file once and in order, even where the reader skips or
//!   repeats bytes;
//! - it takes at most as many bytes as the file had when it was found.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use index::DigestProgress;
use inputs::{Digesting, FileVersion};
use parking_lot::Mutex;
use warc::Input;

use super::chunk::Growth;
use super::saved_digest::SavedDigest;
use crate::jobs::Job;

/// Size of the buffer for bytes that do not come from the reader.
const BUFFER_BYTES: usize = 256 << 10;

/// A file that is digested while it is read.
pub(super) struct DigestingInput {
    file: Arc<File>,
    /// Size of the file when it was found, in bytes.
    size: u64,
    /// Whether bytes are digested by the reader, ahead of the index. Otherwise only indexed bytes
    /// are digested, and they are read a second time for that.
    is_ahead: bool,
    job: Arc<Job>,
    digesting: Mutex<Digesting>,
}

impl DigestingInput {
    pub(super) fn new(
        file: Arc<File>,
        size: u64,
        is_ahead: bool,
        job: Arc<Job>,
        digesting: Digesting,
    ) -> DigestingInput {
        DigestingInput {
            file,
            size,
            is_ahead,
            job,
            digesting: Mutex::new(digesting),
        }
    }

    /// Returns how many bytes are digested, and their digest.
    pub(super) fn beginning(&self) -> (u64, String) {
        let digesting = self.digesting.lock();
        (digesting.position(), digesting.digest())
    }

    /// Returns the digest to record in the ledger.
    pub(super) fn digested(&self, version: Option<FileVersion>, growing: Growth) -> DigestProgress {
        let digesting = self.digesting.lock();
        let digest = digesting.digest();
        if digesting.position() >= self.size {
            return DigestProgress {
                digest,
                digesting: String::new(),
                size: None,
            };
        }
        DigestProgress {
            digest: index::digest_of_beginning(&digest, digesting.position()),
            digesting: SavedDigest::of(&digesting, version, growing),
            size: None,
        }
    }

    /// Digests at least the first `bytes` bytes, but not more than the file had when it was found.
    /// Fails with [`ErrorKind::UnexpectedEof`] if the file has fewer now.
    pub(super) fn digest_to(&self, bytes: u64) -> io::Result<()> {
        self.catch_up(&mut self.digesting.lock(), bytes)
    }

    fn catch_up(&self, digesting: &mut Digesting, to: u64) -> io::Result<()> {
        let to = to.min(self.size);
        let mut buffer = Vec::new();
        while digesting.position() < to {
            buffer.resize(BUFFER_BYTES, 0);
            let room = (to - digesting.position()).min(BUFFER_BYTES as u64) as usize;
            match Input::read_at(&self.file, &mut buffer[..room], digesting.position()) {
                Ok(0) => {
                    let left = digesting.position();
                    return Err(io::Error::new(
                        ErrorKind::UnexpectedEof,
                        format!("only {left} are left"),
                    ));
                }
                Ok(bytes) => self.take(digesting, &buffer[..bytes]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn take(&self, digesting: &mut Digesting, piece: &[u8]) {
        digesting.take(piece);
        self.job.counters.bytes_digested.add(piece.len() as u64);
    }
}

impl Input for DigestingInput {
    fn size(&self) -> io::Result<u64> {
        Input::size(&self.file)
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let bytes = Input::read_at(&self.file, into, offset)?;
        if !self.is_ahead {
            return Ok(bytes);
        }
        let mut digesting = self.digesting.lock();
        let end = (offset + bytes as u64).min(self.size);
        if digesting.position() < end {
            // Digest the bytes that the reader skipped first.
            self.catch_up(&mut digesting, offset)?;
            let (from, to) = (digesting.position() - offset, end - offset);
            self.take(&mut digesting, &into[from as usize..to as usize]);
        }
        Ok(bytes)
    }
}
