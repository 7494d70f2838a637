//! What is written comes back when read, in every container.

use warc::{Compression, Draft, Entry, Kind, Reader, ReaderSettings, Writer};

const DATE_MS: i64 = 1_400_000_000_123;

fn drafts() -> Vec<Draft> {
    let page = |n: usize| {
        let body = "<p>some words, again and again</p>\n".repeat(n * n);
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{body}").into_bytes()
    };
    let mut drafts = vec![Draft::warcinfo(
        DATE_MS,
        &[("software", "weft"), ("format", "WARC/1.1")],
    )];
    for n in [0, 1, 10, 100, 300] {
        drafts.push(Draft::response(
            &format!("http://example.com/{n}"),
            DATE_MS,
            page(n),
        ));
    }
    drafts.push(Draft::revisit(
        "http://example.com/1",
        DATE_MS,
        "sha1:ABC",
        b"HTTP/1.1 200 OK\r\n\r\n".to_vec(),
    ));
    drafts.push(Draft::metadata(
        "http://example.com/1",
        DATE_MS,
        "application/json",
        b"{}".to_vec(),
    ));
    drafts.push(Draft::conversion(
        "http://example.com/1",
        DATE_MS,
        "text/plain",
        b"some words".to_vec(),
    ));
    drafts.push(Draft::resource("file:///a\nb", DATE_MS, "text/plain", Vec::new()));
    drafts
}

fn check(compression: Compression) {
    let mut writer = Writer::new(Vec::new(), compression).expect("a writer");
    let drafts = drafts();
    let spans: Vec<_> = drafts
        .iter()
        .map(|draft| writer.write(draft).expect("written"))
        .collect();
    let bytes = writer.finish().expect("finished");
    let mut settings = ReaderSettings::default();
    settings.verify_digests = true;
    let mut reader = Reader::from_input(Box::new(bytes), "memory", settings).expect("opens");
    let mut written = drafts.into_iter().zip(spans);
    while let Some(entry) = reader.next_entry().expect("readable") {
        let record = match entry {
            Entry::Record(record) => record,
            // The dictionary's frame.
            Entry::Padding(span) if span.offset == 0 => continue,
            other => panic!("{other:?}"),
        };
        let (draft, span) = written.next().expect("no more records than written");
        assert_eq!(record.span, span);
        assert_eq!(record.defects, []);
        assert_eq!(record.body, draft.into_block());
        let date = record
            .headers
            .get("WARC-Date")
            .and_then(warc::parse_date)
            .expect("a date");
        assert_eq!(date.ms, DATE_MS);
    }
    assert!(written.next().is_none(), "all records come back");
}

#[test]
fn gzip() {
    for level in [0, 1, 6, 9] {
        check(Compression::Gzip { level });
    }
}

#[test]
fn plain() {
    check(Compression::Plain);
}

#[test]
fn ids_differ_and_are_the_same_again() {
    let write = || {
        let mut writer = Writer::new(Vec::new(), Compression::Plain).expect("a writer");
        let draft = Draft::new(Kind::Metadata, DATE_MS, b"x".to_vec());
        let spans = [
            writer.write(&draft).expect("written"),
            writer.write(&draft).expect("written"),
        ];
        let bytes = writer.finish().expect("finished");
        let [first, second] = spans.map(|s| bytes[s.offset as usize..s.end() as usize].to_vec());
        assert_ne!(first, second);
        bytes
    };
    assert_eq!(write(), write());
}

#[test]
fn lz4() {
    check(Compression::Lz4);
}

#[test]
fn zstd_with_and_without_dictionary() {
    check(Compression::Zstd {
        level: 3,
        dictionary: None,
    });
    let words =
        b"WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <p>some words, again and again</p>\n".repeat(9);
    check(Compression::Zstd {
        level: 19,
        dictionary: Some(words),
    });
}
