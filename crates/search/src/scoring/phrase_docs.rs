//! The pages of a segment that have words next to each other, and how often.

use std::sync::Arc;

use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, SegmentReader, TERMINATED};

use crate::documents::schema::TextFields;
use crate::scoring::forms::{FormDocs, Forms};
use crate::scoring::lists::Lists;

/// The pages that have words at relative positions. Any form of a word that has positions matches.
pub(crate) struct PhraseDocs {
    /// Rarest word first. Positions are shifted by the offset of the word, so that those of one
    /// occurrence of the phrase are equal.
    words: Vec<(u32, FormDocs)>,
    doc: DocId,
    /// Number of occurrences in the current document.
    count: u32,
    /// Positions of the occurrences, for the words compared so far.
    starts: Vec<u32>,
    positions: Vec<u32>,
}

impl PhraseDocs {
    /// Opens words with their offsets; at least one.
    pub(crate) fn open(
        words: &[(usize, Arc<Forms>)],
        text_fields: TextFields,
        lists: &Lists,
        reader: &SegmentReader,
    ) -> tantivy::Result<PhraseDocs> {
        let last = words.iter().map(|(offset, _)| *offset).max().unwrap_or(0);
        let mut opened = Vec::with_capacity(words.len());
        for (offset, forms) in words {
            let docs = lists.open(
                forms,
                reader,
                text_fields,
                IndexRecordOption::WithFreqsAndPositions,
            )?;
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

    /// Returns the number of occurrences in the current document.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Finds the next document with the phrase, starting at the current document of the first word.
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

    /// Returns the next document that has all words, starting at the current document of the first.
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

/// Keeps the entries of `kept` that are also in `other`. Both are ascending.
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
        // Only some of the pages with all words have the phrase, so estimate fewer. An intersection
        // starts with its smallest member.
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
