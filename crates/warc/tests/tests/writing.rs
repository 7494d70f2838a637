//! Written records are read back unchanged, in every container.

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
            // The frame of the dictionary.
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

/// Records above and below the limit of compression in memory have the same form, whether given at
/// once or in pieces.
#[test]
fn a_record_that_comes_in_pieces_is_the_same() {
    let dictionary = trained();
    let compressions = [
        Compression::Plain,
        Compression::GZIP,
        Compression::Gzip { level: 0 },
        Compression::Zstd {
            level: 3,
            dictionary: None,
        },
        Compression::Zstd {
            level: 3,
            dictionary: Some(dictionary),
        },
        Compression::Lz4,
    ];
    for compression in compressions {
        let mut writer = Writer::new(Vec::new(), compression.clone()).expect("a writer");
        let mut spans = Vec::new();
        let lengths = [0, 1, 1000, 1 << 20, (1 << 20) + 1, 3_000_001];
        let block = |length: usize| -> Vec<u8> {
            let mut state = 7_u32;
            let noise = std::iter::repeat_with(move || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                if state & 0x1000_0000 == 0 {
                    b'x'
                } else {
                    (state >> 24) as u8
                }
            });
            noise.take(length).collect()
        };
        for length in lengths {
            let header = format!(
                "WARC/1.1\r\nWARC-Type: resource\r\nWARC-Date: 2024-01-01T00:00:00Z\r\nContent-Length: {length}\r\n\r\n"
            );
            let record = [header.as_bytes(), &block(length), b"\r\n\r\n"].concat();
            let bytes = record.len() as u64;
            spans.push(writer.write_from(&record[..], bytes).expect("written"));
        }
        let end = writer.position();
        for (given, declared) in [
            (10, 11),
            (11, 10),
            (1 << 21, (1 << 21) + 1),
            ((1 << 21) + 1, 1 << 21),
        ] {
            let mut writer = Writer::new(Vec::new(), compression.clone()).expect("a writer");
            let record = block(given);
            assert!(
                writer.write_from(&record[..], declared).is_err(),
                "{given} {declared}"
            );
        }
        let bytes = writer.finish().expect("finished");
        assert_eq!(bytes.len() as u64, end);
        let mut reader =
            Reader::from_input(Box::new(bytes), "memory", ReaderSettings::default()).expect("opens");
        let mut records = Vec::new();
        while let Some(entry) = reader.next_entry().expect("readable") {
            match entry {
                Entry::Record(record) => records.push(record),
                Entry::Padding(_) => {}
                other => panic!("{compression:?}: {other:?}"),
            }
        }
        assert_eq!(records.len(), lengths.len(), "{compression:?}");
        for ((record, span), length) in records.iter().zip(spans).zip(lengths) {
            assert_eq!(
                (record.span, &record.defects),
                (span, &Vec::new()),
                "{compression:?} {length}"
            );
            assert!(record.body == block(length), "{compression:?} {length}");
        }
    }
}

fn trained() -> Vec<u8> {
    let samples: Vec<Vec<u8>> = (0..500)
        .map(|n| {
            format!(
                "WARC/1.1\r\nWARC-Type: resource\r\nWARC-Date: 2024-01-01T00:00:{n:02}Z\r\n{}",
                n * n
            )
            .into_bytes()
        })
        .collect();
    let dictionary = warc::train_dictionary(&samples, 4096).expect("trained");
    assert!(warc::is_dictionary(&dictionary));
    dictionary
}

/// On request, all parts of a record are stored: its header, a block that exceeds memory, and the
/// bytes after it.
#[test]
fn all_of_a_record_is_kept() {
    let header = |length: usize| {
        format!("WARC/1.0\r\nWARC-Type: resource\nX:  folded\r\n  on\r\nContent-Length: {length}\r\n\r\n")
    };
    let long = vec![b'y'; 300_000];
    let records = [
        [header(3).as_bytes(), b"abc\r\n\r\n"].concat(),
        [header(long.len()).as_bytes(), &long, b"\r\n\r\n"].concat(),
        [header(3).as_bytes(), b"abcdefghij\r\n\r\n"].concat(),
        [header(0).as_bytes(), b"\r\n\r\n"].concat(),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let in_one = [records.concat()];
    for (files, layout) in [
        (&records[..], warc::RecordLayout::OwnMember),
        (&in_one[..], warc::RecordLayout::SharedMember),
    ] {
        let mut writer = Writer::new(Vec::new(), Compression::GZIP).expect("a writer");
        for file in files {
            writer.write_encoded(file).expect("written");
        }
        let mut settings = ReaderSettings::default();
        settings.body_bytes_max = 1000;
        let bytes = writer.finish().expect("finished");
        let mut reader = Reader::from_input(Box::new(bytes), "memory", settings).expect("opens");
        reader.keep_all(folder.path());
        let mut number = 0;
        while let Some(Entry::Record(record)) = reader.next_entry().expect("readable") {
            let mut all = reader.header_bytes().to_vec();
            let mut block = Vec::new();
            std::io::Read::read_to_end(&mut reader.block(&record).expect("kept"), &mut block).expect("read");
            assert_eq!(block.len() as u64, record.body_length);
            all.extend_from_slice(&block);
            let before = all.len() as u64;
            std::io::Read::read_to_end(&mut reader.after_block().expect("kept"), &mut all).expect("read");
            assert_eq!(all.len() as u64 - before, reader.after_block_bytes());
            assert!(all == records[number], "record {number}");
            assert_eq!(reader.layout(), layout);
            number += 1;
        }
        assert_eq!(number, records.len());
    }
    assert_eq!(
        std::fs::read_dir(folder.path()).expect("a folder").count(),
        0,
        "the files have no names"
    );
}
