//! Numbers of inputs and epochs.

use serde::{Deserialize, Serialize};

/// Number of an input within an archive, assigned at its first load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InputId(pub u32);

/// Number of an epoch. The first is 1; 0 is the empty archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
pub struct Epoch(pub u64);

impl Epoch {
    /// The following epoch.
    pub(crate) fn next(self) -> Epoch {
        Epoch(self.0 + 1)
    }
}
