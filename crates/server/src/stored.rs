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
//! - If several inputs have the name, the bytes are of the input that has the record. Bytes are
//!   never sent of an input that was only guessed.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read as _};
use std::ops::Range;

use archive::question::{CdxRow, InputState, Ledger, LedgerRow, Record, TakedownRulesQuestion};
use archive::{Interrupt, RecordError, TakedownRules};
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use export::StoredBytes;
use warc::ReadError;

use crate::answers::Answers;
use crate::arguments::{Arguments, LIMIT_MAX};
use crate::entity_tags;
use crate::failure::{Code, Failure};
use crate::ranges::{ByteRange, parse_range, resolve_range};
use crate::record_failure::record_failure;
use crate::state::State;
use crate::stream::{self, BodySource, CancelOnDrop};

/// Number of bytes read at once.
const PIECE_BYTES: usize = 256 * 1024;
/// Maximum number of inputs with one name that are searched for a record.
const SAME_NAME_MAX: usize = 256;

/// The bytes of an input that are sent.
struct InputRange {
    epoch: u64,
    input: LedgerRow,
    range: Range<u64>,
    /// Size of the input. `None` if the client may only see the record.
    size: Option<u64>,
}

/// A record of an input, which the client may see.
struct StoredRecord {
    epoch: u64,
    input: LedgerRow,
    range: Range<u64>,
    capture: CdxRow,
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
    if entity_tags::matches(asked, &tag) {
        return Ok(entity_tags::not_modified(&tag));
    }
    let interrupt = Interrupt::new();
    let cancel = CancelOnDrop(interrupt.clone());
    let (location, range) = (found.input.location.clone(), found.range.clone());
    let bytes = state
        .archive
        .blocking(move |source| StoredBytes::open(&source.sources(), &location, range, &interrupt))
        .await?
        .map_err(|error| failure(&file, &error))?;
    let mut response = Response::new(stream::body(state.archive.clone(), bytes, cancel, None));
    let (first, end) = (found.range.start, found.range.end);
    let headers = response.headers_mut();
    let media = HeaderValue::from_static(warc::media_type_of_name(&found.input.input));
    headers.insert(header::CONTENT_TYPE, media);
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(end - first));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::ETAG, tag);
    let epoch = HeaderValue::from(found.epoch);
    headers.insert(HeaderName::from_static("weft-epoch"), epoch);
    let attachment = HeaderValue::from_static("attachment");
    headers.insert(header::CONTENT_DISPOSITION, attachment);
    if by_header && part != ByteRange::Whole {
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
fn part(arguments: &Arguments, asked: &HeaderMap) -> Result<(ByteRange, bool), Failure> {
    let given = |name: &str| arguments.text(name).map(|_| arguments.number(name));
    match (given("offset"), given("length")) {
        (Some(offset), None) => Ok((ByteRange::RecordAt(offset), false)),
        (Some(offset), Some(length)) => {
            let last = length.checked_sub(1).and_then(|more| offset.checked_add(more));
            let last = last.ok_or_else(|| {
                Failure::bad_request(
                    "`length` must be 1 or more, and `offset` plus `length` must not overflow",
                )
            })?;
            Ok((ByteRange::Span(offset, last), false))
        }
        (None, Some(_)) => Err(Failure::bad_request("`length` requires `offset`")),
        // `If-Range` names the tag of an earlier response. Tags are per range, so it cannot be
        // matched here, and `Range` is ignored.
        (None, None) if asked.contains_key(header::IF_RANGE) => Ok((ByteRange::Whole, true)),
        (None, None) => {
            let range = asked.get(header::RANGE).and_then(|range| range.to_str().ok());
            Ok((range.and_then(parse_range).unwrap_or(ByteRange::Whole), true))
        }
    }
}

async fn find(state: &State, file: &str, part: ByteRange) -> Result<InputRange, Failure> {
    let sees_everything = state.sees_everything();
    let (epoch, mut inputs) = inputs_named(state, file).await?;
    let only = only_input(&inputs, file, part).filter(|_| sees_everything);
    if let (Some(input), false) = (only.filter(|input| is_open(input)), is_record(part))
        && !holds_taken_down(state, input).await?
    {
        let range = resolve_range(part, input.size)?;
        return Ok(InputRange {
            epoch,
            size: Some(input.size),
            range,
            input: input.clone(),
        });
    }
    let offset = match part {
        ByteRange::RecordAt(offset) | ByteRange::Span(offset, _) | ByteRange::From(offset) => offset,
        ByteRange::Whole | ByteRange::Last(_) if sees_everything && inputs.is_empty() => {
            return Err(no_input(file));
        }
        ByteRange::Whole | ByteRange::Last(_) if sees_everything && only.is_none() => {
            return Err(several_inputs(file));
        }
        ByteRange::Whole | ByteRange::Last(_) => return Err(whole_file_forbidden()),
    };
    inputs.truncate(SAME_NAME_MAX);
    let (mut records, mut refused) = (Vec::new(), None);
    for input in inputs {
        match record_in(state, &input, offset).await {
            Ok(record) => records.extend(record),
            // Another input of the name may have the record.
            Err(failure) => refused = refused.or(Some(failure)),
        }
    }
    match (chosen(records, part, file)?, refused) {
        // The input that cannot be read may be the one with the requested record.
        (Some(record), Some(failure)) if !is_exact(part, &record) => Err(failure),
        (Some(record), _) => Ok(InputRange {
            epoch: record.epoch,
            size: None,
            range: offset..end_of(part, &record),
            input: record.input,
        }),
        (None, Some(failure)) => Err(failure),
        (None, None) => Err(Failure::not_found(format!(
            "no record that you may see begins at offset {offset} of {file}; /cdx lists files and offsets"
        ))),
    }
}

/// Returns the inputs with this name, or whose name ends in it: exact matches first. Inputs without
/// a record are left out if another input has records.
async fn inputs_named(state: &State, file: &str) -> Result<(u64, Vec<LedgerRow>), Failure> {
    let ledger = Ledger {
        input: Some(file.to_owned()),
        limit: LIMIT_MAX,
        ..Ledger::default()
    };
    let answer = state.owner().ask(ledger).await?;
    let mut inputs = answer.body.rows;
    if inputs.iter().any(|input| input.records > 0) {
        inputs.retain(|input| input.records > 0);
    }
    inputs.sort_by_key(|input| input.input != file);
    Ok((answer.epoch, inputs))
}

/// Returns the input that the name denotes. Of several inputs, the whole name denotes one only in a
/// request for the whole file: CDX lists the last part of names, which may be the whole name of
/// another input.
fn only_input<'i>(inputs: &'i [LedgerRow], file: &str, part: ByteRange) -> Option<&'i LedgerRow> {
    let is_for_file = matches!(part, ByteRange::Whole | ByteRange::Last(_));
    let mut exact = inputs.iter().filter(|input| is_for_file && input.input == file);
    match (inputs, exact.next(), exact.next()) {
        ([input], ..) => Some(input),
        (_, Some(input), None) => Some(input),
        _ => None,
    }
}

