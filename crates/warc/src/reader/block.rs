//! Reads the block of a record, in its declared length if that is plausible.

use std::io;

use crate::container::codec::End;
use crate::error::ReadError;
use crate::frames::open::Follows;
use crate::frames::{Frames, Opened};
use crate::reader::Reader;
use crate::reader::between::line_end_bytes;
use crate::reader::body::{Body, without_line_ends};
use crate::reason;
use crate::record::digest::Declared;
use crate::record::head::{BlockLength, Head};
use crate::record::payload::Checks;
use crate::record::start::{self, Start};
use crate::record::{Kind, is_http};
use crate::span::Defect;

/// Number of bytes of a block to take at a time.
const PIECE_BYTES: usize = 1 << 20;

/// Reads a range of the input's stored bytes.
struct Stored<'a> {
    frames: &'a Frames,
    at: u64,
    end: u64,
}

impl io::Read for Stored<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.end - self.at)
            .unwrap_or(usize::MAX)
            .min(into.len());
        let read = self
            .frames
            .read_stored(self.at, &mut into[..most])
            .map_err(io::Error::other)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// The result of taking a block across frames.
enum Across {
    /// The block has its declared length.
    Whole,
    /// The open frame is cut or damaged inside the block.
    Broken,
    /// The block ended with a frame, at this offset, and this follows.
    Ended(u64, Opened),
    /// A record begins inside the block, at the current position.
    Embedded,
    /// The end of a growing file was reached.
    Unfinished,
}

impl Reader {
    /// Reads the block that follows a header, and creates the record.
    pub(crate) fn read_block(&mut self, mut head: Head) -> Result<(), ReadError> {
        let bytes_max = self.settings.body_bytes_max;
        let expected = match head.block {
            BlockLength::Declared(bytes) => bytes.min(bytes_max),
            BlockLength::UpToNext => bytes_max,
        };
        let mut body = Body::new(self.spare.body(expected), bytes_max);
        body.checks = self.checks(&mut head)?;
        body.rest = self.stored_record.as_mut().and_then(|kept| kept.take_rest());
        match head.block {
            _ if self.frames.is_plain() => self.read_plain_block(head, body),
            BlockLength::Declared(bytes) => self.read_declared_block(head, body, bytes),
            BlockLength::UpToNext => {
                self.take_to_next(&mut body, head.line_ends())?;
                self.settle(head, body)
            }
        }
    }

    fn read_plain_block(&mut self, mut head: Head, mut body: Body) -> Result<(), ReadError> {
        let declared = match head.block {
            BlockLength::Declared(bytes) => Some(bytes),
            BlockLength::UpToNext => None,
        };
        match self.measure_plain(&mut head, declared)? {
            Some(bytes) => {
                self.take_block(&mut body, bytes)?;
                self.settle(head, body)
            }
            None => {
                self.done = true;
                Ok(())
            }
        }
    }

    fn read_declared_block(&mut self, mut head: Head, mut body: Body, bytes: u64) -> Result<(), ReadError> {
        // Taking the block is usually enough. Only a doubtful block is searched for records, after
        // rewinding to this position.
        let position = self.frames.frame_position();
        let mut outcome = self.take_block_across(&mut body, bytes, false)?;
        if self.is_doubtful(&outcome)?
            && body.may_hold_record()
            && let Some(position) = position
        {
            let again = position.position() + body.length;
            if !self.frames.may_look_again(again) {
                let detail = "the block may hold records, and too much was looked at twice already";
                head.defects.push(Defect::new(reason::SEARCH_GIVEN_UP, detail));
            } else if self.frames.rewind(position)? {
                body.restart();
                outcome = self.take_block_across(&mut body, bytes, true)?;
            }
        }
        let detail = format!("declared {bytes} bytes, {} found", body.length);
        match outcome {
            Across::Whole => {}
            Across::Unfinished => {
                self.done = true;
                return Ok(());
            }
            Across::Broken => head.defects.push(Defect::new(reason::TRUNCATED_RECORD, detail)),
            Across::Embedded => {
                body.trim_line_ends(head.line_ends());
                // The digest of a block that ends early would not match.
                body.checks = Checks::default();
                head.defects.push(Defect::new(reason::LENGTH_TOO_LONG, detail));
            }
            Across::Ended(end, next) => {
                let reason = match next {
                    Opened::Frame => reason::LENGTH_TOO_LONG,
                    _ => reason::TRUNCATED_RECORD,
                };
                head.defects.push(Defect::new(reason, detail));
                self.make_record(head, body, end);
                self.account(next);
                return Ok(());
            }
        }
        self.settle(head, body)
    }

