//! Lists captures by URL, prefix, host or domain, in the order asked for.
//!
//! An answer reads at most [`LOOKED_AT_MAX`] captures, and its cursor says where the next answer
//! continues. So a filter that matches few of very many captures ends in bounded time, and only the
//! returned rows are held in memory.

use cdx::{Collapsing, FilterError, Filters, Order, Original, SkippedCounts};
use format::file_name::{base_name, keep_base_name};
use index::{CaptureRow, KeyRange};
use urlkey::url_ranges;

use super::basis::LookUps;
use super::cdx_walk::{Walk, WalkPosition};
use super::limit::clamp;
use super::originals::Originals;
use super::{cursor, key, time};
use crate::AskError;
use crate::question::{
    CdxBlocksBody, CdxBlocksQuestion, CdxBody, CdxQuestion, CdxRow, MatchType, ResolveRevisits,
};
use crate::views::Views;

/// Limit of captures read for one answer.
const LOOKED_AT_MAX: usize = 200_000;

/// Limit of steps from alias to alias, as in OutbackCDX, because aliases may form a cycle.
const ALIASES_MAX: usize = 32;

/// Limit of blocks in one answer.
const BLOCKS_MAX: usize = 100;

pub(super) fn cdx(basis: &LookUps<'_>, question: &CdxQuestion) -> Result<CdxBody, AskError> {
    let limit = clamp(question.limit);
    let times = time::Bounds::new(question.from.as_deref(), question.to.as_deref())?;
    let filters = Filters::new(&question.filters)?;
    let after = cursor::decode::<WalkPosition>(question.after.as_deref())?;
    let until = cursor::decode::<WalkPosition>(question.until.as_deref())?;
    let state = after.as_ref().map(|place| place.collapsed.clone());
    let mut collapsing = Collapsing::new(
        &question.collapse,
        question.collapse_any,
        question.collapse_time,
        state.unwrap_or_default(),
    );
    let visible = basis.visible();
    let mut ranges = ranges(question)?;
    if question.aliases {
        let collection = question.collection.as_deref();
        ranges = ranges
            .into_iter()
            .map(|range| resolved(visible.snapshot(), range, collection))
            .collect::<Result<_, AskError>>()?;
    }
    let mut originals = Originals::of(&visible);
    // A key names no spelling. An alias has no captures of its own spelling, so all captures of its
    // target are equal in this respect.
    let asked = key::UrlSpelling::of(&question.url);
    let mut walk = Walk::new(
        &visible,
        ranges,
        (&question.order, asked),
        after,
        question.records_only,
    )?;
    let mut found = Rows::new(question);
    let mut before = WalkPosition::default();
    for looked_at in 0.. {
        walk.mark(&mut before);
        if looked_at == LOOKED_AT_MAX {
            before.collapsed = collapsing.state();
            return Ok(found.page(before));
        }
        let Some(capture) = walk.next()? else { break };
        if until.as_ref().is_some_and(|until| walk.is_past(until)) {
            break;
        }
        if !walk.is_turn_of(&capture)
            || !times.contain(capture.fetch_time_ms)
            || question
                .collection
                .as_ref()
                .is_some_and(|c| *c != capture.collection)
        {
            continue;
        }
        let original = match question.revisits {
            Some(_) => originals.original(&capture)?,
            None => None,
        };
        let mut row = row(capture);
        if question.base_names {
            keep_base_name(&mut row.filename);
        }
        if question.revisits == Some(ResolveRevisits::BeforeFilters) {
            resolve(&mut row, original, question.base_names);
        }
        let state = collapsing.state();
        if !filters.fit(&row) || !collapsing.accepts(&row) {
            found.skip(&row);
            continue;
        }
        if found.rows.len() == limit {
            before.collapsed = state;
            return Ok(found.page(before));
        }
        if question.revisits == Some(ResolveRevisits::AfterFilters) {
            resolve(&mut row, original, question.base_names);
        }
        found.push(row);
    }
    Ok(found.end())
}

/// Rows of an answer, and counts of the captures left out between them.
struct Rows {
    rows: Vec<CdxRow>,
    /// Captures left out before the first row, if they are counted.
    skipped: Option<SkippedCounts>,
    count_digests: bool,
}

impl Rows {
    fn new(question: &CdxQuestion) -> Rows {
        Rows {
            rows: Vec::new(),
            skipped: question.count_skipped.then(SkippedCounts::default),
            count_digests: question.count_digests,
        }
    }

    fn push(&mut self, mut row: CdxRow) {
        if self.skipped.is_some() {
            let mut skipped = SkippedCounts::default();
            if self.count_digests {
                skipped.add_digest(&row.digest);
            }
            row.computed_mut().skipped = Some(skipped);
        }
        self.rows.push(row);
    }

    fn skip(&mut self, row: &CdxRow) {
        let skipped = match self.rows.last_mut() {
            Some(last) => last
                .computed
                .as_mut()
                .and_then(|computed| computed.skipped.as_mut()),
            None => self.skipped.as_mut(),
        };
        if let Some(skipped) = skipped {
            skipped.count += 1;
            skipped.last_timestamp.clone_from(&row.timestamp);
            if self.count_digests {
                skipped.add_digest(&row.digest);
            }
        }
    }