/// Returns the requested record among those that begin at the offset, at most one of each input.
fn chosen(
    mut records: Vec<StoredRecord>,
    part: ByteRange,
    file: &str,
) -> Result<Option<StoredRecord>, Failure> {
    if let (ByteRange::Span(_, last), Some(record)) = (part, records.first()) {
        let beyond = beyond_record(&record.range);
        let is_any_exact = records.iter().any(|record| is_exact(part, record));
        records.retain(|record| is_exact(part, record) || !is_any_exact && last < record.range.end);
        if records.is_empty() {
            return Err(beyond);
        }
    }
    let mut records = records.into_iter();
    let Some(first) = records.next() else {
        return Ok(None);
    };
    // Copies of a record have the same content.
    if records.all(|other| is_same_record(&first, &other)) {
        Ok(Some(first))
    } else {
        Err(several_inputs(file))
    }
}

/// Returns whether a range ends with a record. The length in CDX is that of the record.
fn is_exact(part: ByteRange, record: &StoredRecord) -> bool {
    matches!(part, ByteRange::Span(_, last) if record.range.end.checked_sub(1) == Some(last))
}

fn is_same_record(one: &StoredRecord, other: &StoredRecord) -> bool {
    let content = |record: &StoredRecord| {
        let capture = &record.capture;
        let (url, digest) = (capture.url.clone(), capture.digest.clone());
        (url, capture.timestamp.clone(), digest, record.range.clone())
    };
    content(one) == content(other)
}

/// Returns where the requested bytes of a record end.
fn end_of(part: ByteRange, record: &StoredRecord) -> u64 {
    match part {
        ByteRange::Span(_, last) => record.range.end.min(last.saturating_add(1)),
        _ => record.range.end,
    }
}

fn is_record(part: ByteRange) -> bool {
    matches!(part, ByteRange::RecordAt(_))
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
    let key = hasher.finish();
    if let Some(holds) = state.takedown_scans.get(key) {
        return Ok(holds);
    }
    let interrupt = Interrupt::new();
    let _cancel = CancelOnDrop(interrupt.clone());
    let (name, location, collection) = (
        input.input.clone(),
        input.location.clone(),
        input.collection.clone(),
    );
    let looked = state.archive.blocking(move |source| {
        let rules: TakedownRules = serde_json::from_str(&rules).map_err(archive::AskError::internal)?;
        Ok::<_, archive::AskError>(export::has_taken_down_capture(
            &source.sources(),
            &location,
            (&rules, &collection),
            &interrupt,
        ))
    });
    let holds = looked.await??.map_err(|error| failure(&name, &error))?;
    state.takedown_scans.put(key, holds);
    Ok(holds)
}

