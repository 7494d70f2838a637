//! The tokenizer's reader of a document.

use html5gum::{Readable, Reader};
use std::convert::Infallible;

/// The unread rest of a document. It behaves like html5gum's own reader of strings, but finds the
/// end of scripts and styles with vector instructions, because they make up most of many pages.
pub(super) struct Source<'h> {
    rest: &'h [u8],
}

impl<'h> Source<'h> {
    pub(super) fn new(html: &'h str) -> Source<'h> {
        Source {
            rest: html.as_bytes(),
        }
    }
}

impl Reader for Source<'_> {
    type Error = Infallible;

    #[inline(always)]
    fn read_byte(&mut self) -> Result<Option<u8>, Infallible> {
        let Some((first, rest)) = self.rest.split_first() else {
            return Ok(None);
        };
        self.rest = rest;
        Ok(Some(*first))
    }

    #[inline(always)]
    fn try_read_string(&mut self, text: &[u8], case_sensitive: bool) -> Result<bool, Infallible> {
        let Some((head, rest)) = self.rest.split_at_checked(text.len()) else {
            return Ok(false);
        };
        let is_there = head == text || !case_sensitive && head.eq_ignore_ascii_case(text);
        if is_there {
            self.rest = rest;
        }
        Ok(is_there)
    }

    #[inline(always)]
    fn read_until<'b>(
        &'b mut self,
        needle: &[u8],
        char_buf: &'b mut [u8; 4],
    ) -> Result<Option<&'b [u8]>, Infallible> {
        let length = match *needle {
            // `<`, NUL and CR: the bytes where the tokenizer stops in raw text. In other states it
            // stops at more bytes, and soon.
            [a, b, c] if !self.rest.is_empty() => {
                let found = memchr::memchr3(a, b, c, self.rest);
                // A byte that is searched for is returned alone.
                found.map_or(self.rest.len(), |at| at.max(1))
            }
            _ => match self.rest.to_reader().read_until(needle, char_buf)? {
                Some(chunk) => chunk.len(),
                None => return Ok(None),
            },
        };
        let (chunk, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(Some(chunk))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the chunks up to the end, each with the next byte.
    fn chunks(
        mut reader: impl Reader<Error = Infallible>,
        needle: &[u8],
    ) -> Vec<(Vec<u8>, Option<u8>, bool)> {
        let mut chunks = Vec::new();
        let mut buffer = [0; 4];
        loop {
            let Ok(chunk) = reader.read_until(needle, &mut buffer);
            let Some(chunk) = chunk.map(<[u8]>::to_vec) else {
                return chunks;
            };
            let Ok(is_end) = reader.try_read_string(b"/s", false);
            let Ok(byte) = reader.read_byte();
            chunks.push((chunk, byte, is_end));
        }
    }

    proptest! {
        #[test]
        fn it_reads_as_the_reader_of_html5gum(html in "[a<\r\n&\0/sS\"é]{0,80}|[a-z]{0,80}</S[a-z<]{0,80}") {
            for needle in [&b"<\0\r"[..], b"<&\0\r", b"\0\r", b"\"&\0\r"] {
                prop_assert_eq!(chunks(Source::new(&html), needle), chunks(html.to_reader(), needle));
            }
        }
    }
}
