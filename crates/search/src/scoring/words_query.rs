//! The tantivy query for words: one word in its forms, or several adjacent ones.

use std::sync::Arc;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::query::{EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, Score, SeekDangerResult, SegmentReader};

use crate::documents::schema::TextFields;
use crate::scoring::bm25::Bm25;
use crate::scoring::bounded::Bounded;
use crate::scoring::form_counts::FormCounts;
use crate::scoring::forms::{FormDocs, Forms, FunctionWordLanguages, LanguageDocs};
use crate::scoring::lists::Lists;
use crate::scoring::phrase_docs::PhraseDocs;

/// Words at relative positions; usually one.
#[derive(Debug, Clone)]
pub(crate) struct WordsQuery {
    pub(crate) words: Vec<(usize, Arc<Forms>)>,
    pub(crate) text_fields: TextFields,
    pub(crate) lists: Arc<Lists>,
    /// How pages are scored; without it all scores are 0.
    pub(crate) scores: Option<Scores>,
}

/// How pages are scored.
#[derive(Debug, Clone)]
pub(crate) struct Scores {
    pub(crate) bm25: Bm25,
    /// How often the query has the words.
    pub(crate) times: u32,
    /// Languages in which the words score nothing.
    pub(crate) function_words: FunctionWordLanguages,
}

impl WordsQuery {
    /// Returns an upper bound of the score of any page.
    pub(crate) fn most(&self) -> Score {
        let most = |scores: &Scores| scores.bm25.most() * scores.times as Score;
        self.scores.as_ref().map_or(0.0, most)
    }

    /// Opens the matching pages of a segment, with their scores.
    pub(crate) fn open(&self, reader: &SegmentReader) -> tantivy::Result<Box<dyn Scorer>> {
        self.open_with(self.scores.as_ref(), reader)
    }

    /// Opens the matching pages of a segment, without their scores.
    pub(crate) fn open_unscored(&self, reader: &SegmentReader) -> tantivy::Result<Box<dyn Scorer>> {
        self.open_with(None, reader)
    }

    fn open_with(&self, scores: Option<&Scores>, reader: &SegmentReader) -> tantivy::Result<Box<dyn Scorer>> {
        let scores = match scores {
            Some(scores) => Some(OpenScores {
                bm25: scores.bm25.clone(),
                most: self.most(),
                times: scores.times as Score,
                function_words: scores.function_words.open(reader, &self.lists)?,
                lengths: reader.get_fieldnorms_reader(self.text_fields.words)?,
            }),
            None => None,
        };
        if let [(_, forms)] = self.words.as_slice() {
            let option = match scores {
                Some(_) => IndexRecordOption::WithFreqs,
                None => IndexRecordOption::Basic,
            };
            let docs = self.lists.open(forms, reader, self.text_fields, option)?;
            return Ok(Box::new(WordsScorer { docs, scores }));
        }
        let docs = PhraseDocs::open(&self.words, self.text_fields, &self.lists, reader)?;
        Ok(Box::new(WordsScorer { docs, scores }))
    }
}

impl Query for WordsQuery {
    fn weight(&self, _: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(WordsWeight(self.clone())))
    }
}

struct WordsWeight(WordsQuery);

impl Weight for WordsWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        debug_assert!(boost == 1.0, "scores must stay exact, so they are never boosted");
        self.0.open(reader)
    }

    fn explain(&self, _: &SegmentReader, _: DocId) -> tantivy::Result<Explanation> {
        // `answer::explain` explains scores in terms of the query's words.
        Ok(Explanation::new("words", 0.0))
    }
}

/// Pages, and how often each matches.
pub(crate) trait Occurrences: DocSet + 'static {
    fn counts(&self) -> FormCounts;
}

impl Occurrences for FormDocs {
    fn counts(&self) -> FormCounts {
        self.occurrences()
    }
}

impl Occurrences for PhraseDocs {
    fn counts(&self) -> FormCounts {
        FormCounts {
            written: self.count(),
            ..FormCounts::default()
        }
    }
}

/// The matching pages of a segment.
pub(crate) struct WordsScorer<D> {
    docs: D,
    scores: Option<OpenScores>,
}

/// [`Scores`] for the pages of a segment.
struct OpenScores {
    bm25: Bm25,
    /// Upper bound of the score of any page.
    most: Score,
    times: Score,
    function_words: LanguageDocs,
    lengths: FieldNormReader,
}

impl<D: Occurrences> Scorer for WordsScorer<D> {
    fn score(&mut self) -> Score {
        let document = self.docs.doc();
        let Some(scores) = self
            .scores
            .as_ref()
            .filter(|scores| !scores.function_words.holds(document))
        else {
            return 0.0;
        };
        let length = scores.lengths.fieldnorm_id(document);
        // Round before multiplying, so that a word written twice counts exactly twice.
        scores.bm25.score(self.docs.counts(), length) * scores.times
    }
}

impl<D: Occurrences> Bounded for WordsScorer<D> {
    fn most(&self) -> Score {
        self.scores.as_ref().map_or(0.0, |scores| scores.most)
    }

    fn score_from(&mut self, wanted: Score) -> Option<Score> {
        (self.most() >= wanted).then(|| self.score())
    }
}

impl<D: Occurrences> DocSet for WordsScorer<D> {
    fn advance(&mut self) -> DocId {
        self.docs.advance()
    }

    fn seek(&mut self, target: DocId) -> DocId {
        self.docs.seek(target)
    }

    fn seek_danger(&mut self, target: DocId) -> SeekDangerResult {
        self.docs.seek_danger(target)
    }

    fn doc(&self) -> DocId {
        self.docs.doc()
    }

    fn size_hint(&self) -> u32 {
        self.docs.size_hint()
    }
}
