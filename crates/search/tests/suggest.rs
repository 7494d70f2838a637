//! Compares completions with a plain model, which counts every word of every visible page.

use std::collections::BTreeMap;

use access::{Access, AccessFilter, AccessRule, AccessRules, Condition, Groups};
use search::{SearchIndex, Suggestion};

use crate::support::{Dice, open, page, upsert};

/// Returns a word for the generated pages. Few letters, so that many share a prefix.
fn word(dice: &mut Dice) -> String {
    let length = 2 + dice.below(3);
    (0..length).map(|_| ["a", "b", "\u{e4}"][dice.below(3)]).collect()
}

fn folded(word: &str) -> String {
    word.replace('\u{e4}', "a")
}

/// A page: whether it is visible, and its words.
struct Made {
    seen: bool,
    words: Vec<String>,
}

/// Returns the expected completions, by going through all pages.
fn expected(pages: &[Made], before: Option<&str>, beginning: &str, limit: usize) -> Vec<(String, u64)> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for page in pages.iter().filter(|page| page.seen) {
        if let Some(before) = before
            && !page.words.iter().any(|word| folded(word) == before)
        {
            continue;
        }
        let mut words: Vec<String> = page.words.iter().map(|word| folded(word)).collect();
        words.sort();
        words.dedup();
        for word in words.into_iter().filter(|word| word.starts_with(beginning)) {
            *counts.entry(word).or_default() += 1;
        }
    }
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts.truncate(limit);
    counts
}

/// Returns the sight of callers from whom a collection is hidden.
fn without(collection: &str) -> AccessFilter {
    let hidden = AccessRule {
        access: Access::Deny,
        groups: Vec::new(),
        except: Vec::new(),
        condition: Condition {
            collection: Some(collection.to_owned()),
            ..Condition::default()
        },
        note: String::new(),
    };
    let rules = AccessRules {
        rules: vec![hidden],
        ..AccessRules::default()
    };
    rules.filter_for(&Groups::public(), 0).unwrap()
}

fn suggested(index: &SearchIndex, text: &str, limit: usize, sight: &AccessFilter) -> Vec<(String, u64)> {
    let rows = index.suggest(text, limit, sight).unwrap().rows;
    let row = |row: Suggestion| {
        assert!(row.text.ends_with(&row.word), "{row:?}");
        (folded(&row.word), row.pages)
    };
    rows.into_iter().map(row).collect()
}

#[test]
fn completions_are_those_of_counting() {
    for seed in [5, 6, 7] {
        println!("seed {seed}");
        let mut dice = Dice(seed);
        let dir = tempfile::tempdir().unwrap();
        let index = open(dir.path());
        let mut pages = Vec::new();
        for epoch in 1..=6 {
            let mut changes = Vec::new();
            for number in 0..60 {
                let made = Made {
                    seen: dice.below(3) > 0,
                    words: (0..1 + dice.below(12)).map(|_| word(&mut dice)).collect(),
                };
                let mut document = page(&format!("{epoch}-{number}"), "", &made.words.join(" "));
                document.collection = if made.seen { "open" } else { "closed" }.to_owned();
                document.language = String::new();
                changes.push(upsert(document));
                pages.push(made);
            }
            index.apply(epoch, changes).unwrap();
            index.flush().unwrap();
        }
        let sight = without("closed");
        for beginning in ["aa", "ab", "ba", "bb", "aab", "abab", "bbbb"] {
            assert_eq!(
                suggested(&index, beginning, 8, &sight),
                expected(&pages, None, beginning, 8),
                "{beginning}"
            );
            // After another word: fewer words than the limit occur with it, so all are counted.
            assert_eq!(
                suggested(&index, &format!("\"ab\" {beginning}"), 5, &sight),
                expected(&pages, Some("ab"), beginning, 5),
                "ab {beginning}"
            );
        }
        pages.iter_mut().for_each(|page| page.seen = true);
        assert_eq!(
            suggested(&index, "ba", 20, &AccessFilter::everything()),
            expected(&pages, None, "ba", 20)
        );
    }
}

#[test]
fn a_word_is_written_as_most_pages_write_it() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let texts = ["R\u{e9}sum\u{e9}", "r\u{e9}sum\u{e9} resume", "resume"];
    let changes = texts.iter().enumerate();
    let changes = changes.map(|(n, text)| upsert(page(&n.to_string(), "", text)));
    index.apply(1, changes).unwrap();
    index.flush().unwrap();
    let rows = index
        .suggest("my resu", 8, &AccessFilter::everything())
        .unwrap()
        .rows;
    assert_eq!(rows, []);
    let rows = index
        .suggest("resu", 8, &AccessFilter::everything())
        .unwrap()
        .rows;
    assert_eq!((rows[0].word.as_str(), rows[0].pages), ("resume", 3));
    index
        .apply(2, [upsert(page("4", "", "r\u{e9}sum\u{e9}"))])
        .unwrap();
    index.flush().unwrap();
    let rows = index
        .suggest("RESU", 8, &AccessFilter::everything())
        .unwrap()
        .rows;
    assert_eq!((rows[0].word.as_str(), rows[0].pages), ("r\u{e9}sum\u{e9}", 4));
}
