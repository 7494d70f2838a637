//! An extracted record is the record as written, whatever surrounds it.

use std::io::Read;
use std::sync::Arc;

use warc::{Compression, Input};
use warc_tools::WriteError;
use warc_tools::extract::{FoundRecord, Selector, find, open, uncompressed_reader};

use crate::support::{file, record, response};

fn read(input: &Arc<dyn Input>, found: &FoundRecord) -> Vec<u8> {
    let mut bytes = Vec::new();
    uncompressed_reader(input, "memory", found)
        .expect("opened")
        .read_to_end(&mut bytes)
        .expect("read");
    bytes
}

fn found(input: &Arc<dyn Input>, which: &Selector) -> Vec<FoundRecord> {
    find(input, "memory", which, &mut |_| true).expect("searched")
}

/// Checks that each record is found by its offset, id and URL, and is unchanged.
fn check(bytes: Vec<u8>, records: &[Vec<u8>]) {
    let input: Arc<dyn Input> = Arc::new(bytes);
    for (number, record) in (0u32..).zip(records) {
        let ids = [format!("<urn:test:{number}>"), format!("urn:test:{number}")];
        let mut ways: Vec<Selector> = ids.into_iter().map(Selector::Id).collect();
        ways.push(Selector::Url(format!("https://www.example.com/{number}")));
        for which in ways {
            let found = found(&input, &which);
            let [found_one] = &found[..] else {
                panic!("{which:?} finds {found:?}");
            };
            assert_eq!(read(&input, found_one), *record, "{which:?}");
            assert_eq!(found_one.defects, []);
            let at = Selector::At(found_one.offset);
            assert_eq!(self::found(&input, &at), found, "{at:?}");
        }
    }
    for nothing in [
        Selector::Id("urn:test:99".to_owned()),
        Selector::Url("http://example.com/99".to_owned()),
    ] {
        assert_eq!(found(&input, &nothing), []);
    }
    let between = find(&input, "memory", &Selector::At(1), &mut |_| true);
    assert!(matches!(between, Err(WriteError::Read(_))), "{between:?}");
    let stopped = find(&input, "memory", &Selector::Id(String::new()), &mut |_| false);
    assert!(matches!(stopped, Err(WriteError::Stopped)), "{stopped:?}");
}

#[test]
fn a_record_is_what_it_was_in_every_container() {
    let records: Vec<Vec<u8>> = (0..5)
        .map(|number| response(number, &"block ".repeat(number as usize * 20_000)))
        .collect();
    check(records.concat(), &records);
    check(file(Compression::Gzip { level: 6 }, &records), &records);
    let zstd = Compression::Zstd {
        level: 3,
        dictionary: None,
    };
    check(file(zstd, &records), &records);
}

/// A record whose length is too large ends where the next one begins, and includes no part of it.
#[test]
fn a_record_with_a_wrong_length_ends_before_the_next() {
    let wrong = b"WARC/1.1\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:test:wrong>\r\nContent-Length: 60\r\n\r\nshort\r\n\r\n";
    let all = [wrong.to_vec(), response(1, "the next")];
    for bytes in [
        all.concat(),
        file(Compression::Gzip { level: 6 }, &all),
        file(Compression::Gzip { level: 6 }, &[all.concat()]),
    ] {
        let input: Arc<dyn Input> = Arc::new(bytes);
        let found = found(&input, &Selector::Id("urn:test:wrong".to_owned()));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(!found[0].defects.is_empty(), "{found:?}");
        let text = String::from_utf8(read(&input, &found[0])).expect("text");
        assert!(text.contains("short") && !text.contains("the next"), "{text}");
        let (_, block_bytes) = open(&input, "memory", &found[0]).expect("opened");
        assert!(block_bytes < 60, "{block_bytes}");
    }
}

#[test]
fn digests_that_do_not_match_are_told() {
    let lines = "WARC-Type: resource\nWARC-Record-ID: <urn:test:1>\nWARC-Date: 2024-01-02T03:04:05Z\nWARC-Block-Digest: sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let input: Arc<dyn Input> = Arc::new(record(lines, "block"));
    let found = found(&input, &Selector::At(0));
    assert_eq!(found[0].defects[0].reason, warc::reason::BLOCK_DIGEST_MISMATCH);
}
