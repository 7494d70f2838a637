//! Facts: their locations, and independent engines that read the same rows from them.

use std::path::{Path, PathBuf};

use crate::fixture;
use crate::s3_inputs::S3Store;
use crate::support::{Workspace, json_lines};

/// Returns a place with the small web of the fixture.
fn web() -> Workspace {
    let place = Workspace::new();
    place.write_old("web.warc", &fixture::small_web());
    place
}

/// Returns the number of rows of a table as reported by `weft status`.
fn rows(place: &Workspace, table: &str) -> Option<u64> {
    let status = place.json(&["status"]);
    let tables = status["facts"].as_array().expect("a list");
    let row = tables.iter().find(|row| row["table"] == table)?;
    row["rows"].as_u64()
}

#[test]
fn facts_are_in_the_archive_unless_something_else_is_said() {
    let place = web();
    place.good(&["load", "web.warc"]);
    let captures = place.good(&["dump", "captures"]).lines().count() as u64;
    assert!(captures > 1);
    assert_eq!(rows(&place, "captures"), Some(captures));
    assert!(place.path("weft-archive/facts/links/_delta_log").is_dir());
    assert!(!place.path("weft-archive/facts/texts").exists());
    // The second load adds nothing.
    place.good(&["load", "web.warc"]);
    assert_eq!(rows(&place, "captures"), Some(captures));
}

#[test]
fn what_leaves_the_archive_leaves_its_facts() {
    let place = Workspace::new();
    place.write_old("web.warc.open", &fixture::small_web());
    place.run(&["load", "web.warc.open"]);
    let links = || facts::read_table(&place.path("weft-archive/facts/links"), None).expect("a table");
    assert!(rows(&place, "captures") > Some(1) && !links().is_empty());
    place.good(&["forget", "--input", "web.warc.open"]);
    assert_eq!((rows(&place, "captures"), links().len()), (Some(0), 0));
}

#[test]
fn facts_are_kept_elsewhere_or_nowhere() {
    let place = web();
    place.good(&["load", "web.warc", "--facts", "beside", "--facts-text"]);
    assert!(place.path("beside/captures/_delta_log").is_dir());
    assert!(!place.path("weft-archive/facts").exists());
    let texts = facts::read_table(&place.path("beside/texts"), None).expect("a table");
    assert!(!texts.is_empty());
    assert!(
        texts
            .iter()
            .all(|row| row["text"].as_str().is_some_and(|text| !text.is_empty()))
    );

    place.good(&["load", "web.warc", "--facts", "none", "--archive", "without"]);
    assert!(!place.path("without/facts").exists());
    let status = place.good(&["status", "--archive", "without"]);
    assert!(!status.contains("facts"), "{status}");
}

#[test]
fn another_choice_of_facts_is_refused() {
    let place = web();
    place.good(&["load", "web.warc"]);
    for other in [
        ["--facts", "none"].as_slice(),
        &["--facts", "beside"],
        &["--facts-text"],
    ] {
        let run = place.run(&[&["load", "web.warc"], other].concat());
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains("need"), "{run:?}");
    }
    for wrong in ["https://h/x", "s3://", "ftp://h/x"] {
        let run = place.run(&["load", "web.warc", "--facts", wrong, "--archive", "b"]);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(
            run.stderr.contains("s3://bucket/name, store://bucket/name"),
            "{run:?}"
        );
    }
}

/// Returns the rows of both tables in a folder, without columns that depend on when they were read.
fn tables(place: &Workspace, folder: &str) -> [String; 2] {
    ["captures", "links"].map(|table| {
        let table = place.path(folder).join(table);
        facts::table_as_text(&table, &["input_digest"]).expect("a table")
    })
}

#[test]
fn facts_are_kept_in_an_s3_store() {
    let place = web();
    let s3 = S3Store::start(&place);
    s3.put(".s3/buckets/lake", b"");
    let facts = ["--facts", "s3://lake/weft/", "--archive", "far"];
    let load = |input: &str| s3.run(&place, true, &[&["load", input], &facts[..]].concat());
    let loaded = load("web.warc");
    assert_eq!(loaded.code, Some(0), "{loaded:?}");
    place.good(&["load", "web.warc"]);
    s3.download(&place, "lake/weft/", "copy");
    assert_eq!(tables(&place, "copy"), tables(&place, "weft-archive/facts"));
    assert!(!place.path("far/facts").exists());
    let status = s3.run(&place, true, &["status", "--archive", "far"]);
    assert!(
        status.stdout.contains("in s3://lake/weft   captures"),
        "{status:?}"
    );
    // The choice is permanent, however it is spelled; nothing is added.
    assert_eq!(load("web.warc").code, Some(0));
    let other = s3.run(
        &place,
        true,
        &[
            "load",
            "web.warc",
            "--facts",
            "s3://lake/other",
            "--archive",
            "far",
        ],
    );
    assert_eq!(other.code, Some(2), "{other:?}");
    assert!(
        other
            .stderr
            .contains("--facts s3://lake/weft, which cannot change"),
        "{other:?}"
    );
    s3.end();
}

