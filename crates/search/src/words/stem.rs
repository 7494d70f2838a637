//! Stems: the common part of the forms of a word, by the rules of a language.
//!
//! - Eighteen languages have Snowball's rules. Pages of unknown language have the rules of English
//!   plurals. Pages in other languages have no stems and match exact words only.
//! - A stem is made from the written form, because suffixes have diacritics, and then folded. It is
//!   compared with the folded word and must not depend on which form a page has.
//! - The term of a stem contains the code of its rules, so it matches only pages in its language.

use std::sync::OnceLock;

use frostem::{Algorithm, Stemmer};
use tantivy::tokenizer::{Language, RawTokenizer, StopWordFilter, TextAnalyzer};

use super::english::FUNCTION_WORDS;
use super::fold::fold;
use super::plural::singular;

/// The rules of one language.
#[derive(Debug)]
pub(crate) struct Rules {
    /// Identifies the rules in the index; empty for pages of unknown language.
    pub(crate) code: &'static str,
    /// Languages with these rules, as primary subtags.
    pub(crate) languages: &'static [&'static str],
    /// `None` for English plurals.
    algorithm: Option<Algorithm>,
    /// Number of characters that a stem of at least [`STEM_CHARS_ALIKE_MIN`] characters shares with
    /// the beginning of its word. A shorter stem shares one. With 0, no stem needs to share any:
    /// Dutch removes `ge` (`gelopen`), and Turkish may change the only letter that is left.
    pub(crate) begins_alike: usize,
}

/// See [`Rules::begins_alike`].
const STEM_CHARS_ALIKE_MIN: usize = 4;

