//! `weft files` compared with find(1) and du(1), and its error messages.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use expect_test::expect;

use crate::support::{Workspace, json_lines};

/// Creates a tree with all kinds of entries.
fn tree(place: &Workspace) -> PathBuf {
    let root = place.path("tree");
    fs::create_dir_all(root.join("a/b/c")).unwrap();
    fs::create_dir_all(root.join("empty")).unwrap();
    for n in 0..40usize {
        let dir = ["a", "a/b", "a/b/c"][n % 3];
        let path = root
            .join(dir)
            .join(format!("file {n}.{}", ["warc.gz", "pdf", "TXT", "x"][n % 4]));
        fs::write(&path, vec![b'x'; n * n * 37]).unwrap();
        fs::set_permissions(
            &path,
            fs::Permissions::from_mode([0o644, 0o600, 0o755, 0o640][n % 4]),
        )
        .unwrap();
        let time = SystemTime::now() - Duration::from_secs(86_400 * 5 * n as u64 + 3600);
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(time)
            .unwrap();
    }
    fs::write(root.join("a/nothing"), b"").unwrap();
    fs::hard_link(
        root.join("a/file 0.warc.gz"),
        root.join("empty/../a/b/second name"),
    )
    .unwrap();
    std::os::unix::fs::symlink("a/b", root.join("link")).unwrap();
    fs::write(
        root.join(std::ffi::OsString::from_vec(b"odd \xff\nname".to_vec())),
        b"1",
    )
    .unwrap();
    root
}

fn is_there(program: &str) -> bool {
    let is_there = Command::new(program).arg("--version").output().is_ok();
    if !is_there {
        println!("skipped: {program} is missing");
    }
    is_there
}

/// Returns the paths that a command prints, each terminated by a zero byte.
fn paths(output: &[u8]) -> BTreeSet<Vec<u8>> {
    output
        .split(|&byte| byte == 0)
        .filter(|path| !path.is_empty())
        .map(<[u8]>::to_vec)
        .collect()
}

#[test]
fn find_finds_what_find_finds() {
    if !is_there("find") {
        return;
    }
    let place = Workspace::new();
    let root = tree(&place);
    let root = root.to_str().unwrap();
    place.good(&["files", "scan", root]);
    for (ours, theirs) in [
        (&[][..], &[][..]),
        (&["--type", "f"], &["-type", "f"]),
        (&["--type", "d,l"], &["-type", "d,l"]),
        (&["--name", "*.pdf"], &["-name", "*.pdf"]),
        (&["--iname", "*.txt"], &["-iname", "*.txt"]),
        (&["--path", "*/b/*[0-4].x"], &["-path", "*/b/*[0-4].x"]),
        (&["--size", "+9K"], &["-size", "+9216c"]),
        (&["--size", "-1K"], &["-size", "-1024c"]),
        (&["--modified", "+30d"], &["-mmin", "+43200"]),
        (&["--modified", "-30d"], &["-mmin", "-43200"]),
        (&["--perm", "600"], &["-perm", "600"]),
        (&["--perm", "-640"], &["-perm", "-640"]),
        (&["--perm", "/011"], &["-perm", "/011"]),
        (&["--links", "2"], &["-links", "2"]),
        (&["--links", "+1", "--type", "f"], &["-links", "+1", "-type", "f"]),
        (&["--empty"], &["-empty"]),
        (&["--user", "0"], &["-uid", "0"]),
        (
            &["--min-depth", "1", "--max-depth", "2"],
            &["-mindepth", "1", "-maxdepth", "2"],
        ),
    ] {
        let ours = [&["files", "find", root, "--print0"], ours].concat();
        let found = place.command(&ours).output().unwrap();
        assert!(
            found.status.success(),
            "{}",
            String::from_utf8_lossy(&found.stderr)
        );
        let expected = Command::new("find")
            .arg(root)
            .args(theirs)
            .arg("-print0")
            .output()
            .unwrap();
        assert!(
            expected.status.success(),
            "{}",
            String::from_utf8_lossy(&expected.stderr)
        );
        assert_eq!(paths(&found.stdout), paths(&expected.stdout), "{ours:?}");
        assert!(theirs.is_empty() || paths(&found.stdout).len() < 50, "{ours:?}");
    }
}

