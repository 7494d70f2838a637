//! A version of an object before it has a number.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::clock::Version;
use crate::key::Key;
use crate::meta::{Digests, Meta};

/// A new version without a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    /// Whether it is a tombstone.
    pub deleted: bool,
    /// Length of the content.
    pub size: u64,
    /// Entity tag without quotes.
    pub etag: String,
    /// Headers kept for the client.
    pub attributes: BTreeMap<String, String>,
    /// Digests of the content.
    pub digests: Digests,
}

impl Draft {
    /// Makes the version's metadata from its number.
    pub fn into_meta(self, key: &Key, version: Version) -> Meta {
        Meta {
            key: key.clone(),
            version,
            deleted: self.deleted,
            size: self.size,
            etag: self.etag,
            attributes: self.attributes,
            digests: self.digests,
            // The deciding node sets this, unless it is alone.
            write: None,
        }
    }
}
