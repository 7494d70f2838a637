use proptest::prelude::*;

use super::*;

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

/// The words that `regress/nfd.warc` has on two pages, composed and decomposed.
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
    fn words_of_ascii_are_read_as_all_others(text in "([a-zA-Z0-9]{1,6}[ .,é\u{301}\u{ad}東½-]{1,2}){0,9}[a-zA-Z]{0,120}[é\u{301} ]{0,2}|\\PC{0,40}") {
        let (mut reader, mut other) = (Words::new(&text), Words::new(&text));
        let (mut word, mut other_word) = (String::new(), String::new());
        loop {
            let range = reader.next_into(&mut word);
            other_word.clear();
            let first = other.skip_gap();
            prop_assert_eq!(&range, &first.map(|first| other.read(first, Some(&mut other_word))));
            prop_assert_eq!(&word, &other_word);
            prop_assert_eq!(reader.first_end(), other.first_end());
            if range.is_none() {
                break;
            }
        }
    }

    #[test]
    fn passing_over_words_changes_nothing_else(text in "[a-cxé\u{301}東 .]{0,40}|[a-ciesy ]{0,200}|\\PC{0,40}", end in 0..250_usize) {
        let all = words(&text);
        let wanted: Vec<String> = all.iter().step_by(3).cloned().collect();
        let firsts = Firsts::new(wanted.iter().map(String::as_str), std::iter::empty());
        let mut reader = Words::new(&text);
        let mut word = String::new();
        let mut found = Vec::new();
        loop {
            found.resize(found.len() + reader.pass(&firsts, end), String::new());
            if reader.next_of(&firsts, &mut word).is_none() {
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
