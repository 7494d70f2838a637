use proptest::prelude::*;
use tantivy::tokenizer::{TokenStream, Tokenizer};

use super::*;

#[test]
fn words_are_counted_in_every_script() {
    for (text, count) in [
        ("", 0),
        (" - ", 0),
        ("Two, words", 2),
        ("e-mail", 2),
        ("東京都", 3),
    ] {
        assert_eq!(word_count(text), count, "{text}");
    }
}

fn words(text: &str) -> Vec<String> {
    let mut words = Words::new(text);
    let mut word = String::new();
    let mut found = Vec::new();
    while words.next_into(&mut word).is_some() {
        found.push(word.clone());
    }
    found
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(words(text).join(" "), expected);
}

#[test]
fn letters_and_digits_make_words() {
    check("Hello, WORLD! e-mail 3.14 x_y", "hello world e mail 3 14 x y");
    check("", "");
    check("\u{0}\u{1f}\u{7f}--''", "");
}

#[test]
fn diacritics_fold_composed_or_not() {
    check(
        "Ångström cafe\u{301} CAFÉ Łódź straße",
        "angstrom cafe cafe lodz strasse",
    );
    check("Ελληνικά ΌΣΟΣ", "ελληνικα οσοσ");
    check("ещё ЕЩЕ", "еще еще");
    check("ＡＢＣ１２", "abc12");
    check("İstanbul so\u{ad}ft", "istanbul soft");
}

#[test]
fn the_written_form_keeps_diacritics_composed_or_not() {
    let written = |text: &str| {
        let (word, _) = Words::new(text).next_word().unwrap();
        word.written
    };
    assert_eq!(written("Cafe\u{301}"), "café");
    assert_eq!(written("CAFÉ"), "café");
    assert_eq!(written("Straße"), "straße");
    assert_eq!(written("STRASSE"), "strasse");
    assert_eq!(written("ΌΣΟΣ"), written("όσος"));
    assert_eq!(written("İstanbul"), "istanbul");
    assert_eq!(written("שָׁלוֹם"), "שלום");
}

/// Words that `regress/nfd.warc` has on two pages, composed and decomposed.
#[test]
fn composed_and_decomposed_words_are_the_same() {
    for (composed, other) in [
        ("мій їжак", "міи\u{306} і\u{308}жак"),
        ("ў краіне", "у\u{306} краіне"),
        ("ガイド", "カ\u{3099}イト\u{3099}"),
        ("ガイド", "ｶﾞｲﾄﾞ"),
        (
            "한국어",
            "\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}\u{110b}\u{1165}",
        ),
        ("سلام", "ﺳﻼﻡ"),
        ("file Ａ", "ﬁle A"),
        ("Straße", "STRASSE"),
    ] {
        assert_eq!(words(composed), words(other), "{composed}");
    }
    check("мои мой", "мои мой");
    check("Weft™ H₂O", "weft h2o");
}

#[test]
fn marks_of_other_scripts() {
    check("שָׁלוֹם", "שלום");
    check("مُحَمَّد", "محمد");
    check("हिन्दी भाषा", "हिन्दी भाषा");
}

#[test]
fn runs_without_spaces_become_pairs() {
    check("東京都 tower", "東京 京都 都 tower");
    check("x東y", "x 東 y");
    check("서울에서", "서울 울에 에서 서");
    check("ภาษาไทย", "ภา าษ ษา าไ ไท ทย ย");
}

#[test]
fn long_words_are_cut_at_a_character() {
    let long = "é".repeat(3) + &"ж".repeat(200);
    let found = words(&long);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].len(), 99);
}

#[test]
fn emoji_are_no_words() {
    check("I ❤️ 🍕!", "i");
}

