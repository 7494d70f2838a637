//! What the tier reads from: objects with versions, somewhere else.

use std::error::Error;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use object_store::GetRange;

/// A store whose objects are kept here. `path` is the name of an object in it.
///
/// The tier asks for the bytes of one version only ([`Origin::get`] with `expected`), and compares the description of
/// each answer with that: a store that ignores conditions cannot make it mix two versions.
#[async_trait]
pub trait Origin: Send + Sync + 'static {
    /// The address of the store, such as `s3://bucket`. With a path, after a slash, it is the address of an object,
    /// by which rules know it. Two stores with one root are one store to the tier.
    fn root(&self) -> &str;

    /// Which store that is, where one root may mean several: the endpoint of an S3 store that is not Amazon's.
    fn endpoint(&self) -> &str {
        ""
    }

    /// Whether what a description has beside was written by an origin of this kind: several read one store, and what one
    /// of them knows is only of use to those that can read it.
    fn understands(&self, _beside: &[u8]) -> bool {
        true
    }

    /// Describes the version that is there now.
    ///
    /// # Errors
    /// [`OriginError::Missing`] if nothing is there.
    async fn describe(&self, path: &str) -> Result<Description, OriginError>;

    /// Bytes of a version: the one `expected`, or the one that is there now. The range of the answer may be cut at the
    /// object's end, and begins where it was asked to.
    ///
    /// # Errors
    /// [`OriginError::Changed`] if another version than `expected` is there, [`OriginError::Range`] if nothing of the
    /// object is in the range, [`OriginError::Missing`] if nothing is there.
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
    /// What tells it from other versions.
    pub validator: Validator,
    /// Whatever else the origin says of this version, such as its headers. The tier keeps it in memory and gives it
    /// back as it is.
    pub beside: Bytes,
}

impl Description {
    /// Whether two descriptions are of the same version.
    pub fn is_same_version(&self, other: &Description) -> bool {
        self.size_bytes == other.size_bytes && self.validator == other.validator
    }
}

/// What tells a version of an object from others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Validator {
    /// A strong entity tag, as the store writes it.
    Tag(String),
    /// The time of the last change, in milliseconds since 1970, of stores that have no strong tags.
    Modified(i64),
}

/// An answer of an origin.
pub struct Answer {
    /// The version whose bytes follow.
    pub description: Description,
    /// The bytes that follow.
    pub range: Range<u64>,
    /// These bytes, in pieces of any length.
    pub body: BoxStream<'static, Result<Bytes, OriginError>>,
}

/// What an origin says instead of an answer. It goes to each reader that waits for it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OriginError {
    /// Nothing is there.
    #[error("nothing is there: {0}")]
    Missing(Cause),
    /// Another version is there than the one that was asked for.
    #[error("another version has replaced it")]
    Changed,
    /// The range is beyond the object's end.
    #[error("the range is beyond its {size_bytes} bytes")]
    Range {
        /// The object's length.
        size_bytes: u64,
    },
    /// It may pass: the tier goes on from the byte reached a few times.
    #[error("{0}")]
    Passing(Cause),
    /// It stays.
    #[error("{0}")]
    Lasting(Cause),
}

/// The error of an origin itself, to be found again with `downcast_ref`.
pub type Cause = Arc<dyn Error + Send + Sync>;
