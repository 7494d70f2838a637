//! Uncompressed records.

use std::io::{self, Read, Write};

use super::codec::Encode;

/// Returns records unchanged.
pub(super) struct Encoder;

impl Encode for Encoder {
    fn encode<'a>(&mut self, record: &'a [u8], _into: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        Ok(record)
    }

    fn encode_from(&mut self, record: &mut dyn Read, _bytes: u64, out: &mut dyn Write) -> io::Result<()> {
        io::copy(record, out).map(drop)
    }
}
