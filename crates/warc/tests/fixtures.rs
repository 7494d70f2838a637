//! Every real file: record counts, and lengths that add up.

use std::path::{Path, PathBuf};

use warc::{Entry, Reader, ReaderSettings};

/// The folder of real archive files, or `None` (with one visible line) where it is missing.
fn data(folder: &str) -> Option<PathBuf> {
    let given = std::env::var_os("WEFT_SHARED_DATA").map(PathBuf::from);
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut places = given.into_iter().chain(above.map(|dir| dir.join("shared/data")));
    let found = places.find(|place| place.is_dir());
    if found.is_none() {
        eprintln!("skipped: no shared/data above {}", env!("CARGO_MANIFEST_DIR"));
    }
    found.map(|place| place.join(folder))
}

fn files(folder: &str) -> Vec<PathBuf> {
    let Some(folder) = data(folder) else {
        return Vec::new();
    };
    let entries = std::fs::read_dir(folder).expect("the folder can be listed");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

/// Reads a file to its end; gives the number of records after checking that the lengths add up.
fn check(path: &Path) -> usize {
    let mut settings = ReaderSettings::default();
    settings.verify_digests = true;
    let mut reader = Reader::open(path, settings).expect("the file opens");
    let (mut position, mut records) = (0, 0);
    while let Some(entry) = reader.next_entry().expect("the file can be read") {
        let span = entry.span();
        assert_eq!(span.offset, position, "{path:?}: entries follow one another");
        assert!(span.length > 0, "{path:?}: no entry is empty");
        position = span.end();
        match entry {
            Entry::Record(record) => {
                records += 1;
                if !record.defects.is_empty() {
                    println!("  {:?} {:?} {:?}", span, record.kind, record.defects);
                }
                reader.recycle(record);
            }
            other => println!("  {other:?}"),
        }
    }
    assert_eq!(
        position,
        reader.size(),
        "{path:?}: the last entry ends at the end of the file"
    );
    println!("{records:5} {}", path.file_name().unwrap().to_string_lossy());
    records
}

#[test]
fn lengths_add_up_to_the_size() {
    for folder in ["crawls", "edge", "commoncrawl"] {
        for file in files(folder) {
            check(&file);
        }
    }
}
