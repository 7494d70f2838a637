//! `weft files` over the objects of an S3 store (our own S3 server, used like any store) and of our own
//! store.

use std::collections::BTreeSet;

use crate::s3_inputs::S3Store;
use crate::serve::Served;
use crate::support::{Run, Workspace, json_lines};

/// Object names, some of which are impossible as paths.
const NAMES: [&str; 9] = [
    "2025/old.wacz",
    "2026/a",
    "2026/a/",
    "2026/a/b.pdf",
    "2026/a//c.warc.gz",
    "2026/x y+z%.txt",
    "2026/\u{e4}\u{1}",
    "2026//leading",
    "top",
];

/// Directories of these names.
const DIRECTORIES: [&str; 3] = ["2025", "2026", "2026/a"];

fn content(name: &str) -> Vec<u8> {
    vec![b'x'; 100 * name.len()]
}

fn filled(place: &Workspace) -> S3Store {
    let s3 = S3Store::start(place);
    s3.put(".s3/buckets/crawls", b"");
    s3.put(".s3/buckets/empty", b"");
    for name in NAMES {
        s3.put(&format!("crawls/{name}"), &content(name));
    }
    s3
}

#[track_caller]
fn good(run: Run) -> String {
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{}", run.stdout);
    run.stdout
}

/// Returns the addresses of names and directories at and below a prefix.
fn addresses(scheme: &str, prefix: &str) -> BTreeSet<String> {
    let names = NAMES.iter().chain(&DIRECTORIES);
    let below = names
        .filter(|name| name.starts_with(prefix))
        .map(|name| format!("{scheme}://crawls/{name}"));
    let top = format!("{scheme}://crawls/{prefix}");
    below.chain([top.trim_end_matches('/').to_owned()]).collect()
}

/// Returns the addresses that `find --print0` prints. An object and a directory may share one
/// address.
fn found(run: Run) -> BTreeSet<String> {
    let paths = good(run);
    paths.split_terminator('\0').map(str::to_owned).collect()
}

#[test]
fn objects_are_found_counted_and_compared() {
    let place = Workspace::new();
    let s3 = filled(&place);
    let weft = |arguments: &[&str]| s3.run(&place, true, arguments);
    let scanned = good(weft(&["files", "scan", "s3://crawls/2026/", "--stages"]));
    assert!(
        scanned.contains("s3://crawls/2026: 9 entries (2 directories)"),
        "{scanned}"
    );
    assert!(
        scanned.contains("READ_DIR") && !scanned.contains("STAT"),
        "{scanned}"
    );
    assert_eq!(
        found(weft(&["files", "find", "--print0"])),
        addresses("s3", "2026/")
    );
    let usage = json_lines(&good(weft(&[
        "files",
        "du",
        "s3://crawls/2026/",
        "-d",
        "0",
        "--json",
    ])))[0]["usage"]
        .clone();
    let names = || NAMES.iter().filter(|name| name.starts_with("2026/"));
    assert_eq!(usage["files"], names().count());
    assert_eq!(
        usage["size_bytes"],
        names().map(|name| content(name).len()).sum::<usize>()
    );
    good(weft(&["files", "status", "--recompute"]));
    assert!(good(weft(&["files", "status"])).contains("s3://crawls/2026"));

    // Attributes that a store does not have stay empty.
    let pdf = json_lines(&good(weft(&["files", "find", "--format", "pdf", "--json"])));
    assert_eq!(pdf.len(), 1, "{pdf:?}");
    for field in ["uid", "gid", "mode", "accessed_s", "born_ns"] {
        assert!(pdf[0][field].is_null(), "{field}: {}", pdf[0]);
    }
    assert!(pdf[0]["modified_ns"].as_i64().unwrap() > 1_700_000_000_000_000_000);
    assert!(good(weft(&["files", "report", "owners"])).contains("(none)"));
    assert_eq!(good(weft(&["files", "find", "--modified", "+30d"])), "");
    assert_eq!(good(weft(&["files", "find", "--accessed", "+1d"])), "");
    let long = good(weft(&["files", "find", "s3://crawls/2026/a", "--long"]));
    assert!(!long.contains("1970"), "{long}");
    let echoed = good(weft(&[
        "files", "find", "--name", "*.pdf", "--exec", "echo", "got", "{}",
    ]));
    assert_eq!(echoed, "got s3://crawls/2026/a/b.pdf\n");

    // Compared with the store, and since a time.
    good(weft(&["files", "diff"]));
    s3.put("crawls/2026/a/b.pdf", b"changed");
    s3.put("crawls/2026/new/1", b"1");
    s3.remove("crawls/2026//leading");
    let expected: BTreeSet<String> = [
        "changed s3://crawls/2026/a/b.pdf",
        "added s3://crawls/2026/new",
        "added s3://crawls/2026/new/1",
        "removed s3://crawls/2026//leading",
    ]
    .map(str::to_owned)
    .into();
    let rows = |run: &Run| -> BTreeSet<String> {
        let rows = json_lines(&run.stdout).into_iter();
        rows.map(|row| {
            format!(
                "{} {}",
                row["what"].as_str().unwrap(),
                row["at"]["path"].as_str().unwrap()
            )
        })
        .collect()
    };
    let differs = weft(&["files", "diff", "--json"]);
    assert_eq!((differs.code, rows(&differs)), (Some(1), expected.clone()));
    // Scan a part that contains one of the differences.
    good(weft(&["files", "scan", "--partial", "s3://crawls/2026/new/"]));
    good(weft(&["files", "scan", "s3://crawls/2026"]));
    assert_eq!(rows(&weft(&["files", "diff", "1h", "--json"])), expected);
    good(weft(&["files", "diff"]));

    // A scan of the whole bucket absorbs the part.
    good(weft(&["files", "scan", "s3://crawls"]));
    let trees = json_lines(&good(weft(&["files", "status", "--json"])))[0]["trees"].clone();
    assert_eq!(trees.as_array().unwrap().len(), 1);
    assert_eq!(trees[0]["dir"]["path"], "s3://crawls");
    good(weft(&["files", "status", "--recompute"]));
    s3.end();
}

