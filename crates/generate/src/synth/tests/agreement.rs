//! Tests that files in both formats, read and extracted like any other file, contain the generated
//! pages.

use ::warc::{Entry, Reader, ReaderSettings};
use extract::{Capture, Documents, Extracted, LinkScope};

use crate::synth::page::Crawl;
use crate::synth::{Format, Settings, write};

const PAGES: u64 = 200;
const SEED: u64 = 11;
const RECRAWLS_PERMILLE: u64 = 100;

/// Returns the captures of a generated web, read back with digests verified. The file must have no
/// defects.
fn captures(format: Format, links: LinkScope) -> Vec<Capture> {
    let settings = Settings {
        pages: PAGES,
        seed: SEED,
        format,
        recrawls_permille: RECRAWLS_PERMILLE,
        files: 1,
        threads: 2,
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("web.gz");
    write(&settings, &path, &mut |_| {}).expect("room on the disk");
    let mut reader_settings = ReaderSettings::default();
    reader_settings.verify_digests = true;
    let mut reader = Reader::open(&path, reader_settings).expect("a file");
    let mut captures = Vec::new();
    let mut records = 0;
    while let Some(entry) = reader.next_entry().expect("readable") {
        let Entry::Record(record) = entry else {
            panic!("{entry:?}");
        };
        assert!(record.defects.is_empty(), "{:?}", record.defects);
        records += 1;
        match extract::extract(
            &record,
            &extract::Settings {
                links,
                text: true,
                documents: Documents::NONE,
            },
        ) {
            Extracted::Capture(capture) => captures.push(*capture),
            Extracted::Counted | Extracted::Attachment(_) => {}
            Extracted::Unusable(defect) => panic!("{defect:?}"),
        }
    }
    assert_eq!(records, 1 + 3 * PAGES);
    captures
}

/// Returns target key, target, anchor and nofollow of each link of a capture.
fn links(capture: &Capture) -> Vec<(&str, &str, &str, bool)> {
    let page = capture.page.as_ref().expect("a page");
    assert_eq!(page.links_dropped, 0);
    page.links
        .iter()
        .map(|link| {
            (
                link.url_key.as_str(),
                link.url.as_str(),
                link.anchor.as_str(),
                link.nofollow,
            )
        })
        .collect()
}

#[test]
fn warc_and_wat_say_what_was_made_up() {
    let crawl = Crawl::new(SEED, PAGES, RECRAWLS_PERMILLE);
    let warc = captures(Format::Warc, LinkScope::All);
    let wat = captures(Format::Wat, LinkScope::All);
    assert_eq!((warc.len() as u64, wat.len() as u64), (PAGES, PAGES));
    for (index, (warc, wat)) in (0..).zip(warc.iter().zip(&wat)) {
        let expected = crawl.page(crawl.visit(index), true);
        assert_eq!((&warc.url, &wat.url), (&expected.url, &expected.url));
        assert_eq!(
            (&warc.url_key, warc.fetch_time_ms),
            (&wat.url_key, wat.fetch_time_ms)
        );
        assert_eq!((warc.status, wat.status), (200, 200));
        assert_eq!(
            (warc.mime.as_str(), wat.mime.as_str()),
            ("text/html", "text/html")
        );
        assert_eq!(links(warc), links(wat), "{}", warc.url);
        let made_up: Vec<(String, &str, &str, bool)> = expected
            .links
            .iter()
            .map(|link| {
                let key = urlkey::url_key(&link.url).expect("a URL");
                (key, link.url.as_str(), link.anchor.as_str(), link.nofollow)
            })
            .collect();
        let found: Vec<(String, &str, &str, bool)> = links(wat)
            .into_iter()
            .map(|(key, url, anchor, nofollow)| (key.to_owned(), url, anchor, nofollow))
            .collect();
        assert_eq!(sorted(found), sorted(made_up), "{}", wat.url);
        let page = warc.page.as_ref().expect("a page");
        assert_eq!(page.title, expected.title);
        assert!(
            expected
                .text
                .iter()
                .all(|paragraph| page.text.contains(paragraph.as_str()))
        );
    }
}

fn sorted<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort();
    items
}

#[test]
fn external_links_are_those_to_other_sites() {
    let crawl = Crawl::new(SEED, PAGES, RECRAWLS_PERMILLE);
    for (index, capture) in (0..).zip(captures(Format::Wat, LinkScope::External)) {
        let expected = crawl.page(crawl.visit(index), false);
        let external = expected.links.iter().filter(|link| link.external).count();
        assert_eq!(links(&capture).len(), external, "{}", capture.url);
    }
}