/// The choice is permanent, so a mistake must be detected before the archive is created.
#[test]
fn a_store_that_cannot_keep_facts_makes_no_archive() {
    let place = web();
    let s3 = S3Store::start(&place);
    s3.put(".s3/buckets/lake", b"");
    let load = |keys, facts, archive| {
        s3.run(
            &place,
            keys,
            &["load", "web.warc", "--facts", facts, "--archive", archive],
        )
    };
    assert_eq!(load(true, "s3://lake/taken", "first").code, Some(0));
    for (keys, facts, said) in [
        (true, "s3://lakes/x", "there is no bucket lakes in this store"),
        (false, "s3://lake/x", "set AWS_ACCESS_KEY_ID"),
        (true, "s3://lake/taken", "give each archive its own address"),
    ] {
        let run = load(keys, facts, "second");
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.stderr.contains(facts) && run.stderr.contains(said), "{run:?}");
        assert!(!place.path("second/weft.json").exists(), "{run:?}");
    }
    s3.end();
    // The store is unreachable now.
    let away = place
        .command(&[
            "load",
            "web.warc",
            "--facts",
            "s3://lake/x",
            "--archive",
            "second",
        ])
        .env("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&away.stderr);
    assert_eq!(away.status.code(), Some(1), "{said}");
    assert!(
        said.contains("--facts s3://lake/x:") && said.contains("onnect"),
        "{said}"
    );
}

#[test]
fn facts_are_kept_in_our_own_store() {
    let place = web();
    let volumes = ["--volume", "v1", "--volume", "v2"];
    // The store is created with its first object.
    let put = ["store", "put", "web.warc", "store://lake/first"];
    assert_eq!(place.run(&[&put[..], &volumes].concat()).code, Some(0));
    let load = ["load", "web.warc", "--facts", "store://lake/weft"];
    place.good(&[&load[..], &["--archive", "far"], &volumes].concat());
    place.good(&["load", "web.warc"]);
    let s3 = S3Store::start(&place);
    s3.download(&place, "lake/weft/", "copy");
    s3.end();
    assert_eq!(tables(&place, "copy"), tables(&place, "weft-archive/facts"));
    // Queries do not need the store. Without it, loads report which store is missing.
    assert!(place.good(&["dump", "pages", "--archive", "far"]).lines().count() > 1);
    place.write_old("more.warc", &fixture::small_web()[..100]);
    let untold = place.run(&["load", "more.warc", "web.warc", "--archive", "far"]);
    assert_eq!(untold.code, Some(1), "{untold:?}");
    assert!(
        untold.stderr.contains("store://lake/weft") && untold.stderr.contains("WEFT_STORE"),
        "{untold:?}"
    );
}

/// Two archives must not write the same tables.
#[test]
fn a_place_with_the_facts_of_another_archive_is_refused() {
    let place = web();
    place.good(&["load", "web.warc", "--facts", "beside"]);
    let run = place.run(&["load", "web.warc", "--facts", "beside", "--archive", "b"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("its own place"), "{run:?}");
    assert_eq!(place.good(&["dump", "captures", "--archive", "b"]), "");
}

/// Each view's SQL definition, run by DuckDB over the tables, gives the bytes of its dump; even
/// after another engine compacted, checkpointed and vacuumed the tables between two loads.
#[test]
fn every_view_is_its_statement_over_the_facts() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let Some(python) = test_env::python(&["deltalake", "duckdb", "polars", "pyarrow"]) else {
        println!(
            "skipped: there is no python3 with deltalake, duckdb, polars and pyarrow (make need-readers)"
        );
        return;
    };
    let place = Workspace::new();
    let load = |names: &[&str], code| {
        let mut load = place.command(&["load", "--epoch-bytes", "300000"]);
        let loaded = load.args(names.iter().map(|name| shared.join(name))).output();
        let loaded = loaded.expect("run");
        assert_eq!(loaded.status.code(), Some(code), "{loaded:?}");
    };
    let run = |script: &Path, arguments: &[PathBuf]| {
        let mut command = test_env::command(&python, &place.path("home"));
        let output = command.arg(script).args(arguments).output().expect("run");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let wrong = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}{wrong}");
        said
    };
    let tables = place.path("weft-archive/facts");
    load(&["crawls"], 0);
    let scripts = test_env::crate_dir().join("tests/cli");
    run(&scripts.join("facts_compact.py"), std::slice::from_ref(&tables));
    load(&["commoncrawl", "edge", "regress"], 1);
    let workspace = test_env::crate_dir().join("../..");
    let odd = place.path("odd");
    let given = std::env::var("WEFT_TEST_SEED").ok();
    let seed = given.map_or(std::process::id(), |seed| seed.parse().expect("a number"));
    println!("WEFT_TEST_SEED={seed}");
    run(
        &workspace.join("python/tests/odd_crawls.py"),
        &[odd.clone(), seed.to_string().into()],
    );
    load(&[&odd.to_string_lossy(), "field"], 0);
    let statements = workspace.join("views");
    for statement in std::fs::read_dir(&statements).expect("a folder") {
        let name = statement.expect("an entry").path();
        let view = name.file_stem().expect("a name").to_string_lossy().into_owned();
        if view == "current" {
            continue;
        }
        let dump = place.good(&["dump", &view]);
        place.write(&format!("dumps/{view}.tsv"), dump.as_bytes());
    }
    let said = run(
        &scripts.join("facts.py"),
        &[tables, statements, place.path("dumps")],
    );
    // Other engines read as many captures as the loads counted.
    let ledger = json_lines(&place.good(&["dump", "ledger", "--json"]));
    let captures: u64 = ledger.iter().filter_map(|row| row["captures"].as_u64()).sum();
    assert!(captures > 1000, "{captures} captures in the ledger");
    assert!(
        said.contains(&format!("captures {captures} rows")),
        "{captures} captures in the ledger\n{said}"
    );
}
