//! `weft export --serving`: sorted tables of an archive; `weft serve --web`: answers from them.

use std::fs::File;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use serde_json::Value;

use crate::replay::replayed;
use crate::search::loaded;
use crate::serve::Served;
use crate::support::Workspace;

/// Returns the first column of a table in the order of its files.
fn first_column(place: &Workspace, table: &Value) -> Vec<String> {
    let mut column = Vec::new();
    for file in table["files"].as_array().unwrap() {
        let path = place.path("tables").join(file["path"].as_str().unwrap());
        assert_eq!(file["size_bytes"], path.metadata().unwrap().len());
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        assert_eq!(file["rows"], reader.metadata().file_metadata().num_rows());
        for row in reader.get_row_iter(None).unwrap() {
            let (_, cell) = row.unwrap().into_columns().swap_remove(0);
            column.push(cell.to_json_value().as_str().unwrap_or_default().to_owned());
        }
    }
    column
}

#[test]
fn tables_have_the_rows_of_the_views() {
    let place = loaded();
    let said = place.good(&["export", "--serving", "tables"]);
    assert!(
        said.contains(" in 12 tables, written to tables (batch "),
        "{said}"
    );
    let manifest = std::fs::read(place.path("tables/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!(manifest["batch"], place.json(&["status"])["epoch"]);
    for (table, view) in [
        ("captures", "captures"),
        ("outlinks", "links"),
        ("inlinks", "inlinks"),
        ("uris", "uris"),
        ("domains", "domains"),
    ] {
        let dumped = place.good(&["dump", view]);
        let table = &manifest["tables"][table];
        assert_eq!(table["rows"], dumped.lines().count(), "{view}");
        if view != "inlinks" {
            let first: Vec<&str> = dumped
                .lines()
                .map(|line| line.split('\t').next().unwrap_or_default())
                .collect();
            assert_eq!(first_column(&place, table), first, "{view}");
        }
    }
    let ranked = place.good(&["dump", "top"]);
    let ranked: Vec<&str> = ranked
        .lines()
        .filter_map(|line| line.split('\t').nth(2))
        .collect();
    assert_eq!(whole_ranking(&place, &manifest["tables"]["top"]), ranked);
}

/// Returns the URIs of the ranking of all domains.
fn whole_ranking(place: &Workspace, table: &Value) -> Vec<String> {
    let path = place
        .path("tables")
        .join(table["files"][0]["path"].as_str().unwrap());
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let mut ranked = Vec::new();
    for row in reader.get_row_iter(None).unwrap() {
        let row = row.unwrap().to_json_value();
        if row["domain"] == "" {
            assert_eq!(row["rank"], ranked.len() + 1);
            ranked.push(row["url_key"].as_str().unwrap().to_owned());
        }
    }
    ranked
}

#[test]
fn a_later_batch_replaces_the_manifest_and_the_same_one_is_refused() {
    let place = loaded();
    place.good(&["export", "--serving", "tables"]);
    let manifest = || std::fs::read_to_string(place.path("tables/manifest.json")).unwrap();
    let first = manifest();
    let again = place.run(&["export", "--serving", "tables"]);
    assert_eq!(again.code, Some(1), "{}", again.stderr);
    assert!(again.stderr.contains("write to a new folder"), "{}", again.stderr);
    assert_eq!(manifest(), first);
    place.good(&["forget", "--url", "http://news.example/", "--reason", "x"]);
    place.good(&["export", "--serving", "tables"]);
    assert_ne!(manifest(), first);
}

#[test]
fn tables_are_refused_once_their_archive_has_rules() {
    let place = loaded();
    place.good(&["export", "--serving", "tables"]);
    place.good(&["rights", "add", "--deny", "--prefix", "http://news.example/"]);
    // The epoch is the same: only the manifest is replaced.
    let noted = place.run(&["export", "--serving", "tables"]);
    assert_eq!(noted.code, Some(0), "{}", noted.stderr);
    assert!(noted.stderr.contains("has access rules"), "{}", noted.stderr);
    let served = place.run(&["serve", "--web", "tables", "--listen", "127.0.0.1:0"]);
    assert_eq!(served.code, Some(1), "{}", served.stderr);
    assert!(served.stderr.contains("access rules"), "{}", served.stderr);
    let again = place.run(&["export", "--serving", "tables"]);
    assert_eq!(again.code, Some(1), "{}", again.stderr);
}

#[test]
fn a_part_of_the_archive_is_refused() {
    let place = loaded();
    for part in [
        &["--collection", "autumn"][..],
        &["--url-prefix", "http://news.example/"],
        &["kestrel"],
        &["--with-requests"],
    ] {
        let run = place.run(&[&["export", "--serving", "tables"], part].concat());
        assert_eq!(run.code, Some(2), "{part:?}: {}", run.stderr);
        assert!(run.stderr.contains("whole archive"), "{}", run.stderr);
    }
    assert!(!place.path("tables").exists());
}

#[test]
fn tables_are_served_and_replayed_without_their_archive() {
    let place = loaded();
    place.good(&["export", "--serving", "tables"]);
    std::fs::remove_dir_all(place.path("weft-archive")).unwrap();
    let mut served = Served::start_with(&place, &["serve", "--web", "tables", "--listen", "127.0.0.1:0"]);
    assert!(served.said["batch"].as_u64().is_some(), "{}", served.said);
    let captures = served.get("/cdx?url=http://news.example/");
    assert_eq!(captures.matches("example,news)/ 20").count(), 3, "{captures}");
    let record = served.get("/record?url=http://news.example/&at=2012");
    assert!(record.contains("an osprey was seen"), "{record}");
    let bar = served.get("/replay/20120601000000/http://news.example/");
    assert!(bar.starts_with("HTTP/1.0 200 "), "{bar}");
    let moved = replayed(&mut served, "/replay/2012/http://news.example/");
    let location = moved.lines().find_map(|line| line.strip_prefix("location: "));
    let page = replayed(&mut served, location.expect("the exact time"));
    assert!(page.contains("an osprey was seen"), "{page}");
    let refused = served.get("/api/v1/search?q=kestrel");
    assert!(refused.starts_with("HTTP/1.0 503 "), "{refused}");
    assert!(!place.path("weft-archive").exists());
    assert_eq!(served.stop(), Some(0));
}

#[test]
fn a_folder_without_tables_is_not_served() {
    let place = Workspace::new();
    let run = place.run(&["serve", "--web", "nowhere", "--listen", "127.0.0.1:0"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("weft export --serving"), "{}", run.stderr);
}
