//! What an input's row keeps while it is digested and read at the same time, so that after a kill neither
//! begins anew: the version of the file, and the state of the digest. As long as the file has that version,
//! its first bytes need not be read again.

use serde::{Deserialize, Serialize};
use weave::LedgerEntry;

use super::chunk::Growing;
use inputs::{Digesting, FileVersion};

/// Where a load was interrupted, as JSON in [`LedgerEntry::digesting`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Interrupted {
    version: FileVersion,
    /// State of the digest of the bytes that the row's digest is of, in hexadecimal.
    state: String,
}

impl Interrupted {
    /// The text for the row. It is empty for a file that may still be written to: within one tick of the file
    /// system's clock a change leaves the version as it is.
    pub(super) fn of(digesting: &Digesting, version: Option<FileVersion>, growing: Growing) -> String {
        let Some(version) = version.filter(|_| growing == Growing::No) else {
            return String::new();
        };
        let state = data_encoding::HEXLOWER.encode(&digesting.state());
        // Without the text the first bytes are read again, which is all that an error could lead to.
        serde_json::to_string(&Interrupted { version, state }).unwrap_or_default()
    }

    /// The digest to go on with, if the file at the place of this input still has the version that it had.
    pub(super) fn goes_on(entry: &LedgerEntry, version: &FileVersion) -> Option<Digesting> {
        let text = Some(&entry.digesting).filter(|text| !text.is_empty())?;
        let interrupted: Interrupted = serde_json::from_str(text).ok()?;
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
