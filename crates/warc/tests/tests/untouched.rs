//! Files of every form, damaged at random positions: each record not touched by the damage is
//! found, complete and at its position.
//!
//! The model knows where every record is stored, and moves these positions with the damage.

use warc::{Compression, Writer};

use super::support::{EntrySummary, Random, read, settings};

const ZSTD: Compression = Compression::Zstd {
    level: 3,
    dictionary: None,
};

/// Number of damaged files of each form.
const CASES: u64 = 800;

/// A part of the file: an uncompressed record, or a compressed member with its records.
struct Piece {
    stored: Vec<u8>,
    /// Target and block of each record.
    records: Vec<(String, Vec<u8>)>,
    /// Whether it must be preceded by a line end: an ARC record is found only at the start of a
    /// line.
    needs_line_end: bool,
}

/// The form of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    Gzip,
    Zstd,
    ZstdWithDictionary,
    Lz4,
    /// Compressed or not, chosen for each record.
    Mixed,
    PlainArc,
    GzipArc,
}

const FORMS: [Form; 8] = [
    Form::Plain,
    Form::Gzip,
    Form::Zstd,
    Form::ZstdWithDictionary,
    Form::Lz4,
    Form::Mixed,
    Form::PlainArc,
    Form::GzipArc,
];

fn compressed(content: &[u8], compression: &Compression) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), compression.clone()).expect("a writer");
    writer.write_encoded(content).expect("written");
    writer.finish().expect("finished")
}

/// Returns text or (unless `only_text`) incompressible bytes or a file of records, which is only
/// content inside a record.
fn block(random: &mut Random, only_text: bool) -> Vec<u8> {
    match random.below(if only_text { 4 } else { 6 }) {
        0 => Vec::new(),
        1..4 => {
            let words: Vec<String> = (0..random.below(300))
                .map(|_| format!("word{} ", random.below(90)))
                .collect();
            format!("HTTP/1.1 200 OK\r\nServer: x\r\n\r\n<p>{}</p>\n", words.concat()).into_bytes()
        }
        4 => noise(random, 3000),
        _ => {
            let inner = warc_record("http://inner.example/", b"inner");
            compressed(
                &inner,
                &[Compression::GZIP, ZSTD, Compression::Lz4][random.below(3)],
            )
            .repeat(2)
        }
    }
}

fn noise(random: &mut Random, most: usize) -> Vec<u8> {
    (0..random.below(most)).map(|_| random.below(256) as u8).collect()
}

fn warc_record(target: &str, block: &[u8]) -> Vec<u8> {
    let header = format!(
        "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: {target}\r\nWARC-Date: 2020-01-01T00:00:00Z\r\n\
         WARC-Record-ID: <urn:x:{target}>\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n",
        block.len()
    );
    [header.as_bytes(), block, b"\r\n\r\n"].concat()
}

fn arc_record(target: &str, block: &[u8]) -> Vec<u8> {
    let header = format!("{target} 1.2.3.4 20200101000000 text/html {}\n", block.len());
    [header.as_bytes(), block, b"\n"].concat()
}

/// Returns the first bytes of the file, and its pieces.
fn pieces(form: Form, random: &mut Random) -> (Vec<u8>, Vec<Piece>) {
    let is_arc = matches!(form, Form::PlainArc | Form::GzipArc);
    let dictionary = warc_record("http://dictionary.example/", b"word1 word2 word3 <p>");
    let (mut head, mut pieces) = (Vec::new(), Vec::new());
    if form == Form::ZstdWithDictionary {
        let with = Compression::Zstd {
            level: 3,
            dictionary: Some(dictionary.clone()),
        };
        head = Writer::new(Vec::new(), with)
            .expect("a writer")
            .finish()
            .expect("finished");
    }
    for n in 0..2 + random.below(6) {
        let compression = match form {
            Form::Plain | Form::PlainArc => Compression::Plain,
            Form::Gzip | Form::GzipArc => Compression::Gzip {
                level: 1 + random.below(9) as u32,
            },
            Form::Zstd => ZSTD,
            Form::ZstdWithDictionary => Compression::Zstd {
                level: 3,
                dictionary: Some(dictionary.clone()),
            },
            Form::Lz4 => Compression::Lz4,
            Form::Mixed => {
                [Compression::Plain, Compression::GZIP, ZSTD, Compression::Lz4][random.below(4)].clone()
            }
        };
        let is_plain = matches!(compression, Compression::Plain);
        // If a member stores incompressible bytes and is cut, it cannot be distinguished from an
        // uncompressed record that follows.
        let only_text = form == Form::Mixed && !is_plain;
        let many = if is_plain || random.below(4) > 0 { 1 } else { 3 };
        let records: Vec<_> = (0..many)
            .map(|m| {
                let target = format!("http://example.com/{n}/{m}?{}", "x".repeat(random.below(300)));
                (target, block(random, only_text))
            })
            .collect();
        let content: Vec<u8> = records
            .iter()
            .flat_map(|(target, block)| {
                if is_arc {
                    arc_record(target, block)
                } else {
                    warc_record(target, block)
                }
            })
            .collect();
        let mut stored = compressed(&content, &compression);
        // The writer puts the dictionary before the first frame.
        stored.drain(..head.len().min(stored.len()) * usize::from(form == Form::ZstdWithDictionary));
        pieces.push(Piece {
            stored,
            records,
            needs_line_end: is_arc && is_plain,
        });
    }
    (head, pieces)
}