#[test]
fn what_cannot_be_listed_is_said_and_nothing_lost() {
    let place = Workspace::new();
    let s3 = filled(&place);
    let weft = |arguments: &[&str]| s3.run(&place, true, arguments);
    let said = |run: Run, code: i32, expected: &str| {
        assert_eq!(run.code, Some(code), "{run:?}");
        assert!(run.stderr.contains(expected), "{expected}\n{}", run.stderr);
    };
    said(
        weft(&["files", "scan", "s3://nobody/x"]),
        1,
        "cannot list s3://nobody/x: there is no bucket nobody in this store",
    );
    said(
        weft(&["files", "scan", "s3://empty"]),
        1,
        "there is no object below s3://empty/",
    );
    said(
        weft(&["files", "scan", "s3://crawls/typo/"]),
        1,
        "there is no object below s3://crawls/typo/",
    );
    said(
        weft(&["files", "scan", "s3://crawls/a//"]),
        2,
        "more than one slash",
    );
    said(
        weft(&["files", "scan", "--partial", "s3://crawls/2026"]),
        2,
        "not in a catalogued tree",
    );
    good(weft(&["files", "scan", "s3://crawls"]));
    said(
        s3.run(&place, false, &["files", "scan", "s3://crawls"]),
        1,
        "refused (403)",
    );
    assert_eq!(found(weft(&["files", "find", "--print0"])), addresses("s3", ""));
    let scanned = good(weft(&["files", "scan", "s3://crawls"]));
    assert!(scanned.contains("0 added, 0 removed, 0 changed"), "{scanned}");

    // Stores send no change events, and policies act only on files.
    said(
        weft(&["files", "watch", "s3://crawls"]),
        1,
        "s3://crawls cannot be watched: a store does not report",
    );
    place.write("rules.toml", b"[policy.all]\naction = 'report'\n");
    let planned = weft(&["files", "policy", "plan", "--rules", "rules.toml"]);
    assert_eq!(planned.code, Some(0), "{planned:?}");
    assert!(planned.stdout.contains("report 0 files"), "{}", planned.stdout);
    place.write(
        "rules.toml",
        b"[policy.all]\naction = 'report'\nscope = ['s3://crawls']\n",
    );
    said(
        weft(&["files", "policy", "plan", "--rules", "rules.toml"]),
        2,
        "not on objects of a store",
    );
    s3.end();
}

#[cfg(unix)]
#[test]
fn our_own_store_is_scanned_and_shown() {
    let place = Workspace::new();
    filled(&place).end();
    let weft = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        Run::of(
            command
                .env("WEFT_STORE", "v1:v2")
                .output()
                .expect("the program starts"),
        )
    };
    let scanned = good(weft(&["files", "scan", "store://crawls/", "--stages"]));
    assert!(
        scanned.contains("READ_DIR") && !scanned.contains("STAT"),
        "{scanned}"
    );
    assert_eq!(
        found(weft(&["files", "find", "--print0"])),
        addresses("store", "")
    );
    good(weft(&["files", "diff"]));
    for hidden in ["store://nobody", "store://.s3"] {
        let run = weft(&["files", "scan", hidden]);
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.stderr.contains("there is no bucket"), "{}", run.stderr);
    }
    // Queries do not need the store.
    place.good(&["files", "status", "--recompute"]);
    let mut served = Served::start(&place);
    let tree = served.get("/files/tree?path=store%3A%2F%2Fcrawls%2F2026");
    assert!(
        tree.contains("200 OK") && tree.contains("path=store%3A%2F%2Fcrawls%2F2026%2Fa"),
        "{tree}"
    );
    let below = served.get("/api/v1/files/tree?path=store%3A%2F%2Fcrawls%2F2026%2Fa%2F");
    assert!(below.contains("b.pdf") && below.contains("/c.warc.gz"), "{below}");
    let all = served.get("/files");
    assert!(all.contains("store://crawls") && all.contains("(none)"), "{all}");
    assert_eq!(served.stop(), Some(0));
}
