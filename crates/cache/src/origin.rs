//! The interface to remote stores: objects with versions.

use std::error::Error;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use object_store::GetRange;

/// A store whose objects are cached. `path` is the name of an object in it.
///
/// The tier requests bytes of a single version ([`Origin::get`] with `expected`) and compares the
/// description of each response with it. So a store that ignores conditions cannot cause two
/// versions to be mixed.
#[async_trait]
pub trait Origin: Send + Sync + 'static {
    /// Returns the address of the store, such as `s3://bucket`. With a slash and a path it is the
    /// address of an object, which rules refer to. Two stores with the same root are the same store
    /// to the tier.
    fn root(&self) -> &str;

    /// Distinguishes stores with the same root: the endpoint of an S3 store other than Amazon's.
    fn endpoint(&self) -> &str {
        ""
    }

    /// Returns whether the additional data of a description was written by an origin of this kind.
    /// Several kinds may read one store, and each can use only its own data.
    fn understands(&self, _beside: &[u8]) -> bool {
        true
    }

    /// Describes the current version.
    ///
    /// # Errors
    /// [`OriginError::Missing`] if the object does not exist.
    async fn describe(&self, path: &str) -> Result<Description, OriginError>;

    /// Reads bytes of the version `expected`, or of the current one. The range of the response
    /// starts as requested and may be truncated at the end of the object.
    ///
    /// # Errors
    /// [`OriginError::Changed`] if the current version is not `expected`, [`OriginError::Range`] if
    /// the range is beyond the end of the object, [`OriginError::Missing`] if the object does not
    /// exist.
    async fn get(
        &self,
        path: &str,
        expected: Option<&Description>,
        wanted: Option<GetRange>,
    ) -> Result<Answer, OriginError>;
}

/// One version of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// Its length.
    pub size_bytes: u64,
    /// Distinguishes it from other versions.
    pub validator: Validator,
    /// Additional data of the origin about this version, such as headers. The tier stores it and
    /// returns it unchanged.
    pub beside: Bytes,
}

impl Description {
    /// Returns whether two descriptions belong to the same version.
    pub fn is_same_version(&self, other: &Description) -> bool {
        self.size_bytes == other.size_bytes && self.validator == other.validator
    }
}

/// Distinguishes a version of an object from others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Validator {
    /// A strong entity tag, as the store writes it.
    Tag(String),
    /// The time of the last change, in milliseconds since 1970, for stores without strong tags.
    Modified(i64),
}

/// A response of an origin.
pub struct Answer {
    /// The version that the bytes belong to.
    pub description: Description,
    /// The range of bytes in `body`.
    pub range: Range<u64>,
    /// The bytes, in chunks of any length.
    pub body: BoxStream<'static, Result<Bytes, OriginError>>,
}

/// An error of an origin. Each reader that waits for the response receives it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OriginError {
    /// The object does not exist.
    #[error("not found: {0}")]
    Missing(Cause),
    /// The current version is not the expected one.
    #[error("the object was replaced by another version")]
    Changed,
    /// The range is beyond the end of the object.
    #[error("the range is beyond the end of the object ({size_bytes} bytes)")]
    Range {
        /// Length of the object.
        size_bytes: u64,
    },
    /// A temporary error: the tier resumes at the next missing byte, a few times.
    #[error("{0}")]
    Passing(Cause),
    /// A permanent error.
    #[error("{0}")]
    Lasting(Cause),
}

/// The underlying error of an origin, accessible with `downcast_ref`.
pub type Cause = Arc<dyn Error + Send + Sync>;