#[test]
fn sums_are_those_of_du() {
    if !is_there("du") {
        return;
    }
    let place = Workspace::new();
    let made = tree(&place);
    for root in [made.as_path(), test_env::crate_dir().as_path()] {
        let root = root.canonicalize().unwrap();
        let root = root.to_str().unwrap();
        place.good(&["files", "scan", root]);
        let usage = place.json(&["files", "du", root, "--max-depth", "0"])["usage"].clone();
        let du = |flag: &str| {
            let output = Command::new("du").args(["-xs", flag, root]).output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            text.split_whitespace().next().unwrap().parse::<u64>().unwrap()
        };
        assert_eq!(usage["size_bytes"], du("-b"));
        assert_eq!(usage["disk_bytes"], du("--block-size=1"));
    }
    place.good(&["files", "status", "--recompute"]);
}

#[test]
fn what_changed_is_told_by_scans_and_beside_the_disk() {
    let place = Workspace::new();
    let root = tree(&place);
    let root = root.to_str().unwrap();
    place.good(&["files", "scan", root]);
    assert_eq!(
        place.good(&["files", "diff"]),
        "0 (+0 B) new, 0 (+0 B) removed, 0 (+0 B) changed, 0 (+0 B) renamed\n"
    );
    fs::write(Path::new(root).join("a/new"), b"12345").unwrap();
    fs::remove_dir(Path::new(root).join("empty")).unwrap();
    let against_disk = place.run(&["files", "diff", "--json"]);
    assert_eq!(against_disk.code, Some(1));
    let rows = |text: &str| -> BTreeSet<(String, String)> {
        let text_of = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let rows = json_lines(text).into_iter();
        rows.map(|row| {
            (
                text_of(&row["what"]),
                text_of(&row["at"]["path"]).replace(root, ""),
            )
        })
        .collect()
    };
    let row = |what: &str, path: &str| (what.to_owned(), path.to_owned());
    let expected = [
        row("added", "/a/new"),
        row("removed", "/empty"),
        row("changed", "/a"),
    ]
    .into_iter()
    .collect();
    assert_eq!(rows(&against_disk.stdout), expected);
    // The comparison did not change the catalogue.
    assert_eq!(rows(&place.run(&["files", "diff", "--json"]).stdout), expected);
    assert_eq!(place.good(&["files", "diff", "1h", "--json"]), "");
    place.good(&["files", "scan", root]);
    assert_eq!(rows(&place.good(&["files", "diff", "1h", "--json"])), expected);
    assert!(
        place
            .good(&["files", "diff", "1h", "--sum"])
            .starts_with("1 (+5 B) new, 1 (-")
    );
    place.good(&["files", "diff"]);
    let scans = json_lines(&place.good(&["files", "status", "--scans", "--json"]));
    assert_eq!(scans.len(), 2);
    assert_eq!(
        (&scans[1]["counts"]["added"], &scans[1]["counts"]["removed"]),
        (&1.into(), &1.into())
    );
}

#[test]
fn a_rename_is_one_line() {
    let place = Workspace::new();
    let root = tree(&place);
    if fs::metadata(&root).unwrap().created().is_err() {
        println!("skipped: the file system does not record birth times");
        return;
    }
    fs::write(root.join("a/one"), b"1").unwrap();
    fs::write(root.join("two"), b"12").unwrap();
    place.good(&["files", "scan", "tree"]);
    fs::rename(root.join("a/b"), root.join("moved")).unwrap();
    fs::rename(root.join("a/one"), root.join("two")).unwrap();
    let lines = |arguments: &[&str]| -> Vec<String> {
        let said = place.run(&[&["files", "diff"], arguments].concat()).stdout;
        let said = said.replace(&*place.path("").canonicalize().unwrap().to_string_lossy(), "");
        said.lines().map(str::to_owned).collect()
    };
    let of_renames = |lines: Vec<String>| -> Vec<String> {
        let renames = lines.into_iter().filter(|line| line.starts_with('>'));
        // Compare without the time.
        renames
            .map(|line| line[line.find("renamed").unwrap()..].to_owned())
            .collect()
    };
    // File systems differ in the size of a directory.
    let size = format::number::bytes(fs::metadata(place.path("tree/moved")).unwrap().len());
    let expected = [
        &*format!("renamed /tree/a/b -> /tree/moved  {size}"),
        "renamed /tree/a/one -> /tree/two  1 B, replaces another file (2 B)",
    ];
    let found = lines(&[]);
    assert_eq!(of_renames(found.clone()), expected);
    assert!(
        !found.iter().any(|line| line.starts_with(['+', '-'])),
        "{found:?}"
    );
    place.good(&["files", "scan", "tree"]);
    let mut found = of_renames(lines(&["1h"]));
    found.sort();
    assert_eq!(found, expected);
    // Whether the path left or entered the directory.
    assert_eq!(of_renames(lines(&["1h", "--path", "tree/moved"])), expected[..1]);
    assert_eq!(of_renames(lines(&["1h", "--path", "tree/a"])).len(), 2);
    let rows = json_lines(&place.good(&["files", "diff", "1h", "--json"]));
    let row = rows.iter().find(|row| row["replaced_size_bytes"] == 2).unwrap();
    assert_eq!(row["what"], "renamed");
    assert!(
        row["from"]["path"].as_str().unwrap().ends_with("/tree/a/one"),
        "{row}"
    );
    let sums = place.json(&["files", "diff", "1h", "--sum"]);
    assert_eq!(sums["renamed"], serde_json::json!({ "names": 2, "bytes": -2 }));
}

