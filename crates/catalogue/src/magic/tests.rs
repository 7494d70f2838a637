//! Tests with synthetic heads; the tests of scans use real files.

use std::io::Write;

use proptest::prelude::*;

use super::*;

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// A frame whose header omits the content size, as a streaming writer produces it.
fn zstd_of(content: &[u8], window_log: u32) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(window_log).unwrap();
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// An entry of a zip file. If `is_size_behind`, the size follows the content.
fn zip_entry(name: &str, content: &[u8], is_deflated: bool, is_size_behind: bool) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(content).unwrap();
    let content = if is_deflated {
        encoder.finish().unwrap()
    } else {
        content.to_vec()
    };
    let size = if is_size_behind { 0 } else { content.len() as u32 };
    let mut out = b"PK\x03\x04\x14\0".to_vec();
    out.extend(if is_size_behind { [8, 0] } else { [0, 0] });
    out.extend(if is_deflated { [8, 0] } else { [0, 0] });
    // Time, date, checksum.
    out.extend([0; 8]);
    out.extend(size.to_le_bytes());
    out.extend(size.to_le_bytes());
    out.extend((name.len() as u16).to_le_bytes());
    out.extend([0, 0]);
    out.extend(name.as_bytes());
    out.extend(content);
    out
}

/// A tar archive starts with a header of 512 bytes, with a magic at offset 257.
fn tar() -> Vec<u8> {
    let mut header = vec![0; 512];
    header[..4].copy_from_slice(b"file");
    header[257..265].copy_from_slice(b"ustar\x0000");
    header
}

/// An LZ4 frame of one block, as the `lz4` crate writes it.
fn lz4_of_literals(content: &[u8]) -> Vec<u8> {
    let mut out = b"\x04\x22\x4d\x18\x60\x40\x82".to_vec();
    let mut block = vec![0xf0];
    block.extend(std::iter::repeat_n(255, (content.len() - 15) / 255));
    block.push(((content.len() - 15) % 255) as u8);
    block.extend(content);
    out.extend((block.len() as u32).to_le_bytes());
    out.extend(block);
    out
}

const WARC: &[u8] = b"WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n";
const ARC: &[u8] = b"filedesc://a.arc 0.0.0.0 20260101000000 text/plain 76\n1 0 Alexa Internet\n";
const CDX: &[u8] = b" CDX N b a m s k r M S V g\norg,archive)/ 20140101000000 http://archive.org/ text/html 200 A - - 1 2 a\n";
const LINE: &[u8] = b"org,archive)/ 20140101000000 http://archive.org/ text/html 200 A - - 1 2 a.warc.gz\n";
const CDXJ: &[u8] = b"org,archive)/ 20140101000000 {\"url\": \"http://archive.org/\"}\n";

