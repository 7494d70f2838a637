//! `weft serve --watch`: loads crawl files as they appear.

use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fixture;
use crate::serve::Served;
use crate::support::Workspace;

fn serve(place: &Workspace, more: &[&str]) -> Served {
    let arguments = ["serve", "--create", "--listen", "127.0.0.1:0", "--watch", "new"];
    Served::start_with(place, &[&arguments[..], more].concat())
}

/// Returns the ledger rows as file name, state, records and captures.
fn ledger(place: &Workspace) -> Vec<(String, String, u64, String)> {
    let answer = place.json(&["status", "--ledger"]);
    let mut rows: Vec<_> = answer["rows"]
        .as_array()
        .expect("rows of the ledger")
        .iter()
        .map(|row| {
            let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
            let file = text("input").rsplit('/').next().unwrap_or_default().to_owned();
            (
                file,
                text("state"),
                row["captures"].as_u64().unwrap_or(0),
                text("collection"),
            )
        })
        .collect();
    rows.sort();
    rows
}

fn wait_for(place: &Workspace, what: &str, is_so: impl Fn(&[(String, String, u64, String)]) -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let rows = ledger(place);
        if is_so(&rows) {
            return;
        }
        assert!(Instant::now() < end, "{what}: {rows:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn done(rows: &[(String, String, u64, String)], file: &str) -> Option<u64> {
    let row = rows.iter().find(|row| row.0 == file && row.1 == "done")?;
    Some(row.2)
}

#[test]
fn files_that_appear_are_loaded_once_also_after_a_restart() {
    let place = Workspace::new();
    place.write("new/there.warc", &fixture::small_web());
    place.write("new/notes.txt", b"no input");
    let mut served = serve(&place, &["--collection", "spring"]);
    assert!(
        served.said["watch"][0]
            .as_str()
            .is_some_and(|dir| dir.ends_with("new")),
        "{}",
        served.said
    );
    wait_for(&place, "what was there before", |rows| {
        done(rows, "there.warc").is_some()
    });

    // Crawlers use another name until the file is complete.
    place.write("new/deep/er/next.warc.open", &fixture::other_web());
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(ledger(&place).len(), 1, "{:?}", ledger(&place));
    fs::rename(
        place.path("new/deep/er/next.warc.open"),
        place.path("new/deep/er/next.warc"),
    )
    .unwrap();
    wait_for(&place, "a file in a new directory", |rows| {
        done(rows, "next.warc").is_some()
    });
    assert!(
        ledger(&place).iter().all(|row| row.3 == "spring"),
        "{:?}",
        ledger(&place)
    );
    assert_eq!(served.stop(), Some(0));

    // Files that appeared while no server ran are found; known files are not read again.
    let before = ledger(&place);
    let shorter = fixture::warc(&[(
        "http://third.example/",
        "2014-05-01T00:00:00Z",
        "<a href=/x>x</a>",
    )]);
    place.write("new/third.warc", &shorter);
    let mut served = serve(&place, &[]);
    wait_for(&place, "a file of the time between", |rows| {
        done(rows, "third.warc") == Some(1)
    });
    let known: Vec<_> = ledger(&place)
        .into_iter()
        .filter(|row| row.0 != "third.warc")
        .collect();
    assert_eq!(known, before);
    // Only one load ran in this server.
    let status: Value = place.json(&["status"]);
    assert_eq!(status["inputs"], 3, "{status}");
    let found = place.good(&["files", "find", "new", "--format", "warc"]);
    assert_eq!(found.lines().count(), 3, "{found}");
    assert_eq!(served.stop(), Some(0));
}

#[test]
fn a_file_that_grows_is_read_on_and_an_empty_one_waits() {
    let place = Workspace::new();
    fs::create_dir(place.path("new")).unwrap();
    let mut served = serve(&place, &[]);
    let page = |n: usize| {
        let url = format!("http://grows.example/{n}");
        fixture::warc(&[(url.as_str(), "2014-05-01T00:00:00Z", "<p>words</p>")])
    };
    let mut file = fs::File::create(place.path("new/crawl.warc")).unwrap();
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(ledger(&place), [], "an empty file is no input yet");
    for n in 1..=3 {
        file.write_all(&page(n)).unwrap();
        wait_for(&place, "what was written so far", |rows| {
            done(rows, "crawl.warc") == Some(n as u64)
        });
    }
    assert_eq!(ledger(&place).len(), 1, "{:?}", ledger(&place));
    assert_eq!(served.stop(), Some(0));
    place.good(&["verify"]);
}

#[test]
fn a_file_that_another_one_of_its_size_replaces_is_loaded() {
    let place = Workspace::new();
    let page = |host: &str| {
        let url = format!("http://{host}.example/");
        fixture::warc(&[(url.as_str(), "2014-05-01T00:00:00Z", "<p>words</p>")])
    };
    place.write("new/a.warc", &page("one"));
    let mut served = serve(&place, &[]);
    wait_for(&place, "the first", |rows| done(rows, "a.warc") == Some(1));
    // Like a crawler that starts over.
    place.write("aside", &page("two"));
    fs::rename(place.path("aside"), place.path("new/a.warc")).unwrap();
    wait_for(&place, "the second", |rows| rows.len() == 2);
    let found = place.good(&["cdx", "http://two.example/"]);
    assert!(found.contains("example,two)/"), "{found}");
    assert_eq!(served.stop(), Some(0));
}

#[test]
fn a_directory_that_cannot_be_watched_ends_the_server_before_it_listens() {
    let place = Workspace::new();
    fs::create_dir(place.path("new")).unwrap();
    let base = ["serve", "--create", "--listen", "127.0.0.1:0"];
    let run = place.run(&[&base[..], &["--watch", "no-such-dir"]].concat());
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("cannot read no-such-dir"), "{run:?}");
    let run = place.run(&["serve", "--read-only", "--watch", "new"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    let run = place.run(&["serve", "--collection", "spring"]);
    assert_eq!(run.code, Some(2), "{run:?}");
}

/// A crawler copies a package into the folder: it is loaded once it is complete, and a restart adds
/// nothing.
#[test]
fn packages_are_loaded_when_they_are_whole() {
    let place = Workspace::new();
    place.write("web.warc", &fixture::small_web());
    place.good(&["load", "--archive", "made", "web.warc"]);
    place.good(&["export", "--archive", "made", "--wacz", "visit.wacz"]);
    let package = fs::read(place.path("visit.wacz")).expect("the package");
    fs::create_dir(place.path("new")).expect("a folder");
    let mut served = serve(&place, &["--collection", "visit"]);
    place.write("new/visit.wacz", &package[..package.len() / 2]);
    // Longer than the wait for a complete file.
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(place.json(&["status"])["captures"], 0);
    place.write("new/visit.wacz", &package);
    wait_for(&place, "the package is loaded", |rows| {
        done(rows, "data.warc.gz") == Some(5)
    });
    // The earlier partial file does not count as a failed input.
    assert_eq!(ledger(&place).len(), 1, "{:?}", ledger(&place));
    assert_eq!(served.stop(), Some(0));

    let mut served = serve(&place, &["--collection", "visit"]);
    place.write("new/more.warc", &fixture::other_web());
    wait_for(&place, "another file is loaded", |rows| {
        done(rows, "more.warc") == Some(1)
    });
    assert_eq!(place.json(&["status"])["captures"], 6);
    assert_eq!(served.stop(), Some(0));
}
