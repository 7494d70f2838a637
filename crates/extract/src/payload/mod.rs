//! Reads the payload of a record, decoded piece by piece: after the HTTP head, without transfer and
//! content codings.
//!
//! A few bytes can decode to any number, again at each coding, so nothing is ever decoded
//! completely. Invariants:
//! - At most `bytes_max` bytes are returned, and no coding passes more than twice that to the next.
//!   So time and memory are bounded whatever the bytes are.
//! - Memory holds only the windows of the codings (at most 16 MiB each, for brotli) and
//!   [`TRIAL_BYTES`] for each.
//! - Bytes with a false claim (chunked, gzip, ...) are returned unchanged. Of bytes that decode
//!   only up to some point, the decoded part is returned.

use std::io::{self, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use warc::{Dechunker, HTTP_HEADER_BYTES_MAX, Headers, Kind, OpenRecord};

use crate::http::{self, Head, coding};
use crate::mime;

/// Number of encoded bytes that decide whether a claimed coding is true. The largest unit that must
/// be complete before any output, a zstd block, has 128 KiB.
const TRIAL_BYTES: u64 = 256 << 10;

/// Maximum number of codings decoded. Servers apply one, rarely two; each can multiply the output
/// of the previous one.
const CODINGS_MAX: usize = 3;

/// Number of bytes read at once for the head, and of a chunked payload.
const PIECE_BYTES: usize = 16 << 10;

/// Reads a payload.
pub struct PayloadReader {
    decoded: Box<dyn Read + Send>,
    ending: Arc<Ending>,
    charset: Option<String>,
    status: u16,
    fields: Vec<(String, String)>,
    is_encoded: bool,
    length: Option<u64>,
    position: u64,
}

/// Events before the end of the payload.
#[derive(Default)]
struct Ending {
    /// A limit was reached.
    cut: AtomicBool,
    /// The input failed.
    failed: AtomicBool,
}

impl PayloadReader {
    /// Opens the payload of a record. At most `bytes_max` bytes of it are returned.
    ///
    /// # Errors
    /// The error of the input, if its beginning cannot be read.
    pub fn open(record: OpenRecord, bytes_max: u64) -> io::Result<PayloadReader> {
        PayloadReader::open_near(record, bytes_max, 0)
    }

    /// Like [`PayloadReader::open`], but skips `offset` bytes of the payload if it has no codings
    /// ([`PayloadReader::position`]). In an uncompressed file they are not read.
    ///
    /// # Errors
    /// The error of the input, if its beginning cannot be read.
    pub fn open_near(record: OpenRecord, bytes_max: u64, offset: u64) -> io::Result<PayloadReader> {
        let (kind, headers) = (record.kind(), record.headers().clone());
        let skip = |record: &mut OpenRecord, bytes| record.skip(bytes);
        PayloadReader::of_parts((kind, &headers), record, bytes_max, (offset, skip))
    }

    /// Like [`PayloadReader::open`], for a record that is given in parts.
    ///
    /// # Errors
    /// The error of `block`, if its beginning cannot be read.
    pub fn of_block(
        kind: Kind,
        headers: &Headers,
        block: impl Read + Send + 'static,
        bytes_max: u64,
    ) -> io::Result<PayloadReader> {
        PayloadReader::of_parts((kind, headers), block, bytes_max, (0, |_: &mut _, _| Ok(0)))
    }

    fn of_parts<R: Read + Send + 'static>(
        (kind, headers): (Kind, &Headers),
        block: R,
        bytes_max: u64,
        (offset, skip): (u64, impl FnOnce(&mut R, u64) -> io::Result<u64>),
    ) -> io::Result<PayloadReader> {
        let ending = Arc::new(Ending::default());
        let mut block = Limited {
            inner: Noting {
                inner: block,
                ending: ending.clone(),
            },
            left: bytes_max.saturating_mul(2),
            ending: ending.clone(),
        };
        let (mut start, head) = read_head(&mut block, matches!(kind, Kind::Response | Kind::Revisit))?;
        let of_record = || headers.get("Content-Type");
        let content_type = head.content_type.as_deref().or_else(|| match head.status {
            0 => of_record(),
            _ => None,
        });
        let charset = content_type.and_then(mime::charset).map(str::to_owned);
        let fields = http::fields(&start[..head.length]);
        let lengths = Lengths::of(headers, &head, &start[head.length..]);
        let mut rest = start.split_off(head.length + lengths.extra);
        let is_encoded = head.chunked || !head.all_codings().is_empty();
        let mut position = 0;
        if !is_encoded {
            let of_start = usize::try_from(offset).unwrap_or(usize::MAX).min(rest.len());
            rest.drain(..of_start);
            position = of_start as u64;
            if rest.is_empty() {
                let skipped = skip(&mut block.inner.inner, offset - position)?;
                block.left = block.left.saturating_sub(skipped);
                position += skipped;
            }
        }
        let decoded = decoded(Cursor::new(rest).chain(block), &head, bytes_max, &ending)?;
        Ok(PayloadReader {
            decoded: Box::new(Limited {
                inner: decoded,
                left: bytes_max.saturating_sub(position),
                ending: ending.clone(),
            }),
            ending,
            charset,
            status: head.status,
            fields,
            is_encoded,
            length: lengths
                .payload
                .filter(|length| !is_encoded && *length <= bytes_max),
            position,
        })
    }

    /// The HTTP status; 0 if the record has no HTTP header.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The fields of the HTTP header, names and values as sent; empty if the record has no HTTP
    /// header.
    pub fn fields(&self) -> &[(String, String)] {
        &self.fields
    }

    /// Returns whether the payload is stored with a transfer or content coding.
    pub fn is_encoded(&self) -> bool {
        self.is_encoded
    }

    /// Returns the length of the payload in bytes, as far as the record and its HTTP header state it
    /// and agree; `None` if it must be read to know. It includes the bytes that were skipped.
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// Returns the number of bytes that were skipped when the payload was opened.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns the character set in the HTTP header or, if there is no HTTP header, in the record
    /// header.
    pub fn charset(&self) -> Option<&str> {
        self.charset.as_deref()
    }

    /// Returns whether a limit was reached. Call it at the end of the payload.
    pub fn is_cut(&self) -> bool {
        self.ending.cut.load(Ordering::Relaxed)
    }

    /// Returns whether the input failed before the end. Call it at the end of the payload.
    pub fn has_failed(&self) -> bool {
        self.ending.failed.load(Ordering::Relaxed)
    }
}

