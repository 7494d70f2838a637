//! Partial content: captures with status 206, of which each has a range of the whole (RFC 9110,
//! section 14). Players request films in such parts, and crawlers store them.
//!
//! A request gets the bytes that it asks for, as far as the nearest capture has them, or several
//! captures together. Only parts of the same whole are put together: its length is the same, and
//! its `ETag` or `Last-Modified` where both name one.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;

use archive::question::{CdxQuestion, CdxRow, RecordBody};
use archive::{Interrupt, RecordError};
use axum::body::Bytes;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use cdx::{MatchType, Order};
use extract::PayloadReader;

use super::body::PlainBody;
use super::content::{payload_of, set_range};
use super::headers::{field, set};
use super::policy::WithoutShim;
use super::request::CaptureRequest;
use super::{find, posted};
use crate::answers::Answers;
use crate::failure::{Code, Failure};
use crate::ranges::{parse_range, resolve_range};
use crate::record_failure::record_failure;
use crate::state::State;
use crate::stream::{self, BodySource, CancelOnDrop};

/// Header of a response that was put together from parts, or has only a part.
pub(super) const PART: HeaderName = HeaderName::from_static("weft-part");

/// Maximum number of captures near the time that are examined for parts.
const NEAR_MAX: usize = 50;

/// The range of the whole that a capture has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PartRange {
    first: u64,
    /// The byte after the last one.
    end: u64,
    /// Length of the whole. `None` if the server did not know it.
    whole: Option<u64>,
}

impl PartRange {
    /// Returns the range of a payload. Returns `None` if it is no part, does not say which, or is
    /// encoded: then the range is one of the encoded bytes.
    pub(super) fn of(payload: &PayloadReader) -> Option<PartRange> {
        if payload.status() != StatusCode::PARTIAL_CONTENT.as_u16() || payload.is_encoded() {
            return None;
        }
        let mut part = PartRange::parse(field(payload.fields(), "content-range")?)?;
        if let Some(length) = payload.length() {
            part.end = part.end.min(part.first.checked_add(length)?);
        }
        (part.first < part.end).then_some(part)
    }

    fn parse(content_range: &str) -> Option<PartRange> {
        let (unit, range) = content_range
            .trim()
            .split_once(|c: char| c.is_ascii_whitespace() || c == '=')?;
        let (span, whole) = range.split_once('/')?;
        let (first, last) = span.split_once('-')?;
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let (first, last, whole) = (number(first)?, number(last)?, number(whole));
        let is_valid =
            unit.eq_ignore_ascii_case("bytes") && first <= last && whole.is_none_or(|whole| last < whole);
        is_valid.then_some(PartRange {
            first,
            end: last.checked_add(1)?,
            whole,
        })
    }

    /// Returns whether it has everything.
    pub(super) fn is_whole(&self) -> bool {
        self.first == 0 && self.whole == Some(self.end)
    }

    /// Returns it in the form of `Content-Range`.
    pub(super) fn text(&self) -> String {
        text(&(self.first..self.end), self.whole)
    }

    fn contains(&self, byte: u64) -> bool {
        (self.first..self.end).contains(&byte)
    }
}

fn text(bytes: &Range<u64>, whole: Option<u64>) -> String {
    let whole = whole.map_or_else(|| "*".to_owned(), |whole| whole.to_string());
    format!("bytes {}-{}/{whole}", bytes.start, bytes.end.saturating_sub(1))
}

/// A capture with a part.
struct Part {
    range: PartRange,
    record: RecordBody,
}

/// The bytes that answer a request, and the captures that have them.
pub(super) struct HeldBytes {
    /// In order, without gaps. Empty if no capture has the first byte.
    segments: Vec<(RecordBody, PartRange, Range<u64>)>,
    bytes: Range<u64>,
    whole: Option<u64>,
}

