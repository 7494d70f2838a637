//! `weft doctor`: healthy, doubtful and broken states, with advice for each.

use serde_json::Value;

use crate::fixture;
use crate::serve::Served;
use crate::support::{Run, Workspace, json_lines};

/// Runs the command with a free port, and returns the findings about one subject as `verdict:
/// found`.
fn found(place: &Workspace, of: &str) -> Vec<String> {
    findings(&place.run(&["doctor", "--listen", "127.0.0.1:0", "--json"]), of)
}

fn findings(run: &Run, of: &str) -> Vec<String> {
    let report = json_lines(&run.stdout).remove(0);
    let findings = report["findings"].as_array().expect("findings");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    for finding in findings {
        let is_ok = finding["verdict"] == "ok";
        assert_eq!(is_ok, finding["advice"].is_null(), "{finding}");
    }
    findings
        .iter()
        .filter(|finding| finding["of"] == of)
        .map(|finding| format!("{}: {}", text(&finding["verdict"]), text(&finding["found"])))
        .collect()
}

#[test]
fn a_new_place_and_a_whole_archive_are_well() {
    let place = Workspace::new();
    let found_none = found(&place, "archive");
    assert_eq!(found_none.len(), 1);
    assert!(
        found_none[0].starts_with("ok: there is none in ./weft-archive yet"),
        "{found_none:?}"
    );
    assert!(!place.path("weft-archive").exists(), "it makes nothing");

    place.write("web.warc", &fixture::small_web());
    place.good(&["load", "web.warc"]);
    let archive = found(&place, "archive");
    assert!(archive[0].contains("5 captures, 1 input, epoch"), "{archive:?}");
    assert_eq!(
        found(&place, "inputs"),
        ["ok: 1 read to the end, and still in place"]
    );
    assert_eq!(found(&place, "quarantine"), ["ok: nothing"]);
    assert_eq!(found(&place, "search"), ["ok: 4 documents, up to date"]);

    let run = place.run(&["doctor", "--listen", "127.0.0.1:0"]);
    assert!(run.stdout.contains("program     weft "), "{}", run.stdout);
    assert!(run.stdout.contains("disk        /"), "{}", run.stdout);
}

#[test]
fn inputs_that_are_gone_or_were_cut_are_named_with_what_to_do() {
    let place = Workspace::new();
    let whole = fixture::small_web();
    place.write_old("cut.warc", &whole[..whole.len() - 40]);
    place.write("web.warc", &whole);
    place.run(&["load", "cut.warc", "web.warc"]);
    std::fs::remove_file(place.path("web.warc")).expect("remove it");

    let run = place.run(&["doctor", "--listen", "127.0.0.1:0", "--json"]);
    assert_eq!(
        findings(&run, "inputs"),
        [
            "warning: 1 input cut off at the end (cut.warc first)",
            "warning: 1 input missing at their path, or truncated since they were loaded (web.warc first)",
        ]
    );
    // Warnings only, no problems.
    assert_eq!(run.code, Some(0));
}

#[test]
fn an_archive_that_does_not_open_is_a_problem() {
    let place = Workspace::new();
    place.write("photos/holiday.jpg", b"no archive");
    let run = place.run(&[
        "doctor",
        "--listen",
        "127.0.0.1:0",
        "--archive",
        "photos",
        "--json",
    ]);
    assert_eq!(
        findings(&run, "archive"),
        ["warning: photos contains other files, but no archive"]
    );

    place.write("web.warc", &fixture::small_web());
    place.good(&["load", "web.warc"]);
    place.write("weft-archive/cache.toml", b"nonsense = 1");
    let cache = found(&place, "cache");
    assert!(cache[0].starts_with("problem: "), "{cache:?}");

    place.write("weft-archive/weft.json", b"{}");
    let run = place.run(&["doctor", "--listen", "127.0.0.1:0", "--json"]);
    assert!(
        findings(&run, "archive")[0].starts_with("problem: "),
        "{}",
        run.stdout
    );
    assert_eq!(run.code, Some(1));
}

