//! Reorders the best matches by how similar their meaning is to that of the query.
//!
//! The score of a match becomes `score + WEIGHT * cosine * best`, where `best` is the best score of
//! all, and the cosine is that of two vectors: of the words of the query, and of the title and the
//! beginning of the text. The order is that of `score / best + WEIGHT * cosine`. It depends only on
//! the query, the matches with their visible texts, and the table of word vectors.

use std::cmp::Reverse;

use vectors::Vectors;

use crate::answer::results::{TextRequest, TextSource};
use crate::answer::{rows, sorted};
use crate::collect::RankedDoc;
use crate::documents::document::Row;
use crate::error::SearchError;
use crate::index::view::View;
use crate::query::ParsedQuery;
use crate::scoring::rank::Units;

/// How much a cosine of 1 adds, relative to the best score. On CACM, Cranfield, CISI and NPL, every
/// weight from 0.1 to 1 gains.
const WEIGHT: f64 = 0.35;

/// Number of words at the beginning of a text that its vector is made of. More words lose on CACM,
/// and change little on Cranfield, CISI and NPL.
const WORDS: usize = 100;

/// Maximum number of bytes of these words. Chinese and Thai have no spaces between words.
const WORDS_BYTES_MAX: usize = 1500;

/// Adds to the score of each match how similar its meaning is to that of the query, and sorts them
/// by score. Matches with equal scores keep their order. `found` has at most
/// [`RANKED`](crate::answer::profile::RANKED) matches; `text_of` is called once for each.
pub(crate) fn rerank(
    view: &View,
    vectors: &Vectors,
    parsed: &ParsedQuery,
    found: &mut [RankedDoc],
    text_of: &TextSource<'_>,
) -> Result<(), SearchError> {
    let words: Vec<&str> = parsed
        .phrases()
        .map(|(phrase, _)| phrase.source_text.as_str())
        .collect();
    let best = found.iter().map(|found| found.score).max().unwrap_or(0);
    if words.is_empty() || best == 0 {
        return Ok(());
    }
    let mut wanted = vec![0.0; vectors.dimensions()];
    vectors.embed(&words.join(" "), &mut wanted);
    let mut vector = vec![0.0; vectors.dimensions()];
    let rows = rows(view, found)?;
    // Texts are read one at a time, in the order of their keys, as for snippets.
    for index in sorted(rows.len(), |index| rows[index].url_key.as_str()) {
        let row = &rows[index];
        let text = text_of(&text_request(row));
        vectors.embed(
            &beginning(&row.title, text.as_deref().unwrap_or_default()),
            &mut vector,
        );
        let found = &mut found[index];
        found.similarity = gain(best, vectors::similarity(&wanted, &vector));
        found.score = found.score.saturating_add(found.similarity);
    }
    found.sort_by_key(|found| Reverse(found.score));
    Ok(())
}

fn text_request(row: &Row) -> TextRequest<'_> {
    TextRequest {
        url_key: &row.url_key,
        past: row.version.until_ms.map(|_| row.version.text),
    }
}

/// Returns the title and the first words of a text.
fn beginning(title: &str, text: &str) -> String {
    let text = &text[..text.floor_char_boundary(WORDS_BYTES_MAX)];
    let mut beginning = title.to_owned();
    for word in text.split_whitespace().take(WORDS) {
        beginning.push(' ');
        beginning.push_str(word);
    }
    beginning
}

