//! Slices of the hash space.

use serde::{Deserialize, Serialize};

/// Number of slices of the hash space. It must never change, because paths on disk and layouts
/// depend on it.
pub const PARTITIONS: u16 = 4096;

/// The slice of the hash space that a key belongs to, below [`PARTITIONS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u16")]
pub struct Partition(pub u16);

/// A number from outside that is not a partition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("partition {0}: expected a number below {PARTITIONS}")]
pub struct PartitionError(u16);

impl TryFrom<u16> for Partition {
    type Error = PartitionError;

    fn try_from(number: u16) -> Result<Self, PartitionError> {
        (number < PARTITIONS)
            .then_some(Self(number))
            .ok_or(PartitionError(number))
    }
}

impl Partition {
    /// Returns the partition of a key with this hash: its first 12 bits.
    ///
    /// ```
    /// use placement::{PARTITIONS, Partition};
    ///
    /// let mut hash = [0; 32];
    /// hash[..2].copy_from_slice(&[0x12, 0x3f]);
    /// assert_eq!(Partition::of_hash(&hash), Partition(0x123));
    /// assert_eq!(Partition::of_hash(&[0xff; 32]), Partition(PARTITIONS - 1));
    /// ```
    pub fn of_hash(hash: &[u8; 32]) -> Self {
        Self(u16::from_be_bytes([hash[0], hash[1]]) >> 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_from_outside_is_a_partition_or_refused() {
        let last: Partition = serde_json::from_str("4095").unwrap();
        assert_eq!(last, Partition(PARTITIONS - 1));
        let error = serde_json::from_str::<Partition>("4096").unwrap_err();
        assert!(error.to_string().contains("below 4096"), "{error}");
    }
}
