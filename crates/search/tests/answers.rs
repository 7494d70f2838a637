//! Tests of the results of queries.

use std::sync::Arc;

use access::{Access, AccessFilter, AccessRule, AccessRules, Condition, Groups};
use search::{Anchor, Document, NoteKind, Query, SearchIndex, TextCapture, TextRequest, Version};

use crate::support::{ALL, ask, names, open, page, upsert};

/// Creates an index over a few pages of every kind.
fn library(dir: &std::path::Path) -> SearchIndex {
    let index = open(dir);
    let pages = [
        page("root", "Root Zone", "The root zone database of IANA"),
        page("zone", "A zone", "About roots, but not the root of a zone"),
        page("cafe", "Café", "Le café de la gare"),
        page("tokyo", "東京都", "東京タワーは東京都港区にある"),
        Document {
            host: "www.sub.example.net".into(),
            domain: "example.net".into(),
            mime: "application/pdf".into(),
            language: "de-CH".into(),
            collection: "second one".into(),
            fetch_time_ms: 1_500_000_000_000,
            ..page("pdf", "", "Ein Bericht über die root zone")
        },
        Document {
            url: "http://example.org/url-words/M%C3%BCnchen".into(),
            inlink_bucket: 9,
            ..page("bare", "", "")
        },
    ];
    let began = pages.map(|page| {
        let since_ms = page.fetch_time_ms;
        let version = Version {
            since_ms,
            ..page.version
        };
        upsert(Document { version, ..page })
    });
    index.apply(1, began).unwrap();
    assert_eq!(index.flush().unwrap(), 1);
    index
}

#[test]
fn queries_find_what_they_should() {
    let dir = tempfile::tempdir().unwrap();
    let index = library(dir.path());
    let check = |query: &str, expected: &[&str]| {
        let results = ask(&index, query, 10);
        let mut found = names(&results);
        found.sort_unstable();
        assert_eq!(found, expected, "{query}");
        assert_eq!(results.total, expected.len() as u64, "{query}");
        assert_eq!(results.notes, [], "{query}");
        assert_eq!(results.epoch, 1);
    };
    check("root zone", &["pdf", "root", "zone"]);
    check("\"root zone\"", &["pdf", "root"]);
    check("root -database", &["pdf", "zone"]);
    check("cafe", &["cafe"]);
    check("CAFÉ", &["cafe"]);
    check("東京", &["tokyo"]);
    check("港", &["tokyo"]);
    check("る", &["tokyo"]);
    check("京都港", &["tokyo"]);
    check("münchen", &["bare"]);
    check("url-words", &["bare"]);
    check("site:example.net", &["pdf"]);
    check("site:sub.example.net", &["pdf"]);
    check("-site:example.org", &["pdf"]);
    check("site:xample.net", &[]);
    check("type:pdf", &["pdf"]);
    check("type:application/", &["pdf"]);
    check("type:application/p", &["pdf"]);
    check("root type:html", &["root", "zone"]);
    check("lang:de", &["pdf"]);
    check("lang:de-ch", &["pdf"]);
    check("lang:fr", &[]);
    check("year:2017", &["pdf"]);
    check("from:2017-07-14", &["pdf"]);
    check("to:20170713 root", &["root", "zone"]);
    check("collection:\"second one\"", &["pdf"]);
    check("cafe OR database", &["cafe", "root"]);
    check(
        "site:example.net OR site:example.org root",
        &["pdf", "root", "zone"],
    );
    check("title:root", &["root"]);
    check("title:\"a zone\"", &["zone"]);
    check("zone -title:zone", &["pdf"]);
    check("title:京", &["tokyo"]);
    check("url:münchen", &["bare"]);
    check("url:http://example.org/url-words root OR url:words", &["bare"]);
    check("url:database", &[]);
    check("data*", &["root"]);
    check("roots*", &["zone"]);
    check("title:roo* OR caf*", &["cafe", "root"]);
    check("zone -data*", &["pdf", "zone"]);
    check(ALL, &["bare", "cafe", "pdf", "root", "tokyo", "zone"]);
    check("-root", &["bare", "cafe", "tokyo"]);
    check("nothingofthis", &[]);
}

