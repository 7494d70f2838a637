//! Grouped results: at most a number of results per site, and one per content or set of
//! near-duplicates.
//!
//! The result is the same as walking all matches in order, skipping those whose content was already
//! met, and then those whose site already has its number of results. To get there, each segment
//! keeps the best matches of each group, and only these are walked.
//!
//! Near-duplicates do not form groups by themselves ([`crate::words::likeness`]): a match is
//! skipped if it is near one that was not skipped. Matches with the same likeness are near the same
//! others, so the first of them represents them all.
//!
//! Invariant: totals and counts of groups cover all matches, whichever page of results is
//! requested.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::{Column, StrColumn};
use tantivy::{DocAddress, DocId, Score, SegmentOrdinal, SegmentReader};

use crate::collect::Group;
use crate::collect::facets::FacetCounts;
use crate::collect::near_duplicates::LikenessSet;
use crate::collect::{MatchCounter, RankedDoc, SortValues, TopDocs, TopDocsCollector, bucket_of};
use crate::documents::hash::hash;
use crate::documents::schema;
use crate::scoring::near::NearDocs;
use crate::scoring::rank::{self, Units};
use crate::words::likeness;

/// How results are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grouping {
    /// Maximum number of results per registered domain; 0 for no limit.
    pub(crate) per_site: usize,
    pub(crate) content: Content,
}

/// Which matches count as having the same content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// No two matches do.
    Any,
    /// Matches with the same payload digest.
    Digest,
    /// Matches whose texts are near-duplicates.
    Near,
}

impl Grouping {
    /// Returns whether results are grouped at all.
    pub(crate) fn is_any(self) -> bool {
        self.per_site > 0 || self.content != Content::Any
    }
}

/// Collects like [`TopDocsCollector`], in groups.
pub(crate) struct GroupedCollector<'c, 'v> {
    pub(crate) collect: &'c TopDocsCollector<'v>,
    pub(crate) grouping: Grouping,
}

/// Identifies a group across all segments.
type GroupHash = u64;

/// A match that is among the best of its group within its segment.
struct GroupCandidate {
    score: Units,
    ordinal: u32,
    segment: SegmentOrdinal,
    document: DocId,
    bucket: u8,
    site: GroupHash,
    /// Hash of its digest, or its likeness.
    content: GroupHash,
}

/// The outcome of a search in one segment.
pub(crate) struct SegmentGroups {
    total: u64,
    kept: Vec<GroupCandidate>,
    /// Number of matches of each site and each content.
    of_site: FxHashMap<GroupHash, u64>,
    of_content: FxHashMap<GroupHash, u64>,
    keys: Option<StrColumn>,
    counts: Option<FacetCounts>,
}

impl Collector for GroupedCollector<'_, '_> {
    type Fruit = TopDocs;
    type Child = SegmentGroupedCollector;

    fn for_segment(
        &self,
        segment: SegmentOrdinal,
        reader: &SegmentReader,
    ) -> tantivy::Result<SegmentGroupedCollector> {
        let TopDocsCollector {
            buckets, near, order, ..
        } = self.collect;
        let fast = reader.fast_fields();
        Ok(SegmentGroupedCollector {
            segment,
            grouping: self.grouping,
            keys: fast.str(schema::KEY)?,
            domains: fast.str(schema::DOMAIN)?,
            contents: fast.u64(match self.grouping.content {
                Content::Near => schema::LIKENESS,
                Content::Any | Content::Digest => schema::DIGEST,
            })?,
            no_digest: hash(""),
            buckets: buckets.of_segment(segment as usize),
            matches: MatchCounter::open(self.collect, segment, reader)?,
            near: near.open(reader)?,
            sort_values: SortValues::open(*order, reader)?,
            groups: FxHashMap::default(),
            of_site: FxHashMap::default(),
        })
    }

    fn requires_scoring(&self) -> bool {
        self.collect.requires_scoring()
    }

