//! What the row of an input stores while it is digested and read at the same time, so that both
//! resume after a kill: the version of the file and the state of the digest. While the file has
//! that version, its first bytes need not be read again.

use index::LedgerRow;
use inputs::{Digesting, FileVersion};
use serde::{Deserialize, Serialize};

use super::chunk::Growth;

/// The point where a load was interrupted, stored as JSON in [`LedgerRow::digesting`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SavedDigest {
    version: FileVersion,
    /// State of the digest of the bytes that the row's digest covers, in hexadecimal.
    state: String,
}

impl SavedDigest {
    /// Returns the text for the row. It is empty for a file that may still be written to, because a
    /// change within one tick of the file system's clock does not change the version.
    pub(super) fn of(digesting: &Digesting, version: Option<FileVersion>, growing: Growth) -> String {
        let Some(version) = version.filter(|_| growing == Growth::No) else {
            return String::new();
        };
        let state = data_encoding::HEXLOWER.encode(&digesting.state());
        // Without the text the first bytes are read again, so an error costs only this.
        serde_json::to_string(&SavedDigest { version, state }).unwrap_or_default()
    }

    /// Returns the digest state to continue with, if the file of this input still has the recorded
    /// version.
    pub(super) fn resume(entry: &LedgerRow, version: &FileVersion) -> Option<Digesting> {
        let text = Some(&entry.digesting).filter(|text| !text.is_empty())?;
        let interrupted: SavedDigest = serde_json::from_str(text).ok()?;
        if interrupted.version != *version {
            return None;
        }
        let state = data_encoding::HEXLOWER
            .decode(interrupted.state.as_bytes())
            .ok()?;
        let (bytes, digest) = entry.beginning();
        Digesting::of_state(&state, bytes, digest)
    }
}
