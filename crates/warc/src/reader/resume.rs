//! Moves to the offset of an entry, even inside a compressed member.

use crate::container;
use crate::container::Container;
use crate::error::ReadError;
use crate::reader::Reader;
use crate::record::start::{self, Start};

/// Number of members before an offset that are tried before reading from the start of the file. One
/// would suffice if every match were a member, but compressed bytes may look like the beginning of
/// one. A higher number delays reading a damaged file from its start.
const MEMBERS_TRIED: usize = 4;

impl Reader {
    /// Moves to the entry that begins at `offset`. If there is no such entry, moves to the bytes
    /// there.
    pub(crate) fn seek_to_entry(&mut self, offset: u64) -> Result<(), ReadError> {
        if offset == 0 || self.frame_may_begin(offset)? || !self.seek_inside_member(offset)? {
            self.restart_at(offset);
        }
        Ok(())
    }

    /// Opens the frame of the next record. Returns its container.
    pub(crate) fn open_record_frame(&mut self) -> Result<Container, ReadError> {
        while !self.done && self.ready.is_empty() && !self.frames.is_open() {
            self.advance()?;
        }
        Ok(self.frames.container())
    }

    fn restart_at(&mut self, offset: u64) {
        self.frames.seek(offset);
        self.mark = offset;
        self.done = false;
        self.ready.clear();
    }

    /// Returns whether a frame may begin at `offset`. Padding does not count, because many
    /// compressed bytes look like it.
    fn frame_may_begin(&mut self, offset: u64) -> Result<bool, ReadError> {
        self.frames.seek(offset);
        let mut wanted = 256;
        loop {
            let bytes = self.frames.stored_ahead(wanted)?;
            if bytes.is_empty() || container::sniff(bytes).is_some() {
                return Ok(true);
            }
            match start::start_of(bytes, bytes.len() < wanted) {
                Start::Warc | Start::Arc => return Ok(true),
                Start::Neither => return Ok(false),
                Start::Unsure => wanted = (wanted * 4).min(start::START_BYTES_MAX + 1),
            }
        }
    }

    /// Reads from members before `offset`, the nearest first and finally from the start of the
    /// file, until an entry begins exactly at `offset`. Returns false if none does.
    fn seek_inside_member(&mut self, offset: u64) -> Result<bool, ReadError> {
        let mut before = offset;
        for _ in 0..MEMBERS_TRIED {
            let Some(member) = self.frames.find_member_before(before)? else {
                break;
            };
            if member == 0 {
                break;
            }
            if self.read_until(member, offset)? {
                return Ok(true);
            }
            before = member;
        }
        self.read_until(0, offset)
    }

    /// Reads from `start` until an entry begins at or after `offset`. Discards the entries.
    fn read_until(&mut self, start: u64, offset: u64) -> Result<bool, ReadError> {
        let kept = std::mem::replace(&mut self.settings.body_bytes_max, 0);
        let verified = std::mem::replace(&mut self.settings.verify_digests, false);
        self.restart_at(start);
        let mut outcome = Ok(());
        while outcome.is_ok() && self.mark < offset && !self.done {
            self.ready.clear();
            outcome = self.advance();
        }
        self.ready.clear();
        self.settings.body_bytes_max = kept;
        self.settings.verify_digests = verified;
        outcome.map(|()| self.mark == offset && !self.done)
    }
}
