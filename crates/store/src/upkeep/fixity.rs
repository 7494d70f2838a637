//! What can be said of an object's integrity: its history on all volumes, and its digests.

use serde::{Deserialize, Serialize};

use crate::cluster::View;
use crate::key::Key;
use crate::meta::Meta;
use crate::store::{Store, StoreError};
use crate::volume::FixityEvent;

/// Digests of one object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectDigests {
    /// The object, with the digests that were taken when it was written.
    pub meta: Meta,
    /// SHA-512 in hexadecimal, computed now over verified bytes.
    pub sha512: String,
}

/// The history of a key in the fixity logs of all volumes' nodes, oldest first, at most `limit` lines from each; and
/// the volumes that did not answer.
pub async fn fixity(view: &View, key: &Key, limit: usize) -> (Vec<FixityEvent>, Vec<String>) {
    let _ = (view, key, limit);
    todo!()
}

/// Reads an object, verified, and takes the digests that are not kept with it.
///
/// # Errors
/// As [`Store::get`]; [`StoreError::Lost`] when its bytes cannot be read to the end.
pub async fn digests(store: &Store, key: &Key) -> Result<ObjectDigests, StoreError> {
    let _ = (store, key);
    todo!()
}