impl Read for PayloadReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.decoded.read(into)
    }
}

/// The lengths that the headers state.
struct Lengths {
    /// Number of bytes between the HTTP head and the payload. Some servers end the head twice, and
    /// do not count the second line end in their `Content-Length`.
    extra: usize,
    /// Length of the payload as stored; `None` if unknown, or if the headers contradict each other.
    payload: Option<u64>,
}

impl Lengths {
    /// `rest` are the first bytes after the HTTP head.
    fn of(headers: &Headers, head: &Head, rest: &[u8]) -> Lengths {
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let block = headers.get("Content-Length").and_then(number);
        let stored = block.and_then(|block| block.checked_sub(head.length as u64));
        let Some(declared) = head.content_length.as_deref() else {
            return Lengths {
                extra: 0,
                payload: stored,
            };
        };
        let (declared, second_end) = (number(declared), b"\r\n");
        let is_counted =
            |bytes: u64| stored.is_some() && declared == stored.and_then(|n| n.checked_sub(bytes));
        let is_extra = rest.starts_with(second_end) && !head.chunked;
        let extra = if is_extra && is_counted(second_end.len() as u64) {
            second_end.len()
        } else {
            0
        };
        Lengths {
            extra,
            payload: declared.filter(|_| is_counted(extra as u64)),
        }
    }
}