    /// Returns an answer whose cursor continues after `before`, the place just before the first row
    /// that is not returned.
    fn page(self, before: WalkPosition) -> CdxBody {
        CdxBody {
            next: Some(cursor::encode(&before)),
            ..self.end()
        }
    }

    fn end(self) -> CdxBody {
        CdxBody {
            rows: self.rows,
            skipped: self.skipped,
            next: None,
        }
    }
}

/// Sets media type and status of a revisit to those of its original, and records where the original
/// is.
fn resolve(row: &mut CdxRow, original: Option<&CaptureRow>, base_names: bool) {
    let Some(original) = original else { return };
    row.mime.clone_from(&original.mime);
    row.status = original.status;
    let filename = if base_names {
        base_name(&original.input_name)
    } else {
        &original.input_name
    };
    row.computed_mut().original = Some(Original {
        length: original.length,
        offset: original.offset,
        filename: filename.to_owned(),
    });
}

/// Finds where blocks of captures end, without reading the captures.
pub(super) fn blocks(basis: &LookUps<'_>, question: &CdxBlocksQuestion) -> Result<CdxBlocksBody, AskError> {
    let rows = question.rows.clamp(1, LOOKED_AT_MAX);
    let ranges = ranges_of(&question.url, question.match_type)?;
    let after = cursor::decode::<WalkPosition>(question.after.as_deref())?;
    let visible = basis.visible();
    let mut walk = Walk::new(
        &visible,
        ranges,
        (&Order::Forward, key::UrlSpelling::any()),
        after,
        false,
    )?;
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

/// Returns the ranges of keys to read. They are ascending and disjoint, so rows come in key order.
fn ranges(question: &CdxQuestion) -> Result<Vec<KeyRange>, AskError> {
    let url = question.url.as_str();
    if question.everything {
        return Ok(vec![KeyRange::All]);
    }
    if question.onward {
        let from = if question.as_key {
            url.to_owned()
        } else {
            key::url_key(url)?
        };
        // No key contains this character, and every key sorts before it.
        return Ok(vec![KeyRange::Between(from, char::MAX.to_string())]);
    }
    if question.as_key {
        Ok(ranges_of_key(url, question.match_type))
    } else {
        ranges_of(url, question.match_type)
    }
}

/// Follows aliases from the key of an exact range. Returns other ranges unchanged.
fn resolved(views: &dyn Views, range: KeyRange, collection: Option<&str>) -> Result<KeyRange, AskError> {
    let KeyRange::Exact(mut url_key) = range else {
        return Ok(range);
    };
    for _ in 0..ALIASES_MAX {
        let Some(target) = views.alias_of(&url_key, collection)? else {
            break;
        };
        let target = key::url_key(&target)?;
        if target == url_key {
            break;
        }
        url_key = target;
    }
    Ok(KeyRange::Exact(url_key))
}

/// Returns the ranges of a key that is used unchanged. For hosts and domains only the host of the
/// key counts, at any port.
fn ranges_of_key(url_key: &str, match_type: MatchType) -> Vec<KeyRange> {
    let host = url_key.split([')', ':']).next().unwrap_or_default();
    let prefixes = |ends: &[&str]| {
        let prefix = |end: &&str| KeyRange::Prefix(format!("{host}{end}"));
        ends.iter().map(prefix).collect()
    };
    match match_type {
        MatchType::Exact => vec![KeyRange::Exact(url_key.to_owned())],
        MatchType::Prefix => vec![KeyRange::Prefix(url_key.to_owned())],
        MatchType::Host => prefixes(&[")", ":"]),
        MatchType::Domain => prefixes(&[")", ",", ":"]),
    }
}

fn ranges_of(url: &str, match_type: MatchType) -> Result<Vec<KeyRange>, AskError> {
    if match_type == MatchType::Exact {
        // A client may pass a key here, which is not a URL.
        return Ok(vec![KeyRange::Exact(key::url_key(url)?)]);
    }
    let ranges = url_ranges(&key::with_scheme(url), match_type)
        .map_err(|error| AskError::bad_request(format!("{url:?}: {error}")))?;
    Ok(ranges
        .into_iter()
        .map(|range| KeyRange::Prefix(range.start))
        .collect())
}

/// Converts a capture to a row with the fields of CDXJ.
pub(super) fn row(capture: CaptureRow) -> CdxRow {
    CdxRow {
        kind: capture.kind,
        url_key: capture.url_key,
        url: capture.url,
        mime: capture.mime,
        status: capture.status,
        method: capture.method,
        digest: capture.digest,
        length: capture.length,
        offset: capture.offset,
        filename: capture.input_name,
        collection: capture.collection,
        index_only: capture.index_only,
        ..CdxRow::at(capture.fetch_time_ms)
    }
}

impl From<FilterError> for AskError {
    fn from(error: FilterError) -> AskError {
        AskError::bad_request(error.to_string())
    }
}
