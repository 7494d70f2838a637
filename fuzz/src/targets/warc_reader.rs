//! `warc::Reader`: any bytes are a file, every byte of it is accounted for, and the entries depend
//! neither on the size of the reads nor on where reading starts.
//!
//! The first byte of an input chooses the settings, the rest is the file.

use std::io;
use std::sync::Arc;

use warc::{Compression, Entry, Input, Reader, ReaderSettings, Record, Writer, reason};

use super::Target;

/// The target; the head of this file describes inputs and properties.
pub const TARGET: Target = Target {
    name: "warc_reader",
    about: "WARC and ARC files, in every container",
    run,
    seeds,
    from_file: |mut bytes| {
        bytes.insert(0, 0);
        bytes
    },
    tokens: &[
        b"WARC/1.0\r\n",
        b"WARC/1.1\n",
        b"WARC-Type: response\r\n",
        b"Content-Length: ",
        b"Content-Type: application/http\r\n",
        b"WARC-Payload-Digest: sha1:AAAA\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"HTTP/1.1 200 OK\r\n",
        b"\r\n\r\n",
        b"filedesc://x 0.0.0.0 20110804181044 text/plain 6\n1 0 x\n\n",
        b"http://a.b/ 1.2.3.4 20110804181142 text/html 20\n",
        b"\x1f\x8b\x08",
        b"\x28\xb5\x2f\xfd",
        b"\x04\x22\x4d\x18",
        b"\x5d\x2a\x4d\x18",
        b"\x50\x2a\x4d\x18",
    ],
};

/// Reads the file and checks the entries.
pub fn run(bytes: &[u8]) {
    let Some((choice, file)) = bytes.split_first() else {
        return;
    };
    let settings = settings(*choice);
    let (entries, end) = read(Box::new(file.to_vec()), settings.clone());
    let mut mark = 0;
    for entry in &entries {
        assert_eq!(entry.span().offset, mark, "a gap or an overlap before {entry:?}");
        mark = entry.span().end();
    }
    if settings.growing {
        assert!(mark == end && end <= file.len() as u64, "{mark}, {end}")
    } else {
        assert_eq!(mark, file.len() as u64, "the entries do not cover the whole file")
    }

    // The same with reads of a few bytes.
    let crumbs = Crumbs {
        bytes: file.to_vec(),
        read_bytes: 1 + usize::from(*choice >> 4) * 37,
    };
    let (again, _) = read(Box::new(crumbs), settings);
    assert_eq!(
        format!("{again:?}"),
        format!("{entries:?}"),
        "the result depends on the sizes of the reads"
    );

    alone(file, &entries);
}

/// Checks that each record is also found by its offset. Stops at a record that breaks off: if it
/// continues in the next compressed member, the entries of that member depend on where reading
/// started, and a reader given an offset starts with the member that contains it.
fn alone(file: &[u8], entries: &[Entry]) {
    let input: Arc<dyn Input> = Arc::new(file.to_vec());
    let whole = entries.iter().map_while(|entry| match entry {
        Entry::Record(record) => (!breaks_off(record)).then_some(Some(record)),
        Entry::Padding(_) => Some(None),
        Entry::Quarantined(_, defect) => (defect.reason == reason::JUNK).then_some(None),
        _ => None,
    });
    for record in whole.flatten().take(8) {
        let span = record.span;
        let found = warc::read_from(
            input.clone(),
            "fuzz",
            span.offset,
            span.length,
            ReaderSettings::default(),
        )
        .unwrap_or_else(|error| panic!("cannot read the record at {}: {error}", span.offset));
        assert_eq!(
            identity(&found),
            identity(record),
            "found another record at {}",
            span.offset
        );
    }
}

fn breaks_off(record: &Record) -> bool {
    let reasons = [
        reason::LENGTH_TOO_LONG,
        reason::TRUNCATED_RECORD,
        reason::TRUNCATED_HEADER,
    ];
    record
        .defects
        .iter()
        .any(|defect| reasons.contains(&defect.reason))
}

fn identity(record: &Record) -> (warc::Format, warc::Kind, u64, Option<&str>) {
    (record.format, record.kind, record.span.offset, record.target())
}

fn settings(choice: u8) -> ReaderSettings {
    let mut settings = ReaderSettings::default();
    settings.verify_digests = choice & 1 != 0;
    settings.growing = choice & 2 != 0;
    if choice & 4 != 0 {
        settings.body_bytes_max = u64::from(choice >> 3);
    }
    settings
}

/// Returns all entries, and the final position.
fn read(input: Box<dyn Input>, settings: ReaderSettings) -> (Vec<Entry>, u64) {
    let mut entries = Vec::new();
    let mut reader =
        Reader::from_input(input, "fuzz", settings).expect("opening bytes in memory never fails");
    while let Some(entry) = reader.next_entry().expect("reading bytes in memory never fails") {
        entries.push(entry);
    }
    (entries, reader.position())
}

/// An input that returns a few bytes at a time.
struct Crumbs {
    bytes: Vec<u8>,
    read_bytes: usize,
}

impl Input for Crumbs {
    fn size(&self) -> io::Result<u64> {
        self.bytes.size()
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let length = into.len().min(self.read_bytes);
        self.bytes.read_at(&mut into[..length], offset)
    }
}

/// Returns a small file in every container, with and without a member for each record.
fn seeds() -> Vec<Vec<u8>> {
    let record = b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.b/\r\nWARC-Date: 2020-01-02T03:04:05Z\r\n\
        Content-Type: application/http\r\nContent-Length: 40\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi\r\n\r\n";
    let arc = b"filedesc://x 0.0.0.0 20110804181044 text/plain 6\n1 0 x\n\nhttp://a.b/ 1.2.3.4 20110804181142 text/html 5\nhello\n";
    let zstd = |dictionary| Compression::Zstd { level: 1, dictionary };
    let mut seeds = vec![[&[0], &arc[..]].concat()];
    for compression in [
        Compression::Plain,
        Compression::GZIP,
        zstd(None),
        zstd(Some(record.to_vec())),
        Compression::Lz4,
    ] {
        for members in [&[&record[..], &record[..]][..], &[&record.repeat(2)], &[&arc[..]]] {
            let mut writer = Writer::new(vec![0], compression.clone()).expect("a writer");
            for member in members {
                writer.write_encoded(member).expect("written");
            }
            seeds.push(writer.finish().expect("finished"));
        }
    }
    seeds
}
