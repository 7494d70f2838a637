//! Searches for the next record in decoded bytes that do not begin with one.
//!
//! A WARC record is assumed wherever a version line is followed by a field, even within a line (the
//! text before it may have been cut anywhere). An ARC record is assumed only at the start of a line
//! whose fields are all well-formed. Every byte is examined a bounded number of times.

use memchr::{memchr, memchr_iter};

use crate::record::arc::{self, LINE_BYTES_MAX, Trust};
use crate::record::line;

/// The result of a search.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Search {
    /// A record begins at this offset.
    Found(usize),
    /// No record begins before this offset. More bytes are needed to decide about the rest.
    NotBefore(usize),
}

/// Searches the bytes of a frame piece by piece.
pub(crate) struct Searcher {
    /// Whether the next piece begins at the start of a line.
    line_start: bool,
}

impl Searcher {
    pub(crate) fn new(line_start: bool) -> Searcher {
        Searcher { line_start }
    }

    /// Searches `bytes`, which must continue where the last `NotBefore` ended. With `last`, these
    /// are the final bytes, and all of them are decided.
    pub(crate) fn search(&mut self, bytes: &[u8], last: bool) -> Search {
        let warc = search_warc(bytes, last);
        let answer = match warc {
            // An ARC record before the WARC record comes first.
            Search::Found(at) => match self.search_arc(&bytes[..at], true) {
                Search::Found(arc) => Search::Found(arc),
                Search::NotBefore(_) => Search::Found(at),
            },
            Search::NotBefore(warc) => match self.search_arc(bytes, last) {
                Search::NotBefore(arc) => Search::NotBefore(arc.min(warc)),
                found => found,
            },
        };
        if let Search::NotBefore(decided) = answer
            && decided > 0
        {
            self.line_start = bytes[decided - 1] == b'\n';
        }
        answer
    }

    fn search_arc(&self, bytes: &[u8], last: bool) -> Search {
        let mut line_start = self.line_start;
        let mut at = 0;
        loop {
            if line_start {
                match arc::is_header(&bytes[at..], Trust::Searching) {
                    Some(true) => return Search::Found(at),
                    Some(false) => {}
                    None if last => return Search::NotBefore(bytes.len()),
                    None => return Search::NotBefore(at),
                }
            }
            match memchr(b'\n', &bytes[at..]) {
                Some(length) => at += length + 1,
                None => return Search::NotBefore(bytes.len()),
            }
            line_start = true;
        }
    }
}

fn search_warc(bytes: &[u8], last: bool) -> Search {
    let word = line::MAGIC.len() - 1;
    let mut from = 0;
    // Search for the slash after the word: in text it is rarer than any letter of the word in
    // either case.
    for slash in memchr_iter(b'/', bytes) {
        let at = slash.saturating_sub(word);
        if slash < word || at < from || !line::may_be_version_line(&bytes[at..=slash]) {
            continue;
        }
        if line::plausible(&bytes[at..]) {
            return Search::Found(at);
        }
        if !last && bytes.len() - at < line::PLAUSIBLE_BYTES {
            return Search::NotBefore(at);
        }
        from = slash + 1;
    }
    if last {
        Search::NotBefore(bytes.len())
    } else {
        Search::NotBefore(bytes.len().saturating_sub(word).max(from))
    }
}

/// What begins at a position where a record is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    Warc,
    Arc,
    Neither,
    /// More bytes are needed to decide.
    Unsure,
}

/// Decides from the first bytes what begins where a record is expected. With `last`, these are all
/// bytes.
pub(crate) fn start_of(bytes: &[u8], last: bool) -> Start {
    if line::version_line(bytes).is_some() {
        return Start::Warc;
    }
    let may_be_warc = line::may_be_version_line(bytes) && bytes.len() < line::VERSION_LINE_BYTES_MAX;
    match arc::is_header(bytes, Trust::Expected) {
        Some(true) => Start::Arc,
        _ if last => Start::Neither,
        Some(false) if !may_be_warc => Start::Neither,
        _ => Start::Unsure,
    }
}

/// With this number of bytes, [`start_of`] never returns `Unsure`.
pub(crate) const START_BYTES_MAX: usize = LINE_BYTES_MAX;

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the result for pieces of every size; it must not depend on the size.
    fn check(bytes: &[u8], expected: Option<usize>) {
        for piece in (1..40).chain([bytes.len()]) {
            let mut searcher = Searcher::new(true);
            let (mut decided, mut seen) = (0, 0);
            let found = loop {
                seen = (seen + piece).min(bytes.len());
                match searcher.search(&bytes[decided..seen], seen == bytes.len()) {
                    Search::Found(at) => break Some(decided + at),
                    Search::NotBefore(_) if seen == bytes.len() => break None,
                    Search::NotBefore(more) => decided += more,
                }
            };
            assert_eq!(found, expected, "pieces of {piece} bytes");
        }
    }

    #[test]
    fn finds_the_next_record() {
        let warc = b"junk WARC/1.0 \r\nWARC/x\nxxWARC/1.0\r\nWARC-Type: response\r\n\r\nWARC/1.0\nA: b\n";
        check(warc, Some(25));
        check(b"WARC/1.0\r\n\r\nWARC", None);
        check(
            b"<p>warc/1.0\nx</p>\n/warc/1.1\r\nwarc-type: response\r\n",
            Some(19),
        );
        let arc = b"http://a.b/ 1.2.3.4\nhttp://a.b/ 1.2.3.4 20000823054100 image/gif 881\nWARC/1.0\nAb: c\n";
        check(arc, Some(20));
        check(&arc[30..], Some(39));
    }

    #[test]
    fn start_is_known_at_the_end() {
        assert_eq!(start_of(b"WARC/1.", false), Start::Unsure);
        assert_eq!(start_of(b"WARC/1.", true), Start::Neither);
        assert_eq!(start_of(b"WARC/1.0\n", false), Start::Warc);
        assert_eq!(start_of(b"warc/1.0\r\n", false), Start::Warc);
        assert_eq!(start_of(b"warc/", false), Start::Unsure);
        assert_eq!(start_of(b"<!doctype", false), Start::Neither);
        assert_eq!(start_of(b"http://x/ 1.2.3.4 2000", false), Start::Unsure);
    }
}
