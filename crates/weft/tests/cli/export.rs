//! `weft search --export`: complete result sets as files for other programs.

use std::collections::BTreeMap;
use std::path::Path;
#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;

use crate::search::loaded;
use crate::support::json_lines;

/// Columns of an exported Parquet file.
const COLUMNS: [&str; 13] = [
    "url_key",
    "url",
    "domain",
    "title",
    "fetch_time",
    "since",
    "until",
    "mime",
    "language",
    "collection",
    "inlinks",
    "inlinks_external",
    "snippet",
];

#[test]
fn all_results_are_written_to_a_file() {
    let place = loaded();
    let text = place.good(&[
        "search",
        "kestrel",
        "from:2000",
        "--export",
        "csv",
        "-o",
        "birds.csv",
    ]);
    assert!(text.contains("4 results written to birds.csv"), "{text}");
    let table = std::fs::read_to_string(place.path("birds.csv")).unwrap();
    assert_eq!(table.lines().count(), 5);
    assert!(
        table.starts_with("url_key,url,domain,title,fetch_time,since,until,"),
        "{table}"
    );
    let again = place.run(&["search", "kestrel", "--export", "csv", "-o", "birds.csv"]);
    assert_eq!(again.code, Some(2), "{}", again.stderr);
    assert!(again.stderr.contains("not overwritten"), "{}", again.stderr);
    let lines = place.good(&["search", "kestrel", "--export", "cdxj"]);
    assert_eq!(lines.lines().count(), 3);
    place.good(&[
        "search",
        "kestrel",
        "from:2000",
        "--export",
        "warc",
        "--output",
        "birds.warc.gz",
    ]);
    place.good(&["load", "birds.warc.gz", "--archive", "birds"]);
    let found = place.json(&["search", "kestrel", "from:2000", "--archive", "birds"]);
    assert_eq!(found["total"], 4);
    std::fs::remove_file(place.path("x.warc")).unwrap();
    let run = place.run(&["search", "kestrel", "--export", "warc", "-o", "none.warc.gz"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("3 results were left out"), "{}", run.stderr);
    assert_eq!(place.run(&["search", "kestrel", "-o", "x"]).code, Some(2));
    assert_eq!(place.run(&["search", "kestrel", "--export", "xls"]).code, Some(2));
}

/// Returns the column names of a Parquet file in order, and its rows by column name.
fn parquet_rows(path: &Path) -> (Vec<String>, Vec<BTreeMap<String, Field>>) {
    let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr();
    let names = schema
        .columns()
        .iter()
        .map(|column| column.name().to_owned())
        .collect();
    let rows = reader.get_row_iter(None).unwrap();
    let rows = rows.map(|row| row.unwrap().into_columns().into_iter().collect());
    (names, rows.collect())
}

/// Converts a JSON result to the expected Parquet row.
fn row_of(hit: &Value) -> BTreeMap<String, Field> {
    let cell = |name: &str| match name {
        "fetch_time" | "since" | "until" => match &hit[name] {
            Value::Null => Field::Null,
            time => Field::TimestampMillis(format::date::ms_of_iso(time.as_str().unwrap()).unwrap()),
        },
        "inlinks" | "inlinks_external" => Field::Long(hit[name].as_i64().unwrap()),
        "snippet" => {
            let html = hit["snippet_html"].as_str().unwrap();
            Field::Str(html.replace("<mark>", "").replace("</mark>", ""))
        }
        name => Field::Str(hit[name].as_str().unwrap().to_owned()),
    };
    COLUMNS.map(|name| (name.to_owned(), cell(name))).into()
}

#[test]
fn a_parquet_file_has_the_rows_of_the_lines_of_json() {
    let place = loaded();
    // Past versions, so that some rows have an end time; and an empty result.
    for (query, count) in [
        ("kestrel from:2000", 4),
        ("kestrel OR heron OR password", 4),
        ("pelican", 0),
    ] {
        let lines = json_lines(&place.good(&["search", query, "--export", "jsonl"]));
        let name = format!("{count}-{}.parquet", query.len());
        let told = place.good(&["search", query, "--export", "parquet", "-o", &name]);
        assert!(
            told.contains(&format!("{count} results written to {name}")),
            "{told}"
        );
        let (names, rows) = parquet_rows(&place.path(&name));
        assert_eq!(names, COLUMNS);
        assert_eq!(rows, lines.iter().map(row_of).collect::<Vec<_>>(), "{query}");
        assert_eq!(rows.len(), count, "{query}");
        let has_end = rows.iter().any(|row| row["until"] != Field::Null);
        assert_eq!(has_end, query.contains("from:"), "{query}");
    }
    // Redirected standard output gives the same file.
    let again = place
        .command(&["search", "kestrel from:2000", "--export", "parquet"])
        .output()
        .unwrap();
    assert_eq!(again.stdout, std::fs::read(place.path("4-17.parquet")).unwrap());
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_no_text_is_not_written_to_a_terminal() {
    let place = loaded();
    for format in ["parquet", "warc"] {
        // `script` runs the command on a pseudo-terminal.
        let command = format!("{} search kestrel --export {format}", env!("CARGO_BIN_EXE_weft"));
        let Ok(output) = test_env::command("script", &place.path("."))
            .args(["-qec", &command, "/dev/null"])
            .current_dir(place.path("."))
            .stdin(std::process::Stdio::null())
            .output()
        else {
            eprintln!("skipped: there is no `script`");
            return;
        };
        let shown = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(2), "{shown}");
        assert!(
            shown.contains(&format!(
                "{format} is binary and cannot go to a terminal: name a file with -o FILE"
            )),
            "{shown}"
        );
        assert!(!shown.contains("PAR1"), "{shown}");
    }
}

/// Waits until a process handles SIGINT instead of being killed by it.
#[cfg(target_os = "linux")]
fn wait_until_it_listens(pid: u32) {
    const SIGINT: u64 = 2;
    let begun = Instant::now();
    loop {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let caught = status
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))
            .unwrap();
        if u64::from_str_radix(caught.trim(), 16).unwrap() >> (SIGINT - 1) & 1 == 1 {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{status}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_export_that_breaks_off_leaves_no_file() {
    let place = loaded();
    let is_clean = |name: &str| {
        let left = std::fs::read_dir(place.path(".")).unwrap();
        let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
        assert!(
            !left.iter().any(|found| found.to_string_lossy().starts_with(name)),
            "{left:?}"
        );
    };
    for format in ["parquet", "jsonl"] {
        // The temporary file is a link to a full device.
        std::os::unix::fs::symlink("/dev/full", place.path("full.part")).unwrap();
        let run = place.run(&["search", "kestrel", "--export", format, "-o", "full"]);
        assert_eq!(run.code, Some(1), "{}", run.stderr);
        assert!(run.stderr.contains("No space left on device"), "{}", run.stderr);
        is_clean("full");

        // The export blocks on the pipe, and is interrupted meanwhile.
        let pipe = place.path("stopped.part");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let child = place.start(&["search", "kestrel", "--export", format, "-o", "stopped"]);
        wait_until_it_listens(child.id());
        let told = std::process::Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status();
        assert!(told.unwrap().success());
        // The signal thread records the stop. The thread that checks it stays blocked until the
        // pipe is read.
        std::thread::sleep(Duration::from_secs(1));
        drop(std::fs::read(&pipe).unwrap());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_ne!(output.status.code(), Some(0), "{said}");
        is_clean("stopped");
    }
}
