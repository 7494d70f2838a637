//! `/record/<file>`: bytes of an input as stored, for programs that read records by offset and
//! length.
//!
//! Invariants:
//! - A client from whom something is hidden gets bytes of visible records only.
//! - The same holds for every client if something of the input was taken down, or if the input was
//!   not read to its end, because later bytes may belong to something that is taken down.
//! - Records that crawlers derive from a page are not sent if the page was taken down, no matter
//!   which input they are in.
//! - For a client from whom something is hidden, a missing file and a file without visible records
//!   give the same response.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read as _};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use archive::question::{CdxRow, InputState, Ledger, LedgerRow, Record, TakedownRulesQuestion};
use archive::{Interrupt, RecordError, TakedownRules};
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use export::StoredBytes;
use warc::ReadError;

use crate::arguments::{Arguments, LIMIT_MAX};
use crate::ask::Answers;
use crate::failure::{Code, Failure};
use crate::fresh;
use crate::record::no_bytes;
use crate::state::State;
use crate::stream::{self, Maker, Wanted};

/// Number of bytes read at once.
const PIECE_BYTES: usize = 256 * 1024;
/// Maximum number of inputs with one name that are searched for a record.
const SAME_NAME_MAX: usize = 16;

/// The requested bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Whole,
    /// The record that begins at this offset.
    RecordAt(u64),
    /// From the first to the last byte, both included.
    Span(u64, u64),
    /// From this byte to the end.
    From(u64),
    /// This many bytes at the end.
    Last(u64),
}

/// The bytes of an input that are sent.
struct Found {
    epoch: u64,
    input: LedgerRow,
    range: Range<u64>,
    /// Size of the input. `None` if the client may only see the record.
    size: Option<u64>,
}

/// Handles `/record/<file>`.
pub(crate) async fn download(
    state: &State,
    arguments: &Arguments,
    asked: &HeaderMap,
) -> Result<Response, Failure> {
    let file = arguments.required("file");
    let (part, by_header) = part(arguments, asked)?;
    let found = find(state, &file, part).await?;
    let tag = tag_of(&found.input, &found.range);
    if fresh::has(asked, &tag) {
        return Ok(fresh::not_modified(&tag));
    }
    let interrupt = Interrupt::new();
    let wanted = Wanted(interrupt.clone());
    let (location, range) = (found.input.location.clone(), found.range.clone());
    let bytes = state
        .asker
        .blocking(move |source| StoredBytes::open(&source.sources(), &location, range, &interrupt))
        .await?
        .map_err(|error| failure(&file, &error))?;
    let mut response = Response::new(stream::body(state.asker.clone(), bytes, wanted, None));
    let (first, end) = (found.range.start, found.range.end);
    let headers = response.headers_mut();
    let media = HeaderValue::from_static(media_type(&found.input.input));
    headers.insert(header::CONTENT_TYPE, media);
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(end - first));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::ETAG, tag);
    let epoch = HeaderValue::from(found.epoch);
    headers.insert(HeaderName::from_static("weft-epoch"), epoch);
    let attachment = HeaderValue::from_static("attachment");
    headers.insert(header::CONTENT_DISPOSITION, attachment);
    if by_header && part != Part::Whole {
        let size = found.size.map_or("*".to_owned(), |size| size.to_string());
        let range = format!("bytes {first}-{}/{size}", end.saturating_sub(1));
        if let Ok(range) = HeaderValue::try_from(range) {
            headers.insert(header::CONTENT_RANGE, range);
        }
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    Ok(response)
}

