//! Compares the set with a model that keeps every occurrence and applies the definition to the
//! list.

use super::*;
use proptest::prelude::*;
use url::Url;

type Row<'a> = (&'a str, &'a str, bool);

const PAGE: &str = "http://www.example.co.uk/dir/page.html";

fn run(page: &str, base: Option<&str>, scope: LinkScope, rows: &[Row]) -> (Vec<Link>, u32) {
    let resolver = Resolver::new(page, base).unwrap();
    let page_key = urlkey::url_key(page).unwrap();
    let mut set = LinkSet::new(&resolver, &page_key, scope);
    for &(reference, anchor, nofollow) in rows {
        set.add(Occurrence {
            reference,
            anchor,
            nofollow,
            kind: LinkKind::A,
        });
    }
    set.finish()
}

/// Implements the definition literally.
fn model(page: &str, base: Option<&str>, scope: LinkScope, rows: &[Row]) -> Vec<Link> {
    let page_url = Url::parse(page).unwrap();
    let page_key = urlkey::url_key(page).unwrap();
    let is_web = |url: &Url| matches!(url.scheme(), "http" | "https");
    let base = base
        .and_then(|base| page_url.join(base).ok())
        .filter(is_web)
        .unwrap_or(page_url);
    let mut occurrences = Vec::new();
    for &(reference, anchor, nofollow) in rows {
        let Ok(mut url) = base.join(reference) else {
            continue;
        };
        url.set_fragment(None);
        let Ok(key) = urlkey::url_key(url.as_str()) else {
            continue;
        };
        let external = urlkey::domain_of_key(&key) != urlkey::domain_of_key(&page_key);
        if is_web(&url) && key != page_key && (external || scope == LinkScope::All) {
            let words: Vec<&str> = anchor.split_whitespace().collect();
            let anchor: String = words.join(" ").chars().take(ANCHOR_CHARS_MAX).collect();
            occurrences.push(Link {
                url_key: key,
                url: url.to_string(),
                anchor: anchor.trim_end().to_owned(),
                nofollow,
                kind: LinkKind::A,
            });
        }
    }
    let mut links: Vec<Link> = Vec::new();
    for occurrence in &occurrences {
        if links.iter().any(|link| link.url_key == occurrence.url_key) {
            continue;
        }
        let same: Vec<&Link> = occurrences
            .iter()
            .filter(|o| o.url_key == occurrence.url_key)
            .collect();
        links.push(Link {
            anchor: same
                .iter()
                .find(|o| !o.anchor.is_empty())
                .map(|o| o.anchor.clone())
                .unwrap_or_default(),
            nofollow: same.iter().all(|o| o.nofollow),
            ..occurrence.clone()
        });
    }
    links
}

#[test]
fn one_link_per_target() {
    let rows = [
        ("/b", "", true),
        ("#top", "own key", false),
        ("page.html?", "own key again", false),
        ("/b#x", " first \n text ", true),
        ("http://EXAMPLE.co.uk/b", "second", false),
        ("mailto:x@y", "no", false),
        ("https://other.org/", "o", true),
        ("https://other.org", "p", true),
    ];
    let (links, dropped) = run(PAGE, None, LinkScope::All, &rows);
    let got: Vec<_> = links
        .iter()
        .map(|l| (l.url.as_str(), l.anchor.as_str(), l.nofollow))
        .collect();
    assert_eq!(
        got,
        [
            ("http://www.example.co.uk/b", "first text", false),
            ("https://other.org/", "o", true)
        ]
    );
    assert_eq!(dropped, 0);
}

#[test]
fn external_scope_compares_registered_domains() {
    let rows = [
        ("/in", "", false),
        ("http://sub.example.co.uk/", "", false),
        ("http://other.co.uk/", "", false),
        ("//cdn.example.co.uk/x", "", false),
        ("//cdn.example.net/x", "", false),
        ("http://10.0.0.1/", "", false),
    ];
    let urls = |base| -> Vec<String> {
        run(PAGE, base, LinkScope::External, &rows)
            .0
            .into_iter()
            .map(|l| l.url)
            .collect()
    };
    assert_eq!(
        urls(None),
        [
            "http://other.co.uk/",
            "http://cdn.example.net/x",
            "http://10.0.0.1/"
        ]
    );
    // With another site as base, relative references lead out of the domain.
    assert_eq!(urls(Some("http://elsewhere.org/"))[0], "http://elsewhere.org/in");
}

#[test]
fn beyond_the_limit_is_counted() {
    let references: Vec<String> = (0..LINKS_MAX + 5).map(|n| format!("/{n}")).collect();
    let mut rows: Vec<Row> = references.iter().map(|r| (r.as_str(), "", false)).collect();
    rows.extend([("/0", "late anchor", false), ("/10004", "", false)]);
    let (links, dropped) = run(PAGE, None, LinkScope::All, &rows);
    assert_eq!((links.len(), dropped), (LINKS_MAX, 5));
    assert_eq!(links[0].anchor, "late anchor");
}

