//! Inputs that cannot be loaded, and inputs that break readers.

use std::fs;
use std::time::{Duration, SystemTime};

use archive::question::{
    Body, Cancel, DumpFormat, InputState, Job, JobStage, Ledger, LedgerBody, LedgerRow, LoadRequest,
    OptionalStage, Question, Record, View,
};
use archive::{Archive, AskError, ErrorCode};
use inputs::LoadInput;
use inputs::path_of;

use crate::data::{self, dump, load, own, status};

fn ledger(archive: &Archive) -> Vec<LedgerRow> {
    match data::ask(
        archive,
        Question::Ledger(Ledger {
            state: None,
            input: None,
            after: None,
            limit: 10_000,
        }),
    ) {
        Body::Ledger(LedgerBody { rows, .. }) => rows,
        other => panic!("{other:?}"),
    }
}

fn states(archive: &Archive) -> Vec<(String, String)> {
    ledger(archive)
        .into_iter()
        .map(|row| (row.input, row.state.to_string()))
        .collect()
}

/// An input is found by its whole name, by the last part of it as CDX names files, and by its
/// digest.
#[test]
fn an_input_is_found_by_what_it_goes_by() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("a"));
    let path = root.path().join("good.warc.gz");
    fs::copy(shared.join("crawls/dupes.warc.gz"), &path).unwrap();
    let input = LoadInput {
        name: "crawls/2014/good.warc.gz".into(),
        path: inputs::path_text(&path),
    };
    let request = LoadRequest {
        inputs: vec![input],
        ..LoadRequest::default()
    };
    load(&archive, &request);
    let known = ledger(&archive);
    let by = |input: &str| {
        let question = Ledger {
            input: Some(input.to_owned()),
            limit: 10,
            ..Ledger::default()
        };
        archive.ask(question).unwrap().body.rows
    };
    for name in ["crawls/2014/good.warc.gz", "good.warc.gz", &known[0].digest] {
        assert_eq!(by(name), known, "{name}");
    }
    for name in ["2014/good.warc.gz", "good", "d.warc.gz", ""] {
        assert_eq!(by(name), [], "{name}");
    }
}

#[test]
fn failed_inputs_are_in_the_ledger_and_do_not_stop_the_others() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("a"));
    fs::write(root.path().join("letter.txt"), "Dear reader, this is no archive.").unwrap();
    fs::write(root.path().join("empty.warc"), "").unwrap();
    let good = fs::read(shared.join("crawls/dupes.warc.gz")).unwrap();
    fs::write(root.path().join("good.warc.gz"), &good).unwrap();
    // An empty file changed a moment ago would be waited for.
    let empty = fs::File::options()
        .write(true)
        .open(root.path().join("empty.warc"))
        .unwrap();
    empty
        .set_modified(SystemTime::now() - Duration::from_secs(3600))
        .unwrap();
    let names = ["absent.warc.gz", "letter.txt", "empty.warc", "good.warc.gz"];
    let request = data::request(root.path(), &names);
    let expected = [
        ("empty.warc", "failed(no WARC or ARC record in it)"),
        ("good.warc.gz", "done"),
        ("letter.txt", "failed(no WARC or ARC record in it)"),
    ];
    let expected: Vec<(String, String)> = expected.map(|(name, state)| (name.into(), state.into())).into();
    // The second load repeats only the failures. A name that leads nowhere has no row.
    for known in [0, 1] {
        let job = load(&archive, &request);
        assert_eq!((job.inputs, job.inputs_failed, job.inputs_known), (4, 3, known));
        assert_eq!(job.problems.len(), 3);
        assert_eq!(states(&archive), expected);
    }
    fs::write(
        root.path().join("absent.warc.gz"),
        fs::read(shared.join("crawls/hackfest.warc.gz")).unwrap(),
    )
    .unwrap();
    let job = load(&archive, &request);
    assert_eq!((job.inputs_done, job.inputs_failed), (1, 2));
    assert_eq!(states(&archive)[0], ("absent.warc.gz".into(), "done".into()));
    assert_eq!(status(&archive).inputs, 4);
}

#[test]
fn inputs_with_a_damaged_beginning_are_in_the_ledger() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("a"));
    let job = load(&archive, &data::request(&shared, &["regress/folder"]));
    assert_eq!((job.inputs, job.files_skipped), (5, 0), "{job:#?}");
    let names: Vec<String> = ledger(&archive).into_iter().map(|row| row.input).collect();
    let expected = [
        "damaged.warc",
        "damaged.warc.gz",
        "good.warc",
        "nohead.arc",
        "zeros-first.warc",
    ];
    assert_eq!(names, expected.map(|name| format!("regress/folder/{name}")));
}

#[test]
fn two_empty_files_are_two_inputs_that_failed() {
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("a"));
    let folder = root.path().join("in");
    fs::create_dir(&folder).unwrap();
    for name in ["a.warc.gz", "b.warc.gz", "notes.txt"] {
        fs::write(folder.join(name), "").unwrap();
    }
    let job = load(&archive, &data::request(root.path(), &["in"]));
    assert_eq!((job.inputs, job.inputs_failed, job.problems.len()), (2, 2, 2));
    assert_eq!((job.files_skipped, &*job.skipped[0].name), (1, "in/notes.txt"));
}