/// Returns the requested bytes, and whether the `Range` header gave them. Parameters take
/// precedence over it.
fn part(arguments: &Arguments, asked: &HeaderMap) -> Result<(Part, bool), Failure> {
    let given = |name: &str| arguments.text(name).map(|_| arguments.number(name));
    match (given("offset"), given("length")) {
        (Some(offset), None) => Ok((Part::RecordAt(offset), false)),
        (Some(offset), Some(length)) => {
            let last = length.checked_sub(1).and_then(|more| offset.checked_add(more));
            let last = last.ok_or_else(|| {
                Failure::bad_request(
                    "`length` must be 1 or more, and `offset` plus `length` must not overflow",
                )
            })?;
            Ok((Part::Span(offset, last), false))
        }
        (None, Some(_)) => Err(Failure::bad_request("`length` requires `offset`")),
        // `If-Range` names the tag of an earlier response. Tags are per range, so it cannot be
        // matched here, and `Range` is ignored.
        (None, None) if asked.contains_key(header::IF_RANGE) => Ok((Part::Whole, true)),
        (None, None) => {
            let range = asked.get(header::RANGE).and_then(|range| range.to_str().ok());
            Ok((range.and_then(part_of_header).unwrap_or(Part::Whole), true))
        }
    }
}

/// Parses a single range (RFC 9110, 14.1.2). Any other value is ignored.
pub(crate) fn part_of_header(range: &str) -> Option<Part> {
    let (first, last) = range.trim().strip_prefix("bytes=")?.split_once('-')?;
    match (first.trim(), last.trim()) {
        ("", last) => last.parse().ok().filter(|last| *last > 0).map(Part::Last),
        (first, "") => first.parse().ok().map(Part::From),
        (first, last) => {
            let (first, last) = (first.parse().ok()?, last.parse().ok()?);
            (first <= last).then_some(Part::Span(first, last))
        }
    }
}

async fn find(state: &State, file: &str, part: Part) -> Result<Found, Failure> {
    let sees_everything = state.sees_everything();
    let ledger = Ledger {
        input: Some(file.to_owned()),
        limit: LIMIT_MAX,
        ..Ledger::default()
    };
    let answer = state.owner().ask(ledger).await?;
    let mut inputs = answer.body.rows;
    // Exact matches of the whole name come before matches of the last part.
    inputs.sort_by_key(|input| input.input != file);
    let whole = inputs.first().filter(|_| sees_everything);
    if let (Some(input), false) = (whole.filter(|input| is_open(input)), is_record(part))
        && !holds_taken_down(state, input).await?
    {
        let range = range_of(part, input.size)?;
        return Ok(Found {
            epoch: answer.epoch,
            size: Some(input.size),
            range,
            input: input.clone(),
        });
    }
    let offset = match part {
        Part::RecordAt(offset) | Part::Span(offset, _) | Part::From(offset) => offset,
        Part::Whole | Part::Last(_) if sees_everything && inputs.is_empty() => return Err(no_input(file)),
        Part::Whole | Part::Last(_) => return Err(not_whole()),
    };
    inputs.truncate(SAME_NAME_MAX);
    for input in inputs {
        let Some((epoch, record)) = record_in(state, &input, offset).await? else {
            continue;
        };
        let end = match part {
            Part::Span(_, last) if last >= record.end => return Err(beyond(&record)),
            Part::Span(_, last) => last + 1,
            _ => record.end,
        };
        return Ok(Found {
            epoch,
            size: None,
            range: offset..end,
            input,
        });
    }
    Err(Failure::not_found(format!(
        "no record that you may see begins at offset {offset} of {file}; /cdx lists files and offsets"
    )))
}

fn is_record(part: Part) -> bool {
    matches!(part, Part::RecordAt(_))
}

/// Returns whether all bytes of an input may be sent to a client that sees everything.
fn is_open(input: &LedgerRow) -> bool {
    input.taken_down == 0 && matches!(input.state, InputState::Done)
}

/// Returns whether an input contains records that belong to something taken down, which may have
/// been in another file.
async fn holds_taken_down(state: &State, input: &LedgerRow) -> Result<bool, Failure> {
    let rules = state.owner().ask(TakedownRulesQuestion {}).await?.body.rules;
    let mut hasher = DefaultHasher::new();
    (&input.digest, &input.collection, &rules).hash(&mut hasher);
    let asked = hasher.finish();
    if let Some(holds) = state.derived.get(asked) {
        return Ok(holds);
    }
    let interrupt = Interrupt::new();
    let _wanted = Wanted(interrupt.clone());
    let (name, location, collection) = (
        input.input.clone(),
        input.location.clone(),
        input.collection.clone(),
    );
    let looked = state.asker.blocking(move |source| {
        let rules: TakedownRules = serde_json::from_str(&rules).map_err(archive::AskError::internal)?;
        Ok::<_, archive::AskError>(export::holds_taken_down(
            &source.sources(),
            &location,
            (&rules, &collection),
            &interrupt,
        ))
    });
    let holds = looked.await??.map_err(|error| failure(&name, &error))?;
    state.derived.put(asked, holds);
    Ok(holds)
}

