//! Response body of a capture: pages and styles are rewritten, all other content is unchanged.

use std::io::{self, Cursor, Read};

use axum::body::Bytes;
use extract::{PayloadReader, TextReader};
use listen::Permit;
use replay::{CSS_BYTES_MAX, Markup, Rewriter, Scope, Scripts};

use crate::stream::BodySource;

/// Number of bytes of content that are read for a piece.
const PIECE_BYTES: usize = 64 << 10;

/// Number of bytes in which the character set of a page is detected.
const START_BYTES: u64 = 64 << 10;

/// Maximum number of bytes that a page may decode to.
const PAGE_BYTES_MAX: u64 = 256 << 20;

/// Maximum number of bytes of a page that are converted to UTF-8, if its own character set cannot
/// be kept (UTF-16, ISO-2022-JP).
const CONVERTED_BYTES_MAX: u64 = 16 << 20;

/// Maximum number of bytes that other content may decode to. It is more than any film needs, and
/// ends content that would decode forever.
pub(super) const BYTES_MAX: u64 = 64 << 30;

/// A page that is rewritten while it is sent.
pub(super) struct PageBody {
    content: Box<dyn Read + Send>,
    /// Bytes read, and how many of them were rewritten.
    piece: Vec<u8>,
    taken: usize,
    /// `None` after the end.
    rewriter: Option<Rewriter>,
    _permit: Option<Permit>,
}

impl PageBody {
    /// Detects the character set of a page and begins to rewrite it. Returns the name of the
    /// character set that it is sent in.
    ///
    /// # Errors
    /// The error of the input, if its beginning cannot be read.
    pub(super) fn open(
        mut payload: PayloadReader,
        scope: Scope,
        markup: Markup,
        scripts: Scripts,
        place: Option<Permit>,
    ) -> io::Result<(PageBody, &'static str)> {
        let mut start = Vec::new();
        payload.by_ref().take(START_BYTES).read_to_end(&mut start)?;
        let top_level = scope
            .url()
            .host_str()
            .and_then(|host| host.rsplit('.').next())
            .map(str::to_owned);
        let encoding = extract::document_encoding(&start, payload.charset(), top_level.as_deref());
        let mut rest = Cursor::new(start).chain(payload.take(PAGE_BYTES_MAX));
        let scope_as_sent = scope.clone().in_encoding(encoding);
        // The rewriter needs a superset of ASCII, so other character sets are converted to UTF-8.
        let (content, rewriter, sent): (Box<dyn Read + Send>, _, _) =
            match Rewriter::new(scope_as_sent, markup, scripts) {
                Ok(rewriter) => (Box::new(rest), rewriter, encoding.name()),
                Err(_) => {
                    let mut encoded = Vec::new();
                    rest.by_ref()
                        .take(CONVERTED_BYTES_MAX)
                        .read_to_end(&mut encoded)?;
                    let text = encoding.decode(&encoded).0.into_owned();
                    let text = Cursor::new(text.into_bytes());
                    (Box::new(text), Rewriter::new(scope, markup, scripts)?, "UTF-8")
                }
            };
        let body = PageBody {
            content,
            piece: Vec::new(),
            taken: 0,
            rewriter: Some(rewriter),
            _permit: place,
        };
        Ok((body, sent))
    }
}

impl BodySource for PageBody {
    fn next(&mut self) -> io::Result<Option<Bytes>> {
        let Some(mut rewriter) = self.rewriter.take() else {
            return Ok(None);
        };
        if self.taken == self.piece.len() {
            self.piece = read_piece(&mut self.content)?;
            self.taken = 0;
        }
        if self.piece.is_empty() {
            return rewriter.end().map(|rest| Some(Bytes::from(rest)));
        }
        let mut rest = &self.piece[self.taken..];
        let ready = rewriter.write(&mut rest)?;
        self.taken = self.piece.len() - rest.len();
        self.rewriter = Some(rewriter);
        Ok(Some(Bytes::from(ready)))
    }
}

/// Detects the kind of markup of an XML document from its beginning.
///
/// # Errors
/// The error of the input.
pub(super) fn xml_markup(payload: PayloadReader) -> io::Result<Option<Markup>> {
    let mut start = Vec::new();
    payload.take(START_BYTES).read_to_end(&mut start)?;
    Ok(replay::xml_markup(&start))
}

/// Reads a whole style sheet and rewrites it, in UTF-8.
///
/// # Errors
/// The error of the input.
pub(super) fn style(payload: PayloadReader, scope: &Scope) -> io::Result<Vec<u8>> {
    let mut css = String::new();
    let text = TextReader::open(payload, None)?;
    text.take(CSS_BYTES_MAX as u64 * 2).read_to_string(&mut css)?;
    Ok(replay::rewrite_css(&css, scope).into_bytes())
}

/// Unchanged content, or a part of it.
pub(super) struct PlainBody {
    payload: PayloadReader,
    /// Number of bytes still to skip.
    skip: u64,
    /// Number of bytes still to send.
    left: u64,
    _permit: Option<Permit>,
}

impl PlainBody {
    /// Returns the whole payload.
    pub(super) fn whole(payload: PayloadReader, place: Option<Permit>) -> PlainBody {
        PlainBody::part(payload, 0, u64::MAX, place)
    }

    /// Returns `length` bytes of the payload after the first `skip`. Some of these may have been
    /// skipped when the payload was opened.
    pub(super) fn part(payload: PayloadReader, skip: u64, length: u64, place: Option<Permit>) -> PlainBody {
        PlainBody {
            skip: skip.saturating_sub(payload.position()),
            payload,
            left: length,
            _permit: place,
        }
    }
}

impl PlainBody {
    /// Returns whether all bytes of a part were returned.
    pub(super) fn is_complete(&self) -> bool {
        self.left == 0
    }
}

impl BodySource for PlainBody {
    fn next(&mut self) -> io::Result<Option<Bytes>> {
        let mut piece = read_piece(&mut self.payload)?;
        if piece.is_empty() {
            return if self.payload.has_failed() {
                Err(io::Error::other(
                    "the input could not be read up to the end of the record",
                ))
            } else {
                Ok(None)
            };
        }
        let skipped = usize::try_from(self.skip).unwrap_or(usize::MAX).min(piece.len());
        piece.drain(..skipped);
        self.skip -= skipped as u64;
        let sent = usize::try_from(self.left).unwrap_or(usize::MAX).min(piece.len());
        piece.truncate(sent);
        self.left -= sent as u64;
        match (self.left, piece.is_empty()) {
            (0, true) => Ok(None),
            _ => Ok(Some(Bytes::from(piece))),
        }
    }
}

/// Returns the length of a payload. Reads it to its end.
///
/// # Errors
/// The error of the input.
pub(super) fn length(mut payload: PayloadReader) -> io::Result<u64> {
    let length = io::copy(&mut payload, &mut io::sink())?;
    if payload.has_failed() {
        Err(io::Error::other(
            "the input could not be read up to the end of the record",
        ))
    } else {
        Ok(length)
    }
}

/// Reads a full piece, or less at the end.
fn read_piece(source: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut piece = Vec::with_capacity(PIECE_BYTES);
    source.take(PIECE_BYTES as u64).read_to_end(&mut piece)?;
    Ok(piece)
}