/// Returns the bytes that replace damaged ones: none, noise, bytes that look like the beginning of
/// a member, or cut records.
fn foreign(form: Form, random: &mut Random) -> Vec<u8> {
    let record = warc_record("http://foreign.example/", b"foreign block, foreign block");
    let cut = |random: &mut Random, bytes: &[u8]| bytes[..random.below(bytes.len())].to_vec();
    match random.below(10) {
        0 => Vec::new(),
        1 => vec![0; random.below(600)],
        2 => noise(random, 600),
        3 => cut(random, &record),
        4 => cut(random, &arc_record("http://foreign.example/", b"foreign block")),
        5 => {
            let compression = [Compression::GZIP, ZSTD, Compression::Lz4][random.below(3)].clone();
            cut(random, &compressed(&record, &compression))
        }
        6 => format!("some text, {}\r\n", random.below(1000)).into_bytes(),
        _ => {
            let magics: [&[u8]; 9] = [
                b"\x1f\x8b\x08",
                b"\x1f\x8b\x08\0\0\0\0\0\0\xff",
                b"\x1f\x8b\x08\x08\0\0\0\0\0\xff",
                b"\x28\xb5\x2f\xfd",
                b"\x04\x22\x4d\x18",
                b"\x04\x22\x4d\x18\x40\x40\xc0",
                b"\x50\x2a\x4d\x18\x00\x01\x00\x00",
                // Frames with an uncompressed block: the following bytes, including uncompressed
                // records, are decoded unchanged.
                b"\x28\xb5\x2f\xfd\x04\x00\xf9\x13\x00",
                b"\x28\xb5\x2f\xfd\x00\x58\xf8\x03\x00",
            ];
            let magics = match form {
                Form::Plain | Form::PlainArc | Form::Mixed => &magics[..7],
                _ => &magics[..],
            };
            let most = [1, 20, 200][random.below(3)];
            [magics[random.below(magics.len())], &noise(random, most)].concat()
        }
    }
}

/// Returns whether something may begin in these bytes, or the file ends.
fn begins(bytes: &[u8]) -> bool {
    let starts: [&[u8]; 5] = [
        b"WARC/",
        b"http:",
        b"\x1f\x8b",
        b"\x28\xb5\x2f\xfd",
        b"\x04\x22\x4d\x18",
    ];
    let first = &bytes[..bytes.len().min(16)];
    bytes.len() < 12
        || starts
            .iter()
            .any(|start| first.windows(start.len()).any(|window| window == *start))
}

/// Damages a file, and checks that everything not touched by the damage is found.
fn check(form: Form, seed: u64) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (form as u64 + 1));
    let (head, pieces) = pieces(form, &mut random);
    let mut file = head.clone();
    let mut borders = vec![file.len()];
    for piece in &pieces {
        file.extend(&piece.stored);
        borders.push(file.len());
    }
    // Replaces the bytes from `from` to `to`. The damage often begins or ends between two pieces.
    let mut place = || match random.below(2) {
        0 => borders[random.below(borders.len())],
        _ => head.len() + random.below(file.len() - head.len() + 1),
    };
    let (one, other) = (place(), place());
    let (from, to) = match random.below(3) {
        0 => (one, one),
        1 => (one, (one + random.below(300)).min(file.len())),
        _ => (one.min(other), one.max(other)),
    };
    let with = foreign(form, &mut random);
    let damaged = [&file[..from], &with, &file[to..]].concat();
    // By chance, the length of the record in which the damage begins may end where something
    // begins.
    let is_chance = |piece: &[usize]| {
        let end = piece[1].saturating_sub(4);
        piece[0] < from
            && from < piece[1]
            && to != from + with.len()
            && begins(damaged.get(end..).unwrap_or_default())
    };
    if borders.windows(2).any(is_chance) {
        return;
    }
    let seen = read(damaged.clone(), settings());
    for (piece, border) in pieces.iter().zip(borders.windows(2)) {
        let offset = match (border[0], border[1]) {
            (start, end) if end <= from => start,
            (start, _) if start >= to => start - to + from + with.len(),
            _ => continue,
        };
        if piece.needs_line_end && offset > 0 && damaged[offset - 1] != b'\n' {
            continue;
        }
        for (target, block) in &piece.records {
            let found = seen.iter().any(|entry| match entry {
                EntrySummary::Record { target: t, body, .. } => t.as_ref() == Some(target) && body == block,
                _ => false,
            });
            assert!(
                found,
                "{form:?}, seed {seed}: {target} at {offset} is lost behind damage from {from} to {to}, replaced by {:?}; found: {}",
                String::from_utf8_lossy(&with),
                list(&seen)
            );
        }
    }
}

fn list(seen: &[EntrySummary]) -> String {
    let lines = seen.iter().map(|entry| match entry {
        EntrySummary::Record {
            span,
            target,
            reasons,
            ..
        } => {
            format!(
                "\n{}..{} {} {reasons:?}",
                span.offset,
                span.end(),
                target.as_deref().unwrap_or("-")
            )
        }
        other => format!("\n{other:?}"),
    });
    lines.collect()
}

#[test]
fn records_that_damage_does_not_touch_are_found() {
    let given = std::env::var("WEFT_TEST_SEED");
    let first: u64 = given.map_or(1, |seed| seed.parse().expect("WEFT_TEST_SEED is a number"));
    println!("seeds from {first}");
    for form in FORMS {
        for seed in first..first + CASES {
            check(form, seed);
        }
    }
}
