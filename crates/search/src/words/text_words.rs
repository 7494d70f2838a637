//! The words of a text outside the index, for programs that index texts elsewhere.

use super::memo::TEXT_SETS;
use super::{Rules, StemMemo, Words, is_pair, likeness, primary_language};

/// The words of a text, as the index has them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextWords {
    /// Folded words in their order, separated by spaces.
    pub words: String,
    /// Stems that differ from their words, in their order, separated by spaces.
    pub stems: String,
    /// Texts whose values differ in at most six bits are near-duplicates; `None` without words.
    pub likeness: Option<u64>,
}

/// Reads the words of texts, one text after another.
pub struct TextWordsReader {
    memo: StemMemo,
}

impl Default for TextWordsReader {
    fn default() -> Self {
        TextWordsReader {
            memo: StemMemo::new(TEXT_SETS),
        }
    }
}

impl TextWordsReader {
    /// Returns the words of a text in a language, which is a BCP 47 tag or empty.
    pub fn read(&mut self, text: &str, language: &str) -> TextWords {
        let language = language.to_lowercase();
        let rules = Rules::of(primary_language(&language));
        let (mut words, mut word, mut stem) = (Words::new(text), String::new(), String::new());
        let mut read = TextWords {
            likeness: likeness::of_text(text),
            ..TextWords::default()
        };
        while words.next_into(&mut word).is_some() {
            add(&mut read.words, &word);
            if let Some(rules) = rules.filter(|_| !is_pair(&word)) {
                self.memo.stem(rules, &word, words.written(), &mut stem);
                if stem != word {
                    add(&mut read.stems, &stem);
                }
            }
        }
        read
    }
}

fn add(list: &mut String, word: &str) {
    if !list.is_empty() {
        list.push(' ');
    }
    list.push_str(word);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_stems_are_those_of_the_index() {
        let mut reader = TextWordsReader::default();
        let mut check = |language: &str, text: &str, words: &str, stems: &str| {
            let read = reader.read(text, language);
            assert_eq!(
                (read.words.as_str(), read.stems.as_str()),
                (words, stems),
                "{text}"
            );
            assert_eq!(read.likeness, likeness::of_text(text), "{text}");
        };
        check("en-GB", "The Pages, of pages", "the pages of pages", "page page");
        check("fr", "Cafés", "cafes", "caf");
        check("pl", "Pages", "pages", "");
        check("ja", "東京 pages", "東京 京 pages", "");
        check("", " ... ", "", "");
    }
}
