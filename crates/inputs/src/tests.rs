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

/// A folder with one file of every kind.
fn tree() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let put = |path: &str, content: &[u8]| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    put("in/a.warc", b"WARC/1.0\r\n");
    // Some writers use lower case in the version line.
    put("in/b.dat", &gzip(b"warc/1.1\r\n"));
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

fn check(arguments: &[&str], expected: &[&str], skipped: &[&str]) {
    check_in(&tree(), arguments, expected, skipped);
}

fn check_in(root: &tempfile::TempDir, arguments: &[&str], expected: &[&str], skipped: &[&str]) {
    let inputs: Vec<LoadInput> = arguments
        .iter()
        .map(|name| {
            let path = root.path().join(path_of(name.trim_start_matches('@')));
            LoadInput {
                name: (*name).into(),
                path: path_text(&path),
            }
        })
        .collect();
    let sources = Sources::default();
    let discovery = discover(&inputs, &[], &sources);
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
    let passed_over: Vec<&str> = discovery.skipped.iter().map(|skipped| &*skipped.name).collect();
    assert_eq!(passed_over, skipped, "{arguments:?}");
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
    let others = [
        "in/list.paths",
        "in/list.paths.gz",
        "in/notes.txt",
        "in/table.cdx.gz",
    ];
    check(&["in"], &all, &others);
}

#[test]
fn a_named_file_is_taken_whatever_it_holds() {
    check(&["in/notes.txt"], &["in/notes.txt"], &[]);
    check(&["in/absent.warc"], &["in/absent.warc: no such file"], &[]);
}

#[test]
fn globs() {
    check(&["in/*.warc"], &["in/a.warc"], &[]);
    check(
        &["in/**/*.gz"],
        &["in/deep/c.arc.gz", "in/deep/damaged.warc.gz", "in/table.cdx.gz"],
        &["in/list.paths.gz"],
    );
    check(&["in/*.lz4"], &["in/*.lz4: no file matches"], &[]);
    check(
        &["i?/de*"],
        &["in/deep/c.arc.gz", "in/deep/damaged.warc.gz", "in/deep/old.bin"],
        &[],
    );
}

#[test]
fn only_arguments_that_name_nothing_are_absent() {
    let root = tree();
    let named = [
        "in/absent.warc",
        "in/*.lz4",
        "@in/none",
        "in/*.warc",
        "@in/list.paths",
    ];
    let inputs: Vec<LoadInput> = named
        .iter()
        .map(|name| LoadInput {
            name: (*name).into(),
            path: path_text(&root.path().join(name.trim_start_matches('@'))),
        })
        .collect();
    let sources = Sources::default();
    let discovery = discover(&inputs, &[], &sources);
    let absent = discovery
        .found
        .iter()
        .filter(|found| found.problem.is_some() && discovery.absent.contains(&found.place.location()));
    let names: Vec<&str> = absent.map(|found| found.name.as_str()).collect();
    assert_eq!(names, ["in/absent.warc", "in/*.lz4", "in/none"]);
}

#[test]
fn path_lists() {
    check(
        &["in/list.paths"],
        &["in/a.warc", "in/deep/absent.warc.gz: no such file"],
        &[],
    );
    check(&["in/list.paths.gz"], &["in/deep/c.arc.gz"], &[]);
    check(
        &["@in/list.paths"],
        &["in/a.warc", "in/deep/absent.warc.gz: no such file"],
        &[],
    );
    check(&["@in/notes.txt"], &["in/just text: no such file"], &[]);
    check(
        &["@in/none"],
        &["in/none: cannot be read as a path list: No such file or directory (os error 2)"],
        &[],
    );
}

