//! `weft demo --exit`: with the crates in Cargo's cache, and without any.

use std::path::PathBuf;
use std::process::Stdio;

use crate::support::{Run, Workspace};

fn demo(place: &Workspace, cargo_home: Option<&str>) -> Run {
    let mut command = place.command(&["demo", "--exit", "--listen", "127.0.0.1:0"]);
    command
        .env("XDG_CACHE_HOME", place.path("cache"))
        .stdin(Stdio::null());
    // The home directory of a test has no crates, so name those of the machine.
    let crates = cargo_home
        .map(|home| place.path(home))
        .or_else(cargo_home_of_the_user);
    if let Some(crates) = crates {
        command.env("CARGO_HOME", crates);
    }
    Run::of(command.output().expect("the program starts"))
}

fn cargo_home_of_the_user() -> Option<PathBuf> {
    let named = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    named.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))
}

#[test]
fn the_crates_it_was_built_from() {
    let place = Workspace::new();
    let run = demo(&place, None);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(
        run.stderr.contains("Rust crates") || run.stderr.contains("generated web"),
        "{}",
        run.stderr
    );
    assert!(!run.stdout.contains("failed"), "{}", run.stdout);
    let again = demo(&place, None);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(
        again.stdout.contains("already known"),
        "a second demo adds nothing:\n{}",
        again.stdout
    );
}

#[test]
fn a_made_up_web_where_no_sources_are() {
    let run = demo(&Workspace::new(), Some("nowhere"));
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stderr.contains("generated web"), "{}", run.stderr);
}
