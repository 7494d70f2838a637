//! Reads one replica block by block as its bytes arrive.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use store_protocol::{BlockTable, ByteStream, ReplicaRead, VolumeError, VolumeId};
use tokio::time::timeout;

/// An open replica at a block.
pub(super) struct OpenReplica {
    /// Its index among the replicas of the union.
    pub(super) replica: usize,
    /// Its table as stored, which may be damaged.
    pub(super) table: std::sync::Arc<BlockTable>,
    volume: VolumeId,
    bytes: ByteStream,
    /// Bytes received beyond the last block returned; less than a block plus a piece.
    rest: Bytes,
}

impl OpenReplica {
    pub(super) fn new(replica: usize, volume: VolumeId, read: ReplicaRead) -> Self {
        Self {
            replica,
            table: read.table,
            volume,
            bytes: read.bytes,
            rest: Bytes::new(),
        }
    }

    /// Returns the next `length` bytes, unverified.
    pub(super) async fn block(&mut self, length: usize, stall: Duration) -> Result<Bytes, VolumeError> {
        if self.rest.len() >= length {
            return Ok(self.rest.split_to(length));
        }
        let mut joined = BytesMut::new();
        loop {
            // A block that arrived in one piece is not copied.
            if joined.is_empty() && self.rest.len() >= length {
                return Ok(self.rest.split_to(length));
            }
            let take = self.rest.len().min(length - joined.len());
            if joined.is_empty() {
                joined.reserve(length);
            }
            joined.extend_from_slice(&self.rest.split_to(take));
            if joined.len() == length {
                return Ok(joined.freeze());
            }
            let piece = timeout(stall, self.bytes.next()).await;
            self.rest = match piece.map_err(|_| stalled(&self.volume))? {
                Some(Ok(piece)) => piece,
                Some(Err(error)) => return Err(self.broke_off(error)),
                None => return Err(self.broke_off(format_args!("{} of {length} bytes", joined.len()))),
            };
        }
    }

    fn broke_off(&self, detail: impl std::fmt::Display) -> VolumeError {
        VolumeError::Failed {
            volume: self.volume.clone(),
            detail: format!("the read was cut short: {detail}"),
        }
    }
}

pub(super) fn stalled(volume: &VolumeId) -> VolumeError {
    VolumeError::Unreachable {
        volume: volume.clone(),
        detail: "it sent nothing for too long".to_owned(),
    }
}
