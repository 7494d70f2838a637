//! Numbers of inputs and of epochs.

use serde::{Deserialize, Serialize};

/// Number of an input within an archive, given at its first load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InputId(pub u32);

/// Number of an epoch; the first is 1, 0 is the empty archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
pub struct Epoch(pub u64);

impl Epoch {
    /// The one that follows it.
    pub(crate) fn next(self) -> Epoch {
        Epoch(self.0 + 1)
    }
}
