//! Keys: the names of objects, and the partition of each name.

use std::fmt;
use std::sync::Arc;

use placement::Partition;
use serde::{Deserialize, Serialize};

/// Longest bucket name in bytes (S3: 63).
pub const BUCKET_BYTES_MAX: usize = 63;

/// Longest name within a bucket in bytes. S3 allows clients 1,024; parts of multipart uploads are
/// stored in one of the store's own buckets and add the upload's name.
pub const NAME_BYTES_MAX: usize = 1280;

/// The name of an object: a bucket and a name within it, written `bucket/name`.
///
/// Buckets that begin with a dot belong to the store itself (`.uploads`) or to the layers above it
/// (`.s3`); clients never see them. A name is any UTF-8 text and may contain `/`, `..` and empty
/// segments: it is never used as a path of the file system.
///
/// A key checks its bucket less strictly than `store::bucket::check_name`, which decides which
/// buckets may be made.
///
/// ```
/// use store_protocol::{Key, KeyError};
///
/// let key = Key::new("crawls", "2026/a.warc.gz")?;
/// assert_eq!((key.bucket(), key.name()), ("crawls", "2026/a.warc.gz"));
/// assert_eq!(key.to_string(), "crawls/2026/a.warc.gz");
/// assert!(matches!(Key::new("crawls", ""), Err(KeyError::Name { .. })));
/// # Ok::<(), KeyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Key(Arc<str>);

/// Why a text is not a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Not `bucket/name`.
    #[error("key {0:?} has no bucket: expected bucket/name")]
    NoBucket(String),
    /// The bucket name is too long, empty, or has an invalid character. The message states the
    /// lengths that can be made, although shorter names are read.
    #[error("bucket {0:?} is not a bucket name: expected 3 to 63 of a-z, 0-9, dot and hyphen")]
    Bucket(String),
    /// The name within the bucket is empty or too long.
    #[error("name of {found} bytes in bucket {bucket:?}: expected 1 to {NAME_BYTES_MAX}")]
    Name {
        /// The bucket.
        bucket: String,
        /// Length found, in bytes.
        found: usize,
    },
}

impl Key {
    /// Makes a key from its two parts.
    ///
    /// # Errors
    /// [`KeyError::Bucket`] if the bucket has an invalid character or length, [`KeyError::Name`] if
    /// the name has an invalid length.
    pub fn new(bucket: &str, name: &str) -> Result<Self, KeyError> {
        let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'.' || b == b'-';
        if bucket.is_empty() || bucket.len() > BUCKET_BYTES_MAX || !bucket.bytes().all(allowed) {
            return Err(KeyError::Bucket(bucket.to_owned()));
        }
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return Err(KeyError::Name {
                bucket: bucket.to_owned(),
                found: name.len(),
            });
        }
        Ok(Self(format!("{bucket}/{name}").into()))
    }

    /// Parses `bucket/name`.
    ///
    /// # Errors
    /// The errors of [`Key::new`], and [`KeyError::NoBucket`] if the text has no slash.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        // The first slash ends the bucket, which cannot contain one. All others belong to the name.
        let (bucket, name) = text
            .split_once('/')
            .ok_or_else(|| KeyError::NoBucket(text.to_owned()))?;
        Self::new(bucket, name)
    }

    /// Returns `bucket/name`. Listings are in the bytewise order of this text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the part before the first slash.
    pub fn bucket(&self) -> &str {
        // A key always has a slash, so the default is never used.
        self.0.split_once('/').map_or("", |parts| parts.0)
    }

    /// Returns the part after the first slash.
    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or("", |parts| parts.1)
    }

    /// Returns BLAKE3 of the text. It alone decides where the object is placed.
    pub fn hash(&self) -> [u8; 32] {
        *blake3::hash(self.0.as_bytes()).as_bytes()
    }

    /// Returns the partition: the first 12 bits of the hash.
    pub fn partition(&self) -> Partition {
        Partition::of_hash(&self.hash())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Key {
    type Error = KeyError;

    fn try_from(text: String) -> Result<Self, KeyError> {
        Self::parse(&text)
    }
}

impl From<Key> for String {
    fn from(key: Key) -> Self {
        key.0.as_ref().to_owned()
    }
}
