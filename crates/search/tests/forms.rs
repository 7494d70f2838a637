//! Compares the forms of words with a plain model, which reads every page word by word and follows
//! the documented rules.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use access::AccessFilter;
use frostem::{Algorithm, Stemmer};
use search::{Anchor, Change, Document, Query, SearchIndex};

use crate::support::{Dice, ask, names, open, page, upsert};

/// Words as written, and without diacritics.
const WORDS: [(&str, &str); 16] = [
    ("index", "index"),
    ("indexed", "indexed"),
    ("indexes", "indexes"),
    ("résumé", "resume"),
    ("resume", "resume"),
    ("resumes", "resumes"),
    ("aimé", "aime"),
    ("aimer", "aimer"),
    ("haus", "haus"),
    ("häuser", "hauser"),
    ("hauser", "hauser"),
    ("pages", "pages"),
    ("page", "page"),
    ("the", "the"),
    ("die", "die"),
    ("und", "und"),
];

const LANGUAGES: [&str; 6] = ["en", "en-GB", "fr", "de", "pl", ""];

fn folded(written: &str) -> &'static str {
    WORDS.iter().find(|(other, _)| *other == written).unwrap().1
}

/// The stems of all words in all languages.
static STEMS: LazyLock<BTreeMap<(&str, &str), Option<String>>> = LazyLock::new(|| {
    let pairs = LANGUAGES
        .into_iter()
        .flat_map(|language| WORDS.map(|(word, _)| (language, word)));
    pairs
        .map(|(language, word)| ((language, word), computed_stem(language, word)))
        .collect()
});

/// Returns the stem of a word by the rules of a page's language.
fn stem(language: &'static str, written: &'static str) -> Option<&'static str> {
    STEMS[&(language, written)].as_deref()
}

/// Returns the stem by the rules of a page's language, without diacritics; `None` if its language
/// has no rules.
fn computed_stem(language: &str, written: &str) -> Option<String> {
    let algorithm = match language.split('-').next().unwrap() {
        "en" => Algorithm::English,
        "fr" => Algorithm::French,
        "de" => Algorithm::German,
        // English plurals.
        "" => {
            return Some(match written {
                "indexes" => "index".to_owned(),
                "pages" | "resumes" => written.trim_end_matches('s').to_owned(),
                other => folded(other).to_owned(),
            });
        }
        _ => return None,
    };
    let stem = Stemmer::new(algorithm).stem(written).into_owned();
    Some(stem.replace('é', "e").replace('ä', "a"))
}

fn is_function_word(language: &str, word: &str) -> bool {
    matches!(
        (&language[..language.len().min(2)], word),
        ("en", "the") | ("de", "die" | "und") | ("nl", "die")
    )
}

