//! The best matches are the same however few of them are asked for. The fewer are asked for, the
//! fewer matches are scored; with more results than matches, all are.

use access::AccessFilter;
use search::{Anchor, Document, Query, Results, SearchIndex};

use crate::support::{Dice, open, page, upsert};

/// The first are the most frequent.
const WORDS: [&str; 20] = [
    "the", "index", "pages", "of", "root", "zone", "indexed", "page", "archive", "resume", "die", "indexes",
    "résumé", "archives", "zones", "haus", "of", "häuser", "roots", "owl",
];

const LANGUAGES: [&str; 4] = ["en", "en", "de", ""];

/// More than there are pages.
const ALL: usize = 1000;

fn words(dice: &mut Dice, count: usize) -> Vec<&'static str> {
    let word = |_| {
        let bound = 1 + dice.below(WORDS.len());
        WORDS[dice.below(bound)]
    };
    (0..count).map(word).collect()
}

fn random_page(dice: &mut Dice) -> Document {
    let (title, text) = (dice.below(3), 1 + dice.below(30));
    let (title, text) = (words(dice, title), words(dice, text));
    let mut anchors = Vec::new();
    for _ in 0..dice.below(3) {
        anchors.push(Anchor {
            text: words(dice, 2).join(" "),
            weight: 1 + dice.below(3) as u8,
        });
    }
    Document {
        language: LANGUAGES[dice.below(LANGUAGES.len())].to_owned(),
        inlink_bucket: dice.below(12).saturating_sub(6) as u8,
        anchors,
        // A page that comes again replaces the earlier one.
        ..page(
            &format!("{:03}", dice.below(600)),
            &title.join(" "),
            &text.join(" "),
        )
    }
}

fn random_query(dice: &mut Dice) -> String {
    let count = 1 + dice.below(6);
    let mut parts: Vec<String> = Vec::new();
    for word in words(dice, count) {
        parts.push(match dice.below(16) {
            0 => format!("+{word}"),
            1 => format!("\"{word}\""),
            2 => format!("\"{}\"", words(dice, 2).join(" ")),
            3 => format!("{word} OR {}", words(dice, 1)[0]),
            4 => format!("{word} -{}", words(dice, 1)[0]),
            5 => format!("{word} lang:en"),
            6 => format!("{word} unknown"),
            _ => word.to_owned(),
        });
    }
    parts.join(" ")
}

fn best(index: &SearchIndex, query: &Query) -> Results {
    index
        .search(query, &AccessFilter::everything(), &|_| None)
        .unwrap()
}

/// Checks the results of a query from one on.
#[track_caller]
fn check(few: &Results, all: &Results, query: &Query, from: usize) {
    let place = |results: &Results, from: usize, count: usize| -> Vec<(String, f64)> {
        let hits = results.hits.iter().skip(from).take(count);
        hits.map(|hit| (hit.url_key.clone(), hit.score)).collect()
    };
    assert_eq!(place(few, 0, ALL), place(all, from, query.limit), "{query:?}");
    assert_eq!(
        few.next.is_some(),
        all.hits.len() > from + query.limit,
        "{query:?}"
    );
    let count_max = query.count_max.unwrap_or(u64::MAX);
    assert_eq!(few.total, all.total.min(count_max), "{query:?}");
    assert_eq!(few.has_more_than_total, all.total > count_max, "{query:?}");
}

#[test]
fn the_best_are_the_same_however_few_are_asked_for() {
    let mut dice = Dice(7);
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    for epoch in 1..=8 {
        let pages: Vec<_> = (0..100).map(|_| upsert(random_page(&mut dice))).collect();
        index.apply(epoch, pages).unwrap();
        index.flush().unwrap();
    }
    let (mut found, mut many) = (0, 0);
    for _ in 0..1000 {
        let text = random_query(&mut dice);
        let query = Query {
            text,
            limit: ALL,
            ..Query::default()
        };
        let all = best(&index, &query);
        assert_eq!(all.hits.len() as u64, all.total, "{query:?}");
        found += usize::from(all.total > 0);
        many += usize::from(all.total > 100);
        for (limit, count_max) in [
            (1, None),
            (10, None),
            (1, Some(0)),
            (10, Some(50)),
            (100, Some(50)),
        ] {
            let query = Query {
                limit,
                count_max,
                ..query.clone()
            };
            let few = best(&index, &query);
            check(&few, &all, &query, 0);
            if few.next.is_some() {
                let after = Query {
                    after: few.next,
                    ..query
                };
                check(&best(&index, &after), &all, &after, limit);
            }
        }
    }
    assert!(found > 800 && many > 200, "{found} {many}");
}
