//! `/record/<file>`: bytes of an input as they are stored, for programs that read records by offset and length.
//!
//! Invariants:
//! - whoever does not see the whole archive gets bytes of records that they see, and of nothing else;
//! - so does everybody from an input of which something was taken down, or that is not read to its end: what is behind may be
//!   something that is taken down;
//! - what crawlers derive from a page that was taken down is not sent, in whichever input it is;
//! - to whoever does not see everything, a file that is not there and one of which they see nothing are the same.

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

/// Bytes read at once.
const PIECE_BYTES: usize = 256 * 1024;
/// Most inputs of one name that a record is looked for in.
const SAME_NAME_MAX: usize = 16;

/// Which bytes are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Whole,
    /// The record that begins here.
    RecordAt(u64),
    /// From the first to the last, both of them.
    Span(u64, u64),
    /// From this one on.
    From(u64),
    /// So many at the end.
    Last(u64),
}

/// Which bytes of an input are sent.
struct Found {
    epoch: u64,
    input: LedgerRow,
    range: Range<u64>,
    /// Size of the input; `None` for whoever is told of the record alone.
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

/// Which bytes are asked for, and whether the header says it. Parameters take precedence over it.
fn part(arguments: &Arguments, asked: &HeaderMap) -> Result<(Part, bool), Failure> {
    let given = |name: &str| arguments.text(name).map(|_| arguments.number(name));
    match (given("offset"), given("length")) {
        (Some(offset), None) => Ok((Part::RecordAt(offset), false)),
        (Some(offset), Some(length)) => {
            let last = length.checked_sub(1).and_then(|more| offset.checked_add(more));
            let last = last.ok_or_else(|| {
                Failure::bad_request("length is 1 or more, and offset and length are a place in a file")
            })?;
            Ok((Part::Span(offset, last), false))
        }
        (None, Some(_)) => Err(Failure::bad_request("length is there without offset")),
        // `If-Range` names bytes of an earlier answer; without a tag of the whole file none of them are known here.
        (None, None) if asked.contains_key(header::IF_RANGE) => Ok((Part::Whole, true)),
        (None, None) => {
            let range = asked.get(header::RANGE).and_then(|range| range.to_str().ok());
            Ok((range.and_then(part_of_header).unwrap_or(Part::Whole), true))
        }
    }
}

/// One range of RFC 9110, 14.1.2; anything else is as if the header was not there.
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
    // Whose whole name it is comes before those whose last part it is.
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
        "no record that is shown to you begins at offset {offset} of {file}; /cdx names files and offsets"
    )))
}

fn is_record(part: Part) -> bool {
    matches!(part, Part::RecordAt(_))
}

/// Whether all bytes of an input may be sent to whoever sees everything.
fn is_open(input: &LedgerRow) -> bool {
    input.taken_down == 0 && matches!(input.state, InputState::Done)
}

/// Whether an input that is open has something in it that belongs to what was taken down, in whichever file that was.
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

/// What was found of inputs, by hashes of the input and of what was taken down then.
#[derive(Default)]
pub(crate) struct DerivedKnown(Mutex<HashMap<u64, bool>>);

impl DerivedKnown {
    /// More inputs than are asked for again and again.
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

/// The bytes of a part in a file of `size` bytes.
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

/// Where the record ends that begins at an offset of an input, if who asks may see it.
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
            "this record shares a compressed part of its file with others: /record?url= gives it alone",
        )),
        Err(Unseen::Unread(RecordError::Read(ReadError::NoRecord { .. }))) => Ok(None),
        Err(Unseen::Unread(error)) => {
            let failure = failure(&name, &error);
            match state.sees_everything() || failure.is_unavailable() {
                true => Err(failure),
                false => Ok(None),
            }
        }
        Err(Unseen::Unanswered(error)) => Err(Failure::from(error)),
    }
}

/// Why the record at an offset is not sent.
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

/// Asks as who sent the request for the capture that the bytes at an offset are of.
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
        "this file is sent record by record (offset and length, as /cdx gives them): some of the archive is hidden from you, \
         something in the file was taken down, or it is not loaded to its end",
    )
}

fn beyond(record: &Range<u64>) -> Failure {
    let length = record.end - record.start;
    Failure::forbidden(format!(
        "the record at offset {} has {length} bytes, and what follows it is sent by its own offset and length",
        record.start
    ))
}

/// The failure for a client whose bytes cannot be read.
fn failure(file: &str, error: &RecordError) -> Failure {
    let capture = CdxRow {
        filename: file.to_owned(),
        ..CdxRow::default()
    };
    no_bytes(&capture, error)
}

/// The entity tag of a range of an input, whose digest names its bytes.
fn tag_of(input: &LedgerRow, range: &Range<u64>) -> HeaderValue {
    let mut hasher = DefaultHasher::new();
    (&input.digest, &input.input, range).hash(&mut hasher);
    fresh::tag(hasher.finish(), false)
}

/// The media type of a file of records by its name. Any of them keeps the bytes from being compressed on their way.
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
