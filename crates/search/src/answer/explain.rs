//! Explains a score, part by part.

use std::sync::Arc;

use serde_json::{Value, json};
use tantivy::DocSet;
use tantivy::schema::IndexRecordOption;

use crate::answer::compile::Compiler;
use crate::answer::presence::HeldWords;
use crate::answer::profile::{Gains, Profile};
use crate::collect::RankedDoc;
use crate::documents::document::Row;
use crate::documents::schema;
use crate::index::view::View;
use crate::query::{ParsedQuery, Phrase};
use crate::scoring::form_counts::FormCounts;
use crate::scoring::forms::Forms;
use crate::scoring::rank;
use crate::words::Words;

/// Returns the parts of a score, which add up to it.
pub(crate) fn explain(
    view: &View,
    compiler: &Compiler<'_>,
    parsed: &ParsedQuery,
    profile: &Profile,
    (found, held): (&RankedDoc, &HeldWords),
    row: &Row,
) -> tantivy::Result<Value> {
    let mut parts = Vec::new();
    let mut sum = 0;
    for (phrase, times) in parsed.phrases() {
        let units = score_of(view, compiler, phrase, times, found)?;
        sum += units;
        parts.push(part(view, compiler, phrase, units, found, row)?);
    }
    let reader = view.searcher.segment_reader(found.address.segment_ord);
    let near = compiler.near(parsed)?.open(reader)?.gain(found.address.doc_id, 0);
    let near = near.unwrap_or_default();
    let prior = rank::prior(found.bucket);
    Ok(json!({
        "bm25": {
            "score": rank::points(sum),
            "parts": parts,
            "length": length(view, found)?,
            "length_mean": compiler.live().length_mean(),
            "pages": compiler.live().documents(),
        },
        "all_words": { "score": rank::points(held.all_words), "missing": held.missing },
        "near": { "score": rank::points(near) },
        "prior": { "score": rank::points(prior), "inlink_bucket": found.bucket },
        "similarity": { "score": rank::points(found.similarity) },
        "profile": { "score": rank::points(found.gain), "parts": preferred(view, profile, found)? },
        "final": rank::points(found.score),
    }))
}

/// Returns the preferences that match the page, each with the per cent that it adds to the score.
fn preferred(view: &View, profile: &Profile, found: &RankedDoc) -> tantivy::Result<Vec<Value>> {
    let reader = view.searcher.segment_reader(found.address.segment_ord);
    let gains = Gains::open(profile, reader)?;
    let percents = gains.percents(found.address.doc_id);
    let held = profile
        .preferences()
        .iter()
        .zip(percents)
        .filter(|(_, percent)| *percent > 0);
    Ok(held
        .map(|(preference, percent)| json!({ "for": preference.to_string(), "percent": percent }))
        .collect())
}

fn score_of(
    view: &View,
    compiler: &Compiler<'_>,
    phrase: &Phrase,
    times: u32,
    found: &RankedDoc,
) -> tantivy::Result<rank::Units> {
    let Some(query) = compiler.scored(phrase, times)? else {
        return Ok(0);
    };
    let reader = view.searcher.segment_reader(found.address.segment_ord);
    let mut scorer = query.open(reader)?;
    let document = found.address.doc_id;
    // A scorer is positioned on its first match and must not be moved backwards.
    let matches = scorer.doc() == document || scorer.doc() < document && scorer.seek(document) == document;
    Ok(if matches { rank::units(scorer.score()) } else { 0 })
}

fn part(
    view: &View,
    compiler: &Compiler<'_>,
    phrase: &Phrase,
    units: rank::Units,
    found: &RankedDoc,
    row: &Row,
) -> tantivy::Result<Value> {
    let mut words = Vec::with_capacity(phrase.words.len());
    let url = schema::url_words(&row.url);
    for (_, forms) in compiler.forms(phrase) {
        let counts = counts(view, compiler, &forms, found)?;
        let word = &forms.word;
        words.push(json!({
            "word": word.written,
            "pages": compiler.live().pages_with(&forms)?,
            "as_written": counts.written,
            "other_diacritics": counts.other_diacritics,
            "same_stem": counts.same_stem,
            "in_anchors": counts.in_anchors,
            "in_title": count_word(&row.title, &word.folded),
            "in_url": count_word(&url, &word.folded),
        }));
    }
    Ok(json!({ "for": phrase.to_string(), "score": rank::points(units), "words": words }))
}

/// Returns how often the page has each form of a word, as counted by BM25: occurrences in the title
/// count several times.
fn counts(
    view: &View,
    compiler: &Compiler<'_>,
    forms: &Arc<Forms>,
    found: &RankedDoc,
) -> tantivy::Result<FormCounts> {
    let reader = view.searcher.segment_reader(found.address.segment_ord);
    let text_fields = compiler.anywhere();
    let mut docs = view
        .lists
        .open(forms, reader, text_fields, IndexRecordOption::WithFreqs)?;
    let document = found.address.doc_id;
    let matches = docs.doc() == document || docs.doc() < document && docs.seek(document) == document;
    Ok(if matches {
        docs.occurrences()
    } else {
        FormCounts::default()
    })
}

/// Returns how often `text` has a folded word.
fn count_word(text: &str, word: &str) -> usize {
    let mut words = Words::new(text);
    let mut found = String::new();
    let mut count = 0;
    while words.next_into(&mut found).is_some() {
        count += usize::from(found == word);
    }
    count
}

fn length(view: &View, found: &RankedDoc) -> tantivy::Result<u32> {
    let reader = view.searcher.segment_reader(found.address.segment_ord);
    let lengths = reader.get_fieldnorms_reader(view.fields.body)?;
    Ok(lengths.fieldnorm(found.address.doc_id))
}