#[test]
fn titles_and_in_links_come_first() {
    let dir = tempfile::tempdir().unwrap();
    let index = library(dir.path());
    assert_eq!(names(&ask(&index, "root zone", 10))[0], "root");
    assert_eq!(
        names(&ask(&index, ALL, 10)),
        ["bare", "cafe", "pdf", "root", "tokyo", "zone"]
    );
    let linked = Document {
        inlink_bucket: 12,
        ..page("linked", "", "many words around root and also the zone of it")
    };
    index.apply(2, [upsert(linked)]).unwrap();
    index.flush().unwrap();
    assert_eq!(names(&ask(&index, "root zone", 10))[0], "linked");
}

/// Words are wanted: of two both are needed, of more a share of their weight. Results say what they
/// lack.
#[test]
fn pages_with_enough_of_the_words_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let index = library(dir.path());
    let check = |query: &str, expected: &[(&str, &str)]| {
        let results = ask(&index, query, 10);
        let missing: Vec<String> = results.hits.iter().map(|hit| hit.missing.join(" ")).collect();
        let found = names(&results).into_iter().zip(&missing);
        let mut found: Vec<(&str, &str)> = found.map(|(name, missing)| (name, missing.as_str())).collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{query}");
        assert_eq!(
            (results.total, results.notes.len()),
            (expected.len() as u64, 0),
            "{query}"
        );
    };
    check("root database gare", &[("root", "gare")]);
    check("nothing ofthis", &[]);
    // `root` alone weighs too little.
    let cafe = ("cafe", "root iana database");
    check("root iana database gare", &[cafe, ("root", "gare")]);
    check("+root iana database gare", &[("root", "gare")]);
    check("iana AND database gare cafe", &[("root", "gare cafe")]);
    check("iana database gare cafe -root", &[("cafe", "iana database")]);
    // Function words of the page's language are neither needed nor missed.
    check("the database of iana", &[("root", "")]);
    check("when is the database", &[("root", "")]);
    check("the", &[("root", ""), ("zone", "")]);
}

/// Pages with all words come before any other, even before a page that repeats the weightiest.
#[test]
fn pages_with_all_words_come_first() {
    let dir = tempfile::tempdir().unwrap();
    let index = library(dir.path());
    let filler = "filler ".repeat(300);
    let all = page("all", "", &format!("iana {filler} database {filler} gare"));
    let many = page("many", "Database gare", &"database gare ".repeat(20));
    index.apply(2, [all, many].map(upsert)).unwrap();
    index.flush().unwrap();
    let results = ask(&index, "iana database gare", 10);
    assert_eq!(names(&results)[..2], ["all", "many"]);
    assert_eq!(results.hits[1].missing, ["iana"]);
}

#[test]
fn one_word_is_enough_where_no_page_has_more() {
    let dir = tempfile::tempdir().unwrap();
    let index = library(dir.path());
    let results = ask(&index, "cafe database", 10);
    assert_eq!(names(&results), ["cafe", "root"]);
    let kinds: Vec<NoteKind> = results.notes.iter().map(|note| note.kind).collect();
    assert_eq!(kinds, [NoteKind::FewOfTheWords]);
    assert_eq!(ask(&index, "+cafe +database", 10).total, 0);
    assert_eq!(names(&ask(&index, "\"cafe\" database", 10)), ["cafe"]);
    // Words that no page has are left out first.
    let results = ask(&index, "root zone nothingofthis", 10);
    assert_eq!(
        (results.total, &*results.hits[0].missing),
        (3, &["nothingofthis".to_owned()][..])
    );
    assert_eq!(
        ask(&index, "cafe nothingofthis", 10).notes[0].kind,
        NoteKind::FewOfTheWords
    );
}

