//! The type of content that is passed on piece by piece.

use std::io;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::Stream;

/// Content on its way, in pieces of any size.
pub type ByteStream = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;