const fn snowball(code: &'static str, languages: &'static [&'static str], algorithm: Algorithm) -> Rules {
    Rules {
        code,
        languages,
        algorithm: Some(algorithm),
        begins_alike: match algorithm {
            Algorithm::Dutch | Algorithm::Turkish => 0,
            // These rules change nothing before the third letter, except in `dying`, whose stem is
            // `die`.
            Algorithm::English => 2,
            _ => 1,
        },
    }
}

/// Returns the primary subtag: `en` for `en-us`.
pub(crate) fn primary_language(language: &str) -> &str {
    language.split(['-', '_']).next().unwrap_or(language)
}

/// All rules.
pub(crate) static RULES: [Rules; 19] = [
    Rules {
        code: "",
        languages: &[""],
        algorithm: None,
        begins_alike: 2,
    },
    snowball("ar", &["ar"], Algorithm::Arabic),
    snowball("da", &["da"], Algorithm::Danish),
    snowball("de", &["de"], Algorithm::German),
    snowball("el", &["el"], Algorithm::Greek),
    snowball("en", &["en"], Algorithm::English),
    snowball("es", &["es"], Algorithm::Spanish),
    snowball("fi", &["fi"], Algorithm::Finnish),
    snowball("fr", &["fr"], Algorithm::French),
    snowball("hu", &["hu"], Algorithm::Hungarian),
    snowball("it", &["it"], Algorithm::Italian),
    snowball("nl", &["nl"], Algorithm::Dutch),
    // Most pages say which of the two written languages they use, some only that they are
    // Norwegian.
    snowball("no", &["nb", "nn", "no"], Algorithm::Norwegian),
    snowball("pt", &["pt"], Algorithm::Portuguese),
    snowball("ro", &["ro"], Algorithm::Romanian),
    snowball("ru", &["ru"], Algorithm::Russian),
    snowball("sv", &["sv"], Algorithm::Swedish),
    snowball("ta", &["ta"], Algorithm::Tamil),
    snowball("tr", &["tr"], Algorithm::Turkish),
];

impl Rules {
    /// Returns the rules for a language, given by its primary subtag; `None` if it has no stems.
    pub(crate) fn of(language: &str) -> Option<&'static Rules> {
        RULES.iter().find(|rules| rules.languages.contains(&language))
    }

    /// Returns whether a written word is a function word of these languages, such as `the` or `of`.
    pub(crate) fn is_function_word(&self, written: &str) -> bool {
        static FILTERS: OnceLock<Vec<(&str, StopWordFilter)>> = OnceLock::new();
        let filters = FILTERS.get_or_init(|| {
            let filter = |rules: &Rules| Some((rules.code, rules.function_words()?));
            RULES.iter().filter_map(filter).collect()
        });
        let filter = filters.iter().find(|(code, _)| *code == self.code);
        filter.is_some_and(|(_, filter)| {
            let others = TextAnalyzer::builder(RawTokenizer::default()).filter(filter.clone());
            !others.build().token_stream(written).advance()
        })
    }

    /// Returns the list of function words: Snowball's, if there is one.
    fn function_words(&self) -> Option<StopWordFilter> {
        StopWordFilter::new(match self.algorithm? {
            Algorithm::Danish => Language::Danish,
            Algorithm::Dutch => Language::Dutch,
            // tantivy has Lucene's list of 33 words.
            Algorithm::English => {
                let words = FUNCTION_WORDS.iter().map(|word| (*word).to_owned());
                return Some(StopWordFilter::remove(words));
            }
            Algorithm::Finnish => Language::Finnish,
            Algorithm::French => Language::French,
            Algorithm::German => Language::German,
            Algorithm::Hungarian => Language::Hungarian,
            Algorithm::Italian => Language::Italian,
            Algorithm::Norwegian => Language::Norwegian,
            Algorithm::Portuguese => Language::Portuguese,
            Algorithm::Russian => Language::Russian,
            Algorithm::Spanish => Language::Spanish,
            Algorithm::Swedish => Language::Swedish,
            _ => return None,
        })
    }

    /// Returns the beginning that words with this stem share. If `begins_alike` is 0, some of the
    /// words begin with other letters.
    pub(crate) fn beginning<'s>(&self, stem: &'s str) -> &'s str {
        let is_long = stem.chars().nth(STEM_CHARS_ALIKE_MIN - 1).is_some();
        let alike = if is_long { self.begins_alike.max(1) } else { 1 };
        let end = stem.char_indices().nth(alike);
        &stem[..end.map_or(stem.len(), |(end, _)| end)]
    }

    /// Returns the stem of a word, without diacritics.
    pub(crate) fn stem(&self, folded: &str, written: Option<&str>) -> String {
        let Some(algorithm) = self.algorithm else {
            let mut word = folded.to_owned();
            singular(&mut word);
            return word;
        };
        let stem = Stemmer::new(algorithm).stem(written.unwrap_or(folded));
        if stem.is_ascii() {
            return stem.into_owned();
        }
        let mut plain = String::with_capacity(stem.len());
        stem.chars().for_each(|c| fold(c, &mut plain));
        plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(language: &str, words: &[&str], stem: &str) {
        let rules = Rules::of(language).unwrap();
        for word in words {
            let (word, _) = super::super::Words::new(word).next_word().unwrap();
            assert_eq!(rules.stem(&word.folded, Some(&word.written)), stem, "{word:?}");
        }
    }

    #[test]
    fn forms_of_a_word_have_one_stem_in_each_language() {
        check("", &["Queries", "query"], "query");
        check("ar", &["كتاب", "الكتاب"], "كتاب");
        check("da", &["bøgerne", "bøger"], "bog");
        check("de", &["Häuser", "Haus", "Hauses"], "haus");
        check("el", &["βιβλία", "βιβλίων"], "βιβλ");
        check("en", &["Indexing", "indexes", "indexed"], "index");
        check("es", &["canciones", "canción"], "cancion");
        check("fi", &["talossa", "talot"], "talo");
        check("fr", &["aimée", "aimer", "aimé"], "aim");
        check("hu", &["könyvek", "könyvet"], "konyv");
        check("it", &["libri", "libro"], "libr");
        check("nl", &["boeken", "boek"], "boek");
        check("nb", &["husene", "hus"], "hus");
        check("nn", &["hus"], "hus");
        check("pt", &["bibliotecas", "biblioteca"], "bibliotec");
        check("ro", &["cărților", "cărți"], "cart");
        check("ru", &["книги", "книгами"], "книг");
        check("sv", &["böckerna", "böcker"], "bock");
        check("ta", &["புத்தகங்கள்", "புத்தகம்"], "புத்தகம்");
        check("tr", &["kitaplar", "kitap"], "kitap");
    }

    /// All pairs of first letters, with some third letters, and with endings that the rules look
    /// for.
    #[test]
    fn words_of_ascii_begin_as_their_stems_do() {
        let letters = "abcdefghijklmnopqrstuvwxyz";
        let endings = "|s|y|ed|ing|ies|ied|ying|e|es|er|ly|al|ation|izing|ness|ment|eed|ingly|en|em|isme|heid|ung|te|ra|o";
        let endings: Vec<&str> = endings.split('|').collect();
        let mut others = Vec::new();
        for rules in RULES.iter().filter(|rules| rules.begins_alike > 0) {
            for number in 0..26 * 26 * 7 {
                let third = ["", "a", "e", "i", "y", "n", "t"][number % 7];
                let at = |place: usize| &letters[place..=place];
                let start = [at(number / 7 / 26), at(number / 7 % 26), third].concat();
                for ending in &endings {
                    let word = format!("{start}{ending}");
                    let stem = rules.stem(&word, None);
                    if !word.starts_with(rules.beginning(&stem)) {
                        others.push((rules.code, word, stem));
                    }
                }
            }
        }
        assert_eq!(others, []);
    }

    #[test]
    fn function_words_are_those_of_a_language() {
        let is = |language: &str, word: &str| Rules::of(language).unwrap().is_function_word(word);
        assert!(is("en", "the") && is("de", "die") && is("de", "für") && is("ru", "и"));
        assert!(!is("en", "die") && !is("en", "zone") && !is("", "the") && !is("el", "και"));
    }

    #[test]
    fn other_languages_have_none() {
        assert!(Rules::of("ja").is_none() && Rules::of("pl").is_none());
    }
}
