//! The stored bytes of an input, read in large pieces at given positions.
//!
//! Invariants:
//!  - `head` ≤ `tail` ≤ `buffer.len()`
//!  - `buffer[head..tail]` are the stored bytes from `position()` on
//!  - `position()` ≤ `end`

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use crate::error::ReadError;

/// Number of bytes to read at a time: few system calls, and the bytes stay in the CPU's cache until
/// they are used.
const READ_BYTES: usize = 256 << 10;

/// Bytes that can be read at any position: a file, bytes in memory, or a remote object.
pub trait Input: Send + Sync {
    /// Returns the size in bytes.
    fn size(&self) -> io::Result<u64>;

    /// Reads from `offset` into `into`. May return fewer bytes than requested, but 0 only at the
    /// end (or if `into` is empty).
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize>;
}

impl Input for File {
    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, into, offset)
    }
}

impl Input for Vec<u8> {
    fn size(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(self.len());
        let bytes = into.len().min(self.len() - from);
        into[..bytes].copy_from_slice(&self[from..from + bytes]);
        Ok(bytes)
    }
}

impl<I: Input + ?Sized> Input for Arc<I> {
    fn size(&self) -> io::Result<u64> {
        (**self).size()
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        (**self).read_at(into, offset)
    }
}

pub(crate) struct Source {
    input: Box<dyn Input>,
    /// Name of the input in error messages.
    path: String,
    /// Size of the input when it was opened. Bytes appended later are left to a later reader.
    end: u64,
    buffer: Vec<u8>,
    /// Stored offset of `buffer[0]`.
    base: u64,
    head: usize,
    tail: usize,
}

impl Source {
    /// Opens an input. Reads at most `read_bytes_max` bytes (and at most 256 KiB) at a time.
    pub(crate) fn new(input: Box<dyn Input>, path: String, read_bytes_max: u64) -> Result<Source, ReadError> {
        let end = input.size().map_err(|source| ReadError::io(&path, 0, source))?;
        let bytes = usize::try_from(end.min(read_bytes_max))
            .unwrap_or(READ_BYTES)
            .clamp(1, READ_BYTES);
        Ok(Source {
            input,
            path,
            end,
            buffer: vec![0; bytes],
            base: 0,
            head: 0,
            tail: 0,
        })
    }

    /// Returns the stored offset of the next byte.
    pub(crate) fn position(&self) -> u64 {
        self.base + self.head as u64
    }

    /// Returns the size of the input.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Returns the bytes that were read and not yet consumed.
    pub(crate) fn available(&self) -> &[u8] {
        &self.buffer[self.head..self.tail]
    }

    /// Skips the next `bytes`, which must be available.
    pub(crate) fn consume(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.tail - self.head);
        self.head = (self.head + bytes).min(self.tail);
        self.check();
    }

    /// Checks that the available bytes are within the buffer and the input.
    fn check(&self) {
        debug_assert!(
            self.head <= self.tail && self.tail <= self.buffer.len() && self.position() <= self.end,
            "{}..{} of {} bytes in the buffer, at {} of {}",
            self.head,
            self.tail,
            self.buffer.len(),
            self.position(),
            self.end
        );
    }

    /// Makes `bytes` bytes available, or fewer at the end of the input. Returns how many are
    /// available.
    pub(crate) fn ensure(&mut self, bytes: usize) -> Result<usize, ReadError> {
        if self.tail - self.head < bytes {
            self.refill(bytes)?;
        }
        Ok(self.tail - self.head)
    }

    /// Moves to a position, at most to the end.
    pub(crate) fn seek(&mut self, position: u64) {
        let position = position.min(self.end);
        let within = position
            .checked_sub(self.base)
            .and_then(|n| usize::try_from(n).ok());
        match within {
            // The position is in the buffer.
            Some(head) if head <= self.tail => self.head = head,
            _ => {
                self.base = position;
                self.head = 0;
                self.tail = 0;
            }
        }
        self.check();
    }

    /// Fills `into` as far as the input reaches. Available bytes come first; a large remainder is
    /// read without a copy.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> Result<usize, ReadError> {
        let mut done = 0;
        while done < into.len() {
            if self.head == self.tail {
                if into.len() - done >= READ_BYTES {
                    let bytes = self.read_at(self.position(), &mut into[done..])?;
                    self.seek(self.position() + bytes as u64);
                    return Ok(done + bytes);
                }
                if self.ensure(1)? == 0 {
                    break;
                }
            }
            let bytes = (self.tail - self.head).min(into.len() - done);
            into[done..done + bytes].copy_from_slice(&self.buffer[self.head..self.head + bytes]);
            self.head += bytes;
            done += bytes;
        }
        Ok(done)
    }

    /// Fills `into` from `position`, with fewer bytes only at the end of the input. Does not move.
    pub(crate) fn read_at(&self, position: u64, into: &mut [u8]) -> Result<usize, ReadError> {
        let most = usize::try_from(self.end.saturating_sub(position)).unwrap_or(usize::MAX);
        let most = most.min(into.len());
        let mut done = 0;
        while done < most {
            let offset = position + done as u64;
            match self.input.read_at(&mut into[done..most], offset) {
                Ok(0) => break,
                Ok(bytes) => done += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ReadError::io(&self.path, offset, error)),
            }
        }
        Ok(done)
    }

    fn refill(&mut self, bytes: usize) -> Result<(), ReadError> {
        self.buffer.copy_within(self.head..self.tail, 0);
        self.base += self.head as u64;
        self.tail -= self.head;
        self.head = 0;
        if self.buffer.len() < bytes {
            self.buffer.resize(bytes, 0);
        }
        // `read_at` borrows `self`, so the buffer is taken out meanwhile. It must be put back even
        // if reading fails.
        let mut buffer = std::mem::take(&mut self.buffer);
        let read = self.read_at(self.base + self.tail as u64, &mut buffer[self.tail..]);
        self.buffer = buffer;
        self.tail += read?;
        if self.tail < bytes {
            // The input ends here. Its size may have been larger before it was truncated.
            self.end = self.end.min(self.base + self.tail as u64);
        }
        self.check();
        Ok(())
    }
}