#[test]
fn long_references_are_counted_once_each() {
    let long = |word: &str| format!("{word}{}", "b".repeat(REFERENCE_BYTES_MAX));
    let (one, other, script) = (long("http://x.org/"), long("/y"), long("javascript:"));
    let rows = [one.as_str(), &other, &one, &script, "/short"].map(|r| (r, "", false));
    let (links, dropped) = run(PAGE, None, LinkScope::All, &rows);
    assert_eq!((links.len(), dropped), (1, 2));
    // A reference shorter by one byte is a link, which the index may still refuse.
    let (links, dropped) = run(
        PAGE,
        None,
        LinkScope::All,
        &[(&one[..REFERENCE_BYTES_MAX], "", false)],
    );
    assert_eq!((links.len(), dropped), (1, 0));
}

/// 100 KB of markup that would produce 1.3 GB of links.
#[test]
fn a_long_base_does_not_multiply() {
    let base = format!("http://example.co.uk/{}/", "b".repeat(REFERENCE_BYTES_MAX));
    let references: Vec<String> = (0..LINKS_MAX).map(|n| n.to_string()).collect();
    let rows: Vec<Row> = references.iter().map(|r| (r.as_str(), "", false)).collect();
    let (links, dropped) = run(PAGE, Some(&base), LinkScope::All, &rows);
    let bytes: usize = links.iter().map(|l| l.url.len() + l.url_key.len()).sum();
    assert!(bytes < LINK_BYTES_MAX + 4 * REFERENCE_BYTES_MAX, "{bytes}");
    assert_eq!(links.len() + dropped as usize, LINKS_MAX);
}

#[test]
fn a_long_base_is_read_for_a_few_links_only() {
    // The last segment of the base is read for each reference, but is not part of any result.
    let base = format!("http://h.example/{}", "x".repeat(1 << 20));
    let references: Vec<String> = (0..1000).map(|n| format!("r{n}")).collect();
    let rows: Vec<Row> = references.iter().map(|r| (r.as_str(), "", false)).collect();
    let (links, dropped) = run(PAGE, Some(&base), LinkScope::All, &rows);
    assert!((50..=64).contains(&links.len()), "{}", links.len());
    assert_eq!(links.len() + dropped as usize, rows.len());
    // References with a host do not read it.
    let absolute: Vec<String> = references
        .iter()
        .map(|r| format!("http://h.example/{r}"))
        .collect();
    let rows: Vec<Row> = absolute.iter().map(|r| (r.as_str(), "", false)).collect();
    let (links, _) = run(PAGE, Some(&base), LinkScope::All, &rows);
    assert_eq!(links.len(), rows.len());
}

fn reference() -> impl Strategy<Value = String> {
    let host = proptest::sample::select(vec![
        "",
        "",
        "http://www.example.co.uk",
        "http://example.co.uk",
        "https://a.example.co.uk",
        "//b.example.co.uk",
        "http://other.co.uk",
        "http://co.uk",
        "http://www.co.uk",
        "http://www2.other.org",
        "https://www.com",
        "http://1.2.3.4",
        "http://EXAMPLE.co.uk",
        "http://other.org:8080",
        "//x.other.org",
        "http://u@other.org",
        "http://xn--bcher-kva.ch",
        "http:",
        "ftp://x.org",
    ]);
    let path = proptest::sample::select(vec![
        "",
        "/",
        "/a",
        "/a#f",
        "/dir/page.html",
        "page.html",
        "?q=1",
        "/A",
        "/a/../b",
        "/b",
        "#x",
        "/c d",
        "/é",
        "../x",
        ".",
        "/%41",
    ]);
    (host, path).prop_map(|(host, path)| format!("{host}{path}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn same_links_as_the_model(
        rows in proptest::collection::vec((reference(), proptest::sample::select(vec!["", " ", "one", "two  words\n", "\u{a0}"]), any::<bool>()), 0..12),
        page in proptest::sample::select(vec![PAGE, "http://example.co.uk/", "http://www.co.uk/a", "http://1.2.3.4/", "https://other.org:8080/a", "http://www2.other.org/"]),
        base in proptest::option::of(proptest::sample::select(vec!["/dir/", "http://other.org/x/", "", "ftp://no", "//b.example.co.uk/"])),
        external in any::<bool>(),
    ) {
        let scope = if external { LinkScope::External } else { LinkScope::All };
        let rows: Vec<Row> = rows.iter().map(|(r, a, n)| (r.as_str(), *a, *n)).collect();
        prop_assert_eq!(run(page, base, scope, &rows), (model(page, base, scope, &rows), 0));
    }
}