/// Hidden pages do not change matches or missing words, whether or not the rules are
/// strict: words are weighed among the pages that the caller sees.
#[test]
fn hidden_pages_do_not_change_what_matches() {
    let (dir, plain_dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (index, plain) = (library(dir.path()), library(plain_dir.path()));
    let hidden = ["gare iana", "gare nowhere", "database", "gare"]
        .iter()
        .enumerate();
    let hidden = hidden.map(|(number, text)| Document {
        collection: "hidden".to_owned(),
        ..page(&format!("hidden{number}"), "", text)
    });
    index.apply(2, hidden.map(upsert)).unwrap();
    index.flush().unwrap();
    let rule = AccessRule {
        access: Access::Deny,
        condition: Condition {
            collection: Some("hidden".to_owned()),
            ..Condition::default()
        },
        ..AccessRule::default()
    };
    for strict in [true, false] {
        let rules = AccessRules {
            default: Access::Allow,
            strict,
            rules: vec![rule.clone()],
        };
        let sight = rules.filter_for(&Groups::public(), 0).unwrap();
        for text in [
            "root gare nowhere",
            "gare nowhere",
            "iana gare zone",
            "root zone iana gare",
        ] {
            let query = Query {
                text: text.to_owned(),
                limit: 10,
                ..Query::default()
            };
            let found = |index: &SearchIndex| {
                let mut found = index.search(&query, &sight, &|_| None).unwrap();
                found.hits.sort_by(|a, b| a.url_key.cmp(&b.url_key));
                let hits = found.hits.into_iter().map(|hit| (hit.url_key, hit.missing));
                (found.total, found.notes, hits.collect::<Vec<_>>())
            };
            assert_eq!(found(&index), found(&plain), "{text}, strict: {strict}");
        }
    }
}

#[test]
fn a_phrase_spans_no_two_parts() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.apply(1, [upsert(page("p", "red", "blue"))]).unwrap();
    index.flush().unwrap();
    assert_eq!(ask(&index, "red blue", 1).total, 1);
    assert_eq!(ask(&index, "\"red red\"", 1).total, 0);
    assert_eq!(ask(&index, "\"red example\"", 1).total, 0);
    assert_eq!(ask(&index, "\"p blue\"", 1).total, 0);
}

#[test]
fn facets_count_all_matches_and_narrow() {
    let dir = tempfile::tempdir().unwrap();
    let index = library(dir.path());
    let results = ask(&index, "root zone", 1);
    let facet = |field: &str| {
        let facet = results.facets.iter().find(|facet| facet.field == field).unwrap();
        let values = facet.values.iter();
        values
            .map(|value| format!("{} {} {}", value.value, value.count, value.query))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        facet("domain"),
        [
            "example.org 2 root zone site:example.org",
            "example.net 1 root zone site:example.net"
        ]
    );
    assert_eq!(
        facet("year"),
        ["2008 2 root zone year:2008", "2017 1 root zone year:2017"]
    );
    assert_eq!(facet("language")[1], "de 1 root zone lang:de");
    assert_eq!(
        facet("suffix"),
        ["org 2 root zone suffix:org", "net 1 root zone suffix:net"]
    );
    for facet in &results.facets {
        for value in &facet.values {
            assert_eq!(
                ask(&index, &value.query, 10).total,
                value.count,
                "{}",
                value.query
            );
        }
    }
}

/// A suffix is the part above the registered domain, and a label can be any text.
#[test]
fn suffixes_and_collections_are_facets() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let of_host = |name: &str, host: &str, collection: &str| {
        let mut document = page(name, "root", "zone");
        document.host = host.to_owned();
        document.collection = collection.to_owned();
        upsert(document)
    };
    let changes = [
        of_host("1", "www.example.co.uk", "crawl 1"),
        of_host("2", "example.uk", "crawl 1"),
        of_host("3", "someone.github.io", "at:noon"),
        of_host("4", "192.168.1.1", ""),
        of_host("5", "co.uk", "x"),
    ];
    index.apply(1, changes).unwrap();
    index.flush().unwrap();
    let found = ask(&index, "root", 10);
    let facet = |name: &str| {
        let facet = found.facets.iter().find(|facet| facet.field == name).unwrap();
        let values = facet.values.iter();
        values
            .map(|value| (value.value.as_str(), value.count))
            .collect::<Vec<_>>()
    };
    assert_eq!(facet("suffix"), [("co.uk", 2), ("github.io", 1), ("uk", 1)]);
    assert_eq!(facet("collection"), [("crawl 1", 2), ("at:noon", 1), ("x", 1)]);
    let narrowing = found.facets.iter();
    for facet in narrowing.filter(|facet| matches!(facet.field.as_str(), "suffix" | "collection")) {
        for value in &facet.values {
            let narrowed = ask(&index, &value.query, 10);
            assert_eq!(narrowed.total, value.count, "{}", value.query);
        }
    }
    assert_eq!(ask(&index, "suffix:uk", 10).total, 1);
    assert_eq!(ask(&index, "site:uk", 10).total, 3);
    assert_eq!(ask(&index, "root -suffix:co.uk", 10).total, 3);
}

