//! Runs every example as a reader would, over one small file of records.

use std::path::Path;
use std::process::Command;

use warc::{Compression, Draft, Writer};

/// Writes two pages, the first of which links to the second.
fn write_records(path: &Path) {
    let mut file = Writer::create(path, Compression::GZIP).unwrap();
    for (url, html) in [
        (
            "http://a.example/",
            "<title>Home</title>Otters swim. <a href=/b>More on otters</a>",
        ),
        ("http://a.example/b", "<title>More</title>They eat fish."),
    ] {
        let http = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{html}");
        let response = Draft::response(url, 1_400_000_000_000, http.into_bytes());
        file.write(&response).unwrap();
    }
    file.finish().unwrap();
}

/// Runs a program in `dir`, and returns what it prints.
#[track_caller]
fn run(program: &str, dir: &Path, arguments: &[&str]) -> String {
    let done = Command::new(program)
        .args(arguments)
        .current_dir(dir)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{errors}");
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn warc_links() {
    let dir = tempfile::tempdir().unwrap();
    write_records(&dir.path().join("x.warc.gz"));
    let printed = run(env!("CARGO_BIN_EXE_warc_links"), dir.path(), &["x.warc.gz"]);
    assert_eq!(printed, "http://a.example/\thttp://a.example/b\tMore on otters\n");
}

#[test]
fn load_and_ask() {
    let dir = tempfile::tempdir().unwrap();
    write_records(&dir.path().join("x.warc.gz"));
    let arguments = ["archive", "otters", "http://a.example/b", "x.warc.gz"];
    let printed = run(env!("CARGO_BIN_EXE_load_and_ask"), dir.path(), &arguments);
    for line in [
        "loaded\t2 captures",
        "found\thttp://a.example/\tHome\t",
        "linked from\thttp://a.example/\tMore on otters",
    ] {
        assert!(printed.contains(line), "{line}: {printed}");
    }
}

#[test]
fn put_and_get() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("x.txt"), "otters").unwrap();
    let arguments = ["store", "animals/otter", "x.txt"];
    let printed = run(env!("CARGO_BIN_EXE_put_and_get"), dir.path(), &arguments);
    assert!(printed.ends_with("got\tanimals/otter\totters\n"), "{printed}");
}

#[test]
fn search_folder() {
    let dir = tempfile::tempdir().unwrap();
    let texts = dir.path().join("texts");
    std::fs::create_dir(&texts).unwrap();
    std::fs::write(texts.join("otter.txt"), "An otter swims in the river.").unwrap();
    std::fs::write(texts.join("bear.txt"), "A bear sleeps in winter.").unwrap();
    let arguments = ["index", "texts", "swimming"];
    let printed = run(env!("CARGO_BIN_EXE_search_folder"), dir.path(), &arguments);
    assert!(
        printed.contains("\totter\t") && !printed.contains("bear"),
        "{printed}"
    );
}

#[test]
fn delta_table() {
    let dir = tempfile::tempdir().unwrap();
    write_records(&dir.path().join("x.warc.gz"));
    let arguments = ["x.warc.gz", "tables"];
    let printed = run(env!("CARGO_BIN_EXE_delta_table"), dir.path(), &arguments);
    assert!(
        printed.contains("captures\t2 rows") && printed.contains("links\t1 rows"),
        "{printed}"
    );
    assert!(dir.path().join("tables/captures/_delta_log").is_dir());
}
