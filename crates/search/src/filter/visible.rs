//! Which documents a caller can see, as one bit per document of a segment.
//!
//! A document stores the attributes of its captures that access rules test (columns for key, media
//! type, collection, digest and time), but not the result. Rules are kept outside the index, so
//! that a changed rule applies to the next query without indexing anything again. The bits are
//! computed in one scan of a segment's columns when a sight is first used. A segment never changes,
//! so they stay valid for the same sight. Unless a query includes past versions, the bits exclude
//! them.
//!
//! Invariant: a document is visible only if its capture is visible, and also the capture of its
//! text and its original, if they are others.

use std::sync::Arc;

use access::{Access, AccessFilter, AccessFilterId, KeyRanges, Matcher};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use rustc_hash::FxHashSet;
use tantivy::columnar::{Column, StrColumn, TermOrdHit};
use tantivy::index::SegmentId;
use tantivy::{DocId, Searcher, SegmentReader};

use crate::dates;
use crate::documents::hash::hash;
use crate::documents::schema;
use crate::query::Versions;

/// Memory for bits, in bytes. A sight needs 125 KB per million pages.
const KEPT_BYTES: u64 = 64 << 20;

/// Estimated memory per entry in addition to the bits.
const ENTRY_BYTES: u64 = 96;

/// Estimated bytes of one segment's bits, to size the cache.
const BITS_BYTES: u64 = 8192;

/// Number of keys that can be read in order in the time of one lookup in the dictionary (measured:
/// 0.1 and 2.5 us).
const KEYS_OF_A_LOOKUP: usize = 25;

/// One bit for each document of a segment.
#[derive(Debug, Clone)]
pub(crate) struct Bits(Arc<[u64]>);

impl Bits {
    fn from_fn(count: u32, mut is_set: impl FnMut(u32) -> bool) -> Bits {
        let word = |number: u32| {
            let first = number * 64;
            (first..count.min(first + 64)).fold(0, |word, bit| word | u64::from(is_set(bit)) << (bit - first))
        };
        Bits((0..count.div_ceil(64)).map(word).collect())
    }

    /// Creates bits from words of 64, least significant bit first.
    pub(crate) fn from_words(words: Vec<u64>) -> Bits {
        Bits(words.into())
    }

    /// Returns whether the bit of a document is set; false if the segment has no such document.
    pub(crate) fn has(&self, document: DocId) -> bool {
        let word = self.0.get(document as usize / 64);
        word.is_some_and(|word| word >> (document % 64) & 1 == 1)
    }
}

/// The visible documents of each segment of a searcher.
#[derive(Debug, Clone)]
pub(crate) struct VisibleDocs {
    name: VisibleDocsKey,
    /// In the order of the searcher's segments; `None` if the whole segment is visible.
    segments: Vec<Option<Bits>>,
}

/// The sight and versions that visible documents are computed for.
pub(crate) type VisibleDocsKey = (Option<AccessFilterId>, Versions);

impl VisibleDocs {
    /// Returns the sight and versions that it was computed for.
    pub(crate) fn name(&self) -> VisibleDocsKey {
        self.name
    }

    /// Returns the bits of the segment with this number; `None` if all of its documents are
    /// visible.
    pub(crate) fn of_segment(&self, segment: usize) -> Option<&Bits> {
        self.segments.get(segment)?.as_ref()
    }
}

/// Recently computed bits.
pub(crate) struct VisibleDocsCache {
    cache: Cache<VisibleDocsCacheKey, Option<Bits>, ByBytes>,
}

/// Identifies bits in the cache.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct VisibleDocsCacheKey {
    segment: SegmentId,
    /// `None` for callers who see everything.
    sight: Option<AccessFilterId>,
    versions: Versions,
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<VisibleDocsCacheKey, Option<Bits>> for ByBytes {
    fn weight(&self, _: &VisibleDocsCacheKey, bits: &Option<Bits>) -> u64 {
        ENTRY_BYTES + bits.as_ref().map_or(0, |bits| 8 * bits.0.len() as u64)
    }
}

