//! The documents that match a query, as one bit per document.

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::{DocId, Score, SegmentOrdinal, SegmentReader};

use crate::filter::visible::{Bits, VisibleDocs};

/// Collects the visible documents that match: bits for each segment, in the order of the segments.
pub(crate) struct DocBits<'v> {
    pub(crate) visible: &'v VisibleDocs,
}

/// Collector of one segment.
pub(crate) struct SegmentDocs {
    visible: Option<Bits>,
    words: Vec<u64>,
}

impl Collector for DocBits<'_> {
    type Fruit = Vec<Bits>;
    type Child = SegmentDocs;

    fn for_segment(&self, segment: SegmentOrdinal, reader: &SegmentReader) -> tantivy::Result<SegmentDocs> {
        Ok(SegmentDocs {
            visible: self.visible.of_segment(segment as usize).cloned(),
            words: vec![0; reader.max_doc().div_ceil(64) as usize],
        })
    }

    fn requires_scoring(&self) -> bool {
        false
    }

    fn merge_fruits(&self, segments: Vec<Bits>) -> tantivy::Result<Vec<Bits>> {
        Ok(segments)
    }
}

impl SegmentCollector for SegmentDocs {
    type Fruit = Bits;

    fn collect(&mut self, document: DocId, _: Score) {
        let is_seen = self.visible.as_ref().is_none_or(|bits| bits.has(document));
        if let Some(word) = self.words.get_mut(document as usize / 64).filter(|_| is_seen) {
            *word |= 1 << (document % 64);
        }
    }

    fn harvest(self) -> Bits {
        Bits::from_words(self.words)
    }
}
