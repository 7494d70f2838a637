use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(text: &str, understood: &str) {
    let parsed = parse(text);
    assert_eq!(parsed.to_string(), understood, "{text:?}");
    assert_eq!(
        parse(&parsed.to_string()).clauses,
        parsed.clauses,
        "read again: {text:?}"
    );
    assert!(parsed.notes.is_empty(), "{text:?}: {:?}", parsed.notes);
}

#[track_caller]
fn check_noted(text: &str, understood: &str, note: &str) {
    let parsed = parse(text);
    assert_eq!(parsed.to_string(), understood, "{text:?}");
    let noted = parsed.notes.iter().any(|found| found.contains(note));
    assert!(noted, "{text:?}: {:?}", parsed.notes);
}

#[test]
fn words_and_phrases() {
    check("root zone", "root zone");
    check("\"root  zone\" -dns", "\"root zone\" -dns");
    check("NOT dns AND root", "-dns root");
    check("“root zone” «a b»", "\"root zone\" \"a b\"");
    check("a OR b OR c d", "a OR b OR c d");
    check("a b a", "a a b");
}

#[test]
fn filters() {
    check("site:https://www.IANA.org/x", "site:www.iana.org");
    check(
        "site:*.example.org. site:localhost:8080",
        "site:example.org site:localhost",
    );
    check("site:bücher.ch", "site:xn--bcher-kva.ch");
    check("site:192.168.1.1 site:[::1]", "site:192.168.1.1 site:::1");
    check("Type:PDF lang:EN year:2008", "type:pdf lang:en year:2008");
    check("from:2008-01 to:20081231", "from:2008-01 to:20081231");
    check("year:2005..2010", "year:2005..2010");
    check(
        "collection:\"two words\" -site:a.org",
        "collection:\"two words\" -site:a.org",
    );
    check("site:a.org OR site:b.org", "site:a.org OR site:b.org");
}

#[test]
fn what_is_several_words_is_a_phrase() {
    let parsed = parse("e-mail");
    let phrase = parsed.phrases().next().unwrap().0;
    assert_eq!(phrase.words, [(0, "e".to_owned()), (1, "mail".to_owned())]);
    let parsed = parse("東京都");
    let phrase = parsed.phrases().next().unwrap().0;
    assert_eq!(phrase.words, [(0, "東京".to_owned()), (1, "京都".to_owned())]);
    let parsed = parse("http://www.iana.org/");
    assert_eq!(parsed.phrases().next().unwrap().0.words[0].1, "www");
    let parsed = parse("東京 x東");
    let words: Vec<_> = parsed.phrases().map(|(phrase, _)| phrase.words.clone()).collect();
    assert_eq!(words[0], [(0, "東京".to_owned())]);
    assert_eq!(words[1], [(0, "x".to_owned()), (1, "東".to_owned())]);
}

#[test]
fn odd_input_is_read_as_far_as_it_goes() {
    check("", "");
    check("  \u{0}\u{7} ", "");
    check("\"", "");
    check("\"root zone", "\"root zone\"");
    check("OR OR", "");
    check("OR a", "a");
    check("a OR", "a");
    check("- + -- \" \" ()", "");
    check("-", "");
    check("🍕 ❤️", "");
    check("(a AND b)", "(a b)");
    check("foo:bar", "foo:bar");
    check_noted("site:", "", "site: has no value");
    check_noted("a site:%%% b", "a b", "no host name");
    check_noted("from:yesterday x", "x", "no date");
    check_noted("year:123456789012345", "", "no date");
}

#[test]
fn long_queries_are_bounded() {
    let words = "word ".repeat(10_000);
    let parsed = parse(&words);
    assert_eq!(parsed.clauses.len(), 1);
    assert_eq!(parsed.clauses[0].times, WORDS_MAX as u32);
    assert_eq!(parsed.notes.len(), 2, "{:?}", parsed.notes);
    let phrase = format!("\"{}\"", "word ".repeat(200));
    assert_eq!(parse(&phrase).phrases().next().unwrap().0.words.len(), WORDS_MAX);
    let filters = "lang:en ".repeat(1000);
    assert_eq!(parse(&filters).clauses[0].times, CLAUSES_MAX as u32);
}

proptest! {
    #[test]
    fn any_text_is_a_query(text in "(site:|year:|from:|\"|-|OR |NOT |[a-c東京é.:/ ]|\\PC|.){0,30}") {
        let parsed = parse(&text);
        let again = parse(&parsed.to_string());
        prop_assert_eq!(parsed.to_string(), again.to_string());
    }
}