    fn merge_fruits(&self, segments: Vec<SegmentGroups>) -> tantivy::Result<TopDocs> {
        let mut all = TopDocs::default();
        let (mut of_site, mut of_content) = (FxHashMap::default(), FxHashMap::default());
        let (mut kept, mut key_columns) = (Vec::new(), Vec::new());
        for segment in segments {
            all.total += segment.total;
            all.counts.extend(segment.counts);
            add(&mut of_site, segment.of_site);
            add(&mut of_content, segment.of_content);
            if let Some(first) = segment.kept.first() {
                key_columns.resize(key_columns.len().max(first.segment as usize + 1), None);
                key_columns[first.segment as usize] = segment.keys;
            }
            kept.extend(segment.kept);
        }
        let kept = sort_by_rank(kept, &key_columns)?;
        let after = self.collect.after.as_ref();
        let mut sites = FxHashMap::<_, usize>::default();
        let (mut contents, mut likenesses) = (FxHashSet::default(), LikenessSet::default());
        for one in &kept {
            // Only the first match of a content counts, shown or not. A match of another site does
            // not take its place.
            let is_repeated = match self.grouping.content {
                Content::Any => false,
                Content::Digest => !contents.insert(one.content),
                Content::Near => !likenesses.insert_unless_near(one.content),
            };
            if is_repeated {
                continue;
            }
            if self.grouping.per_site > 0 {
                let of_site = sites.entry(one.site).or_default();
                if *of_site == self.grouping.per_site {
                    continue;
                }
                *of_site += 1;
            }
            all.shown_total += 1;
            let is_behind = match after {
                Some(after) if one.score == after.score => key_of(&key_columns, one)? > after.key,
                Some(after) => one.score < after.score,
                None => true,
            };
            if !is_behind {
                continue;
            }
            if all.best.len() == self.collect.limit {
                all.more = true;
                // The remaining matches are only counted.
                continue;
            }
            all.best.push(RankedDoc {
                score: one.score,
                gain: 0,
                similarity: 0,
                bucket: one.bucket,
                address: DocAddress::new(one.segment, one.document),
                group: Some(self.grouping.group(one, &of_site, &of_content)),
            });
        }
        Ok(all)
    }
}

impl Grouping {
    /// Returns how many matches a result represents.
    fn group(
        self,
        one: &GroupCandidate,
        of_site: &FxHashMap<GroupHash, u64>,
        of_content: &FxHashMap<GroupHash, u64>,
    ) -> Group {
        let count = |groups: &FxHashMap<GroupHash, u64>, name| groups.get(&name).copied().unwrap_or(0);
        let mut group = Group::default();
        if self.per_site > 0 {
            group.of_site = count(of_site, one.site);
        }
        match self.content {
            Content::Any => {}
            Content::Digest => group.of_digest = count(of_content, one.content),
            Content::Near => {
                // Counts all matches that `like:` finds, including those that are nearer to an
                // earlier result.
                let near = of_content
                    .iter()
                    .filter(|(other, _)| likeness::are_near(one.content, **other));
                group.of_near = near.map(|(_, count)| count).sum();
                group.likeness = Some(one.content);
            }
        }
        group
    }
}

fn add(sums: &mut FxHashMap<GroupHash, u64>, counts: FxHashMap<GroupHash, u64>) {
    for (name, count) in counts {
        *sums.entry(name).or_default() += count;
    }
}

/// Sorts matches by score, best first, then by key. Keys are read only to break ties.
fn sort_by_rank(
    mut kept: Vec<GroupCandidate>,
    keys: &[Option<StrColumn>],
) -> tantivy::Result<Vec<GroupCandidate>> {
    kept.sort_unstable_by(|a, b| (b.score, a.segment, a.ordinal).cmp(&(a.score, b.segment, b.ordinal)));
    let mut ordered = Vec::with_capacity(kept.len());
    let mut kept = kept.into_iter().peekable();
    while let Some(first) = kept.next() {
        let score = first.score;
        let mut equal = vec![first];
        while let Some(next) = kept.next_if(|next| next.score == score) {
            equal.push(next);
        }
        // Within one segment the order of ordinals is the order of keys.
        if equal.iter().any(|one| one.segment != equal[0].segment) {
            let mut named = Vec::with_capacity(equal.len());
            for one in equal {
                named.push((key_of(keys, &one)?, one));
            }
            named.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
            ordered.extend(named.into_iter().map(|(_, one)| one));
        } else {
            ordered.extend(equal);
        }
    }
    Ok(ordered)
}

fn key_of(keys: &[Option<StrColumn>], one: &GroupCandidate) -> tantivy::Result<String> {
    let mut key = String::new();
    if let Some(Some(column)) = keys.get(one.segment as usize) {
        column.ord_to_str(u64::from(one.ordinal), &mut key)?;
    }
    Ok(key)
}

/// Collector of one segment.
pub(crate) struct SegmentGroupedCollector {
    segment: SegmentOrdinal,
    grouping: Grouping,
    keys: Option<StrColumn>,
    domains: Option<StrColumn>,
    /// Column of digests or of likenesses.
    contents: Column<u64>,
    /// The hash for captures without a digest. Each of them is a separate group.
    no_digest: GroupHash,
    buckets: Arc<[u8]>,
    matches: MatchCounter,
    near: NearDocs,
    sort_values: SortValues,
    /// By content if grouped by content, otherwise by domain.
    groups: FxHashMap<u64, GroupMatches>,
    /// Number of matches by domain.
    of_site: FxHashMap<u64, u64>,
}

