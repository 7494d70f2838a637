//! A query for the documents whose text is a near-duplicate of a given one. It scans the column of
//! likenesses once, at about a nanosecond per document.

use tantivy::query::{ConstScorer, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::{DocId, Score, SegmentReader};

use crate::documents::keys::Documents;
use crate::documents::schema;
use crate::words::likeness;

/// Matches near-duplicates of this likeness.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LikeQuery(pub(crate) u64);

impl Query for LikeQuery {
    fn weight(&self, _: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(*self))
    }
}

impl Weight for LikeQuery {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let column = reader.fast_fields().u64(schema::LIKENESS)?;
        let is_near = |document: &DocId| {
            let other = column.first(*document);
            other.is_some_and(|other| likeness::are_near(self.0, other))
        };
        let documents = (0..reader.max_doc()).filter(is_near).collect();
        Ok(Box::new(ConstScorer::new(Documents::new(documents), boost)))
    }

    fn explain(&self, _: &SegmentReader, _: DocId) -> tantivy::Result<Explanation> {
        Ok(Explanation::new("a near-duplicate", 0.0))
    }
}
