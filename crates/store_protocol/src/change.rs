//! A change of one key, as sent to the node that decides for the key's partition.

use placement::{Partition, VolumeId};
use serde::{Deserialize, Serialize};

use crate::clock::{Term, Version};
use crate::draft::Draft;
use crate::key::Key;
use crate::meta::{Meta, WriteId};
use crate::protection::Protect;
use crate::upload::UploadId;

/// A change of one key. The node that decides for its partition decides it and makes it visible.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ChangeRequest {
    /// The object.
    pub key: Key,
    /// The requested change.
    pub change: Change,
    /// The request's id, also stored in the version that it writes ([`Meta::write`]).
    pub write: WriteId,
    /// The newest version that the caller knows. The request has no effect unless this is still the
    /// newest, so a request that arrives late or twice does nothing. `None` only within the process
    /// that decides.
    #[serde(rename = "seen")]
    pub expected_newest: Option<NewestVersion>,
    /// Set by a node that relays the change, because no node before the addressed one could decide
    /// it.
    pub relayed: bool,
}

/// The newest version of a key, or that the key has no version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewestVersion {
    /// A named field, because in JSON "no version was seen" must differ from "unknown".
    pub version: Option<Version>,
}

/// A requested change of a key.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Writes a new version.
    Put {
        /// Condition on the current version.
        condition: Condition,
        /// The new version without its number.
        draft: Box<Draft>,
        /// The volumes that hold the content, and the upload on each.
        #[serde(rename = "stages")]
        uploads: Vec<(VolumeId, UploadId)>,
    },
    /// Writes a new version and changes its protection. It is a separate change, not a property of
    /// a put, so that nodes that do not support protection refuse it.
    Protect {
        /// Condition on the current version.
        condition: Condition,
        /// The new version without its number.
        draft: Box<Draft>,
        /// The volumes that hold the content, and the upload on each.
        #[serde(rename = "stages")]
        uploads: Vec<(VolumeId, UploadId)>,
        /// The change of the protection.
        protect: Protect,
    },
    /// Writes a tombstone, if there is an object or a condition requires one.
    Delete {
        /// Condition on the current version.
        condition: Condition,
    },
    /// Completes an interrupted write, and changes nothing else.
    #[serde(rename = "settle")]
    FinishInDoubt,
}

/// The condition on the current version under which a write happens.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Condition {
    /// No condition: the write always happens.
    #[default]
    Always,
    /// There must be no current version (`If-None-Match: *`).
    Absent,
    /// The current version must have this entity tag, without quotes (`If-Match`).
    Etag(String),
    /// The current version must be this one. The same entity tag returns if the same content is
    /// written again; a version number never does. Nodes that predate this condition refuse it.
    Version {
        /// Its number.
        version: Version,
        /// The key of a copy of that version, if the version is protected. If the copy has the same
        /// content and is protected as well
        /// ([`Protection::is_covered_by`](crate::Protection::is_covered_by)), the current version's
        /// protection does not refuse the write, because no protected content is lost.
        kept: Option<Key>,
    },
}

impl Change {
    /// Returns the new version, if it has content.
    pub fn draft(&self) -> Option<&Draft> {
        match self {
            Self::Put { draft, .. } | Self::Protect { draft, .. } => Some(draft),
            Self::Delete { .. } | Self::FinishInDoubt => None,
        }
    }

    /// Returns the condition, or `None` for a change without one.
    pub fn condition(&self) -> Option<&Condition> {
        match self {
            Self::Put { condition, .. } | Self::Protect { condition, .. } | Self::Delete { condition } => {
                Some(condition)
            }
            Self::FinishInDoubt => None,
        }
    }

    /// Returns the condition for modification.
    pub fn condition_mut(&mut self) -> Option<&mut Condition> {
        match self {
            Self::Put { condition, .. } | Self::Protect { condition, .. } | Self::Delete { condition } => {
                Some(condition)
            }
            Self::FinishInDoubt => None,
        }
    }

    /// Returns the uploads of the content, if there is content.
    pub fn uploads_mut(&mut self) -> Option<&mut Vec<(VolumeId, UploadId)>> {
        match self {
            Self::Put { uploads, .. } | Self::Protect { uploads, .. } => Some(uploads),
            Self::Delete { .. } | Self::FinishInDoubt => None,
        }
    }
}

impl Condition {
    /// Returns whether the condition holds for `current`. `None` means no current version.
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
    /// Returns the condition that `current` is still the current version, or is still absent.
    pub fn still(current: Option<&Meta>) -> Self {
        current.map_or(Self::Absent, |meta| Self::Version {
            version: meta.version,
            kept: None,
        })
    }
}

/// A node's request to decide for a partition from now on, in this term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The partition.
    pub partition: Partition,
    /// The requested term. In a response: the later term that was promised to another node.
    pub term: Term,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression test: on the wire a request that had seen no version lost this information, and
    /// was carried out a second time.
    #[test]
    fn nothing_seen_is_not_nothing_known() {
        for seen in [None, Some(NewestVersion { version: None })] {
            let text = serde_json::to_string(&seen).unwrap();
            assert_eq!(
                serde_json::from_str::<Option<NewestVersion>>(&text).unwrap(),
                seen,
                "{text}"
            );
        }
    }
}
