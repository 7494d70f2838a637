//! `weft verify`: its inputs, findings and advice.

use std::io::Write as _;
use std::path::PathBuf;

use expect_test::expect;
use flate2::write::GzEncoder;

use crate::fixture;
use crate::serve::Served;
use crate::support::{Run, Workspace};

fn loaded() -> Workspace {
    let place = Workspace::new();
    place.write_old("web.warc", &fixture::small_web());
    place.good(&["load", "web.warc"]);
    place
}

/// Captures from an index, with and without their file, are listed, counted and compared. Reading
/// one fails with the message that its record is not loaded.
#[test]
fn indexes_are_verified_like_files() {
    let place = loaded();
    place.good(&["export", "--cdxj", "all.cdxj"]);
    let index = std::fs::read_to_string(place.path("all.cdxj")).expect("an index");
    assert!(index.lines().count() > 0, "{index}");
    let elsewhere = "org,elsewhere)/ 20140126200624 {\"url\": \"http://elsewhere.org/\", \"offset\": \"7\", \"filename\": \"z.warc\"}\n";
    place.write_old("web.cdxj", format!("{index}{elsewhere}").as_bytes());
    place.good(&["load", "web.cdxj"]);
    let listed = place.good(&["cdx", "http://elsewhere.org/"]);
    assert!(listed.contains("\"filename\": \"z.warc\""), "{listed}");
    let refused = place.run(&["record", "http://elsewhere.org/"]);
    assert!(refused.stderr.contains("record not loaded"), "{refused:?}");
    let status = place.good(&["status"]);
    assert!(status.contains("index lines"), "{status}");
    let verified = place.good(&["verify"]);
    let expected = format!("index_lines {} rows, the same", index.lines().count() + 1);
    assert!(verified.contains(&expected), "{verified}");
    std::fs::remove_file(place.path("web.cdxj")).expect("removed");
    let gone = place.run(&["verify"]);
    assert_eq!(gone.code, Some(1), "{gone:?}");
    assert!(gone.stdout.contains("index_lines 0 rows, the same"), "{gone:?}");
}

