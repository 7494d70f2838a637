//! Counts the documents of each year, to compare numbers of matches with.

use std::sync::Arc;

use quick_cache::sync::Cache;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tantivy::index::SegmentId;
use tantivy::{Opstamp, Searcher, SegmentReader};

use crate::dates;
use crate::documents::schema;
use crate::filter::visible::{Bits, VisibleDocs, VisibleDocsKey};

/// Versions of pages whose last capture is in a year.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct YearCount {
    /// The year.
    #[cfg_attr(feature = "schema", schemars(example = &2014))]
    pub year: u64,
    /// Number of results.
    pub count: u64,
    /// Number of all documents searched for that year, matching or not.
    pub documents: u64,
}

/// Maximum number of cached counts: a few KB for each sight.
const KEPT_MAX: usize = 10_000;

/// Identifies a segment with its deletions, as seen with a sight.
type Name = (SegmentId, Option<Opstamp>, VisibleDocsKey);

/// A cache of the documents of each year.
pub(crate) struct Years {
    cache: Cache<Name, Arc<FxHashMap<u64, u64>>>,
}

impl Years {
    pub(crate) fn new() -> Years {
        Years {
            cache: Cache::new(KEPT_MAX),
        }
    }

    /// Returns the matches of each year with the number of visible documents, in the order of the
    /// years.
    pub(crate) fn with_document_counts(
        &self,
        searcher: &Searcher,
        visible: &VisibleDocs,
        mut matches: FxHashMap<u64, u64>,
    ) -> tantivy::Result<Vec<YearCount>> {
        let mut documents: FxHashMap<u64, u64> = FxHashMap::default();
        for (segment, reader) in searcher.segment_readers().iter().enumerate() {
            let name = (reader.segment_id(), reader.delete_opstamp(), visible.name());
            let count = || count(reader, visible.of_segment(segment)).map(Arc::new);
            for (&year, &count) in self.cache.get_or_insert_with(&name, count)?.iter() {
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
