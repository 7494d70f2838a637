//! Help, versions and wrong use.

use expect_test::expect;

use crate::support::Place;

/// Every subcommand.
const COMMANDS: &[&str] = &[
    "load", "inspect", "status", "dump", "page", "inlinks", "outlinks", "domain", "top", "cdx", "search",
    "record", "verify", "serve", "store", "demo", "synth", "pack",
];

#[test]
fn every_command_has_help_with_examples() {
    let place = Place::new();
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

#[test]
fn later_parts_are_absent() {
    for command in ["forget", "files", "sql", "cache"] {
        assert_eq!(Place::new().run(&[command]).code, Some(2), "{command}");
    }
}

#[test]
fn the_version_is_told() {
    let version = Place::new().good(&["--version"]);
    assert_eq!(version, format!("weft {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_use_is_code_2_on_standard_error() {
    let place = Place::new();
    for arguments in [
        &[] as &[&str],
        &["nonsense"],
        &["dump"],
        &["dump", "tables"],
        &["load"],
        &["load", "x", "--rate", "0"],
        &["load", "x", "--threads", "none"],
        &["load", "x", "--links", "some"],
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
    let place = Place::new();
    place.check(
        &["status"],
        &expect![[r#"
            exit code 1
            2> error: PLACE/weft-archive is not an archive; load something first: weft load INPUT --archive PLACE/weft-archive
        "#]],
    );
}

#[test]
fn with_json_an_error_is_an_object_too() {
    let place = Place::new();
    let error = place.json(&["status"]);
    assert_eq!(error["error"]["code"], "internal");
    assert!(
        error["error"]["message"]
            .as_str()
            .is_some_and(|text| text.contains("is not an archive"))
    );
}
