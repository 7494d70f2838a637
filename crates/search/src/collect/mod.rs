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
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::{Column, StrColumn};
use tantivy::fastfield::AliveBitSet;
use tantivy::query::Weight;
use tantivy::{DocAddress, DocId, Score, Searcher, SegmentOrdinal, SegmentReader, TERMINATED};

use crate::collect::facets::{FacetCounter, FacetCounts};
use crate::dates;
use crate::documents::buckets::Buckets;
use crate::documents::schema;
use crate::filter::visible::{Bits, VisibleDocs};
use crate::scoring::bounded::Bounded;
use crate::scoring::forms::FormDocs;
use crate::scoring::lists::Lists;
use crate::scoring::near::{Near, NearDocs};
use crate::scoring::rank::{self, Units};
use crate::scoring::wanted::WantedScorer;
use crate::scoring::words_query::WordsScorer;
use crate::words::likeness;

/// Number of in-link buckets that are compared at once.
const BUCKETS_AT_ONCE: usize = 64;

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
    pub(crate) lists: &'v Lists,
    pub(crate) limit: usize,
    pub(crate) after: Option<SearchAfter>,
    pub(crate) facets: bool,
    pub(crate) order: Order,
    /// A lower score is not among the best of the segments searched so far.
    pub(crate) least: AtomicU32,
    /// Number of matches to count. Of the others, only those that may be among the best are read.
    pub(crate) count_max: u64,
    /// Matches of the segments searched so far.
    pub(crate) counted: AtomicU64,
}

impl TopDocsCollector<'_> {
    /// Number of matches to count if all are.
    pub(crate) const COUNT_ALL: u64 = u64::MAX;
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
    /// Whether there are more than `total` matches.
    pub(crate) has_more_than_total: bool,
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

