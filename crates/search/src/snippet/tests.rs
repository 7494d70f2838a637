use proptest::prelude::*;

use super::*;
use crate::query::parse;

#[track_caller]
fn check(query: &str, text: &str, expected: &str) {
    assert_eq!(marked(query, text), expected);
}

/// Returns the snippet with `<mark>` around matches. The text is not escaped.
fn marked(query: &str, text: &str) -> String {
    marked_in("", query, text)
}

fn marked_in(language: &str, query: &str, text: &str) -> String {
    let parsed = parse(query);
    let parts = Snippets::new(&parsed, &mut StemMemo::new(64))
        .best(text, language)
        .parts;
    let part = |part: SnippetPart| {
        if part.matched {
            format!("<mark>{}</mark>", part.text)
        } else {
            part.text
        }
    };
    parts.into_iter().map(part).collect()
}

#[test]
fn words_are_marked_in_any_form() {
    check("cafe", "Le Café &c", "Le <mark>Café</mark> &c");
    check(
        "\"root zone\"",
        "zone root Root  ZONE root",
        "zone root <mark>Root ZONE</mark> root",
    );
    check("東京", "私は東京都に住む", "私は<mark>東京</mark>都に住む");
    check("京", "私は東京都に住む", "私は東<mark>京</mark>都に住む");
    check("e-mail", "an e-mail", "an <mark>e-mail</mark>");
    check("boxes", "a box", "a <mark>box</mark>");
    check(
        "quer* cach*",
        "Caches, queries",
        "<mark>Caches</mark>, <mark>queries</mark>",
    );
    check("arch* archive", "archives", "<mark>archives</mark>");
}

#[test]
fn words_of_the_same_stem_are_marked_in_the_language_of_the_page() {
    let check = |language: &str, query: &str, text: &str, expected: &str| {
        assert_eq!(marked_in(language, query, text), expected);
    };
    check(
        "en-GB",
        "indexing",
        "An index is indexed",
        "An <mark>index</mark> is <mark>indexed</mark>",
    );
    check("en", "\"indexing\"", "An index", "An index");
    check(
        "en",
        "\"an indexing\" index",
        "an indexed",
        "an <mark>indexed</mark>",
    );
    check("pl", "indexing", "An index", "An index");
    check("en", "die", "dying", "<mark>dying</mark>");
    check(
        "nl",
        "lopen",
        "hij heeft gelopen",
        "hij heeft <mark>gelopen</mark>",
    );
    check("de", "haus", "viele Häuser", "viele <mark>Häuser</mark>");
    check("ru", "книга", "много книг", "много <mark>книг</mark>");
}

/// Ranges refer to the original text, whatever the number of characters of a letter there.
#[test]
fn marks_stand_right_in_texts_of_other_forms() {
    check(
        "район",
        "наш раи\u{306}он тут",
        "наш <mark>раи\u{306}он</mark> тут",
    );
    check("ガ", "ｱｶﾞｲ", "ｱ<mark>ｶﾞ</mark>ｲ");
    check("ガイ", "ｱｶﾞｲﾄﾞ", "ｱ<mark>ｶﾞｲ</mark>ﾄﾞ");
    check(
        "한국",
        "\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}\u{110b}",
        "<mark>\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}</mark>\u{110b}",
    );
    check("find", "a ﬁnd.", "a <mark>ﬁnd</mark>.");
    check("سلام", "x ﺳﻼﻡ y", "x <mark>ﺳﻼﻡ</mark> y");
}

#[test]
fn layout_of_the_text_does_not_get_out() {
    check(
        "x",
        "<script>alert('x')</script>\u{202e}\u{0}\u{200b}\"",
        "<script>alert('<mark>x</mark>')</script>\"",
    );
}

#[test]
fn without_a_match_the_text_begins() {
    check("nothing", "a text", "a text");
    check("", "", "");
    check("site:a.org", " a  text\n", "a text");
}

#[test]
fn the_closest_matches_are_shown() {
    let far = "filler ".repeat(100);
    let text = format!("alpha {far} beta {far} alpha of beta {far}");
    let snippet = marked("alpha beta", &text);
    assert!(
        snippet.contains("<mark>alpha</mark> of <mark>beta</mark>"),
        "{snippet}"
    );
    assert!(snippet.starts_with('…') && snippet.ends_with('…'), "{snippet}");
    assert!(snippet.chars().count() < 300, "{snippet}");
}

#[test]
fn long_words_are_cut() {
    let text = format!("x {} y", "w".repeat(500));
    let snippet = marked("y", &text);
    assert!(!snippet.contains(&"w".repeat(41)), "{snippet}");
    let snippet = marked(&"w".repeat(500), &text);
    assert!(snippet.chars().count() < 300, "{snippet}");
    let text = "漢".repeat(1000);
    let snippet = marked("x", &text);
    assert_eq!(snippet, format!("{}…", "漢".repeat(200)));
}

#[test]
fn texts_beyond_what_is_looked_at_are_cut_at_a_character() {
    let text = "é".repeat(SNIPPET_TEXT_BYTES_MAX);
    Snippets::new(&parse("x"), &mut StemMemo::new(64)).best(&text[..], "en");
    let odd = format!("x{text}");
    Snippets::new(&parse("x"), &mut StemMemo::new(64)).best(&odd, "en");
}

proptest! {
    #[test]
    fn any_text_and_query_give_sound_parts(
        query in "[a-cesé東 \"-]{0,12}",
        language in "|en|fr|nl|ja",
        text in "([a-c<>&é東京ｶﾞﷺ½\u{301}\u{202e} ]|\\PC|.){0,600}",
    ) {
        let parts = Snippets::new(&parse(&query), &mut StemMemo::new(64)).best(&text, &language).parts;
        prop_assert!(parts.iter().all(|part| !part.text.is_empty()), "{parts:?}");
        prop_assert!(parts.windows(2).all(|pair| pair[0].matched || pair[1].matched), "{parts:?}");
        prop_assert!(!parts.iter().any(|part| part.text.contains(char::is_control)), "{parts:?}");
        let chars: usize = parts.iter().map(|part| part.text.chars().count()).sum();
        prop_assert!(chars < 3000, "{parts:?}");
    }
}
