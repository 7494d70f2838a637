//! Decompresses content of any container as a stream, for callers that do not need single records.
//!
//! Invariants:
//!  - `buffer[head..]` are stored bytes that were read and not yet used
//!  - a frame is open exactly while `open` is a compressed container; with `Plain` the rest is
//!    returned unchanged

use std::io::{self, ErrorKind, Read};

use super::codec::{FrameHeader, Trailer};
use super::decoders::Decoders;
use super::{Begins, Container, MAGIC_BYTES, sniff};

/// Number of stored bytes to read at a time.
const READ_BYTES: usize = 8 << 10;

/// Decompresses consecutive frames. Content that does not begin with a frame is returned unchanged.
///
/// Damaged bytes cause an error of kind `InvalidData`, an end inside a frame one of kind
/// `UnexpectedEof`.
pub struct Decompressed<R> {
    stored: R,
    buffer: Vec<u8>,
    head: usize,
    decoders: Decoders,
    open: Option<Container>,
    /// Whether no frame was opened yet.
    fresh: bool,
}

impl<R: Read> Decompressed<R> {
    /// Creates a stream. Reads no bytes before the first call of `read`.
    pub fn new(stored: R) -> Decompressed<R> {
        Decompressed {
            stored,
            buffer: Vec::new(),
            head: 0,
            decoders: Decoders::default(),
            open: None,
            fresh: true,
        }
    }

    /// Returns the stored bytes that were read and not yet used.
    fn ready(&self) -> &[u8] {
        &self.buffer[self.head..]
    }

    /// Reads until `bytes` bytes are ready, or fewer at the end. Returns how many are ready.
    fn ensure(&mut self, bytes: usize) -> io::Result<usize> {
        self.buffer.drain(..self.head);
        self.head = 0;
        if self.buffer.len() < bytes {
            let missing = (bytes - self.buffer.len()).max(READ_BYTES) as u64;
            self.stored.by_ref().take(missing).read_to_end(&mut self.buffer)?;
        }
        Ok(self.buffer.len())
    }

    /// Opens what begins here. Returns false at the end.
    fn open_next(&mut self) -> io::Result<bool> {
        if self.ensure(MAGIC_BYTES)? == 0 {
            return Ok(false);
        }
        let fresh = std::mem::replace(&mut self.fresh, false);
        match sniff(self.ready()) {
            Some(Begins::Frame(container)) => self.open_frame(container)?,
            Some(Begins::Skippable(content)) => self.skip(MAGIC_BYTES as u64 + u64::from(content))?,
            // Content is plain only if its first bytes are; later, such bytes are damage.
            None if fresh => self.open = Some(Container::Plain),
            None => return Err(damaged("bytes that are no frame follow the last one")),
        }
        Ok(true)
    }

    fn open_frame(&mut self, container: Container) -> io::Result<()> {
        let Some(row) = container.row() else { return Ok(()) };
        let mut wanted = row.header_bytes;
        loop {
            let available = self.ensure(wanted)?;
            match (row.header)(self.ready(), false) {
                FrameHeader::Bytes(length) => {
                    self.head += length;
                    break;
                }
                FrameHeader::Incomplete if available >= wanted => wanted *= 4,
                FrameHeader::Incomplete => return Err(cut()),
                FrameHeader::Invalid(_, what) => return Err(damaged(what)),
            }
        }
        self.decoders.start(container)?;
        self.open = Some(container);
        Ok(())
    }

    /// Returns whether the content begins with a skippable frame.
    pub(crate) fn begins_with_skippable(&mut self) -> io::Result<bool> {
        self.ensure(MAGIC_BYTES)?;
        Ok(self.fresh && matches!(sniff(self.ready()), Some(Begins::Skippable(_))))
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        let ready = bytes.min(self.ready().len() as u64);
        self.head += ready as usize;
        let passed = io::copy(&mut self.stored.by_ref().take(bytes - ready), &mut io::sink())?;
        if passed < bytes - ready {
            Err(cut())
        } else {
            Ok(())
        }
    }

    fn read_plain(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let given = self.ready().read(into)?;
        self.head += given;
        match given {
            0 => self.stored.read(into),
            given => Ok(given),
        }
    }

