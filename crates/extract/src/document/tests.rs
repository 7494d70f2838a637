use super::*;
use crate::tests::record;
use crate::{Extracted, LinkScope, Settings};
use proptest::prelude::*;

/// Answers with the format and the number of bytes.
#[derive(Debug)]
struct Counting;

impl DocumentReader for Counting {
    fn read(&self, format: DocumentFormat, bytes: &[u8]) -> Result<DocumentText, DocumentFailure> {
        match bytes {
            b"%PDF-slow" => Err(DocumentFailure::Time { seconds: 10 }),
            _ => Ok(DocumentText {
                title: format!(" {} ", format.name()),
                text: format!("{}  bytes\n\nend", bytes.len()),
                truncated: false,
                language: "en_gb".to_owned(),
            }),
        }
    }

    fn describe(&self, bytes: &[u8], exif: bool) -> Result<ImageFacts, DocumentFailure> {
        match bytes {
            b"damaged" => Err(DocumentFailure::Unreadable("no size".to_owned())),
            _ => Ok(ImageFacts {
                width: 640,
                height: 480,
                hash: Some(bytes.len() as u64),
                exif: exif.then(|| crate::Exif {
                    version: Some(231),
                    ..crate::Exif::default()
                }),
            }),
        }
    }

    fn thumbnail(&self, _: &[u8]) -> Result<Thumbnail, DocumentFailure> {
        Ok(Thumbnail::default())
    }
}

fn capture(content_type: &str, payload: &[u8], documents: Documents) -> crate::Capture {
    let mut block = format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n\r\n").into_bytes();
    block.extend_from_slice(payload);
    let headers = [
        ("WARC-Target-URI", "http://example.com/x"),
        ("WARC-Date", "2014-01-26T20:06:24Z"),
    ];
    let settings = Settings {
        links: LinkScope::All,
        text: true,
        documents,
    };
    match crate::extract(&record(warc::Kind::Response, &headers, block), &settings) {
        Extracted::Capture(capture) => *capture,
        other => panic!("{other:?}"),
    }
}

fn read_of(content_type: &str, payload: &[u8], scope: DocumentScope) -> Option<Page> {
    let reader: Arc<dyn DocumentReader> = Arc::new(Counting);
    let documents = Documents {
        scope,
        reader: Some(reader),
    };
    let capture = capture(content_type, payload, documents);
    assert!(
        capture.page.is_none() || capture.document.is_none(),
        "both a page and a document"
    );
    capture.document.map(|page| *page)
}

/// Title, text and language.
#[track_caller]
fn check(content_type: &str, payload: &[u8], expected: Option<(&str, &str, &str)>) {
    let page = read_of(content_type, payload, DocumentScope::All);
    let found = page
        .as_ref()
        .map(|page| (page.title.as_str(), page.text.as_str(), page.language.as_str()));
    assert_eq!(found, expected);
    assert_eq!(read_of(content_type, payload, DocumentScope::None), None);
}

#[test]
fn images_are_described_if_they_are_asked_for() {
    for content_type in ["image/png", "IMAGE/JPEG; q=1", "image/svg+xml", "image/x-icon"] {
        let image = read_of(content_type, b"12345", DocumentScope::Images).unwrap();
        assert_eq!(
            (image.text.as_str(), image.language.as_str()),
            ("640x480 0000000000000005", "")
        );
        assert_eq!(image.title, "");
        let image = read_of(content_type, b"12345", DocumentScope::Exif).unwrap();
        assert_eq!(image.text, "640x480 0000000000000005\nexif 0231");
        for scope in [DocumentScope::None, DocumentScope::Text, DocumentScope::All] {
            assert_eq!(read_of(content_type, b"12345", scope), None);
        }
    }
    let pdf = read_of("application/pdf", b"%PDF-", DocumentScope::Images);
    assert_eq!(pdf.unwrap().title, "PDF");
    assert_eq!(read_of("video/mp4", b"12345", DocumentScope::Images), None);
    let documents = Documents {
        scope: DocumentScope::Images,
        reader: Some(Arc::new(Counting)),
    };
    let capture = capture("image/png", b"damaged", documents);
    assert_eq!(capture.document.map(|page| *page), Some(Page::default()));
    let defect = capture.document_defect.unwrap();
    assert_eq!(
        (defect.reason, defect.detail.as_str()),
        (reason::DOCUMENT_UNREADABLE, "image: no size")
    );
}

