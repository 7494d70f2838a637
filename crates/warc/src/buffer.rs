//! A buffer that is filled step by step and reused without being cleared.

/// A buffer that is filled step by step. Bytes after the filled part are not cleared, so they may
/// hold old content.
///
/// Invariant: `filled` ≤ `bytes.len()`.
#[derive(Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    filled: usize,
}

impl Buffer {
    /// Creates an empty buffer that uses the memory of `bytes`.
    pub(crate) fn reusing(bytes: Vec<u8>) -> Buffer {
        Buffer { bytes, filled: 0 }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.filled]
    }

    pub(crate) fn len(&self) -> usize {
        self.filled
    }

    /// Returns room for exactly `bytes` bytes after the filled part.
    pub(crate) fn room(&mut self, bytes: usize) -> &mut [u8] {
        let end = self.filled + bytes;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        &mut self.bytes[self.filled..end]
    }

    /// Marks the first `bytes` of the room as filled.
    pub(crate) fn fill(&mut self, bytes: usize) {
        self.filled = (self.filled + bytes).min(self.bytes.len());
    }

    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        let end = self.filled + bytes.len();
        if end <= self.bytes.len() {
            self.bytes[self.filled..end].copy_from_slice(bytes);
        } else if self.filled == 0 && self.bytes.capacity() < end {
            // Growing the vector would copy the old content.
            self.bytes = bytes.to_vec();
        } else {
            self.bytes.truncate(self.filled);
            self.bytes.extend_from_slice(bytes);
        }
        self.filled = end;
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        self.filled = self.filled.min(length);
    }

    pub(crate) fn into_vec(mut self) -> Vec<u8> {
        self.bytes.truncate(self.filled);
        self.bytes
    }
}