/// A page of the model: its words with their positions.
struct Page {
    language: &'static str,
    words: Vec<(u32, &'static str)>,
    /// Words of links to it, each as often as its weight, at positions far after the others.
    said: Vec<(u32, &'static str)>,
}

impl Page {
    /// Creates a page whose title counts three times.
    fn new(language: &'static str, title: &[&'static str], text: &[&'static str]) -> Page {
        let mut words = Vec::new();
        let mut position = 0;
        for part in [title, title, title, &[], text] {
            for word in part {
                words.push((position, *word));
                position += 1;
            }
            position += 1;
        }
        Page {
            language,
            words,
            said: Vec::new(),
        }
    }

    fn say(&mut self, words: &[&'static str], weight: u8) {
        let mut position = self.said.last().map_or(1 << 20, |(position, _)| position + 2);
        for _ in 0..weight {
            for word in words {
                self.said.push((position, *word));
                position += 1;
            }
            position += 1;
        }
    }

    /// Returns the number of occurrences as written, with other diacritics, and with the same stem.
    fn counts(&self, query: &'static str) -> [usize; 3] {
        let mut counts = [0; 3];
        for (_, word) in &self.said {
            // Links have no stems, because they are in the language of another page.
            counts[0] += usize::from(*word == query);
            counts[1] += usize::from(*word != query && folded(word) == folded(query));
        }
        for (_, word) in &self.words {
            let stems = stem(self.language, word).zip(stem(self.language, query));
            if *word == query {
                counts[0] += 1;
            } else if folded(word) == folded(query) {
                counts[1] += 1;
            } else if stems.is_some_and(|(one, other)| one == other) {
                counts[2] += 1;
            }
        }
        counts
    }

    fn has(&self, query: &'static str) -> bool {
        self.counts(query).iter().sum::<usize>() > 0
    }

    /// Returns the positions of a word of the query: of the word with any diacritics, and of its
    /// stem as a word.
    fn positions(&self, query: &'static str) -> Vec<u32> {
        let own = stem(self.language, query);
        let is_stem = |word: &'static str| own == Some(folded(word)) && stem(self.language, word) == own;
        let is = |word: &'static str| folded(word) == folded(query) || is_stem(word);
        let words = self.words.iter().filter(|(_, word)| is(word));
        let said = self.said.iter().filter(|(_, word)| folded(word) == folded(query));
        words.chain(said).map(|(position, _)| *position).collect()
    }
}

fn idf(pages: &BTreeMap<String, Page>, word: &'static str) -> f64 {
    let with = pages.values().filter(|page| page.has(word)).count() as f64;
    (1.0 + (pages.len() as f64 - with + 0.5) / (with + 0.5)).ln()
}

/// What is asked of a page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Enough,
    /// Enough of the words that some page has.
    EnoughOfKnown,
    One,
}

/// The idf of each word in whole units, and whether a page has it.
type Weights = BTreeMap<&'static str, (u64, bool)>;

fn weights(pages: &BTreeMap<String, Page>, words: &[&'static str]) -> Weights {
    let weight = |word: &&'static str| {
        let with = pages.values().filter(|page| page.has(word)).count();
        let odds = ((pages.len() - with) as f32 + 0.5) / (with as f32 + 0.5);
        (*word, (((1.0 + odds).ln() * 4096.0).round() as u64, with > 0))
    };
    words.iter().map(weight).collect()
}

/// Returns whether a word of a query is not counted in a language.
fn is_silent(language: &str, words: &[&str], word: &str) -> bool {
    let all_silent = words.iter().all(|word| is_function_word(language, word));
    !all_silent && is_function_word(language, word)
}

/// Returns whether a word of a query is not counted in some language.
fn is_function(words: &[&str], word: &str) -> bool {
    // `die` is a function word of Dutch, too.
    ["en", "de", "nl"]
        .iter()
        .any(|language| is_silent(language, words, word))
}

/// Returns how many words of a query are no function words.
fn others(words: &[&str]) -> usize {
    words.iter().filter(|word| !is_function(words, word)).count()
}

/// Returns whether a word of a query scores in a language. Beside few other words, all do.
fn is_scored(language: &str, words: &[&str], word: &str) -> bool {
    others(words) <= 2 || !is_silent(language, words, word)
}

/// Returns the words of a query that count in a language.
fn counted(language: &str, words: &[&'static str], weights: &Weights, asked: Asked) -> Vec<&'static str> {
    let is_known = |word: &str| asked == Asked::Enough || weights[word].1;
    let counts = |word: &&&str| is_known(word) && !is_silent(language, words, word);
    words.iter().filter(counts).copied().collect()
}

/// Returns whether a page matches the words of a query.
fn is_match(page: &Page, words: &[&'static str], weights: &Weights, asked: Asked) -> bool {
    let counted = counted(page.language, words, weights, asked);
    let weigh = |words: &[&str]| words.iter().map(|word| weights[word].0).sum::<u64>();
    let held: Vec<&str> = counted.iter().copied().filter(|word| page.has(word)).collect();
    let only_function_words = held.iter().all(|word| is_function(words, word));
    let has_others = others(words) > 0;
    if held.is_empty() || has_others && only_function_words {
        return false;
    }
    let count = counted.len().max(2) as u64;
    asked == Asked::One || weigh(&held) * count * count >= weigh(&counted) * 4
}

/// Returns the score of a page, given the inverse frequencies of the words of the query and the
/// mean length of pages.
fn score(page: &Page, query: &[&'static str], idf: &BTreeMap<&str, f64>, mean: f64) -> f64 {
    let said: Vec<&'static str> = query
        .iter()
        .copied()
        .filter(|word| is_scored(page.language, query, word))
        .collect();
    let mut score = 0.0;
    for word in &said {
        let [written, other, same] = page.counts(word).map(|count| count as f64);
        let frequency = written + 0.95 * other + 0.9 * same;
        let half = 0.9 * (0.6 + 0.4 * page.words.len() as f64 / mean);
        score += idf[word] * 1.9 * frequency / (frequency + half);
    }
    for pair in said.windows(2) {
        let (first, second) = (page.positions(pair[0]), page.positions(pair[1]));
        if second.is_empty() {
            continue;
        }
        let next = first.iter().filter(|at| second.contains(&(**at + 1))).count() as f64;
        let close = |at: &u32| second.iter().any(|other| other.abs_diff(*at) < 8);
        let around = first.iter().filter(|at| close(at)).count() as f64;
        let most = (idf[pair[0]] + idf[pair[1]]) * 1.9;
        score += most * (0.1 * next / (next + 0.9) + 0.05 * around / (around + 0.9)) / 0.85;
    }
    score
}

fn random_words(dice: &mut Dice, count: usize) -> Vec<&'static str> {
    (0..count).map(|_| WORDS[dice.below(WORDS.len())].0).collect()
}

/// Replaces some pages and deletes others.
fn replace(index: &SearchIndex, dice: &mut Dice, pages: &mut BTreeMap<String, Page>, epoch: u64) {
    let mut changes = Vec::new();
    let names: Vec<String> = pages.keys().cloned().collect();
    for name in names {
        match dice.below(8) {
            0 => {
                let (in_model, document) = random_page(dice, &name);
                changes.push(upsert(document));
                pages.insert(name, in_model);
            }
            1 if pages.len() > 30 => {
                changes.push(Change::Delete(page(&name, "", "").url_key));
                pages.remove(&name);
            }
            _ => {}
        }
    }
    index.apply(epoch, changes).unwrap();
    index.flush().unwrap();
}

fn fill(index: &SearchIndex, dice: &mut Dice) -> BTreeMap<String, Page> {
    let mut pages = BTreeMap::new();
    for number in 0..60 {
        let name = format!("{number:02}");
        let (in_model, document) = random_page(dice, &name);
        index.apply(number + 1, [upsert(document)]).unwrap();
        if dice.below(10) == 0 {
            index.flush().unwrap();
        }
        pages.insert(name, in_model);
    }
    index.flush().unwrap();
    pages
}

fn random_page(dice: &mut Dice, name: &str) -> (Page, Document) {
    // Lengths up to 39 are stored exactly.
    let (title, text) = (dice.below(3), 1 + dice.below(12));
    let (title, text) = (random_words(dice, title), random_words(dice, text));
    let language = LANGUAGES[dice.below(LANGUAGES.len())];
    let mut in_model = Page::new(language, &title, &text);
    let mut anchors = Vec::new();
    for _ in 0..dice.below(4) {
        let (count, weight) = (1 + dice.below(3), 1 + dice.below(3) as u8);
        let words = random_words(dice, count);
        let text = words.join(" ");
        in_model.say(&words, weight);
        anchors.push(Anchor { text, weight });
    }
    let document = Document {
        url: String::new(),
        language: language.to_owned(),
        anchors,
        ..page(name, &title.join(" "), &text.join(" "))
    };
    (in_model, document)
}

#[test]
fn words_are_found_and_scored_as_a_reader_would_by_the_rules() {
    for seed in 1..=5 {
        println!("seed {seed}");
        let mut dice = Dice(seed);
        let dir = tempfile::tempdir().unwrap();
        let index = open(dir.path());
        let mut pages = fill(&index, &mut dice);
        for round in 0..120 {
            if round % 20 == 19 {
                replace(&index, &mut dice, &mut pages, 100 + round as u64);
            }
            let mut words = match WORDS[..16].get(round) {
                Some((word, ..)) => vec![*word],
                None => random_words(&mut dice, 2 + round % 6),
            };
            words.dedup();
            // A repeated word counts twice, which another test checks.
            if (1..words.len()).any(|at| words[..at].contains(&words[at])) {
                continue;
            }
            let found = ask(&index, &words.join(" "), 100);
            check(&pages, &words, &found);
        }
    }
}

#[track_caller]
fn check(pages: &BTreeMap<String, Page>, words: &[&'static str], found: &search::Results) {
    let weights = weights(pages, words);
    let matching = |asked| -> Vec<&str> {
        let expected = pages
            .iter()
            .filter(|(_, page)| is_match(page, words, &weights, asked));
        expected.map(|(name, _)| name.as_str()).collect()
    };
    let mut names = names(found);
    names.sort_unstable();
    let mut asked = Asked::Enough;
    let mut expected = matching(asked);
    for less in [Asked::EnoughOfKnown, Asked::One] {
        if expected.is_empty() && words.len() > 1 {
            (asked, expected) = (less, matching(less));
        }
    }
    assert_eq!(names, expected, "{words:?}");
    assert_eq!(found.total, expected.len() as u64);
    let is_noted = asked != Asked::Enough && !expected.is_empty();
    assert_eq!(found.notes.len(), usize::from(is_noted), "{words:?}");
    let idf: BTreeMap<&str, f64> = words.iter().map(|word| (*word, idf(pages, word))).collect();
    let mean = pages.values().map(|page| page.words.len()).sum::<usize>() as f64 / pages.len() as f64;
    for hit in &found.hits {
        let name = hit.url_key.rsplit('/').next().unwrap();
        let page = &pages[name];
        let is_known = |word: &&&str| asked == Asked::Enough || weights[**word].1;
        let scored = words.iter().filter(is_known);
        let mut scored = scored.filter(|word| is_scored(page.language, words, word));
        let has_all = scored.all(|word| page.has(word));
        let known = words.iter().filter(is_known);
        let known: Vec<f64> = known.map(|word| idf[word]).collect();
        let all_words = if has_all && known.len() > 1 {
            known.iter().sum::<f64>() * 1.9
        } else {
            0.0
        };
        let expected = score(page, words, &idf, mean) + all_words;
        let missing = words
            .iter()
            .filter(|word| !is_silent(page.language, words, word) && !page.has(word));
        assert!(missing.eq(&hit.missing), "{words:?} in {name}: {:?}", hit.missing);
        assert!(
            (hit.score - expected).abs() < 0.01,
            "{words:?} in {name}: {} instead of {expected}",
            hit.score
        );
    }
}

/// Among pages that are equal otherwise, the exact form comes first, then other diacritics, then
/// the same stem.
#[test]
fn the_very_form_comes_first() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    for (epoch, (name, text)) in (1..).zip([
        ("plain", "one resume here"),
        ("accents", "one résumé here"),
        ("plural", "one resumes here"),
    ]) {
        index.apply(epoch, [upsert(page(name, "", text))]).unwrap();
    }
    index.flush().unwrap();
    let order = |query: &str| names(&ask(&index, query, 10)).join(" ");
    assert_eq!(order("resume"), "plain accents plural");
    assert_eq!(order("résumé"), "accents plain");
    assert_eq!(order("resumes"), "plural plain");
    assert_eq!(order("\"resume\""), "plain accents");
}

/// A word matches each page by the rules of the page's language. Pages in other languages match
/// exact words only.
#[test]
fn stems_are_of_the_language_of_the_page() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    for (epoch, (name, language, text)) in (1..).zip([
        ("en", "en", "indexed"),
        ("fr", "fr", "indexed"),
        ("pl", "pl", "indexed"),
        ("exact", "pl", "indexing"),
        ("unknown", "", "pages"),
    ]) {
        let document = Document {
            language: language.to_owned(),
            ..page(name, "", text)
        };
        index.apply(epoch, [upsert(document)]).unwrap();
    }
    index.flush().unwrap();
    let found = |query: &str| {
        let results = ask(&index, query, 10);
        let mut names = names(&results);
        names.sort_unstable();
        names.join(" ")
    };
    assert_eq!(found("indexing"), "en exact");
    assert_eq!(found("indexed"), "en fr pl");
    assert_eq!(found("page"), "unknown");
    assert_eq!(found("\"indexing\""), "exact");
    assert_eq!(found("-indexing"), "fr pl unknown");
}

/// The plurals that docs/search.md lists for pages of unknown language match, even if no other page
/// does.
#[test]
fn plurals_of_pages_of_unknown_language_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let words = [
        ("page", "pages"),
        ("query", "queries"),
        ("box", "boxes"),
        ("class", "classes"),
        ("church", "churches"),
        ("cache", "caches"),
        ("shoe", "shoes"),
        ("cat", "cats"),
    ];
    for (epoch, (one, many)) in (1..).step_by(2).zip(words) {
        for (epoch, word) in [(epoch, one), (epoch + 1, many)] {
            let document = Document {
                language: String::new(),
                ..page(&format!("n{epoch}"), "", word)
            };
            index.apply(epoch, [upsert(document)]).unwrap();
        }
    }
    index.flush().unwrap();
    for (one, many) in words {
        for query in [one, many] {
            let results = ask(&index, query, 10);
            assert_eq!(results.total, 2, "{query}: {:?}", names(&results));
        }
        assert_eq!(ask(&index, &format!("\"{many}\""), 10).total, 1, "{many}");
    }
}

#[test]
fn parts_of_the_page_are_searched_by_stems_too() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index
        .apply(1, [upsert(page("shoes", "Walking", "text"))])
        .unwrap();
    index.flush().unwrap();
    for query in ["title:walks", "url:shoe", "walked"] {
        assert_eq!(ask(&index, query, 10).total, 1, "{query}");
    }
    for query in ["title:\"walks\"", "url:walk", "title:walks*"] {
        assert_eq!(ask(&index, query, 10).total, 0, "{query}");
    }
}

/// Pages with the words near each other come first, whichever segment they are in and wherever a
/// page of results begins.
#[test]
fn words_near_each_other_come_first_on_every_page_of_results() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let filler = "filler ".repeat(10);
    for number in 0..40 {
        let text = match number % 4 {
            0 => format!("root zone {filler}"),
            1 => format!("zone root {filler}"),
            2 => format!("root {filler} zone"),
            _ => format!("zone {filler} root"),
        };
        index
            .apply(number + 1, [upsert(page(&format!("{number:02}"), "", &text))])
            .unwrap();
        if number % 9 == 0 {
            index.flush().unwrap();
        }
    }
    index.flush().unwrap();
    let mut query = Query {
        text: "root zone".to_owned(),
        limit: 3,
        ..Query::default()
    };
    let mut order = Vec::new();
    loop {
        let results = index
            .search(&query, &AccessFilter::everything(), &|_| None)
            .unwrap();
        order.extend(results.hits.iter().map(|hit| (hit.url_key.clone(), hit.score)));
        match results.next {
            Some(next) => query.after = Some(next),
            None => break,
        }
    }
    assert_eq!(order.len(), 40);
    let kinds: Vec<usize> = order
        .iter()
        .map(|(key, _)| key.rsplit('/').next().unwrap().parse::<usize>().unwrap() % 4)
        .collect();
    assert!(kinds[..10].iter().all(|kind| *kind == 0), "{kinds:?}");
    assert!(kinds[10..20].iter().all(|kind| *kind == 1), "{kinds:?}");
    assert!(order.is_sorted_by(|one, other| one.1 >= other.1), "{order:?}");
}
