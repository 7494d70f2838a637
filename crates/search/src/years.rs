//! How many documents there are of each year, so that a count of matches can be seen beside them.

use std::sync::Arc;

use quick_cache::sync::Cache;
use rustc_hash::FxHashMap;
use tantivy::index::SegmentId;
use tantivy::{Opstamp, Searcher, SegmentReader};

use crate::results::YearCount;
use crate::visible::{Bits, Visible, VisibleName};
use crate::{dates, schema};

/// Counts of segments that are kept: a few KB for each sight.
const KEPT_MAX: usize = 10_000;

/// A segment with certain deletions, as somebody sees it.
type Name = (SegmentId, Option<Opstamp>, VisibleName);

/// Documents of each year, kept for the next search.
pub(crate) struct Years {
    kept: Cache<Name, Arc<FxHashMap<u64, u64>>>,
}

impl Years {
    pub(crate) fn new() -> Years {
        Years {
            kept: Cache::new(KEPT_MAX),
        }
    }

    /// Matches of each year among the documents that are seen, in order of the years.
    pub(crate) fn beside(
        &self,
        searcher: &Searcher,
        visible: &Visible,
        mut matches: FxHashMap<u64, u64>,
    ) -> tantivy::Result<Vec<YearCount>> {
        let mut documents: FxHashMap<u64, u64> = FxHashMap::default();
        for (segment, reader) in searcher.segment_readers().iter().enumerate() {
            let name = (reader.segment_id(), reader.delete_opstamp(), visible.name());
            let count = || count(reader, visible.of_segment(segment)).map(Arc::new);
            for (&year, &count) in self.kept.get_or_insert_with(&name, count)?.iter() {
                *documents.entry(year).or_default() += count;
            }
        }
        let mut years: Vec<YearCount> = documents
            .into_iter()
            .map(|(year, documents)| YearCount {
                year,
                count: matches.remove(&year).unwrap_or(0),
                documents,
            })
            .collect();
        years.sort_unstable_by_key(|count| count.year);
        Ok(years)
    }
}

fn count(reader: &SegmentReader, visible: Option<&Bits>) -> tantivy::Result<FxHashMap<u64, u64>> {
    let dates = reader.fast_fields().u64(schema::DATE)?;
    let mut years = FxHashMap::default();
    for document in reader.doc_ids_alive() {
        if visible.is_none_or(|bits| bits.has(document)) {
            let year = dates::year_of(dates.first(document).unwrap_or(0));
            *years.entry(year).or_default() += 1;
        }
    }
    Ok(years)
}
