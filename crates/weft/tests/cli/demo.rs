//! `weft demo --exit`: the site in the program is loaded, served and queried.

use std::process::Stdio;

use crate::support::{Run, Workspace};

fn demo(place: &Workspace) -> Run {
    let mut command = place.command(&["demo", "--exit", "--listen", "127.0.0.1:0"]);
    command
        .env("XDG_CACHE_HOME", place.path("cache"))
        .stdin(Stdio::null());
    Run::of(command.output().expect("the program starts"))
}

#[test]
fn every_check_passes_and_a_second_demo_adds_nothing() {
    let place = Workspace::new();
    let run = demo(&place);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(!run.stdout.contains("failed"), "{}", run.stdout);
    assert!(run.stdout.contains("3 inputs: 3 done"), "{}", run.stdout);
    let again = demo(&place);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(
        again.stdout.contains("already known"),
        "a second demo adds nothing:\n{}",
        again.stdout
    );
}

#[test]
fn each_edition_is_complete_and_differs_from_the_one_before() {
    let place = Workspace::new();
    assert_eq!(demo(&place).code, Some(0));
    let archive = place.path("cache/weft/demo/archive");
    let archive = archive.to_str().expect("a path in UTF-8");
    let page = "https://docs.weft.example/search.html";
    let answer = place.json(&["page", page, "--archive", archive]);
    let times: Vec<&str> = answer["captures"]
        .as_array()
        .expect("captures")
        .iter()
        .map(|capture| capture["timestamp"].as_str().expect("a time"))
        .collect();
    assert_eq!(times.len(), 3, "{answer}");
    for time in &times {
        for page in [page, "https://docs.weft.example/"] {
            // Exit code 1 if parts are missing.
            place.good(&["replay-check", page, "--at", time, "--archive", archive]);
        }
    }
    for neighbours in times.windows(2) {
        let (to, from) = (neighbours[0], neighbours[1]);
        let answer = place.json(&["diff", page, "--from", from, "--to", to, "--archive", archive]);
        let parts = answer["parts"].as_array().expect("parts");
        assert!(parts.iter().any(|part| part["change"] == "new"), "{answer}");
    }
}
