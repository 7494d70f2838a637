use proptest::prelude::*;

use super::*;
use crate::note::NoteKind;

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
fn check_noted(text: &str, understood: &str, kind: NoteKind, part: &str) {
    let parsed = parse(text);
    assert_eq!(parsed.to_string(), understood, "{text:?}");
    let again = parse(&parsed.to_string());
    assert_eq!(again.clauses, parsed.clauses, "read again: {text:?}");
    let noted = parsed
        .notes
        .iter()
        .any(|note| (note.kind, note.part.as_str()) == (kind, part));
    assert!(noted, "{text:?}: {:?}", parsed.notes);
}

fn folded(phrase: &Phrase) -> Vec<(usize, &str)> {
    let words = phrase.words.iter();
    words
        .map(|(offset, word)| (*offset, word.folded.as_str()))
        .collect()
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
    // The index has hosts as URL keys have them.
    check("site:https://www.IANA.org/x", "site:iana.org");
    check(
        "site:www2.example.org site:www.com",
        "site:example.org site:www.com",
    );
    check(
        "site:*.example.org. site:localhost:8080",
        "site:example.org site:localhost",
    );
    check("https://ti:le https://site:x", "\"ti:le\" \"site:x\"");
    check("\"\0https://a b\"", "\"a b\"");
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
    assert_eq!(folded(phrase), [(0, "e"), (1, "mail")]);
    let parsed = parse("東京都");
    let phrase = parsed.phrases().next().unwrap().0;
    assert_eq!(folded(phrase), [(0, "東京"), (1, "京都")]);
    let parsed = parse("http://www.iana.org/");
    assert_eq!(parsed.phrases().next().unwrap().0.words[0].1.folded, "www");
    let parsed = parse("東京 x東");
    let words: Vec<_> = parsed.phrases().map(|(phrase, _)| folded(phrase)).collect();
    assert_eq!(words[0], [(0, "東京")]);
    assert_eq!(words[1], [(0, "x"), (1, "東")]);
}

#[test]
fn parts_of_a_page_and_beginnings_of_words() {
    check("title:Zone url:root -title:dns", "title:Zone url:root -title:dns");
    check(
        "title:\"root zone\" OR url:iana.org",
        "title:\"root zone\" OR url:iana.org",
    );
    check("url:http://www.iana.org/x", "url:www.iana.org/x");
    check("archiv* title:archiv* -queri*", "archiv* title:archiv* -queri*");
    check("東京*", "東京");
    let parsed = parse("Queries* boxes");
    let words: Vec<_> = parsed
        .phrases()
        .map(|(phrase, _)| phrase.words[0].1.folded.clone())
        .collect();
    assert_eq!(words, ["queries", "boxes"]);
}

#[test]
fn what_is_not_used_is_noted() {
    use NoteKind::*;
    check_noted("", "", NothingToSearch, "");
    check_noted("🍕 ❤️", "", NothingToSearch, "");
    check_noted("... !? --", "", NothingToSearch, "");
    check_noted("\"", "", NothingToSearch, "");
    check_noted("🍕 pizza", "pizza", NoWords, "🍕");
    check_noted("\"root zone", "\"root zone\"", QuoteNotClosed, "root zone");
    check_noted("disk 5\" drive", "disk 5 \"drive\"", QuoteNotClosed, "drive");
    check_noted(
        "domain:iana.org x",
        "\"domain:iana.org\" x",
        UnknownField,
        "domain",
    );
    check_noted("date:2014", "\"date:2014\"", UnknownField, "date");
    check_noted("Foo:\"a b\"", "Foo: \"a b\"", UnknownField, "foo");
    check_noted("OR", "", OperatorAlone, "OR");
    check_noted("OR OR", "", NothingToSearch, "");
    check_noted("OR a", "a", OperatorAlone, "OR");
    check_noted("a OR", "a", OperatorAlone, "OR");
    check_noted("a AND OR b", "a OR b", OperatorAlone, "AND");
    check_noted("a OR 🍕 b", "a b", OperatorAlone, "OR");
    check_noted("a NOT", "a", OperatorAlone, "NOT");
    check_noted("a OR -b", "a -b", OrWithNot, "b");
    check_noted("(a b) OR c", "a b OR c", Parentheses, "");
    check_noted("*chive ar*ve", "\"chive\" \"ar ve\"", StarIgnored, "*chive");
    check_noted("*site:x", "\"site:x\"", StarIgnored, "*site:x");
    check_noted("e-mail*", "\"e-mail\"", StarIgnored, "e-mail*");
    check_noted("\"root\" OR*", "\"root\" \"OR\"", BeginningTooShort, "OR*");
    check_noted("\"root\" ab*", "\"root\" \"ab\"", BeginningTooShort, "ab*");
    check_noted("site:", "", FieldWithoutValue, "site");
    check_noted("title: x", "x", FieldWithoutValue, "title");
    check_noted("a site:%%% b", "a b", NotAHost, "%%%");
    check_noted("a site:example). b", "a b", NotAHost, "example).");
    check_noted("from:yesterday x", "x", NotADate, "from:yesterday");
    check_noted("year:123456789012345", "", NotADate, "year:123456789012345");
    for date in [
        "from:2012-2",
        "from:2012-13",
        "year:2012-99",
        "year:99999",
        "at:-5",
        "at:2012-2-3",
        "to:2012-13-45",
        "at:2012-02-30",
    ] {
        check_noted(&format!("{date} x"), "x", NotADate, date);
    }
}

#[test]
fn odd_input_without_a_mistake_has_no_notes() {
    check("root - zone + !", "root zone");
    check("Foo: bar", "Foo: bar");
    check(
        "http://a.org:80/x std::io localhost:80",
        "a.org:80/x std::io localhost:80",
    );
    check("(a AND b)", "a b");
    check("Foo_(bar)", "Foo_(bar)");
    check("(site:a.org) \"a * b\"", "site:a.org \"a * b\"");
}

#[test]
fn a_sign_before_a_group_does_not_hide_it() {
    // As a word, `(OR` would be an operator when the query is read again.
    assert_eq!(parse("--(OR ").to_string(), "");
    assert_eq!(parse("+(a OR b)").to_string(), "a OR b");
    assert_eq!(parse("--(-OR").to_string(), "-\"OR\"");
}

#[test]
fn an_operator_behind_a_scheme_stays_a_word() {
    check("https://NOT archive", "\"NOT\" archive");
    check("web http://https://OR archive", "web \"OR\" archive");
}

#[test]
fn words_left_out_are_noted_beside_many_other_notes() {
    let stars: String = (0..WORDS_MAX).map(|n| format!("a{n}*b ")).collect();
    let notes = parse(&stars).notes;
    assert!(
        notes.iter().any(|note| note.kind == NoteKind::WordsLeftOut),
        "{notes:?}"
    );
}

#[test]
fn a_value_that_would_be_cut_stays_quoted() {
    check("collection:\"b)\" fi", "collection:\"b)\" fi");
    check("collection:\"a b\" lang:en", "collection:\"a b\" lang:en");
    check("collection:a(b)", "collection:a(b)");
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
    assert_eq!(parse(&filters).clauses[0].times, parser::CLAUSES_MAX as u32);
}

proptest! {
    #[test]
    fn any_text_is_a_query(text in "(site:|year:|from:|\"|-|[*(]|OR |NOT |[a-c東京é.:/ ]|\\PC|.){0,30}") {
        let parsed = parse(&text);
        let again = parse(&parsed.to_string());
        prop_assert_eq!(parsed.to_string(), again.to_string());
    }
}
