//! Records that are not compressed.

use std::io;

use super::codec::Encode;

/// Gives records as they are.
pub(super) struct Encoder;

impl Encode for Encoder {
    fn encode<'a>(&mut self, record: &'a [u8], _into: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        Ok(record)
    }
}
