//! Help, versions and wrong use.

use expect_test::expect;

use crate::support::{Workspace, json_lines};

/// Every subcommand.
const COMMANDS: &[&str] = &[
    "load",
    "inspect",
    "status",
    "dump",
    "page",
    "pages",
    "inlinks",
    "outlinks",
    "domain",
    "top",
    "graph",
    "report",
    "cdx",
    "search",
    "forget",
    "redact",
    "warc",
    "record",
    "replay-check",
    "mcp",
    "verify",
    "rebuild",
    "serve",
    "store",
    "files",
    "doctor",
    "demo",
    "synth",
    "pack",
    "completions",
    "manual",
];

#[test]
fn every_command_has_help_with_examples() {
    let place = Workspace::new();
    let help = place.good(&["--help"]);
    for command in COMMANDS {
        assert!(
            help.contains(&format!("\n  {command} ")),
            "{command} is not in\n{help}"
        );
        let help = place.good(&[command, "--help"]);
        assert!(help.contains("\nExamples:\n  weft "), "{command}:\n{help}");
        assert!(
            help.lines().all(|line| line.chars().count() <= 100),
            "{command} is too wide:\n{help}"
        );
    }
}

/// The first page is the same for all three ways to ask for it.
#[test]
fn the_first_page_has_groups_of_commands() {
    let place = Workspace::new();
    let page = place.good(&["--help"]);
    assert_eq!(place.good(&["-h"]), page);
    let alone = place.run(&[]);
    assert_eq!((alone.code, alone.stdout.as_str()), (Some(2), ""));
    assert_eq!(alone.stderr, page);
    let headings: Vec<&str> = page
        .lines()
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.strip_suffix(':'))
        .collect();
    assert_eq!(
        headings,
        [
            "Common use",
            "Look",
            "Load",
            "Search and links",
            "Serve",
            "Keep",
            "Administer",
            "Options of every command"
        ]
    );
}

#[test]
fn short_help_is_short_and_long_help_is_whole() {
    let place = Workspace::new();
    for (words, only_long) in [
        (&["load"][..], "--stage-off"),
        (&["search"], "--prefer"),
        (&["serve"], "--s3-log"),
        (&["store", "serve"], "--s3-log"),
        (&["files", "find"], "WEFT_MEMORY"),
    ] {
        let short = place.good(&[words, &["-h"]].concat());
        let long = place.good(&[words, &["--help"]].concat());
        assert!(short.lines().count() <= 60, "{words:?}: {short}");
        assert!(
            !short.contains(only_long) && long.contains(only_long),
            "{words:?}"
        );
        for help in [short, long] {
            assert!(
                help.contains("\nOptions of every command:\n"),
                "{words:?}: {help}"
            );
        }
    }
}

