//! Synthetic objects that are cheap to generate and can be compared byte by byte when they come
//! back.
//!
//! An object is its own name, followed by slices of one shared pool of random bytes from a position
//! that depends on its number. No two objects are equal, none takes memory twice, and the client
//! knows every byte that it must get.

use bytes::Bytes;
use object_store::PutPayload;
use rand::{RngExt, SeedableRng, rngs::StdRng};

/// Size of the pool in bytes: more than the largest object, so that its slices do not overlap.
const POOL_BYTES: usize = 16 << 20;

/// The sizes of the experiment in bytes, evenly distributed.
const SIZES: [u64; 7] = [
    50_000, 100_000, 500_000, 1_000_000, 3_000_000, 5_000_000, 10_000_000,
];

/// The source of all content.
pub(crate) struct Pool {
    bytes: Bytes,
    size_divisor: u64,
}

/// One object. Its number determines its name and its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Object {
    pub(crate) number: u64,
    pub(crate) bytes: u64,
}

impl Pool {
    pub(crate) fn new(seed: u64, size_divisor: u64) -> Self {
        let mut bytes = vec![0; POOL_BYTES];
        StdRng::seed_from_u64(seed).fill(&mut bytes[..]);
        Self {
            bytes: bytes.into(),
            size_divisor: size_divisor.max(1),
        }
    }

    /// Returns the object with this number; its size is drawn with `rng`.
    pub(crate) fn object(&self, number: u64, rng: &mut StdRng) -> Object {
        let bytes = SIZES[rng.random_range(0..SIZES.len())] / self.size_divisor;
        Object {
            number,
            bytes: bytes.max(64),
        }
    }

    /// Returns the content of an object.
    pub(crate) fn payload(&self, object: Object) -> PutPayload {
        PutPayload::from_iter(self.pieces(object))
    }

    /// Returns the content of an object in pieces, in order.
    pub(crate) fn pieces(&self, object: Object) -> Vec<Bytes> {
        let head = Bytes::from(object.head());
        let mut left = usize::try_from(object.bytes).unwrap_or(usize::MAX) - head.len();
        // An odd stride visits every position of the pool before it repeats.
        let mut from =
            usize::try_from(object.number.wrapping_mul(2_654_435_761) % POOL_BYTES as u64).unwrap_or(0);
        let mut pieces = vec![head];
        while left > 0 {
            let piece = self.bytes.slice(from..POOL_BYTES.min(from + left));
            left -= piece.len();
            from = 0;
            pieces.push(piece);
        }
        pieces
    }

    /// Returns a comparison for bytes that come in pieces of any size.
    pub(crate) fn comparison(&self, object: Object) -> Comparison {
        Comparison {
            expected: self.pieces(object).into(),
            differs: false,
        }
    }
}

impl Object {
    /// Returns the name within the bucket.
    pub(crate) fn name(self) -> String {
        format!("{:08}", self.number)
    }

    fn head(self) -> Vec<u8> {
        format!("object {:016} of {:016} bytes\n", self.number, self.bytes).into_bytes()
    }
}

/// Compares the bytes that arrive with the bytes that were put.
pub(crate) struct Comparison {
    expected: std::collections::VecDeque<Bytes>,
    differs: bool,
}

impl Comparison {
    pub(crate) fn update(&mut self, mut found: &[u8]) {
        while !found.is_empty() && !self.differs {
            let Some(next) = self.expected.front_mut() else {
                self.differs = true;
                return;
            };
            let length = next.len().min(found.len());
            self.differs = next[..length] != found[..length];
            found = &found[length..];
            let _ = next.split_to(length);
            if next.is_empty() {
                self.expected.pop_front();
            }
        }
    }

    /// Returns whether exactly the expected bytes arrived.
    pub(crate) fn holds(&self) -> bool {
        !self.differs && self.expected.is_empty()
    }
}