/// Damage of records that are used is kept, and the commands about the archive's state report it.
#[test]
fn damage_of_used_records_is_reported_after_the_load() {
    let headers = [
        ("WARC-Target-URI", "http://a.example/"),
        ("WARC-Date", "2014-01-26T20:06:24Z"),
        ("Content-Type", "application/http; msgtype=response"),
        ("WARC-Payload-Digest", "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
    ];
    let block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>A</title>";
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder
        .write_all(&fixture::record("response", &headers, block))
        .expect("compress");
    let mut member = encoder.finish().expect("compress");
    let checksum = member.len() - 8;
    member[checksum] ^= 1;
    let place = Workspace::new();
    place.write_old("damaged.warc.gz", &member);
    let run = place.run(&["load", "--verify", "damaged.warc.gz"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    let kept = place.good(&["status", "--quarantine"]);
    for expected in [
        "checksum-mismatch: CRC-32 is",
        "payload-digest-mismatch:",
        "(the record is used)",
    ] {
        assert!(kept.contains(expected), "{expected}: {kept}");
    }
    let doctor = place.run(&["doctor"]);
    let expected = "2 pieces damaged or not usable, besides 1 record read";
    assert!(doctor.stdout.contains(expected), "{doctor:?}");
    // The digests are checked again, so the quarantine is the same.
    let verified = place.good(&["verify"]);
    assert!(verified.contains("2 rows, the same"), "{verified}");
    assert!(verified.contains("2 records or parts are damaged"), "{verified}");
}

/// Returns files of the search index that hold documents, terms and the like.
fn search_files(place: &Workspace) -> Vec<PathBuf> {
    let files = std::fs::read_dir(place.path("weft-archive/search")).expect("a folder");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("an entry").path()).collect();
    let of_segment = |file: &PathBuf| file.file_stem().is_some_and(|name| name.len() == 32);
    files.retain(of_segment);
    assert!(files.len() > 3, "{files:?}");
    files
}

/// Checks that damage is reported with advice, instead of a wrong answer or a crash.
fn is_told(run: &Run) {
    assert_eq!(run.code, Some(1), "{run:?}");
    let told = format!("{}{}", run.stdout, run.stderr);
    assert!(told.contains("search index"), "{run:?}");
    assert!(
        told.contains("remove ") && told.contains("rebuilds it"),
        "{run:?}"
    );
}

#[test]
fn damage_anywhere_in_the_search_index_is_found_and_goes_with_it() {
    let place = loaded();
    for file in search_files(&place) {
        let whole = std::fs::read(&file).expect("read");
        let mut bytes = whole.clone();
        bytes[whole.len() / 2] ^= 0x55;
        std::fs::write(&file, &bytes).expect("write");
        is_told(&place.run(&["verify"]));
        // A query either succeeds or fails with advice.
        std::fs::write(&file, vec![0x55; whole.len()]).expect("write");
        let run = place.run(&["search", "a", "--facets"]);
        if run.code != Some(0) {
            is_told(&run);
        }
        std::fs::write(&file, &whole).expect("write");
    }
    assert_eq!(place.run(&["verify"]).code, Some(0));
    let file = &search_files(&place)[0];
    std::fs::write(file, b"not this").expect("write");
    is_told(&place.run(&["verify"]));
    std::fs::remove_dir_all(place.path("weft-archive/search")).expect("removed");
    assert_eq!(place.run(&["verify"]).code, Some(0));
}

#[test]
fn an_input_that_is_still_written_is_verified_up_to_where_it_was_read() {
    let place = loaded();
    let whole = fixture::other_web();
    let cut = whole.len() - 60;
    place.write_old("live.warc.open", &whole[..cut]);
    place.run(&["load", "live.warc.open"]);
    let verify = || {
        let run = place.run(&["verify"]);
        let told: Vec<&str> = run
            .stdout
            .lines()
            .filter(|line| line.contains("live.warc"))
            .collect();
        (
            run.code,
            told.join("\n"),
            run.stdout.lines().last().unwrap_or_default().to_owned(),
        )
    };
    let (code, note, verdict) = verify();
    assert_eq!(code, Some(0), "{note} {verdict}");
    assert!(
        note.starts_with("note: live.warc.open is loaded up to byte "),
        "{note}"
    );
    assert!(note.ends_with(", and compared up to there"), "{note}");
    assert!(verdict.starts_with("every view matches 2 inputs"), "{verdict}");
    // The file grows: the loaded part is still there.
    place.write_old("live.warc.open", &whole);
    assert_eq!(verify(), (code, note, verdict));
    // The file is replaced by another.
    place.write_old("live.warc.open", &fixture::small_web());
    let (code, _, verdict) = verify();
    assert_eq!(code, Some(1));
    assert!(
        verdict.starts_with("1 of 2 inputs could not be compared"),
        "{verdict}"
    );
}

#[test]
fn many_failed_inputs_do_not_hide_a_changed_one() {
    let place = loaded();
    let list: String = (0..12).map(|number| format!("{number}.warc\n")).collect();
    place.write_old("none.paths", list.as_bytes());
    place.run(&["load", "@none.paths"]);
    let text = place.good(&["verify"]);
    assert_eq!(text.matches("\nnote: ").count(), 10, "{text}");
    assert!(text.contains("\n2 notes more (--json lists all)\n"), "{text}");
    assert_eq!(
        place.json(&["verify"])["notes"].as_array().map(Vec::len),
        Some(12)
    );
    let mut changed = fixture::small_web();
    changed[200] ^= 1;
    place.write_old("web.warc", &changed);
    let run = place.run(&["verify", "--csv", "fixity.csv"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stdout.starts_with("web.warc: fail: "), "{}", run.stdout);
    assert_eq!(run.stdout.matches(": warning: ").count(), 10);
    assert!(
        run.stdout.contains("\n2 inputs more: warning (see the table)\n"),
        "{}",
        run.stdout
    );
}

#[test]
fn inputs_that_are_gone_or_changed_are_named_and_the_others_compared() {
    let place = loaded();
    place.write_old("other.warc", &fixture::other_web());
    place.good(&["load", "other.warc"]);
    std::fs::remove_file(place.path("other.warc")).expect("removed");
    let run = place.run(&["verify"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    expect![[r#"
        ledger      1 row, the same
        quarantine  0 rows, the same
        captures    5 rows, the same
        kinds       5 rows, the same
        index_lines 0 rows, the same
        pages       not compared: it is derived from all inputs, and some of them could not be compared
        versions    not compared: it is derived from all inputs, and some of them could not be compared
        links       not compared: it is derived from all inputs, and some of them could not be compared
        inlinks     not compared: it is derived from all inputs, and some of them could not be compared
        uris        not compared: it is derived from all inputs, and some of them could not be compared
        domains     not compared: it is derived from all inputs, and some of them could not be compared
        top         not compared: it is derived from all inputs, and some of them could not be compared
        totals      not compared: it is derived from all inputs, and some of them could not be compared
        other.warc: could not be compared: no such file
        1 of 2 inputs could not be compared (epoch 2)
    "#]]
    .assert_eq(&place.stable(&run.stdout));
    let mut changed = fixture::small_web();
    changed.truncate(changed.len() / 2);
    place.write_old("web.warc", &changed);
    let json = place.run(&["verify", "--json"]);
    assert_eq!(json.code, Some(1), "{json:?}");
    for told in [
        r#""input":"web.warc","why":"its content has changed since it was loaded""#,
        r#""input":"other.warc","why":"no such file""#,
        r#""same":false"#,
    ] {
        assert!(json.stdout.contains(told), "{}", json.stdout);
    }
}

/// The engine takes a damaged byte for the end of its journal. The report says which epochs are
/// gone and how to restore them.
#[cfg(unix)]
#[test]
fn epochs_behind_a_damaged_byte_of_the_journal_are_told_and_loaded_again() {
    let place = Workspace::new();
    place.write_old("web.warc", &fixture::small_web());
    place.write_old("other.warc", &fixture::other_web());
    let served = Served::start(&place);
    place.good(&["load", "web.warc"]);
    place.good(&["load", "other.warc"]);
    // Killed: data that a clean shutdown writes to tables is only in the journal.
    served.signal("KILL");
    drop(served);
    let entries = std::fs::read_dir(place.path("weft-archive/index")).expect("a folder");
    let mut journals: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    journals.retain(|path| path.extension().is_some_and(|kind| kind == "jnl"));
    let [journal] = &journals[..] else {
        panic!("{journals:?}")
    };
    let name = journal.file_name().expect("a name").to_owned();
    let whole = std::fs::read(journal).expect("a journal");
    let written = whole.iter().rposition(|byte| *byte != 0).expect("bytes") + 1;
    std::fs::remove_file(place.path("weft-archive/run/socket")).expect("left by the one that was killed");
    let copied = |copy: &str, bytes: &[u8]| {
        let mut command = test_env::command("cp", &place.path(""));
        command
            .args(["-r", "weft-archive", copy])
            .current_dir(place.path(""));
        assert!(command.status().expect("cp").success());
        std::fs::write(place.path(copy).join("index").join(&name), bytes).expect("written");
    };
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        bytes
    };
    // In the middle of the journal the engine detects the damage itself.
    copied("midst", &flipped(written / 2));
    let midst = place.run(&["verify", "--archive", "midst"]);
    assert_eq!(midst.code, Some(1), "{midst:?}");
    assert!(midst.stderr.contains("the journal of the index"), "{midst:?}");
    let ends = [
        ("last", flipped(written - 1)),
        ("third", flipped(written - 3)),
        ("cut", whole[..written - 20].to_vec()),
    ];
    for (at, bytes) in ends {
        let copy = format!("copy-{at}");
        copied(&copy, &bytes);
        let verified = place.run(&["verify", "--archive", &copy]);
        assert_eq!(verified.code, Some(1), "{at}: {verified:?}");
        assert!(
            verified.stdout.contains("index: damaged: it lost epoch")
                && verified.stdout.contains("load the inputs again"),
            "{at}: {verified:?}"
        );
        let loaded = place.run(&["load", "--archive", &copy, "web.warc", "other.warc"]);
        assert_eq!(loaded.code, Some(0), "{at}: {loaded:?}");
        assert!(loaded.stderr.contains("the index lost epoch"), "{at}: {loaded:?}");
        let verified = place.run(&["verify", "--archive", &copy]);
        assert_eq!(verified.code, Some(0), "{at}: {verified:?}");
        let dumped = |archive| place.good(&["dump", "captures", "--archive", archive]);
        assert_eq!(dumped(copy.as_str()), dumped("weft-archive"), "{at}");
        // No row is duplicated.
        let rows = facts::read_table(&place.path(&copy).join("facts/captures"), None).expect("a table");
        assert_eq!(rows.len(), dumped("weft-archive").lines().count(), "{at}");
    }
}

/// Returns a file of a facts table.
fn facts_file(place: &Workspace, table: &str) -> PathBuf {
    let files = std::fs::read_dir(place.path("weft-archive/facts").join(table)).expect("a folder");
    let mut files = files.map(|entry| entry.expect("an entry").path());
    let file = files.find(|path| path.extension().is_some_and(|kind| kind == "parquet"));
    file.expect("a file")
}

/// Other engines read these files: a damaged one is reported by name, with the expected content.
#[test]
fn damaged_files_of_facts_are_told_in_a_sentence() {
    let place = loaded();
    let file = facts_file(&place, "links");
    let whole = std::fs::read(&file).expect("read");
    let mut flipped = whole.clone();
    flipped[whole.len() - 6] ^= 0x55;
    let other = std::fs::read(facts_file(&place, "captures")).expect("read");
    for (bytes, said) in [
        (Some(whole[..whole.len() - 40].to_vec()), " bytes, the log says"),
        (Some(other), " bytes, the log says"),
        (Some(vec![0x55; whole.len()]), "that are not Parquet"),
        (Some(flipped), "that are not Parquet"),
        (None, "it is missing, the log says"),
    ] {
        match bytes {
            Some(bytes) => std::fs::write(&file, bytes).expect("written"),
            None => std::fs::remove_file(&file).expect("removed"),
        }
        let run = place.run(&["verify"]);
        assert_eq!(run.code, Some(1), "{run:?}");
        let named = run.stdout.contains(&format!("facts file {}", file.display()));
        let told = run.stdout.contains(said) && run.stdout.contains("restore the file from a copy");
        assert!(named && told, "{said}: {run:?}");
        // Dumps come from the index.
        place.good(&["dump", "links"]);
    }
    std::fs::write(&file, &whole).expect("written");
    assert_eq!(place.run(&["verify"]).code, Some(0));
    std::fs::remove_dir_all(place.path("weft-archive/facts/captures")).expect("removed");
    let run = place.run(&["verify"]);
    assert!(
        run.stdout
            .contains("its rows are missing, but the archive has captures"),
        "{run:?}"
    );
}