/// Adds the decoders of the codings that the head names and the bytes have.
fn decoded(
    stored: impl Read + Send + 'static,
    head: &Head,
    bytes_max: u64,
    ending: &Arc<Ending>,
) -> io::Result<Box<dyn Read + Send>> {
    let mut decoded: Box<dyn Read + Send> = if head.chunked {
        Box::new(Dechunked::new(stored))
    } else {
        Box::new(stored)
    };
    let codings = head.all_codings();
    let told = codings
        .iter()
        .rev()
        .filter(|coding| !matches!(coding.as_str(), "identity" | "none"));
    for coding in told.take(CODINGS_MAX) {
        // The coding applied last is decoded first.
        let mut trial = Vec::new();
        decoded.by_ref().take(TRIAL_BYTES).read_to_end(&mut trial)?;
        let proven = coding::prove(&trial, coding);
        let encoded = Cursor::new(trial).chain(decoded);
        let Some(proven) = proven else {
            return Ok(Box::new(encoded));
        };
        decoded = Box::new(Limited {
            inner: Lenient {
                inner: proven.decoder(encoded)?,
                over: false,
            },
            left: bytes_max.saturating_mul(2),
            ending: ending.clone(),
        });
    }
    Ok(decoded)
}

/// Reads up to the end of the HTTP head. Returns the bytes read, which may be more, and the head;
/// it is empty if the block has none.
fn read_head(block: &mut impl Read, may_be_http: bool) -> io::Result<(Vec<u8>, Head)> {
    let mut start = Vec::new();
    loop {
        let grew = block.by_ref().take(PIECE_BYTES as u64).read_to_end(&mut start)?;
        if !may_be_http || !http::begins_like_http(&start) {
            return Ok((start, Head::default()));
        }
        let head = http::parse_head(&start);
        // A head that reaches to the end of the bytes read may continue.
        if head.length < start.len() || grew == 0 || start.len() >= HTTP_HEADER_BYTES_MAX {
            return Ok((start, head));
        }
    }
}

/// Records that the input failed, because the decoders above do not distinguish that from wrong
/// bytes.
struct Noting<R> {
    inner: R,
    ending: Arc<Ending>,
}

impl<R: Read> Read for Noting<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.inner
            .read(into)
            .inspect_err(|_| self.ending.failed.store(true, Ordering::Relaxed))
    }
}

/// Ends after `left` bytes, and records whether there were more.
struct Limited<R> {
    inner: R,
    left: u64,
    ending: Arc<Ending>,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && !into.is_empty() {
            if self.inner.read(&mut [0])? > 0 {
                self.ending.cut.store(true, Ordering::Relaxed);
            }
            return Ok(0);
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(into.len());
        let bytes = self.inner.read(&mut into[..most])?;
        self.left -= bytes as u64;
        Ok(bytes)
    }
}

/// Returns the bytes before the first error, and then the end.
struct Lenient<R> {
    inner: R,
    over: bool,
}

impl<R: Read> Read for Lenient<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.over {
            return Ok(0);
        }
        match self.inner.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            // A decoder must not be called again after an error.
            Err(_) => {
                self.over = true;
                Ok(0)
            }
            Ok(bytes) => Ok(bytes),
        }
    }
}

/// Removes chunk sizes.
struct Dechunked<R> {
    inner: R,
    /// `None` after the end.
    dechunker: Option<Dechunker>,
    ready: Vec<u8>,
    taken: usize,
}

impl<R: Read> Dechunked<R> {
    fn new(inner: R) -> Dechunked<R> {
        Dechunked {
            inner,
            dechunker: Some(Dechunker::new()),
            ready: Vec::new(),
            taken: 0,
        }
    }
}

impl<R: Read> Read for Dechunked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.ready.len()
            && let Some(mut dechunker) = self.dechunker.take()
        {
            self.ready.clear();
            self.taken = 0;
            let mut piece = [0; PIECE_BYTES];
            let bytes = match self.inner.read(&mut piece) {
                Ok(bytes) => bytes,
                Err(error) => {
                    self.dechunker = Some(dechunker);
                    return Err(error);
                }
            };
            let ready = &mut self.ready;
            if bytes == 0 {
                dechunker.finish(|part| ready.extend_from_slice(part));
            } else {
                dechunker.push(&piece[..bytes], |part| ready.extend_from_slice(part));
                self.dechunker = Some(dechunker);
            }
        }
        let bytes = into.len().min(self.ready.len() - self.taken);
        into[..bytes].copy_from_slice(&self.ready[self.taken..self.taken + bytes]);
        self.taken += bytes;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests;
