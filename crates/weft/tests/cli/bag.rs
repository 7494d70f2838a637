//! Input files exported as a bag that other tools validate, and as a table of their fixity.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use sha2::{Digest as _, Sha256};
use zip::CompressionMethod;

use crate::fixture;
use crate::packages::zipped;
use crate::support::Workspace;

fn loaded() -> Workspace {
    let place = Workspace::new();
    place.write("autumn/web.warc", &fixture::small_web());
    place.write("other/other.warc", &fixture::other_web());
    place.good(&["load", "autumn/web.warc", "--collection", "autumn"]);
    place.good(&["load", "other/other.warc", "--collection", "winter"]);
    place
}

/// Checks that every file of the manifest has its digest, and that every file below `data/` is
/// listed.
#[track_caller]
fn check_bag(bag: &Path, files: &[&str]) {
    let manifest = fs::read_to_string(bag.join("manifest-sha256.txt")).expect("a manifest");
    let listed: BTreeMap<&str, &str> = manifest
        .lines()
        .map(|line| {
            line.split_once("  ")
                .map(|(digest, path)| (path, digest))
                .expect("two columns")
        })
        .collect();
    assert_eq!(listed.keys().copied().collect::<Vec<_>>(), files);
    let mut bytes = 0;
    for (path, digest) in &listed {
        let content = fs::read(bag.join(path)).expect("a file of the bag");
        bytes += content.len();
        let found: String = Sha256::digest(&content)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(found, **digest, "{path}");
    }
    let info = fs::read_to_string(bag.join("bag-info.txt")).expect("bag-info.txt");
    assert!(
        info.contains(&format!("Payload-Oxum: {bytes}.{}\n", files.len())),
        "{info}"
    );
}

#[test]
fn a_collection_is_a_bag_of_its_files() {
    let place = loaded();
    let said = place.good(&["export", "--bag", "bag", "--collection", "autumn"]);
    assert!(
        said.contains("1 file, ") && said.contains("written to bag and verified"),
        "{said}"
    );
    check_bag(&place.path("bag"), &["data/autumn/web.warc"]);
    assert_eq!(
        fs::read(place.path("bag/data/autumn/web.warc")).expect("the file"),
        fixture::small_web()
    );
    // A bag is not overwritten, and a failed export leaves nothing.
    assert_eq!(place.run(&["export", "--bag", "bag"]).code, Some(2));
    place.good(&["export", "--bag", "all"]);
    check_bag(
        &place.path("all"),
        &["data/autumn/web.warc", "data/other/other.warc"],
    );
    assert_eq!(
        place
            .run(&["export", "--bag", "none", "--collection", "spring"])
            .code,
        Some(1)
    );
    let names: Vec<String> = fs::read_dir(place.path(""))
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"))
        .filter(|name| name.starts_with("none") || name.starts_with(".none"))
        .collect();
    assert_eq!(names, Vec::<String>::new());
}