/// Compares the words of a text with those of the model, and the terms of its fields with those
/// made from the model's words.
#[track_caller]
fn check_with_model(text: &str) {
    let expected = model::words(text);
    let mut reader = Words::new(text);
    let mut folded = String::new();
    let mut found = Vec::new();
    while let Some(range) = reader.next_into(&mut folded) {
        found.push(model::ModelWord {
            folded: folded.clone(),
            written: reader.written().map(str::to_owned),
            range,
            first_end: reader.first_end(),
        });
    }
    assert_eq!(found, expected, "{text:?}");
    let of_word = |word: &model::ModelWord| Word {
        folded: word.folded.clone(),
        written: word.written.clone().unwrap_or_else(|| word.folded.clone()),
    };
    let of_words: Vec<(usize, String)> = expected
        .iter()
        .map(|word| of_word(word).term())
        .enumerate()
        .collect();
    assert_eq!(tokens(&mut WordTokenizer::default(), text), of_words, "{text:?}");
    for rules in [
        None,
        Rules::of("en"),
        Rules::of("de"),
        Rules::of("ru"),
        Rules::of(""),
    ] {
        let (mut stems, mut both) = (Vec::new(), Vec::new());
        for (at, word) in expected.iter().enumerate() {
            both.push((at, of_word(word).term()));
            let Some(rules) = rules.filter(|_| !is_pair(&word.folded)) else {
                continue;
            };
            let stem = rules.stem(&word.folded, word.written.as_deref());
            if stem != word.folded {
                stems.push((at, stem_term(rules.code, &stem)));
                both.push((at, stem_term(rules.code, &stem)));
            }
        }
        let text = in_language(rules, &[text]);
        assert_eq!(tokens(&mut StemTokenizer::new(false), &text), stems, "{text:?}");
        assert_eq!(tokens(&mut StemTokenizer::new(true), &text), both, "{text:?}");
    }
}

/// Returns the positions and terms of a text.
fn tokens(tokenizer: &mut impl Tokenizer, text: &str) -> Vec<(usize, String)> {
    let mut stream = tokenizer.token_stream(text);
    let mut tokens = Vec::new();
    while stream.advance() {
        tokens.push((stream.token().position, stream.token().text.clone()));
    }
    tokens
}

#[test]
fn words_of_real_texts_are_those_of_the_model() {
    for text in model::real_texts() {
        check_with_model(&text);
    }
}

proptest! {
    #[test]
    fn any_text_has_sound_words(text in "\\PC{0,60}|.{0,60}") {
        let mut words = Words::new(&text);
        let mut word = String::new();
        let mut before = 0;
        while let Some(range) = words.next_into(&mut word) {
            prop_assert!(!word.is_empty() && word.len() <= fold::WORD_BYTES_MAX);
            prop_assert!(range.start >= before && range.end > range.start);
            prop_assert!(text.get(range.clone()).is_some());
            prop_assert!((range.start + 1..=range.end).contains(&words.first_end()));
            before = range.start;
        }
    }

    #[test]
    fn words_are_those_of_the_model(text in "([a-zA-Z0-9]{1,6}[ .,é\u{301}\u{ad}東½-]{1,2}){0,9}[a-zA-Z]{0,120}[é\u{301} ]{0,2}|[ÄßşıİςΣжЁйاأﻻｱﾞ가\u{1161}a-c \u{301}\u{ad}]{0,30}|\\PC{0,40}") {
        check_with_model(&text);
    }

    #[test]
    fn passing_over_words_changes_nothing_else(text in "[a-cxé\u{301}東 .]{0,40}|[a-ciesy ]{0,200}|\\PC{0,40}", end in 0..250_usize) {
        let all = words(&text);
        let wanted: Vec<String> = all.iter().step_by(3).cloned().collect();
        let prefilter = Prefilter::new(wanted.iter().map(String::as_str), std::iter::empty());
        let mut reader = Words::new(&text);
        let mut word = String::new();
        let mut found = Vec::new();
        loop {
            found.resize(found.len() + reader.skip_to_candidate(&prefilter, end), String::new());
            if reader.next_candidate(&prefilter, &mut word).is_none() {
                break;
            }
            found.push(word.clone());
        }
        prop_assert_eq!(found.len(), all.len());
        for (found, word) in found.iter().zip(&all) {
            prop_assert!(found == word || found.is_empty() && !wanted.contains(word));
        }
    }

    #[test]
    fn words_of_words_are_themselves(text in "\\PC{0,40}") {
        for word in words(&text) {
            if !is_pair(&word) {
                prop_assert_eq!(words(&word), vec![word]);
            }
        }
    }
}