impl TopDocs {
    /// Returns whether anything matches. `total` is 0 if nothing was to be counted.
    pub(crate) fn has_matches(&self) -> bool {
        self.total > 0 || self.has_more_than_total
    }
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
        let keys = self.lists.keys(reader)?;
        let after = match (&self.after, &keys) {
            (Some(after), Some(keys)) => Some((after.score, ordinal_after(keys, &after.key)?)),
            _ => None,
        };
        Ok(SegmentTopDocsCollector {
            segment,
            // One more than requested shows whether more results follow.
            best: Best::new(self.limit + 1, self.least.load(Ordering::Relaxed)),
            keys,
            buckets: self.buckets.of_segment(segment as usize),
            matches: MatchCounter::open(self, segment, reader)?,
            after,
            near: self.near.open(reader)?,
            sort_values: SortValues::open(self.order, reader)?,
            count_left: TopDocsCollector::COUNT_ALL,
        })
    }

    fn requires_scoring(&self) -> bool {
        self.order == Order::Relevance
    }

    fn collect_segment(
        &self,
        weight: &dyn Weight,
        segment: SegmentOrdinal,
        reader: &SegmentReader,
    ) -> tantivy::Result<SegmentTopDocs> {
        let mut collector = self.for_segment(segment, reader)?;
        let alive = reader.alive_bitset();
        let mut matches = weight.scorer(reader, 1.0)?;
        collector.count_left = self
            .count_max
            .saturating_sub(self.counted.load(Ordering::Relaxed));
        if let Some(words) = matches.downcast_mut::<WordsScorer<FormDocs>>() {
            collector.collect_all(words, alive);
        } else if let Some(wanted) = matches.downcast_mut::<WantedScorer>() {
            collector.collect_all(wanted, alive);
        } else {
            collector.collect_all(&mut matches, alive);
        }
        collector.best.cut();
        self.least.fetch_max(collector.best.score_min, Ordering::Relaxed);
        self.counted.fetch_add(collector.matches.total, Ordering::Relaxed);
        Ok(collector.harvest())
    }

    fn merge_fruits(&self, mut segments: Vec<SegmentTopDocs>) -> tantivy::Result<TopDocs> {
        let mut all = TopDocs::default();
        for segment in &mut segments {
            all.total += segment.total;
            all.counts.extend(segment.counts.take());
        }
        // How many were read depends on the layout of the index, so answers do not contain it.
        all.has_more_than_total = all.total > self.count_max;
        all.total = all.total.min(self.count_max);
        all.shown_total = all.total;
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

/// Returns the greatest of some buckets, 0 without any.
fn greatest(buckets: &[u8]) -> u8 {
    // The compiler makes one instruction of many of these comparisons.
    buckets.iter().fold(0, |most, bucket| most.max(*bucket))
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
    /// Number of matches to count in this segment.
    count_left: u64,
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
        if self.matches.count_if_visible(document) {
            self.consider(document, |_| Some(score));
        }
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
    /// Collects the matches of the segment: all of them, or once enough are counted, those that may
    /// be among the best.
    fn collect_all(&mut self, matches: &mut impl Bounded, alive: Option<&AliveBitSet>) {
        let most = rank::units(matches.most()).saturating_add(self.near.most());
        let mut best_prior = None;
        let mut document = matches.doc();
        while document != TERMINATED {
            let is_alive = alive.is_none_or(|alive| alive.is_alive(document));
            if is_alive && self.matches.count_if_visible(document) {
                self.consider(document, |wanted| matches.score_from(wanted));
            }
            document = if self.matches.total <= self.count_left {
                matches.advance()
            } else {
                let prior = best_prior.get_or_insert_with(|| rank::prior(greatest(&self.buckets)));
                let wanted = self.best.score_min.saturating_sub(*prior + self.near.most());
                matches.require(rank::score(wanted));
                matches.seek(self.possible_from(document + 1, most))
            };
        }
    }

    /// Returns the first document from one on whose in-links are enough to be among the best.
    /// `most` is an upper bound of the other parts of the score.
    fn possible_from(&self, document: DocId, most: Units) -> DocId {
        let Some(wanted) = rank::bucket_from(self.best.score_min.saturating_sub(most)) else {
            return TERMINATED;
        };
        if wanted == 0 {
            return document;
        }
        let buckets = self.buckets.get(document as usize..).unwrap_or_default();
        let mut from = document;
        for part in buckets.chunks(BUCKETS_AT_ONCE) {
            if greatest(part) >= wanted {
                let first = part.iter().position(|bucket| *bucket >= wanted);
                return from + first.unwrap_or_default() as DocId;
            }
            from += part.len() as DocId;
        }
        TERMINATED
    }

    /// Adds a match to the best if it belongs there. `score_from` returns the score of its words,
    /// or `None` if it is less than its argument.
    fn consider(&mut self, document: DocId, score_from: impl FnOnce(Score) -> Option<Score>) {
        let position = self.sort_values.get(document);
        let position = position.or_else(|| self.score(document, score_from));
        let Some(score) = position.filter(|score| *score >= self.best.score_min) else {
            return;
        };
        let ordinal = self.ordinal(document);
        if let Some((after, behind)) = self.after
            && (score > after || score == after && ordinal < behind)
        {
            return;
        }
        self.best.push(score, ordinal, document);
    }

    /// Returns the score of a match with all its parts; `None` if it is not among the best, or
    /// precedes the page of results.
    fn score(&mut self, document: DocId, score_from: impl FnOnce(Score) -> Option<Score>) -> Option<Units> {
        let prior = rank::prior(bucket_of(&self.buckets, document));
        // Most matches cannot reach the best even with the maximum of the parts that are costly to
        // compute.
        let wanted = self.best.score_min.saturating_sub(prior + self.near.most());
        let score = rank::units(score_from(rank::score(wanted))?) + prior;
        if self.after.is_some_and(|(after, _)| score > after) {
            return None;
        }
        let wanted = self.best.score_min.saturating_sub(score);
        Some(score + self.near.gain(document, wanted)?)
    }

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
    fn new(limit: usize, score_min: Units) -> Best {
        Best {
            limit,
            entries: Vec::with_capacity(limit.saturating_mul(2).min(4096)),
            score_min,
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