#[test]
fn plain_text_is_decoded_and_keeps_its_lines() {
    check(
        "text/plain",
        b"One  line\r\n\r\n  two\n",
        Some(("", "One line\ntwo", "")),
    );
    check(
        "text/plain; charset=iso-8859-1",
        b"caf\xe9",
        Some(("", "caf\u{e9}", "")),
    );
    check("text/plain", b"", Some(("", "", "")));
    let english = "The quick brown fox jumps over the lazy dog, and then it goes home again to sleep.";
    check("TEXT/plain", english.as_bytes(), Some(("", english, "en")));
    // Types that servers declare as text without looking.
    check("text/plain", b"\x89PNG\x00\x01", None);
    check("text/css", b"a { b: c }", None);
    check("text/html", b"<p>page", None);
}

#[test]
fn rss_has_its_title_and_the_texts_of_its_items() {
    let rss = "<?xml version=\"1.0\"?>\n<!-- made -->\n<rss version=\"2.0\" \
               xmlns:content=\"http://purl.org/rss/1.0/modules/content/\"><channel><title>News &amp; more</title>\
               <link>http://x/</link><description>All of it</description><language>de-DE</language>\
               <image><title>Logo</title></image>\
               <item><title>First</title><description>&lt;p&gt;One&lt;/p&gt;&lt;p&gt;two &amp;eacute;&lt;/p&gt;</description></item>\
               <item><title><![CDATA[Sec<i>ond</i>]]></title><content:encoded><![CDATA[<b>bold</b> &#233;]]></content:encoded>\
               <guid>not this</guid></item></channel></rss>";
    let expected = Some((
        "News & more",
        "All of it\nFirst\nOne\ntwo \u{e9}\nSecond\nbold \u{e9}",
        "de-DE",
    ));
    check("application/rss+xml", rss.as_bytes(), expected);
    check("text/xml; charset=utf-8", rss.as_bytes(), expected);
    // Truncated: the existing part counts.
    let cut = &rss[..rss.find("<content:encoded>").unwrap_or_default()];
    check(
        "text/xml",
        cut.as_bytes(),
        Some((
            "News & more",
            "All of it\nFirst\nOne\ntwo \u{e9}\nSecond",
            "de-DE",
        )),
    );
}

#[test]
fn atom_and_rdf() {
    let atom = "<feed xmlns=\"http://www.w3.org/2005/Atom\" xml:lang=\"fr\"><title>Fil</title><entry xml:lang=\"en\">\
                <title type=\"text\">a &lt; b</title><content type=\"xhtml\"><div><p>o<b>n</b>e &amp;amp;</p><p>two</p></div></content>\
                <author><name>nobody</name></author></entry></feed>";
    check(
        "application/atom+xml",
        atom.as_bytes(),
        Some(("Fil", "a < b\none &amp;\ntwo", "fr")),
    );
    let rdf = "<rdf:RDF xmlns=\"http://purl.org/rss/1.0/\" xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">\
               <channel><title>T</title></channel><item><title>I</title><description>D</description></item></rdf:RDF>";
    check("text/xml", rdf.as_bytes(), Some(("T", "I\nD", "")));
    for other in [
        "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"><url/></urlset>",
        "<feed xmlns=\"urn:other\"><title>x</title></feed>",
        "rss",
        "",
    ] {
        check("text/xml", other.as_bytes(), None);
    }
}

#[test]
fn the_language_of_a_feed_is_declared_outside_its_entries() {
    for (body, language) in [
        ("<a xml:lang='fr'/><item/>", "fr"),
        ("<item><a xml:lang='de'/></item><b xml:lang='fr'/>", "fr"),
        (
            "<item><item></item><a xml:lang='de'/></item><b xml:lang='fr'/>",
            "fr",
        ),
        ("<item><a xml:lang='de'>", ""),
    ] {
        let feed = format!("<rss><channel>{body}");
        check("text/xml", feed.as_bytes(), Some(("", "", language)));
    }
}