#[test]
fn explained_scores_add_up() {
    let dir = tempfile::tempdir().unwrap();
    let index = library(dir.path());
    for text in [
        "root zone",
        "\"root zone\" database",
        "münchen",
        "site:example.org",
        "京",
        "title:root zone",
        "data* title:zone url:example",
    ] {
        let query = Query {
            text: text.to_owned(),
            limit: 10,
            explain: true,
            ..Query::default()
        };
        let results = index
            .search(&query, &AccessFilter::everything(), &|_| None)
            .unwrap();
        assert!(!results.hits.is_empty());
        for hit in &results.hits {
            let parts = hit.explanation.as_ref().unwrap();
            let score = |part: &str| parts[part]["score"].as_f64().unwrap();
            let sum = score("bm25") + score("all_words") + score("near") + score("prior");
            assert_eq!(sum, hit.score, "{text}: {parts}");
        }
    }
}

#[test]
fn snippets_come_from_the_text_of_the_results_shown() {
    let dir = tempfile::tempdir().unwrap();
    let index = library(dir.path());
    let asked = std::cell::RefCell::new(Vec::new());
    let query = Query {
        text: "root".to_owned(),
        limit: 2,
        ..Query::default()
    };
    let text_of = |sought: &TextRequest<'_>| {
        asked.borrow_mut().push(sought.url_key.to_owned());
        Some(Arc::<str>::from("a <root> text"))
    };
    let results = index
        .search(&query, &AccessFilter::everything(), &text_of)
        .unwrap();
    let parts = results.hits[0].snippet.parts.iter();
    let parts: Vec<(&str, bool)> = parts.map(|part| (&*part.text, part.matched)).collect();
    assert_eq!(parts, [("a <", false), ("root", true), ("> text", false)]);
    assert_eq!(asked.borrow().len(), 2);
    assert_eq!(results.total, 3);
}

/// Regression: a query of emoji only, or of `OR` only, returned every page as if all matched.
#[test]
fn a_query_without_words_finds_nothing_and_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let index = library(dir.path());
    for text in ["", "🍕", "...", "OR", "\"", "site:", "\u{0}"] {
        let results = ask(&index, text, 10);
        assert_eq!(
            (results.total, results.hits.len(), results.epoch),
            (0, 0, 1),
            "{text}"
        );
        let kinds: Vec<_> = results.notes.iter().map(|note| note.kind).collect();
        assert!(kinds.contains(&NoteKind::NothingToSearch), "{text}: {kinds:?}");
    }
    let results = ask(&index, "\"root zone", 10);
    assert_eq!(
        (results.total, results.notes[0].kind),
        (2, NoteKind::QuoteNotClosed)
    );
    assert_eq!(
        results.notes[0].text,
        "a quote is not closed: \"root zone\" was read as one phrase"
    );
}

/// Regression: each spelling found only its own page.
#[test]
fn composed_and_decomposed_words_find_the_same_pages() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let composed = "Київ район データベース 대한민국 café ў";
    let decomposed = "Київ район テ\u{3099}ータヘ\u{3099}ース 대한민국 cafe\u{301} у\u{306}"
        .replace('ї', "і\u{308}")
        .replace('й', "и\u{306}");
    let halfwidth = "ﾃﾞｰﾀﾍﾞｰｽ";
    let pages = [
        page("c", "", composed),
        page("d", "", &decomposed),
        page("h", "", halfwidth),
    ];
    index.apply(1, pages.map(upsert)).unwrap();
    index.flush().unwrap();
    for text in [composed, &decomposed] {
        for word in text.split(' ').filter(|word| !word.starts_with(['デ', 'テ'])) {
            assert_eq!(names(&ask(&index, word, 10)), ["c", "d"], "{word}");
        }
    }
    for word in ["データベース", "テ\u{3099}ータ", halfwidth, "ﾀﾍﾞ"] {
        assert_eq!(ask(&index, word, 10).total, 3, "{word}");
    }
}

