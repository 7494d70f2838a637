//! Collects matches in one pass: the total, the best matches, and counts for facets.
//!
//! Matches are ordered by descending score, then by ascending key. Within a segment, keys are
//! compared by their ordinal in its dictionary. The keys themselves are read only for the best
//! matches of each segment. Submodules group results, and count facets and years.
//!
//! This module uses `scoring` and `filter`. It does not know how a query is parsed or compiled.

pub(crate) mod facets;
pub(crate) mod grouped;
pub(crate) mod near_duplicates;
pub(crate) mod years;

use std::sync::Arc;

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::{Column, StrColumn};
use tantivy::{DocAddress, DocId, Score, Searcher, SegmentOrdinal, SegmentReader};

use crate::collect::facets::{FacetCounter, FacetCounts};
use crate::dates;
use crate::documents::buckets::Buckets;
use crate::documents::schema;
use crate::filter::visible::{Bits, VisibleDocs};
use crate::scoring::near::{Near, NearDocs};
use crate::scoring::rank::{self, Units};
use crate::words::likeness;

/// The order of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Best match first.
    #[default]
    Relevance,
    /// Newest capture first.
    Newest,
    /// Oldest capture first.
    Oldest,
    /// By URL key, ascending.
    Url,
}

/// How many matches a result represents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Group {
    /// Matches with its registered domain; 0 if results are not grouped by site.
    pub of_site: u64,
    /// Matches with its digest; 0 if results are not grouped by digest.
    pub of_digest: u64,
    /// Near-duplicates of its text; 0 if results are not grouped by them.
    pub of_near: u64,
    /// The likeness of its text, for `like:`, if results are grouped by near-duplicates.
    pub likeness: Option<u64>,
}

impl Group {
    /// Returns the filter that finds the near-duplicates.
    pub fn like(&self) -> Option<String> {
        let likeness = self.likeness.map(likeness::text);
        likeness.map(|likeness| format!("like:{likeness}"))
    }
}

/// Where a page of results begins: after the document with this score and key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SearchAfter {
    pub(crate) score: Units,
    pub(crate) key: String,
}

/// Collects the best `limit` documents after `after`, the number of all matches, and facets if
/// requested.
pub(crate) struct TopDocsCollector<'v> {
    /// Buckets of the view that is searched.
    pub(crate) buckets: &'v Buckets,
    /// The documents that the caller can see.
    pub(crate) visible: &'v VisibleDocs,
    pub(crate) near: &'v Near,
    pub(crate) limit: usize,
    pub(crate) after: Option<SearchAfter>,
    pub(crate) facets: bool,
    pub(crate) order: Order,
}

/// One of the best matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RankedDoc {
    /// The score, or the position in an order by time.
    pub(crate) score: Units,
    /// The part of the score that a profile added.
    pub(crate) gain: Units,
    /// The part of the score that word vectors added.
    pub(crate) similarity: Units,
    pub(crate) bucket: u8,
    pub(crate) address: DocAddress,
    /// The group that the result represents, if results are grouped.
    pub(crate) group: Option<Group>,
}

/// The outcome of a search.
#[derive(Default)]
pub(crate) struct TopDocs {
    pub(crate) total: u64,
    /// If results are grouped, the number of matches shown over all groups; otherwise the same as
    /// `total`.
    pub(crate) shown_total: u64,
    /// Best first, at most `limit`.
    pub(crate) best: Vec<RankedDoc>,
    /// Whether more results follow.
    pub(crate) more: bool,
    /// Counts of each segment, if requested.
    pub(crate) counts: Vec<FacetCounts>,
}

/// The outcome of a search in one segment.
pub(crate) struct SegmentTopDocs {
    segment: SegmentOrdinal,
    total: u64,
    /// Score, key ordinal and document; worst first, so that the next is taken from the end.
    best: Vec<(Units, u32, DocId)>,
    keys: Option<StrColumn>,
    buckets: Arc<[u8]>,
    counts: Option<FacetCounts>,
    /// Key of the last entry of `best`, once it has been read.
    key: Option<String>,
}

impl Collector for TopDocsCollector<'_> {
    type Fruit = TopDocs;
    type Child = SegmentTopDocsCollector;

    fn for_segment(
        &self,
        segment: SegmentOrdinal,
        reader: &SegmentReader,
    ) -> tantivy::Result<SegmentTopDocsCollector> {
        let fast = reader.fast_fields();
        let keys = fast.str(schema::KEY)?;
        let after = match (&self.after, &keys) {
            (Some(after), Some(keys)) => Some((after.score, ordinal_after(keys, &after.key)?)),
            _ => None,
        };
        Ok(SegmentTopDocsCollector {
            segment,
            // One more than requested shows whether more results follow.
            best: Best::new(self.limit + 1),
            keys,
            buckets: self.buckets.of_segment(segment as usize),
            matches: MatchCounter::open(self, segment, reader)?,
            after,
            near: self.near.open(reader)?,
            sort_values: SortValues::open(self.order, reader)?,
        })
    }

    fn requires_scoring(&self) -> bool {
        self.order == Order::Relevance
    }

    fn merge_fruits(&self, mut segments: Vec<SegmentTopDocs>) -> tantivy::Result<TopDocs> {
        let mut all = TopDocs::default();
        for segment in &mut segments {
            all.total += segment.total;
            all.shown_total += segment.total;
            all.counts.extend(segment.counts.take());
        }
        while let Some(next) = first_of(&mut segments)? {
            if all.best.len() == self.limit {
                all.more = true;
                break;
            }
            all.best.extend(segments[next].take_best());
        }
        Ok(all)
    }
}