impl VisibleDocsCache {
    pub(crate) fn new() -> VisibleDocsCache {
        VisibleDocsCache {
            cache: Cache::with_weighter((KEPT_BYTES / BITS_BYTES) as usize, KEPT_BYTES, ByBytes),
        }
    }

    /// Returns the documents of a searcher that `sight` can see.
    pub(crate) fn of(
        &self,
        searcher: &Searcher,
        sight: &AccessFilter,
        versions: Versions,
    ) -> tantivy::Result<VisibleDocs> {
        let sight = (!sight.sees_everything()).then_some(sight);
        let bits = |reader: &SegmentReader| {
            let name = VisibleDocsCacheKey {
                segment: reader.segment_id(),
                sight: sight.map(AccessFilter::id),
                versions,
            };
            // If several callers need the same bits, one computes them and the others wait.
            self.cache
                .get_or_insert_with(&name, || bits_of(reader, sight, versions))
        };
        let segments = searcher.segment_readers().iter().map(bits);
        Ok(VisibleDocs {
            name: (sight.map(AccessFilter::id), versions),
            segments: segments.collect::<tantivy::Result<_>>()?,
        })
    }
}

/// Returns the bits of a segment; `None` if all would be set.
fn bits_of(
    reader: &SegmentReader,
    sight: Option<&AccessFilter>,
    versions: Versions,
) -> tantivy::Result<Option<Bits>> {
    let until = match versions {
        Versions::Current => Some(reader.fast_fields().u64(schema::UNTIL)?),
        Versions::All => None,
    };
    // Most segments have no past versions.
    let until = until.filter(|until| until.min_value() < schema::CURRENT);
    let is_current = |document| {
        let until = until.as_ref().map(|until| until.first(document));
        until.is_none_or(|until| until == Some(schema::CURRENT))
    };
    match sight {
        None if until.is_none() => Ok(None),
        None => Ok(Some(Bits::from_fn(reader.max_doc(), is_current))),
        Some(sight) => bits_of_sight(reader, sight, &is_current).map(Some),
    }
}

/// Computes the bits for a sight in one scan of the segment.
fn bits_of_sight(
    reader: &SegmentReader,
    sight: &AccessFilter,
    is_wanted: &dyn Fn(DocId) -> bool,
) -> tantivy::Result<Bits> {
    let columns = Columns::open(reader)?;
    let tests = |clauses: &[Matcher]| -> tantivy::Result<Vec<Test>> {
        clauses.iter().map(|clause| Test::new(clause, &columns)).collect()
    };
    let (deny, allow) = (tests(sight.deny())?, tests(sight.allow())?);
    let is_open = sight.default() == Access::Allow;
    if deny.iter().chain(&allow).all(Test::is_of_keys) {
        let holds = |tests: &[Test], key| tests.iter().any(|test| test.holds_for_key(key));
        let sees = |key| !holds(&deny, key) && (is_open || holds(&allow, key));
        return Ok(Bits::from_fn(reader.max_doc(), |document| {
            is_wanted(document)
                && sees(Key::Own(columns.key_of(document)))
                && columns.original_of(document).is_none_or(|(key, _)| sees(key))
        }));
    }
    let sees = |subject: &Subject| {
        !deny.iter().any(|test| test.holds(subject))
            && (is_open || allow.iter().any(|test| test.holds(subject)))
    };
    Ok(Bits::from_fn(reader.max_doc(), |document| {
        is_wanted(document) && columns.all_of(document, &sees)
    }))
}

/// The columns that access rules test.
struct Columns {
    keys: Option<StrColumn>,
    mimes: Option<StrColumn>,
    collections: Option<StrColumn>,
    digests: Column<u64>,
    dates: Column<u64>,
    original_keys: Option<StrColumn>,
    original_dates: Column<u64>,
}

/// The ordinal of a key, in the dictionary of document keys or of original keys.
#[derive(Debug, Clone, Copy)]
enum Key {
    Own(u64),
    Original(u64),
}

/// A capture of a document as in the columns; text is given by its ordinal.
struct Subject {
    key: Key,
    mime: u64,
    collection: u64,
    digest: u64,
    date: u64,
}

