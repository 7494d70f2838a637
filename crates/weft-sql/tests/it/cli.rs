//! The program on the command line.

use crate::place::{NOT_IN_NULLS, Workspace};

#[test]
fn rows_come_in_every_form() {
    let place = Workspace::new();
    let statement = "select url_host_tld, count(*) as n from captures group by 1 order by 1 limit 2";
    let table = place.good(&[statement]);
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows[0], ["url_host_tld", "n"]);
    let csv = place.good(&["--format", "csv", statement]);
    let expected: Vec<String> = rows.iter().map(|row| row.join(",")).collect();
    assert_eq!(csv.lines().collect::<Vec<_>>(), expected);
    let json: serde_json::Value = serde_json::from_str(&place.good(&["--json", statement])).unwrap();
    assert_eq!(json["epoch"], 1);
    assert_eq!(json["rows"][0]["url_host_tld"], rows[1][0]);
    assert_eq!(json["rows"][0]["n"].to_string(), rows[1][1]);
    let jsonl = place.good(&["--format", "jsonl", statement]);
    assert_eq!(jsonl.lines().count(), 2);
    let none = "select url from pages where url_key = 'x' limit 1";
    let json: serde_json::Value = serde_json::from_str(&place.good(&["--json", none])).unwrap();
    assert_eq!(json["rows"].as_array().map(Vec::len), Some(0));
    for (format, magic) in [("parquet", b"PAR1".as_slice()), ("arrow", b"\xff\xff\xff\xff")] {
        place.good(&["--format", format, "--output", format, statement]);
        let bytes = std::fs::read(place.path(format)).unwrap();
        assert!(bytes.starts_with(magic), "{format}");
    }
}

#[test]
fn csv_without_rows_has_its_header() {
    let place = Workspace::new();
    let csv = |statement: &str| place.good(&["--format", "csv", statement]);
    assert_eq!(csv("select url, url_key as k from pages where false"), "url,k\n");
    assert_eq!(csv("select 1 as one"), "one\n1\n");
}

#[test]
fn a_file_is_not_overwritten_and_appears_when_it_is_complete() {
    let place = Workspace::new();
    std::fs::write(place.path("kept.csv"), "precious\n").unwrap();
    for statement in ["select nosuch from captures", "select 1 as one"] {
        let output = place.run(&["--format", "csv", "-o", "kept.csv", statement]);
        let wrong = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        assert!(
            wrong.contains("kept.csv already exists and is not overwritten"),
            "{wrong}"
        );
    }
    assert_eq!(
        std::fs::read_to_string(place.path("kept.csv")).unwrap(),
        "precious\n"
    );
    let output = place.run(&["--format", "csv", "-o", "new.csv", "select nosuch from captures"]);
    assert_eq!(output.status.code(), Some(2));
    for name in ["new.csv", "new.csv.part"] {
        assert!(!place.path(name).exists(), "{name}");
    }
    place.good(&["--format", "csv", "-o", "new.csv", "select 1 as one"]);
    assert_eq!(
        std::fs::read_to_string(place.path("new.csv")).unwrap(),
        "one\n1\n"
    );
    assert!(!place.path("new.csv.part").exists());
    assert_eq!(
        place.good(&["--format", "csv", "-o", "-", "select 1 as one"]),
        "one\n1\n"
    );
    assert!(!place.path("-").exists());
}

/// `weft sql` passes its own flags on before those of the user.
#[test]
fn the_last_archive_counts() {
    let place = Workspace::new();
    let count = "select count(*) as n from pages";
    let arguments = [
        "--archive",
        "nowhere",
        "--json",
        count,
        "--archive",
        "weft-archive",
        "--json",
    ];
    assert!(place.good(&arguments).contains("60"));
    let mut command = place.command(&[
        "--archive",
        "nowhere",
        count,
        "--archive",
        "weft-archive",
        "--format",
        "csv",
    ]);
    let output = command.env("WEFT_ARCHIVE", "nowhere").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "n\n60\n", "{output:?}");
}

#[test]
fn statements_come_from_files_and_failures_have_their_codes() {
    let place = Workspace::new();
    std::fs::write(
        place.path("question.sql"),
        "-- how many\nselect count(*) as n from pages\n",
    )
    .unwrap();
    assert_eq!(place.good(&["--format", "csv", "-f", "question.sql"]), "n\n60\n");
    for (arguments, code, said) in [
        (["selec 1"].as_slice(), 2, "column 1"),
        (&["select * from nothing"], 2, "there is no table nothing"),
        (&["drop table captures"], 2, "read-only"),
        (&["-f", "missing.sql"], 1, "missing.sql"),
        (&["--archive", "elsewhere", "select 1"], 1, "elsewhere"),
        (&["--archive", "question.sql", "select 1"], 2, "is a file"),
        (&["--format", "tables", "select 1"], 2, "invalid value"),
        (&["select 1", "verify"], 2, "cannot be combined with a statement"),
        (&["--at-epoch", "7", "select 1"], 1, "epoch 7"),
        (
            &[
                "--time-limit",
                "1",
                "select count(*) from generate_series(1, 10000) a, generate_series(1, 10000000) b where a.value * b.value = 7",
            ],
            1,
            "1 s",
        ),
    ] {
        let output = place.run(arguments);
        let wrong = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {wrong}");
        assert!(wrong.contains(said), "{arguments:?}: {wrong}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn views_are_verified_and_facts_maintained() {
    let place = Workspace::new();
    let said = place.good(&["verify"]);
    assert!(
        said.contains("every view matches its definition over the facts (epoch 1)"),
        "{said}"
    );
    // A flag before the command does not make it a statement.
    assert_eq!(place.good(&["--archive", "weft-archive", "verify"]), said);
    let json: serde_json::Value = serde_json::from_str(&place.good(&["verify", "--json"])).unwrap();
    assert_eq!(json["views"].as_array().map(Vec::len), Some(7));
    let said = place.good(&["maintain"]);
    assert!(said.contains("captures") && said.contains("1 file"), "{said}");
}

#[test]
fn files_on_the_disk_are_asked_and_what_is_missing_or_in_use_is_told() {
    let place = Workspace::new();
    let statement = "select name, size_bytes, type from file_names where name like '%.%' order by 1";
    let output = place.run(&[statement]);
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{wrong}");
    assert!(
        wrong.contains("run `weft files scan DIR` to create one"),
        "{wrong}"
    );
    place.scan();
    let expected = "name,size_bytes,type\na.warc.gz,10,file\nb.pdf,200,file\n";
    for more in [&[][..], &["--read-only"]] {
        let arguments = [&["--format", "csv"], more, &[statement]].concat();
        assert_eq!(place.good(&arguments), expected);
    }
    let held = place.catalogue();
    let output = place.run(&[statement]);
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{wrong}");
    assert!(wrong.contains("in use by another process"), "{wrong}");
    drop(held);
    assert_eq!(place.good(&["--format", "csv", statement]), expected);
}

/// The same on every interface.
#[test]
fn not_in_knows_null_on_the_command_line() {
    assert_eq!(
        Workspace::new().good(&["--format", "csv", NOT_IN_NULLS]),
        "n\n0\n"
    );
}
