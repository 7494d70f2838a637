//! Packages of archives (WACZ): their members are loaded as the same files are by themselves.

use std::io::{Cursor, Write};

use serde_json::json;
use sha2::{Digest, Sha256};
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

use crate::addresses::{dumps, local};
use crate::fixture;
use crate::support::Place;
use crate::web::{Manner, Web};

const WARC: &str = "archive/web.warc";

/// A ZIP file of these members.
fn zipped(members: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        let options = SimpleFileOptions::default().compression_method(method);
        zip.start_file(*name, options).expect("a member");
        zip.write_all(bytes).expect("its bytes");
    }
    zip.finish().expect("a file").into_inner()
}

fn sha256(bytes: &[u8]) -> String {
    format!(
        "sha256:{}",
        data_encoding::HEXLOWER.encode(&Sha256::digest(bytes))
    )
}

/// A description that declares these digests.
fn described(declared: &[(&str, String)]) -> Vec<u8> {
    let resources = declared
        .iter()
        .map(|(path, hash)| json!({"path": path, "hash": hash}));
    let described = json!({
        "profile": "data-package",
        "wacz_version": "1.1.1",
        "resources": resources.collect::<Vec<_>>(),
    });
    described.to_string().into_bytes()
}

fn wacz(warc: &[u8], method: CompressionMethod) -> Vec<u8> {
    let described = described(&[(WARC, sha256(warc))]);
    let digest = json!({"path": "datapackage.json", "hash": sha256(&described)}).to_string();
    let members: [(&str, &[u8]); 3] = [
        (WARC, warc),
        ("datapackage.json", &described),
        ("datapackage-digest.json", digest.as_bytes()),
    ];
    zipped(&members, method)
}

/// What was loaded under names that begin with `prefix` is what `web.warc` gives by itself.
fn check_loaded(place: &Place, archive: &str, prefix: &str) {
    assert_eq!(
        dumps(place, archive, prefix),
        dumps(place, "local", ""),
        "{prefix}"
    );
    let page = "http://www.library.example/";
    for part in ["--headers", "--payload", "--stored"] {
        let record = |archive| place.run(&["record", page, part, "--archive", archive]);
        let (packed, local) = (record(archive), record("local"));
        assert_eq!(
            (packed.code, packed.stdout),
            (local.code, local.stdout),
            "{prefix} {part}: {}",
            packed.stderr
        );
    }
    let verified = place.good(&["verify", "--archive", archive]);
    assert!(verified.contains("every view follows from 1 input"), "{verified}");
}

#[test]
fn members_give_what_files_give() {
    let place = local();
    let warc = fixture::small_web();
    let stored = wacz(&warc, CompressionMethod::Stored);
    place.write_old("stored.wacz", &stored);
    place.write_old("deflated.WACZ", &wacz(&warc, CompressionMethod::Deflated));
    for (archive, method) in [
        ("nested", CompressionMethod::Stored),
        ("deeper", CompressionMethod::Deflated),
    ] {
        let hash = sha256(&stored);
        let described = described(&[("one#%.wacz", hash)]);
        let nested = zipped(
            &[("one#%.wacz", &stored), ("datapackage.json", &described)],
            method,
        );
        place.write_old(&format!("{archive}.wacz"), &nested);
    }
    for (archive, file, prefix) in [
        ("stored", "stored.wacz", "stored.wacz#archive/"),
        ("deflated", "deflated.WACZ", "deflated.WACZ#archive/"),
        ("nested", "nested.wacz", "nested.wacz#one#%.wacz#archive/"),
        ("deeper", "deeper.wacz", "deeper.wacz#one#%.wacz#archive/"),
    ] {
        place.good(&["load", file, "--archive", archive]);
        check_loaded(&place, archive, prefix);
        let again = place.good(&["load", file, "--archive", archive]);
        assert!(again.contains("1 input: 1 known already"), "{again}");
    }
    let web = Web::start(&stored, Manner::Ranges);
    place.good(&["load", &web.url("/x.wacz"), "--archive", "far"]);
    check_loaded(&place, "far", &web.url("/x.wacz#archive/"));
}

/// The views of captures are those of `web.warc` by itself, whatever else the ledger tells.
fn check_views(place: &Place, archive: &str, prefix: &str) {
    let views = |archive: &str, prefix: &str| {
        let mut dumps = dumps(place, archive, prefix);
        dumps.retain(|view, _| !matches!(*view, "ledger" | "quarantine"));
        dumps
    };
    assert_eq!(views(archive, prefix), views("local", ""), "{archive}");
}

#[test]
fn what_is_wrong_in_a_package_is_told_and_the_rest_loaded() {
    let place = local();
    let warc = fixture::small_web();
    let wrong = described(&[(WARC, sha256(b"other")), ("archive/gone.warc", sha256(b""))]);
    let digest = json!({"path": "datapackage.json", "hash": sha256(b"other")}).to_string();
    let members: [(&str, &[u8]); 4] = [
        (WARC, &warc),
        ("datapackage.json", &wrong),
        ("datapackage-digest.json", digest.as_bytes()),
        ("archive/notes.txt", b"just text"),
    ];
    place.write_old("x.wacz", &zipped(&members, CompressionMethod::Stored));
    let run = place.run(&["load", "x.wacz", "--archive", "wrong"]);
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    for expected in [
        "package-digest".to_owned(),
        format!("found {}, expected {}", sha256(&warc), sha256(b"other")),
        "x.wacz#archive/gone.warc: failed(datapackage.json lists it".to_owned(),
        format!(
            "x.wacz#datapackage-digest.json: failed(datapackage.json is {}",
            sha256(&wrong)
        ),
        "x.wacz#archive/notes.txt: no archive's name".to_owned(),
    ] {
        let quarantine = place
            .run(&["status", "--quarantine", "--archive", "wrong"])
            .stdout;
        let told = format!("{}{quarantine}", run.stdout);
        assert!(told.contains(&expected), "{expected}\n{told}");
    }
    let prefix = "x.wacz#archive/";
    check_views(&place, "wrong", prefix);

    let whole = wacz(&warc, CompressionMethod::Stored);
    let cases: [(&str, &[u8], &str); 3] = [
        (
            "cut.wacz",
            &whole[..whole.len() / 2],
            "cut.wacz: failed(cannot be read as a package",
        ),
        (
            "empty.wacz",
            b"",
            "empty.wacz: failed(cannot be read as a package",
        ),
        (
            "bare.wacz",
            &zipped(&[(WARC, &warc)], CompressionMethod::Stored),
            "bare.wacz#datapackage.json: failed(missing: it is no WACZ",
        ),
    ];
    for (file, bytes, expected) in cases {
        place.write_old(file, bytes);
        let archive = file.trim_end_matches(".wacz");
        let run = place.run(&["load", file, "--archive", archive]);
        assert_eq!(run.code, Some(1), "{}", run.stdout);
        assert!(run.stdout.contains(expected), "{expected}\n{}", run.stdout);
    }
    check_views(&place, "bare", "bare.wacz#archive/");
}

#[test]
fn a_package_is_not_kept_in_parts() {
    let place = Place::new();
    place.write_old("x.wacz", &wacz(&fixture::small_web(), CompressionMethod::Stored));
    let run = place.run(&["load", "x.wacz", "--keep", "--volume", "disk"]);
    assert!(
        run.stderr.contains("is in a package, which is kept whole"),
        "{}",
        run.stderr
    );
    assert_ne!(run.code, Some(0));
}
