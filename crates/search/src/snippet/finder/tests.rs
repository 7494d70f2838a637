use proptest::prelude::*;

use super::*;
use crate::query::parse;
use crate::words::model;

/// Reference implementation: looks at every word, without skipping, caching or ASCII shortcuts.
fn found_by_model(finder: &Finder, text: &str, looks: &[usize]) -> (Vec<FoundWord>, Vec<bool>) {
    let words = model::words(text);
    let mut found = Vec::new();
    let mut ended = Vec::new();
    let mut position = 0;
    for &end in looks {
        loop {
            let Some(word) = words.get(position) else {
                ended.push(true);
                break;
            };
            finder.find_slowly(position, word, &mut found);
            position += 1;
            if word.range.start >= end {
                ended.push(false);
                break;
            }
        }
    }
    (found, ended)
}

impl Finder {
    fn find_slowly(&self, position: usize, word: &model::ModelWord, found: &mut Vec<FoundWord>) {
        let mut text = word.folded.as_str();
        let mut range = word.range.clone();
        if self.has_half_pair && words::is_pair(text) && !self.words.iter().any(|own| own == text) {
            text = &text[..text.chars().next().map_or(0, char::len_utf8)];
            range.end = word.first_end;
        }
        let mut push = |word: usize, as_what: As| {
            found.push(FoundWord {
                position,
                range: range.clone(),
                word,
                as_what,
            });
        };
        let own = self.words.iter().position(|own| own == text);
        own.into_iter().for_each(|index| push(index, As::Word));
        if let Some(rules) = self.rules.filter(|_| !words::is_pair(text)) {
            let made = rules.stem(text, word.written.as_deref());
            for (stem, index) in &self.stems {
                if *stem == made && own != Some(*index) {
                    push(*index, As::Stem);
                }
            }
        }
        for (index, start) in self.beginnings.iter().enumerate() {
            if text.starts_with(start.as_str()) {
                push(index, As::Beginning);
            }
        }
    }
}

#[track_caller]
fn check(query: &str, language: &str, text: &str, looks: &[usize], memo: &mut StemMemo) {
    let parsed = parse(query);
    let phrases: Vec<&Phrase> = parsed.phrases().map(|(phrase, _)| phrase).collect();
    let finder = Finder::new(&phrases, Rules::of(language));
    let mut scan = Scan::default();
    let mut words = Words::new(text);
    let ended: Vec<bool> = looks
        .iter()
        .map(|&end| finder.scan(&mut words, memo, &mut scan, end))
        .collect();
    let (found, ended_by_model) = found_by_model(&finder, text, looks);
    assert_eq!(scan.found, found, "{query:?} in {language:?} {text:?}");
    assert_eq!(ended, ended_by_model, "{query:?} in {text:?}");
}

#[test]
fn what_is_found_in_real_texts_is_what_the_model_finds() {
    let mut memo = StemMemo::new(64);
    for (number, text) in model::real_texts().iter().enumerate() {
        // Words of the text itself, so that there are matches, and others that only share a prefix.
        let own = model::words(text);
        let word = |at: usize| {
            own.get(at % own.len().max(1))
                .map_or("x", |word| word.folded.as_str())
        };
        let query = format!(
            "{} \"{} {}\" index* pages {}",
            word(7),
            word(100),
            word(101),
            word(number)
        );
        for language in ["en", "", "nl", "ja"] {
            check(&query, language, text, &[500, 4096, 1 << 20], &mut memo);
        }
    }
}

proptest! {
    #[test]
    fn what_is_found_is_what_the_model_finds(
        query in "([a-eé]{1,4}(ing|es|s)?[ *\"-]?|[東京ж가] ?|\\PC){0,5}",
        language in "|en|fr|nl|de|ru|ja|tr",
        text in "([a-eé]{1,4}(ing|es|ed|s|'s)?[ .,-]|[東京ж가ｶﾞ½\u{301}\u{ad}]|\\PC){0,60}",
        look in 0..300_usize,
    ) {
        check(&query, &language, &text, &[look, 4 * look, usize::MAX], &mut StemMemo::new(4));
    }
}
