//! Tools for WARC and ARC files, independent of any archive: check, repair, deduplicate,
//! recompress, split and extract.
//!
//! Invariants:
//! - Inputs are never changed, and every byte of an input is accounted for.
//! - Memory does not depend on the size of a file or record, except for some bytes per record where
//!   a function says so.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

use sha2::{Digest as _, Sha256};

pub mod check;
pub mod dedup;
mod defects;
mod error;
pub mod extract;
mod folder;
mod progress;
pub mod recompress;
mod record_digests;
pub mod repair;
mod source;
pub mod split;
mod temp_file;
mod temp_output;

pub use error::WriteError;
pub use folder::{VerifiedFolder, WrittenFolder};
pub use progress::Progress;
pub use temp_output::{UnverifiedFile, Verified};

/// Returns the first half of the SHA-256 of an id, so that long ids take as much memory as short
/// ones. Among 2^32 ids, two have the same half with a probability of 2^-65.
fn short_digest(id: &str) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&Sha256::digest(id.as_bytes())[..16]);
    half
}
