//! Captures by URL, prefix, host or domain, in the order of keys and times.

use extract::CaptureKind;
use urlkey::url_ranges;
use weave::{CaptureRow, KeyRange, Snapshot};

use super::{clamp, cursor, key, time};
use crate::AskError;
use crate::question::{Body, CdxQuestion, CdxRow, MatchType};

/// Captures looked at for one answer: a filter that fits few of very many still ends in time, with a cursor.
const LOOKED_AT_MAX: usize = 200_000;

/// Place in a list of ranges: which range, and the cursor within it.
type Place = (usize, Vec<u8>);

pub(super) fn cdx(snapshot: &Snapshot, question: &CdxQuestion) -> Result<Body, AskError> {
    let limit = clamp(question.limit);
    let filter = Filter::new(question)?;
    let ranges = ranges(&question.url, question.match_type)?;
    let (first, mut after) = match cursor::decode::<Place>(question.after.as_deref())? {
        Some((range, within)) => (range, Some(within)),
        None => (0, None),
    };
    let mut rows = Vec::new();
    let mut looked_at = 0;
    for (index, range) in ranges.into_iter().enumerate().skip(first) {
        let mut captures = snapshot.captures(range, after.take().as_deref());
        loop {
            let before = captures.cursor().to_vec();
            let Some(capture) = captures.next() else { break };
            let capture = capture?;
            let fits = filter.fits(&capture);
            if fits && rows.len() == limit {
                return Ok(Body::Cdx {
                    rows,
                    next: Some(place(index, before)),
                });
            }
            if fits {
                rows.push(row(capture));
            }
            looked_at += 1;
            if looked_at >= LOOKED_AT_MAX {
                return Ok(Body::Cdx {
                    rows,
                    next: Some(place(index, captures.cursor().to_vec())),
                });
            }
        }
    }
    Ok(Body::Cdx { rows, next: None })
}

fn place(range: usize, within: Vec<u8>) -> String {
    cursor::encode(&(range, within))
}

struct Filter<'q> {
    from: String,
    to: String,
    collection: Option<&'q str>,
}

impl<'q> Filter<'q> {
    fn new(question: &'q CdxQuestion) -> Result<Filter<'q>, AskError> {
        let bound = |text: &Option<String>, default: &str| match text {
            Some(text) => Ok(time::bounds(time::check(text)?)),
            None => Ok::<_, AskError>((default.to_owned(), default.to_owned())),
        };
        Ok(Filter {
            from: bound(&question.from, "")?.0,
            // Greater than any time.
            to: bound(&question.to, ":")?.1,
            collection: question.collection.as_deref(),
        })
    }

    fn fits(&self, capture: &CaptureRow) -> bool {
        let digits = time::digits(capture.fetch_time_ms);
        self.from <= digits
            && digits <= self.to
            && self
                .collection
                .is_none_or(|collection| collection == capture.collection)
    }
}

/// Ascending and disjoint, so that rows come in the order of keys.
fn ranges(url: &str, match_type: MatchType) -> Result<Vec<KeyRange>, AskError> {
    let match_type = match match_type {
        MatchType::Exact => return Ok(vec![KeyRange::Exact(key::url_key(url)?)]),
        MatchType::Prefix => urlkey::MatchType::Prefix,
        MatchType::Host => urlkey::MatchType::Host,
        MatchType::Domain => urlkey::MatchType::Domain,
    };
    let ranges = url_ranges(&key::with_scheme(url), match_type)
        .map_err(|error| AskError::bad_request(format!("{url:?}: {error}")))?;
    Ok(ranges
        .into_iter()
        .map(|range| KeyRange::Prefix(range.start))
        .collect())
}

/// A capture with the fields of CDXJ.
pub(super) fn row(capture: CaptureRow) -> CdxRow {
    CdxRow {
        timestamp: time::digits(capture.fetch_time_ms),
        fetch_time: time::iso(capture.fetch_time_ms),
        kind: kind_word(capture.kind).to_owned(),
        url_key: capture.url_key,
        url: capture.url,
        mime: capture.mime,
        status: capture.status,
        digest: capture.digest,
        length: capture.length,
        offset: capture.offset,
        filename: capture.input_name,
        collection: capture.collection,
    }
}

fn kind_word(kind: CaptureKind) -> &'static str {
    match kind {
        CaptureKind::Wet => "wet",
        CaptureKind::Wat => "wat",
        CaptureKind::Revisit => "revisit",
        CaptureKind::Arc => "arc",
        CaptureKind::Resource => "resource",
        CaptureKind::Response => "response",
    }
}
