//! Real files cut at many positions or with flipped bytes: lengths add up, and undamaged records
//! are still read.

use super::support::{Dribble, EntrySummary, Random, archives, read, settings};

#[test]
fn cut_files_are_accounted_for() {
    let mut random = Random(0x5eed_0001);
    for (name, bytes) in archives(300_000) {
        let whole = read(bytes.clone(), settings());
        if bytes.starts_with(&[0x1f, 0x8b]) && !has_member_each(&bytes, &whole) {
            // If records share a member, their spans do not say where their bytes are.
            continue;
        }
        let cuts: Vec<usize> = match bytes.len() {
            0..2000 => (0..bytes.len()).collect(),
            length => (0..60)
                .map(|_| random.below(length))
                .chain([length - 1])
                .collect(),
        };
        for cut in cuts {
            let seen = read(bytes[..cut].to_vec(), settings());
            // Entries that end well before the cut equal those of the whole file.
            let before = whole
                .iter()
                .filter(|entry| entry.span().end() + 20 < cut as u64)
                .count();
            let same = before.saturating_sub(1);
            assert!(seen.len() >= same, "{name} cut at {cut}");
            assert_eq!(seen[..same], whole[..same], "{name} cut at {cut}");
        }
    }
}

/// Returns whether each entry is a record in a separate gzip member.
fn has_member_each(bytes: &[u8], entries: &[EntrySummary]) -> bool {
    let own = |entry: &EntrySummary| bytes[entry.span().offset as usize..].starts_with(&[0x1f, 0x8b]);
    entries.iter().all(|entry| entry.is_record() && own(entry))
}

/// In a file with one record per member, damage inside one member leaves all other records
/// unchanged.
#[test]
fn flipped_bytes_lose_no_other_record() {
    for (name, bytes) in archives(300_000) {
        let whole = read(bytes.clone(), settings());
        let member_each = has_member_each(&bytes, &whole);
        for seed in 1..=40 {
            let mut random = Random(seed * 0x9e37_79b9);
            let at = random.below(bytes.len());
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << random.below(8);
            let seen = read(damaged, settings());
            if !member_each {
                continue;
            }
            for entry in &whole {
                let span = entry.span();
                if at as u64 >= span.offset && (at as u64) < span.end() {
                    continue;
                }
                // The record before the damage may lack line ends, and is reported with that
                // defect.
                let found = seen.iter().any(|other| match (other, entry) {
                    (
                        EntrySummary::Record { span: a, body: x, .. },
                        EntrySummary::Record { span: b, body: y, .. },
                    ) => a.offset == b.offset && x == y,
                    _ => false,
                });
                assert!(found, "{name}: byte {at} flipped (seed {seed}), {span:?} is lost");
            }
        }
    }
}

/// In an uncompressed file, damage inside one block leaves all other records unchanged.
#[test]
fn flipped_bytes_in_plain_files_lose_no_other_record() {
    for (name, bytes) in archives(300_000) {
        let plain = bytes.starts_with(b"WARC/") || bytes.starts_with(b"filedesc");
        // The records of `warcio-bad.arc` have no lengths, and one is recognised only where a
        // record is expected.
        if !plain || name == "warcio-bad.arc" {
            continue;
        }
        let whole = read(bytes.clone(), settings());
        for seed in 1..=100 {
            let mut random = Random(seed * 0x9e37_79b9);
            let at = random.below(bytes.len());
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << random.below(8);
            let seen = read(damaged, settings());
            for entry in whole.iter().filter(|entry| entry.is_record()) {
                let span = entry.span();
                // The line ends before a record determine the end of the previous record.
                if at as u64 + 5 >= span.offset && (at as u64) < span.end() {
                    continue;
                }
                let offset = |other: &EntrySummary| other.is_record() && other.span().offset == span.offset;
                assert!(
                    seen.iter().any(offset),
                    "{name}: byte {at} flipped (seed {seed}), {span:?} is lost"
                );
            }
        }
    }
}

#[test]
fn small_reads_give_the_same() {
    for (name, bytes) in archives(20_000) {
        let whole = read(bytes.clone(), settings());
        for most in [1, 7, 1000] {
            assert_eq!(
                read(Dribble(bytes.clone(), most), settings()),
                whole,
                "{name}, {most} bytes a read"
            );
        }
    }
}

#[test]
fn what_is_kept_of_bodies_changes_nothing_else() {
    for (name, bytes) in archives(300_000) {
        let whole = read(bytes.clone(), settings());
        for kept in [0, 10, 1000] {
            let mut settings = settings();
            settings.body_bytes_max = kept;
            let seen = read(bytes.clone(), settings);
            let expected = whole.iter().cloned().map(|mut entry| {
                if let EntrySummary::Record { body, .. } = &mut entry {
                    body.truncate(kept as usize);
                }
                entry
            });
            assert_eq!(seen, expected.collect::<Vec<_>>(), "{name}, {kept} bytes kept");
        }
    }
}