/// Returns the record at an offset of an input, if the client may see it.
async fn record_in(state: &State, input: &LedgerRow, offset: u64) -> Result<Option<StoredRecord>, Failure> {
    let interrupt = Interrupt::new();
    let _cancel = CancelOnDrop(interrupt.clone());
    let (input, name) = (input.clone(), input.input.clone());
    let looked = state
        .archive
        .blocking(move |source| find_record(source, &input, offset, &interrupt))
        .await?;
    match looked {
        Ok(found) => Ok(found),
        Err(RecordRefusal::Shared) => Err(Failure::new(
            StatusCode::CONFLICT,
            Code::NotShown,
            "this record shares a compressed member of its file with others; /record?url= returns it alone",
        )),
        Err(RecordRefusal::Unreadable(RecordError::Read(ReadError::NoRecord { .. }))) => Ok(None),
        Err(RecordRefusal::Unreadable(error)) => {
            let failure = failure(&name, &error);
            if state.sees_everything() || failure.is_unavailable() {
                Err(failure)
            } else {
                Ok(None)
            }
        }
        Err(RecordRefusal::Archive(error)) => Err(Failure::from(error)),
    }
}

/// Reasons why the record at an offset is not sent.
enum RecordRefusal {
    Shared,
    Unreadable(RecordError),
    Archive(archive::AskError),
}

impl From<RecordError> for RecordRefusal {
    fn from(error: RecordError) -> RecordRefusal {
        RecordRefusal::Unreadable(error)
    }
}

/// Finds the record at an offset, if the client may see its capture.
fn find_record(
    source: &dyn Answers,
    input: &LedgerRow,
    offset: u64,
    interrupt: &Interrupt,
) -> Result<Option<StoredRecord>, RecordRefusal> {
    let sources = source.sources();
    let Some(url_key) = export::url_key_at(&sources, &input.location, offset, interrupt)? else {
        return Ok(None);
    };
    let question = Record {
        url: url_key,
        at: None,
        capture: Some(format!("{offset},{}", input.input)),
        fuzzy: false,
        with_content: false,
    };
    let answer = match source.ask(&question.into()) {
        Ok(answer) => answer.to::<Record>().map_err(RecordRefusal::Archive)?,
        Err(error) if error.code == archive::ErrorCode::NotFound => return Ok(None),
        Err(error) if error.code == archive::ErrorCode::BadRequest => return Ok(None),
        Err(error) => return Err(RecordRefusal::Archive(error)),
    };
    if answer.body.location != input.location {
        return Ok(None);
    }
    match export::stored_range(&sources, &answer.body, interrupt)? {
        Some(range) => Ok(Some(StoredRecord {
            epoch: answer.epoch,
            input: input.clone(),
            range,
            capture: answer.body.capture,
        })),
        None => Err(RecordRefusal::Shared),
    }
}

fn no_input(file: &str) -> Failure {
    Failure::not_found(format!(
        "no input is named {file}; /api/v1/ledger lists the inputs"
    ))
}

fn several_inputs(file: &str) -> Failure {
    Failure::new(
        StatusCode::CONFLICT,
        Code::Conflict,
        format!(
            "several inputs are named {file}: give the whole name or the digest of one, as /api/v1/ledger \
             lists them, or `offset` and `length` of a record that only one of them has"
        ),
    )
}

fn whole_file_forbidden() -> Failure {
    Failure::forbidden(
        "this file can only be read record by record (offset and length, as listed by /cdx): some of the \
         archive is hidden from you, something in the file was taken down, or it is not completely loaded",
    )
}

fn beyond_record(record: &Range<u64>) -> Failure {
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
    record_failure(&capture, error)
}

/// Returns the entity tag of a range of an input, whose digest identifies its bytes.
fn tag_of(input: &LedgerRow, range: &Range<u64>) -> HeaderValue {
    let mut hasher = DefaultHasher::new();
    (&input.digest, &input.input, range).hash(&mut hasher);
    entity_tags::tag(hasher.finish(), false)
}

impl BodySource for StoredBytes {
    fn next(&mut self) -> io::Result<Option<Bytes>> {
        let mut piece = vec![0; PIECE_BYTES];
        let read = self.read(&mut piece)?;
        piece.truncate(read);
        Ok((read > 0).then(|| Bytes::from(piece)))
    }
}
