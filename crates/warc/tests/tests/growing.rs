//! A file that is still being written is read up to its last complete entry, and from there on
//! later.

use super::support::{Random, archives, read, settings};

/// If a file is cut anywhere, the entries read are the first ones of the whole file, and reading on
/// later gives the rest.
#[test]
fn a_growing_file_is_read_as_far_as_it_is_whole() {
    let mut random = Random(0x5eed_0002);
    for (name, bytes) in archives(100_000) {
        let whole = read(bytes.clone(), settings());
        if whole.iter().any(|entry| !entry.is_record()) || name.contains("trunc") {
            // While a file grows, an end inside future junk cannot be recognised.
            continue;
        }
        let cuts: Vec<usize> = match bytes.len() {
            0..1500 => (0..bytes.len()).collect(),
            length => (0..50).map(|_| random.below(length)).collect(),
        };
        for cut in cuts {
            let mut growing = settings();
            growing.growing = true;
            let first = read(bytes[..cut].to_vec(), growing);
            assert!(first.len() <= whole.len(), "{name} cut at {cut}");
            assert_eq!(first, whole[..first.len()], "{name} cut at {cut}");
            let mut rest = settings();
            rest.start_offset = first.last().map_or(0, |entry| entry.span().end());
            assert_eq!(
                read(bytes.clone(), rest),
                whole[first.len()..],
                "{name} cut at {cut}"
            );
        }
    }
}