#[test]
fn a_path_list_caught_by_a_pattern_is_not_expanded_by_surprise() {
    check(
        &["in/*.warc", "in/list.paths"],
        &["in/a.warc"],
        &["in/list.paths"],
    );
    check(
        &["in/[al]*"],
        &["in/a.warc"],
        &["in/list.paths", "in/list.paths.gz"],
    );
    // If all arguments are lists, they are expanded.
    let listed = [
        "in/a.warc",
        "in/deep/absent.warc.gz: no such file",
        "in/deep/c.arc.gz",
    ];
    check(&["in/*.paths*"], &[], &["in/list.paths", "in/list.paths.gz"]);
    check(&["in/list.paths", "in/list.paths.gz"], &listed, &[]);
}

#[test]
fn nothing_in_a_folder_is_passed_over_without_a_word() {
    use std::os::unix::fs::symlink;
    let root = tree();
    let path = |name: &str| root.path().join(name);
    fs::create_dir(path("f")).unwrap();
    for (name, content) in [
        ("empty.warc.gz", &b""[..]),
        ("zeros.warc", &[0; 700]),
        ("cut.arc.gz", b"\x1f\x8b"),
        ("page.warc.gz", b"<html>404"),
        ("x.warc.gz.md5", b"00"),
        ("core.dat", b"\x7fELF"),
    ] {
        fs::write(path("f").join(name), content).unwrap();
    }
    symlink("nowhere", path("f/dangling.warc")).unwrap();
    symlink("nowhere", path("f/dangling.txt")).unwrap();
    symlink("../in", path("f/link.warc")).unwrap();
    for pipe in ["f/pipe.warc.gz", "f/pipe"] {
        rustix::fs::mkfifoat(rustix::fs::CWD, path(pipe), rustix::fs::Mode::RWXU).unwrap();
    }
    let inputs = [
        "f/cut.arc.gz",
        "f/dangling.warc: no such file",
        "f/empty.warc.gz",
        "f/page.warc.gz",
        "f/pipe.warc.gz: not a regular file but a named pipe",
        "f/zeros.warc",
    ];
    let others = [
        "f/core.dat",
        "f/dangling.txt",
        "f/link.warc",
        "f/pipe",
        "f/x.warc.gz.md5",
    ];
    check_in(&root, &["f"], &inputs, &others);
}

#[test]
fn names_are_bytes() {
    let root = tree();
    let name = |bytes: &[u8]| root.path().join(path_of(&format::file_name::name_text(bytes)));
    fs::create_dir(name(b"f\xff")).unwrap();
    for file in [
        &b"f\xff/caf\xe8.warc"[..],
        b"f\xff/caf\xe9.warc",
        b"f\xff/caf\\xe9.warc",
    ] {
        fs::write(name(file), b"WARC/1.0\r\n").unwrap();
    }
    fs::write(name(b"f\xff/l.paths"), b"caf\xe9.warc\n").unwrap();
    let all = [
        "f\\xff/caf\\x5cxe9.warc",
        "f\\xff/caf\\xe8.warc",
        "f\\xff/caf\\xe9.warc",
    ];
    check_in(&root, &["f\\xff"], &all, &["f\\xff/l.paths"]);
    check_in(&root, &["f\\xff/caf?.warc"], &all[1..], &[]);
    check_in(&root, &["f\\xff/caf\\xe9.*"], &all[2..], &[]);
    check_in(&root, &["@f\\xff/l.paths"], &all[2..], &[]);
}

#[test]
fn what_is_no_path_list_does_not_become_a_thousand_inputs() {
    let records = "in/b.dat: cannot be read as a path list: it holds records, not paths";
    check(&["@in/b.dat"], &[records], &[]);
    let root = tree();
    fs::write(root.path().join("in/blob"), b"a\0b\n").unwrap();
    let blob = "in/blob: cannot be read as a path list: it holds control characters";
    check_in(&root, &["@in/blob"], &[blob], &[]);
}

#[test]
fn a_file_named_twice_is_loaded_once() {
    check(
        &["in/a.warc", "in/*.warc", "@in/list.paths"],
        &["in/a.warc", "in/deep/absent.warc.gz: no such file"],
        &[],
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
