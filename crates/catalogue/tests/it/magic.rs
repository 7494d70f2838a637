//! Format detection by content: formats in entries, sums and reports follow the content.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use catalogue::{Format, Magic};

use crate::model::{Mutator, Rig};

fn format(rig: &Rig, path: &str) -> &'static str {
    use std::os::unix::ffi::OsStrExt;
    // `locate_exactly` does not follow links.
    let path = rig.path().join(path);
    let found = rig.catalogue.locate_exactly(path.as_os_str().as_bytes());
    found.unwrap().unwrap().attributes.format.name()
}

fn changes(rig: &Rig) -> usize {
    let mut changes = 0;
    rig.catalogue.changes_since(0, |_| changes += 1).unwrap();
    changes
}

#[test]
fn what_was_found_stays_as_long_as_the_file_does() {
    let mut rig = Rig::new();
    let write = |name: &str, content: &[u8]| fs::write(rig.tree.path().join(name), content).unwrap();
    write("crawl", b"WARC/1.0\r\n");
    write("page.pdf", b"<!DOCTYPE html><html>");
    write("letter", b"Dear diary");
    write("empty", b"");
    rig.scan();
    assert_eq!(format(&rig, "crawl"), "other");
    // The first read of an unchanged file is not a change.
    rig.settings.magic = Magic::Unnamed;
    let counts = rig.scan().row.counts;
    assert_eq!((counts.added, counts.removed, counts.changed), (0, 0, 0));
    assert_eq!(
        ["crawl", "page.pdf", "letter"].map(|name| format(&rig, name)),
        ["warc", "pdf", "other"]
    );
    rig.check();
    rig.settings.magic = Magic::All;
    rig.scan();
    assert_eq!(format(&rig, "page.pdf"), "html");
    for magic in [Magic::All, Magic::Unnamed, Magic::Off] {
        rig.settings.magic = magic;
        let counts = rig.scan().row.counts;
        assert_eq!(
            (counts.added, counts.removed, counts.changed),
            (0, 0, 0),
            "{magic:?}"
        );
        assert_eq!(
            ["crawl", "page.pdf"].map(|name| format(&rig, name)),
            ["warc", "html"]
        );
    }
    rig.check();
    assert_eq!(changes(&rig), 0);
    // New content: only the name gives a format until the file is read.
    fs::write(rig.path().join("crawl"), b"%PDF-1.4\n1 0 obj\n").unwrap();
    rig.scan();
    assert_eq!(format(&rig, "crawl"), "other");
    rig.settings.magic = Magic::Unnamed;
    rig.scan();
    assert_eq!(format(&rig, "crawl"), "pdf");
    rig.check();
}

#[test]
fn nothing_but_regular_files_is_opened_and_what_cannot_be_read_keeps_the_format_of_its_name() {
    let mut rig = Rig::new();
    let root = rig.path();
    let made = std::process::Command::new("mkfifo")
        .arg(root.join("pipe"))
        .status();
    assert!(made.unwrap().success());
    fs::write(root.join("crawl"), b"WARC/1.0\r\n").unwrap();
    std::os::unix::fs::symlink("crawl", root.join("link")).unwrap();
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::hard_link(root.join("crawl"), root.join("a/b/same.gz")).unwrap();
    let before = fs::metadata(root.join("crawl")).unwrap().accessed().unwrap();
    rig.settings.magic = Magic::All;
    rig.scan();
    assert_eq!(
        ["pipe", "link", "crawl", "a/b/same.gz"].map(|name| format(&rig, name)),
        ["other", "other", "warc", "warc"]
    );
    assert_eq!(
        fs::metadata(root.join("crawl")).unwrap().accessed().unwrap(),
        before
    );
    rig.check();
}

/// A random tree, scanned with and without reading content: the sums equal those of the entries
/// after every step.
#[test]
fn sums_are_those_of_entries_whatever_is_looked_into() {
    for seed in 0..3 {
        println!("seed {seed}");
        let mut rig = Rig::new();
        let mut mutator = Mutator::new(&rig.path(), seed);
        for round in 0..6 {
            mutator.steps(100);
            for (path, row) in crate::model::listed(&rig.path()) {
                use std::os::unix::ffi::OsStrExt;
                let path = Path::new(std::ffi::OsStr::from_bytes(&path));
                if row.0 == 'f' && mutator.dice.below(3) == 0 {
                    let heads: [&[u8]; 3] = [b"WARC/1.0\r\n", b"%PDF-1.4\n", b"filedesc://a"];
                    fs::write(path, heads[mutator.dice.below(3)]).unwrap();
                }
            }
            rig.settings.magic = [Magic::Unnamed, Magic::Off, Magic::All][mutator.dice.below(3)];
            rig.scan();
            rig.check();
            let again = rig.scan().row.counts;
            assert_eq!(
                (again.added, again.removed, again.changed),
                (0, 0, 0),
                "round {round}"
            );
        }
    }
}

/// Files of the real collection, without their extensions.
#[test]
fn real_web_archives_are_known_without_their_names() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let mut rig = Rig::new();
    let mut expected: BTreeMap<String, &str> = BTreeMap::new();
    for folder in ["crawls", "edge", "regress", "ir"] {
        for entry in fs::read_dir(shared.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let by_name = Format::of_name(name.trim_end_matches(".open").trim_end_matches(".bad").as_bytes());
            if path.is_file() && ["warc", "arc", "cdx", "package"].contains(&by_name.name()) {
                let plain = name.replace('.', " ");
                fs::copy(&path, rig.path().join(&plain)).unwrap();
                expected.insert(plain, by_name.name());
            }
        }
    }
    assert!(expected.len() > 60, "{}", expected.len());
    rig.settings.magic = Magic::Unnamed;
    rig.scan();
    for (name, format_by_name) in expected {
        // An archive without records is compressed nothing.
        let bytes = fs::read(rig.path().join(&name)).unwrap();
        let inflated = flate2::read::MultiGzDecoder::new(&bytes[..]).read(&mut [0]);
        let is_empty = matches!(inflated, Ok(0));
        let expected = if is_empty { "compressed" } else { format_by_name };
        assert_eq!(format(&rig, &name), expected, "{name}");
    }
    rig.check();
}