/// Returns what a cosine adds to a score. A negative one adds nothing.
fn gain(best: Units, cosine: f32) -> Units {
    (f64::from(best) * WEIGHT * f64::from(cosine.clamp(0.0, 1.0))) as Units
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use access::AccessFilter;

    use super::*;
    use crate::answer::test_query::{explained, keys};
    use crate::{Change, Document, Results, SearchIndex, Settings};

    /// A tokenizer of whole words.
    const TOKENIZER: &str = r####"{
        "normalizer": { "type": "Lowercase" },
        "pre_tokenizer": { "type": "WhitespaceSplit" },
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": { "[UNK]": 0, "car": 1, "automobile": 2, "tree": 3 }
        }
    }"####;

    /// Vectors of two values: a car and an automobile are alike, a tree is different.
    fn table() -> Arc<Vectors> {
        let folder = tempfile::tempdir().unwrap();
        let header = br#"{"embeddings":{"dtype":"I8","shape":[4,2],"data_offsets":[0,8]}}"#;
        let length = (header.len() as u64).to_le_bytes();
        let table = [&length[..], header, &[0, 0, 100, 0, 100, 20, 0, 100]].concat();
        let path = folder.path().join("model.safetensors");
        fs::write(&path, table).unwrap();
        fs::write(folder.path().join("tokenizer.json"), TOKENIZER).unwrap();
        Arc::new(Vectors::open(&path).unwrap())
    }

    fn index(dir: &std::path::Path, vectors: Option<Arc<Vectors>>) -> SearchIndex {
        let settings = Settings {
            writer_memory_bytes: 15_000_000,
            vectors,
            ..Settings::default()
        };
        let index = SearchIndex::open(dir, settings).unwrap();
        let page = |name: &str, text: &str| Document {
            url_key: name.to_owned(),
            text: text.to_owned(),
            language: "en".to_owned(),
            ..Document::default()
        };
        let pages = [
            page("a", "car tree"),
            page("b", "car automobile"),
            page("c", "tree"),
        ];
        let changes = pages.map(|page| Change::Upsert(Box::new(page)));
        index.apply(1, changes).unwrap();
        index.flush().unwrap();
        index
    }

    fn search(index: &SearchIndex, text: &str, limit: usize, after: Option<String>) -> Results {
        let query = explained(text, limit, after);
        let text_of = |request: &TextRequest<'_>| {
            let text = match request.url_key {
                "a" => "car tree",
                "b" => "car automobile",
                _ => "tree",
            };
            Some(Arc::from(text))
        };
        let everything = AccessFilter::everything();
        index.search(&query, &everything, &text_of).unwrap()
    }

    #[test]
    fn a_page_with_a_similar_word_comes_first_only_with_a_table() {
        let dir = tempfile::tempdir().unwrap();
        let (without, with) = (dir.path().join("without"), dir.path().join("with"));
        fs::create_dir(&without).unwrap();
        fs::create_dir(&with).unwrap();
        assert_eq!(keys(&search(&index(&without, None), "car", 10, None)), ["a", "b"]);

        let index = index(&with, Some(table()));
        let results = search(&index, "car", 10, None);
        assert_eq!(keys(&results), ["b", "a"]);
        assert_eq!(results.total, 2);
        for hit in &results.hits {
            let parts = hit.explanation.as_ref().unwrap();
            let score = |part: &str| parts[part]["score"].as_f64().unwrap();
            assert!(score("similarity") > 0.0);
            let names = ["bm25", "near", "prior", "profile", "similarity"];
            let sum: f64 = names.into_iter().map(score).sum();
            assert_eq!(parts["final"].as_f64(), Some(sum));
            assert_eq!(hit.score, sum);
        }

        let first = search(&index, "car", 1, None);
        let second = search(&index, "car", 1, first.next.clone());
        assert_eq!((keys(&first), keys(&second)), (vec!["b"], vec!["a"]));
        assert_eq!(second.next, None);
    }

    #[test]
    fn a_title_and_the_first_words_are_read() {
        assert_eq!(beginning("Title", " one\n two "), "Title one two");
        assert_eq!(beginning("", &"w ".repeat(300)).split_whitespace().count(), WORDS);
        assert!(beginning("", &"語".repeat(3000)).len() <= WORDS_BYTES_MAX + 1);
    }

    #[test]
    fn a_cosine_adds_a_share_of_the_best_score() {
        assert_eq!(gain(1000, 1.0), 350);
        assert_eq!(gain(1000, 0.5), 175);
        assert_eq!((gain(1000, -0.5), gain(1000, f32::NAN), gain(0, 1.0)), (0, 0, 0));
    }
}
