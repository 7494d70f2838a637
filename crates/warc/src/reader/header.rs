//! Reads the header of a record from one frame or several.

use crate::container::codec::End;
use crate::error::ReadError;
use crate::frames::Opened;
use crate::reader::Reader;
use crate::reason;
use crate::record::head::{Head, Parsed};
use crate::record::headers::Headers;
use crate::record::{arc, line, warc};
use crate::span::Defect;

/// The result of reading a header.
pub(crate) enum HeaderRead {
    Head(Box<Head>),
    /// Not a header: at least this many bytes of the window are bad.
    Bad(usize, Defect),
    /// No header: other entries were created instead, or reading has ended.
    Settled,
}

impl Reader {
    pub(crate) fn read_record(&mut self) -> Result<(), ReadError> {
        let mut headers = self.spare.headers();
        match self.read_header(&mut headers)? {
            HeaderRead::Head(head) => self.read_block(*head),
            HeaderRead::Bad(bytes, defect) => self.skip_bad(bytes, defect),
            HeaderRead::Settled => Ok(()),
        }
    }

    /// Reads the header at the start of the window.
    pub(crate) fn read_header(&mut self, headers: &mut Headers) -> Result<HeaderRead, ReadError> {
        loop {
            match parse(self.frames.window(), headers) {
                Parsed::Head(head, bytes) => {
                    if !head.is_text
                        && let Some(at) = self.frames.member_ahead(bytes)?
                    {
                        return Ok(cut_by_member(at));
                    }
                    if let Some(kept) = &mut self.stored_record {
                        kept.begin(&self.frames, &self.frames.window()[..bytes]);
                    }
                    self.frames.note_record();
                    self.frames.consume(bytes);
                    return Ok(HeaderRead::Head(head));
                }
                Parsed::Invalid(bytes, defect) => {
                    return Ok(match self.frames.member_ahead(bytes)? {
                        Some(at) => cut_by_member(at),
                        None => HeaderRead::Bad(bytes, defect),
                    });
                }
                Parsed::Incomplete => {}
            }
            // Doubling keeps the work linear, although each attempt parses from the start.
            let wanted = self.frames.window().len() * 2;
            if self.frames.more(wanted)? {
                continue;
            }
            if let Some(at) = self.frames.member_ahead(self.frames.window().len())? {
                return Ok(cut_by_member(at));
            }
            if !self.frames.is_plain() && self.frames.end().is_some_and(End::is_complete) {
                return self.read_header_across(headers);
            }
            if self.settings.growing {
                self.done = true;
                return Ok(HeaderRead::Settled);
            }
            let bytes = self.frames.window().len();
            let defect = Defect::new(reason::TRUNCATED_HEADER, "no end of the header");
            return Ok(HeaderRead::Bad(bytes, defect));
        }
    }

    /// Continues in the next frame after a frame that ended inside the header, unless a record
    /// begins there.
    fn read_header_across(&mut self, headers: &mut Headers) -> Result<HeaderRead, ReadError> {
        let mut bytes = Vec::new();
        let container = self.frames.container();
        loop {
            self.frames.note_part();
            let window = self.frames.window();
            bytes.extend_from_slice(window);
            self.frames.consume(window.len());
            let end = self.frames.close()?;
            match self.next_frame()? {
                Opened::Frame if self.continues_in(container)? => {}
                next if self.may_grow(&next) => {
                    self.done = true;
                    return Ok(HeaderRead::Settled);
                }
                next => {
                    self.quarantine(end, Defect::new(reason::TRUNCATED_HEADER, "no end of the header"));
                    self.account(next);
                    return Ok(HeaderRead::Settled);
                }
            }
            let before = bytes.len();
            loop {
                bytes.truncate(before);
                bytes.extend_from_slice(self.frames.window());
                match parse(&bytes, headers) {
                    Parsed::Head(head, length) => {
                        if let Some(kept) = &mut self.stored_record {
                            kept.begin(&self.frames, &bytes[..length]);
                        }
                        self.frames.note_part();
                        self.frames.consume(length.saturating_sub(before));
                        return Ok(HeaderRead::Head(head));
                    }
                    Parsed::Invalid(length, defect) => {
                        return Ok(HeaderRead::Bad(length.saturating_sub(before), defect));
                    }
                    Parsed::Incomplete => {}
                }
                let wanted = self.frames.window().len() * 2;
                if !self.frames.more(wanted)? {
                    break;
                }
            }
            bytes.truncate(before);
            if !self.frames.end().is_some_and(End::is_complete) {
                self.is_unfinished();
                let defect = Defect::new(reason::TRUNCATED_HEADER, "no end of the header");
                return Ok(if self.done {
                    HeaderRead::Settled
                } else {
                    HeaderRead::Bad(self.frames.window().len(), defect)
                });
            }
        }
    }
}

/// Returns the result for a header that is cut by a compressed member after this many bytes.
fn cut_by_member(bytes: usize) -> HeaderRead {
    let detail = format!("a compressed member begins {bytes} bytes into this header");
    HeaderRead::Bad(bytes, Defect::new(reason::TRUNCATED_HEADER, detail))
}

fn parse(bytes: &[u8], headers: &mut Headers) -> Parsed {
    match line::may_be_version_line(bytes) {
        true if bytes.len() < line::VERSION_LINE_BYTES_MAX && !bytes.contains(&b'\n') => Parsed::Incomplete,
        true => warc::parse(bytes, headers),
        false => arc::parse(bytes, headers),
    }
}
