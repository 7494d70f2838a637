//! Inputs other than local files: from a web server, and kept in the store.

use std::collections::BTreeMap;

use crate::fixture;
#[cfg(unix)]
use crate::serve::Served;
use crate::support::{VIEWS, Workspace, json_lines};
use crate::web::{Behaviour, Trouble, Web};

/// Returns the dumps of all views, with `prefix` removed from the names of inputs.
pub(crate) fn dumps(place: &Workspace, archive: &str, prefix: &str) -> BTreeMap<&'static str, String> {
    VIEWS
        .iter()
        .map(|view| {
            let dump = place.good(&["dump", view, "--archive", archive]);
            (*view, dump.replace(prefix, ""))
        })
        .collect()
}

/// Returns a place with the small web as a file, loaded into the archive `local`.
pub(crate) fn local() -> Workspace {
    let place = Workspace::new();
    place.write_old("web.warc", &fixture::small_web());
    place.good(&["load", "web.warc", "--archive", "local"]);
    place
}

#[test]
fn a_web_server_gives_what_a_file_gives() {
    let place = local();
    let web = Web::start(&fixture::small_web(), Behaviour::Ranges);
    let url = web.url("/web.warc");
    web.order([
        Trouble::Status(503),
        Trouble::Cut(0),
        Trouble::Cut(100),
        Trouble::Status(500),
    ]);
    place.good(&["load", &url, "--archive", "far"]);
    let prefix = web.url("/");
    assert_eq!(dumps(&place, "far", &prefix), dumps(&place, "local", &prefix));
    let page = "http://www.library.example/";
    for part in ["--headers", "--payload", "--stored"] {
        let record = |archive| place.run(&["record", page, part, "--archive", archive]);
        let (far, local) = (record("far"), record("local"));
        assert_eq!((far.code, far.stdout), (local.code, local.stdout), "{part}");
    }
    let verified = place.good(&["verify", "--archive", "far"]);
    assert!(verified.contains("every view matches 1 input"), "{verified}");
    let inspected = |location: &str| {
        place
            .good(&["inspect", location, "--summary"])
            .replace(&prefix, "")
    };
    assert_eq!(inspected(&url), inspected("web.warc"));
}

#[test]
fn what_cannot_be_had_is_said_with_its_address() {
    let place = Workspace::new();
    let web = Web::start(b"", Behaviour::Ranges);
    let (absent, secret) = (web.url("/absent"), web.url("/secret"));
    let run = place.run(&["load", &absent, &secret]);
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    for expected in [
        format!("{absent}: failed(no such input)"),
        format!("{secret}: failed(the server says 403"),
    ] {
        assert!(run.stdout.contains(&expected), "{expected}\n{}", run.stdout);
    }
    let run = place.run(&["load", "store://inputs/x.warc"]);
    assert!(run.stdout.contains("WEFT_STORE"), "{}", run.stdout);
}

#[test]
fn kept_inputs_are_loaded_from_the_store() {
    let place = local();
    let load = [
        "load",
        "--keep",
        "./web.warc",
        "--archive",
        "kept",
        "--volume",
        "one",
        "--volume",
        "two",
    ];
    let first = place.run(&load);
    assert_eq!(first.code, Some(0), "{}{}", first.stdout, first.stderr);
    assert!(
        first
            .stdout
            .contains("kept: ./web.warc -> store://inputs/web.warc"),
        "{}",
        first.stdout
    );
    assert_eq!(
        dumps(&place, "kept", "store://inputs/"),
        dumps(&place, "local", "")
    );
    // The second time nothing is written and nothing is added.
    let again: Vec<&str> = load.iter().copied().chain(["--json"]).collect();
    let lines = json_lines(&place.run(&again).stdout);
    assert_eq!(
        (&lines[0]["kept"], &lines[0]["written"]),
        (&"store://inputs/web.warc".into(), &false.into())
    );
    assert_eq!(lines.last().expect("the job")["inputs_known"], 1);
    // The file may be deleted: the records are in the store.
    std::fs::remove_file(place.path("web.warc")).expect("remove the file");
    let mut record = place.command(&["record", "http://www.library.example/", "--archive", "kept"]);
    let record = record
        .env("WEFT_STORE", "one:two")
        .output()
        .expect("the program starts");
    let local = place.run(&["record", "http://www.library.example/", "--archive", "kept"]);
    assert_eq!((record.status.code(), local.code), (Some(0), Some(1)));
    // Other content under the same name is rejected, and the object stays.
    place.write_old("web.warc", b"WARC/1.0\r\n");
    let other = place.run(&load);
    assert_eq!(other.code, Some(1));
    assert!(
        other.stderr.contains("already exists with other content"),
        "{}",
        other.stderr
    );
}