#[test]
fn what_cannot_be_read_is_listed_and_nothing_below_it_is_lost() {
    let place = Workspace::new();
    let root = tree(&place);
    let closed = root.join("a/b");
    // Root can read everything, so another user runs the scan, with a copy of the program that it
    // may execute.
    let is_root =
        fs::metadata("/proc/self").is_ok_and(|found| std::os::unix::fs::MetadataExt::uid(&found) == 0);
    let program = place.path("weft");
    fs::copy(env!("CARGO_BIN_EXE_weft"), &program).unwrap();
    let scan = || {
        let mut command = test_env::command(program.to_str().unwrap(), program.parent().unwrap());
        command.current_dir(program.parent().unwrap());
        command.args(["files", "scan", root.to_str().unwrap(), "--json"]);
        if is_root {
            std::os::unix::process::CommandExt::uid(&mut command, 65_534);
        }
        command.output().unwrap()
    };
    for dir in [root.parent().unwrap(), &root] {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let first = scan();
    assert!(
        first.status.success(),
        "{}",
        String::from_utf8_lossy(&first.stderr)
    );
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    fs::remove_file(root.join("a/nothing")).unwrap();
    let second = scan();
    assert_eq!(second.status.code(), Some(1));
    let counts = json_lines(&String::from_utf8_lossy(&second.stdout))[0]["counts"].clone();
    assert_eq!((&counts["faults"], &counts["removed"]), (&1.into(), &1.into()));
    let faults = place.good(&["files", "status", "--faults"]);
    assert!(faults.contains("a/b: Permission denied"), "{faults}");
    // A repeated fault is listed once.
    assert_eq!(scan().status.code(), Some(1));
    assert_eq!(place.good(&["files", "status", "--faults"]).lines().count(), 1);
    // Earlier knowledge of it is kept.
    assert_eq!(
        place
            .good(&["files", "find", "--path", "*/a/b/c/*", "--count"])
            .split(' ')
            .next(),
        Some("13")
    );
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(scan().status.success());
    assert_eq!(
        place.good(&["files", "status", "--faults"]),
        "no faults: everything could be read\n"
    );
    place.good(&["files", "status", "--recompute"]);
}

#[test]
fn wrong_use_gets_a_reason() {
    let place = Workspace::new();
    place.write("file", b"1");
    place.check(
        &["files", "status"],
        &expect![[r#"
            exit code 1
            2> error: there is no catalogue of files in ./weft-archive/files: run `weft files scan DIR` to create one
        "#]],
    );
    place.check(
        &["files", "scan", "missing"],
        &expect![[r#"
            exit code 1
            2> error: cannot read missing: No such file or directory (os error 2)
        "#]],
    );
    place.check(
        &["files", "scan", "file"],
        &expect![[r#"
            exit code 1
            2> error: PLACE/file is not a directory
        "#]],
    );
    place.check(
        &["files", "status"],
        &expect![[r#"
            exit code 0
            nothing is catalogued yet: run weft files scan DIR
        "#]],
    );
    place.check(
        &["files", "scan", "--partial", "."],
        &expect![[r#"
            exit code 2
            2> error: . is not in a catalogued tree: scan it without --partial
        "#]],
    );
    place.check(
        &["files", "find", "/nowhere"],
        &expect![[r#"
            exit code 1
            2> error: /nowhere is not in the catalogue: run weft files scan to add it
        "#]],
    );
    for wrong in [
        &["files", "find", "--size", "big"][..],
        &["files", "find", "--modified", "30d"],
        &["files", "find", "--format", "wrc"],
        &["files", "diff", "yesterday"],
        &["files", "scan"],
        &["files", "scan", ".", "--read-only"],
        &["files", "report", "nonsense"],
    ] {
        let run = place.run(wrong);
        assert_eq!(run.code, Some(2), "{wrong:?}: {}{}", run.stdout, run.stderr);
        assert!(!run.stderr.is_empty(), "{wrong:?}");
    }
}

#[test]
fn reports_are_there_as_text_and_as_json() {
    let place = Workspace::new();
    let root = tree(&place);
    place.good(&["files", "scan", root.to_str().unwrap(), "--stages"]);
    let all = [
        "owners",
        "groups",
        "types",
        "formats",
        "sizes",
        "ages",
        "directories",
        "largest",
        "oldest",
        "empty",
        "growth",
    ];
    let text = place.good(&[&["files", "report"], &all[..]].concat());
    for report in all {
        assert!(
            text.contains(&format!("{report}\n")),
            "{report} is not in\n{text}"
        );
    }
    let rows = json_lines(&place.good(&[&["files", "report", "--json", "-n", "100"], &all[..]].concat()));
    let of = |report: &'static str| rows.iter().filter(move |row| row["report"] == report);
    // The file with two names counts with the name in the directory of the smaller inode number,
    // and only one of the names says WARC.
    let inode = |dir: &str| std::os::unix::fs::MetadataExt::ino(&fs::metadata(root.join(dir)).unwrap());
    let warcs = if inode("a") < inode("a/b") { 10 } else { 9 };
    assert_eq!(
        of("formats").find(|row| row["name"] == "warc").unwrap()["usage"]["files"],
        warcs
    );
    assert_eq!(of("empty").next().unwrap()["share"]["files"], 2);
    assert_eq!(of("largest").next().unwrap()["size_bytes"], 39 * 39 * 37);
    assert!(
        of("oldest").next().unwrap()["at"]["path"]
            .as_str()
            .unwrap()
            .contains("file 39")
    );
    assert_eq!(
        of("sizes")
            .map(|row| row["share"]["files"].as_u64().unwrap())
            .sum::<u64>(),
        42
    );
    assert_eq!(of("growth").count(), 1);
    assert!(
        of("directories").next().unwrap()["at"]["path"]
            .as_str()
            .unwrap()
            .ends_with("/tree")
    );
}

#[test]
fn a_tree_is_forgotten_and_the_disk_is_not_touched() {
    let place = Workspace::new();
    let root = tree(&place);
    let before = fs::read_dir(&root).unwrap().count();
    place.write("other/file.pdf", b"12345");
    place.good(&["files", "scan", "tree", "other"]);
    place.check(
        &["files", "forget", "tree/a"],
        &expect![[r#"
            exit code 1
            2> error: tree/a is part of the catalogued tree PLACE/tree: forget that tree instead
        "#]],
    );
    place.check(
        &["files", "forget", "nowhere"],
        &expect![[r#"
            exit code 1
            2> error: nowhere is not catalogued: run `weft files scan` first
        "#]],
    );
    assert_eq!(
        place.run(&["files", "forget", "other", "--read-only"]).code,
        Some(2)
    );
    assert_eq!(place.run(&["files", "forget"]).code, Some(2));
    let sizes = ["other", "other/file.pdf"].map(|path| fs::metadata(place.path(path)).unwrap().len());
    let size = format::number::bytes(sizes.iter().sum());
    let said = place.good(&["files", "forget", "other"]);
    let expected = format!(
        "other: 2 entries (1 directory), {size} removed from the catalogue; nothing on the disk was changed\n"
    );
    assert!(said.ends_with(&expected), "{said}");
    let forgotten = place.json(&["files", "forget", "tree"]);
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    assert!(text(&forgotten["dir"]["path"]).ends_with("/tree"));
    assert_eq!(forgotten["forgotten"]["files"], 42);
    assert_eq!(forgotten["resumed"], false);
    assert_eq!(fs::read_dir(&root).unwrap().count(), before);
    assert_eq!(place.run(&["files", "find", "tree"]).code, Some(1));
    place.good(&["files", "status", "--recompute"]);
    let scans = place.good(&["files", "status", "--scans", "--json"]);
    assert_eq!(json_lines(&scans).len(), 2);
    place.good(&["files", "scan", "tree"]);
    place.good(&["files", "status", "--recompute"]);
}

#[test]
fn files_are_looked_into_where_that_is_asked_for() {
    let place = Workspace::new();
    place.write("tree/crawl", b"WARC/1.0\r\n");
    place.write("tree/page.pdf", b"<!DOCTYPE html><html>not found");
    let found = |format: &str| {
        let found = place.run(&["files", "find", "tree", "--format", format]).stdout;
        found
            .lines()
            .map(|line| line.rsplit('/').next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    place.good(&["files", "scan", "tree"]);
    assert_eq!((found("warc"), found("pdf").len()), (vec![], 1));
    place.good(&["files", "scan", "tree", "--magic"]);
    assert_eq!((found("warc"), found("html")), (vec!["crawl".to_owned()], vec![]));
    place.good(&["files", "scan", "tree", "--magic=all"]);
    assert_eq!(
        (found("html"), found("pdf")),
        (vec!["page.pdf".to_owned()], vec![])
    );
    let second = place.good(&["files", "scan", "tree"]);
    assert!(second.contains("0 added, 0 removed, 0 changed"), "{second}");
    assert_eq!((found("warc").len(), found("html").len()), (1, 1));
    place.good(&["files", "status", "--recompute"]);
    assert_eq!(
        place.run(&["files", "scan", "tree", "--magic=some"]).code,
        Some(2)
    );
}

#[test]
fn commands_run_for_what_is_found() {
    let place = Workspace::new();
    let root = tree(&place);
    place.good(&["files", "scan", root.to_str().unwrap()]);
    place.good(&[
        "files",
        "find",
        "--name",
        "file 1?.pdf",
        "--exec",
        "rm",
        "--",
        "{}",
    ]);
    assert!(!root.join("a/b/file 13.pdf").exists() && root.join("a/file 21.pdf").exists());
    let failed = place.run(&["files", "find", "--name", "file 1?.pdf", "--exec", "false"]);
    assert_eq!(failed.code, Some(1));
    let missing = place.run(&["files", "find", "--name", "*.pdf", "--exec", "no-such-program"]);
    assert!(
        missing.stderr.contains("run no-such-program"),
        "{}",
        missing.stderr
    );
}

#[test]
fn an_archive_may_begin_with_its_catalogue() {
    let place = Workspace::new();
    let root = tree(&place);
    place.good(&["files", "scan", root.to_str().unwrap()]);
    place.good(&[
        "synth", "--pages", "20", "--seed", "1", "--format", "warc", "web.warc",
    ]);
    place.good(&["load", "web.warc"]);
    place.good(&["files", "status"]);
    place.good(&["status"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_watch_says_what_it_cannot_do_and_ends_on_ctrl_c() {
    let place = Workspace::new();
    tree(&place);
    place.check(
        &["files", "watch", "no-such-dir"],
        &expect![[r#"
            exit code 1
            2> error: cannot read no-such-dir: No such file or directory (os error 2)
        "#]],
    );
    place.check(
        &["files", "watch", "tree/a/nothing"],
        &expect![[r#"
            exit code 1
            2> error: PLACE/tree/a/nothing is not a directory
        "#]],
    );
    let read_only = place.run(&["files", "watch", "tree", "--read-only"]);
    assert_eq!(read_only.code, Some(2), "{read_only:?}");
    place.check(
        &["files", "watch", "tree", "tree/a"],
        &expect![[r#"
            exit code 1
            2> error: tree/a is in PLACE/tree, which is also watched: omit it
        "#]],
    );
    let limited = place.start(&["files", "watch", "tree", "--max-watches", "2"]);
    let is_watched = || {
        let status = place.run(&["files", "status", "--json"]).stdout;
        status.contains("\"reason\":\"limit\"")
    };
    let end = std::time::Instant::now() + Duration::from_secs(30);
    while !is_watched() {
        assert!(std::time::Instant::now() < end, "the watch does not begin");
        std::thread::sleep(Duration::from_millis(50));
    }
    place.check(
        &["files", "watch", "tree"],
        &expect![[r#"
            exit code 1
            2> error: the catalogue of files in ./weft-archive/files is kept up to date by another watch: stop it, and pass all directories to this one
        "#]],
    );
    assert!(
        place
            .good(&["files", "find", "tree", "--name", "nothing"])
            .contains("a/nothing")
    );
    place.check(
        &["files", "forget", "tree"],
        &expect![[r#"
            exit code 1
            2> error: tree is being watched: stop the watch first
        "#]],
    );
    let killed = Command::new("kill")
        .args(["-INT", &limited.id().to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    let ended = limited.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.success(), "{said}");
    assert!(
        said.contains("only 2 directories can be watched: raise fs.inotify.max_user_watches"),
        "{said}"
    );
    assert!(place.good(&["files", "status"]).contains("the watch ended"));
    place.check(
        &["files", "watch", "tree/a"],
        &expect![[r#"
            exit code 1
            2> error: tree/a is in the catalogued tree PLACE/tree: watch that tree instead
        "#]],
    );
    place.good(&["files", "forget", "tree"]);
    place.good(&["files", "status", "--recompute"]);
}