#[test]
fn whoever_has_the_port_is_recognised() {
    let place = Workspace::new();
    place.write("web.warc", &fixture::small_web());
    place.good(&["load", "web.warc"]);
    let mut served = Served::start(&place);
    let run = place.run(&["doctor", "--listen", &served.address, "--json"]);
    assert_eq!(
        findings(&run, "port"),
        [format!("ok: weft serves at {}", served.address)]
    );
    // Queried through the owner.
    assert!(
        findings(&run, "archive")[0].contains("5 captures"),
        "{}",
        run.stdout
    );
    assert_eq!(served.stop(), Some(0));

    let other = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = other.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for stream in other.incoming().take(1) {
            // Accepted but never answered.
            std::thread::sleep(std::time::Duration::from_secs(5));
            drop(stream);
        }
    });
    let run = place.run(&["doctor", "--listen", &address, "--json"]);
    assert_eq!(
        findings(&run, "port"),
        [format!("warning: another program listens at {address}")]
    );
}

#[test]
fn the_store_of_the_environment_is_asked() {
    let place = Workspace::new();
    let doctor = |store: &str| {
        let mut command = place.command(&["doctor", "--listen", "127.0.0.1:0", "--json"]);
        Run::of(command.env("WEFT_STORE", store).output().expect("it runs"))
    };
    std::fs::create_dir(place.path("a")).expect("a folder");
    let store = findings(&doctor("a"), "store");
    assert!(store[0].starts_with("problem: there is no store in"), "{store:?}");
    place.write("x.txt", b"x");
    place.run(&[
        "store",
        "put",
        "x.txt",
        "store://files/x.txt",
        "--volume",
        "a",
        "--volume",
        "b",
    ]);
    assert_eq!(
        findings(&doctor("a:b"), "store"),
        ["ok: 1 node and 2 volumes are well"]
    );
}

/// Monitoring names the archive explicitly: if it is missing, its disk is not mounted.
#[test]
fn an_archive_that_was_named_has_to_be_there() {
    let place = Workspace::new();
    let run = place.run(&[
        "doctor",
        "--listen",
        "127.0.0.1:0",
        "--archive",
        "mnt/archive",
        "--json",
    ]);
    assert_eq!(run.code, Some(1));
    assert_eq!(
        findings(&run, "archive"),
        ["problem: there is none in mnt/archive"]
    );
}

/// A lost end of the journal looks like an interrupted machine. Only the data derived from it shows
/// that epochs are missing.
#[test]
fn a_journal_without_its_end_is_a_problem() {
    let place = Workspace::new();
    place.write("web.warc", &fixture::small_web());
    place.good(&["load", "web.warc"]);
    let journals = std::fs::read_dir(place.path("weft-archive/index")).expect("the index");
    let journals = journals.map(|entry| entry.expect("an entry").path());
    for journal in journals.filter(|path| path.extension().is_some_and(|end| end == "jnl")) {
        let size = std::fs::metadata(&journal).expect("a journal").len();
        let file = std::fs::File::options()
            .write(true)
            .open(&journal)
            .expect("a journal");
        file.set_len(size / 2).expect("cut it");
    }
    let index = found(&place, "index");
    assert!(
        index.len() == 1
            && index[0].starts_with("problem: the index ends with epoch 0, but search or facts have epoch 1"),
        "{index:?}"
    );
}

#[test]
fn an_input_that_another_file_replaced_is_named() {
    let place = Workspace::new();
    place.write("web.warc", &fixture::other_web());
    place.good(&["load", "web.warc"]);
    place.write("web.warc", &fixture::small_web());
    assert_eq!(
        found(&place, "inputs"),
        ["warning: 1 input larger than when they were loaded (web.warc first)"]
    );
}