impl Columns {
    fn open(reader: &SegmentReader) -> tantivy::Result<Columns> {
        let fast = reader.fast_fields();
        Ok(Columns {
            keys: fast.str(schema::KEY)?,
            mimes: fast.str(schema::MIME_OF)?,
            collections: fast.str(schema::COLLECTION_OF)?,
            digests: fast.u64(schema::DIGEST)?,
            dates: fast.u64(schema::DATE)?,
            original_keys: fast.str(schema::ORIGINAL_KEY)?,
            original_dates: fast.u64(schema::ORIGINAL_DATE)?,
        })
    }

    /// Returns the ordinal of a document's key.
    fn key_of(&self, document: DocId) -> u64 {
        let key = self.keys.as_ref().and_then(|keys| keys.ords().first(document));
        // A missing key gets an ordinal that is not in the dictionary.
        key.unwrap_or(u64::MAX)
    }

    /// Returns key and time of a document's original, if it has one.
    fn original_of(&self, document: DocId) -> Option<(Key, u64)> {
        let date = self.original_dates.first(document)?;
        let keys = self.original_keys.as_ref();
        let key = keys.and_then(|keys| keys.ords().first(document));
        Some((Key::Original(key.unwrap_or(u64::MAX)), date))
    }

    /// Returns whether `sees` is true for each capture of a document.
    fn all_of<'c>(&'c self, document: DocId, sees: &dyn Fn(&Subject) -> bool) -> bool {
        let all = |column: &'c Option<StrColumn>| {
            column
                .iter()
                .flat_map(move |column| column.ords().values_for_doc(document))
        };
        let key = self.key_of(document);
        let date = self.dates.first(document).unwrap_or(0);
        let (mut collections, mut mimes) = (all(&self.collections), all(&self.mimes));
        let mut digests = self.digests.values_for_doc(document);
        let mut any = false;
        let original = self.original_of(document);
        let mut left = self.digests.values_for_doc(document).count();
        loop {
            left = left.saturating_sub(1);
            // The original is the last capture.
            let (key, date) = match original {
                Some(original) if left == 0 => original,
                _ => (Key::Own(key), date),
            };
            let subject = match (collections.next(), mimes.next(), digests.next()) {
                (Some(collection), Some(mime), Some(digest)) => Subject {
                    key,
                    mime,
                    collection,
                    digest,
                    date,
                },
                // Every document has at least one capture. Without one, only callers who see
                // everything see it.
                (None, None, None) => return any,
                _ => return false,
            };
            if !sees(&subject) {
                return false;
            }
            any = true;
        }
    }
}

/// A clause of the rules, prepared for one segment.
struct Test {
    /// By ordinal of the key.
    keys: Option<Bits>,
    /// By ordinal of an original's key.
    original_keys: Option<Bits>,
    /// By ordinal of the media type.
    mimes: Option<Vec<bool>>,
    /// Ordinal of the collection; not in the dictionary if no document has the collection.
    collection: Option<u64>,
    digests: Option<FxHashSet<u64>>,
    dates: (u64, u64),
}

/// An ordinal of neither a text in a dictionary nor a missing text.
const NO_ORDINAL: u64 = u64::MAX - 1;

impl Test {
    fn new(clause: &Matcher, columns: &Columns) -> tantivy::Result<Test> {
        let bits = |column: &Option<StrColumn>| -> tantivy::Result<Option<Bits>> {
            Ok(match (&clause.keys, column) {
                (Some(ranges), Some(column)) => Some(bits_of_keys(ranges, column)?),
                (Some(_), None) => Some(Bits::from_fn(0, |_| false)),
                (None, _) => None,
            })
        };
        let (keys, original_keys) = (bits(&columns.keys)?, bits(&columns.original_keys)?);
        let mimes = match &clause.mime {
            Some(_) => Some(mimes_of(clause, columns.mimes.as_ref())?),
            None => None,
        };
        let collection = match (&clause.collection, &columns.collections) {
            (Some(wanted), Some(column)) => Some(
                column
                    .dictionary()
                    .term_ord(wanted.as_bytes())?
                    .unwrap_or(NO_ORDINAL),
            ),
            (Some(_), None) => Some(NO_ORDINAL),
            (None, _) => None,
        };
        let hashes = |digests: &std::collections::BTreeSet<String>| {
            digests.iter().map(|digest| hash(digest)).collect()
        };
        let (first_ms, last_ms) = clause.fetch_time_ms;
        Ok(Test {
            keys,
            original_keys,
            mimes,
            collection,
            digests: clause.digests.as_ref().map(hashes),
            // Both bounds are whole seconds, like the times of documents.
            dates: (
                if first_ms == i64::MIN {
                    0
                } else {
                    dates::digits_of_ms(first_ms)
                },
                if last_ms == i64::MAX {
                    u64::MAX
                } else {
                    dates::digits_of_ms(last_ms)
                },
            ),
        })
    }

