//! What archivists do with files of records, apart from any archive: check them against the standard, write them anew.
//!
//! Invariants:
//! - inputs are never changed, and every byte of one is accounted for;
//! - memory does not depend on the size of a file or record, but for some bytes a record where a function says so.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

use sha2::{Digest as _, Sha256};

mod aside;
pub mod check;
pub mod dedup;
mod defects;
mod error;
pub mod extract;
mod folder;
mod proof;
pub mod recompress;
pub mod repair;
mod source;
pub mod split;

pub use aside::{Proved, Written};
pub use error::WriteError;
pub use folder::{ProvedFolder, WrittenFolder};

/// Is told how far a file was read, in bytes as stored. Work ends if it returns false.
pub type Each<'a> = dyn FnMut(u64) -> bool + 'a;

/// Number of bytes of a block that are held in memory. The rest is kept in a file without a name.
const BODY_BYTES_MAX: u64 = 4 << 20;

/// What stands for an id in memory: the first half of its SHA-256, so that long ids cost no more than short ones. Among
/// 2^32 ids two have the same with a probability of 2^-65.
fn short_digest(id: &str) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&Sha256::digest(id.as_bytes())[..16]);
    half
}
