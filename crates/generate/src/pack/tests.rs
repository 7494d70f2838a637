//! Tests that pack folders and read them back.

use std::fs;

use ::warc::{Entry, Kind, Reader, ReaderSettings};
use extract::{Capture, Documents, Extracted, LinkScope};

use super::*;

const DATE_MS: i64 = 1_700_000_000_000;

/// Returns a folder of files with these names and contents.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("below the folder")).expect("a folder");
        fs::write(path, content).expect("a file");
    }
    folder
}

fn settings() -> Settings {
    Settings {
        url_prefix: "https://example.com/docs".into(),
        date_ms: Some(DATE_MS),
    }
}

/// Packs, reads back with digests verified, and returns the captures in file order.
fn captures(folder: &Path, settings: &Settings) -> Vec<Capture> {
    let place = tempfile::tempdir().expect("a folder");
    let out = place.path().join("out.warc.gz");
    let report = write(folder, &out, settings).expect("packed");
    assert_eq!(report.skipped, []);
    assert_eq!(report.bytes, fs::metadata(&out).expect("written").len());
    let mut reader_settings = ReaderSettings::default();
    reader_settings.verify_digests = true;
    let mut reader = Reader::open(&out, reader_settings).expect("a file");
    let mut captures = Vec::new();
    let mut kinds = Vec::new();
    while let Some(entry) = reader.next_entry().expect("readable") {
        let Entry::Record(record) = entry else {
            panic!("{entry:?}")
        };
        assert!(record.defects.is_empty(), "{:?}", record.defects);
        assert!(record.headers.get("WARC-Block-Digest").is_some());
        kinds.push(record.kind);
        let wanted = extract::Settings {
            links: LinkScope::All,
            text: true,
            documents: Documents::NONE,
        };
        if let Extracted::Capture(capture) = extract::extract(&record, &wanted) {
            captures.push(*capture);
        }
    }
    assert_eq!(kinds[0], Kind::Warcinfo);
    assert!(kinds[1..].iter().all(|&kind| kind == Kind::Response));
    assert_eq!(report.files, captures.len() as u64);
    captures
}

#[test]
fn a_folder_becomes_a_site() {
    let folder = folder(&[
        ("index.html", "<title>Front</title><a href=\"guide.md\">Guide</a>"),
        (
            "guide.md",
            "# The *guide* & more\n\nSee [notes](sub/notes.txt) and [home](index.html).",
        ),
        ("sub/notes.txt", "Grüße"),
        ("sub/index.md", "no heading"),
        ("sub/a b#.png", "png"),
        ("sub/.hidden", "x"),
        (".git/config", "x"),
        ("data", "x"),
    ]);
    let captures = captures(folder.path(), &settings());
    let found: Vec<(&str, &str)> = captures
        .iter()
        .map(|capture| (capture.url.as_str(), capture.mime.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ("https://example.com/docs/", "text/html"),
            ("https://example.com/docs/data", "application/octet-stream"),
            ("https://example.com/docs/guide.md", "text/html"),
            ("https://example.com/docs/sub/", "text/html"),
            ("https://example.com/docs/sub/a%20b%23.png", "image/png"),
            ("https://example.com/docs/sub/notes.txt", "text/plain"),
        ]
    );
    assert!(
        captures
            .iter()
            .all(|capture| capture.status == 200 && capture.fetch_time_ms == DATE_MS)
    );
    let page = |at: usize| captures[at].page.as_ref().expect("a page");
    assert_eq!(page(0).title, "Front");
    assert_eq!(page(2).title, "The guide & more");
    assert_eq!(page(3).title, "index");
    let links: Vec<(&str, &str)> = page(2)
        .links
        .iter()
        .map(|link| (link.url.as_str(), link.anchor.as_str()))
        .collect();
    assert_eq!(
        links,
        [
            ("https://example.com/docs/sub/notes.txt", "notes"),
            ("https://example.com/docs/index.html", "home"),
        ]
    );
}

#[test]
fn the_same_folder_gives_the_same_bytes() {
    let folder = folder(&[("b.html", "b"), ("a/c.md", "c"), ("a.html", "a")]);
    let place = tempfile::tempdir().expect("a folder");
    let settings = Settings {
        date_ms: None,
        ..settings()
    };
    let packed = |name: &str| {
        let out = place.path().join(name);
        write(folder.path(), &out, &settings).expect("packed");
        fs::read(out).expect("written")
    };
    assert_eq!(packed("one.warc.gz"), packed("two.warc.gz"));
    assert!(packed("three.warc").starts_with(b"WARC/1.1\r\n"));
}

#[test]
fn dates_are_those_of_the_files() {
    let folder = folder(&[("a.html", "a")]);
    let changed = std::time::UNIX_EPOCH + std::time::Duration::from_millis(1_234_567_890_123);
    let file = fs::File::options()
        .write(true)
        .open(folder.path().join("a.html"))
        .expect("a file");
    file.set_modified(changed).expect("a date");
    let captures = captures(
        folder.path(),
        &Settings {
            date_ms: None,
            ..settings()
        },
    );
    assert_eq!(captures[0].fetch_time_ms, 1_234_567_890_000);
}

#[test]
fn the_warc_is_not_part_of_itself() {
    let folder = folder(&[("a.html", "a")]);
    let out = folder.path().join("out.warc.gz");
    for _ in 0..2 {
        assert_eq!(write(folder.path(), &out, &settings()).expect("packed").files, 1);
    }
}

#[cfg(unix)]
#[test]
fn what_cannot_be_read_is_listed_and_circles_are_not_walked() {
    let folder = folder(&[("a.html", "a")]);
    std::os::unix::fs::symlink("nowhere", folder.path().join("broken")).expect("a link");
    std::os::unix::fs::symlink(folder.path(), folder.path().join("circle")).expect("a link");
    std::os::unix::fs::symlink("a.html", folder.path().join("b.html")).expect("a link");
    let place = tempfile::tempdir().expect("a folder");
    let report = write(folder.path(), &place.path().join("out.warc.gz"), &settings()).expect("packed");
    assert_eq!(report.files, 2);
    assert_eq!(report.skipped.len(), 1);
    assert!(report.skipped[0].path.ends_with("broken"));
}

#[test]
fn prefixes_that_are_no_folders_are_refused() {
    let folder = folder(&[]);
    for bad in [
        "",
        "example.com",
        "ftp://example.com/",
        "http://example.com/?x",
        "http://example.com/#x",
    ] {
        let settings = Settings {
            url_prefix: bad.into(),
            ..settings()
        };
        let error = write(folder.path(), Path::new("nowhere"), &settings).expect_err("refused");
        assert!(matches!(error, Error::Prefix(_)), "{error}");
    }
    let error = write(&folder.path().join("missing"), Path::new("nowhere"), &settings());
    assert!(matches!(error, Err(Error::Read { .. })));
}
