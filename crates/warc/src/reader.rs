//! Reads an input from front to back, entry by entry.
//!
//! Invariant: `mark` is the end of the last entry made; every entry made begins at `mark` and moves it on, so
//! that lengths add up whatever the bytes are.

use std::collections::VecDeque;
use std::fs::File;
use std::path::Path;

use crate::body::{Body, without_line_ends};
use crate::entry::{Defect, Entry, Span};
use crate::error::ReadError;
use crate::feed::{Feed, Opened};
use crate::frame::End;
use crate::head::{BlockLength, Head, Parsed};
use crate::headers::Headers;
use crate::payload::Checks;
use crate::reason;
use crate::record::{Format, Kind, Record, is_http};
use crate::resync::{self, Search, Searcher, Start};
use crate::settings::ReaderSettings;
use crate::source::{Input, Source};
use crate::{arc_header, container, warc_header};

/// Bytes of a block taken at once.
const PIECE_BYTES: usize = 1 << 20;

/// Reads an input from front to back.
pub struct Reader {
    feed: Feed,
    settings: ReaderSettings,
    mark: u64,
    ready: VecDeque<Entry>,
    done: bool,
    spare_headers: Headers,
    spare_body: Vec<u8>,
}

impl Reader {
    /// Opens a file; the container is detected by content, not by name.
    pub fn open(path: &Path, settings: ReaderSettings) -> Result<Reader, ReadError> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|source| ReadError::io(&name, 0, source))?;
        Reader::from_input(Box::new(file), &name, settings)
    }

    /// Reads any bytes; `name` stands in error messages.
    pub fn from_input(
        input: Box<dyn Input>,
        name: &str,
        settings: ReaderSettings,
    ) -> Result<Reader, ReadError> {
        let mut feed = Feed::new(Source::new(input, name.to_owned())?);
        let mark = settings.start_offset.min(feed.size());
        feed.load_dictionary()?;
        feed.seek(mark);
        Ok(Reader {
            feed,
            settings,
            mark,
            ready: VecDeque::new(),
            done: false,
            spare_headers: Headers::new(),
            spare_body: Vec::new(),
        })
    }

    /// The next stretch, or `None` at the end of the file. Only I/O failures are errors.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, ReadError> {
        loop {
            if let Some(entry) = self.ready.pop_front() {
                return Ok(Some(entry));
            }
            if self.done {
                return Ok(None);
            }
            self.advance()?;
        }
    }

    /// End of the last entry made. With `growing` and after the last entry: how far the file is whole.
    pub fn position(&self) -> u64 {
        self.ready.front().map_or(self.mark, |entry| entry.span().offset)
    }

    /// Size of the input when it was opened, in bytes.
    pub fn size(&self) -> u64 {
        self.feed.size()
    }

    /// Gives a record's memory back for the records to come: the fastest way to read many.
    pub fn recycle(&mut self, record: Record) {
        self.spare_body = record.body;
        self.spare_headers = record.headers;
    }

    /// Makes at least one entry, or moves on to where one can be made, or finds the end.
    fn advance(&mut self) -> Result<(), ReadError> {
        if self.feed.is_open() {
            return self.read_item();
        }
        match self.feed.open()? {
            Opened::Frame => {}
            Opened::Nothing => self.done = true,
            Opened::Padding(end) => self.pad(end),
            Opened::Junk(end, _) if self.settings.growing && end == self.feed.size() => self.done = true,
            Opened::Junk(end, defect) => self.quarantine(end, defect),
        }
        Ok(())
    }

    fn span_to(&mut self, end: u64) -> Span {
        let span = Span::between(self.mark, end);
        self.mark = span.end();
        span
    }

    fn pad(&mut self, end: u64) {
        if end > self.mark {
            let span = self.span_to(end);
            self.ready.push_back(Entry::Padding(span));
        }
    }

    fn quarantine(&mut self, end: u64, defect: Defect) {
        if end > self.mark {
            let span = self.span_to(end);
            self.ready.push_back(Entry::Quarantined(span, defect));
        }
    }

    /// Stands in an open frame where a record may begin: after the last record, or at the frame's start.
    fn read_item(&mut self) -> Result<(), ReadError> {
        self.skip_line_ends()?;
        match self.look()? {
            Start::Warc | Start::Arc => self.read_record(),
            _ if self.feed.window().is_empty() => self.end_frame(),
            _ => self.skip_bad(
                0,
                Defect::new(reason::NO_RECORD, "a compressed member without a record"),
            ),
        }
    }

    /// Takes line ends off the window, as far as the frame goes; counts the LFs.
    fn skip_line_ends(&mut self) -> Result<u64, ReadError> {
        let mut count = 0;
        loop {
            let window = self.feed.window();
            let blank = window.iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
            count += memchr::memchr_iter(b'\n', &window[..blank]).count() as u64;
            let all = blank == window.len();
            self.feed.consume(blank);
            if !all || !self.feed.more(1)? {
                return Ok(count);
            }
        }
    }

    /// What begins at the window's first byte, seeing as much of the frame as it takes to tell.
    fn look(&mut self) -> Result<Start, ReadError> {
        let mut wanted = 64;
        let mut last = false;
        loop {
            let start = resync::start_of(self.feed.window(), last);
            if start != Start::Unsure {
                return Ok(start);
            }
            wanted = (wanted * 4).min(resync::START_BYTES_MAX + 1);
            last = !self.feed.more(wanted)?;
        }
    }

    /// The frame is over and nothing of it is left to become a record.
    fn end_frame(&mut self) -> Result<(), ReadError> {
        match self.feed.end().cloned() {
            Some(End::Cut(_)) if self.settings.growing => self.done = true,
            Some(End::Damaged(defect) | End::Cut(defect) | End::Unchecked(defect)) => {
                let end = self.feed.close()?;
                self.quarantine(end, defect);
            }
            Some(End::Whole) | None => {
                let end = self.feed.close()?;
                self.pad(end);
            }
        }
        Ok(())
    }

    /// Quarantines what stands at the window's start, at least `bytes` of it, up to the next record in the
    /// frame (plain: in the file), or to the frame's end.
    fn skip_bad(&mut self, bytes: usize, defect: Defect) -> Result<(), ReadError> {
        if self.feed.is_plain() {
            let from = self.feed.stored() + bytes.max(1) as u64;
            self.feed.close()?;
            let end = self.feed.find_next(from)?;
            self.feed.seek(end);
            if self.settings.growing && end == self.feed.size() {
                self.done = true;
            } else {
                self.quarantine(end, defect);
            }
            return Ok(());
        }
        self.feed.consume(bytes);
        self.skip_to_record(|_| ())?;
        match self.feed.window().is_empty() {
            true => match self.feed.end() {
                Some(End::Cut(_)) if self.settings.growing => self.done = true,
                end => {
                    let defect = end.and_then(End::defect).cloned().unwrap_or(defect);
                    let end = self.feed.close()?;
                    self.quarantine(end, defect);
                }
            },
            false => {
                if let Some(end) = self.feed.offset_within() {
                    self.quarantine(end, defect);
                } else {
                    // No offset is left for this record: it stays in the quarantined stretch.
                    self.feed.consume(1);
                    return self.skip_bad(0, Defect::new(reason::RECORDS_TOO_DENSE, defect.detail));
                }
            }
        }
        Ok(())
    }

    /// Takes bytes of the frame up to the next record in it, or all; shows them to `seen`.
    fn skip_to_record(&mut self, mut seen: impl FnMut(&[u8])) -> Result<(), ReadError> {
        let mut searcher = Searcher::new(self.feed.arc, false);
        let mut last = false;
        loop {
            let window = self.feed.window();
            let answer = searcher.search(window, last);
            let (Search::Found(bytes) | Search::NotBefore(bytes)) = answer;
            seen(&window[..bytes]);
            self.feed.consume(bytes);
            if matches!(answer, Search::Found(_)) || last {
                return Ok(());
            }
            let wanted = self.feed.window().len() + PIECE_BYTES / 16;
            last = !self.feed.more(wanted)?;
        }
    }

    fn read_record(&mut self) -> Result<(), ReadError> {
        let mut headers = std::mem::take(&mut self.spare_headers);
        let parsed = self.read_head(&mut headers)?;
        match parsed {
            Ok(head) => self.read_block(head),
            Err(None) => Ok(()),
            Err(Some((bytes, defect))) => self.skip_bad(bytes, defect),
        }
    }

    /// Parses the header at the window's start. `Err(None)`: entries were made (or the end is reached) instead.
    fn read_head(
        &mut self,
        headers: &mut Headers,
    ) -> Result<Result<Head, Option<(usize, Defect)>>, ReadError> {
        loop {
            let window = self.feed.window();
            let parsed = match window.starts_with(b"WARC/") {
                true => warc_header::parse(window, headers),
                false => arc_header::parse(window, headers),
            };
            match parsed {
                Parsed::Head(head, bytes) => {
                    self.feed.arc = matches!(head.format, Format::Arc(_));
                    self.feed.consume(bytes);
                    return Ok(Ok(*head));
                }
                Parsed::Invalid(bytes, defect) => return Ok(Err(Some((bytes, defect)))),
                Parsed::Incomplete => {}
            }
            let wanted = window.len() * 2;
            if !self.feed.more(wanted)? {
                if self.settings.growing {
                    self.done = true;
                    return Ok(Err(None));
                }
                let bytes = self.feed.window().len();
                let defect = Defect::new(reason::TRUNCATED_HEADER, "no end of the header");
                return Ok(Err(Some((bytes, defect))));
            }
        }
    }

    fn read_block(&mut self, mut head: Head) -> Result<(), ReadError> {
        let mut body = Body::new(std::mem::take(&mut self.spare_body), self.settings.body_bytes_max);
        body.checks = self.checks(&mut head)?;
        let declared = match head.block {
            BlockLength::Declared(bytes) => Some(bytes),
            BlockLength::UpToNext => None,
        };
        if self.feed.is_plain() {
            let Some(bytes) = self.measure_plain(&mut head, declared)? else {
                self.done = true;
                return Ok(());
            };
            self.take_block(&mut body, bytes)?;
        } else if let Some(bytes) = declared {
            match self.take_block_across(&mut body, bytes)? {
                Across::Whole => {}
                Across::Short(defect) => head.defects.push(defect),
                Across::Ended(end, defect, next) => {
                    head.defects.push(defect);
                    self.make_record(head, body, end);
                    return self.follow(next);
                }
                Across::Unfinished => {
                    self.done = true;
                    return Ok(());
                }
            }
        } else {
            self.take_to_next(&mut body, head.line_ends())?;
        }
        self.settle(head, body)
    }

    /// How long a block in plain bytes really is. `None`: the file ends inside it and may still be growing.
    fn measure_plain(&mut self, head: &mut Head, declared: Option<u64>) -> Result<Option<u64>, ReadError> {
        let (start, size) = (self.feed.stored(), self.feed.size());
        let end = declared
            .and_then(|bytes| start.checked_add(bytes))
            .unwrap_or(u64::MAX);
        if declared.is_some() && end <= size && self.record_may_end_at(end)? {
            return Ok(declared);
        }
        if end > size && self.settings.growing {
            return Ok(None);
        }
        let next = self.feed.find_plain(start, end.min(size))?;
        self.feed.source.seek(start);
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

    /// Whether what follows a block that would end at `end` is what follows records.
    fn record_may_end_at(&mut self, end: u64) -> Result<bool, ReadError> {
        let mut bytes = [0; 256];
        let ahead = usize::try_from(end - self.feed.stored()).unwrap_or(usize::MAX);
        let read = match self.feed.window().get(ahead..ahead.saturating_add(bytes.len())) {
            Some(window) => {
                bytes.copy_from_slice(window);
                bytes.len()
            }
            None => self.feed.source.read_at(end, &mut bytes)?,
        };
        let blank = bytes[..read]
            .iter()
            .take_while(|b| matches!(b, b'\r' | b'\n' | 0))
            .count();
        let rest = &bytes[blank..read];
        let last = read < bytes.len();
        Ok(rest.is_empty()
            || container::sniff(rest).is_some()
            || resync::start_of(rest, last) != Start::Neither)
    }

    /// `end` without up to `count` line ends before it, not before `start`.
    fn without_line_ends(&mut self, start: u64, end: u64, count: u64) -> Result<u64, ReadError> {
        let mut tail = [0; 8];
        let from = end.saturating_sub(tail.len() as u64).max(start);
        let read = self
            .feed
            .source
            .read_at(from, &mut tail[..(end - from) as usize])?;
        Ok(from + without_line_ends(&tail[..read], count) as u64)
    }

    /// Takes `bytes` of the open frame into the body; fewer if the frame has no more.
    fn take_block(&mut self, body: &mut Body, bytes: u64) -> Result<u64, ReadError> {
        let before = body.length;
        while body.length - before < bytes {
            let left = bytes - (body.length - before);
            let piece = left.min(PIECE_BYTES as u64);
            let room = body.room();
            let checks = &mut body.checks;
            let taken = match room {
                0 if self.feed.is_plain() && checks.is_idle() => {
                    let end = self.feed.stored() + left;
                    self.feed.source.seek(end);
                    left
                }
                0 => self.feed.pass(piece as usize, |bytes| checks.update(bytes))? as u64,
                room => {
                    let before = body.kept.len();
                    let taken = self.feed.take_into(&mut body.kept, piece.min(room) as usize)?;
                    checks.update(&body.kept[before..]);
                    taken as u64
                }
            };
            body.length += taken;
            if taken == 0 {
                break;
            }
        }
        Ok(body.length - before)
    }

    /// Takes a block of `bytes` that may go on in the next frames.
    fn take_block_across(&mut self, body: &mut Body, bytes: u64) -> Result<Across, ReadError> {
        loop {
            self.take_block(body, bytes - body.length)?;
            if body.length == bytes {
                return Ok(Across::Whole);
            }
            let detail = format!("declared {bytes} bytes, {} could be read", body.length);
            match self.feed.end() {
                Some(End::Cut(_)) if self.settings.growing => return Ok(Across::Unfinished),
                Some(End::Cut(_) | End::Damaged(_)) => {
                    return Ok(Across::Short(Defect::new(reason::TRUNCATED_RECORD, detail)));
                }
                _ => {}
            }
            let end = self.feed.close()?;
            match self.next_frame()? {
                Opened::Frame if self.record_begins()? => {
                    let defect = Defect::new(reason::LENGTH_TOO_LONG, detail);
                    return Ok(Across::Ended(end, defect, Opened::Frame));
                }
                Opened::Frame => {}
                Opened::Nothing if self.settings.growing => return Ok(Across::Unfinished),
                next => {
                    let defect = Defect::new(reason::TRUNCATED_RECORD, detail);
                    return Ok(Across::Ended(end, defect, next));
                }
            }
        }
    }

    /// Opens the next frame that has bytes.
    fn next_frame(&mut self) -> Result<Opened, ReadError> {
        loop {
            match self.feed.open()? {
                Opened::Padding(_) => {}
                Opened::Frame => {
                    if self.feed.more(1)? || !self.feed.end().is_some_and(End::is_complete) {
                        return Ok(Opened::Frame);
                    }
                    self.feed.close()?;
                }
                next => return Ok(next),
            }
        }
    }

    /// Whether a record surely begins at the window's start, line ends before it aside.
    fn record_begins(&mut self) -> Result<bool, ReadError> {
        let mut wanted = warc_header::PLAUSIBLE_BYTES + 16;
        let mut last = false;
        loop {
            last |= self.feed.window().len() < wanted && !self.feed.more(wanted)?;
            let window = self.feed.window();
            let blank = window.iter().take_while(|b| matches!(b, b'\r' | b'\n')).count();
            if warc_header::plausible(&window[blank..]) {
                return Ok(true);
            }
            match arc_header::is_header(&window[blank..], arc_header::Trust::Searching) {
                Some(true) => return Ok(self.feed.arc),
                None if self.feed.arc && !last && wanted <= arc_header::LINE_BYTES_MAX => wanted *= 4,
                _ => return Ok(false),
            }
        }
    }

    /// Accounts for what was opened after a record that ended sooner than declared.
    fn follow(&mut self, next: Opened) -> Result<(), ReadError> {
        match next {
            Opened::Frame => {
                let start = self.feed.frame_start();
                self.pad(start);
            }
            Opened::Padding(end) => self.pad(end),
            Opened::Junk(end, _) if self.settings.growing && end == self.feed.size() => self.done = true,
            Opened::Junk(end, defect) => self.quarantine(end, defect),
            Opened::Nothing => {
                let end = self.feed.stored();
                self.pad(end);
                self.done = true;
            }
        }
        Ok(())
    }

    /// Takes the rest of the frame up to the next record, without the line ends before that.
    fn take_to_next(&mut self, body: &mut Body, line_ends: u64) -> Result<(), ReadError> {
        let mut taken = std::mem::take(&mut body.kept);
        let (mut length, room) = (0, body.room());
        self.skip_to_record(|bytes| {
            let keep = room.saturating_sub(length).min(bytes.len() as u64) as usize;
            taken.extend_from_slice(&bytes[..keep]);
            length += bytes.len() as u64;
        })?;
        body.kept = taken;
        body.length += length;
        body.trim_line_ends(line_ends);
        if body.kept.len() as u64 == body.length {
            body.checks.update(&body.kept);
        } else {
            // Where the block ends was not known while it went by.
            body.checks = Checks::default();
        }
        Ok(())
    }

    /// What to compute over the block that comes next.
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
        if self.feed.window().len() < 4 {
            self.feed.more(4)?;
        }
        let http = is_http(head.format, head.kind, &head.headers, self.feed.window());
        let checks = match self.settings.verify_digests {
            true => Checks::declared(&head.headers, head.kind, http, &mut head.defects),
            false => Checks::default(),
        };
        Ok(if sha1 { checks.with_sha1(http) } else { checks })
    }

    /// The block is read: finds the record's end, and makes the record.
    fn settle(&mut self, mut head: Head, body: Body) -> Result<(), ReadError> {
        let line_ends = self.skip_line_ends()?;
        let mut surplus = 0;
        let end = loop {
            match self.look()? {
                Start::Warc | Start::Arc => {
                    if let Some(offset) = self.feed.offset_within() {
                        break offset;
                    }
                    head.defects.push(Defect::new(
                        reason::RECORDS_TOO_DENSE,
                        "a record without an offset",
                    ));
                }
                _ if self.feed.is_plain() => break self.leave_plain(&mut head, line_ends)?,
                _ if self.feed.window().is_empty() => {
                    if let Some(defect) = self.feed.end().and_then(End::defect) {
                        if self.settings.growing && matches!(self.feed.end(), Some(End::Cut(_))) {
                            self.done = true;
                            return Ok(());
                        }
                        head.defects.push(defect.clone());
                    }
                    break self.feed.close()?;
                }
                _ => {}
            }
            self.feed.consume(1);
            surplus += 1;
            self.skip_to_record(|bytes| surplus += bytes.len())?;
        };
        if self.done {
            return Ok(());
        }
        if surplus > 0 {
            let detail = format!("{surplus} bytes follow the {} declared", body.length);
            head.defects.push(Defect::new(reason::LENGTH_TOO_SHORT, detail));
        } else if line_ends < head.line_ends() && head.defects.is_empty() && !head.is_arc_file_header() {
            let detail = format!("{line_ends} after the block, {} expected", head.line_ends());
            head.defects.push(Defect::new(reason::LINE_ENDS_MISSING, detail));
        }
        self.make_record(head, body, end);
        Ok(())
    }

    /// After a plain record nothing that is a plain record follows.
    fn leave_plain(&mut self, head: &mut Head, line_ends: u64) -> Result<u64, ReadError> {
        let end = self.feed.close()?;
        if end == self.feed.size() {
            self.done = self.settings.growing && line_ends < head.line_ends();
            return Ok(end);
        }
        self.feed.source.ensure(container::MAGIC_BYTES)?;
        let rest = self.feed.source.available();
        if container::sniff(rest).is_none() && rest.first().is_some_and(|b| *b != 0) {
            let detail = "bytes that are no record follow the block";
            head.defects.push(Defect::new(reason::LENGTH_TOO_SHORT, detail));
        }
        Ok(end)
    }

    fn make_record(&mut self, mut head: Head, body: Body, end: u64) {
        let span = self.span_to(end);
        let incomplete = head.defects.iter().any(|d| d.reason == reason::TRUNCATED_RECORD);
        let payload_sha1 = match incomplete {
            // A digest of a part would be taken for that of the whole.
            true => None,
            false => body.checks.finish(&mut head.defects),
        };
        self.ready.push_back(Entry::Record(Record {
            span,
            format: head.format,
            kind: head.kind,
            headers: head.headers,
            body: body.kept,
            body_length: body.length,
            payload_sha1,
            defects: head.defects,
        }));
    }
}

/// How taking a block across frames came out.
enum Across {
    /// All of it was there.
    Whole,
    /// The open frame broke off inside it.
    Short(Defect),
    /// It ended, where the frame at this offset did, and this came next.
    Ended(u64, Defect, Opened),
    /// The end of a growing file was reached.
    Unfinished,
}
