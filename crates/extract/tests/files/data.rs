//! Access to the directory of real archive files, and extraction of one of them.

use extract::{Capture, Documents, Extracted, LinkScope, PayloadReader, Settings};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use warc::{Entry, Reader, ReaderSettings, Record};

/// Returns a file of the shared data; `None`, with one visible line, if the directory is missing.
pub(crate) fn file(name: &str) -> Option<PathBuf> {
    test_env::shared_data().map(|folder| folder.join(name))
}

pub(crate) fn records(path: &Path) -> Vec<Record> {
    let mut reader = Reader::open(path, ReaderSettings::default()).expect("the file opens");
    let mut records = Vec::new();
    while let Some(entry) = reader.next_entry().expect("the file can be read") {
        if let Entry::Record(record) = entry {
            records.push(record);
        }
    }
    records
}

/// Returns the decoded payload of a record.
pub(crate) fn payload(record: &Record) -> Vec<u8> {
    let block = std::io::Cursor::new(record.body.clone());
    let mut payload =
        PayloadReader::of_block(record.kind, &record.headers, block, u64::MAX).expect("memory can be read");
    let mut bytes = Vec::new();
    payload.read_to_end(&mut bytes).expect("memory can be read");
    bytes
}

pub(crate) fn outcomes(path: &Path, links: LinkScope) -> Vec<Extracted> {
    let settings = Settings {
        links,
        text: true,
        documents: Documents::NONE,
    };
    records(path)
        .iter()
        .map(|record| extract::extract(record, &settings))
        .collect()
}

/// Returns all captures of a file, in order; empty if the data is missing.
pub(crate) fn captures(name: &str) -> Vec<Capture> {
    let Some(path) = file(name) else { return Vec::new() };
    let outcomes = outcomes(&path, LinkScope::All);
    outcomes
        .into_iter()
        .filter_map(|outcome| match outcome {
            Extracted::Capture(capture) => Some(*capture),
            _ => None,
        })
        .collect()
}
