//! How a score came about, part by part.

use serde_json::{Value, json};
use tantivy::DocSet;
use tantivy::query::{EnableScoring, Query};

use crate::collect::Found;
use crate::compile;
use crate::document::Row;
use crate::live::Live;
use crate::query::{Parsed, Phrase};
use crate::rank;
use crate::schema;
use crate::view::View;

/// The parts of a score; they add up to it.
pub(crate) fn explain(
    view: &View,
    live: &Live,
    parsed: &Parsed,
    found: &Found,
    row: &Row,
) -> tantivy::Result<Value> {
    let mut parts = Vec::new();
    let mut sum = 0;
    for (phrase, times) in parsed.phrases() {
        let units = score_of(view, live, phrase, times, found)?;
        sum += units;
        parts.push(part(live, phrase, units, row)?);
    }
    let prior = rank::prior(found.bucket);
    Ok(json!({
        "bm25": {
            "score": rank::points(sum),
            "parts": parts,
            "length": length(view, found)?,
            "length_mean": live.length_mean(),
            "pages": live.documents(),
        },
        "prior": { "score": rank::points(prior), "inlink_bucket": found.bucket },
        "final": rank::points(found.score),
    }))
}

fn score_of(
    view: &View,
    live: &Live,
    phrase: &Phrase,
    times: u32,
    found: &Found,
) -> tantivy::Result<rank::Units> {
    let query = compile::scored_query(phrase, times, &view.fields);
    let scoring = EnableScoring::enabled_from_statistics_provider(live, &view.searcher);
    let weight = query.weight(scoring)?;
    let reader = view.searcher.segment_reader(found.address.segment_ord);
    let mut scorer = weight.scorer(reader, 1.0)?;
    let document = found.address.doc_id;
    // A scorer stands on its first match, and may not be moved backwards.
    let matches = scorer.doc() == document || scorer.doc() < document && scorer.seek(document) == document;
    Ok(if matches { rank::units(scorer.score()) } else { 0 })
}

fn part(live: &Live, phrase: &Phrase, units: rank::Units, row: &Row) -> tantivy::Result<Value> {
    let mut words = Vec::with_capacity(phrase.words.len());
    let url = schema::url_words(&row.url);
    for (_, word) in &phrase.words {
        words.push(json!({
            "word": word,
            "pages": live.pages_with(word)?,
            "in_title": schema::count_word(&row.title, word),
            "in_url": schema::count_word(&url, word),
        }));
    }
    Ok(json!({ "for": phrase.to_string(), "score": rank::points(units), "words": words }))
}

fn length(view: &View, found: &Found) -> tantivy::Result<u32> {
    let reader = view.searcher.segment_reader(found.address.segment_ord);
    let lengths = reader.get_fieldnorms_reader(view.fields.body)?;
    Ok(lengths.fieldnorm(found.address.doc_id))
}
