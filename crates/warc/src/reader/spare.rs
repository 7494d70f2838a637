//! Memory of unused records, kept for the next ones.
//!
//! Invariant: a record in use does not hold much more memory than its body needs, and the memory
//! kept here is bounded.

use crate::record::Record;
use crate::record::headers::Headers;

/// Largest body memory to keep.
const BODY_BYTES_MAX: usize = 1 << 20;

/// Bodies below this size are kept separately, so that they do not use the memory of large ones.
const SMALL_BYTES: usize = 8 << 10;

/// Most bodies kept of each of the two sizes, and most headers.
const COUNT_MAX: usize = 64;

/// Most bytes of bodies kept.
const BYTES_MAX: usize = 2 << 20;

/// The unused memory. The most recently used comes first, because it may still be in the CPU's
/// cache.
#[derive(Default)]
pub(crate) struct Spare {
    headers: Vec<Headers>,
    small: Vec<Vec<u8>>,
    large: Vec<Vec<u8>>,
    /// Total capacity of all bodies.
    bytes: usize,
}

impl Spare {
    /// Keeps the memory of a record if there is room for it.
    pub(crate) fn put(&mut self, record: Record) {
        if self.headers.len() < COUNT_MAX {
            self.headers.push(record.headers);
        }
        let bytes = record.body.capacity();
        let bodies = if bytes < SMALL_BYTES {
            &mut self.small
        } else {
            &mut self.large
        };
        if bytes > 0 && bytes <= BODY_BYTES_MAX && bodies.len() < COUNT_MAX && self.bytes + bytes <= BYTES_MAX
        {
            self.bytes += bytes;
            bodies.push(record.body);
        }
    }

    /// Returns memory for the headers of a record.
    pub(crate) fn headers(&mut self) -> Headers {
        self.headers.pop().unwrap_or_default()
    }

    /// Returns memory for a body of probably `bytes` bytes. It holds old content.
    pub(crate) fn body(&mut self, bytes: u64) -> Vec<u8> {
        let bodies = if bytes < SMALL_BYTES as u64 {
            &mut self.small
        } else {
            &mut self.large
        };
        let body = bodies.pop().unwrap_or_default();
        self.bytes -= body.capacity();
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Format, Kind};
    use crate::span::Span;

    fn record(capacity: usize) -> Record {
        Record {
            span: Span::between(0, 1),
            format: Format::Warc(1, 0),
            kind: Kind::Metadata,
            headers: Headers::new(),
            body: Vec::with_capacity(capacity),
            body_length: 0,
            payload_sha1: None,
            defects: Vec::new(),
        }
    }

    #[test]
    fn small_bodies_do_not_get_the_memory_of_large_ones() {
        let mut spare = Spare::default();
        spare.put(record(100 << 10));
        assert_eq!(spare.body(100).capacity(), 0);
        assert_eq!(spare.body(90 << 10).capacity(), 100 << 10);
        assert_eq!(spare.body(90 << 10).capacity(), 0);
        assert_eq!(spare.bytes, 0);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut spare = Spare::default();
        spare.put(record(BODY_BYTES_MAX + 1));
        assert_eq!(spare.bytes, 0);
        for capacity in [100, 300 << 10, BODY_BYTES_MAX] {
            for _ in 0..2 * COUNT_MAX {
                spare.put(record(capacity));
            }
        }
        assert_eq!((spare.small.len(), spare.headers.len()), (COUNT_MAX, COUNT_MAX));
        assert!(spare.bytes <= BYTES_MAX, "{} bytes", spare.bytes);
    }
}
