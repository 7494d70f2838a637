//! Opens frame after frame: recognises what begins where the last one ended.

use crate::container::codec::FrameHeader;
use crate::container::zstd;
use crate::container::{self, Begins, Container};
use crate::error::ReadError;
use crate::frames::{Frames, Opened};
use crate::reason;
use crate::record::start::{self, Start};
use crate::span::Defect;

impl Frames {
    /// Reads the dictionary of a `.warc.zst`. It is in the first frame of the file, wherever reading is to
    /// start.
    pub(crate) fn load_dictionary(&mut self) -> Result<(), ReadError> {
        let Some(content_bytes) = self.dictionary_frame()? else {
            return Ok(());
        };
        self.dictionary_end = container::MAGIC_BYTES as u64 + u64::from(content_bytes);
        let mut content = vec![0; content_bytes as usize];
        let read = self.source.read_at(container::MAGIC_BYTES as u64, &mut content)?;
        let dictionary = zstd::read_dictionary(&content[..read]);
        if let Ok(dictionary) = dictionary
            && read == content.len()
        {
            self.decoders.set_dictionary(dictionary);
        }
        Ok(())
    }

    /// The length of the content of the dictionary frame, if the input begins with one.
    fn dictionary_frame(&mut self) -> Result<Option<u32>, ReadError> {
        let mut start = [0; container::MAGIC_BYTES];
        self.source.read_at(0, &mut start)?;
        Ok(zstd::dictionary_frame(&start))
    }

    /// Looks at what begins at the stored position, and opens it if it is a frame.
    pub(crate) fn open(&mut self) -> Result<Opened, ReadError> {
        debug_assert!(self.frame.is_none());
        if let Some((end, defect)) = self.junk_end.take() {
            self.source.seek(end);
            return Ok(Opened::Junk(end, defect));
        }
        if self.source.ensure(container::MAGIC_BYTES)? == 0 {
            return Ok(Opened::Nothing);
        }
        match container::sniff(self.source.available()) {
            Some(Begins::Skippable(bytes)) => self.open_skippable(bytes),
            Some(Begins::Frame(container)) => self.open_frame(container),
            None => self.open_plain(),
        }
    }

    fn open_frame(&mut self, container: Container) -> Result<Opened, ReadError> {
        let start = self.source.position();
        if let Some(row) = container.row() {
            let mut wanted = row.header_bytes;
            let length = loop {
                let available = self.source.ensure(wanted)?;
                match (row.header)(self.source.available(), self.decoders.dictionary().is_some()) {
                    FrameHeader::Bytes(length) => break length,
                    // The source gave all it was asked for, so a longer header may still fit.
                    FrameHeader::Incomplete if available >= wanted => wanted *= 4,
                    FrameHeader::Incomplete => {
                        let what = format!("the file ends inside a {} header", row.name);
                        return self.junk(reason::TRUNCATED_MEMBER, &what);
                    }
                    FrameHeader::Invalid(reason, what) => return self.junk(reason, what),
                }
            };
            self.source.consume(length);
        }
        self.begin(container, start)
    }

    fn open_skippable(&mut self, content_bytes: u32) -> Result<Opened, ReadError> {
        let start = self.source.position();
        let end = start + container::MAGIC_BYTES as u64 + u64::from(content_bytes);
        if end > self.size() {
            return self.junk(reason::TRUNCATED_MEMBER, "the file ends inside a skippable frame");
        }
        self.source.seek(end);
        // A damaged dictionary frame is reported once, here; the frames that need it fail on their own.
        let is_dictionary = start == 0 && self.dictionary_frame()?.is_some();
        if is_dictionary && self.decoders.dictionary().is_none() {
            let defect = Defect::new(
                reason::DICTIONARY_DAMAGED,
                "the dictionary cannot be decompressed",
            );
            return Ok(Opened::Junk(end, defect));
        }
        Ok(Opened::Padding(end))
    }

    fn open_plain(&mut self) -> Result<Opened, ReadError> {
        if let Some(end) = self.skip_padding()? {
            return Ok(Opened::Padding(end));
        }
        let mut wanted = 256;
        loop {
            let available = self.source.ensure(wanted)?;
            match start::start_of(self.source.available(), available < wanted) {
                Start::Warc | Start::Arc => break,
                Start::Unsure => wanted = (wanted * 4).min(start::START_BYTES_MAX + 1),
                Start::Neither => {
                    return self.junk(reason::JUNK, "neither a record nor a compressed member");
                }
            }
        }
        self.begin(Container::Plain, self.source.position())
    }

    /// Skips line ends and zero bytes. Returns where they end, if there are any.
    fn skip_padding(&mut self) -> Result<Option<u64>, ReadError> {
        let start = self.source.position();
        while self.source.ensure(1)? > 0 {
            let bytes = self.source.available();
            let blank = bytes
                .iter()
                .take_while(|b| matches!(b, b'\r' | b'\n' | 0))
                .count();
            let all = blank == bytes.len();
            self.source.consume(blank);
            if !all {
                break;
            }
        }
        let end = self.source.position();
        Ok((end > start).then_some(end))
    }

    /// Skips unreadable bytes up to where reading can go on.
    fn junk(&mut self, reason: &'static str, what: &str) -> Result<Opened, ReadError> {
        let start = self.source.position();
        let end = self.find_next(start + 1)?;
        self.source.seek(end);
        Ok(Opened::Junk(
            end,
            Defect::new(reason, format!("{what}, {} bytes", end - start)),
        ))
    }

    /// Opens a frame. The source must be behind its header, if it has one.
    fn begin(&mut self, container: Container, start: u64) -> Result<Opened, ReadError> {
        match self.decoders.start(container) {
            Ok(()) => {
                self.begin_frame(container, start);
                Ok(Opened::Frame)
            }
            // Only zstd can fail here, if the bytes of its dictionary are not a dictionary.
            Err(error) => self.junk(reason::DICTIONARY_DAMAGED, &error.to_string()),
        }
    }
}