/// Damaged files are those that must not be lost. If something is taken down, it may be in a part
/// that was not read.
#[test]
fn damaged_files_are_in_a_bag_unless_something_is_taken_down() {
    let place = loaded();
    let mut junk = fixture::other_web();
    junk.extend(b"neither a record nor a member");
    let damaged: [(&str, &[u8]); 3] = [
        ("bad/cut.wacz", b"PK\x03\x04"),
        ("bad/junk.warc", b"no record"),
        ("bad/part.warc.open", &junk),
    ];
    for (name, bytes) in damaged {
        place.write_old(name, bytes);
    }
    place.run(&["load", "bad"]);
    let run = place.run(&["export", "--bag", "bag"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stderr.starts_with("3 files are in the bag as found"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr
            .contains("bad/junk.warc: it was not loaded to its end (failed("),
        "{}",
        run.stderr
    );
    for (name, bytes) in damaged {
        let copy = fs::read(place.path("bag/data").join(name)).expect("the file");
        assert!(copy == bytes, "{name}");
    }
    place.good(&["forget", "--url", "http://nobody.example/"]);
    let run = place.run(&["export", "--bag", "less"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.starts_with("3 files were left out"), "{}", run.stderr);
    assert!(
        run.stderr
            .contains("it is unknown whether something of it is taken down"),
        "{}",
        run.stderr
    );
}

#[test]
fn bagit_validates_a_bag() {
    let Some(python) = test_env::python(&["bagit"]) else {
        println!("skipped: bagit validates a bag, because the package bagit is not there");
        return;
    };
    let place = loaded();
    place.good(&["export", "--bag", "bag"]);
    let validated = Command::new(python)
        .args(["-c", "import bagit, sys; bagit.Bag(sys.argv[1]).validate()"])
        .arg(place.path("bag"))
        .output()
        .expect("it runs");
    assert!(validated.status.success(), "{validated:?}");
}

/// Files that are taken down, changed or missing are left out and named.
#[test]
fn files_that_may_not_leave_are_left_out_and_named() {
    let place = loaded();
    place.good(&["forget", "--url", "http://museum.example/maps", "--reason", "x"]);
    let run = place.run(&["export", "--bag", "bag"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(
        run.stderr
            .contains("autumn/web.warc: something of it is taken down"),
        "{}",
        run.stderr
    );
    check_bag(&place.path("bag"), &["data/other/other.warc"]);

    place.write("other/other.warc", &fixture::small_web());
    let run = place.run(&["export", "--bag", "changed"]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.contains("has no file that can be put into a bag"),
        "{}",
        run.stderr
    );
    assert!(!place.path("changed").exists());

    // Only users who may see everything get whole files.
    place.good(&["rights", "add", "--deny", "--prefix", "http://museum.example/"]);
    let run = place.run(&["export", "--bag", "hidden", "--as", ""]);
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    assert!(!place.path("hidden").exists());
}

#[test]
fn a_package_is_in_a_bag_as_a_whole() {
    let place = Workspace::new();
    let pages = concat!(
        "{\"url\": \"http://museum.example/\", \"ts\": \"2015-03-01T08:00:00Z\"}\n",
        "{\"url\": \"http://listed.example/\", \"ts\": \"2015-03-01T08:00:00Z\"}\n",
    );
    let (one, other) = (fixture::small_web(), fixture::other_web());
    let members: [(&str, &[u8]); 4] = [
        ("archive/one.warc", &one),
        ("archive/other.warc", &other),
        ("pages/pages.jsonl", pages.as_bytes()),
        ("logs/crawl.log", b"a log"),
    ];
    let package = zipped(&members, CompressionMethod::Deflated);
    // It has no description, which is a failed input of the package.
    place.write_old("crawls/crawl.wacz", &package);
    let path = place.path("crawls/crawl.wacz").display().to_string();
    place.run(&["load", &path]);
    place.good(&["export", "--bag", "bag"]);
    check_bag(&place.path("bag"), &["data/crawl.wacz"]);
    assert!(fs::read(place.path("bag/data/crawl.wacz")).expect("it") == package);
    place.run(&["load", "bag/data", "--archive", "again"]);
    assert_eq!(place.json(&["status", "--archive", "again"])["captures"], 6);
    assert!(
        place
            .good(&["pages", "--archive", "again"])
            .contains("listed.example")
    );

    // Only its list names this page.
    place.good(&["forget", "--url", "http://listed.example/"]);
    let run = place.run(&["export", "--bag", "listed"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(
        run.stderr.contains("crawl.wacz: something of it is taken down"),
        "{run:?}"
    );
}

#[test]
fn fixity_is_a_table_for_people_who_look_after_files() {
    let place = loaded();
    place.good(&["verify", "--csv", "good.csv"]);
    let table = |name: &str| -> Vec<Vec<String>> {
        let text = fs::read_to_string(place.path(name)).expect("a table");
        let rows = text
            .split_terminator("\r\n")
            .map(|row| row.split(',').map(str::to_owned).collect());
        rows.collect()
    };
    let good = table("good.csv");
    assert_eq!(good.len(), 3);
    let outcome = good[0]
        .iter()
        .position(|name| name == "event_outcome")
        .expect("a column");
    assert!(
        good[1..]
            .iter()
            .all(|row| row[outcome] == "success" && row[4] == row[6]),
        "{good:?}"
    );

    let mut changed = fixture::small_web();
    changed[200] ^= 1;
    place.write("autumn/web.warc", &changed);
    fs::remove_file(place.path("other/other.warc")).expect("remove it");
    let run = place.run(&["verify", "--csv", "bad.csv"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(
        run.stdout
            .contains("2 inputs checked: success 0, fail 2, warning 0"),
        "{}",
        run.stdout
    );
    let bad = table("bad.csv");
    assert!(bad[1..].iter().all(|row| row[outcome] == "fail"), "{bad:?}");
    assert_eq!(
        place.run(&["verify", "--csv", "bad.csv"]).code,
        Some(2),
        "it is not overwritten"
    );
}