#[test]
fn names_that_are_not_utf8_are_inputs_like_others() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("a"));
    let folder = root.path().join("in");
    fs::create_dir(&folder).unwrap();
    // Both have the same name if invalid UTF-8 is replaced.
    let files = [
        ("crawls/hackfest.warc.gz", "caf\\xe8.warc.gz"),
        ("crawls/dupes.warc.gz", "caf\\xe9.warc.gz"),
    ];
    for (file, name) in files {
        fs::copy(shared.join(file), folder.join(path_of(name))).unwrap();
    }
    let job = load(&archive, &data::request(root.path(), &["in"]));
    assert_eq!((job.inputs_done, job.inputs_failed), (2, 0));
    let names = || -> Vec<String> { ledger(&archive).into_iter().map(|row| row.input).collect() };
    let expected = files.map(|(_, name)| format!("in/{name}"));
    assert_eq!(names(), expected);
    for row in ledger(&archive) {
        assert!(path_of(&row.location).is_file(), "{}", row.location);
    }
    drop(archive);
    let archive = own(&root.path().join("a"));
    let captures = dump(&archive, "captures");
    assert!(
        captures.contains("in/caf\\\\xe9.warc.gz"),
        "the text of the name, escaped as a dump is"
    );
    let capture = captures
        .lines()
        .find(|line| line.contains("xe9") && line.contains("\t200\t"))
        .unwrap();
    let question = Question::Record(Record {
        url: capture.split('\t').nth(2).unwrap().to_owned(),
        at: None,
        capture: None,
        fuzzy: false,
        with_content: false,
    });
    let Body::Record(place) = data::ask(&archive, question) else {
        panic!()
    };
    archive::open_record(archive.sources(), &place, &archive::Interrupt::new()).unwrap();
    // Loaded again by name, as from a command line.
    let job = load(&archive, &data::request(root.path(), &[&expected[0]]));
    assert_eq!((job.inputs_known, job.inputs_failed), (1, 0));
}

#[test]
fn an_input_that_is_gone_keeps_its_one_row_which_tells_so() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("a"));
    let content = fs::read(shared.join("crawls/hackfest.warc.gz")).unwrap();
    fs::write(root.path().join("whole.warc.gz"), &content).unwrap();
    // With another name the load would wait for its tail.
    fs::write(
        root.path().join("part.warc.gz.open"),
        &content[..content.len() / 2],
    )
    .unwrap();
    let names = ["whole.warc.gz", "part.warc.gz.open"];
    let request = data::request(root.path(), &names);
    let before = load(&archive, &request);
    assert_eq!((before.inputs_done, before.inputs_loading), (1, 1));
    let rows = ledger(&archive);
    for name in names {
        fs::rename(
            root.path().join(name),
            root.path().join(name).with_extension("away"),
        )
        .unwrap();
    }
    for _ in 0..2 {
        let job = load(&archive, &request);
        assert_eq!(
            (job.inputs_failed, job.inputs_known, job.problems.len()),
            (2, 0, 2)
        );
        let now = ledger(&archive);
        let missing: Vec<&str> = now.iter().map(|row| row.missing.as_str()).collect();
        assert_eq!(missing, ["no such file", "no such file"]);
        let told = |row: &LedgerRow| LedgerRow {
            missing: "no such file".into(),
            ..row.clone()
        };
        assert_eq!(
            format!("{now:?}"),
            format!("{:?}", rows.iter().map(told).collect::<Vec<_>>())
        );
    }
    for name in names {
        fs::rename(
            root.path().join(name).with_extension("away"),
            root.path().join(name),
        )
        .unwrap();
    }
    let job = load(&archive, &request);
    assert_eq!(
        (job.inputs_failed, job.inputs_known, job.inputs_loading),
        (0, 1, 1)
    );
    assert_eq!(format!("{:?}", ledger(&archive)), format!("{rows:?}"));
}

#[test]
fn files_that_break_readers_are_loaded_as_far_as_they_go() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("a"));
    let job = load(&archive, &data::request(&shared, &["edge"]));
    assert!(job.inputs > 50, "{job:#?}");
    let rows = ledger(&archive);
    for row in &rows {
        assert_ne!(row.state, InputState::Pending, "{row:?}");
        let whole = row.bytes_done == row.size || row.state == InputState::Loading;
        assert!(whole, "{row:?}");
    }
    assert_eq!(rows.len() as u64, job.inputs - job.inputs_known);
    let sum = |of: fn(&LedgerRow) -> u64| rows.iter().map(of).sum::<u64>();
    let status = status(&archive);
    assert_eq!(sum(|row| row.records), status.records);
    assert_eq!(sum(|row| row.captures), status.captures);
    assert_eq!(sum(|row| row.quarantined), status.quarantined);
    assert_eq!(
        dump(&archive, "captures").lines().count() as u64,
        status.captures + header(&archive)
    );
    assert_eq!(job.captures, status.captures);
}

