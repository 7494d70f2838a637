//! In-link buckets of the documents: one byte each, in memory, outside the index.
//!
//! A page gains in-links while its text stays the same. If the bucket were a field of the document,
//! each change would index the document again. Buckets on disk are a log of changes
//! ([`crate::documents::bucket_log`]); this module holds the resulting buckets of the searchable
//! documents. A bucket belongs to the hash of a key. Two pages with the same hash (not expected
//! below four thousand million pages) would only share a bucket.
//!
//! Invariant: the bucket of a live document is the last one given for its key, with the document or
//! later.

use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use tantivy::index::SegmentId;
use tantivy::{Searcher, SegmentReader};

use crate::documents::bucket_log::{self, LogEnd};
use crate::documents::keys::each_hash;

/// Maximum number of log records held in memory at once.
const RECORDS_MAX: u64 = 4_000_000;

/// Buckets by the hash of the key.
pub(crate) type BucketChanges = FxHashMap<u64, u8>;

/// Buckets of the documents of a searcher.
#[derive(Debug, Default)]
pub(crate) struct Buckets {
    /// In the order of the searcher's segments; indexed by document.
    segments: Vec<(SegmentId, Arc<[u8]>)>,
}

impl Buckets {
    /// Reads the buckets from the log.
    pub(crate) fn from_log(searcher: &Searcher, dir: &Path, end: LogEnd) -> tantivy::Result<Buckets> {
        let readers = searcher.segment_readers();
        let none = |reader: &SegmentReader| vec![0; reader.max_doc() as usize];
        let mut segments: Vec<Vec<u8>> = readers.iter().map(none).collect();
        let parts = end.records() / RECORDS_MAX + 1;
        for part in 0..parts {
            let mut changes = BucketChanges::default();
            bucket_log::read(dir, end, |hash, bucket| {
                if hash % parts == part {
                    changes.insert(hash, bucket);
                }
            })?;
            if changes.is_empty() {
                continue;
            }
            for (reader, buckets) in readers.iter().zip(&mut segments) {
                set(reader, buckets, &changes)?;
            }
        }
        let of = |(reader, buckets): (&SegmentReader, Vec<u8>)| (reader.segment_id(), buckets.into());
        Ok(Buckets {
            segments: readers.iter().zip(segments).map(of).collect(),
        })
    }

    /// Returns the buckets for `searcher`. They are derived from these, which are for the older
    /// searcher `before`, and from the buckets `changes` since. The log need not be read: each
    /// document is in one of the old segments, was merged from them, or was added since with its
    /// bucket.
    pub(crate) fn updated(
        &self,
        before: &Searcher,
        searcher: &Searcher,
        changes: &BucketChanges,
    ) -> tantivy::Result<Buckets> {
        let readers = searcher.segment_readers();
        let stays = |id| readers.iter().any(|reader| reader.segment_id() == id);
        let mut moved = BucketChanges::default();
        for (reader, (id, buckets)) in before.segment_readers().iter().zip(&self.segments) {
            if !stays(*id) {
                each_hash(reader, |document, hash| {
                    let bucket = buckets[document as usize];
                    // A deleted document may hold the bucket of a page that no longer exists.
                    if bucket > 0 && !reader.is_deleted(document) {
                        moved.insert(hash, bucket);
                    }
                })?;
            }
        }
        moved.extend(changes.iter().map(|(&hash, &bucket)| (hash, bucket)));
        let segments = readers.iter().map(|reader| {
            let id = reader.segment_id();
            let buckets = match self.segments.iter().find(|(known, _)| *known == id) {
                Some((_, buckets)) if changes.is_empty() => Arc::clone(buckets),
                Some((_, buckets)) => {
                    let mut buckets = buckets.to_vec();
                    set(reader, &mut buckets, changes)?;
                    buckets.into()
                }
                None => {
                    let mut buckets = vec![0; reader.max_doc() as usize];
                    set(reader, &mut buckets, &moved)?;
                    buckets.into()
                }
            };
            Ok((id, buckets))
        });
        Ok(Buckets {
            segments: segments.collect::<tantivy::Result<_>>()?,
        })
    }

    /// Returns the buckets of the segment with this number.
    pub(crate) fn of_segment(&self, segment: usize) -> Arc<[u8]> {
        self.segments
            .get(segment)
            .map_or_else(Arc::default, |(_, buckets)| Arc::clone(buckets))
    }

    /// Calls `each` with the hash and bucket of every live document that has in-links.
    pub(crate) fn each(&self, searcher: &Searcher, mut each: impl FnMut(u64, u8)) -> tantivy::Result<()> {
        for (reader, (_, buckets)) in searcher.segment_readers().iter().zip(&self.segments) {
            each_hash(reader, |document, hash| {
                let bucket = buckets[document as usize];
                if bucket > 0 && !reader.is_deleted(document) {
                    each(hash, bucket);
                }
            })?;
        }
        Ok(())
    }
}

fn set(reader: &SegmentReader, buckets: &mut [u8], changes: &BucketChanges) -> tantivy::Result<()> {
    each_hash(reader, |document, hash| {
        if let Some(&bucket) = changes.get(&hash) {
            buckets[document as usize] = bucket;
        }
    })
}