/// Returns the segment whose next result comes first, if any is left. Comparing all of them is
/// cheaper than a heap, because a page has few rows and an index few segments.
fn first_of(segments: &mut [SegmentTopDocs]) -> tantivy::Result<Option<usize>> {
    let mut first: Option<(Units, usize)> = None;
    for index in 0..segments.len() {
        let Some(score) = segments[index].score() else {
            continue;
        };
        let is_first = match first {
            None => true,
            Some((best, _)) if score != best => score > best,
            // Keys are read only to break ties: reading one decodes all keys before it in its
            // block.
            Some((_, other)) => {
                segments[index].read_key()?;
                segments[other].read_key()?;
                segments[index].key < segments[other].key
            }
        };
        if is_first {
            first = Some((score, index));
        }
    }
    Ok(first.map(|(_, index)| index))
}

impl SegmentTopDocs {
    fn score(&self) -> Option<Units> {
        self.best.last().map(|&(score, ..)| score)
    }

    fn take_best(&mut self) -> Option<RankedDoc> {
        let (score, _, document) = self.best.pop()?;
        self.key = None;
        Some(RankedDoc {
            score,
            gain: 0,
            similarity: 0,
            bucket: bucket_of(&self.buckets, document),
            address: DocAddress::new(self.segment, document),
            group: None,
        })
    }

    /// Reads the key of the next result, if it has not been read yet.
    fn read_key(&mut self) -> tantivy::Result<()> {
        if let (None, Some(&(_, ordinal, _)), Some(keys)) = (&self.key, self.best.last(), &self.keys) {
            let mut key = String::new();
            keys.ord_to_str(u64::from(ordinal), &mut key)?;
            self.key = Some(key);
        }
        Ok(())
    }
}

/// Positions in an order other than by score.
pub(crate) enum SortValues {
    /// Ordered by score.
    None,
    /// All positions are equal, so keys decide.
    Equal,
    /// Ordered by date; the flag is true if the newest comes first.
    Dates(Column<u64>, bool),
}

impl SortValues {
    pub(crate) fn open(order: Order, reader: &SegmentReader) -> tantivy::Result<SortValues> {
        Ok(match order {
            Order::Relevance => SortValues::None,
            Order::Url => SortValues::Equal,
            order => SortValues::Dates(reader.fast_fields().u64(schema::DATE)?, order == Order::Newest),
        })
    }

    /// Returns the position of a document, the first having the greatest number. `None` if the
    /// order is by score.
    pub(crate) fn get(&self, document: DocId) -> Option<Units> {
        let (dates, newest_first) = match self {
            SortValues::None => return None,
            SortValues::Equal => return Some(0),
            SortValues::Dates(dates, newest_first) => (dates, newest_first),
        };
        let order = dates::order_of(dates.first(document).unwrap_or(0));
        Some(if *newest_first { order } else { u32::MAX - order })
    }
}

pub(crate) fn bucket_of(buckets: &[u8], document: DocId) -> u8 {
    buckets.get(document as usize).copied().unwrap_or(0)
}

/// Returns the key under which a document is stored.
pub(crate) fn key_of(searcher: &Searcher, address: DocAddress) -> tantivy::Result<Option<String>> {
    let reader = searcher.segment_reader(address.segment_ord);
    let Some(keys) = reader.fast_fields().str(schema::KEY)? else {
        return Ok(None);
    };
    let Some(ordinal) = keys.ords().first(address.doc_id) else {
        return Ok(None);
    };
    let mut key = String::new();
    Ok(keys.ord_to_str(ordinal, &mut key)?.then_some(key))
}

/// Returns the ordinal of the first key that is greater than `key`.
fn ordinal_after(keys: &StrColumn, key: &str) -> tantivy::Result<u32> {
    let dictionary = keys.dictionary();
    let ordinal = match dictionary.term_ord_or_next(key.as_bytes())? {
        tantivy::columnar::TermOrdHit::Exact(ordinal) => ordinal + 1,
        tantivy::columnar::TermOrdHit::Next(ordinal) => ordinal,
    };
    // A `DocId` can count the documents of a segment, and so its keys.
    Ok(u32::try_from(ordinal).unwrap_or(u32::MAX))
}

