//! Access to the real files, reading them to their end, and pseudorandom bytes.

use std::path::PathBuf;

use warc::{Entry, Input, Kind, Reader, ReaderSettings, Span};

/// Returns a file in the folder of real archive files, or `None` (with one visible line) if the
/// folder is missing.
pub(crate) fn data(name: &str) -> Option<PathBuf> {
    test_env::shared_data().map(|folder| folder.join(name))
}

/// Returns all real files of a folder, by name.
pub(crate) fn files(folder: &str) -> Vec<PathBuf> {
    let Some(folder) = data(folder) else {
        return Vec::new();
    };
    let entries = std::fs::read_dir(folder).expect("the folder can be listed");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

/// Returns every real archive file (without indexes and path lists) of at most `bytes_max` bytes,
/// with its content.
pub(crate) fn archives(bytes_max: u64) -> Vec<(String, Vec<u8>)> {
    let folders = ["crawls", "edge", "commoncrawl"];
    let all = folders.into_iter().flat_map(files);
    let named = all.map(|path| {
        (
            path.file_name().expect("a name").to_string_lossy().into_owned(),
            path,
        )
    });
    let archives = named.filter(|(name, _)| name.contains(".warc") || name.contains(".arc"));
    let small = archives.filter(|(_, path)| path.metadata().expect("a size").len() <= bytes_max);
    small
        .map(|(name, path)| (name, std::fs::read(path).expect("a file")))
        .collect()
}

/// The properties of an entry that tests compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EntrySummary {
    Record {
        span: Span,
        kind: Kind,
        target: Option<String>,
        body_length: u64,
        body: Vec<u8>,
        reasons: Vec<&'static str>,
    },
    Padding(Span),
    Quarantined(Span, &'static str),
}

impl EntrySummary {
    pub(crate) fn span(&self) -> Span {
        match self {
            EntrySummary::Record { span, .. }
            | EntrySummary::Padding(span)
            | EntrySummary::Quarantined(span, _) => *span,
        }
    }

    pub(crate) fn is_record(&self) -> bool {
        matches!(self, EntrySummary::Record { .. })
    }
}

pub(crate) fn settings() -> ReaderSettings {
    ReaderSettings::default()
}

/// Reads an input to its end. Checks that entries follow one another from the start offset on and,
/// unless the file is growing, that they reach the end of the file.
pub(crate) fn read(input: impl Input + 'static, settings: ReaderSettings) -> Vec<EntrySummary> {
    let (growing, mut position) = (settings.growing, settings.start_offset);
    let mut reader = Reader::from_input(Box::new(input), "memory", settings).expect("opens");
    let mut all = Vec::new();
    while let Some(entry) = reader.next_entry().expect("readable") {
        let span = entry.span();
        assert_eq!(span.offset, position, "entries follow one another");
        assert!(span.length > 0, "no entry is empty");
        position = span.end();
        all.push(match entry {
            Entry::Record(record) => {
                let seen = EntrySummary::Record {
                    span,
                    kind: record.kind,
                    target: record.target().map(str::to_owned),
                    body_length: record.body_length,
                    body: record.body.clone(),
                    reasons: record.defects.iter().map(|defect| defect.reason).collect(),
                };
                // Every other record reuses memory that holds the content of earlier records.
                if all.len().is_multiple_of(2) {
                    reader.recycle(record);
                }
                seen
            }
            Entry::Padding(span) => EntrySummary::Padding(span),
            Entry::Quarantined(span, defect) => EntrySummary::Quarantined(span, defect.reason),
            other => panic!("{other:?}"),
        });
    }
    assert_eq!(position, reader.position(), "the reader knows where it is");
    assert!(
        position == reader.size() || growing,
        "the last entry ends at the end of the file"
    );
    all
}

/// Pseudorandom numbers (xorshift).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

/// Returns at most this many bytes with each call, as a slow disk may.
pub(crate) struct Dribble(pub(crate) Vec<u8>, pub(crate) usize);

impl Input for Dribble {
    fn size(&self) -> std::io::Result<u64> {
        self.0.size()
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> std::io::Result<usize> {
        let bytes = into.len().min(self.1);
        self.0.read_at(&mut into[..bytes], offset)
    }
}