/// Heads and their expected formats.
fn heads() -> Vec<(&'static str, Vec<u8>)> {
    let dictionary = [&b"\x5d\x2a\x4d\x18\xff\xff\x01\x00"[..], &[7; 4000]].concat();
    vec![
        ("warc", WARC.to_vec()),
        ("warc", gzip(WARC)),
        ("warc", zstd_of(WARC, 20)),
        ("warc", dictionary),
        ("warc", lz4_of_literals(WARC)),
        // An empty gzip member before the first record.
        ("warc", [gzip(b""), gzip(WARC)].concat()),
        ("arc", ARC.to_vec()),
        ("arc", gzip(ARC)),
        (
            "arc",
            gzip(b"http://a.example/x 192.0.2.1 20260101000000 text/html 1234\nHTTP/1.0 200 OK\n"),
        ),
        ("cdx", CDX.to_vec()),
        ("cdx", LINE.to_vec()),
        ("cdx", CDXJ.to_vec()),
        ("cdx", gzip(CDXJ)),
        ("cdx", b"!OpenWayback-CDXJ 1.0\n".to_vec()),
        (
            "wacz",
            zip_entry(
                "datapackage.json",
                b"{\"profile\": \"data-package\", \"wacz_version\": \"1.1.1\"}",
                false,
                false,
            ),
        ),
        (
            "wacz",
            zip_entry(
                "datapackage.json",
                b"{\"profile\": \"data-package\", \"wacz_version\": \"1.1.1\"}",
                true,
                true,
            ),
        ),
        (
            "wacz",
            [
                zip_entry("datapackage.json", b"{}", false, false),
                zip_entry("archive/data.warc.gz", b"...", false, false),
            ]
            .concat(),
        ),
        ("wacz", zip_entry("indexes/index.cdx.gz", b"...", false, true)),
        (
            "package",
            zip_entry("datapackage.json", b"{\"name\": \"gdp\"}", true, false),
        ),
        ("package", zip_entry("archive/readme.txt", b"...", false, false)),
        ("package", gzip(&tar())),
        ("package", zstd_of(&tar(), 20)),
        ("package", tar()),
        ("package", b"!<arch>\ndebian-binary   1410122664  ".to_vec()),
        ("compressed", gzip(b"Dear diary")),
        ("compressed", b"BZh91AY&SY\x00\x01\x02".to_vec()),
        ("compressed", b"\xfd7zXZ\x00\x00\x04".to_vec()),
        ("pdf", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n".to_vec()),
        ("html", b"\n<!DOCTYPE html><html><head>".to_vec()),
        ("image", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR".to_vec()),
        ("image", b"\xff\xd8\xff\xe0\x00\x10JFIF\x00".to_vec()),
        ("image", b"GIF89a\x01\x00\x01\x00".to_vec()),
        ("scan", b"II*\x00\x08\x00\x00\x00\x00\x00\x00\x00".to_vec()),
        (
            "video",
            b"\x00\x00\x00\x20ftypisom\x00\x00\x02\x00isomiso2avc1mp41".to_vec(),
        ),
        ("audio", b"ID3\x03\x00\x00\x00\x00\x00\x0a\x00".to_vec()),
        ("database", b"SQLite format 3\x00\x10\x00".to_vec()),
        (
            "program",
            b"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00".repeat(4),
        ),
        ("program", b"\x00asm\x01\x00\x00\x00".to_vec()),
        ("source", b"#!/bin/sh\necho\n".to_vec()),
        ("office", b"{\\rtf1\\ansi".to_vec()),
        (
            "office",
            [&b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"[..], &[0; 100]].concat(),
        ),
    ]
}

fn said_name(head: &[u8]) -> Option<&'static str> {
    detect(head).map(|detected| detected.format.name())
}

#[test]
fn heads_say_what_files_are() {
    for (format, head) in heads() {
        assert_eq!(
            said_name(&head),
            Some(format),
            "{:?}",
            String::from_utf8_lossy(&head)
        );
    }
}

#[test]
fn what_says_nothing_is_not_made_out_to_be_something() {
    for head in [
        &b""[..],
        b"Dear diary",
        b"MZ is how a letter may begin",
        b"BMW is how a letter may begin",
        b"WARC is short for web archive",
        b"CDX",
        b"one 20140101000000 three",
        b"(see) 20140101000000 {",
        b"\x1f\x8b",
        b"PK",
    ] {
        assert_eq!(said_name(head), None, "{:?}", String::from_utf8_lossy(head));
    }
}

#[test]
fn names_that_say_more_are_believed_and_wrong_endings_are_found() {
    let cases: [(&str, &[u8], &str); 16] = [
        ("a", WARC, "warc"),
        ("a.gz", &gzip(WARC), "warc"),
        ("a.part", &gzip(ARC), "arc"),
        ("a.gz", &gzip(b"Dear diary"), "compressed"),
        ("a.warc.wat.gz", &gzip(WARC), "wat"),
        ("a.wet.gz", &gzip(WARC), "wet"),
        ("a.warc.gz", &gzip(b"<html><body>404"), "compressed"),
        ("a.pdf", b"<!DOCTYPE html><html>404", "html"),
        ("a.jpg", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "image"),
        ("a.pdf", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "image"),
        ("a.docx", &zip_entry("x", b"", false, false), "office"),
        ("a.zip", &zip_entry("archive/a.warc", b"", false, false), "wacz"),
        ("a.pdf", &zip_entry("x", b"", false, false), "package"),
        ("a.tar.xz", b"\xfd7zXZ\x00\x00\x04", "package"),
        ("a.md", b"<p >Hello", "text"),
        ("a.warc", b"Dear diary", "warc"),
    ];
    for (name, head, format) in cases {
        let by_name = Format::of_name(name.as_bytes());
        assert_eq!(choose_format(by_name, detect(head)).name(), format, "{name}");
    }
}

/// Decompression is bounded for input that compresses well or demands much memory.
#[test]
fn bombs_do_not_go_off() {
    let zeroes = vec![0; 50 << 20];
    let bomb = gzip(&zeroes);
    let inside = unpack::inside(&bomb[..HEAD_BYTES]).unwrap();
    assert_eq!(inside.len(), INFLATED_BYTES);
    assert_eq!(said_name(&bomb[..HEAD_BYTES]), Some("compressed"));
    assert_eq!(said_name(&gzip(&bomb)), Some("compressed"));
    let bomb = zstd_of(&zeroes, 20);
    assert_eq!(
        unpack::inside(&bomb[..HEAD_BYTES.min(bomb.len())]).unwrap().len(),
        INFLATED_BYTES
    );
    // A window of 128 MiB is refused.
    let greedy = zstd_of(WARC, 27);
    assert_eq!(unpack::inside(&greedy), None);
    assert_eq!(said_name(&greedy), Some("compressed"));
    let nested = zip_entry("datapackage.json", &vec![b' '; 1 << 20], true, true);
    assert_eq!(
        said_name(&nested[..nested.len().min(HEAD_BYTES)]),
        Some("package")
    );
}

#[test]
fn every_format_that_is_named_here_exists() {
    let sources = [include_str!("mod.rs"), include_str!("archive.rs")].concat();
    let named: Vec<&str> = sources
        .split("named(\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert!(named.len() > 5);
    for name in named {
        assert!(Format::named(name).is_some(), "{name}");
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(head in prop::collection::vec(any::<u8>(), 0..HEAD_BYTES)) {
        let detected = detect(&head);
        for name in Format::names() {
            choose_format(Format::named(name).unwrap(), detected);
        }
    }

    /// Heads of known formats, truncated and changed anywhere.
    #[test]
    fn damaged_heads_do_not_panic(
        which: prop::sample::Index, cut: prop::sample::Index, at: prop::sample::Index, byte: u8, rest: Vec<u8>,
    ) {
        let heads = heads();
        let head = &which.get(&heads).1;
        let _ = detect(&head[..cut.index(head.len() + 1)]);
        let mut changed = head.clone();
        let at = at.index(changed.len());
        changed[at] = byte;
        changed.extend(rest);
        let _ = detect(&changed);
    }
}
