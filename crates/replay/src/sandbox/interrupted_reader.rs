//! Interrupts the tokenizer at intervals.
//!
//! The tokenizer reads a text to its end before it returns anything, so a page with one long text
//! would be held in memory. To interrupt it, the reader fails: on the next call the tokenizer
//! continues where it stopped. It remembers its place in every state except those of names
//! (html5gum 0.9, `reconsume_in_inline`), and only these states stop at a `/`.

use std::io::{self, Read};

use html5gum::{IoReader, Reader};

/// A page, read with an interruption after a number of bytes.
pub(super) struct InterruptedReader<R: Read> {
    page: IoReader<R>,
    stop_bytes: usize,
    /// Bytes read since the last interruption.
    bytes: usize,
}

/// Why the tokenizer returns nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadStop {
    /// It was interrupted and may continue.
    #[error("interrupted, may continue")]
    Interrupted,
    /// The page cannot be read.
    #[error(transparent)]
    Failed(#[from] io::Error),
}

impl<R: Read> InterruptedReader<R> {
    pub(super) fn new(page: R, stop_bytes: usize) -> InterruptedReader<R> {
        InterruptedReader {
            page: IoReader::new(page),
            stop_bytes,
            bytes: 0,
        }
    }
}

impl<R: Read> Reader for InterruptedReader<R> {
    type Error = ReadStop;

    fn read_byte(&mut self) -> Result<Option<u8>, ReadStop> {
        Ok(self.page.read_byte()?)
    }

    fn try_read_string(&mut self, text: &[u8], case_sensitive: bool) -> Result<bool, ReadStop> {
        Ok(self.page.try_read_string(text, case_sensitive)?)
    }

    fn read_until<'b>(
        &'b mut self,
        ends: &[u8],
        buffer: &'b mut [u8; 4],
    ) -> Result<Option<&'b [u8]>, ReadStop> {
        // Never stop in a state that ends at `/`: the tokenizer would lose its place.
        if self.bytes >= self.stop_bytes && !ends.contains(&b'/') {
            self.bytes = 0;
            return Err(ReadStop::Interrupted);
        }
        let part = self.page.read_until(ends, buffer)?;
        self.bytes += part.map_or(0, <[u8]>::len);
        Ok(part)
    }
}