/// Scenario: the archive is on a machine without volumes of the store, and its inputs are in a
/// cluster of other machines.
#[cfg(unix)]
#[test]
fn inputs_in_a_cluster_are_read_from_a_machine_without_a_volume() {
    let place = local();
    let address = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let address = address.expect("a free port");
    let cluster = format!(
        "replicas = 1\n[[node]]\nid = \"n1\"\nzone = \"z\"\naddress = \"{address}\"\n[[node.volume]]\nname = \"d\"\n"
    );
    let node = format!(
        "id = \"n1\"\nlisten = \"{address}\"\ncluster = \"cluster.toml\"\nsecret = \"secret\"\n\
         [[volume]]\nname = \"d\"\npath = \"d\"\n"
    );
    place.write("cluster.toml", cluster.as_bytes());
    place.write("node.toml", node.as_bytes());
    let _node = Served::start_with(&place, &["store", "serve", "--config", "node.toml"]);
    let there = |command: &[&'static str]| {
        let flags = [
            "--archive",
            "kept",
            "--cluster",
            "cluster.toml",
            "--secret-file",
            "secret",
        ];
        [command, &flags].concat()
    };
    assert_eq!(place.run(&there(&["load", "--keep", "web.warc"])).code, Some(0));
    std::fs::remove_file(place.path("web.warc")).expect("remove the file");
    let record = ["record", "http://www.library.example/"];
    assert!(place.good(&there(&record)).starts_with("WARC/1."));
    assert!(
        place
            .good(&there(&["verify"]))
            .contains("every view matches 1 input")
    );
    place.good(&there(&["inspect", "--summary", "store://inputs/web.warc"]));
    let served = Served::start_with(&place, &there(&["serve", "--listen", "127.0.0.1:0"]));
    let answer = served.get("/record?url=http://www.library.example/");
    assert!(
        answer.starts_with("HTTP/1.0 200") || answer.starts_with("HTTP/1.1 200"),
        "{answer}"
    );
    drop(served);
    let untold = place.run(&[&record[..], &["--archive", "kept"]].concat());
    assert_eq!(untold.code, Some(1));
    assert!(
        untold.stderr.contains("--cluster cluster.toml"),
        "{}",
        untold.stderr
    );
    for command in ["record", "verify", "inspect", "load", "serve"] {
        let help = place.good(&[command, "--help"]);
        assert!(
            help.contains("--cluster <CLUSTER.TOML>") && help.contains("--volume"),
            "{command}"
        );
    }
}

/// Scenario: one of several input names is mistyped. This is noticed before any other input is
/// stored, so the command can be repeated with the correct name.
#[test]
fn nothing_is_kept_before_every_input_was_looked_at() {
    let place = local();
    place.write_old("other/web.warc", &fixture::small_web());
    let keep = |inputs: &[&str]| {
        let flags = ["--archive", "kept", "--volume", "one", "--volume", "two"];
        place.run(&[&["load", "--keep"], inputs, &flags].concat())
    };
    for (inputs, said) in [
        (["web.warc", "web.wrac"], "web.wrac: no such file"),
        (
            ["other/../web.warc", "other/web.warc"],
            "would both become store://inputs/other/web.warc",
        ),
    ] {
        let run = keep(&inputs);
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{}", run.stderr);
        assert!(
            run.stderr.contains(said) && run.stderr.contains("1 input of 2 cannot be stored, so none was"),
            "{}",
            run.stderr
        );
    }
    assert!(!place.path("one").exists() && !place.path("kept").exists());
    assert_eq!(keep(&["web.warc"]).code, Some(0));
}