#[test]
fn odd_queries_have_answers() {
    let dir = tempfile::tempdir().unwrap();
    let index = library(dir.path());
    let long = "word ".repeat(10_000);
    let wide = "東".repeat(5000);
    let odd = [
        "\"",
        "\"\"",
        "-",
        "--",
        "-\"",
        "OR",
        "a OR",
        "NOT",
        "site:",
        "site:\u{0}",
        "type:/",
        "type:*",
        "lang:\"",
        "year:x",
        "from:-1",
        "to:99999999999999",
        "collection:\u{1f355}",
        "🍕",
        "\u{0}\u{1}",
        "((((",
        "a:b:c",
        "\\",
        "*",
        "?",
        "~",
        "^2",
        "[a TO b]",
        &long,
        &wide,
    ];
    for text in odd {
        ask(&index, text, 100);
    }
    let query = Query {
        text: "root".to_owned(),
        limit: 10,
        after: Some("what is this".to_owned()),
        ..Query::default()
    };
    let refused = index
        .search(&query, &AccessFilter::everything(), &|_| None)
        .unwrap_err();
    assert!(refused.to_string().contains("another query"), "{refused}");
}

/// The text of a document can come from another capture. A rule that matches either capture hides
/// the document, even if both have the same digest and collection.
#[test]
fn a_document_is_hidden_by_the_capture_of_its_text_too() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let of_another = |mime: &str, digest: &str, collection: &str| TextCapture {
        collection: collection.to_owned(),
        digest: digest.to_owned(),
        mime: mime.to_owned(),
    };
    let document = |name: &str, text_capture| Document {
        digest: "OWN".into(),
        collection: "own".into(),
        mime: "text/html".into(),
        text_capture,
        ..page(name, "Welcome", "an old text")
    };
    let documents = [
        document("alone", None),
        document("mime", Some(of_another("application/pdf", "OWN", "own"))),
        document("digest", Some(of_another("text/html", "OTHER", "own"))),
        document("collection", Some(of_another("text/html", "OWN", "closed"))),
    ];
    index.apply(1, documents.map(upsert)).unwrap();
    index.flush().unwrap();
    let all = ["alone", "collection", "digest", "mime"];
    let check = |condition: Condition, hidden: &[&str]| {
        let rule = AccessRule {
            access: Access::Deny,
            condition: condition.clone(),
            ..AccessRule::default()
        };
        let rules = AccessRules {
            default: Access::Allow,
            strict: true,
            rules: vec![rule],
        };
        let query = Query {
            text: "old".into(),
            limit: 10,
            facets: true,
            ..Query::default()
        };
        let sight = rules.filter_for(&Groups::public(), 0).unwrap();
        let mut found = index.search(&query, &sight, &|_| None).unwrap();
        found.hits.sort_by(|a, b| a.url_key.cmp(&b.url_key));
        let seen: Vec<&str> = all.into_iter().filter(|name| !hidden.contains(name)).collect();
        assert_eq!(names(&found), seen, "{condition:?}");
        // The facet of types counts a page only with its own type.
        let types = found.facets.iter().find(|facet| facet.field == "type").unwrap();
        let types: Vec<_> = types
            .values
            .iter()
            .map(|value| (&*value.value, value.count))
            .collect();
        let own = Some(("text/html", seen.len() as u64)).filter(|(_, count)| *count > 0);
        assert_eq!(types, own.into_iter().collect::<Vec<_>>(), "{condition:?}");
    };
    let by = Condition::default;
    let mime = |mime: &str| Condition {
        mime: Some(mime.to_owned()),
        ..by()
    };
    check(mime("application/pdf"), &["mime"]);
    check(mime("text/html"), &all);
    check(mime("image/*"), &[]);
    let digest = Some("OTHER".to_owned());
    check(Condition { digest, ..by() }, &["digest"]);
    let collection = Some("closed".to_owned());
    check(Condition { collection, ..by() }, &["collection"]);
}

