//! Merges deleted documents away when a load has ended.
//!
//! tantivy's merge policy considers segments of one size at a time, tolerates a fifth of deleted
//! documents in each, and is asked only after a commit. So it can leave many deleted documents.

use tantivy::index::SegmentId;

use super::shared::{Shared, State};
use crate::error::ApplyError;

/// With this many segments, merges are due or running.
const SEGMENTS_MAX: usize = 16;

/// The size of a segment on disk.
#[derive(Debug, Clone, Copy)]
struct SegmentSize {
    id: SegmentId,
    documents: u64,
    /// Part of `documents`.
    deleted: u64,
}

impl Shared {
    /// Waits until no merge is running or due, and makes the outcome searchable. The caller has
    /// committed.
    pub(super) fn wait_for_merges(&self, state: &mut State) -> Result<(), ApplyError> {
        let waited = match state.writer.take() {
            Some(writer) => writer.wait_for_merges(),
            None => Ok(()),
        };
        if let Err(error) = waited {
            return Err(self.fail(state, error));
        }
        self.follow_merges(state);
        Ok(())
    }

    /// See [`SearchIndex::compact`](super::SearchIndex::compact). The caller has committed.
    pub(super) fn compact(&self, state: &mut State, deleted_percent_max: u64) -> Result<(), ApplyError> {
        let segments = self.segments(state)?;
        if segments.len() < SEGMENTS_MAX && !is_above(&segments, deleted_percent_max) {
            return Ok(());
        }
        self.wait_for_merges(state)?;
        let chosen = to_merge(self.segments(state)?, deleted_percent_max);
        if chosen.is_empty() {
            return Ok(());
        }
        let merged = self.writer(state).and_then(|writer| writer.merge(&chosen));
        if let Err(error) = merged {
            return Err(self.fail(state, error));
        }
        self.follow_merges(state);
        Ok(())
    }

    /// Returns the segments of the last commit, with the merges since.
    fn segments(&self, state: &mut State) -> Result<Vec<SegmentSize>, ApplyError> {
        let metas = match self.index.searchable_segment_metas() {
            Ok(metas) => metas,
            Err(error) => return Err(self.fail(state, error)),
        };
        let sizes = metas.iter().map(|meta| SegmentSize {
            id: meta.id(),
            documents: u64::from(meta.max_doc()),
            deleted: u64::from(meta.num_deleted_docs()),
        });
        Ok(sizes.collect())
    }
}

fn totals(segments: &[SegmentSize]) -> (u64, u64) {
    let documents = segments.iter().map(|segment| segment.documents).sum();
    (documents, segments.iter().map(|segment| segment.deleted).sum())
}

fn is_above(segments: &[SegmentSize], deleted_percent_max: u64) -> bool {
    let (documents, deleted) = totals(segments);
    deleted * 100 > deleted_percent_max * documents
}

/// Returns the segments to merge so that the share of deleted documents falls to half of the limit,
/// those with the most deleted documents first; none if the share is within the limit.
fn to_merge(mut segments: Vec<SegmentSize>, deleted_percent_max: u64) -> Vec<SegmentId> {
    if !is_above(&segments, deleted_percent_max) {
        return Vec::new();
    }
    let (mut documents, mut deleted) = totals(&segments);
    segments.sort_unstable_by_key(|segment| std::cmp::Reverse(segment.deleted));
    let mut chosen = Vec::new();
    for segment in segments {
        if deleted * 200 <= deleted_percent_max * documents {
            break;
        }
        documents -= segment.deleted;
        deleted -= segment.deleted;
        chosen.push(segment.id);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Documents and deleted ones of each segment, and the segments that are merged.
    type Case = (&'static [(u64, u64)], &'static [usize]);

    #[test]
    fn the_fewest_segments_are_merged() {
        let cases: [Case; 5] = [
            (&[], &[]),
            (&[(100, 5)], &[]),
            (&[(100, 6)], &[0]),
            (&[(900, 2), (100, 60), (50, 50)], &[1, 2]),
            (&[(1000, 0), (500, 30), (500, 90)], &[2]),
        ];
        for (sizes, merged) in cases {
            let segments: Vec<SegmentSize> = sizes
                .iter()
                .map(|&(documents, deleted)| SegmentSize {
                    id: SegmentId::generate_random(),
                    documents,
                    deleted,
                })
                .collect();
            let expected: Vec<SegmentId> = merged.iter().map(|&number| segments[number].id).collect();
            assert_eq!(to_merge(segments, 5), expected, "{sizes:?}");
        }
    }
}
