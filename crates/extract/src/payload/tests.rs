//! Payloads from a record: valid and invalid codings, complete and truncated, and bombs.

use super::*;
use crate::http::coding::tests::{encode, name};

const MANY: u64 = 64 << 20;

/// Returns bytes in small pieces, and counts how many were taken.
struct Counted {
    bytes: Cursor<Vec<u8>>,
    taken: Arc<std::sync::atomic::AtomicUsize>,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = into.len().min(1000);
        let bytes = self.bytes.read(&mut into[..most])?;
        self.taken.fetch_add(bytes, Ordering::Relaxed);
        Ok(bytes)
    }
}

fn response(fields: &str, payload: &[u8]) -> Vec<u8> {
    [format!("HTTP/1.1 200 OK\r\n{fields}\r\n").as_bytes(), payload].concat()
}

/// Returns the decoded bytes, whether they were truncated, and how much of the block was read for
/// them.
fn read(block: Vec<u8>, bytes_max: u64) -> (Vec<u8>, bool, usize) {
    let taken = Arc::default();
    let counted = Counted {
        bytes: Cursor::new(block),
        taken: Arc::clone(&taken),
    };
    let mut payload = PayloadReader::of_block(Kind::Response, &Headers::new(), counted, bytes_max).unwrap();
    let mut bytes = Vec::new();
    payload.read_to_end(&mut bytes).unwrap();
    assert!(!payload.has_failed());
    (bytes, payload.is_cut(), taken.load(Ordering::Relaxed))
}

#[track_caller]
fn check(fields: &str, payload: &[u8], expected: &[u8]) {
    let (bytes, cut, _) = read(response(fields, payload), MANY);
    assert!(
        bytes == expected,
        "{fields:?} gives {} bytes, not {}",
        bytes.len(),
        expected.len()
    );
    assert!(!cut);
}

fn noise(length: u32) -> Vec<u8> {
    (0..length)
        .flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect()
}

#[test]
fn every_coding_long_and_short() {
    let long = noise(300_000);
    for plain in [&b"<p>hello</p><p>hello</p><p>hello</p>"[..], &long] {
        for coding in ["gzip", "zlib", "raw", "br", "zstd"] {
            let fields = format!("Content-Encoding: {}\r\n", name(coding));
            check(&fields, &encode(coding, plain), plain);
        }
        let twice = encode("gzip", &encode("zstd", plain));
        check(
            "Content-Encoding: zstd\r\nContent-Encoding: identity, gzip\r\n",
            &twice,
            plain,
        );
        check("", plain, plain);
    }
}

#[test]
fn false_claims_leave_the_bytes() {
    let long = noise(300_000);
    for plain in [&b"<p>plain"[..], b"", &long] {
        for coding in ["gzip", "deflate", "br", "zstd", "unheard-of"] {
            check(&format!("Content-Encoding: {coding}\r\n"), plain, plain);
        }
        check("Transfer-Encoding: chunked\r\n", plain, plain);
    }
}

#[test]
fn cut_payloads_give_their_part() {
    let long = noise(300_000);
    for coding in ["gzip", "zlib", "raw", "br", "zstd"] {
        let encoded = encode(coding, &long);
        let fields = format!("Content-Encoding: {}\r\n", name(coding));
        let (bytes, ..) = read(response(&fields, &encoded[..encoded.len() / 2]), MANY);
        assert!(!bytes.is_empty() && long.starts_with(&bytes), "{coding}");
    }
}

#[test]
fn chunks_and_heads_across_pieces() {
    let long = noise(30_000);
    let mut chunked = Vec::new();
    for chunk in encode("gzip", &long).chunks(777) {
        chunked.extend(format!("{:x}\r\n", chunk.len()).bytes());
        chunked.extend(chunk);
        chunked.extend(b"\r\n");
    }
    chunked.extend(b"0\r\n\r\n");
    let filler = format!("X: {}\r\n", "x".repeat(100_000));
    let fields = format!("{filler}Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n");
    check(&fields, &chunked, &long);
    let interim = [
        b"HTTP/1.1 100 Continue\r\n\r\n".as_slice(),
        &response("", b"body"),
    ]
    .concat();
    assert_eq!(read(interim, MANY).0, b"body");
    assert_eq!(read(b"no HTTP".to_vec(), MANY).0, b"no HTTP");
}

