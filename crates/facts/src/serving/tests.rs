//! Tables that were written are read back by key, and damage is an error.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::LocalFileStore;
use crate::data_file::Writer;
use crate::rows::Rows;

struct Dir(PathBuf);

impl ServingFolder for Dir {
    fn open(&self, path: &str) -> io::Result<Arc<dyn ReadAt>> {
        Ok(Arc::new(Local(File::open(self.0.join(path))?)))
    }

    fn locate(&self, path: &str) -> String {
        self.0.join(path).display().to_string()
    }
}

struct Local(File);

impl ReadAt for Local {
    fn size(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(into, offset)
    }
}

/// Row of a capture with a number for its key and time.
fn capture(number: usize) -> Value {
    json!({
        "url_key": format!("org,example)/{number:05}"), "fetch_time": -5 + number as i64, "input_number": 1,
        "offset": 7, "url": "http://example.org/", "mime": "text/html", "status": 200, "method": "",
        "digest": "sha", "length": 9, "kind": "response", "index_only": false, "is_damaged": false,
        "filename": (number % 2 == 1).then_some("a.warc.gz"),
    })
}

fn write(dir: &std::path::Path, rows: usize) -> Manifest {
    let store = LocalFileStore::new(dir);
    let mut manifest = Manifest::new(3, false);
    for table in ServingTable::ALL {
        let mut writer = ServingWriter::new(&store, table, 3);
        if table == ServingTable::Captures {
            (0..rows).for_each(|number| writer.push(capture(number)).unwrap());
        }
        manifest.insert(table, writer.finish().unwrap());
    }
    manifest.write(&store).unwrap();
    manifest
}

#[test]
fn rows_are_found_by_their_keys() {
    let dir = tempfile::tempdir().unwrap();
    for rows in [0, 1, writer::GROUP_ROWS, writer::GROUP_ROWS + 2] {
        let written = write(dir.path(), rows);
        let folder = Dir(dir.path().to_owned());
        let manifest = Manifest::read(&folder).unwrap();
        assert_eq!((&manifest, manifest.batch), (&written, 3));
        for table in ServingTable::ALL {
            let reader = ServingReader::open(&folder, table, manifest.table(table)).unwrap();
            if table != ServingTable::Captures {
                assert!(reader.places().is_empty(), "{table:?}");
                continue;
            }
            assert_eq!(reader.places().len(), rows.div_ceil(writer::GROUP_ROWS));
            for (number, place) in reader.places().iter().enumerate() {
                let group = reader.read(&folder, number).unwrap();
                assert_eq!((&*place.first, place.rows), (&*group.key(0), group.len() as u64));
                let first = number * writer::GROUP_ROWS;
                let last = group.len() - 1;
                let key = format!("org,example)/{:05}", first + last);
                assert_eq!(group.text("url_key", last), Some(key.as_str()));
                assert_eq!(group.number("fetch_time", last), Some(-5 + (first + last) as i64));
                assert_eq!(group.bool("index_only", last), Some(false));
                let name = ((first + last) % 2 == 1).then_some("a.warc.gz");
                assert_eq!(group.text("filename", last), name);
                assert_eq!(group.lower_bound(&group.key(last)), last);
                assert_eq!(group.lower_bound(b"org,example)/99999"), group.len());
            }
        }
    }
}

#[test]
fn keys_sort_like_rows() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), 12);
    let folder = Dir(dir.path().to_owned());
    let manifest = Manifest::read(&folder).unwrap();
    let table = ServingTable::Captures;
    let reader = ServingReader::open(&folder, table, manifest.table(table)).unwrap();
    let group = reader.read(&folder, 0).unwrap();
    let keys: Vec<_> = (0..group.len()).map(|row| group.key(row)).collect();
    // The first times are before 1970.
    assert!(keys.is_sorted());
    let mut expected = b"org,example)/00000\0".to_vec();
    expected.extend_from_slice(&[0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfb, 0, 0, 0, 1]);
    expected.extend_from_slice(&7_u64.to_be_bytes());
    assert_eq!(keys[0], expected);
}

#[test]
fn rows_that_do_not_fit_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = LocalFileStore::new(dir.path());
    for (column, value) in [
        ("url_key", Value::Null),
        ("status", json!(u64::MAX)),
        ("length", json!("9")),
        ("index_only", json!(0)),
    ] {
        let mut row = capture(1);
        row[column] = value;
        let mut writer = ServingWriter::new(&store, ServingTable::Captures, 1);
        let error = writer.push(row).unwrap_err().to_string();
        assert!(error.contains(column), "{error}");
    }
}