impl HeldBytes {
    /// Finds the bytes of `range` (all if it is absent or not valid), beginning with those of
    /// `record`. Returns `None` if that is no part. May block.
    ///
    /// # Errors
    /// If `record` cannot be read. Other captures that cannot be read are skipped.
    pub(super) fn find(
        source: &dyn Answers,
        record: &RecordBody,
        range: Option<&str>,
        interrupt: &Interrupt,
    ) -> Result<Option<HeldBytes>, RecordError> {
        let payload = payload_of(source, record, interrupt, 0)?;
        let Some(own) = PartRange::of(&payload) else {
            return Ok(None);
        };
        let size = own.whole.unwrap_or(own.end);
        let asked = range.and_then(parse_range);
        let wanted = match asked.map(|part| resolve_range(part, size)) {
            None => 0..size,
            Some(Ok(wanted)) => wanted,
            Some(Err(_)) => size..size,
        };
        let mut parts = vec![Part {
            range: own,
            record: record.clone(),
        }];
        let is_enough = wanted.is_empty() || own.contains(wanted.start) && wanted.end <= own.end;
        if !is_enough && own.whole.is_some() {
            parts.extend(others(source, record, (own, &payload), interrupt));
        }
        let mut held = HeldBytes::joined(&parts, &wanted, own.whole);
        if held.segments.is_empty() && asked.is_none() {
            held = HeldBytes::joined(&parts, &(own.first..own.end), own.whole);
        }
        Ok(Some(held))
    }

    /// Joins parts from the first wanted byte on, up to the last one or to a gap. The first parts
    /// are preferred.
    fn joined(parts: &[Part], wanted: &Range<u64>, whole: Option<u64>) -> HeldBytes {
        let mut segments = Vec::new();
        let mut next = wanted.start;
        while next < wanted.end
            && let Some(part) = parts.iter().find(|part| part.range.contains(next))
        {
            let end = part.range.end.min(wanted.end);
            segments.push((part.record.clone(), part.range, next..end));
            next = end;
        }
        HeldBytes {
            segments,
            bytes: wanted.start..next,
            whole,
        }
    }

    /// Returns which part it is; `None` if it is the whole.
    pub(super) fn part(&self) -> Option<String> {
        let is_whole = self.bytes.start == 0 && self.whole == Some(self.bytes.end);
        (!is_whole).then(|| text(&self.bytes, self.whole))
    }

    /// Opens the captures. May block.
    fn open(&self, source: &dyn Answers, interrupt: &Interrupt) -> Result<JoinedBody, RecordError> {
        let mut parts = VecDeque::new();
        for (record, part, bytes) in &self.segments {
            let offset = bytes.start - part.first;
            let payload = payload_of(source, record, interrupt, offset)?;
            parts.push_back(PlainBody::part(payload, offset, bytes.end - bytes.start, None));
        }
        Ok(JoinedBody { parts })
    }
}

/// Returns the other captured parts of the same whole, the nearest in time first.
fn others(
    source: &dyn Answers,
    record: &RecordBody,
    (own, payload): (PartRange, &PayloadReader),
    interrupt: &Interrupt,
) -> Vec<Part> {
    let question = CdxQuestion {
        url: record.capture.url.clone(),
        match_type: MatchType::Exact,
        order: Order::Closest(record.capture.timestamp.clone()),
        limit: NEAR_MAX,
        records_only: true,
        ..CdxQuestion::default()
    };
    let answer = source
        .ask(&question.into())
        .and_then(|answer| answer.to::<CdxQuestion>());
    let rows: Vec<CdxRow> = answer.map(|answer| answer.body.rows).unwrap_or_default();
    let is_part = |row: &&CdxRow| {
        let is_own = (row.offset, &row.filename) == (record.capture.offset, &record.capture.filename);
        row.status == StatusCode::PARTIAL_CONTENT.as_u16()
            && matches!(row.method.as_str(), "" | "GET")
            && find::can_replay(row.kind)
            && !is_own
    };
    let part_of = |row: &CdxRow| {
        let record = posted::record_of(source, row)?;
        let other = payload_of(source, &record, interrupt, 0).ok()?;
        let range = PartRange::of(&other).filter(|range| range.whole == own.whole)?;
        is_same_version(payload, &other).then_some(Part { range, record })
    };
    rows.iter().filter(is_part).filter_map(part_of).collect()
}

fn is_same_version(a: &PayloadReader, b: &PayloadReader) -> bool {
    let is_same = |name: &str| match (field(a.fields(), name), field(b.fields(), name)) {
        (Some(a), Some(b)) => Some(a == b),
        _ => None,
    };
    is_same("etag")
        .or_else(|| is_same("last-modified"))
        .unwrap_or(true)
}

