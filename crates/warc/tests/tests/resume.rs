//! Reading from any entry's offset on, and reading one record by its offset.

use std::io::Read;
use std::path::Path;

use warc::{Compression, Draft, OpenRecord, Writer, raw_at, read_at};

use super::support::{EntrySummary, archives, read, settings};

/// Checks that reading from each entry on gives the same entries as reading from the start.
fn check(name: &str, bytes: &[u8]) {
    let whole = read(bytes.to_vec(), settings());
    for (n, entry) in whole.iter().enumerate() {
        let mut from = settings();
        from.start_offset = entry.span().offset;
        let rest = read(bytes.to_vec(), from);
        let same = match entry {
            // The reason of junk is known only from its beginning.
            EntrySummary::Quarantined(..) => rest[1..] == whole[n + 1..],
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

/// Returns records as in an uncompressed file.
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

/// Returns `content` in members of `bytes` bytes each, cut at any position.
fn in_members(content: &[u8], bytes: usize, compression: Compression) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), compression).expect("a writer");
    for piece in content.chunks(bytes) {
        writer.write_encoded(piece).expect("written");
    }
    writer.finish().expect("finished")
}

/// One member for all records, and members cut anywhere, in every container: the same records, each
/// with a different offset.
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

/// Returns target and body only. The line ends may be in a different member, which is reported as a
/// defect.
fn without_place(entry: EntrySummary) -> (Option<String>, Vec<u8>) {
    match entry {
        EntrySummary::Record { target, body, .. } => (target, body),
        other => panic!("{other:?}"),
    }
}

/// Checks every record by its offset, both parsed and as a separate file.
fn check_each(path: &Path) {
    let whole = read(std::fs::File::open(path).expect("opens"), settings());
    for entry in &whole {
        let EntrySummary::Record {
            span,
            target,
            body,
            body_length,
            ..
        } = entry
        else {
            continue;
        };
        let record = read_at(path, span.offset, span.length).expect("a record");
        assert_eq!(
            (record.span, &record.body, record.body_length),
            (*span, body, *body_length),
            "{path:?}"
        );
        let mut raw = Vec::new();
        let mut stored = raw_at(path, span.offset).expect("a record");
        let (length, extension) = (stored.length(), stored.extension());
        stored.read_to_end(&mut raw).expect("readable");
        if let Some(length) = length {
            assert_eq!(raw.len() as u64, length);
            let mut part = raw_at(path, span.offset).expect("a record");
            let (first, bytes) = (length / 3, length / 2);
            part.narrow(first, bytes);
            let mut narrowed = Vec::new();
            part.read_to_end(&mut narrowed).expect("readable");
            assert_eq!(
                narrowed,
                raw[first as usize..(first + bytes) as usize],
                "{path:?}"
            );
        }
        check_opened(path, span.offset, span.length, body);
        let alone = read(raw, settings());
        let records: Vec<_> = alone.iter().filter(|entry| entry.is_record()).collect();
        let [
            EntrySummary::Record {
                target: t, body: b, ..
            },
        ] = records[..]
        else {
            panic!("{path:?} at {}: {alone:?} in {extension}", span.offset)
        };
        assert_eq!(
            (t, b),
            (target, body),
            "{path:?} at {} as {extension}",
            span.offset
        );
    }
}

/// Checks that the block read piece by piece equals the block read at once, also after a part of
/// it was skipped.
fn check_opened(path: &Path, offset: u64, length: u64, body: &[u8]) {
    let open = || {
        let file = std::sync::Arc::new(std::fs::File::open(path).expect("opens"));
        OpenRecord::open(file, "x", offset, length).expect("a record")
    };
    let mut opened = open();
    let (mut block, mut piece) = (Vec::new(), [0; 100]);
    loop {
        match opened.read(&mut piece).expect("readable") {
            0 => break,
            bytes => block.extend_from_slice(&piece[..bytes]),
        }
    }
    assert_eq!(block, body, "{path:?} at {offset}");
    let (mut opened, half) = (open(), body.len() / 2);
    let skipped = opened.skip(half as u64).expect("readable") as usize;
    assert!([0, half].contains(&skipped), "{path:?} at {offset}");
    let mut rest = Vec::new();
    opened.read_to_end(&mut rest).expect("readable");
    assert_eq!(rest, body[skipped..], "{path:?} at {offset}");
}

#[test]
fn one_record_of_real_files() {
    let names = [
        "warcio-example.warc",
        "warcio-example.warc.gz",
        "warcio-example.arc",
        "warcio-example.arc.gz",
    ];
    let shared = [
        "gowarc-good.warc.gz.open",
        "warcio-example-wrong-chunks.warc.gz",
        "chatnoir-warcfile.warc.lz4",
    ];
    for name in names.into_iter().chain(shared) {
        let Some(path) = super::support::data(&format!("edge/{name}")) else {
            return;
        };
        check_each(&path);
    }
}

#[test]
fn one_record_of_zstd_with_a_dictionary() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x");
    let dictionary = Some(plain(3));
    let mut writer = Writer::create(&path, Compression::Zstd { level: 3, dictionary }).expect("a writer");
    for n in 0..20 {
        let url = format!("http://example.com/{n}");
        writer
            .write(&Draft::resource(&url, 0, "text/plain", url.clone().into_bytes()))
            .expect("written");
    }
    writer.finish().expect("finished");
    check_each(&path);
}

#[test]
fn no_record_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x");
    std::fs::write(&path, b"neither a record nor anything else").expect("written");
    for offset in [0, 5, 1000] {
        let error = read_at(&path, offset, 10).expect_err("no record");
        assert!(
            error
                .to_string()
                .ends_with(&format!("offset {offset}: no record begins here")),
            "{error}"
        );
        assert!(raw_at(&path, offset).is_err());
    }
}