#[test]
fn bombs_are_cut_and_no_more_is_decoded_than_is_given() {
    let zeros = vec![0; 8 << 20];
    for coding in ["gzip", "zlib", "raw", "zstd"] {
        let fields = format!("Content-Encoding: {}\r\n", name(coding));
        let bomb = encode(coding, &zeros);
        let (bytes, cut, _) = read(response(&fields, &bomb), 1 << 20);
        assert_eq!((bytes.len(), cut), (1 << 20, true), "{coding}");
    }
    // Incompressible, so that the number of bytes read shows how much was decoded.
    let fields = "Content-Encoding: gzip\r\n";
    let (bytes, cut, taken) = read(response(fields, &encode("gzip", &noise(2 << 20))), 1 << 20);
    assert_eq!((bytes.len(), cut), (1 << 20, true));
    assert!(taken < 2 << 20, "{taken} bytes were read");
}

/// Empty blocks: an inner coding that consumes input without end and returns nothing.
#[test]
fn a_coding_that_gives_nothing_ends_all_the_same() {
    let first = [0, 2, 0, 0xfd, 0xff, b'h', b'i'];
    let nothing = [0, 0, 0, 0xff, 0xff].repeat(2 << 20);
    let bomb = encode("gzip", &[&first[..], &nothing].concat());
    let (bytes, cut, _) = read(response("Content-Encoding: deflate, gzip\r\n", &bomb), 1 << 20);
    assert_eq!((bytes.as_slice(), cut), (&b"hi"[..], true));
}

#[test]
fn nine_codings_are_three() {
    let mut bytes = b"deep".to_vec();
    for _ in 0..9 {
        bytes = encode("gzip", &bytes);
    }
    let fields = format!("Content-Encoding: {}\r\n", ["gzip"; 8].join(", "));
    let (given, ..) = read(response(&fields, &bytes), MANY);
    assert!(given.starts_with(&[0x1f, 0x8b]));
}

#[test]
fn text_is_utf8_whatever_it_was() {
    let check = |fields: &str, bytes: &[u8], expected: &str| {
        let block = Cursor::new(response(fields, bytes));
        let payload = PayloadReader::of_block(Kind::Response, &Headers::new(), block, MANY).unwrap();
        let mut text = crate::TextReader::open(payload, None).unwrap();
        let mut read = String::new();
        text.read_to_string(&mut read).unwrap();
        assert!(read == expected, "{fields:?}");
    };
    let long = "déjà vu ".repeat(30_000);
    let (latin, ..) = encoding_rs::WINDOWS_1252.encode(&long);
    check("Content-Type: text/html; charset=iso-8859-1\r\n", &latin, &long);
    check("Content-Type: text/html\r\n", long.as_bytes(), &long);
    let wide: Vec<u8> = "\u{feff}<link>\u{e4}"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    check(
        "Content-Type: text/html; charset=utf-8\r\n",
        &wide,
        "<link>\u{e4}",
    );
    let japanese = "これは日本語の文章です。".repeat(10);
    let (escaped, ..) = encoding_rs::ISO_2022_JP.encode(&japanese);
    check("Content-Type: text/html\r\n", &escaped, &japanese);
    check("", b"", "");
    check("", b"cut \xc3", "cut \u{fffd}");
}

/// Opens a response whose record declares the length of its block.
fn declared(fields: &str, payload: &[u8]) -> PayloadReader {
    let block = response(fields, payload);
    let mut headers = Headers::new();
    headers.push("Content-Length", &block.len().to_string());
    PayloadReader::of_block(Kind::Response, &headers, Cursor::new(block), MANY).unwrap()
}

#[test]
fn a_second_line_end_before_the_payload_is_left_out() {
    for (fields, payload, expected, length) in [
        ("Content-Length: 4\r\n", "\r\nword", "word", Some(4)),
        ("Content-Length: 6\r\n", "\r\nword", "\r\nword", Some(6)),
        ("Content-Length: 5\r\n", "\r\nword", "\r\nword", None),
        ("Content-Length: x\r\n", "\r\nword", "\r\nword", None),
        ("", "\r\nword", "\r\nword", Some(6)),
        (
            "Content-Length: 4\r\nContent-Encoding: gzip\r\n",
            "\r\nword",
            "word",
            None,
        ),
    ] {
        let mut reader = declared(fields, payload.as_bytes());
        assert_eq!(reader.length(), length, "{fields:?}");
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, expected, "{fields:?}");
    }
}
