//! A query for the documents whose URL key is in given ranges. It finds the ordinals of the keys in
//! the dictionary and scans the column once.

use access::KeyRanges;
use tantivy::query::{ConstScorer, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::{DocId, Score, SegmentReader};

use crate::documents::keys::Documents;
use crate::documents::schema;
use crate::filter::visible;

/// Matches keys in these ranges.
#[derive(Debug, Clone)]
pub(crate) struct KeysQuery(pub(crate) KeyRanges);

impl Query for KeysQuery {
    fn weight(&self, _: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(self.clone()))
    }
}

impl Weight for KeysQuery {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let documents = match reader.fast_fields().str(schema::KEY)? {
            Some(column) => {
                let keys = visible::bits_of_keys(&self.0, &column)?;
                let is_in = |document: &DocId| {
                    let key = column.ords().first(*document);
                    key.and_then(|key| u32::try_from(key).ok())
                        .is_some_and(|key| keys.has(key))
                };
                (0..reader.max_doc()).filter(is_in).collect()
            }
            None => Vec::new(),
        };
        Ok(Box::new(ConstScorer::new(Documents::new(documents), boost)))
    }

    fn explain(&self, _: &SegmentReader, _: DocId) -> tantivy::Result<Explanation> {
        Ok(Explanation::new("a URL prefix", 0.0))
    }
}
