//! The part of HTTP that digests need: the end of the header, whether the payload is chunked, and
//! the payload without chunk sizes (RFC 9112, 7.1).

use memchr::memchr;

/// Longest accepted HTTP header in bytes.
pub const HTTP_HEADER_BYTES_MAX: usize = 1 << 20;

/// Returns the length of the HTTP header at the start of a block, including its empty line, or
/// `None` if it has no end.
///
/// Lines end in LF, preceded by any number of CR.
///
/// ```
/// assert_eq!(warc::http_header_length(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody"), Some(25));
/// assert_eq!(warc::http_header_length(b"HTTP/1.1 200 OK\r\n"), None);
/// ```
pub fn http_header_length(block: &[u8]) -> Option<usize> {
    let block = &block[..block.len().min(HTTP_HEADER_BYTES_MAX)];
    let mut at = 0;
    while let Some(length) = memchr(b'\n', &block[at..]) {
        let line = &block[at..at + length];
        at += length + 1;
        if line.iter().all(|b| *b == b'\r') {
            return Some(at);
        }
    }
    None
}

/// Returns whether `chunked` is the last transfer encoding in an HTTP header.
pub fn is_chunked(header: &[u8]) -> bool {
    let mut lines = header.split(|b| *b == b'\n');
    lines.any(|line| {
        let Some(colon) = memchr(b':', line) else {
            return false;
        };
        let name = line[..colon].trim_ascii();
        let value = line[colon + 1..].trim_ascii();
        let tail = value.len().saturating_sub(7);
        name.eq_ignore_ascii_case(b"Transfer-Encoding") && value[tail..].eq_ignore_ascii_case(b"chunked")
    })
}

/// Removes the chunk sizes from a payload that arrives in pieces of any size.
///
/// Tolerates payloads wrongly declared as chunked: from the first line that should be a chunk size
/// but is not, everything including that line is payload. Bytes after the last chunk (trailers) are
/// not payload.
#[derive(Debug, Clone, Default)]
pub struct Dechunker {
    state: Chunk,
    /// The beginning of a size line whose end has not arrived yet.
    line: Vec<u8>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Chunk {
    /// In a size line.
    #[default]
    Size,
    /// In a chunk with this many remaining bytes.
    Data(u64),
    /// After a chunk's data, before or in its line end.
    DataEnd,
    /// After the last chunk.
    Trailer,
    /// Not chunked, or no longer: everything is payload.
    Raw,
}

/// Longest accepted size line with extensions, in bytes.
const SIZE_LINE_BYTES_MAX: usize = 256;

impl Dechunker {
    /// Creates a decoder for the start of a payload.
    pub fn new() -> Dechunker {
        Dechunker::default()
    }

    /// Decodes the next piece. Calls `payload` with the parts of it (or of bytes held back) that
    /// are payload.
    pub fn push(&mut self, mut piece: &[u8], mut payload: impl FnMut(&[u8])) {
        while !piece.is_empty() {
            match self.state {
                Chunk::Raw => {
                    payload(piece);
                    return;
                }
                Chunk::Trailer => return,
                Chunk::Data(left) => {
                    let bytes = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
                    payload(&piece[..bytes]);
                    piece = &piece[bytes..];
                    let left = left - bytes as u64;
                    self.state = if left == 0 {
                        Chunk::DataEnd
                    } else {
                        Chunk::Data(left)
                    };
                }
                Chunk::DataEnd => match piece[0] {
                    b'\r' => piece = &piece[1..],
                    b'\n' => {
                        piece = &piece[1..];
                        self.state = Chunk::Size;
                    }
                    _ => self.state = Chunk::Raw,
                },
                Chunk::Size => piece = self.push_size_line(piece, &mut payload),
            }
        }
    }

    /// Ends the payload. Calls `payload` with the bytes held back if they are not a complete size
    /// line.
    pub fn finish(self, mut payload: impl FnMut(&[u8])) {
        if self.state == Chunk::Size && !self.line.is_empty() {
            payload(&self.line);
        }
    }

    fn push_size_line<'a>(&mut self, piece: &'a [u8], payload: &mut impl FnMut(&[u8])) -> &'a [u8] {
        let end = memchr(b'\n', piece).map_or(piece.len(), |at| at + 1);
        self.line
            .extend_from_slice(&piece[..end.min(SIZE_LINE_BYTES_MAX + 1)]);
        let ended = piece[end - 1] == b'\n';
        let (size, too_long) = (chunk_size(&self.line), self.line.len() > SIZE_LINE_BYTES_MAX);
        match size {
            Some(0) if ended && !too_long => self.state = Chunk::Trailer,
            Some(size) if ended && !too_long => self.state = Chunk::Data(size),
            Some(_) if !too_long => return &piece[end..],
            _ => {
                self.state = Chunk::Raw;
                payload(&self.line);
                let taken = end.min(SIZE_LINE_BYTES_MAX + 1);
                self.line.clear();
                return &piece[taken..];
            }
        }
        self.line.clear();
        &piece[end..]
    }
}

/// Parses the size at the start of a line, or of part of a line. Returns `None` if it cannot be a
/// size line.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let line = line.trim_ascii_end();
    let digits = line.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    let after = line[digits..].trim_ascii_start();
    // 15 hexadecimal digits fit in 60 bits; an extension begins with a semicolon (RFC 9112, 7.1.1).
    if digits == 0 || digits > 15 || !(after.is_empty() || after[0] == b';') {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(&line[..digits]).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(payload: &[u8], expected: &[u8]) {
        for piece in [1, 2, 3, 7, payload.len().max(1)] {
            let mut decoded = Vec::new();
            let mut dechunker = Dechunker::new();
            for bytes in payload.chunks(piece) {
                dechunker.push(bytes, |part| decoded.extend_from_slice(part));
            }
            dechunker.finish(|part| decoded.extend_from_slice(part));
            assert_eq!(
                decoded,
                expected,
                "{:?} in pieces of {piece}",
                String::from_utf8_lossy(payload)
            );
        }
    }

    #[test]
    fn chunks_and_false_claims() {
        check(b"", b"");
        check(b"5\r\nhello\r\n1 ; x=y\r\n!\r\n0\r\n\r\nrest", b"hello!");
        check(b"5\nhello\n0\n\n", b"hello");
        check(b"<html>5\r\n", b"<html>5\r\n");
        check(b"abc", b"abc");
        check(b"5\r\nhelloXX\r\nmore", b"helloXX\r\nmore");
        check(b"5\r\nhello\r\nnot a size\r\nmore", b"hellonot a size\r\nmore");
        check(b"ff\r\ncut", b"cut");
        check(b"\r\n5\r\nhello", b"\r\n5\r\nhello");
        let long = [b"1;".as_slice(), &[b'x'; 400], b"\r\na"].concat();
        check(&long, &long);
    }

    #[test]
    fn chunked_is_said_in_any_case() {
        assert!(is_chunked(
            b"HTTP/1.1 200\r\nTRANSFER-encoding: gzip, Chunked\r\n\r\n"
        ));
        assert!(!is_chunked(
            b"HTTP/1.1 200\r\nTransfer-Encoding: identity\r\n\r\n"
        ));
        assert!(!is_chunked(b""));
    }
}
