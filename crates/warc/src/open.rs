//! Going from frame to frame: what begins where the last one ended, and where to go on when nothing does.

use crate::container::{self, Container};
use crate::entry::Defect;
use crate::error::ReadError;
use crate::feed::{Coding, Feed, Opened};
use crate::frame::{Decode, End};
use crate::gzip::{self, Gzip, MemberHeader};
use crate::reason;
use crate::resync::{self, Search, Searcher, Start};

impl Feed {
    /// Looks at what begins at the stored position and opens it if it is a frame.
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
            Some(Container::Gzip) => self.open_gzip(),
            Some(Container::Skippable(bytes)) => self.open_skippable(bytes),
            Some(_) | None => self.open_plain(),
        }
    }

    fn open_gzip(&mut self) -> Result<Opened, ReadError> {
        let start = self.source.position();
        let mut wanted = 512;
        let length = loop {
            let available = self.source.ensure(wanted)?;
            match gzip::member_header(self.source.available()) {
                MemberHeader::Bytes(length) => break length,
                MemberHeader::Incomplete if available >= wanted => wanted *= 4,
                MemberHeader::Incomplete => {
                    let end = self.size();
                    self.source.seek(end);
                    let defect = Defect::new(reason::TRUNCATED_MEMBER, "the file ends inside a gzip header");
                    return Ok(Opened::Junk(end, defect));
                }
                MemberHeader::Invalid => return self.junk(1),
            }
        };
        self.source.consume(length);
        self.gzip.reset();
        self.begin(Coding::Gzip, start);
        Ok(Opened::Frame)
    }

    fn open_skippable(&mut self, content_bytes: u32) -> Result<Opened, ReadError> {
        let end = self.source.position() + 8 + u64::from(content_bytes);
        let defect = (end > self.size())
            .then(|| Defect::new(reason::TRUNCATED_MEMBER, "the file ends inside a skippable frame"));
        let end = end.min(self.size());
        self.source.seek(end);
        Ok(match defect {
            Some(defect) => Opened::Junk(end, defect),
            None => Opened::Padding(end),
        })
    }

    fn open_plain(&mut self) -> Result<Opened, ReadError> {
        let padding = self.skip_padding()?;
        if let Some(end) = padding {
            return Ok(Opened::Padding(end));
        }
        let mut wanted = 256;
        loop {
            let available = self.source.ensure(wanted)?;
            match resync::start_of(self.source.available(), available < wanted) {
                Start::Warc | Start::Arc => break,
                Start::Unsure => wanted = (wanted * 4).min(resync::START_BYTES_MAX + 1),
                Start::Neither => return self.junk(1),
            }
        }
        self.begin(Coding::Plain, self.source.position());
        Ok(Opened::Frame)
    }

    /// Steps over line ends and zero bytes; their end, if there are any.
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

    fn junk(&mut self, from: u64) -> Result<Opened, ReadError> {
        let start = self.source.position();
        let end = self.find_next(start + from)?;
        self.source.seek(end);
        let detail = format!(
            "{} bytes that are neither a record nor a compressed member",
            end - start
        );
        Ok(Opened::Junk(end, Defect::new(reason::JUNK, detail)))
    }

    /// Leaves the open frame; gives the offset where its bytes end. After damage that is where the next readable
    /// member begins, or else where decoding stopped, and what lies between comes out of `open` as junk.
    pub(crate) fn close(&mut self) -> Result<u64, ReadError> {
        let Some(frame) = self.frame.take() else {
            return Ok(self.stored());
        };
        let stopped = self.source.position();
        if frame.end.as_ref().is_none_or(End::is_complete) {
            return Ok(stopped);
        }
        // The damage may have made the decoder run over the beginnings of good members.
        if let Some(next) = self.find(frame.start + 1, stopped, Wanted::Members)? {
            self.source.seek(next);
            return Ok(next);
        }
        let next = self.find_next(stopped)?;
        self.source.seek(stopped);
        if next > stopped {
            let detail = format!("{} bytes after the damage", next - stopped);
            self.junk_end = Some((next, Defect::new(reason::DAMAGED_MEMBER, detail)));
        }
        Ok(stopped)
    }

    /// Offset from `from` on where reading can go on; the end of the input if nowhere.
    pub(crate) fn find_next(&mut self, from: u64) -> Result<u64, ReadError> {
        let size = self.size();
        Ok(self.find(from, size, Wanted::Anything)?.unwrap_or(size))
    }

    /// Offset of the first plain record in `from..until`.
    pub(crate) fn find_plain(&mut self, from: u64, until: u64) -> Result<Option<u64>, ReadError> {
        self.find(from, until, Wanted::PlainRecords)
    }

    fn find(&mut self, from: u64, until: u64, wanted: Wanted) -> Result<Option<u64>, ReadError> {
        let mut searcher = Searcher::new(self.arc, true);
        self.source.seek(from);
        loop {
            let at = self.source.position();
            let most = usize::try_from(until.saturating_sub(at)).unwrap_or(usize::MAX);
            if most == 0 {
                return Ok(None);
            }
            // A record that begins before `until` may be told by bytes beyond it.
            let available = self.source.ensure(SEARCH_BYTES)?;
            let last = available < SEARCH_BYTES;
            let piece = self.source.available();
            let (text, decided) = match wanted {
                Wanted::Members => (
                    None,
                    if last {
                        piece.len()
                    } else {
                        piece.len() - container::MAGIC_BYTES
                    },
                ),
                _ => match searcher.search(piece, last) {
                    Search::Found(text) => (Some(text), text),
                    Search::NotBefore(decided) => (None, decided),
                },
            };
            let magics: Vec<usize> = match wanted {
                Wanted::PlainRecords => Vec::new(),
                _ => magics_in(piece, decided.min(most)),
            };
            for magic in magics {
                let offset = at + magic as u64;
                match self.try_member(offset)? {
                    Trial::Record => return Ok(Some(offset)),
                    Trial::Decodes if wanted == Wanted::Anything => return Ok(Some(offset)),
                    _ => {}
                }
            }
            if let Some(text) = text {
                let offset = at + text as u64;
                return Ok((offset < until).then_some(offset));
            }
            if last {
                return Ok(None);
            }
            self.source.consume(decided);
        }
    }

    /// Decodes the beginning of what may be a member, without moving.
    fn try_member(&mut self, offset: u64) -> Result<Trial, ReadError> {
        let mut bytes = vec![0; TRIAL_BYTES];
        let read = self.source.read_at(offset, &mut bytes)?;
        bytes.truncate(read);
        let mut header = gzip::member_header(&bytes);
        if header == MemberHeader::Incomplete && read == TRIAL_BYTES {
            bytes.resize(gzip::HEADER_BYTES_MAX + TRIAL_BYTES, 0);
            let read = self.source.read_at(offset, &mut bytes)?;
            bytes.truncate(read);
            header = gzip::member_header(&bytes);
        }
        let MemberHeader::Bytes(length) = header else {
            return Ok(Trial::Fails);
        };
        let mut output = [0; TRIAL_OUTPUT_BYTES];
        let decoded = Gzip::new().decode(&bytes[length..], &mut output);
        if decoded.failed.is_some() {
            return Ok(Trial::Fails);
        }
        let text = &output[..decoded.produced];
        let blank = text.iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
        Ok(match resync::start_of(&text[blank..], true) {
            Start::Warc | Start::Arc => Trial::Record,
            _ => Trial::Decodes,
        })
    }
}

/// What a search is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Compressed members, whatever they hold, and plain records.
    Anything,
    /// Compressed members that begin with a record.
    Members,
    /// Plain records.
    PlainRecords,
}

/// What decoding the beginning of a member gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trial {
    Fails,
    Decodes,
    Record,
}

/// Stored bytes searched at once: more than the longest line looked at.
const SEARCH_BYTES: usize = resync::START_BYTES_MAX * 2;

/// Stored bytes that a trial looks at, and decoded bytes it asks for. Random bytes fail much sooner.
const TRIAL_BYTES: usize = 2 << 10;
const TRIAL_OUTPUT_BYTES: usize = 512;

/// Where containers may begin among the first `decided` of `bytes`.
fn magics_in(bytes: &[u8], decided: usize) -> Vec<usize> {
    let starts = memchr::memchr3_iter(0x1f, 0x28, 0x04, &bytes[..decided.min(bytes.len())]);
    let known = |at: &usize| matches!(container::sniff(&bytes[*at..]), Some(Container::Gzip));
    starts.filter(known).collect()
}
