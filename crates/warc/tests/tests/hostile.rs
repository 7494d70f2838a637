//! Input made to break readers: no panic, no endless loop, and every byte is accounted for.

use warc::Compression;

use super::support::{Random, archives, read, settings};

/// Parts of files, and bytes that look like them.
fn parts() -> Vec<Vec<u8>> {
    let texts: &[&[u8]] = &[
        b"WARC/1.0\r\n",
        b"WARC/1.1\n",
        b"WARC/",
        b"WARC-Type: response\r\n",
        b"WARC-Type: warcinfo\n",
        b"Content-Length: 10\r\n",
        b"Content-Length: 99999999999999999999\r\n",
        b"Content-Length: 5000\r\n",
        b"Content-Length: -1\r\n",
        b"Content-Type: application/http\r\n",
        b"WARC-Payload-Digest: sha1:AAAA\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        b"\r\n",
        b"\r\n\r\n",
        b"\n",
        b" folded\r\n",
        b"\0\0\0\0",
        b"filedesc://x 0.0.0.0 20110804181044 text/plain 6\n1 0 x\n\n",
        b"http://a.b/ 1.2.3.4 20110804181142 text/html 20\n",
        b"http://a.b/ 1.2.3.4 20110804181142 text/html -5\n",
        b"http://",
        b"\x1f\x8b\x08",
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff",
        b"\x1f\x8b\x08\x1e\x00\x00\x00\x00\x00\xff\xff\xff",
        b"\x28\xb5\x2f\xfd",
        b"\x28\xb5\x2f\xfd\x04\x00\x01\x00\x00",
        b"\x04\x22\x4d\x18",
        b"\x04\x22\x4d\x18\x40\x40\xc0",
        b"\x5d\x2a\x4d\x18\x04\x00\x00\x00abcd",
        b"\x50\x2a\x4d\x18\xff\xff\xff\x7f",
        b"\x00\xff\xff\x00\x00",
    ];
    let mut parts: Vec<Vec<u8>> = texts.iter().map(|text| text.to_vec()).collect();
    let record = b"WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: 5\r\n\r\nhello\r\n\r\n";
    let zstd = Compression::Zstd {
        level: 1,
        dictionary: None,
    };
    let with_dictionary = Compression::Zstd {
        level: 1,
        dictionary: Some(record.to_vec()),
    };
    for compression in [
        Compression::Plain,
        Compression::GZIP,
        zstd,
        with_dictionary,
        Compression::Lz4,
    ] {
        for content in [&record[..], &record[..30], b"", b"junk", &record.repeat(3)] {
            let mut writer = warc::Writer::new(Vec::new(), compression.clone()).expect("a writer");
            writer.write_encoded(content).expect("written");
            parts.push(writer.finish().expect("finished"));
        }
    }
    parts
}

fn check(bytes: Vec<u8>, seed: u64) {
    let result = std::panic::catch_unwind(|| {
        let mut first = settings();
        first.verify_digests = true;
        let seen = read(bytes.clone(), first);
        let mut second = settings();
        second.body_bytes_max = seed % 7;
        second.growing = true;
        read(bytes.clone(), second);
        let mut third = settings();
        third.start_offset = seed % (bytes.len() as u64 + 1);
        read(bytes.clone(), third);
        seen
    });
    assert!(result.is_ok(), "seed {seed}: {} bytes", bytes.len());
}

#[test]
fn parts_put_together_at_random() {
    let parts = parts();
    for seed in 1..=6000_u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut bytes = Vec::new();
        for _ in 0..random.below(30) {
            let part = &parts[random.below(parts.len())];
            let cut = if random.below(5) == 0 {
                random.below(part.len() + 1)
            } else {
                part.len()
            };
            bytes.extend_from_slice(&part[..cut]);
            if random.below(10) == 0 {
                bytes.push(random.below(256) as u8);
            }
        }
        // Sometimes the whole file is one member.
        if random.below(4) == 0 {
            let mut writer = warc::Writer::new(Vec::new(), Compression::GZIP).expect("a writer");
            writer.write_encoded(&bytes).expect("written");
            bytes = writer.finish().expect("finished");
        }
        check(bytes, seed);
    }
}

#[test]
fn bytes_at_random() {
    for seed in 1..=300_u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let bytes = (0..random.below(5000)).map(|_| random.below(256) as u8).collect();
        check(bytes, seed);
    }
}

#[test]
fn real_files_with_stretches_moved() {
    for (name, whole) in archives(20_000) {
        for seed in 1..=12_u64 {
            let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ name.len() as u64);
            let mut bytes = whole.clone();
            for _ in 0..=random.below(3) {
                let from = random.below(bytes.len());
                let length = random.below((bytes.len() - from).min(500));
                let piece: Vec<u8> = bytes.drain(from..from + length).collect();
                let at = random.below(bytes.len() + 1);
                bytes.splice(at..at, piece);
            }
            check(bytes, seed);
        }
    }
}

/// Input that would take quadratic time if every start were tried to its end.
#[test]
fn many_false_starts() {
    let many = |part: &[u8], bytes: usize| part.repeat(bytes / part.len());
    check(many(b"WARC/1.0\r\nContent-Length: 9999999\r\n\r\n", 500_000), 1);
    check(many(b"WARC/1.0\r\nA", 500_000), 2);
    check(many(b"a: WARC/1.0\n", 500_000), 3);
    check(
        many(b"http://a.b/ 1.2.3.4 20110804181142 text/html 9999999\n", 500_000),
        4,
    );
    check(many(b"http://a.b/ ", 500_000), 5);
    check(many(b"\x1f\x8b\x08\0\0\0\0\0\0\xff\0", 200_000), 6);
    check(many(b"\x28\xb5\x2f\xfd\x04\x00\x01\x00\x00", 200_000), 7);
    check(many(b"\x04\x22\x4d\x18\x40\x40\xc0", 200_000), 8);
    check(many(b"\x5d\x2a\x4d\x18\0\0\0\0", 200_000), 9);
    check(many(b"\r\n", 500_000), 10);
    check(many(b"WARC/1.0\r\nWARC-Type: response\r\n", 500_000), 11);
    let member = {
        let mut writer = warc::Writer::new(Vec::new(), Compression::GZIP).expect("a writer");
        writer
            .write_encoded(&many(b"WARC/1.0\r\nContent-Length: 9999999\r\n\r\n", 1_000_000))
            .expect("written");
        writer.finish().expect("finished")
    };
    check(member, 12);
}