    /// Decodes some bytes of the open frame. Returns 0 at its end.
    fn decode(&mut self, container: Container, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let at_end = self.head == self.buffer.len() && self.ensure(1)? == 0;
            let Some(decoder) = self.decoders.current(container) else {
                return Ok(0);
            };
            let decoded = decoder.decode(&self.buffer[self.head..], into);
            self.head += decoded.consumed;
            if let Some(why) = decoded.failed {
                return Err(damaged(&why));
            }
            if decoded.finished {
                self.open = None;
                self.check_trailer(container)?;
                return Ok(decoded.produced);
            }
            if decoded.produced > 0 {
                return Ok(decoded.produced);
            }
            if at_end {
                return Err(cut());
            }
        }
    }

    fn check_trailer(&mut self, container: Container) -> io::Result<()> {
        let bytes = self
            .decoders
            .current(container)
            .map_or(0, |decoder| decoder.trailer_bytes());
        if self.ensure(bytes)? < bytes {
            return Err(cut());
        }
        let trailer = &self.buffer[..bytes];
        let checked = self
            .decoders
            .current(container)
            .map(|decoder| decoder.check_trailer(trailer));
        self.head = bytes;
        match checked {
            Some(Trailer::Wrong(why)) => Err(damaged(&why)),
            _ => Ok(()),
        }
    }
}

impl<R: Read> Read for Decompressed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while !into.is_empty() {
            let given = match self.open {
                Some(Container::Plain) => return self.read_plain(into),
                Some(container) => self.decode(container, into)?,
                None => {
                    if self.open_next()? {
                        0
                    } else {
                        break;
                    }
                }
            };
            if given > 0 {
                return Ok(given);
            }
        }
        Ok(0)
    }
}

fn damaged(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

fn cut() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "it ends inside a compressed member")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Compression, Writer};

    fn written(compression: Compression, records: &[&[u8]]) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), compression).expect("begun");
        for record in records {
            writer.write_encoded(record).expect("written");
        }
        writer.finish().expect("finished")
    }

    fn read(stored: &[u8]) -> Result<Vec<u8>, ErrorKind> {
        let mut content = Vec::new();
        let read = Decompressed::new(stored).read_to_end(&mut content);
        read.map(|_| content).map_err(|error| error.kind())
    }

    fn compressions() -> [Compression; 3] {
        let zstd = Compression::Zstd {
            level: 3,
            dictionary: None,
        };
        [Compression::GZIP, zstd, Compression::Lz4]
    }

    #[test]
    fn frames_of_every_container_are_joined() {
        let long: Vec<u8> = (0..100_000_u32)
            .flat_map(|n| n.to_string().into_bytes())
            .collect();
        for compression in compressions().into_iter().chain([Compression::Plain]) {
            let stored = written(compression.clone(), &[b"one", b"", &long, b"two"]);
            let content = read(&stored).expect("whole");
            assert!(content == [b"one", &long[..], b"two"].concat(), "{compression:?}");
        }
        assert_eq!(read(b""), Ok(Vec::new()));
        assert_eq!(
            read(b"\x1f\x8bplain all the same"),
            Ok(b"\x1f\x8bplain all the same".to_vec())
        );
        let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        let zstd = written(compressions()[1].clone(), &[b"x"]);
        assert_eq!(read(&[skippable, zstd].concat()), Ok(b"x".to_vec()));
    }

    #[test]
    fn damage_and_cuts_are_errors() {
        for compression in compressions() {
            let stored = written(compression.clone(), &[b"some text and more text"]);
            for cut in 8..stored.len() {
                assert_eq!(
                    read(&stored[..cut]),
                    Err(ErrorKind::UnexpectedEof),
                    "{compression:?} {cut}"
                );
            }
            let followed = [&stored[..], b"what is no frame"].concat();
            assert_eq!(read(&followed), Err(ErrorKind::InvalidData), "{compression:?}");
            let mut flipped = stored;
            let last = flipped.len() - 1;
            flipped[last] ^= 1;
            assert_eq!(read(&flipped), Err(ErrorKind::InvalidData), "{compression:?}");
        }
    }
}