    /// Returns whether this result is typical of a declared length that is too large, so that the
    /// block may contain records.
    fn is_doubtful(&mut self, outcome: &Across) -> Result<bool, ReadError> {
        match outcome {
            Across::Ended(..) => Ok(true),
            Across::Whole => {
                // Look after the line ends without taking them.
                let mut wanted = 1;
                while line_end_bytes(self.frames.window()) == self.frames.window().len() && wanted < 1 << 16 {
                    wanted *= 4;
                    if !self.frames.more(wanted)? {
                        return Ok(false);
                    }
                }
                let window = self.frames.window();
                Ok(start::start_of(&window[line_end_bytes(window)..], false) == Start::Neither)
            }
            _ => Ok(false),
        }
    }

    /// Determines the actual length of a block in plain bytes. Returns `None` if the file ends
    /// inside it and may still be growing.
    pub(crate) fn measure_plain(
        &mut self,
        head: &mut Head,
        declared: Option<u64>,
    ) -> Result<Option<u64>, ReadError> {
        let (start, size) = (self.frames.stored(), self.frames.size());
        let end = declared
            .and_then(|bytes| start.checked_add(bytes))
            .unwrap_or(u64::MAX);
        let follows = match declared {
            Some(_) if end <= size => self.frames.what_follows(end, !self.settings.growing)?,
            _ => Follows::Other,
        };
        let ends_well = match follows {
            Follows::Nothing => return Ok(declared),
            Follows::Beginning { line_ends } => {
                // The declared length of the block at the start of an ARC file often includes the
                // line end after it.
                if line_ends >= head.line_ends() || head.is_arc_file_header() {
                    return Ok(declared);
                }
                true
            }
            Follows::Other => false,
        };
        if end > size && self.settings.growing {
            return Ok(None);
        }
        let mut next = self.frames.find_in_block(start, end, ends_well)?;
        if next.is_some() && end <= size && self.is_proved(head, start, end) {
            next = None;
        }
        let found = match (next, declared) {
            (Some(next), _) => self.without_line_ends(start, next, head.line_ends())?,
            (None, Some(_)) => end.min(size),
            (None, None) => self.without_line_ends(start, size, head.line_ends())?,
        } - start;
        if let Some(bytes) = declared
            && found < bytes
        {
            let (reason, what) = match next {
                Some(_) => (reason::LENGTH_TOO_LONG, "before the next record"),
                None => (reason::TRUNCATED_RECORD, "before the end of the file"),
            };
            head.defects.push(Defect::new(
                reason,
                format!("declared {bytes} bytes, {found} {what}"),
            ));
        }
        Ok(Some(found))
    }

    /// Returns whether the stored bytes match the declared digest of the block. Returns false for
    /// unreadable bytes; the error is reported when they are read as the block.
    fn is_proved(&mut self, head: &Head, start: u64, end: u64) -> bool {
        let declared = head.headers.get("WARC-Block-Digest").and_then(Declared::parse);
        let Some(declared) = declared.filter(|_| self.frames.may_look_again(end - start)) else {
            return false;
        };
        let stored = Stored {
            frames: &self.frames,
            at: start,
            end,
        };
        declared.is_of(stored).unwrap_or(false)
    }

    /// Returns `end` without up to `count` line ends before it, but at least `start`.
    fn without_line_ends(&mut self, start: u64, end: u64, count: u64) -> Result<u64, ReadError> {
        let mut tail = [0; 8];
        let from = end.saturating_sub(tail.len() as u64).max(start);
        let read = self
            .frames
            .read_stored(from, &mut tail[..(end - from) as usize])?;
        Ok(from + without_line_ends(&tail[..read], count) as u64)
    }

