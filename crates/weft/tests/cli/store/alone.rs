//! Commands that open the volumes themselves.

use std::process::Stdio;

use super::{TwoVolumes, content};
use crate::support::Run;

#[test]
fn what_was_put_is_got_listed_and_removed() {
    let kept = TwoVolumes::new();
    kept.place.write("large.warc.gz", &content(700_000));
    kept.place.write("small.txt", b"small");
    let put = kept.run(&["put", "large.warc.gz", "small.txt", "store://crawls/2014/"]);
    assert_eq!(put.code, Some(0), "{}", put.stderr);
    assert!(
        put.stderr.contains("created a new store") && put.stderr.contains("2 copies"),
        "{}",
        put.stderr
    );
    assert!(
        put.stderr.contains("created bucket store://crawls\n"),
        "{}",
        put.stderr
    );
    let again = kept.run(&["put", "small.txt", "store://crawls/2014/"]);
    assert!(!again.stderr.contains("bucket"), "{}", again.stderr);
    let short = kept.run(&["put", "small.txt", "store://cr/"]);
    assert_eq!(short.code, Some(2));
    assert!(short.stderr.contains("3 to 63"), "{}", short.stderr);
    assert!(
        put.stdout
            .contains("store://crawls/2014/large.warc.gz  683.6 KiB"),
        "{}",
        put.stdout
    );

    kept.good(&["get", "store://crawls/2014/large.warc.gz", "copy"]);
    assert_eq!(
        std::fs::read(kept.place.path("copy")).expect("a file"),
        content(700_000)
    );
    assert_eq!(kept.good(&["get", "crawls/2014/small.txt", "-"]), "small");
    kept.good(&["get", "crawls/2014/small.txt"]);
    assert_eq!(kept.good(&["ls"]).lines().count(), 2, "one bucket and the sum");
    assert!(kept.good(&["ls", "crawls/"]).contains("store://crawls/2014/\n"));
    let all = kept.good(&["ls", "crawls", "--recursive"]);
    assert!(
        all.contains("683.6 KiB  store://crawls/2014/large.warc.gz\n"),
        "{all}"
    );
    assert!(all.ends_with("2 objects, 683.6 KiB\n"), "{all}");

    let refused = kept.run(&["rm", "crawls/", "--recursive"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("2 objects"), "{}", refused.stderr);
    assert_eq!(kept.good(&["rm", "crawls/2014/small.txt"]), "");
    let gone = kept.run(&["get", "crawls/2014/small.txt", "again"]);
    assert_eq!(gone.code, Some(1));
    assert!(!kept.place.path("again").exists());
    assert_eq!(
        kept.run(&["rm", "crawls/2014/small.txt"]).code,
        Some(1),
        "it is gone already"
    );
    assert_eq!(
        kept.good(&["rm", "crawls/", "-r", "--yes"]),
        "deleted 1 object, 683.6 KiB\n"
    );
    assert_eq!(kept.good(&["ls", "crawls", "-r"]), "0 objects, 0 B\n");
    assert!(kept.good(&["ls"]).ends_with("1 bucket\n"), "it stays");
}

#[test]
fn standard_input_becomes_an_object() {
    let kept = TwoVolumes::new();
    let mut command =
        kept.place
            .command(&["store", "put", "-", "crawls/in", "--volume", "a", "--volume", "b"]);
    let file = kept.place.write("input", &content(300_000));
    let input = std::fs::File::open(file).expect("a file");
    let run = Run::of(
        command
            .stdin(Stdio::from(input))
            .output()
            .expect("the program starts"),
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        kept.good(&["ls", "crawls", "-r"])
            .contains("293.0 KiB  store://crawls/in\n")
    );
}

#[test]
fn an_object_that_is_there_is_left_as_it_is_if_asked() {
    let kept = TwoVolumes::filled();
    kept.place.write("small.txt", b"other");
    let run = kept.run(&["put", "small.txt", "crawls/2014/", "--if-absent"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("already exists"), "{}", run.stderr);
    assert_eq!(kept.good(&["get", "crawls/2014/small.txt", "-"]), "small");
    kept.good(&["put", "small.txt", "crawls/2014/"]);
    assert_eq!(kept.good(&["get", "crawls/2014/small.txt", "-"]), "other");
}

#[test]
fn a_file_that_cannot_be_read_does_not_stop_the_others() {
    let kept = TwoVolumes::new();
    kept.place.write("one", b"1");
    std::fs::create_dir(kept.place.path("folder")).expect("a folder");
    let run = kept.run(&["put", "missing", "folder", "one", "crawls/"]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.contains("missing") && run.stderr.contains("folder"),
        "{}",
        run.stderr
    );
    assert_eq!(kept.good(&["get", "crawls/one", "-"]), "1");
}

#[test]
fn digests_are_those_that_others_compute() {
    let kept = TwoVolumes::new();
    kept.place.write("abc", b"abc");
    kept.good(&["put", "abc", "crawls/", "--content-type", "text/plain"]);
    let stat = kept.good(&["stat", "crawls/abc"]);
    for line in [
        "MD5      900150983cd24fb0d6963f7d28e17f72",
        "SHA-256  ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "BLAKE3   6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85",
        "content-type text/plain",
    ] {
        assert!(stat.lines().any(|l| l == line), "{line} is not in\n{stat}");
    }
    assert_eq!(stat.matches("  here     good").count(), 2, "{stat}");
    let fixity = kept.good(&["fixity", "crawls/abc", "--sha512"]);
    assert!(
        fixity.contains("SHA-512  ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"),
        "{fixity}"
    );
}

#[test]
fn everything_speaks_json() {
    let kept = TwoVolumes::filled();
    let objects = kept.json(&["ls", "crawls", "-r"]);
    assert_eq!(objects[0]["key"], "crawls/2014/large.warc.gz");
    assert_eq!(objects[1]["size"], 5);
    let bucket = &kept.json(&["ls"])[0];
    assert_eq!(
        (&bucket["prefix"], &bucket["bucket"]),
        (&"crawls/".into(), &"crawls".into())
    );
    assert!(bucket["created_ms"].is_u64(), "{bucket}");
    let stat = &kept.json(&["stat", "crawls/2014/small.txt"])[0];
    assert_eq!(stat["object"]["etag"], "eb5c1399a871211c7e7ed732d15e3a8b");
    assert_eq!(stat["replicas"].as_array().map(Vec::len), Some(2));
    let census = &kept.json(&["census"])[0];
    assert_eq!(
        (census["objects"].as_u64(), census["replicas_good"].as_u64()),
        (Some(3), Some(6)),
        "the bucket has a record"
    );
    assert_eq!(kept.json(&["scrub"])[0]["replicas"], 6);
    assert_eq!(kept.json(&["repair"])[0]["copies"], 0);
    assert_eq!(kept.json(&["repair", "--dry-run"])[0]["replicas_missing"], 0);
    let layout = &kept.json(&["layout", "show"])[0];
    assert_eq!(layout["layouts"]["current"]["number"], 1);
    assert_eq!(layout["shares"]["local/a"], 0.5);
    let status = &kept.json(&["status"])[0];
    assert_eq!(status["volumes"][1]["id"], "local/b");
    assert_eq!(status["volumes"][1]["state"], "in service");
    let fixity = kept.json(&["fixity", "crawls/2014/small.txt"]);
    assert_eq!(fixity[0]["object"]["key"], "crawls/2014/small.txt");
    assert_eq!(
        kept.json(&["put", "small.txt", "crawls/again"])[0]["key"],
        "crawls/again"
    );
    assert_eq!(kept.json(&["get", "crawls/again", "here"])[0]["file"], "here");
    assert_eq!(kept.json(&["rm", "crawls/again"])[0]["deleted"], "crawls/again");
    assert_eq!(kept.run(&["stat", "crawls/again", "--json"]).code, Some(1));
    assert_eq!(kept.json(&["reindex"]).len(), 2);
    assert!(
        kept.json(&["layout", "figures"])[0]
            .as_array()
            .is_some_and(|all| all.len() > 5)
    );
}

#[test]
fn the_environment_names_the_store() {
    let kept = TwoVolumes::filled();
    let volumes = format!(
        "{}:{}",
        kept.place.path("a").display(),
        kept.place.path("b").display()
    );
    let run = |value: &str| {
        let mut command = kept.place.command(&["store", "ls", "crawls/2014/"]);
        Run::of(
            command
                .env("WEFT_STORE", value)
                .output()
                .expect("the program starts"),
        )
    };
    assert_eq!(run(&volumes).code, Some(0));
    kept.place.write(
        "node.toml",
        b"id = \"local\"\nsecret = \"secret\"\n[[volume]]\npath = \"a\"\n[[volume]]\npath = \"b\"\n",
    );
    let by_file = run("node.toml");
    assert_eq!(
        (by_file.code, by_file.stdout),
        (Some(0), run(&volumes).stdout),
        "{}",
        by_file.stderr
    );
}

#[test]
fn the_index_is_made_anew_from_the_files() {
    let kept = TwoVolumes::filled();
    let before = kept.good(&["ls", "crawls", "-r"]);
    let said = kept.good(&["reindex"]);
    assert!(said.starts_with("local/a (a): 3 replicas"), "{said}");
    assert_eq!(kept.good(&["ls", "crawls", "-r"]), before);
    kept.good(&["census"]);
}

#[test]
fn a_forgotten_volume_is_not_retired_by_mistake() {
    let kept = TwoVolumes::filled();
    let apply = |more: &[&str]| {
        let all = ["store", "layout", "apply", "--volume", "a"];
        kept.place.run(&[&all[..], more].concat())
    };
    let refused = apply(&[]);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    for part in ["local/b would be retired", "fall from 2 to 1", "--yes"] {
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    let applied = apply(&["--yes"]);
    assert_eq!(applied.code, Some(0), "{}", applied.stderr);
    assert!(
        applied.stdout.contains("layout 2 is in force"),
        "{}",
        applied.stdout
    );
}

/// Scenario: a user drains one of two disks as documented, and must not lose the second copies
/// without confirming it.
#[test]
fn draining_the_second_of_two_volumes_needs_a_yes() {
    let kept = TwoVolumes::filled();
    let drained = |arguments: &[&str]| {
        let volumes = ["--volume", "a", "--volume", "b,weight=0"];
        kept.place.run(&[&["store"], arguments, &volumes].concat())
    };
    let refused = drained(&["layout", "apply"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    for part in [
        "the number of copies of every object would fall from 2 to 1",
        "--yes",
    ] {
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    assert_eq!(kept.replica_files("b").len(), 3, "nothing has changed");
    assert_eq!(drained(&["layout", "apply", "--yes"]).code, Some(0));
    kept.good(&["repair"]);
    let shown = kept.good(&["layout", "show"]);
    assert!(shown.contains(", 1 copy of every object\n"), "{shown}");
    let status = kept.good(&["status"]);
    assert!(status.contains(": 1 copy of every object"), "{status}");
    assert_eq!(kept.json(&["census"])[0]["replicas_expected"], 3);
}

#[test]
fn copies_are_counted_on_volumes_with_a_weight_from_the_beginning() {
    let kept = TwoVolumes::new();
    kept.place.write("one", b"1");
    let put = |volumes: &[&str]| {
        kept.place
            .run(&[&["store", "put", "one", "crawls/"], volumes].concat())
    };
    let made = put(&["--volume", "a", "--volume", "b,weight=0"]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert!(
        made.stderr.contains("one copy of every object"),
        "{}",
        made.stderr
    );
    kept.place.write(
        "node.toml",
        b"id = \"n\"\nsecret = \"secret\"\nreplicas = 2\n[[volume]]\npath = \"c\"\n[[volume]]\npath = \"d\"\nweight = 0\n",
    );
    let refused = put(&["--config", "node.toml"]);
    assert_ne!(refused.code, Some(0));
    let said = "2 copies of every object require as many volumes with a weight above 0, but there are 1";
    assert!(refused.stderr.contains(said), "{}", refused.stderr);
}

#[test]
fn a_third_disk_is_planned_then_taken_in() {
    let kept = TwoVolumes::filled();
    let with_c = |arguments: &[&str]| {
        let all: Vec<&str> = ["store"]
            .iter()
            .chain(arguments)
            .copied()
            .chain(["--volume", "a", "--volume", "b", "--volume", "c"])
            .collect();
        kept.place.run(&all)
    };
    let plan = with_c(&["layout", "plan"]);
    assert_eq!(plan.code, Some(0), "{}", plan.stderr);
    assert!(
        plan.stdout.contains("from layout 1 to 2: 33.3") && plan.stdout.contains("local/c"),
        "{}",
        plan.stdout
    );
    let applied = with_c(&["layout", "apply"]);
    assert_eq!(applied.code, Some(0), "{}", applied.stderr);
    assert!(
        applied.stdout.contains("layout 2 is in force"),
        "{}",
        applied.stdout
    );
    assert!(with_c(&["layout", "apply"]).stdout.contains("nothing to change"));
    assert_eq!(with_c(&["repair"]).code, Some(0));
    let census = with_c(&["census"]);
    assert_eq!(census.code, Some(0), "{}{}", census.stdout, census.stderr);
    let got = with_c(&["get", "crawls/2014/large.warc.gz", "copy"]);
    assert_eq!(got.code, Some(0), "{}", got.stderr);
    assert_eq!(
        std::fs::read(kept.place.path("copy")).expect("a file"),
        content(700_000)
    );
}

/// Scenario: two commands at once. The second works through the first, which has the volumes open.
/// The first finishes sooner, and must not exit before the second is done.
#[test]
fn a_command_stays_until_nobody_works_through_it() {
    let kept = TwoVolumes::filled();
    for turn in 0..4 {
        let name = format!("large-{turn}");
        kept.place.write(&name, &content(12_000_000));
        let puts: Vec<_> = [name.as_str(), "small.txt"]
            .iter()
            .map(|file| {
                kept.place.start(&[
                    "store",
                    "put",
                    file,
                    "together/",
                    "--volume",
                    "a",
                    "--volume",
                    "b",
                ])
            })
            .collect();
        for put in puts {
            let run = Run::of(put.wait_with_output().expect("it ends"));
            assert_eq!(run.code, Some(0), "turn {turn}: {}", run.stderr);
        }
    }
    assert!(kept.good(&["ls", "together/"]).contains("5 objects"));
}