/// Collector of one segment.
pub(crate) struct SegmentTopDocsCollector {
    segment: SegmentOrdinal,
    best: Best,
    keys: Option<StrColumn>,
    buckets: Arc<[u8]>,
    matches: MatchCounter,
    /// Score and first key ordinal at which the page of results begins.
    after: Option<(Units, u32)>,
    near: NearDocs,
    sort_values: SortValues,
}

/// Counts over all matches of a segment.
pub(crate) struct MatchCounter {
    visible: Option<Bits>,
    pub(crate) total: u64,
    counter: Option<FacetCounter>,
}

impl MatchCounter {
    pub(crate) fn open(
        collect: &TopDocsCollector<'_>,
        segment: SegmentOrdinal,
        reader: &SegmentReader,
    ) -> tantivy::Result<MatchCounter> {
        Ok(MatchCounter {
            visible: collect.visible.of_segment(segment as usize).cloned(),
            total: 0,
            counter: collect.facets.then(|| FacetCounter::new(reader)).transpose()?,
        })
    }

    /// Counts a match and returns true, or returns false if it is hidden. Must be called first for
    /// each match: hidden documents are in no count, and the total covers all matches, whichever
    /// page of results is requested.
    pub(crate) fn count_if_visible(&mut self, document: DocId) -> bool {
        if self
            .visible
            .as_ref()
            .is_some_and(|visible| !visible.has(document))
        {
            return false;
        }
        self.total += 1;
        if let Some(counter) = &mut self.counter {
            counter.count(document);
        }
        true
    }

    pub(crate) fn counts(self) -> Option<FacetCounts> {
        self.counter.map(FacetCounter::finish)
    }
}

impl SegmentCollector for SegmentTopDocsCollector {
    type Fruit = SegmentTopDocs;

    fn collect(&mut self, document: DocId, score: Score) {
        if !self.matches.count_if_visible(document) {
            return;
        }
        let score = match self.sort_values.get(document) {
            Some(value) => value,
            None => {
                let score = rank::units(score) + rank::prior(bucket_of(&self.buckets, document));
                if self.after.is_some_and(|(after, _)| score > after) {
                    return;
                }
                // Skip matches that cannot reach the best even with the maximum gain; most cannot.
                let wanted = self.best.score_min.saturating_sub(score);
                let Some(gain) = self.near.gain(document, wanted) else {
                    return;
                };
                score + gain
            }
        };
        if score < self.best.score_min {
            return;
        }
        let ordinal = self.ordinal(document);
        if let Some((after, behind)) = self.after
            && (score > after || score == after && ordinal < behind)
        {
            return;
        }
        self.best.push(score, ordinal, document);
    }

    fn harvest(self) -> SegmentTopDocs {
        SegmentTopDocs {
            segment: self.segment,
            total: self.matches.total,
            best: self.best.into_sorted(),
            keys: self.keys,
            buckets: self.buckets,
            counts: self.matches.counts(),
            key: None,
        }
    }
}

impl SegmentTopDocsCollector {
    fn ordinal(&self, document: DocId) -> u32 {
        let ordinals = self.keys.as_ref().map(|keys| keys.ords());
        ordinals.and_then(|ords| ords.first(document)).unwrap_or(0) as u32
    }
}

/// The best matches of a segment: a buffer of twice the limit that is cut in half when full.
struct Best {
    limit: usize,
    /// Score and inverted key ordinal in one number, so that greater is better; then the document.
    entries: Vec<(u64, DocId)>,
    /// A lower score is not among the best.
    score_min: Units,
}

impl Best {
    fn new(limit: usize) -> Best {
        Best {
            limit,
            entries: Vec::with_capacity(limit.saturating_mul(2).min(4096)),
            score_min: 0,
        }
    }

    fn push(&mut self, score: Units, ordinal: u32, document: DocId) {
        // One number orders by score, then by key, so a comparison is one instruction.
        let rank = u64::from(score) << 32 | u64::from(u32::MAX - ordinal);
        self.entries.push((rank, document));
        if self.entries.len() >= self.limit * 2 {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.entries.len() <= self.limit {
            return;
        }
        let last = self.limit - 1;
        // Selection is linear, a sort here would not be. `into_sorted` sorts once.
        self.entries.select_nth_unstable_by(last, |a, b| b.cmp(a));
        self.entries.truncate(self.limit);
        self.score_min = (self.entries[last].0 >> 32) as Units;
    }

    /// Returns the best matches, worst first.
    fn into_sorted(mut self) -> Vec<(Units, u32, DocId)> {
        self.cut();
        self.entries.sort_unstable();
        let entry = |(rank, document): (u64, DocId)| {
            let ordinal = u32::MAX - (rank & u64::from(u32::MAX)) as u32;
            ((rank >> 32) as Units, ordinal, document)
        };
        self.entries.into_iter().map(entry).collect()
    }
}
