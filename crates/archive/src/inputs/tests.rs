use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// A folder with one of everything.
fn tree() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let put = |path: &str, content: &[u8]| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    put("in/a.warc", b"WARC/1.0\r\n");
    put("in/b.dat", &gzip(b"WARC/1.1\r\n"));
    put(
        "in/deep/c.arc.gz",
        &gzip(b"filedesc://c.arc 0.0.0.0 20080101000000 text/plain 76\n"),
    );
    put(
        "in/deep/old.bin",
        b"http://example.com/ 1.2.3.4 20080101000000 text/html 12\n",
    );
    put("in/deep/damaged.warc.gz", b"\x1f\x8b\x08garbage");
    put("in/notes.txt", b"just text");
    put("in/table.cdx.gz", &gzip(b"com,example)/ 2008"));
    put("in/list.paths", b"# two\n\na.warc\ndeep/absent.warc.gz\n");
    put("in/list.paths.gz", &gzip(b"deep/c.arc.gz\n"));
    root
}

fn check(arguments: &[&str], expected: &[&str], skipped: u64) {
    let root = tree();
    let inputs: Vec<LoadInput> = arguments
        .iter()
        .map(|name| {
            let path = root.path().join(name.trim_start_matches('@'));
            LoadInput {
                name: (*name).into(),
                path: path.to_string_lossy().into(),
            }
        })
        .collect();
    let sources = Sources::default();
    let discovery = discover(&inputs, &sources);
    let found: Vec<String> = discovery
        .found
        .iter()
        .map(|found| {
            assert!(found.place.location().starts_with('/'));
            match &found.problem {
                Some(problem) => format!("{}: {problem}", found.name),
                None => found.name.clone(),
            }
        })
        .collect();
    assert_eq!(found, expected, "{arguments:?}");
    assert_eq!(discovery.skipped, skipped, "{arguments:?}");
}

#[test]
fn a_folder_gives_what_holds_records() {
    let all = [
        "in/a.warc",
        "in/b.dat",
        "in/deep/c.arc.gz",
        "in/deep/damaged.warc.gz",
        "in/deep/old.bin",
    ];
    check(&["in"], &all, 4);
}

#[test]
fn a_named_file_is_taken_whatever_it_holds() {
    check(&["in/notes.txt"], &["in/notes.txt"], 0);
    check(&["in/absent.warc"], &["in/absent.warc: no such file"], 0);
}

#[test]
fn globs() {
    check(&["in/*.warc"], &["in/a.warc"], 0);
    check(
        &["in/**/*.gz"],
        &["in/deep/c.arc.gz", "in/deep/damaged.warc.gz", "in/table.cdx.gz"],
        0,
    );
    check(&["in/*.lz4"], &["in/*.lz4: no file matches"], 0);
    check(
        &["i?/de*"],
        &["in/deep/c.arc.gz", "in/deep/damaged.warc.gz", "in/deep/old.bin"],
        0,
    );
}

#[test]
fn path_lists() {
    check(
        &["in/list.paths"],
        &["in/a.warc", "in/deep/absent.warc.gz: no such file"],
        0,
    );
    check(&["in/list.paths.gz"], &["in/deep/c.arc.gz"], 0);
    check(
        &["@in/list.paths"],
        &["in/a.warc", "in/deep/absent.warc.gz: no such file"],
        0,
    );
    check(&["@in/notes.txt"], &["in/just text: no such file"], 0);
    check(
        &["@in/none"],
        &["in/none: cannot be read as a path list: No such file or directory (os error 2)"],
        0,
    );
}

#[test]
fn a_file_named_twice_is_loaded_once() {
    check(
        &["in/a.warc", "in/*.warc", "in/list.paths"],
        &["in/a.warc", "in/deep/absent.warc.gz: no such file"],
        0,
    );
}

#[test]
fn prefixes_have_the_digest_of_the_shorter_file() {
    let content: Vec<u8> = (0..700_000_u32).map(|n| (n % 251) as u8).collect();
    let mut shown = Vec::new();
    let sizes = [0, 5, 300_000, 700_000, 700_001];
    let whole = digest(content.as_slice(), &sizes, |piece| shown.extend_from_slice(piece)).unwrap();
    assert_eq!(shown, content);
    assert_eq!(whole.size, 700_000);
    for size in [0, 5, 300_000, 700_000] {
        let cut = digest(&content[..size as usize], &[], |_| {}).unwrap();
        assert_eq!(cut.size, size);
        assert_eq!(whole.prefixes[&size], cut.digest);
    }
    assert_eq!(whole.prefixes.len(), 4);
    assert_eq!(whole.prefixes[&700_000], whole.digest);
}