#[test]
fn a_wrong_value_is_answered_with_an_example() {
    let place = Workspace::new();
    for (arguments, message) in [
        (
            &["top", "--limit", "ten"][..],
            "--limit takes a whole number from 1 to 10000, such as 20; found 'ten'",
        ),
        (
            &["top", "--limit", "-5"],
            "--limit takes a whole number from 1 to 10000, such as 20; found '-5'",
        ),
        (
            &["rights", "rm", "all"],
            "NUMBER takes a whole number of at least 1, such as 3; found 'all'",
        ),
        (
            &["status", "--memory", "1M"],
            "--memory takes a size of at least 384.0 MiB, such as 512M or 2G; found '1M'",
        ),
        (
            &["cdx", "http://x/", "--from", "yesterday"],
            "--from takes a date or its beginning, such as 2014, 2014-01, 2014-01-26 or 20140126200624; found \
             'yesterday'",
        ),
        (
            &["load", "x", "--keep", "--retain", "6m"],
            "--retain takes a span of at most 100 years (weft store hold has no end), such as 36h, 30d, 2w \
             or 10y; found '6m'",
        ),
        (
            &["files", "find", "--modified", "30d"],
            "--modified takes an age, with + for older or - for younger, such as +30d or -36h; found '30d'",
        ),
        (
            &["files", "diff", "monday"],
            "SINCE takes a day, a time (UTC) or an age, such as 2026-11-23, 2026-11-23T10:00:00Z or 7d; found \
             'monday'",
        ),
    ] {
        let run = place.run(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        let first = run.stderr.lines().next();
        assert_eq!(first, Some(format!("error: {message}").as_str()));
        assert!(
            run.stderr.contains("For more information, try 'weft "),
            "{}",
            run.stderr
        );
    }
    let run = place.run(&["top", "--limit", "ten", "--json"]);
    let error = &json_lines(&run.stderr)[0]["error"];
    assert_eq!(
        error["message"],
        "--limit takes a whole number from 1 to 10000, such as 20; found 'ten'"
    );
}

#[test]
fn later_parts_are_absent() {
    for command in ["forget", "files", "cache", "warc"] {
        assert_eq!(Workspace::new().run(&[command]).code, Some(2), "{command}");
    }
}

#[test]
fn the_version_is_told() {
    let version = Workspace::new().good(&["--version"]);
    assert_eq!(version, format!("weft {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_use_is_code_2_on_standard_error() {
    let place = Workspace::new();
    for arguments in [
        &[] as &[&str],
        &["nonsense"],
        &["dump"],
        &["dump", "tables"],
        &["load"],
        &["load", "x", "--rate", "0"],
        &["load", "x", "--threads", "none"],
        &["load", "x", "--links", "some"],
        &["status", "--memory", "1M"],
        &["status", "--memory", "plenty"],
        &["top", "--limit", "0"],
        &["cdx", "http://x/", "--from", "yesterday"],
        &["status", "--stages", "--ledger"],
        &["record", "http://x/", "--headers", "--payload"],
        &["serve", "--listen", "nowhere"],
        &["synth", "--format", "arc", "x"],
    ] {
        let run = place.run(arguments);
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (Some(2), ""),
            "weft {}",
            arguments.join(" ")
        );
        assert!(!run.stderr.is_empty(), "weft {}", arguments.join(" "));
    }
    assert!(
        !place.path("weft-archive").exists(),
        "wrong use leaves nothing behind"
    );
}

#[test]
fn a_missing_archive_says_what_to_do() {
    let place = Workspace::new();
    place.check(
        &["status"],
        &expect![[r#"
            exit code 1
            2> error: PLACE/weft-archive is not an archive; load something first: weft load INPUT --archive PLACE/weft-archive
        "#]],
    );
}

/// Wrong use detected by the parser or the command, missing objects, and one failure among several:
/// each gives one line of JSON on standard error, and standard output contains only results.
#[test]
fn with_json_every_error_is_a_line_of_json_on_standard_error() {
    let place = Workspace::new();
    place.write("x", b"x");
    assert_eq!(
        place.run(&["store", "put", "x", "bucket/", "--volume", "a"]).code,
        Some(0)
    );
    let store = |arguments: &[&'static str]| [&["store"], arguments, &["--volume", "a"]].concat();
    for (arguments, exit_code, word, said) in [
        (vec!["status"], 1, "not_found", "is not an archive"),
        (vec!["nonsense"], 2, "bad_request", "nonsense"),
        (
            vec!["load", "x", "--rate", "0"],
            2,
            "bad_request",
            "number of pages per second",
        ),
        (vec!["load", ""], 2, "bad_request", "is not an input"),
        (vec!["inspect", "none.warc"], 1, "not_found", "none.warc"),
        (vec!["store", "ls"], 2, "bad_request", "WEFT_STORE"),
        (
            vec!["store", "ls", "--volume", "none"],
            1,
            "not_found",
            "there is no store in none",
        ),
        (
            vec!["store", "ls", "--volume", "x"],
            2,
            "bad_request",
            "x is not a directory",
        ),
        (store(&["ls", "nobucket/"]), 1, "not_found", "store://nobucket/"),
        (
            store(&["ls", "bucket/none"]),
            1,
            "not_found",
            "store://bucket/none",
        ),
        (
            store(&["fixity", "bucket/none"]),
            1,
            "not_found",
            "no object bucket/none",
        ),
        (store(&["fixity", "none"]), 2, "bad_request", "bucket/name"),
        (
            store(&["get", "bucket/none"]),
            1,
            "not_found",
            "no object bucket/none",
        ),
        (
            store(&["stat", "bucket/none"]),
            1,
            "not_found",
            "no object bucket/none",
        ),
        (
            store(&["rm", "bucket/none"]),
            1,
            "not_found",
            "no object bucket/none",
        ),
        (
            store(&["rm", "bucket/", "--recursive"]),
            2,
            "bad_request",
            "this would delete 1 object",
        ),
        (store(&["put", "none", "bucket/"]), 1, "not_found", "read none"),
        (store(&["put", "x", "Bucket/"]), 2, "bad_request", "Bucket"),
        (store(&["scrub", "none"]), 2, "bad_request", "no volume"),
    ] {
        let run = place.run(&[&arguments[..], &["--json"]].concat());
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (Some(exit_code), ""),
            "{arguments:?}: {}",
            run.stderr
        );
        let errors = json_lines(&run.stderr);
        assert_eq!(errors.len(), 1, "{arguments:?}: {errors:?}");
        let error = &errors[0]["error"];
        assert_eq!(error["code"], word, "{arguments:?}: {error}");
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.contains(said), "{arguments:?}: {message}");
    }
}
