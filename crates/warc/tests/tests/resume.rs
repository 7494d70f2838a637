//! Reading on from any entry's offset, and one record by its offset.

use warc::{Compression, Draft, Writer};

use super::support::{Seen, archives, read, settings};

/// From every entry on, the rest of the file is read as if from the start.
fn check(name: &str, bytes: &[u8]) {
    let whole = read(bytes.to_vec(), settings());
    for (n, entry) in whole.iter().enumerate() {
        let mut from = settings();
        from.start_offset = entry.span().offset;
        let rest = read(bytes.to_vec(), from);
        let same = match entry {
            // Of junk, only its beginning tells why it is junk.
            Seen::Quarantined(..) => rest[1..] == whole[n + 1..],
            _ => rest == whole[n..],
        };
        assert!(
            same,
            "{name} from {:?}: {:?} ... not {:?}",
            entry.span(),
            rest.first(),
            entry
        );
    }
}

#[test]
fn real_files() {
    for (name, bytes) in archives(70_000) {
        check(&name, &bytes);
    }
}

/// Records as they stand in an uncompressed file.
fn plain(records: usize) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), Compression::Plain).expect("a writer");
    for n in 0..records {
        let words: String = (0..n * 37 % 2000)
            .map(|m| format!("{} ", (m * n) % 977))
            .collect();
        let block = format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n{words}");
        let url = format!("http://example.com/{n}");
        writer
            .write(&Draft::response(&url, 0, block.into_bytes()))
            .expect("written");
    }
    writer.finish().expect("finished")
}

/// All of `content` in members of so many bytes each, cut wherever that is.
fn in_members(content: &[u8], bytes: usize, compression: Compression) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), compression).expect("a writer");
    for piece in content.chunks(bytes) {
        writer.write_encoded(piece).expect("written");
    }
    writer.finish().expect("finished")
}

/// One member for all, members cut anywhere, in every container: the same records, each with its own offset.
#[test]
fn members_that_hold_many_records_or_parts_of_one() {
    let records = 150;
    let content = plain(records);
    let expected: Vec<_> = read(content.clone(), settings())
        .into_iter()
        .map(without_place)
        .collect();
    for bytes in [usize::MAX, 100_000, 4096, 1000, 101] {
        let bytes = bytes.min(content.len());
        let lz4 = Compression::Lz4;
        let zstd = Compression::Zstd {
            level: 3,
            dictionary: None,
        };
        for compression in [Compression::GZIP, Compression::Gzip { level: 0 }, zstd, lz4] {
            let name = format!("{compression:?} with {bytes} bytes a member");
            let stored = in_members(&content, bytes, compression);
            let seen: Vec<_> = read(stored.clone(), settings())
                .into_iter()
                .map(without_place)
                .collect();
            assert_eq!(seen.len(), expected.len(), "{name}");
            assert_eq!(seen, expected, "{name}");
            if bytes >= 1000 {
                check(&name, &stored);
            }
        }
    }
}

/// Target and body; line ends may lie in another member, which is noted.
fn without_place(entry: Seen) -> (Option<String>, Vec<u8>) {
    match entry {
        Seen::Record { target, body, .. } => (target, body),
        other => panic!("{other:?}"),
    }
}
