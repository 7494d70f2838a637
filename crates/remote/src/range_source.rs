//! The interface between a source and the reader: ranges of one version.

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;

use crate::failure::Failure;

/// Bytes in chunks; a failure ends the stream.
pub(crate) type Body = BoxStream<'static, Result<Bytes, Failure>>;

/// One version of one input.
#[async_trait]
pub(crate) trait RangeSource: Send + Sync + 'static {
    /// Starts reading the bytes from `start` up to `end`, which are within the input's size. Fails
    /// with [`Failure::changed`] if another version has replaced this one; never returns bytes
    /// beyond `end`.
    async fn get(&self, start: u64, end: u64) -> Result<Body, Failure>;
}
