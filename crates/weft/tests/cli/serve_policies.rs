//! `weft serve --policies`: runs due policies, alongside manual runs.

use std::fs;
use std::time::{Duration, Instant};

use crate::serve::Served;
use crate::support::{Workspace, json_lines};

const RULES: &str = "
[policy.leftovers]
action = 'delete'
condition = 'name == \"*.open\"'
trigger.every = '1 d'

[policy.copies]
action = 'copy'
to = 'store://crawls/'
replicas = 2
condition = 'name == \"*.warc\"'
trigger.every = '1 d'

[policy.many]
action = 'delete'
condition = 'name == \"*.tmp\"'
trigger = { usage_of = 'count', high = '1000', low = '10' }

[policy.named]
action = 'delete'
condition = 'name == \"*.by-hand\"'
";

const SERVE: [&str; 5] = ["serve", "--create", "--listen", "127.0.0.1:0", "--policies"];

fn catalogued(place: &Workspace) {
    for n in 0..3 {
        for kind in ["open", "warc", "tmp", "by-hand"] {
            place.write(&format!("tree/{n}.{kind}"), b"content");
        }
    }
    place.good(&["files", "scan", "tree"]);
}

/// Returns the runs of the log as policy, state and number of files done.
fn log(place: &Workspace) -> Vec<(String, String, u64)> {
    let end = Instant::now() + Duration::from_secs(60);
    let mut run = place.run(&["files", "policy", "log", "--json"]);
    // A run holds the catalogue for its whole duration.
    while run.stderr.contains("in use by another process") && Instant::now() < end {
        run = place.run(&["files", "policy", "log", "--json"]);
    }
    assert_eq!(run.code, Some(0), "{run:?}");
    let rows = json_lines(&run.stdout);
    let row = |row: &serde_json::Value| {
        let text = |name: &str| row[name].as_str().unwrap().to_owned();
        (text("policy"), text("state"), row["done_files"].as_u64().unwrap())
    };
    rows.iter().map(row).collect()
}

#[test]
fn policies_that_are_due_run_by_themselves_and_others_by_hand_beside_them() {
    let place = Workspace::new();
    catalogued(&place);
    place.write("weft-archive/policies.toml", RULES.as_bytes());
    let mut served = Served::start_with(
        &place,
        &[&SERVE[..], &["--volume", "a", "--volume", "b"]].concat(),
    );
    let end = Instant::now() + Duration::from_secs(120);
    while log(&place).iter().filter(|run| run.1 == "done").count() < 2 {
        assert!(Instant::now() < end, "{:?}", log(&place));
        std::thread::sleep(Duration::from_millis(200));
    }
    let row = |name: &str, done| (name.to_owned(), "done".to_owned(), done);
    // The disk is below the trigger's threshold, and a policy without a trigger runs only when
    // named.
    assert_eq!(log(&place), [row("leftovers", 3), row("copies", 3)]);
    let left = |kind: &str| {
        (0..3)
            .filter(|n| place.path(&format!("tree/{n}.{kind}")).exists())
            .count()
    };
    assert_eq!(
        (left("open"), left("warc"), left("tmp"), left("by-hand")),
        (0, 3, 3, 3)
    );
    let found = place.good(&["files", "find", "tree", "--replicas", "2"]);
    assert_eq!(found.lines().count(), 3, "{found}");
    place.good(&["files", "policy", "run", "named"]);
    assert_eq!(left("by-hand"), 0);
    assert_eq!(log(&place).last(), Some(&row("named", 3)));
    place.good(&["files", "undo", "1"]);
    assert_eq!(left("open"), 3);
    assert_eq!(served.stop(), Some(0));
    let said = served.stderr();
    for line in [
        "policy leftovers: run 1: delete 3 files",
        "policy copies: run 2: copy 3 files",
    ] {
        assert_eq!(said.matches(line).count(), 1, "{line}: {said}");
    }
    assert!(
        !said.contains("policy named") && !said.contains("policy many"),
        "{said}"
    );
}

#[test]
fn rules_that_are_wrong_end_the_server_before_it_listens() {
    let place = Workspace::new();
    catalogued(&place);
    let run = place.run(&SERVE);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("there are no rules"), "{run:?}");
    fs::write(
        place.path("weft-archive/policies.toml"),
        "[policy.a]\naction = 'eat'\n",
    )
    .unwrap();
    let run = place.run(&SERVE);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stdout.is_empty(), "{run:?}");
    assert!(run.stderr.contains("policies.toml:2:10: "), "{run:?}");
    let run = place.run(&["serve", "--read-only", "--policies"]);
    assert_eq!(run.code, Some(2), "{run:?}");
}