/// Results for inputs, by a hash of the input and of the takedown rules at that time.
#[derive(Default)]
pub(crate) struct DerivedKnown(Mutex<HashMap<u64, bool>>);

impl DerivedKnown {
    /// Maximum number of results kept. It is larger than the number of inputs that are requested
    /// repeatedly.
    const KNOWN_MAX: usize = 10_000;

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, asked: u64) -> Option<bool> {
        self.lock().get(&asked).copied()
    }

    fn put(&self, asked: u64, holds: bool) {
        let mut known = self.lock();
        if known.len() >= DerivedKnown::KNOWN_MAX {
            known.clear();
        }
        known.insert(asked, holds);
    }
}

/// Returns the bytes of a part in a file of `size` bytes.
pub(crate) fn range_of(part: Part, size: u64) -> Result<Range<u64>, Failure> {
    let (first, end) = match part {
        Part::Whole => (0, size),
        Part::RecordAt(first) | Part::From(first) => (first, size),
        Part::Span(first, last) => (first, size.min(last.saturating_add(1))),
        Part::Last(bytes) => (size.saturating_sub(bytes), size),
    };
    if first >= end && part != Part::Whole {
        return Err(Failure::new(
            StatusCode::RANGE_NOT_SATISFIABLE,
            Code::Range,
            format!("the file has {size} bytes"),
        ));
    }
    Ok(first..end)
}

/// Returns where the record at an offset of an input ends, if the client may see it.
async fn record_in(
    state: &State,
    input: &LedgerRow,
    offset: u64,
) -> Result<Option<(u64, Range<u64>)>, Failure> {
    let interrupt = Interrupt::new();
    let _wanted = Wanted(interrupt.clone());
    let (input, name) = (input.clone(), input.input.clone());
    let looked = state
        .asker
        .blocking(move |source| look(source, &input, offset, &interrupt))
        .await?;
    match looked {
        Ok(found) => Ok(found),
        Err(Unseen::Shared) => Err(Failure::new(
            StatusCode::CONFLICT,
            Code::NotShown,
            "this record shares a compressed member of its file with others; /record?url= returns it alone",
        )),
        Err(Unseen::Unread(RecordError::Read(ReadError::NoRecord { .. }))) => Ok(None),
        Err(Unseen::Unread(error)) => {
            let failure = failure(&name, &error);
            if state.sees_everything() || failure.is_unavailable() {
                Err(failure)
            } else {
                Ok(None)
            }
        }
        Err(Unseen::Unanswered(error)) => Err(Failure::from(error)),
    }
}

/// Reasons why the record at an offset is not sent.
enum Unseen {
    Shared,
    Unread(RecordError),
    Unanswered(archive::AskError),
}

impl From<RecordError> for Unseen {
    fn from(error: RecordError) -> Unseen {
        Unseen::Unread(error)
    }
}

/// Finds the range of the record at an offset, if the client may see its capture.
fn look(
    source: &dyn Answers,
    input: &LedgerRow,
    offset: u64,
    interrupt: &Interrupt,
) -> Result<Option<(u64, Range<u64>)>, Unseen> {
    let sources = source.sources();
    let Some(url_key) = export::url_key_at(&sources, &input.location, offset, interrupt)? else {
        return Ok(None);
    };
    let question = Record {
        url: url_key,
        at: None,
        capture: Some(format!("{offset},{}", input.input)),
        fuzzy: false,
    };
    let answer = match source.ask(&question.into()) {
        Ok(answer) => answer.to::<Record>().map_err(Unseen::Unanswered)?,
        Err(error) if error.code == archive::ErrorCode::NotFound => return Ok(None),
        Err(error) if error.code == archive::ErrorCode::BadRequest => return Ok(None),
        Err(error) => return Err(Unseen::Unanswered(error)),
    };
    if answer.body.location != input.location {
        return Ok(None);
    }
    match export::stored_range(&sources, &answer.body, interrupt)? {
        Some(range) => Ok(Some((answer.epoch, range))),
        None => Err(Unseen::Shared),
    }
}

