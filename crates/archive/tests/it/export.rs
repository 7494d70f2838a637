//! Exports of complete result sets: they contain what a search finds, page by page, in every
//! format.

use std::collections::BTreeSet;
use std::path::Path;

use archive::Archive;
use archive::question::{LoadRequest, SearchQuestion};
use export::{ExportError, ExportFormat};
use inputs::LoadInput;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;

use crate::data::{load, own};

/// More than one batch.
const PAGES: usize = 1_234;

fn record(number: usize, title: &str) -> String {
    let http = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>{title}</title>a kestrel, {number}"
    );
    format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://example.org/{number}\r\n\
         WARC-Date: 2012-01-01T00:00:{:02}Z\r\nWARC-Record-ID: <urn:uuid:{number:032x}>\r\n\
         Content-Type: application/http; msgtype=response\r\nContent-Length: {}\r\n\r\n{http}\r\n\r\n",
        number % 60,
        http.len()
    )
}

fn loaded(dir: &Path) -> Archive {
    let path = dir.join("x.warc");
    let title = |number: usize| match number {
        7 => "=SUM(A1), \"quoted\"",
        _ => "Page",
    };
    let records: Vec<String> = (0..PAGES).map(|number| record(number, title(number))).collect();
    std::fs::write(&path, records.concat()).unwrap();
    let archive = own(&dir.join("archive"));
    let request = LoadRequest {
        inputs: vec![LoadInput {
            name: "x.warc".into(),
            path: inputs::path_text(&path),
        }],
        ..LoadRequest::default()
    };
    load(&archive, &request);
    archive
}

fn question(query: &str) -> SearchQuestion {
    SearchQuestion {
        query: query.into(),
        ..SearchQuestion::default()
    }
}

fn written(archive: &Archive, format: ExportFormat) -> Vec<u8> {
    let (mut out, mut told) = (Vec::new(), Vec::new());
    let exported = export::write_results(
        archive,
        &question("kestrel"),
        format,
        &mut out,
        &mut |done, total| {
            told.push((done, total));
            true
        },
    );
    let exported = exported.unwrap();
    assert_eq!(
        (exported.results, exported.left_out.len()),
        (PAGES as u64, 0),
        "{:?}",
        exported.left_out.first()
    );
    let total = PAGES as u64;
    assert_eq!(told, [(1000, total), (total, total)]);
    out
}

#[test]
fn all_results_are_written_in_every_format() {
    let dir = tempfile::tempdir().unwrap();
    let archive = loaded(dir.path());
    let mut keys: Vec<String> = (0..PAGES)
        .map(|number| format!("org,example)/{number}"))
        .collect();
    keys.sort();

    let lines = String::from_utf8(written(&archive, ExportFormat::Jsonl)).unwrap();
    let found: Vec<String> = lines
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["url_key"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(found, keys);

    let table = written(&archive, ExportFormat::Csv);
    let mut rows = csv::Reader::from_reader(&table[..]);
    assert_eq!(rows.headers().unwrap().get(3), Some("title"));
    let rows: Vec<csv::StringRecord> = rows.records().map(Result::unwrap).collect();
    assert!(rows.iter().map(|row| &row[0]).eq(keys.iter().map(String::as_str)));
    let odd = rows.iter().find(|row| &row[0] == "org,example)/7").unwrap();
    // Not a formula in any spreadsheet.
    assert_eq!(&odd[3], "'=SUM(A1), \"quoted\"");

    // From two batches: no row is lost or doubled where a row group ends elsewhere.
    let file = bytes::Bytes::from(written(&archive, ExportFormat::Parquet));
    let reader = SerializedFileReader::new(file).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    let rows: Vec<_> = rows.map(|row| row.unwrap().into_columns()).collect();
    let column = |place: usize| rows.iter().map(move |row| row[place].1.clone());
    assert!(column(0).eq(keys.iter().cloned().map(Field::Str)));
    // Parquet readers do not interpret formulas.
    assert!(column(3).any(|title| title == Field::Str("=SUM(A1), \"quoted\"".into())));

    let captures = String::from_utf8(written(&archive, ExportFormat::Cdxj)).unwrap();
    assert!(
        captures
            .lines()
            .map(|line| line.split(' ').next().unwrap())
            .eq(keys.iter().map(String::as_str))
    );

    // Exported records are an input like any other.
    let path = dir.path().join("results.warc.gz");
    std::fs::write(&path, written(&archive, ExportFormat::Warc)).unwrap();
    let again = own(&dir.path().join("again"));
    let request = LoadRequest {
        inputs: vec![LoadInput {
            name: "results.warc.gz".into(),
            path: inputs::path_text(&path),
        }],
        ..LoadRequest::default()
    };
    let job = load(&again, &request);
    assert_eq!((job.captures, job.quarantined), (PAGES as u64, 0));
    let urls = |archive: &Archive| -> BTreeSet<String> {
        let mut out = Vec::new();
        export::write_results(
            archive,
            &question("kestrel"),
            ExportFormat::Jsonl,
            &mut out,
            &mut |_, _| true,
        )
        .unwrap();
        String::from_utf8(out)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(urls(&again), urls(&archive));
}

#[test]
fn what_cannot_be_copied_is_named_and_an_export_can_be_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let archive = loaded(dir.path());
    let mut out = Vec::new();
    let stopped = export::write_results(
        &archive,
        &question("kestrel"),
        ExportFormat::Csv,
        &mut out,
        &mut |_, _| false,
    );
    assert!(matches!(stopped, Err(ExportError::Stopped(1000))), "{stopped:?}");
    let nothing = export::write_results(
        &archive,
        &question("osprey"),
        ExportFormat::Csv,
        &mut Vec::new(),
        &mut |_, _| true,
    );
    assert_eq!(nothing.unwrap().results, 0);
    std::fs::remove_file(dir.path().join("x.warc")).unwrap();
    let exported = export::write_results(
        &archive,
        &question("kestrel title:sum"),
        ExportFormat::Warc,
        &mut Vec::new(),
        &mut |_, _| true,
    );
    let exported = exported.unwrap();
    assert_eq!((exported.results, exported.left_out.len()), (0, 1));
    assert!(
        exported.left_out[0].why.contains("x.warc"),
        "{:?}",
        exported.left_out
    );
}
