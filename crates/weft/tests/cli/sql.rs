//! `weft sql` runs the program next to it.

use std::os::unix::fs::PermissionsExt as _;

use crate::support::Workspace;

/// Runs the program from a separate folder, with an empty `PATH`.
fn alone(place: &Workspace, arguments: &[&str]) -> std::process::Output {
    let program = place.path("bin/weft");
    if !program.exists() {
        std::fs::create_dir_all(place.path("bin")).expect("a folder");
        std::fs::copy(env!("CARGO_BIN_EXE_weft"), &program).expect("a copy");
    }
    let mut command = test_env::command(&program, &place.path("home"));
    command.env("PATH", "/nowhere").args(arguments);
    command.output().expect("run")
}

#[test]
fn a_missing_program_is_told_with_how_to_build_it() {
    let place = Workspace::new();
    let output = alone(&place, &["sql", "select 1"]);
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{wrong}");
    assert!(
        wrong.contains("make sql") && wrong.contains("weft-archive[sql]"),
        "{wrong}"
    );
    assert_eq!(wrong.lines().count(), 1, "{wrong}");
}

#[test]
fn everything_after_sql_goes_to_the_program() {
    let place = Workspace::new();
    place.write(
        "bin/weft-sql",
        b"#!/bin/sh\nfor argument; do echo \"<$argument>\"; done\nexit 7\n",
    );
    let script = place.path("bin/weft-sql");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("rights");
    for (arguments, expected) in [
        (["sql", "select 1"].as_slice(), "<select 1>\n"),
        (&["sql"], ""),
        (&["sql", "--help"], "<--help>\n"),
        (
            &["sql", "--format", "csv", "select 1", "--json"],
            "<--format>\n<csv>\n<select 1>\n<--json>\n",
        ),
        (
            &["--archive", "a b", "sql", "verify"],
            "<--archive>\n<a b>\n<verify>\n",
        ),
        (
            &["sql", "--archive", "a", "--json", "select 1"],
            "<--archive>\n<a>\n<--json>\n<select 1>\n",
        ),
    ] {
        let output = alone(&place, arguments);
        assert_eq!(output.status.code(), Some(7), "{arguments:?}: {output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{arguments:?}");
    }
}
