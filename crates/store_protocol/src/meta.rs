//! The metadata of an object, stored with every replica.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::clock::Version;
use crate::key::Key;

/// Bytes in a block, the unit of verification: any range is read in whole blocks, each compared
/// with its digest.
///
/// 256 KiB: a record of a WARC file costs one block, and the table of a 1 GB object is 128 KB.
pub const BLOCK_BYTES: u64 = 256 * 1024;

/// The metadata of one version of an object, identical on all its replicas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// The object's name.
    pub key: Key,
    /// When it was written. `version.millis` is the object's last-modified time.
    pub version: Version,
    /// Whether this is a tombstone: the version that deleted the object. `size` is then 0.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
    /// Length of the content in bytes.
    pub size: u64,
    /// Entity tag without quotes: MD5 in hexadecimal, or for multipart uploads the MD5 of the
    /// parts' MD5s, `-`, number of parts.
    pub etag: String,
    /// Headers kept for the client, names in lower case: `content-type`, `cache-control`,
    /// `x-amz-meta-...`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
    /// Digests of the whole content.
    pub digests: Digests,
    /// The id of the request that wrote this version. Absent if the deciding node was the only one.
    /// A caller that lost the response and retries gets this version instead of writing another
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<WriteId>,
}

/// The id of one write request: 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteId(#[serde(with = "hex")] [u8; 16]);

impl WriteId {
    /// Returns a new random id.
    pub fn random() -> Self {
        Self(system::random())
    }
}

/// Digests of an object's content, each computed once, by the node that received the upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digests {
    /// MD5, which S3 clients compare.
    #[serde(with = "hex")]
    pub md5: [u8; 16],
    /// SHA-256, which archives record.
    #[serde(with = "hex")]
    pub sha256: [u8; 32],
    /// BLAKE3, the root over the blocks' chaining values. Verification compares this one.
    #[serde(with = "hex")]
    pub blake3: [u8; 32],
}

/// Digests as lower-case hexadecimal text.
mod hex {
    use data_encoding::HEXLOWER;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&HEXLOWER.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>, const N: usize>(
        deserializer: D,
    ) -> Result<[u8; N], D::Error> {
        let text = String::deserialize(deserializer)?;
        // Upper-case digits are refused, so every digest has exactly one text.
        let bytes = HEXLOWER.decode(text.as_bytes()).map_err(Error::custom)?;
        bytes
            .try_into()
            .map_err(|_| Error::custom(format!("{text:?} is not a digest of {N} bytes")))
    }
}