    /// Returns whether the clause tests the key only.
    fn is_of_keys(&self) -> bool {
        self.mimes.is_none()
            && self.collection.is_none()
            && self.digests.is_none()
            && self.dates == (0, u64::MAX)
    }

    fn holds_for_key(&self, key: Key) -> bool {
        let (keys, key) = match key {
            Key::Own(key) => (&self.keys, key),
            Key::Original(key) => (&self.original_keys, key),
        };
        keys.as_ref()
            .is_none_or(|keys| u32::try_from(key).is_ok_and(|key| keys.has(key)))
    }

    fn holds(&self, subject: &Subject) -> bool {
        let (first, last) = self.dates;
        first <= subject.date
            && subject.date <= last
            && self.collection.is_none_or(|wanted| wanted == subject.collection)
            && self.holds_for_key(subject.key)
            && self
                .mimes
                .as_ref()
                .is_none_or(|mimes| mimes.get(subject.mime as usize) == Some(&true))
            && self
                .digests
                .as_ref()
                .is_none_or(|digests| digests.contains(&subject.digest))
    }
}

/// Returns a bit for each ordinal of a dictionary of keys.
pub(crate) fn bits_of_keys(ranges: &KeyRanges, column: &StrColumn) -> tantivy::Result<Bits> {
    // Ranges and keys are both in ascending order, so one pass over both is enough.
    let ranges = ranges.ranges().iter();
    let bounds = ranges.map(|range| (schema::bound(&range.start), schema::bound(&range.end)));
    let count = column.num_terms();
    if bounds.len() * 2 * KEYS_OF_A_LOOKUP > count {
        let mut bounds = bounds.peekable();
        let mut keys = column.dictionary().stream()?;
        return Ok(Bits::from_fn(count as u32, |_| {
            if !keys.advance() {
                return false;
            }
            while bounds.next_if(|(_, end)| end.as_bytes() <= keys.key()).is_some() {}
            bounds
                .peek()
                .is_some_and(|(start, _)| start.as_bytes() <= keys.key())
        }));
    }
    let ordinal = |key: &str| {
        Ok::<_, tantivy::TantivyError>(match column.dictionary().term_ord_or_next(key.as_bytes())? {
            TermOrdHit::Exact(ordinal) | TermOrdHit::Next(ordinal) => ordinal,
        })
    };
    let mut spans = Vec::with_capacity(bounds.len());
    for (start, end) in bounds {
        spans.push((ordinal(&start)?, ordinal(&end)?));
    }
    let mut spans = spans.into_iter().peekable();
    Ok(Bits::from_fn(count as u32, |ordinal| {
        let ordinal = u64::from(ordinal);
        while spans.next_if(|(_, end)| *end <= ordinal).is_some() {}
        spans.peek().is_some_and(|(start, _)| *start <= ordinal)
    }))
}

/// Returns for each ordinal of a dictionary of media types whether the clause includes it.
fn mimes_of(clause: &Matcher, column: Option<&StrColumn>) -> tantivy::Result<Vec<bool>> {
    let Some(column) = column else {
        return Ok(Vec::new());
    };
    let ordinals: Vec<u64> = (0..column.num_terms() as u64).collect();
    let mut meant = Vec::with_capacity(ordinals.len());
    column.dictionary().sorted_ords_to_term_cb(&ordinals, |mime| {
        meant.push(clause.has_mime(&String::from_utf8_lossy(mime)));
    })?;
    Ok(meant)
}
