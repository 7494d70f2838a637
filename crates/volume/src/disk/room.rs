//! The room that content must leave free on a volume.

use store_protocol::VolumeError;

use super::inner::Inner;
use crate::io::Space;

/// Content is accepted only while more than this is free (or an eighth of a small file system, if
/// that is less). The reserve is for tombstones, the index and the fixity log, without which a full
/// volume could not even delete.
const RESERVE_BYTES: u64 = 64 << 20;

impl Inner {
    /// Rejects content when the volume is nearly full.
    pub(super) fn require_room(&self) -> Result<(), VolumeError> {
        let space = match self.disk.space(&self.root) {
            Ok(space) => space,
            Err(error) => {
                // The directory may have been removed.
                self.check_identity();
                self.index()?;
                return Err(self.failed("read the free space", &error));
            }
        };
        let reserve = reserve_bytes(&space);
        if space.free_bytes >= reserve {
            return Ok(());
        }
        Err(VolumeError::Full {
            volume: self.id.clone(),
            detail: format!(
                "found {} free bytes, expected at least the reserve of {reserve}",
                space.free_bytes
            ),
        })
    }
}

/// Returns the number of bytes of a file system that content must leave free.
pub(super) fn reserve_bytes(space: &Space) -> u64 {
    RESERVE_BYTES.min(space.capacity_bytes / 8)
}
