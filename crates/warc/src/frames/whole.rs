//! Decodes a compressed frame in one step if all of it is in memory, which is the quickest way.
//!
//! Invariant: it makes no difference to what is read. A frame that cannot be decoded so, whatever the reason, is
//! decoded in steps from its start. So is one in which a second record begins, because its offset depends on the
//! grains of the steps.

use crate::error::ReadError;
use crate::frames::{Frames, GRAIN_BYTES, WINDOW_BYTES, read_trailer};

/// Number of compressed bytes looked at: more than most frames have. A read takes as many anyhow.
const STORED_BYTES: usize = 64 << 10;

impl Frames {
    /// Decodes the open frame if nothing of it is decoded yet. Returns how many bytes it has; `None` if it has to be
    /// decoded in steps.
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

    /// Decodes the open frame again up to its position, in steps, and as much beyond it as the window held.
    pub(super) fn decode_again_in_steps(&mut self) -> Result<(), ReadError> {
        let Some(place) = self.place() else { return Ok(()) };
        let ready = self.window().len();
        self.in_steps = true;
        let outcome = self.rewind(place);
        self.in_steps = false;
        outcome?;
        while self.window().len() < ready && self.more(ready)? {}
        Ok(())
    }
}
