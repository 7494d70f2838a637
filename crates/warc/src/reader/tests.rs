//! Checks that decoding frames in one step gives the same result as decoding them in several.

use crate::reader::Reader;
use crate::{Compression, Draft, ReaderSettings, Writer};
use proptest::prelude::*;

fn reader(file: &[u8], settings: &ReaderSettings) -> Reader {
    Reader::from_input(Box::new(file.to_vec()), "memory", settings.clone()).unwrap()
}

/// Returns all entries, and the error if there is one.
fn read(mut reader: Reader) -> String {
    let mut seen = String::new();
    loop {
        match reader.next_entry() {
            Ok(None) => return seen,
            Ok(Some(entry)) => seen += &format!("{entry:?}\n"),
            Err(error) => return format!("{seen}{error}"),
        }
    }
}

/// Checks that a file gives the same entries as if all its frames were decoded in steps.
fn check(file: &[u8]) {
    for body_bytes_max in [0, 1000, u64::MAX] {
        for growing in [false, true] {
            let settings = ReaderSettings {
                body_bytes_max,
                verify_digests: true,
                growing,
                ..ReaderSettings::default()
            };
            let mut in_steps = reader(file, &settings);
            in_steps.frames.in_steps = true;
            assert_eq!(read(reader(file, &settings)), read(in_steps));
        }
    }
}

/// Returns content that compresses as well as text (bytes with `of` values), or not at all (256).
fn content(length: usize, of: u64, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..length)
        .map(|_| b' '.wrapping_add((next() % of) as u8))
        .collect()
}

/// Returns a file of members, each with records of these lengths.
fn file(members: &[Vec<usize>], level: u32, of: u64) -> Vec<u8> {
    let mut file = Writer::new(Vec::new(), Compression::Gzip { level }).unwrap();
    for (n, records) in members.iter().enumerate() {
        let mut plain = Writer::new(Vec::new(), Compression::Plain).unwrap();
        for (m, length) in records.iter().enumerate() {
            let url = format!("http://example.com/{n}/{m}");
            let block = content(*length, of, (n * 31 + m) as u64);
            plain
                .write(&Draft::resource(&url, 0, "text/plain", block))
                .unwrap();
        }
        file.write_encoded(&plain.finish().unwrap()).unwrap();
    }
    file.finish().unwrap()
}

#[test]
fn a_member_of_any_size_is_whole_unless_its_content_is_large() {
    for (bytes, is_whole) in [(10, true), (100_000, true), (130_000, true), (131_072, false)] {
        for (level, of) in [(0, 256), (6, 90), (9, 2)] {
            let file = file(&[vec![bytes], vec![5]], level, of);
            let mut frames = reader(&file, &ReaderSettings::default()).frames;
            frames.open().unwrap();
            frames.more(1).unwrap();
            assert_eq!(
                frames.end().is_some() && frames.window().len() > bytes,
                is_whole,
                "{bytes} {level}"
            );
        }
    }
}

#[test]
fn records_that_share_a_member_have_the_offsets_of_its_grains() {
    for of in [2, 16, 90, 256] {
        let shared = file(&[vec![20_000; 6], vec![40; 500], vec![90_000, 10, 10_000]], 6, of);
        check(&shared);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn damage_is_read_as_in_steps(
        members in proptest::collection::vec(
            proptest::collection::vec(prop_oneof![0..300_usize, 0..40_000_usize], 0..5), 1..4),
        level in 0..10_u32,
        of in prop_oneof![Just(2), Just(90), Just(256)],
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..4),
        cut in proptest::option::of(any::<proptest::sample::Index>()),
        with_dense in any::<bool>(),
    ) {
        let mut file = file(&members, level, of);
        if with_dense {
            // These 1000 identical records take fewer than 1000 stored bytes.
            let records = b"WARC/1.0\r\nContent-Length: 0\r\n\r\n\r\n\r\n".repeat(1000);
            let mut dense = Writer::new(Vec::new(), Compression::Gzip { level }).unwrap();
            dense.write_encoded(&records).unwrap();
            file.extend(dense.finish().unwrap());
        }
        for (at, with) in changes {
            let at = at.index(file.len());
            file[at] = with;
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len() + 1));
        }
        check(&file);
    }
}