fn no_input(file: &str) -> Failure {
    Failure::not_found(format!(
        "no input is named {file}; /api/v1/ledger lists the inputs"
    ))
}

fn not_whole() -> Failure {
    Failure::forbidden(
        "this file can only be read record by record (offset and length, as listed by /cdx): some of the \
         archive is hidden from you, something in the file was taken down, or it is not completely loaded",
    )
}

fn beyond(record: &Range<u64>) -> Failure {
    let length = record.end - record.start;
    Failure::forbidden(format!(
        "the record at offset {} has {length} bytes; request what follows by its own offset and length",
        record.start
    ))
}

/// Returns the failure for bytes that cannot be read.
fn failure(file: &str, error: &RecordError) -> Failure {
    let capture = CdxRow {
        filename: file.to_owned(),
        ..CdxRow::default()
    };
    no_bytes(&capture, error)
}

/// Returns the entity tag of a range of an input, whose digest identifies its bytes.
fn tag_of(input: &LedgerRow, range: &Range<u64>) -> HeaderValue {
    let mut hasher = DefaultHasher::new();
    (&input.digest, &input.input, range).hash(&mut hasher);
    fresh::tag(hasher.finish(), false)
}

/// Returns the media type of a file of records, by its name. Each of these types also prevents
/// compression of the response.
fn media_type(name: &str) -> &'static str {
    let name = name.to_ascii_lowercase();
    let of = |extension: &str| name.trim_end_matches(".open").ends_with(extension);
    match () {
        () if of(".gz") => "application/gzip",
        () if of(".zst") => "application/zstd",
        () if of(".lz4") => "application/x-lz4",
        () if of(".arc") => "application/x-internet-archive",
        () => "application/warc",
    }
}

impl Maker for StoredBytes {
    fn next(&mut self) -> io::Result<Option<Bytes>> {
        let mut piece = vec![0; PIECE_BYTES];
        let read = self.read(&mut piece)?;
        piece.truncate(read);
        Ok((read > 0).then(|| Bytes::from(piece)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_are_those_of_records() {
        for name in [
            "a.warc",
            "a.warc.gz",
            "a.warc.gz.open",
            "a.WARC.ZST",
            "a.warc.lz4",
            "a.arc",
            "a.arc.gz",
            "a",
        ] {
            let media = media_type(name);
            assert!(
                warc::record_media_types().any(|known| known == media),
                "{name}: {media}"
            );
        }
    }

    #[test]
    fn ranges_are_those_of_http() {
        for (range, expected) in [
            ("bytes=0-9", Some(Part::Span(0, 9))),
            ("bytes=5-", Some(Part::From(5))),
            ("bytes=-7", Some(Part::Last(7))),
            ("bytes=-0", None),
            ("bytes=9-5", None),
            ("bytes=0-1,4-5", None),
            ("lines=1-2", None),
            ("bytes=18446744073709551616-", None),
        ] {
            assert_eq!(part_of_header(range), expected, "{range}");
        }
        for (part, expected) in [
            (Part::Whole, Some(0..10)),
            (Part::Span(2, 3), Some(2..4)),
            (Part::Span(2, u64::MAX), Some(2..10)),
            (Part::From(9), Some(9..10)),
            (Part::From(10), None),
            (Part::Last(3), Some(7..10)),
            (Part::Last(30), Some(0..10)),
        ] {
            assert_eq!(range_of(part, 10).ok(), expected, "{part:?}");
        }
    }
}