/// Returns the number of lines in a dump that are not rows.
fn header(archive: &Archive) -> u64 {
    let mut out = Vec::new();
    let rows = archive.dump(View::Captures, DumpFormat::Tsv, &mut out).unwrap();
    String::from_utf8(out).unwrap().lines().count() as u64 - rows
}

#[test]
fn a_load_without_the_index_leaves_everything_to_the_next() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let archive = own(root.path());
    let request = data::request(&shared, &["crawls/hackfest.warc.gz"]);
    for off in [OptionalStage::Extract, OptionalStage::Weave] {
        let job = load(
            &archive,
            &LoadRequest {
                stages_off: vec![off],
                ..request.clone()
            },
        );
        assert_eq!((job.captures, job.inputs_loading), (0, 1), "{off:?}");
        let stage = job.stages.iter().find(|stage| stage.stage == off.name()).unwrap();
        assert!(stage.done > 0, "{off:?}");
    }
    let job = load(&archive, &request);
    assert_eq!(job.inputs_done, 1);
    assert!(job.captures > 0);
}

#[test]
fn search_catches_up_with_a_load_that_left_it_out() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let archive = own(root.path());
    let request = data::request(&shared, &["crawls/hackfest.warc.gz"]);
    load(
        &archive,
        &LoadRequest {
            stages_off: vec![OptionalStage::Search],
            ..request
        },
    );
    assert_eq!(status(&archive).search_documents, 0);
    drop(archive);
    let archive = own(root.path());
    let question = archive::question::SearchQuestion {
        query: "the".into(),
        ..Default::default()
    };
    let Body::Search(found) = data::ask(&archive, Question::Search(question)) else {
        panic!()
    };
    assert!(found.summary.total > 0);
    assert_eq!(status(&archive).search_documents, status(&archive).pages);
}

fn refused(archive: &Archive, request: LoadRequest) -> AskError {
    archive.ask(Question::Load(request)).unwrap_err()
}

#[test]
fn wrong_requests_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let archive = own(root.path());
    let one = data::request(root.path(), &["x"]);
    let wrong = [
        LoadRequest::default(),
        LoadRequest {
            rate_pages_per_s: Some(0.0),
            ..one.clone()
        },
        LoadRequest {
            rate_pages_per_s: Some(f64::NAN),
            ..one
        },
    ];
    for request in wrong {
        assert_eq!(refused(&archive, request).code, ErrorCode::BadRequest);
    }
    for wrong in [r#"{"links":"some"}"#, r#"{"stages_off":["read"]}"#] {
        assert!(serde_json::from_str::<LoadRequest>(wrong).is_err(), "{wrong}");
    }
    assert_eq!(
        archive.ask(Question::Job(Job { id: 1 })).unwrap_err().code,
        ErrorCode::NotFound
    );
    assert_eq!(
        archive.ask(Question::Cancel(Cancel { id: 1 })).unwrap_err().code,
        ErrorCode::NotFound
    );
}

#[test]
fn digests_are_checked_on_request_and_nothing_is_dropped() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let archive = own(root.path());
    let request = data::request(
        &shared,
        &["edge/warcio-example-digest.warc", "crawls/iana.warc.gz"],
    );
    let job = load(
        &archive,
        &LoadRequest {
            verify: true,
            ..request
        },
    );
    assert_eq!(job.defects_total, job.defects.len() as u64);
    assert!(
        job.defects.iter().any(|defect| defect.reason.contains("digest")),
        "{:#?}",
        job.defects
    );
    assert!(job.defects.iter().all(|defect| !defect.input.is_empty()));
}

#[test]
fn something_is_seen_before_all_inputs_are_digested_and_each_is_digested_once() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("in");
    fs::create_dir(&folder).unwrap();
    let block = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>x</title>";
    // More than all queues of the pipeline hold together.
    for number in 0..400 {
        let record = format!(
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:x:{number}>\r\nWARC-Date: 2020-01-01T00:00:00Z\r\n\
             WARC-Target-URI: http://a.com/{number}\r\nContent-Type: application/http\r\nContent-Length: {}\r\n\r\n\
             {block}\r\n\r\n",
            block.len()
        );
        fs::write(folder.join(format!("{number:03}.warc")), record).unwrap();
    }
    let archive = own(&root.path().join("a"));
    let slow = LoadRequest {
        rate_pages_per_s: Some(20.0),
        epoch_bytes: Some(1),
        ..data::request(root.path(), &["in"])
    };
    let mut early = None;
    let (_, job) = archive
        .load(&slow, &mut |_, job| {
            if job.captures > 0 && early.is_none() {
                early = Some((job.bytes_digested, job.bytes, job.stage));
            }
            early.is_none()
        })
        .unwrap();
    let (digested, bytes, stage) = early.unwrap();
    assert!(digested < bytes, "{digested} of {bytes}");
    assert_eq!((stage, job.stage), (JobStage::Loading, JobStage::Ended));
    let job = load(&archive, &data::request(root.path(), &["in"]));
    assert_eq!((job.bytes_digested, job.bytes_done), (job.bytes, job.bytes));
}
