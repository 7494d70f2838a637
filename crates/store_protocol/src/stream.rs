//! The type of streamed content.

use std::io;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::Stream;

/// Streamed content, in pieces of any size.
pub type ByteStream = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;
