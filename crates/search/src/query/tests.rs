use proptest::prelude::*;

use super::*;
use crate::query::note::NoteKind;

#[track_caller]
fn check(text: &str, understood: &str) {
    let parsed = parse(text);
    assert_eq!(parsed.to_string(), understood, "{text:?}");
    assert_eq!(
        parse(&parsed.to_string()).clauses,
        parsed.clauses,
        "parsed again: {text:?}"
    );
    assert!(parsed.notes.is_empty(), "{text:?}: {:?}", parsed.notes);
}

#[track_caller]
fn check_noted(text: &str, understood: &str, kind: NoteKind, part: &str) {
    let parsed = parse(text);
    assert_eq!(parsed.to_string(), understood, "{text:?}");
    let again = parse(&parsed.to_string());
    assert_eq!(again.clauses, parsed.clauses, "parsed again: {text:?}");
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
    check("NOT dns AND root", "-dns +root");
    check("root AND zone AND dns", "+root +zone +dns");
    check("+root zone +\"a b\" +title:x", "+root zone \"a b\" title:x");
    check("root +root zone", "+root +root zone");
    check("“root zone” «a b»", "\"root zone\" \"a b\"");
    check("a OR b OR c d", "a OR b OR c d");
    check("a b a", "a a b");
}

#[test]
fn times_leave_out_years() {
    for (text, left_out) in [
        ("library", [false; 4]),
        ("library from:2013", [true, false, false, false]),
        ("library to:2013", [false, false, true, true]),
        ("library from:2014-06 to:2014-07", [true, true, false, true]),
        ("library year:2013 OR year:2015", [true, false, true, false]),
        ("library OR year:2013", [false; 4]),
        ("library at:2014-02", [true, true, false, true]),
        ("library -year:2013", [false, true, false, false]),
        ("library -year:2013-02", [false; 4]),
        ("library from:2015 to:2013", [true; 4]),
    ] {
        let parsed = parse(text);
        let found = [2012, 2013, 2014, 2015].map(|year| parsed.leaves_out(year));
        assert_eq!(found, left_out, "{text}");
    }
}

