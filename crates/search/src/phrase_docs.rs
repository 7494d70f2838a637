//! The pages of a segment with words next to each other, and how often.

use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, SegmentReader, TERMINATED};

use crate::forms::{FormDocs, Forms, Place};

/// The pages with words at relative positions, in any of their forms with a position.
pub(crate) struct PhraseDocs {
    /// The rarest first. Positions are moved by the offset, so that those of one occurrence are the same.
    words: Vec<(u32, FormDocs)>,
    doc: DocId,
    /// Occurrences in the document.
    count: u32,
    /// Where the occurrences stand, as far as words were looked at.
    starts: Vec<u32>,
    positions: Vec<u32>,
}

impl PhraseDocs {
    /// Of words with their offsets; at least one.
    pub(crate) fn open(
        words: &[(usize, Forms)],
        place: Place,
        reader: &SegmentReader,
    ) -> tantivy::Result<PhraseDocs> {
        let last = words.iter().map(|(offset, _)| *offset).max().unwrap_or(0);
        let mut opened = Vec::with_capacity(words.len());
        for (offset, forms) in words {
            let docs = forms.open(reader, place, IndexRecordOption::WithFreqsAndPositions)?;
            // A query has at most 8,192 bytes, and so fewer words.
            opened.push(((last - offset) as u32, docs));
        }
        opened.sort_by_key(|(_, docs)| docs.size_hint());
        let mut docs = PhraseDocs {
            words: opened,
            doc: 0,
            count: 0,
            starts: Vec::new(),
            positions: Vec::new(),
        };
        docs.settle();
        Ok(docs)
    }

    /// Occurrences in the document.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Finds the next document with the phrase, from where the first word stands.
    fn settle(&mut self) {
        loop {
            self.doc = self.common_doc();
            if self.doc == TERMINATED {
                return;
            }
            self.count = self.occurrences();
            if self.count > 0 {
                return;
            }
            self.words[0].1.advance();
        }
    }

    /// The next document that has all words, from where the first stands.
    fn common_doc(&mut self) -> DocId {
        let Some(mut target) = self.words.first().map(|(_, docs)| docs.doc()) else {
            return TERMINATED;
        };
        let mut index = 0;
        while target != TERMINATED && index < self.words.len() {
            let docs = &mut self.words[index].1;
            let doc = if docs.doc() < target {
                docs.seek(target)
            } else {
                docs.doc()
            };
            if doc > target {
                target = doc;
                index = 0;
            } else {
                index += 1;
            }
        }
        target
    }

    fn occurrences(&mut self) -> u32 {
        for (index, (shift, docs)) in self.words.iter_mut().enumerate() {
            docs.positions(*shift, &mut self.positions);
            if index == 0 {
                std::mem::swap(&mut self.starts, &mut self.positions);
            } else {
                keep_common(&mut self.starts, &self.positions);
            }
            if self.starts.is_empty() {
                return 0;
            }
        }
        self.starts.len() as u32
    }
}

/// Leaves of `kept` what is in `other` too; both ascend.
fn keep_common(kept: &mut Vec<u32>, other: &[u32]) {
    let mut rest = other.iter().peekable();
    kept.retain(|position| {
        while rest.next_if(|other| *other < position).is_some() {}
        rest.peek() == Some(&position)
    });
}

impl DocSet for PhraseDocs {
    fn advance(&mut self) -> DocId {
        if self.doc != TERMINATED {
            self.words[0].1.advance();
            self.settle();
        }
        self.doc
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.doc < target {
            let first = &mut self.words[0].1;
            if first.doc() < target {
                first.seek(target);
            }
            self.settle();
        }
        self.doc
    }

    fn doc(&self) -> DocId {
        self.doc
    }

    fn size_hint(&self) -> u32 {
        // Of the pages that have all words some have the phrase: what is sought first should be what is rarer.
        self.words.first().map_or(0, |(_, docs)| docs.size_hint() / 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_lists_share_is_kept() {
        let mut kept = vec![1, 3, 5, 9];
        keep_common(&mut kept, &[0, 3, 4, 9, 10]);
        assert_eq!(kept, [3, 9]);
        keep_common(&mut kept, &[]);
        assert_eq!(kept, [0; 0]);
    }
}
