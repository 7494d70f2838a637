//! Slices of the hash space.

use serde::{Deserialize, Serialize};

/// Number of slices of the hash space. It can never change: paths on disk and layouts depend on it.
pub const PARTITIONS: u16 = 4096;

/// The slice of the hash space that a key belongs to: below [`PARTITIONS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Partition(pub u16);

impl Partition {
    /// The partition of a key with this hash: its first 12 bits.
    pub fn of(hash: &[u8; 32]) -> Self {
        Self(u16::from_be_bytes([hash[0], hash[1]]) >> 4)
    }
}
