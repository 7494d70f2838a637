//! Content on its way.

use std::io;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::Stream;

/// Content on its way, in pieces of any size.
pub type ByteStream = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;
