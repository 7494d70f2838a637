//! Common Crawl's own cases for links, text, titles and languages, and its real WAT and WET.

use super::data;
use extract::{Capture, CaptureKind, Page};

/// Returns the page at `url` of a file; `None` if the data is missing.
fn page(file: &str, url: &str) -> Option<Page> {
    data::file(file)?;
    let captures = data::captures(&format!("commoncrawl/{file}"));
    let capture = captures.into_iter().find(|capture| capture.url == url);
    Some(
        capture
            .and_then(|capture| capture.page)
            .unwrap_or_else(|| panic!("{url} is not a page of {file}")),
    )
}

fn check_links(url: &str, expected: &[(&str, &str, bool)]) {
    let Some(page) = page("link-extraction-test.warc", url) else {
        return;
    };
    let found: Vec<_> = page
        .links
        .iter()
        .map(|l| (l.url.as_str(), l.anchor.as_str(), l.nofollow))
        .collect();
    assert_eq!(found, expected, "{url}");
}

#[test]
fn links_of_xhtml() {
    check_links(
        "http://www.example.com/html4.html",
        &[
            ("http://www.example.com/redirected.html", "", false),
            ("http://www.example.com/a-href.html", "A@/href", false),
            ("http://www.example.com/", "anchor only", false),
        ],
    );
}

#[test]
fn links_of_sloppy_html() {
    check_links(
        "http://www.example.com/poor_html5.html",
        &[("http://www.example.com/", "link", false)],
    );
}

#[test]
fn data_attributes_and_scripts_are_no_links() {
    check_links(
        "http://www.example.com/link-extraction-test-html5-video.html",
        &[],
    );
    check_links(
        "http://www.example.com/link-extraction-test-onclick-attr.html",
        &[],
    );
    check_links(
        "http://www.example.com/data-href.examples.html",
        &[
            (
                "https://www.facebook.com/facebook/videos/10153231379946729/",
                "How to Share With Just Friends",
                false,
            ),
            ("https://www.facebook.com/facebook/", "Facebook", false),
            (
                "http://www.example.com/content-page",
                "Headline goes here.",
                false,
            ),
            ("http://www.example.com/tags/content", "content", false),
            ("http://www.example.com/tags/headlines", "headlines", false),
        ],
    );
}

#[test]
fn character_references_are_decoded() {
    let url = "http://www.example.com/link-extraction-test-unescaped-entities.xhtml";
    check_links(
        url,
        &[
            ("http://www.example.com/redirected.html", "", false),
            ("http://www.example.com/view?id=logo&action=edit", "logo", false),
            (
                "http://www.example.com/search?q=examples&n=20",
                "Examples & more",
                true,
            ),
        ],
    );
    let title = page("link-extraction-test.warc", url).map(|page| page.title);
    assert!(title.is_none_or(|title| title == "Title – \"Title\" written using character entities"));
}

#[test]
fn anchor_text_is_collapsed() {
    check_links(
        "http://example.org/cc/link-extraction-test-anchor-text.html",
        &[(
            "https://example.org/",
            "Anchor text with white space character entities and HTML block elements",
            false,
        )],
    );
}

#[test]
fn text_breaks_where_the_page_does() {
    let Some(page) = page(
        "text-extraction-test.warc",
        "http://www.example.com/html2text-spacing.html",
    ) else {
        return;
    };
    let expected = "White space and paragraph breaks when converting HTML to text\n\
        There should be a paragraph break after <h1-h6> even if there is no space or linebreak, resp. <p> or <br>.\n\
        No space\n\
        around inline elements (here <b>): «foobarfoo»\n\
        links (<a>): «foobarfoo»\n\
        comments: nospace\n\
        Insert space\n\
        before an image and after\n\
        Insert a line / paragraph break\n\
        at <br/>first\nsecond line\n\
        at <div/>first line\ndiv element\nsecond line\n\
        Difficult to handle\n\
        inline elements with CSS margins etc.: bla blastrong1strong2bla bla\n\
        Test for commoncrawl/ia-web-commons#13:\n\
        February 25, 2017\nby Catherine Heath\n9 min read\nAdd Comment\n\
        <pre>\nfirst line second line <entity>\n\
        CDATA characters (Note: CDATA sections can only be used in foreign content (MathML or SVG).)\n\
        CDATA in MathML: x<y";
    assert_eq!(page.text, expected);
}

#[test]
fn the_title_of_a_drawing_is_not_the_pages() {
    let page = page(
        "title-extraction-embedded-SVG.warc",
        "https://www.example.org/testEmbeddedSVG.html",
    );
    assert!(page.is_none_or(|page| page.title == "Testing title extraction with embedded SVG"));
}

#[test]
fn languages_of_the_html_element() {
    let captures = data::captures("commoncrawl/html-lang-attribute.warc");
    let languages: Vec<_> = captures
        .iter()
        .filter_map(|c| Some(c.page.as_ref()?.language.as_str()))
        .collect();
    assert!(
        captures.is_empty() || languages == ["en", "zh-CN", "cs-CZ", "en", "es-MX"],
        "{languages:?}"
    );
}

#[test]
fn wat_of_2015() {
    let captures = data::captures("commoncrawl/wat-18.warc");
    let Some(wiki) = captures.iter().find(|c| c.url_key.starts_with("be,0x20)")) else {
        assert!(captures.is_empty());
        return;
    };
    assert!(captures.iter().all(|c| c.kind == CaptureKind::Wat));
    assert_eq!(captures.len(), 5);
    // The writer of that time did not decode character references.
    let page = wiki.page.as_ref().expect("a page");
    assert_eq!(
        page.title,
        "Pages that link to \"Game Night\" - Whitespace (Hackerspace Gent)"
    );
    assert_eq!(page.robots.as_deref(), Some("noindex,nofollow"));
    assert_eq!(page.links[0].url, "http://0x20.be/Game_Night");
    assert!(
        page.links[1].url.ends_with("Game_Night&hideredirs=1&hidetrans=1"),
        "{}",
        page.links[1].url
    );
    // The first capture has no type and no HTML.
    let first: &Capture = &captures[0];
    assert_eq!(
        (first.mime.as_str(), first.status, first.page.is_some()),
        ("unk", 200, false)
    );
    let old = data::captures("commoncrawl/wat-2015.warc");
    let links: Vec<_> = old[0]
        .page
        .iter()
        .flat_map(|page| &page.links)
        .map(|l| (l.url.as_str(), l.anchor.as_str()))
        .collect();
    assert_eq!(
        links,
        [
            ("http://1079ishot.com/", "HOT 107.9"),
            ("http://1079ishot.com/help/", "Contact Us"),
            ("http://1079ishot.com/djs/", "On Air")
        ]
    );
}
