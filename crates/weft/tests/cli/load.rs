//! `weft load`: messages about good and bad inputs, repeated loads, and interruption.

use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use expect_test::expect;
use zip::CompressionMethod;

use crate::fixture;
use crate::packages::zipped;
use crate::serve::Served;
use crate::support::{Run, Workspace, json_lines};

fn web() -> Workspace {
    let place = Workspace::new();
    place.write("web.warc", &fixture::small_web());
    place
}

/// Returns standard output without the line of rates, which vary between runs.
fn without_rates(run: &Run) -> String {
    run.stdout
        .lines()
        .filter(|line| !line.contains("pages/s"))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn the_first_and_the_second_time() {
    let place = web();
    let first = place.run(&["load", "web.warc"]);
    assert_eq!(
        (first.code, first.stderr.as_str()),
        (Some(0), ""),
        "{}",
        first.stdout
    );
    expect![[r#"
        1 input: 1 done
        6 records, 5 captures, 5 pages, 9 links
    "#]]
    .assert_eq(&without_rates(&first));
    let dump = place.good(&["dump", "captures"]);
    let second = place.run(&["load", "web.warc"]);
    assert_eq!(second.code, Some(0));
    expect![[r#"
        1 input: 1 already known
    "#]]
    .assert_eq(&without_rates(&second));
    assert_eq!(place.good(&["dump", "captures"]), dump);
}

#[test]
fn any_amount_of_memory_that_is_allowed_gives_the_same() {
    let place = web();
    let mut dumps = Vec::new();
    for memory in ["384M", "1T"] {
        place.good(&["load", "web.warc", "--archive", memory, "--memory", memory]);
        dumps.push(place.good(&["dump", "links", "--archive", memory]));
    }
    assert!(dumps[0] == dumps[1] && !dumps[0].is_empty());
}

#[test]
fn json_ends_with_the_whole_job() {
    let run = web().run(&["load", "web.warc", "--json"]);
    assert_eq!(run.code, Some(0));
    for line in json_lines(&run.stdout) {
        assert_eq!(line["answer"], "job");
        for field in [
            "epoch",
            "elapsed_ms",
            "pages",
            "links",
            "epochs",
            "records",
            "captures",
            "bytes_done",
        ] {
            assert!(line[field].is_u64(), "{field} in {line}");
        }
    }
    let last = json_lines(&run.stdout).pop().expect("a last line");
    assert_eq!(
        (&last["state"], &last["captures"]),
        (&"done".into(), &5.into()),
        "{last}"
    );
}

#[test]
fn bad_inputs_are_told_and_do_not_stop_the_others() {
    let place = web();
    std::fs::create_dir(place.path("empty")).expect("create a folder");
    place.write_old("notes.txt", b"Just some notes.\n");
    let bytes = fixture::small_web();
    place.write_old("cut.warc", &bytes[..bytes.len() - 100]);
    // Only the first of its records is complete; the name marks it as still being written.
    place.write(
        "growing.warc.open",
        &fixture::other_web()[..fixture::other_web().len() - 10],
    );
    let run = place.run(&[
        "load",
        "missing.warc",
        "empty",
        "notes.txt",
        "cut.warc",
        "growing.warc.open",
        "web.warc",
    ]);
    assert_eq!(run.code, Some(1));
    expect![[r#"
        5 inputs: 2 done, 1 still loading, 2 failed
        13 records, 10 captures, 10 pages, 17 links, 1 quarantined

        missing.warc: failed(no such file)
        notes.txt: failed(no WARC or ARC record in it), 1 loss
          at 0: junk: neither a record nor a compressed member, 17 bytes
        cut.warc: done, its end is cut off (truncated-record: declared 176 bytes, 80 before the end of the file)

        1 defect in records that are still usable
          cut.warc at 1930: truncated-record: declared 176 bytes, 80 before the end of the file

        1 input is not complete yet; run the same command again to read on
          growing.warc.open: 185 of 471 bytes read
        a file named .open counts as still being written; if it is not, weft inspect shows why its end cannot be read: rename the file and load it again
    "#]]
    .assert_eq(&place.stable(&without_rates(&run)));
    assert_eq!(run.stderr, "warning: empty contains no files\n");
    for name in ["missing.warc", "notes.txt", "cut.warc", "growing.warc.open"] {
        assert!(
            run.stdout.contains(name),
            "every input that is not done is named: {name}"
        );
    }
}

/// A damaged copy of a file has the same captures. The whole ones are shown, whatever the names of
/// the files and the order of loading.
#[test]
fn of_equal_captures_the_whole_one_is_current() {
    let html = "<title>A</title><p>The whole text.";
    let whole = fixture::warc(&[("http://a.example/", "2014-01-26T20:06:24Z", html)]);
    for (good, cut, first) in [
        ("a.warc", "z.warc", "a.warc"),
        ("a.warc", "z.warc", "z.warc"),
        ("z.warc", "a.warc", "a.warc"),
        ("z.warc", "a.warc", "z.warc"),
    ] {
        let place = Workspace::new();
        place.write_old(good, &whole);
        place.write_old(cut, &whole[..whole.len() - 12]);
        let case = format!("{good} is whole, {first} is loaded first");
        place.run(&["load", first]);
        place.run(&["load", good, cut]);
        let payload = place.good(&["record", "http://a.example/", "--payload"]);
        assert_eq!(payload, html, "{case}");
        let pages = place.good(&["page", "http://a.example/"]);
        assert!(pages.contains(good) && pages.contains(cut), "{case}: {pages}");
        // Also at a time before the current version.
        let later = [("http://a.example/", "2015-01-26T20:06:24Z", "<title>B</title>")];
        place.write_old("later.warc", &fixture::warc(&later));
        place.good(&["load", "later.warc"]);
        let at = ["--at", "20140126200624", "--payload"];
        let payload = place.good(&[&["record", "http://a.example/"][..], &at].concat());
        assert_eq!(payload, html, "{case}");
        place.good(&["verify"]);
    }
}

#[test]
fn a_cut_file_that_was_changed_a_moment_ago_is_waited_for_and_told() {
    let place = Workspace::new();
    let bytes = fixture::small_web();
    let just_now = SystemTime::now() - Duration::from_secs(1);
    place.write_at("cut.warc", &bytes[..bytes.len() - 100], just_now);
    let run = place.run(&["load", "cut.warc"]);
    assert_eq!(run.code, Some(1));
    expect![[r#"
        1 input: 1 done
        6 records, 5 captures, 5 pages, 8 links

        cut.warc: done, its end is cut off (truncated-record: declared 176 bytes, 80 before the end of the file)

        1 defect in records that are still usable
          cut.warc at 1930: truncated-record: declared 176 bytes, 80 before the end of the file
    "#]].assert_eq(&place.stable(&without_rates(&run)));
    expect![[r#"
        waiting a few seconds: cut.warc ends in the middle of a record and changed a moment ago
    "#]]
    .assert_eq(&run.stderr);
    let ledger = place.good(&["status", "--ledger"]);
    assert!(ledger.contains("done, cut off"), "{ledger}");
    std::fs::remove_file(place.path("cut.warc")).expect("remove the file");
    assert_eq!(place.run(&["load", "cut.warc"]).code, Some(1));
    let ledger = place.good(&["status", "--ledger"]);
    assert!(ledger.contains("done, cut off, missing now"), "{ledger}");
    assert_eq!(ledger.lines().count(), 2, "{ledger}");
}

#[test]
fn what_a_folder_holds_besides_archives_is_told() {
    let place = web();
    for (name, content) in [
        ("crawl/a.warc", &fixture::small_web()[..]),
        ("crawl/b.warc.gz", b""),
        ("crawl/notes.txt", b"x"),
    ] {
        place.write_old(name, content);
    }
    let run = place.run(&["load", "crawl"]);
    expect![[r#"
        2 inputs: 1 done, 1 failed
        6 records, 5 captures, 5 pages, 9 links
        1 file is not an archive, skipped
          crawl/notes.txt: no archive's name, and no record at its beginning

        crawl/b.warc.gz: failed(no WARC or ARC record in it)
    "#]]
    .assert_eq(&without_rates(&run));
    for name in ["c.md5", "d.md5", "e.md5"] {
        place.write(&format!("crawl/{name}"), b"00");
    }
    let brief = place.run(&["load", "crawl"]).stdout;
    assert!(
        brief.contains("4 files are not an archive, skipped (weft load -v lists them)"),
        "{brief}"
    );
    let named = place.run(&["load", "crawl", "-v"]).stdout;
    assert!(named.contains("crawl/e.md5: no archive's name"), "{named}");
    let last = json_lines(&place.run(&["load", "crawl", "--json"]).stdout)
        .pop()
        .expect("a line");
    assert_eq!(last["skipped"][0]["name"], "crawl/c.md5", "{last}");
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_not_utf8_go_from_end_to_end() {
    use std::os::unix::ffi::OsStrExt;
    let place = Workspace::new();
    let file = |bytes: &'static [u8]| place.path("").join(std::ffi::OsStr::from_bytes(bytes));
    std::fs::create_dir(place.path("in")).expect("create a folder");
    std::fs::write(file(b"in/caf\xe8.warc"), fixture::small_web()).expect("write a file");
    std::fs::write(file(b"in/caf\xe9.warc"), fixture::other_web()).expect("write a file");
    let by_name = |arguments: &[&str], name: &'static [u8]| {
        let mut command = place.command(arguments);
        command.arg(std::ffi::OsStr::from_bytes(name));
        Run::of(command.output().expect("it starts"))
    };
    assert_eq!(by_name(&["load"], b"in/caf\xe9.warc").code, Some(0));
    let run = place.run(&["load", "in"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let ledger = place.good(&["dump", "ledger"]);
    let names: Vec<&str> = ledger
        .lines()
        .filter_map(|line| line.split('\t').next())
        .collect();
    // Escaped name; a dump also doubles backslashes.
    assert_eq!(names, ["in/caf\\\\xe8.warc", "in/caf\\\\xe9.warc"]);
    assert_eq!(
        place.json(&["status", "--ledger"])["rows"][1]["input"],
        "in/caf\\xe9.warc"
    );
    assert!(place.good(&["status", "--ledger"]).contains("in/caf\\xe9.warc"));
    let capture = place.json(&["cdx", "http://museum.example/maps", "--limit", "1"]);
    assert!(
        capture["rows"][0]["filename"]
            .as_str()
            .is_some_and(|name| name.contains("\\xe")),
        "{capture}"
    );
    assert!(
        place
            .good(&["record", "http://museum.example/maps", "--payload"])
            .contains("<title>")
    );
    assert!(
        by_name(&["inspect", "--summary"], b"in/caf\xe8.warc")
            .stdout
            .starts_with("in/caf\\xe8.warc\n")
    );
    // The displayed form works as well.
    let shown = place.good(&["load", "in/caf\\xe8.warc"]);
    assert!(shown.starts_with("1 input: 1 already known"), "{shown}");
    assert!(
        place
            .good(&["inspect", "--summary", "in/caf\\xe8.warc"])
            .starts_with("in/caf\\xe8.warc\n")
    );
    std::fs::write(file(b"in/list\xe9.paths"), b"caf\xe8.warc\n").expect("write a file");
    let listed = place.good(&["load", "@in/list\\xe9.paths"]);
    assert!(listed.starts_with("1 input: 1 already known"), "{listed}");
    let run = place.run(&["verify"]);
    assert_eq!(run.code, Some(0), "{run:?}");
}

#[cfg(unix)]
#[test]
fn pipes_and_devices_are_refused_at_once() {
    let place = web();
    let made = Command::new("mkfifo")
        .arg(place.path("pipe.warc"))
        .status()
        .expect("mkfifo runs");
    assert!(made.success());
    let run = place.run(&["load", "pipe.warc", "/dev/null", "web.warc"]);
    assert_eq!(run.code, Some(1));
    for told in [
        "pipe.warc: failed(not a regular file but a named pipe)",
        "/dev/null: failed(not a regular file but a device)",
        "3 inputs: 1 done, 2 failed",
    ] {
        assert!(run.stdout.contains(told), "{}", run.stdout);
    }
    place.check(
        &["inspect", "--summary", "pipe.warc", "@pipe.warc"],
        &expect![[r#"
            exit code 1
            2> error: read pipe.warc: not a regular file but a named pipe
            2> error: read @pipe.warc: No such file or directory (os error 2)
        "#]],
    );
    let run = place.run(&["load", "@pipe.warc"]);
    assert!(
        run.stdout
            .contains("cannot be read as a path list: not a regular file but a named pipe"),
        "{run:?}"
    );
}

/// The server owns the archive, and has another standard input.
#[cfg(unix)]
#[test]
fn a_list_from_a_pipe_is_loaded_while_a_server_owns_the_archive() {
    let place = Workspace::new();
    place.write_old("in/web.warc", &fixture::small_web());
    let lists: [(&[u8], Option<i32>, &str); 3] = [
        (b"# crawls\nin/web.warc\n", Some(0), "1 input: 1 done"),
        (
            b"in/web.warc\nin/none.warc\n",
            Some(1),
            "in/none.warc: failed(no such file)",
        ),
        (b"\n", Some(1), "nothing to load: the list is empty"),
    ];
    let _served = Served::start(&place);
    for (list, code, told) in lists {
        let list = place.write("list", list);
        let mut command = place.command(&["load", "@/dev/stdin"]);
        command.stdin(std::fs::File::open(list).expect("open a file"));
        let run = Run::of(command.output().expect("the program starts"));
        assert_eq!(run.code, code, "{run:?}");
        assert!(run.text().contains(told), "{run:?}");
    }
}

#[test]
fn of_many_forgotten_inputs_the_first_are_named() {
    let place = web();
    let names = (0..12).map(|n| format!("missing-{n:02}.warc\n"));
    place.write("list", names.collect::<String>().as_bytes());
    assert_eq!(place.run(&["load", "web.warc", "@list"]).code, Some(1));
    let said = place.good(&["forget", "--failed"]);
    assert!(said.starts_with("12 inputs forgotten"), "{said}");
    assert!(
        said.contains("missing-00.warc") && said.ends_with("and 2 more (--json names all)\n"),
        "{said}"
    );
}

#[test]
fn a_package_without_records_is_one_line_and_the_rest_is_counted() {
    let place = Workspace::new();
    let members: Vec<(String, String)> = (0..12)
        .map(|number| (format!("archive/{number}.warc"), format!("no record {number}")))
        .collect();
    let members: Vec<(&str, &[u8])> = members
        .iter()
        .map(|(name, bytes)| (name.as_str(), bytes.as_bytes()))
        .collect();
    place.write_old("many.wacz", &zipped(&members, CompressionMethod::Stored));
    for number in 0..11 {
        let name = format!("{number:02}.warc");
        place.write_old(&name, format!("junk {number}").as_bytes());
    }
    let run = place.run(&["load", "."]);
    assert_eq!(run.code, Some(1), "{run:?}");
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines[0], "24 inputs: 24 failed");
    assert!(
        run.stdout
            .contains("many.wacz: 13 members failed, the first: missing: it is no WACZ, its digests"),
        "{}",
        run.stdout
    );
    assert!(!run.stdout.contains("many.wacz#"), "{}", run.stdout);
    assert_eq!(run.stdout.matches(".warc: failed(").count(), 9);
    assert!(
        lines.contains(&"2 inputs more: weft status --ledger"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_file_named_open_with_junk_at_its_end_is_done_once_it_is_renamed() {
    let place = Workspace::new();
    let mut bytes = fixture::small_web();
    bytes.extend(b"neither a record nor a member");
    place.write_old("x.warc.open", &bytes);
    let run = place.run(&["load", "x.warc.open"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(
        run.stdout.contains("rename the file and load it again"),
        "{}",
        run.stdout
    );
    std::fs::rename(place.path("x.warc.open"), place.path("x.warc")).expect("rename");
    let run = place.run(&["load", "x.warc"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stdout.contains("x.warc: done, 1 loss"), "{}", run.stdout);
}

#[test]
fn a_record_of_a_file_that_moved_says_how_to_read_it_again() {
    let place = web();
    place.good(&["load", "web.warc"]);
    std::fs::rename(place.path("web.warc"), place.path("moved.warc")).expect("rename");
    let record = ["record", "http://museum.example/maps"];
    let run = place.run(&record);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(
        run.stderr
            .contains("if the file has moved, run weft load on it at its new place"),
        "{}",
        run.stderr
    );
    place.good(&["load", "moved.warc"]);
    place.good(&record);
}

#[test]
fn a_known_input_keeps_its_collection_until_it_is_read_again() {
    let place = web();
    place.good(&["load", "web.warc"]);
    let labelled = ["load", "web.warc", "--collection", "autumn"];
    let run = place.run(&labelled);
    assert_eq!(run.code, Some(1), "{run:?}");
    for part in [
        "1 input keeps its collection, because a load does not change it",
        "  web.warc: none\n",
        "weft forget --undo ID",
    ] {
        assert!(run.stdout.contains(part), "{part} is not in {}", run.stdout);
    }
    let captures = place.good(&["dump", "captures"]);
    place.good(&["forget", "--input", "web.warc"]);
    place.good(&["forget", "--undo", "1"]);
    place.good(&labelled);
    assert_eq!(place.good(&["dump", "captures"]), captures);
    assert_eq!(
        place.json(&["status"])["collections"],
        serde_json::json!(["autumn"])
    );
    assert_ne!(place.json(&["search", "collection:autumn"])["total"], 0);
    // A load without a label changes none.
    place.good(&["load", "web.warc"]);
    assert_eq!(place.run(&["verify"]).code, Some(0));
}

/// The place of the replaced input has another one, which keeps its own label.
#[test]
fn a_replaced_input_is_not_retried() {
    let place = web();
    place.good(&["load", "web.warc", "--collection", "spring"]);
    place.write_old("web.warc", &fixture::other_web());
    place.good(&["load", "web.warc", "--collection", "autumn"]);
    assert_eq!(place.good(&["load", "--retry"]), "nothing to retry\n");
}

#[test]
fn failed_inputs_are_listed_retried_and_forgotten() {
    let place = web();
    place.write_old("empty.warc", b"");
    place.write_old("late.paths", b"late.warc\n");
    let run = place.run(&[
        "load",
        "web.warc",
        "empty.warc",
        "@late.paths",
        "--collection",
        "autumn",
    ]);
    assert_eq!(run.code, Some(1));
    let failed = |place: &Workspace| -> Vec<String> {
        let rows = place.json(&["status", "--ledger", "--state", "failed"]);
        let rows = rows["rows"].as_array().expect("rows").iter();
        let mut names: Vec<String> = rows
            .map(|row| row["input"].as_str().expect("a name").to_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(failed(&place), ["empty.warc", "late.warc"]);
    let done = place.good(&["status", "--ledger", "--state", "done"]);
    assert!(
        done.contains("web.warc") && !done.contains("empty.warc"),
        "{done}"
    );
    // A listed file keeps its row until it exists. Then it has the same name and label.
    place.run(&["load", "--retry"]);
    assert_eq!(failed(&place), ["empty.warc", "late.warc"]);
    place.write_old("late.warc", &fixture::other_web());
    let retried = place.run(&["load", "--retry"]);
    assert_eq!(retried.code, Some(1), "{retried:?}");
    assert!(
        retried.stdout.starts_with("2 inputs: 1 done, 1 failed"),
        "{}",
        retried.stdout
    );
    assert_eq!(failed(&place), ["empty.warc"]);
    assert_eq!(
        place.json(&["status"])["collections"],
        serde_json::json!(["autumn"])
    );
    assert_eq!(place.run(&["forget", "--input", "nobody.warc"]).code, Some(1));
    assert_eq!(
        place.good(&["forget", "--failed"]),
        "1 input forgotten\n  empty.warc\n"
    );
    assert_eq!(failed(&place), [""; 0]);
    assert_eq!(
        place.good(&["status", "--ledger", "--state", "failed"]),
        "no input is in this state\n"
    );
    assert_eq!(place.json(&["status"])["inputs"], 2);
    assert_eq!(place.good(&["load", "--retry"]), "nothing to retry\n");
    assert_eq!(place.run(&["verify"]).code, Some(0));
    assert_eq!(place.run(&["load"]).code, Some(2));
}

#[test]
fn what_was_read_of_a_file_that_was_replaced_is_told_and_forgotten() {
    let place = web();
    let part = fixture::small_web();
    // The name marks it as still being written. Then another program rewrites it.
    place.write("x.warc.open", &part[..part.len() - 10]);
    place.good(&["load", "x.warc.open"]);
    let digest = place.json(&["status", "--ledger"])["rows"][0]["digest"].clone();
    place.write("x.warc.open", &fixture::other_web());
    let run = place.run(&["load", "x.warc.open"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    for line in [
        "1 input: 1 still loading\n",
        "x.warc.open: loading, but now: other content is at its place, so it cannot be read on; weft forget --input takes it back\n",
        "1 input is not complete yet",
    ] {
        assert!(run.stdout.contains(line), "{}", run.stdout);
    }
    assert_eq!(
        place.good(&["forget", "--input", digest.as_str().expect("a digest")]),
        "1 input forgotten, 4 captures removed\n  x.warc.open\n"
    );
    let fresh = Workspace::new();
    fresh.write("x.warc.open", &fixture::other_web());
    fresh.good(&["load", "x.warc.open"]);
    for view in ["captures", "links", "ledger"] {
        assert_eq!(place.good(&["dump", view]), fresh.good(&["dump", view]), "{view}");
    }
}

#[test]
fn a_copy_that_was_interrupted_and_the_whole_file_are_one_input() {
    let place = web();
    let whole = fixture::small_web();
    place.write_old("web.warc", &whole[..whole.len() - 100]);
    assert_eq!(place.run(&["load", "web.warc"]).code, Some(1));
    place.write_old("web.warc", &whole);
    assert_eq!(place.run(&["load", "web.warc"]).code, Some(0));
    let other = web();
    other.good(&["load", "web.warc"]);
    for view in ["captures", "pages", "links", "ledger", "quarantine"] {
        assert_eq!(place.good(&["dump", view]), other.good(&["dump", view]), "{view}");
    }
    let run = place.run(&["verify"]);
    assert_eq!(run.code, Some(0), "{run:?}");
}

#[test]
fn nothing_to_load_is_an_error_that_says_so() {
    let place = Workspace::new();
    std::fs::create_dir(place.path("empty")).expect("create a folder");
    place.write("other/notes.txt", b"Just some notes.\n");
    for folder in ["empty", "other"] {
        let run = place.run(&["load", folder]);
        assert_eq!(run.code, Some(1), "{run:?}");
        let expected = format!("error: nothing to load: no WARC, ARC, WAT or WET files in {folder}\n");
        assert!(run.stderr.ends_with(&expected), "{}", run.stderr);
    }
}

#[test]
fn nothing_but_a_missing_file() {
    let run = Workspace::new().run(&["load", "missing.warc"]);
    assert_eq!(run.code, Some(1));
    assert!(
        format!("{}{}", run.stdout, run.stderr).contains("missing.warc"),
        "{run:?}"
    );
}

#[test]
fn an_archive_where_other_things_are_is_refused() {
    let place = web();
    place.write("full/of/things", b"");
    let run = place.run(&["load", "web.warc", "--archive", "full"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("not empty"), "{}", run.stderr);
    assert_eq!(
        std::fs::read_dir(place.path("full")).expect("a folder").count(),
        1,
        "left as it was"
    );
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let place = web();
    let path = place.path("web.warc");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).expect("set permissions");
    if std::fs::read(&path).is_ok() {
        eprintln!("skipped a_file_that_may_not_be_read: this user may read everything");
        return;
    }
    let run = place.run(&["load", "web.warc"]);
    assert_eq!(run.code, Some(1));
    assert!(
        format!("{}{}", run.stdout, run.stderr)
            .to_lowercase()
            .contains("permission denied"),
        "{run:?}"
    );
}

#[test]
fn links_between_domains_only() {
    let place = web();
    place.good(&["load", "web.warc", "--links", "external"]);
    let links = place.good(&["dump", "links"]);
    assert_eq!(links.lines().count(), 4, "{links}");
}

#[test]
fn two_at_once() {
    let place = web();
    place.write("other.warc", &fixture::other_web());
    let both = [
        place.start(&["load", "web.warc"]),
        place.start(&["load", "other.warc"]),
    ];
    for child in both {
        let run = Run::of(child.wait_with_output().expect("it ends"));
        assert_eq!(run.code, Some(0), "{run:?}");
    }
    assert_eq!(place.json(&["status"])["captures"].as_u64(), Some(6));
}

/// Number of pages of a slow load: more than the pipeline holds, since records already read are
/// still committed.
const SLOW_PAGES: u64 = 1200;

fn slow_load(place: &Workspace) -> std::process::Child {
    place.good(&[
        "synth",
        "--pages",
        &SLOW_PAGES.to_string(),
        "--seed",
        "3",
        "slow.warc.gz",
    ]);
    place.start(&["load", "slow.warc.gz", "--rate", "20", "--json"])
}

#[cfg(unix)]
fn interrupt(child: &std::process::Child) {
    let status = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .expect("kill runs");
    assert!(status.success());
}

/// Waits until the archive has committed some captures.
fn wait_for_captures(place: &Workspace) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while Instant::now() < deadline {
        let run = place.run(&["status", "--json"]);
        if let Some(status) = json_lines(&run.stdout).pop()
            && status["captures"].as_u64().is_some_and(|captures| captures > 0)
        {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("nothing was indexed within a minute");
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_at_an_epoch_and_the_same_command_goes_on() {
    let place = Workspace::new();
    let child = slow_load(&place);
    wait_for_captures(&place);
    interrupt(&child);
    let run = Run::of(child.wait_with_output().expect("it ends"));
    assert_eq!(run.code, Some(1), "{run:?}");
    let last = json_lines(&run.stdout).pop().expect("a last line");
    assert_eq!(last["state"], "cancelled", "{last}");
    assert!(
        run.stderr.contains("stopping at the next epoch"),
        "{}",
        run.stderr
    );
    let before = place.json(&["status"])["captures"].as_u64();
    assert!(before < Some(SLOW_PAGES), "{before:?}");
    place.good(&["load", "slow.warc.gz"]);
    assert_eq!(place.json(&["status"])["captures"].as_u64(), Some(SLOW_PAGES));
}

#[cfg(unix)]
#[test]
fn a_load_through_the_owner_shows_the_same() {
    let place = web();
    let mut server = Served::start(&place);
    let run = place.run(&["load", "web.warc"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let alone = web();
    assert_eq!(
        without_rates(&run),
        without_rates(&alone.run(&["load", "web.warc"]))
    );
    let dump = place.good(&["dump", "links"]);
    server.stop();
    assert_eq!(dump, alone.good(&["dump", "links"]));
}

#[test]
fn a_name_that_leads_nowhere_makes_no_archive() {
    let place = Workspace::new();
    for names in [&["typo"][..], &["typo", "*.warc", "@list.paths"]] {
        let run = place.run(&[&["load"], names].concat());
        assert_eq!(run.code, Some(1), "{}", run.stdout);
        assert!(run.stderr.contains("typo: no such file"), "{}", run.stderr);
        assert!(run.stderr.contains("no archive was created"), "{}", run.stderr);
        assert!(!place.path("weft-archive").exists());
    }
    // One existing input is enough.
    place.write_old("web.warc", &fixture::small_web());
    let run = place.run(&["load", "typo", "web.warc"]);
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    assert!(
        run.stdout.contains("typo: failed(no such file)"),
        "{}",
        run.stdout
    );
    // An existing archive is enough too. A misspelt name leaves nothing in it.
    let run = place.run(&["load", "typo", "*.wrac", "@list.paths"]);
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    for part in [
        "3 inputs: 3 failed",
        "typo: failed(no such file)",
        "*.wrac: failed(no file matches)",
        "list.paths: failed(cannot be read as a path list",
    ] {
        assert!(run.stdout.contains(part), "{part} is not in {}", run.stdout);
    }
    assert_eq!(place.json(&["status"])["inputs"], 1);
}

#[test]
fn nobody_is_told_to_load_into_a_folder_of_other_files() {
    let place = Workspace::new();
    place.write("etc/passwd", b"root");
    let run = place.run(&["status", "--archive", "etc"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("it contains passwd"), "{}", run.stderr);
    assert!(!run.stderr.contains("weft load"), "{}", run.stderr);
    // An empty directory may become an archive, so the message differs.
    std::fs::create_dir(place.path("new")).expect("a folder");
    let run = place.run(&["status", "--archive", "new"]);
    assert!(run.stderr.contains("load something first"), "{}", run.stderr);
}