/// Callers who must not know of all links learn nothing from anchor texts, neither from matches nor
/// from scores.
#[test]
fn words_of_links_are_found_by_who_sees_all_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let anchor = |text: &str, weight| Anchor {
        text: text.to_owned(),
        weight,
    };
    let said = |anchors: &[Anchor]| Document {
        anchors: anchors.to_vec(),
        ..page("said", "Welcome", "an old text")
    };
    let others = [
        page("other", "Contact", "how to find us"),
        page("third", "", "text"),
    ]
    .map(upsert);
    let anchors = [anchor("Contact us", 3), anchor("Prémices", 1)];
    index
        .apply(1, others.into_iter().chain([upsert(said(&anchors))]))
        .unwrap();
    index.flush().unwrap();
    let found = |index: &SearchIndex, query: &str, sight: &AccessFilter| {
        let query = Query {
            text: query.to_owned(),
            limit: 10,
            explain: true,
            ..Query::default()
        };
        index.search(&query, sight, &|_| None).unwrap()
    };
    let everything = AccessFilter::everything();
    for (query, names_found) in [
        ("contact", &["other", "said"][..]),
        ("\"contact us\"", &["said"]),
        ("premices", &["said"]),
        ("\"us premices\"", &[]),
        ("\"text contact\"", &[]),
        ("cont*", &["other", "said"]),
        ("title:contact", &["other"]),
        ("-contact", &["third"]),
        // The word of the link counts together with the words of the text.
        ("old contact", &["said"]),
    ] {
        let mut found = found(&index, query, &everything);
        found.hits.sort_by(|a, b| a.url_key.cmp(&b.url_key));
        assert_eq!(names(&found), names_found, "{query}");
    }
    let explained = found(&index, "contact", &everything);
    let of_said = explained
        .hits
        .iter()
        .find(|hit| hit.url_key.ends_with("said"))
        .unwrap();
    let words = &of_said.explanation.as_ref().unwrap()["bm25"]["parts"][0]["words"][0];
    assert_eq!(
        (&words["in_anchors"], &words["as_written"]),
        (&3.into(), &3.into())
    );

    // With a sight that hides other pages but not these, the answers equal those of an index
    // without anchors.
    let hidden = AccessRule {
        access: Access::Deny,
        condition: Condition {
            collection: Some("hidden".to_owned()),
            ..Condition::default()
        },
        ..AccessRule::default()
    };
    let plain_dir = tempfile::tempdir().unwrap();
    let plain = open(plain_dir.path());
    let others = [
        page("other", "Contact", "how to find us"),
        page("third", "", "text"),
    ]
    .map(upsert);
    plain
        .apply(1, others.into_iter().chain([upsert(said(&[]))]))
        .unwrap();
    plain.flush().unwrap();
    for is_strict in [true, false] {
        let rules = AccessRules {
            default: Access::Allow,
            strict: is_strict,
            rules: vec![hidden.clone()],
        };
        let sight = rules.filter_for(&Groups::public(), 0).unwrap();
        for query in ["contact", "premices", "cont*", "us", "text", "-contact"] {
            let (one, other) = (found(&index, query, &sight), found(&plain, query, &sight));
            assert_eq!(names(&one), names(&other), "{query}");
            if is_strict {
                assert_eq!(one.hits, other.hits, "{query}");
            }
        }
    }
}

#[test]
fn what_is_near_in_an_organisation_comes_first() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let of = |name: &str, key: &str, mime: &str| Document {
        url_key: key.to_owned(),
        mime: mime.to_owned(),
        ..page(name, "", "the library of the university")
    };
    let pages = [
        of("a", "uk,ac,ox)/elsewhere", "text/html"),
        of("b", "uk,ac,ox,cs)/department", "text/html"),
        of("c", "uk,ac,ox,cs,sub)/below", "text/html"),
        of("d", "uk,ac,cam)/other", "application/pdf"),
        of("e", "org,example)/far", "text/html"),
    ];
    index.apply(1, pages.map(upsert)).unwrap();
    index.flush().unwrap();
    let order = |profile: &str| {
        let query = Query {
            text: "library".to_owned(),
            limit: 10,
            explain: true,
            profile: profile.parse().unwrap(),
            ..Query::default()
        };
        index
            .search(&query, &AccessFilter::everything(), &|_| None)
            .unwrap()
    };
    assert_eq!(
        names(&order("")).join(" "),
        "far other elsewhere department below"
    );
    let near = order("place:cs.ox.ac.uk^40 type:pdf^10");
    assert_eq!(names(&near).join(" "), "department below elsewhere other far");
    for hit in &near.hits {
        let explained = hit.explanation.as_ref().unwrap();
        let score = |part: &str| explained[part]["score"].as_f64().unwrap();
        assert_eq!(
            score("bm25") + score("near") + score("prior") + score("profile"),
            hit.score
        );
    }
    let parts = |hit: usize| &near.hits[hit].explanation.as_ref().unwrap()["profile"]["parts"];
    assert_eq!(parts(2)[0]["percent"], 20);
    assert_eq!(
        (&parts(3)[0]["for"], &parts(4).as_array().unwrap().len()),
        (&"type:pdf".into(), &0)
    );
    let by_site = order("site:example.org^1 lang:de");
    assert_eq!(names(&by_site)[0], "far");
}