/// The bytes of several captures, one after the other.
struct JoinedBody {
    parts: VecDeque<PlainBody>,
}

impl BodySource for JoinedBody {
    fn next(&mut self) -> io::Result<Option<Bytes>> {
        while let Some(part) = self.parts.front_mut() {
            if let Some(piece) = part.next()? {
                return Ok(Some(piece));
            }
            if !part.is_complete() {
                return Err(io::Error::other("a part is shorter than its header says"));
            }
            self.parts.pop_front();
        }
        Ok(None)
    }
}

/// Responds with the bytes that were requested, as far as captures have them.
pub(super) async fn answer(
    state: &State,
    request: &CaptureRequest<'_>,
    content: &RecordBody,
) -> Result<Response, Failure> {
    let cancel = CancelOnDrop::new();
    let (record, interrupt) = (content.clone(), cancel.0.clone());
    let range = request.range().filter(|range| parse_range(range).is_some());
    let asked = range.map(str::to_owned);
    let opened = state.archive.blocking(move |source| -> Result<_, RecordError> {
        let held = HeldBytes::find(source, &record, asked.as_deref(), &interrupt)?;
        let Some(held) = held else { return Ok(None) };
        let body = held.open(source, &interrupt)?;
        Ok(Some((held, body)))
    });
    let opened = opened
        .await?
        .map_err(|error| record_failure(&content.capture, &error))?;
    let Some((held, body)) = opened.filter(|(held, _)| !held.segments.is_empty()) else {
        return Ok(not_held());
    };
    let mut response = Response::new(stream::body(state.archive.clone(), body, cancel, None));
    let (bytes, whole) = (&held.bytes, held.whole);
    if range.is_some() {
        set_range(&mut response, (bytes.start, bytes.end - 1), whole);
    } else {
        let length = bytes.end - bytes.start;
        set(&mut response, header::CONTENT_LENGTH, &length.to_string());
        let joined = (held.segments.len() > 1).then(|| "joined".to_owned());
        if let Some(part) = held.part().or(joined) {
            set(&mut response, PART, &part);
        }
    }
    set(&mut response, header::ACCEPT_RANGES, "bytes");
    response.extensions_mut().insert(WithoutShim);
    Ok(response)
}

/// Returns the response to a range of which no capture has the first byte.
fn not_held() -> Response {
    let status = StatusCode::RANGE_NOT_SATISFIABLE;
    Failure::new(status, Code::Range, "these bytes were not captured").into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read() {
        for (content_range, expected) in [
            ("bytes 0-9/10", Some((0, 10, Some(10)))),
            ("Bytes=5-9/*", Some((5, 10, None))),
            ("bytes 5-10/10", None),
            ("bytes 9-5/10", None),
            ("bytes */10", None),
            ("items 0-9/10", None),
            ("bytes 0-18446744073709551615/*", None),
            ("", None),
        ] {
            let part = PartRange::parse(content_range);
            let part = part.map(|part| (part.first, part.end, part.whole));
            assert_eq!(part, expected, "{content_range}");
        }
    }

    #[test]
    fn parts_are_joined_up_to_a_gap() {
        let part = |first, end| Part {
            range: PartRange {
                first,
                end,
                whole: Some(100),
            },
            record: RecordBody::default(),
        };
        let parts = [part(0, 30), part(20, 50), part(60, 100)];
        let expected: [(_, &[(u64, u64)], u64); 5] = [
            (0..100, &[(0, 30), (30, 50)], 50),
            (10..20, &[(10, 20)], 20),
            (25..70, &[(25, 30), (30, 50)], 50),
            (50..70, &[], 50),
            (99..100, &[(99, 100)], 100),
        ];
        for (wanted, segments, end) in expected {
            let held = HeldBytes::joined(&parts, &wanted, Some(100));
            let found: Vec<_> = held
                .segments
                .iter()
                .map(|(_, _, bytes)| (bytes.start, bytes.end))
                .collect();
            assert_eq!((&*found, held.bytes), (segments, wanted.start..end), "{wanted:?}");
        }
    }
}