    /// Takes `bytes` bytes of the open frame into the body, or fewer if the frame is exhausted.
    fn take_block(&mut self, body: &mut Body, bytes: u64) -> Result<(), ReadError> {
        let before = body.length;
        while body.length - before < bytes {
            let left = bytes - (body.length - before);
            let piece = left.min(PIECE_BYTES as u64);
            let room = body.room();
            let checks = &mut body.checks;
            let taken = match room {
                // These bytes are not needed: skip them without reading.
                0 if self.frames.is_plain() && checks.is_idle() && body.rest.is_none() => {
                    let end = self.frames.stored() + left;
                    self.frames.seek_plain(end);
                    left
                }
                0 => self.frames.consume_with(piece as usize, |bytes| {
                    checks.update(bytes);
                    if let Some(rest) = &mut body.rest {
                        rest.push(bytes);
                    }
                })? as u64,
                room => {
                    let before = body.kept.len();
                    let taken = self.frames.take_into(&mut body.kept, piece.min(room) as usize)?;
                    checks.update(&body.kept.as_slice()[before..]);
                    taken as u64
                }
            };
            body.length += taken;
            if taken == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Takes a block of `bytes` bytes, which may continue in the following frames. If `searching`,
    /// stops at a record inside the block.
    fn take_block_across(
        &mut self,
        body: &mut Body,
        bytes: u64,
        searching: bool,
    ) -> Result<Across, ReadError> {
        let container = self.frames.container();
        loop {
            let left = bytes - body.length;
            if searching && self.skip_to_record(left, |bytes| body.push(bytes))? {
                return Ok(Across::Embedded);
            } else if !searching {
                self.take_block(body, left)?;
            }
            if body.length == bytes {
                return Ok(Across::Whole);
            }
            match self.frames.end() {
                Some(End::Cut(_)) if self.settings.growing => return Ok(Across::Unfinished),
                Some(End::Cut(_) | End::Damaged(_)) => return Ok(Across::Broken),
                _ => {}
            }
            let end = self.frames.close()?;
            match self.next_frame()? {
                Opened::Frame if self.continues_in(container)? => self.frames.note_part(),
                next if self.may_grow(&next) => return Ok(Across::Unfinished),
                next => return Ok(Across::Ended(end, next)),
            }
        }
    }

    /// Takes the rest of the frame up to the next record, without the line ends before that record.
    fn take_to_next(&mut self, body: &mut Body, line_ends: u64) -> Result<(), ReadError> {
        let checks = std::mem::take(&mut body.checks);
        self.skip_to_record(u64::MAX, |bytes| body.push(bytes))?;
        body.trim_line_ends(line_ends);
        if body.is_whole() {
            // The end of the block was unknown while its bytes were taken, so its digests are
            // computed now.
            body.checks = checks;
            body.checks.update(body.kept.as_slice());
        }
        Ok(())
    }

    /// Returns the digests to compute over the next block.
    fn checks(&mut self, head: &mut Head) -> Result<Checks, ReadError> {
        let long = match head.block {
            BlockLength::Declared(bytes) => bytes > self.settings.body_bytes_max,
            BlockLength::UpToNext => false,
        };
        let captured = matches!(head.kind, Kind::Response | Kind::Resource | Kind::Conversion);
        let undeclared = captured && long && self.settings.body_bytes_max > 0;
        let sha1 = undeclared && head.headers.get("WARC-Payload-Digest").is_none();
        if !sha1 && !self.settings.verify_digests {
            return Ok(Checks::default());
        }
        // `is_http` examines the first four bytes of the block.
        if self.frames.window().len() < 4 {
            self.frames.more(4)?;
        }
        let http = is_http(head.format, head.kind, &head.headers, self.frames.window());
        let checks = if self.settings.verify_digests {
            Checks::declared(&head.headers, head.kind, http, &mut head.defects)
        } else {
            Checks::default()
        };
        Ok(if sha1 { checks.with_sha1(http) } else { checks })
    }
}