#[test]
fn json_feeds() {
    let feed = r#"{"version":"https:\/\/jsonfeed.org\/version\/1.1","title":"T","language":"en",
        "items":[{"id":"1","title":"A","content_html":"<p>b<p>c"},{"id":"2","content_text":"1 < 2","summary":"s"}]}"#;
    check(
        "application/feed+json",
        feed.as_bytes(),
        Some(("T", "A\nb\nc\ns\n1 < 2", "en")),
    );
    check(
        "application/json",
        feed.as_bytes(),
        Some(("T", "A\nb\nc\ns\n1 < 2", "en")),
    );
    check("application/json", b"{\"version\":\"2\"}", None);
    check("application/json", &feed.as_bytes()[..feed.len() - 3], None);
}

#[test]
fn others_are_read_by_the_reader() {
    check(
        "application/pdf",
        b"%PDF-1.4",
        Some(("PDF", "8 bytes\nend", "en-GB")),
    );
    check(
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        b"PK",
        Some(("DOCX", "2 bytes\nend", "en-GB")),
    );
    // Without a type the bytes decide.
    check("no-type", b"%PDF-1.4", Some(("PDF", "8 bytes\nend", "en-GB")));
    check("application/octet-stream", b"%PDF-1.4", None);
    assert_eq!(read_of("application/pdf", b"%PDF-1.4", DocumentScope::Text), None);
}

#[test]
fn what_cannot_be_read_is_a_document_without_text() {
    let defect = |payload: &[u8], reader: Option<Arc<dyn DocumentReader>>| {
        let documents = Documents {
            scope: DocumentScope::All,
            reader,
        };
        let capture = capture("application/pdf", payload, documents);
        assert_eq!(
            capture.document.map(|page| page.text),
            Some(String::new()),
            "a document all the same"
        );
        capture
            .document_defect
            .map(|defect| (defect.reason, defect.detail))
    };
    assert_eq!(
        defect(b"%PDF-slow", Some(Arc::new(Counting))),
        Some(("document-time", "PDF: its reader was ended after 10 s".to_owned()))
    );
    assert_eq!(
        defect(b"%PDF-", None).map(|(reason, _)| reason),
        Some("document-no-reader")
    );
}

#[test]
fn deep_and_long_feeds_cost_no_more_than_their_length() {
    let deep = format!("<rss><channel>{}", "<item><title>".repeat(300_000));
    check("text/xml", deep.as_bytes(), Some(("", "", "")));
    let long = format!(
        "<rss><channel><title>T</title>{}",
        "<item><description>word </description></item>".repeat(400_000)
    );
    let page = read_of("text/xml", long.as_bytes(), DocumentScope::Text).unwrap_or_default();
    assert!(page.text.len() <= TEXT_BYTES_MAX && page.text.len() > TEXT_BYTES_MAX - 10);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    /// Any bytes are read the same way each time, and documents do not change pages.
    #[test]
    fn any_bytes(
        mime in proptest::sample::select(vec![
            "text/plain", "text/xml", "application/rss+xml", "application/json", "application/pdf", "text/html", "no-type",
        ]),
        pieces in proptest::collection::vec(proptest::sample::select(vec![
            "<rss>", "<feed xmlns='http://www.w3.org/2005/Atom'>", "<title>", "</title>", "<item>", "<![CDATA[", "]]>", "&amp;",
            "&#1;", "&#x110000;", "&", "<", "xml:lang='de'", "</", "\u{e9}", "<!DOCTYPE x [", "<!--", "{\"version\":", "%PDF-", "\0",
            "https://jsonfeed.org/version/1", "<html>",
        ]), 0..24),
    ) {
        let payload = pieces.concat();
        let documents = || Documents { scope: DocumentScope::All, reader: Some(Arc::new(Counting)) };
        let with = capture(mime, payload.as_bytes(), documents());
        let again = capture(mime, payload.as_bytes(), documents());
        let without = capture(mime, payload.as_bytes(), Documents::NONE);
        prop_assert_eq!(&with, &again);
        prop_assert_eq!(&with.page, &without.page);
        prop_assert!(without.document.is_none());
        prop_assert!(with.page.is_none() || with.document.is_none());
    }
}