#[derive(Default)]
struct GroupMatches {
    count: u64,
    /// Score, key ordinal and document of the matches that may be shown, best first.
    best: Vec<(Units, u32, DocId)>,
}

impl SegmentGroupedCollector {
    fn domain(&self, document: DocId) -> u64 {
        let column = self.domains.as_ref();
        column
            .and_then(|column| column.ords().first(document))
            .unwrap_or(u64::MAX)
    }

    fn content(&self, document: DocId) -> GroupHash {
        match self.contents.first(document) {
            Some(content) if self.grouping.content == Content::Near || content != self.no_digest => content,
            // Not expected to equal the hash of a digest.
            _ => u64::from(self.segment) << 32 | u64::from(document),
        }
    }
}

impl SegmentCollector for SegmentGroupedCollector {
    type Fruit = SegmentGroups;

    fn collect(&mut self, document: DocId, score: Score) {
        if !self.matches.count_if_visible(document) {
            return;
        }
        let domain = self.domain(document);
        if self.grouping.per_site > 0 {
            *self.of_site.entry(domain).or_default() += 1;
        }
        let (name, most) = match self.grouping.content {
            Content::Any => (domain, self.grouping.per_site),
            Content::Digest | Content::Near => (self.content(document), 1),
        };
        let sort_value = self.sort_values.get(document);
        let mut score = sort_value.unwrap_or_else(|| {
            let prior = rank::prior(bucket_of(&self.buckets, document));
            rank::units(score) + prior
        });
        let ordinals = self.keys.as_ref().map(|keys| keys.ords());
        let ordinal = ordinals.and_then(|ords| ords.first(document)).unwrap_or(0) as u32;
        let group = self.groups.entry(name).or_default();
        group.count += 1;
        let last = group
            .best
            .get(most - 1)
            .map(|&(score, ordinal, _)| (score, ordinal));
        if sort_value.is_none() {
            let wanted = last.map_or(0, |(last, _)| last.saturating_sub(score));
            let Some(gain) = self.near.gain(document, wanted) else {
                return;
            };
            score += gain;
        }
        let comes_before = |a: (Units, u32), b: (Units, u32)| a.0 > b.0 || a.0 == b.0 && a.1 < b.1;
        if last.is_some_and(|last| !comes_before((score, ordinal), last)) {
            return;
        }
        let at = group.best.partition_point(|&(other, other_ordinal, _)| {
            comes_before((other, other_ordinal), (score, ordinal))
        });
        group.best.insert(at, (score, ordinal, document));
        group.best.truncate(most);
    }

    fn harvest(self) -> SegmentGroups {
        let sites = self.site_hashes();
        let site = |domain: u64| sites.get(&domain).copied().unwrap_or(u64::MAX);
        let mut kept = Vec::new();
        let mut of_content = FxHashMap::default();
        let is_by_content = self.grouping.content != Content::Any;
        for (name, group) in &self.groups {
            if is_by_content {
                of_content.insert(*name, group.count);
            }
            kept.extend(
                group
                    .best
                    .iter()
                    .map(|&(score, ordinal, document)| GroupCandidate {
                        score,
                        ordinal,
                        segment: self.segment,
                        document,
                        bucket: bucket_of(&self.buckets, document),
                        site: site(self.domain(document)),
                        content: *name,
                    }),
            );
        }
        SegmentGroups {
            total: self.matches.total,
            kept,
            of_site: self
                .of_site
                .iter()
                .map(|(domain, count)| (site(*domain), *count))
                .collect(),
            of_content,
            keys: self.keys,
            counts: self.matches.counts(),
        }
    }
}

impl SegmentGroupedCollector {
    /// Returns the hash of each domain that was met, for comparison across segments.
    fn site_hashes(&self) -> FxHashMap<u64, GroupHash> {
        let mut ordinals: Vec<u64> = self
            .of_site
            .keys()
            .copied()
            .filter(|ordinal| *ordinal != u64::MAX)
            .collect();
        ordinals.sort_unstable();
        let mut hashes = FxHashMap::default();
        if let Some(column) = &self.domains {
            let mut next = ordinals.iter();
            // Domains that cannot be read form one group; the search continues.
            let read = column.dictionary().sorted_ords_to_term_cb(&ordinals, |name| {
                if let Some(&ordinal) = next.next() {
                    hashes.insert(ordinal, hash(&String::from_utf8_lossy(name)));
                }
            });
            if let Err(error) = read {
                tracing::warn!(%error, "domain names could not be read");
            }
        }
        hashes
    }
}
