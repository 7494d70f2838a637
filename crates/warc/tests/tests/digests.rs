//! Declared digests are verified and missing ones are computed, including those of bodies that are
//! not stored.

use warc::{Draft, Entry, Reader, ReaderSettings, Record, Writer};

fn read_one(draft: &Draft, body_bytes_max: u64) -> Record {
    let mut writer = Writer::new(Vec::new(), warc::Compression::GZIP).expect("a writer");
    writer.write(draft).expect("written");
    let mut settings = ReaderSettings::default();
    settings.verify_digests = true;
    settings.body_bytes_max = body_bytes_max;
    let file = writer.finish().expect("finished");
    let mut reader = Reader::from_input(Box::new(file), "memory", settings).expect("opens");
    match reader.next_entry().expect("readable") {
        Some(Entry::Record(record)) => record,
        other => panic!("{other:?}"),
    }
}

/// A date in the accepted range; earlier dates cause a defect.
const DATE_MS: i64 = 1_400_000_000_000;

const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
/// SHA-1 of `hello`, the payload above after transfer decoding.
const HELLO: &str = "VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N";

#[test]
fn either_form_of_a_chunked_payload_is_accepted() {
    let draft = || Draft::response("http://a.b/", DATE_MS, CHUNKED.to_vec());
    // The writer computes its digest over the payload as stored.
    assert_eq!(read_one(&draft(), 1 << 20).defects, []);
    let declared = draft().field("WARC-Payload-Digest", &format!("sha1:{HELLO}"));
    assert_eq!(read_one(&declared, 1 << 20).defects, []);
    assert_eq!(read_one(&declared, 10).defects, []);
    let wrong = draft().field("WARC-Payload-Digest", "md5:5d41402abc4b2a76b9719d911017c593");
    let reasons: Vec<_> = read_one(&wrong, 1 << 20)
        .defects
        .iter()
        .map(|d| d.reason)
        .collect();
    assert_eq!(reasons, ["payload-digest-mismatch"]);
}

#[test]
fn a_digest_that_is_not_declared_is_computed_whatever_is_kept() {
    let draft = || Draft::response("http://a.b/", 0, CHUNKED.to_vec()).without_digests();
    for kept in [5, 50, 1 << 20] {
        let record = read_one(&draft(), kept);
        assert_eq!(record.payload_sha1.is_some(), kept < CHUNKED.len() as u64);
        assert_eq!(warc::payload_digest(&record), HELLO, "{kept} bytes kept");
    }
}

#[test]
fn a_long_body_is_read_through() {
    let mut block = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    block.extend((0..5_000_000u32).map(|n| (n % 251) as u8));
    let draft = Draft::response("http://a.b/", DATE_MS, block.clone());
    let record = read_one(&draft, 1000);
    assert_eq!(record.defects, []);
    assert_eq!(
        (record.body_length, &record.body[..]),
        (block.len() as u64, &block[..1000])
    );
    assert!(!record.body_is_whole());
}
