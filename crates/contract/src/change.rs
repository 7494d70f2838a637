//! A change of one key, as it is sent to the node that decides for the key's partition.

use std::collections::BTreeMap;

use placement::{Partition, VolumeId};
use serde::{Deserialize, Serialize};

use crate::clock::{Term, Version};
use crate::key::Key;
use crate::meta::{Digests, Meta, WriteId};
use crate::protection::Protect;
use crate::upload::UploadId;

/// A change of one key. The node that decides for its partition decides it and makes it visible.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Finish {
    /// The object.
    pub key: Key,
    /// What is to be done.
    pub change: Change,
    /// Names the request. The version written for it carries this name ([`Meta::write`]).
    pub write: WriteId,
    /// The newest version that the caller knows. Nothing is done unless it is still the newest, so a request
    /// that arrives late or twice does nothing. `None` only within the process that decides.
    pub seen: Option<Seen>,
    /// Set by a node that relays the change: no node that comes before the one asked could decide it.
    pub relayed: bool,
}

/// The newest version of a key, or that there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Named, because as JSON "none was seen" must differ from "nothing is known of what was seen".
    pub version: Option<Version>,
}

/// What is to be done about a key.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// A new version.
    Put {
        /// What must hold of the current version.
        condition: Condition,
        /// The new version without its number.
        draft: Box<Draft>,
        /// The volumes that hold the content, and the upload on each.
        #[serde(rename = "stages")]
        uploads: Vec<(VolumeId, UploadId)>,
    },
    /// A new version, and a change of its protection. It is a change of its own, and no property of a put, so
    /// that nodes that know of no protection refuse it.
    Protect {
        /// What must hold of the current version.
        condition: Condition,
        /// The new version without its number.
        draft: Box<Draft>,
        /// The volumes that hold the content, and the upload on each.
        #[serde(rename = "stages")]
        uploads: Vec<(VolumeId, UploadId)>,
        /// The change of the protection.
        protect: Protect,
    },
    /// A tombstone, if there is anything to delete or a condition says that there must be.
    Delete {
        /// What must hold of the current version.
        condition: Condition,
    },
    /// Completes a write that was interrupted, and changes nothing else.
    Settle,
}

/// What must hold of the current version for a write to happen.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Condition {
    /// No condition: the write always happens.
    #[default]
    Always,
    /// There must be no current version (`If-None-Match: *`).
    Absent,
    /// The current version must have this entity tag, without quotes (`If-Match`).
    Etag(String),
    /// The current version must be this one. Entity tags come back when the same content is written again; the
    /// number of a version never does. Nodes of before this condition refuse it.
    Version {
        /// Its number.
        version: Version,
        /// Where a copy of that version lies, if it is protected. If the copy has the same content and is
        /// protected as well ([`Protection::is_covered_by`](crate::Protection::is_covered_by)), the protection
        /// of the current version does not refuse the write: nothing that is protected is lost by it.
        kept: Option<Key>,
    },
}

/// A new version that has no number yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    /// A tombstone.
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

impl Change {
    /// The new version, if it has content.
    pub fn draft(&self) -> Option<&Draft> {
        match self {
            Self::Put { draft, .. } | Self::Protect { draft, .. } => Some(draft),
            Self::Delete { .. } | Self::Settle => None,
        }
    }

    /// What must hold of the current version; `None` for a change without a condition.
    pub fn condition(&self) -> Option<&Condition> {
        match self {
            Self::Put { condition, .. } | Self::Protect { condition, .. } | Self::Delete { condition } => {
                Some(condition)
            }
            Self::Settle => None,
        }
    }

    /// The condition, to change it.
    pub fn condition_mut(&mut self) -> Option<&mut Condition> {
        match self {
            Self::Put { condition, .. } | Self::Protect { condition, .. } | Self::Delete { condition } => {
                Some(condition)
            }
            Self::Settle => None,
        }
    }

    /// The uploads of the content, if there is content.
    pub fn uploads_mut(&mut self) -> Option<&mut Vec<(VolumeId, UploadId)>> {
        match self {
            Self::Put { uploads, .. } | Self::Protect { uploads, .. } => Some(uploads),
            Self::Delete { .. } | Self::Settle => None,
        }
    }
}

impl Condition {
    /// Whether the condition holds for `current`; `None` means that there is no current version.
    pub fn holds(&self, current: Option<&Meta>) -> bool {
        match self {
            Self::Always => true,
            Self::Absent => current.is_none(),
            Self::Etag(etag) => current.is_some_and(|meta| meta.etag == *etag),
            Self::Version { version, .. } => current.is_some_and(|meta| meta.version == *version),
        }
    }
}

impl Condition {
    /// The condition that `current` is still the current version, or that there is still none.
    pub fn still(current: Option<&Meta>) -> Self {
        current.map_or(Self::Absent, |meta| Self::Version {
            version: meta.version,
            kept: None,
        })
    }
}

impl Draft {
    /// Makes the description of the version from its number.
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

/// A node asks to decide for a partition from now on, in this term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The partition.
    pub partition: Partition,
    /// The term asked for; in an answer, the later term that was promised to another node.
    pub term: Term,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Over the wire, a question that had seen that there is nothing lost that it had seen anything, and was
    /// carried out a second time.
    #[test]
    fn nothing_seen_is_not_nothing_known() {
        for seen in [None, Some(Seen { version: None })] {
            let text = serde_json::to_string(&seen).unwrap();
            assert_eq!(
                serde_json::from_str::<Option<Seen>>(&text).unwrap(),
                seen,
                "{text}"
            );
        }
    }
}
