//! Captures by URL, prefix, host or domain, in the order asked for.
//!
//! An answer looks at [`LOOKED_AT_MAX`] captures at most, whatever is asked, and its cursor says where the
//! next answer continues. So a filter that matches few of very many captures ends in time, and memory holds
//! only the rows returned.

use urlkey::url_ranges;
use weave::{CaptureRow, KeyRange};

use super::basis::Basis;
use super::cdx_walk::{Place, Walk};
use super::limit::clamp;
use super::{cursor, key, time};
use crate::AskError;
use crate::cdx::{Collapsing, FilterError, Filters};
use crate::question::{CdxBlocksBody, CdxBlocksQuestion, CdxBody, CdxQuestion, CdxRow, MatchType};

/// Most captures that are looked at for one answer.
const LOOKED_AT_MAX: usize = 200_000;

/// Most blocks in one answer.
const BLOCKS_MAX: usize = 100;

pub(super) fn cdx(basis: &Basis<'_>, question: &CdxQuestion) -> Result<CdxBody, AskError> {
    let limit = clamp(question.limit);
    let times = Times::new(question)?;
    let filters = Filters::new(&question.filters)?;
    let after = cursor::decode::<Place>(question.after.as_deref())?;
    let until = cursor::decode::<Place>(question.until.as_deref())?;
    let last = after.as_ref().map(|place| place.collapsed.clone());
    let mut collapsing = Collapsing::new(&question.collapse, last.unwrap_or_default());
    let ranges = match question.everything {
        true => vec![KeyRange::All],
        false => ranges(&question.url, question.match_type)?,
    };
    let seen = basis.seen();
    let mut walk = Walk::new(&seen, ranges, &question.order, after)?;
    let mut rows = Vec::new();
    for looked_at in 0.. {
        let mut before = walk.place();
        before.collapsed = collapsing.last().to_vec();
        if looked_at == LOOKED_AT_MAX {
            return Ok(page(rows, before));
        }
        let Some(capture) = walk.next()? else { break };
        if until.as_ref().is_some_and(|until| walk.is_past(until)) {
            break;
        }
        if !times.fit(&capture)
            || question
                .collection
                .as_ref()
                .is_some_and(|c| *c != capture.collection)
        {
            continue;
        }
        let mut row = row(capture);
        if question.base_names {
            row.filename = base_name(&row.filename).to_owned();
        }
        if !filters.fit(&row) || !collapsing.lets(&row) {
            continue;
        }
        if rows.len() == limit {
            return Ok(page(rows, before));
        }
        rows.push(row);
    }
    Ok(CdxBody { rows, next: None })
}

/// An answer whose cursor continues after `before`, the place just before the first row that is not returned.
fn page(rows: Vec<CdxRow>, before: Place) -> CdxBody {
    let next = Some(cursor::encode(&before));
    CdxBody { rows, next }
}

/// Finds where blocks of captures end, without reading the captures.
pub(super) fn blocks(basis: &Basis<'_>, question: &CdxBlocksQuestion) -> Result<CdxBlocksBody, AskError> {
    let rows = question.rows.clamp(1, LOOKED_AT_MAX);
    let ranges = ranges(&question.url, question.match_type)?;
    let after = cursor::decode::<Place>(question.after.as_deref())?;
    let seen = basis.seen();
    let mut walk = Walk::new(&seen, ranges, &Default::default(), after)?;
    let mut ends = Vec::new();
    for _ in 0..BLOCKS_MAX.min(LOOKED_AT_MAX.div_ceil(rows)) {
        let passed = walk.skip_rows(rows)?;
        if passed > 0 {
            ends.push(cursor::encode(&walk.place()));
        }
        if passed < rows {
            return Ok(CdxBlocksBody { ends, next: None });
        }
    }
    let next = ends.last().cloned();
    Ok(CdxBlocksBody { ends, next })
}

/// Last part of a path or an address. In the address of a web server the part after a question mark is
/// removed, because it may be a signature.
pub(super) fn base_name(name: &str) -> &str {
    let is_web = name.starts_with("http://") || name.starts_with("https://");
    let path = match name.split_once('?') {
        Some((path, _)) if is_web => path,
        _ => name,
    };
    match path.rsplit_once('/') {
        Some((_, base)) if !base.is_empty() => base,
        _ => path,
    }
}

/// Bounds in time, as text that is compared with a capture's 14 digits.
struct Times {
    from: String,
    to: String,
}

impl Times {
    fn new(question: &CdxQuestion) -> Result<Times, AskError> {
        let bound = |text: &Option<String>, default: &str| match text {
            Some(text) => Ok(civil::range_of_digits(time::check(text)?)),
            None => Ok::<_, AskError>((default.to_owned(), default.to_owned())),
        };
        Ok(Times {
            from: bound(&question.from, "")?.0,
            // `:` sorts after all digits, so this is greater than any time.
            to: bound(&question.to, ":")?.1,
        })
    }

    fn fit(&self, capture: &CaptureRow) -> bool {
        let digits = civil::digits(capture.fetch_time_ms);
        self.from <= digits && digits <= self.to
    }
}

/// The ranges of keys to read. They are ascending and disjoint, so that rows come in the order of keys.
fn ranges(url: &str, match_type: MatchType) -> Result<Vec<KeyRange>, AskError> {
    if match_type == MatchType::Exact {
        // A reader may give a key here, which is not a URL.
        return Ok(vec![KeyRange::Exact(key::url_key(url)?)]);
    }
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
        timestamp: civil::digits(capture.fetch_time_ms),
        fetch_time: civil::iso(capture.fetch_time_ms),
        kind: capture.kind,
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

impl From<FilterError> for AskError {
    fn from(error: FilterError) -> AskError {
        AskError::bad_request(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::base_name;

    #[test]
    fn base_names_are_what_replay_looks_for() {
        for (name, base) in [
            ("crawls/2014/iana.warc.gz", "iana.warc.gz"),
            ("iana.warc.gz", "iana.warc.gz"),
            ("s3://bucket/crawls/a b?.warc", "a b?.warc"),
            ("https://example.org/x/iana.warc.gz?sig=a/b", "iana.warc.gz"),
            ("crawls/", "crawls/"),
        ] {
            assert_eq!(base_name(name), base, "{name}");
        }
    }
}
