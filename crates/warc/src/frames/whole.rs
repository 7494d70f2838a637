//! Decodes a compressed frame in one step if it is completely in memory, which is the fastest way.
//!
//! Invariant: the result equals that of decoding in steps. If the one step fails for any reason,
//! the frame is decoded in steps from its start. So is a frame in which a second record begins,
//! because the record's offset depends on the grains of the steps.

use crate::error::ReadError;
use crate::frames::{Frames, GRAIN_BYTES, WINDOW_BYTES, read_trailer};

/// Number of compressed bytes to examine: more than most frames have, and not more than a read
/// returns anyway.
const STORED_BYTES: usize = 64 << 10;

impl Frames {
    /// Decodes the open frame in one step if no bytes of it are decoded yet. Returns the number of
    /// bytes produced; `None` if it must be decoded in steps.
    pub(super) fn decode_whole(&mut self, output: &mut [u8]) -> Result<Option<usize>, ReadError> {
        let Some(frame) = self.frame.as_mut().filter(|frame| frame.may_be_whole) else {
            return Ok(None);
        };
        frame.may_be_whole = false;
        let Some(decoder) = self.decoders.current(frame.container) else {
            return Ok(None);
        };
        self.source.ensure(STORED_BYTES)?;
        let room = output.len().min(WINDOW_BYTES);
        let Some((consumed, produced)) = decoder.decode_whole(self.source.available(), &mut output[..room])
        else {
            return Ok(None);
        };
        self.source.consume(consumed);
        frame.decoded = produced as u64;
        frame.lacks_grains = consumed > GRAIN_BYTES;
        frame.end = Some(read_trailer(&mut self.source, decoder)?);
        Ok(Some(produced))
    }

    /// Decodes the open frame again in steps: up to the current position, and then as many bytes as
    /// the window held.
    pub(super) fn decode_again_in_steps(&mut self) -> Result<(), ReadError> {
        let Some(position) = self.frame_position() else {
            return Ok(());
        };
        let ready = self.window().len();
        self.in_steps = true;
        let outcome = self.rewind(position);
        self.in_steps = false;
        outcome?;
        while self.window().len() < ready && self.more(ready)? {}
        Ok(())
    }
}
