//! Tests which names a pattern matches.

use pattern::Pattern;

fn check(pattern: &str, name: impl AsRef<[u8]>, expected: bool) {
    let name = name.as_ref();
    let found = Pattern::new(pattern).unwrap().matches(name);
    assert_eq!(found, expected, "{pattern} {}", name.escape_ascii());
}

#[test]
fn characters_not_bytes() {
    check("?.txt", "é.txt", true);
    check("??.txt", "é.txt", false);
    check("[é].txt", "é.txt", true);
    check("[é]*", "ß.log", false);
    check("??.warc", "x日.warc", true);
    check("[!a]", "é", true);
    check("[α-ω]", "λ", true);
    check("[[:alpha:]]", "é", true);
}

#[test]
fn a_name_that_is_not_utf_8_is_bytes() {
    check("caf?", b"caf\xe9", true);
    check("caf[!a-z]", b"caf\xe9", true);
    check("???", b"\xc3\xa9\xff", true);
    check("??", b"\xc3\xa9\xff", false);
    check("é?", b"\xc3\xa9\xff", true);
    check("[[:alpha:]]", b"\xe9", false);
    for (name, expected) in [(b"caf\xe9", true), (b"caf\xea", false)] {
        assert_eq!(Pattern::new(b"caf\xe9").unwrap().matches(name), expected);
    }
}

#[test]
fn without_case() {
    for (pattern, name) in [
        ("ÉTÉ*", "été.pdf"),
        ("É.TXT", "é.txt"),
        ("[A-Z]", "m"),
        ("[a-z]", "M"),
        ("ß", "ß"),
    ] {
        assert!(
            Pattern::without_case(pattern).unwrap().matches(name),
            "{pattern} {name}"
        );
    }
    check("ÉTÉ*", "été.pdf", false);
    assert!(!Pattern::without_case("[!a]").unwrap().matches("A"));
}

#[test]
fn braces_and_escapes() {
    check("*.{warc,arc}{,.gz}", "x.warc.gz", true);
    check("*.{warc,arc}{,.gz}", "x.arc", true);
    check("*.{warc,arc}{,.gz}", "x.wacz", false);
    check("\\*", "*", true);
    check("\\*", "a", false);
    check("\\{a,b}", "{a,b}", true);
    check("[", "[", true);
    check("[a", "[a", true);
    check("{a", "{a", true);
}

#[test]
fn hidden_names_need_a_dot() {
    let fits = |pattern: &str, name: &str| Pattern::new(pattern).unwrap().matches_file(name);
    assert!(fits(".*", ".a") && fits("{b,.a}", ".a") && fits("\\.a", ".a") && fits("*", "a"));
    assert!(!fits("*", ".a") && !fits("?a", ".a") && !fits("[.]a", ".a"));
}

#[test]
fn many_stars_end_in_time() {
    check(&"*a".repeat(50), "a".repeat(49), false);
    check(&"*?".repeat(500), "é".repeat(1000), true);
}
