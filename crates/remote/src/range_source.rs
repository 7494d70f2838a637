//! What reading needs of a place: the bytes of a range, of one version.

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;

use crate::failure::Failure;

/// Bytes as they come; a failure ends them.
pub(crate) type Body = BoxStream<'static, Result<Bytes, Failure>>;

/// One version of one input.
#[async_trait]
pub(crate) trait RangeSource: Send + Sync + 'static {
    /// Begins to answer the bytes from `start` up to `end`, which are within its size. Another version is
    /// [`Failure::changed`]; bytes beyond `end` are never given.
    async fn get(&self, start: u64, end: u64) -> Result<Body, Failure>;
}