#[test]
fn damage_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Dir(dir.path().to_owned());
    let missing = Manifest::read(&folder).unwrap_err();
    assert!(matches!(missing, ServingError::Missing { .. }), "{missing}");
    let written = write(dir.path(), 10);
    let table = ServingTable::Captures;
    let served = written.table(table).unwrap();
    let data = dir.path().join(&served.files[0].path);
    let whole = std::fs::read(&data).unwrap();
    for length in [0, 1, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&data, &whole[..length]).unwrap();
        let reader = ServingReader::open(&folder, table, Some(served)).unwrap();
        let error = reader.read(&folder, 0).unwrap_err();
        assert!(matches!(error, ServingError::Damaged { .. }), "{error}");
    }
    for (text, expected) in [
        ("", "damaged"),
        ("{\"format\":2}", "format 2"),
        ("{\"format\":1}", "damaged"),
    ] {
        std::fs::write(dir.path().join(MANIFEST), text).unwrap();
        let error = Manifest::read(&folder).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_manifest_names_no_file_outside_of_its_folder() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Dir(dir.path().to_owned());
    for path in [
        "../captures/1.parquet",
        "captures/../../1.parquet",
        "\\x2e\\x2e/1.parquet",
        "%2e%2e/1.parquet",
        "..\\1.parquet",
        "/etc/hosts",
        "captures/1.parquet?x",
        "./1.parquet",
        "",
    ] {
        let (file, first) = (json!({"path": path, "rows": 1, "size_bytes": 1}), json!(path));
        for served in [
            json!({"rows": 1, "files": [file]}),
            json!({"rows": 0, "files": [], "first_keys": first}),
        ] {
            let text = json!({"format": 1, "batch": 1, "has_rules": false, "tables": {"captures": served}});
            std::fs::write(dir.path().join(MANIFEST), text.to_string()).unwrap();
            let error = Manifest::read(&folder).unwrap_err();
            assert!(matches!(error, ServingError::Damaged { .. }), "{path}: {error}");
        }
    }
}

#[test]
fn a_row_group_of_impossible_size_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Dir(dir.path().to_owned());
    let table = ServingTable::Captures;
    let written = write(dir.path(), 10);
    let path = written.table(table).unwrap().first_keys.clone().unwrap();
    for rows in [-1, 0, 11, i32::MAX] {
        let mut first = Rows::new(table.first_fields());
        let mut row = first.row();
        row.int(0).int(0).int(rows).text("org,example)/00000");
        row.optional_long(Some(-5)).int(1).optional_long(Some(7));
        row.end();
        let mut writer = Writer::new(table.first_fields()).unwrap();
        writer.write(first).unwrap();
        let bytes = writer.finish().unwrap().unwrap().bytes;
        std::fs::write(dir.path().join(&path), bytes).unwrap();
        let mut served = written.table(table).unwrap().clone();
        served.rows = u64::try_from(rows).unwrap_or_default();
        let opened = ServingReader::open(&folder, table, Some(&served));
        let error = opened.and_then(|reader| reader.read(&folder, 0)).unwrap_err();
        assert!(matches!(error, ServingError::Damaged { .. }), "{rows}: {error}");
    }
}

#[test]
fn the_memory_of_a_row_group_includes_its_texts() {
    let dir = tempfile::tempdir().unwrap();
    let (store, folder) = (LocalFileStore::new(dir.path()), Dir(dir.path().to_owned()));
    let table = ServingTable::Captures;
    let mut sizes = Vec::new();
    for (batch, length) in [(1, 1), (2, 100_000)] {
        let mut writer = ServingWriter::new(&store, table, batch);
        let mut row = capture(1);
        row["url"] = json!("u".repeat(length));
        writer.push(row).unwrap();
        let served = writer.finish().unwrap();
        let reader = ServingReader::open(&folder, table, Some(&served)).unwrap();
        sizes.push(reader.read(&folder, 0).unwrap().size_bytes());
    }
    assert_eq!(sizes[1] - sizes[0], 99_999);
}

#[test]
fn a_file_of_long_texts_ends_early() {
    let dir = tempfile::tempdir().unwrap();
    let (store, folder) = (LocalFileStore::new(dir.path()), Dir(dir.path().to_owned()));
    let table = ServingTable::Captures;
    let mut writer = ServingWriter::new(&store, table, 1);
    let rows = 2 * writer::GROUP_ROWS + 1;
    for number in 0..rows {
        let mut row = capture(number);
        let digest = format!("{:016x}", (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        row["digest"] = json!(digest.repeat(2));
        row["url"] = json!(format!("http://example.org/{digest}"));
        writer.push(row).unwrap();
    }
    let served = writer.finish().unwrap();
    assert_eq!((served.files.len(), served.rows), (3, rows as u64));
    let reader = ServingReader::open(&folder, table, Some(&served)).unwrap();
    for (number, place) in reader.places().iter().enumerate() {
        assert_eq!(reader.read(&folder, number).unwrap().len() as u64, place.rows);
    }
}