#[test]
fn filters() {
    check("site:IANA.org site:www.com", "site:iana.org site:www.com");
    check(
        "site:*.example.org. site:localhost",
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

/// `site:` with a port or a path narrows to URLs of that host. Removed parts are noted.
#[test]
fn ports_and_paths_behind_site_narrow() {
    check("site:example.org:8080", "site:example.org:8080");
    check(
        "site:https://example.org:443/ site:example.org/",
        "site:example.org site:example.org",
    );
    check("site:http://Example.org/Path/", "site:example.org/Path/");
    check("site:example.org:8080/a?b=c", "site:example.org:8080/a?b=c");
    check(
        "site:example.org/pa* -site:[::1]:8080/a",
        "site:example.org/pa* -site:[::1]:8080/a",
    );
    check("site:\"example.org/a b\"", "site:\"example.org/a b\"");
    let www = NoteKind::WwwLeftOut;
    check_noted(
        "site:https://www.IANA.org/",
        "site:iana.org",
        www,
        "site:iana.org",
    );
    check_noted(
        "site:www2.example.org/x",
        "site:example.org/x",
        www,
        "site:example.org/x",
    );
    check_noted("suffix:www.ac.uk", "suffix:ac.uk", www, "suffix:ac.uk");
    check_noted("suffix:ac.uk/x a", "a", NoteKind::NotAHost, "ac.uk/x");
    let keys = |query: &str| match &parse(query).clauses[0].any[0] {
        Leaf::Address { keys, .. } => keys.clone(),
        other => panic!("{other:?}"),
    };
    let has = |query: &str, expected: &[&str]| {
        let keys = keys(query);
        let all = [
            "org,example)/path",
            "org,example)/path/a",
            "org,example)/path?q=1",
            "org,example)/path?q=1&r=2",
            "org,example)/paths",
            "org,example:8080)/path",
            "org,example:8080)/",
            "org,example,a:8080)/",
            "org,example,a)/path",
        ];
        let found: Vec<&str> = all.into_iter().filter(|key| keys.contains(key)).collect();
        assert_eq!(found, expected, "{query}");
    };
    let below = [
        "org,example)/path",
        "org,example)/path/a",
        "org,example)/path?q=1",
        "org,example)/path?q=1&r=2",
    ];
    has("site:example.org/path", &below);
    has("site:example.org/PATH/", &below);
    has("site:example.org/path?q=1", &below[2..]);
    has(
        "site:example.org/path*",
        &[&below[..], &["org,example)/paths"]].concat(),
    );
    has(
        "site:example.org:8080",
        &["org,example:8080)/path", "org,example:8080)/"],
    );
    has("site:example.org:8080/path", &["org,example:8080)/path"]);
}

/// `AND` binds tighter than `OR`, as usual, and `OR` tighter than adjacency.
#[test]
fn and_joins_before_or_and_the_answer_says_so() {
    let noted = |text: &str, understood: &str, read: &str| {
        check_noted(text, understood, NoteKind::AndBeforeOr, read);
    };
    noted("a AND b OR c", "a OR c b OR c", "(a AND b) OR c");
    noted("a OR b AND c", "a OR b a OR c", "a OR (b AND c)");
    noted(
        "a & b | c && d",
        "a OR c a OR d b OR c b OR d",
        "(a AND b) OR (c AND d)",
    );
    noted("x a AND b OR c y", "x a OR c b OR c y", "(a AND b) OR c");
    noted(
        "a AND \"b c\" OR site:x.org",
        "a OR site:x.org \"b c\" OR site:x.org",
        "(a AND \"b c\") OR site:x.org",
    );
    noted("a AND b OR a", "+a b OR a", "(a AND b) OR a");
    check_noted("a AND -b OR c", "-b a OR c", NoteKind::OrWithNot, "b");
    // Next to a parenthesis, `AND` means the same as adjacency.
    check_noted("a AND (b OR c)", "+a b OR c", NoteKind::Parentheses, "");
    check_noted(
        "(a OR b) AND (c OR d)",
        "a OR b c OR d",
        NoteKind::Parentheses,
        "",
    );
    noted("(a AND b) OR c", "a OR c b OR c", "(a AND b) OR c");
    // Excess clauses are left out, with a note.
    let many = ["a AND b AND c AND d"; 10].join(" OR ");
    let parsed = parse(&many.replace("a AND", "x AND"));
    let leaves: usize = parsed.clauses.iter().map(|clause| clause.any.len()).sum();
    assert!(leaves <= parser::CLAUSES_MAX, "{leaves}");
}

/// Regression: in a search for a Hebrew abbreviation, or for a monitor of 27 inches, the rest of
/// the query became a phrase.
#[test]
fn a_quote_inside_a_word_is_part_of_it() {
    check("צה\"ל ישראל", "צה\"ל ישראל");
    check("27\" monitor", "27\" monitor");
    check("monitor 27\"", "monitor 27\"");
    check("5'11\" tall", "5'11\" tall");
    check("disk 5\" drive", "disk 5\" drive");
    check("title:צה\"ל", "title:צה\"ל");
    check("\"צה\"ל ישראל\" a", "\"צה\"ל ישראל\" a");
    check("\"27\" monitor", "\"27\" monitor");
    check("-\"a b\" (\"c d\")", "-\"a b\" \"c d\"");
    check("collection:a\"b", "collection:a\"b");
    let parsed = parse("צה\"ל");
    let phrase = parsed.phrases().next().unwrap().0;
    assert_eq!(folded(phrase), [(0, "צה"), (1, "ל")]);
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
    check("(a AND b)", "+a +b");
    check("Foo_(bar)", "Foo_(bar)");
    check("(site:a.org) \"a * b\"", "site:a.org \"a * b\"");
}

#[test]
fn a_sign_before_a_group_does_not_hide_it() {
    // As a word, `(OR` would be an operator when the query is parsed again.
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
    fn any_text_is_a_query(text in "(site:|year:|from:|\"|-|[*()]|OR |AND |NOT |collection:|[a-c東京é.:/ ]|\\PC|.){0,30}") {
        let parsed = parse(&text);
        let again = parse(&parsed.to_string());
        prop_assert_eq!(parsed.to_string(), again.to_string());
    }
}
