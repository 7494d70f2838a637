//! Inputs that grow, are renamed, or end in the middle of a record.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use archive::Archive;
use archive::question::{
    InputState, JobBody, JobState, Ledger, LedgerBody, LedgerRow, LoadRequest, Question, TakeDown,
    TakedownSelector,
};

use crate::data::{self, FACTS, VIEWS, assert_same, dumps, load, own};

/// A file of many small gzip members.
const FILE: &str = "crawls/hackfest.warc.gz";

fn content(shared: &Path) -> Vec<u8> {
    fs::read(shared.join(FILE)).unwrap()
}

/// Makes a file old enough to be considered finished.
fn make_old(path: &Path) {
    change_time(path, Duration::from_secs(3600));
}

fn change_time(path: &Path, ago: Duration) {
    change_file_time(path, SystemTime::now() - ago);
}

fn change_file_time(path: &Path, time: SystemTime) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(time).unwrap();
}

/// Checks that the one input is done and cut off, according to all reports.
fn assert_cut(archive: &Archive, job: &JobBody) {
    let counts = (job.inputs_loading, job.inputs_done, job.inputs_cut);
    assert_eq!(counts, (0, 1, 1), "{job:#?}");
    let row = &ledger(archive)[0];
    assert_eq!((&row.state, row.bytes_done), (&InputState::Done, row.size));
    assert!(row.cut.starts_with("truncated-member: "), "{}", row.cut);
    assert_eq!(job.problems[0].cut, row.cut);
    let noted = job
        .defects
        .iter()
        .any(|defect| defect.reason.starts_with("truncated"));
    assert!(noted, "{job:#?}");
}

fn load_one(archive: &Archive, folder: &Path, name: &str) -> JobBody {
    load(archive, &data::request(folder, &[name]))
}

fn ledger(archive: &Archive) -> Vec<LedgerRow> {
    match data::ask(
        archive,
        Question::Ledger(Ledger {
            state: None,
            input: None,
            after: None,
            limit: 1000,
        }),
    ) {
        archive::question::Body::Ledger(LedgerBody { rows, next: None }) => rows,
        other => panic!("{other:?}"),
    }
}

/// Returns every view of an archive into which `x.warc.gz` was loaded completely.
fn at_once(root: &Path, content: &[u8]) -> Vec<(&'static str, String)> {
    fs::write(root.join("x.warc.gz"), content).unwrap();
    make_old(&root.join("x.warc.gz"));
    let archive = own(&root.join("whole"));
    load_one(&archive, root, "x.warc.gz");
    fs::remove_file(root.join("x.warc.gz")).unwrap();
    dumps(&archive)
}

#[test]
fn an_open_file_is_read_as_it_grows_and_done_when_renamed() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let content = content(&shared);
    let root = tempfile::tempdir().unwrap();
    let expected = at_once(root.path(), &content);
    let archive = own(&root.path().join("a"));
    let open = root.path().join("x.warc.gz.open");
    let mut captures = 0;
    // In the middle of members, and once without any growth.
    for percent in [0, 3, 40, 40, 77, 100] {
        fs::write(&open, &content[..content.len() * percent / 100]).unwrap();
        let job = load_one(&archive, root.path(), "x.warc.gz.open");
        assert_eq!(
            (job.inputs_loading, job.inputs_done, job.quarantined),
            (1, 0, 0),
            "{percent} %"
        );
        captures += job.captures;
        let row = &ledger(&archive)[0];
        assert_eq!(
            (&row.state, row.captures),
            (&InputState::Loading, captures),
            "{percent} %"
        );
        assert!(row.bytes_done <= content.len() as u64 * percent as u64 / 100);
    }
    fs::rename(&open, root.path().join("x.warc.gz")).unwrap();
    let job = load_one(&archive, root.path(), "x.warc.gz");
    assert_eq!((job.inputs_done, job.captures), (1, 0));
    assert_same(&archive, &expected, "grown and renamed");
}

#[test]
fn a_file_renamed_while_it_was_incomplete_is_the_same_input() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let content = content(&shared);
    let root = tempfile::tempdir().unwrap();
    let expected = at_once(root.path(), &content);
    let archive = own(&root.path().join("a"));
    fs::write(root.path().join("x.warc.gz.open"), &content[..content.len() / 2]).unwrap();
    load_one(&archive, root.path(), "x.warc.gz.open");
    fs::remove_file(root.path().join("x.warc.gz.open")).unwrap();
    fs::write(root.path().join("x.warc.gz"), &content).unwrap();
    load_one(&archive, root.path(), "x.warc.gz");
    assert_same(&archive, &expected, "renamed and grown");
}

#[test]
fn a_cut_file_that_was_changed_a_moment_ago_and_does_not_grow_is_done_as_cut() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let content = content(&shared);
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("a"));
    let path = root.path().join("x.warc.gz");
    fs::write(&path, &content[..content.len() / 3]).unwrap();
    change_time(&path, Duration::from_secs(3));
    let mut waited = false;
    let request = data::request(root.path(), &["x.warc.gz"]);
    let (_, job) = archive
        .load(&request, &mut |_, job| {
            waited |= job.waiting_for == ["x.warc.gz"];
            true
        })
        .unwrap();
    assert!(waited);
    assert_eq!(job.waiting_for, Vec::<String>::new());
    assert_cut(&archive, &job);
}

#[test]
fn a_file_that_grows_while_it_is_waited_for_stays_loading() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let content = content(&shared);
    let root = tempfile::tempdir().unwrap();
    let expected = at_once(root.path(), &content);
    let archive = own(&root.path().join("a"));
    let path = root.path().join("x.warc.gz");
    fs::write(&path, &content[..content.len() / 3]).unwrap();
    let request = data::request(root.path(), &["x.warc.gz"]);
    let grow = |_, job: &JobBody| {
        let (begun, rest) = content.split_at(content.len() / 3);
        // Append only the rest, and only once: a rewritten file would be short for a moment.
        if !job.waiting_for.is_empty() && path.metadata().unwrap().len() == begun.len() as u64 {
            let mut file = File::options().append(true).open(&path).unwrap();
            std::io::Write::write_all(&mut file, rest).unwrap();
        }
        true
    };
    let (_, job) = archive.load(&request, &mut { grow }).unwrap();
    assert_eq!((job.inputs_loading, job.inputs_done, job.inputs_cut), (1, 0, 0));
    assert!(job.captures > 0);
    let job = load(&archive, &request);
    assert_eq!((job.inputs_loading, job.inputs_done), (0, 1));
    assert_same(&archive, &expected, "written in two parts");
}

#[test]
fn a_load_that_waits_for_a_file_can_be_cancelled() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let content = content(&shared);
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("a"));
    let path = root.path().join("x.warc.gz");
    fs::write(&path, &content[..content.len() / 3]).unwrap();
    // A time in the future, as from a wrong clock: the wait ends, but not soon.
    change_file_time(&path, SystemTime::now() + Duration::from_secs(3600));
    let request = data::request(root.path(), &["x.warc.gz"]);
    let (_, job) = archive
        .load(&request, &mut |_, job| job.waiting_for.is_empty())
        .unwrap();
    assert_eq!(
        (job.state, job.inputs_loading, job.inputs_cut),
        (JobState::Cancelled, 1, 0)
    );
}

#[test]
fn a_file_cut_long_ago_is_done_as_cut() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let content = content(&shared);
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("a"));
    let path = root.path().join("x.warc.gz");
    fs::write(&path, &content[..content.len() / 3]).unwrap();
    make_old(&path);
    let job = load_one(&archive, root.path(), "x.warc.gz");
    assert_cut(&archive, &job);
    // A known input is reported again, but counted once.
    let job = load_one(&archive, root.path(), "x.warc.gz");
    assert_eq!((job.inputs_known, job.inputs_cut, job.problems.len()), (1, 0, 1));
}

#[test]
fn the_same_content_under_another_name_adds_nothing() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let expected = at_once(root.path(), &content(&shared));
    let archive = own(&root.path().join("a"));
    for name in ["x.warc.gz", "y.warc.gz"] {
        fs::write(root.path().join(name), content(&shared)).unwrap();
    }
    let request = LoadRequest {
        threads: Some(4),
        ..data::request(root.path(), &["x.warc.gz", "y.warc.gz"])
    };
    let job = load(&archive, &request);
    assert_eq!((job.inputs_done, job.inputs_known), (1, 1));
    let job = load_one(&archive, root.path(), "y.warc.gz");
    assert_eq!((job.inputs_done, job.inputs_known, job.captures), (0, 1, 0));
    assert_same(&archive, &expected, "under two names");
    assert_eq!(VIEWS.len() + FACTS.len(), expected.len());
}

/// The whole file replaces its beginning, which was loaded and done.
fn check_continued(content: &[u8], cuts: &[usize]) {
    let root = tempfile::tempdir().unwrap();
    let expected = at_once(root.path(), content);
    for &cut in cuts {
        check_continued_at(content, cut, &expected);
    }
}

fn check_continued_at(content: &[u8], cut: usize, expected: &[(&str, String)]) {
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("a"));
    let path = root.path().join("x.warc.gz");
    fs::write(&path, &content[..cut]).unwrap();
    make_old(&path);
    load_one(&archive, root.path(), "x.warc.gz");
    assert_eq!(
        ledger(&archive)[0].bytes_done,
        cut as u64,
        "nothing is waited for"
    );
    fs::write(&path, content).unwrap();
    make_old(&path);
    let job = load_one(&archive, root.path(), "x.warc.gz");
    assert_eq!(
        (job.inputs_done, job.inputs_known, job.inputs_failed),
        (1, 0, 0),
        "cut at {cut}"
    );
    assert_same(&archive, expected, &format!("cut at {cut}"));
    let status = data::status(&archive);
    assert_eq!(status.search_documents, status.pages, "cut at {cut}");
    assert_eq!(load_one(&archive, root.path(), "x.warc.gz").inputs_known, 1);
}

#[test]
fn a_cut_file_that_was_done_is_continued_by_the_whole_one() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let content = content(&shared);
    // In the first member, so that there is no record at all; within members; at the end of one.
    let member = content[1..]
        .windows(3)
        .position(|bytes| bytes == b"\x1f\x8b\x08")
        .unwrap()
        + 1;
    let length = content.len();
    check_continued(&content, &[5, member, length / 3, length / 2, length - 7]);
}

#[test]
fn a_cut_file_of_another_kind_is_continued_as_well() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let unzip = |bytes: &[u8]| {
        let mut plain = Vec::new();
        let mut members = flate2::read::MultiGzDecoder::new(bytes);
        std::io::Read::read_to_end(&mut members, &mut plain).unwrap();
        plain
    };
    let plain = unzip(&content(&shared));
    check_continued(&plain, &[plain.len() / 2]);
    // All records in one member.
    let mut one = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut one, &plain).unwrap();
    let one = one.finish().unwrap();
    check_continued(&one, &[one.len() / 2]);
    let arc = fs::read(shared.join("crawls/blackbook.arc.gz")).unwrap();
    check_continued(&arc, &[arc.len() / 5]);
}

/// The response to a POST is not a page, but only the request after it shows that.
#[test]
fn what_an_answer_replaced_comes_back_where_its_request_was_cut_off() {
    let record = |kind: &str, date: &str, more: &str, block: &str| {
        let length = block.len();
        format!(
            "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:x:{kind}:{date}>\r\nWARC-Date: {date}\r\n\
             WARC-Target-URI: http://a.com/\r\n{more}Content-Type: application/http\r\nContent-Length: {length}\r\n\r\n\
             {block}\r\n\r\n"
        )
    };
    let answer = |date: &str, html: &str| {
        let block = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{html}");
        record("response", date, "", &block)
    };
    let old = answer(
        "2020-01-01T00:00:00Z",
        "<title>Old</title><a href=http://b.org/>b</a>",
    );
    let later = "2021-01-01T00:00:00Z";
    let new = answer(later, "<title>New</title><p>Thanks</p>");
    let concurrent = format!("WARC-Concurrent-To: <urn:x:response:{later}>\r\n");
    let post = record(
        "request",
        later,
        &concurrent,
        "POST / HTTP/1.1\r\nHost: a.com\r\n\r\n",
    );
    let whole = format!("{new}{post}");
    for cut in [new.find("Thanks").unwrap(), new.len(), new.len() + 50] {
        let root = tempfile::tempdir().unwrap();
        let archive = own(&root.path().join("a"));
        fs::write(root.path().join("old.warc"), &old).unwrap();
        load_one(&archive, root.path(), "old.warc");
        let before = data::dump(&archive, "pages");
        for (content, is_current) in [(&whole[..cut], true), (&*whole, false)] {
            fs::write(root.path().join("x.warc"), content).unwrap();
            make_old(&root.path().join("x.warc"));
            load_one(&archive, root.path(), "x.warc");
            let pages = data::dump(&archive, "pages");
            assert_eq!(pages != before, is_current, "cut at {cut}: {pages}");
        }
        assert_eq!(
            data::dump(&archive, "captures").lines().count(),
            2,
            "cut at {cut}"
        );
        let query = archive::question::SearchQuestion {
            query: "old".into(),
            ..Default::default()
        };
        let archive::question::Body::Search(found) = data::ask(&archive, Question::Search(query)) else {
            panic!()
        };
        assert_eq!(found.summary.total, 1, "cut at {cut}");
    }
}

#[test]
fn a_cut_file_whose_whole_is_known_under_another_name_leaves_no_row() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let content = content(&shared);
    let root = tempfile::tempdir().unwrap();
    let expected = at_once(root.path(), &content);
    let archive = own(&root.path().join("a"));
    let put = |name: &str, content: &[u8]| {
        fs::write(root.path().join(name), content).unwrap();
        make_old(&root.path().join(name));
        load_one(&archive, root.path(), name)
    };
    put("x.warc.gz", &content);
    put("y.warc.gz", &content[..content.len() / 2]);
    assert_eq!(ledger(&archive).len(), 2);
    let job = put("y.warc.gz", &content);
    assert_eq!((job.inputs_known, job.captures), (1, 0));
    assert_same(&archive, &expected, "known under another name");
}

/// Regression: a load that found both took the shorter one back and read it again, and so did every
/// later load.
#[test]
fn an_open_file_beside_a_longer_copy_keeps_what_was_read_of_it() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let content = content(&shared);
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("y.warc.gz.open"), &content[..content.len() / 2]).unwrap();
    fs::write(root.path().join("x.warc.gz"), &content).unwrap();
    let archive = own(&root.path().join("a"));
    load_one(&archive, root.path(), "y.warc.gz.open");
    load_one(&archive, root.path(), "x.warc.gz");
    // The first takes over the captures of the other.
    let both = data::request(root.path(), &["x.warc.gz", "y.warc.gz.open"]);
    load(&archive, &both);
    let before = ledger(&archive);
    assert_eq!(before.len(), 2, "{before:#?}");
    let job = load(&archive, &both);
    assert_eq!(job.captures, 0, "{job:#?}");
    assert_eq!(ledger(&archive), before);
    // It has disappeared, so it was renamed.
    fs::remove_file(root.path().join("y.warc.gz.open")).unwrap();
    load_one(&archive, root.path(), "x.warc.gz");
    assert_eq!(ledger(&archive).len(), 1);
    assert_same(&archive, &at_once(root.path(), &content), "renamed");
}

/// Regression: the present file was read, so a page whose record was cut off was completed by bytes
/// of the file that were never loaded.
#[test]
fn a_cut_record_that_is_read_again_is_as_it_was_loaded_although_its_file_has_grown() {
    let page = |date: &str, title: &str| {
        let html = format!("<title>{title}</title><a href=http://{title}.org/>x</a>");
        let end = "<p>and the end</p><a href=http://end.org/>y</a>";
        let http = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{html}{end}");
        data::response("http://a.com/", date, "", &http)
    };
    let older = page("2020-01-01T00:00:00Z", "old");
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("a"));
    let put = |name: &str, content: &str| {
        fs::write(root.path().join(name), content).unwrap();
        make_old(&root.path().join(name));
    };
    put("cut.warc", &older[..older.find("<p>and the end").unwrap()]);
    let job = load_one(&archive, root.path(), "cut.warc");
    assert_eq!((job.inputs_cut, job.captures), (1, 1), "{job:#?}");
    let views = ["pages", "links"];
    let before = views.map(|view| data::dump(&archive, view));
    put("new.warc", &page("2021-01-01T00:00:00Z", "new"));
    load_one(&archive, root.path(), "new.warc");
    assert_ne!(views.map(|view| data::dump(&archive, view)), before);
    // It is not loaded again, so the archive does not know the rest of it.
    put("cut.warc", &older);
    let take_down = TakeDown {
        takes: TakedownSelector::Inputs(vec!["new.warc".to_owned()]),
        reason: String::new(),
        who: String::new(),
        dry_run: false,
        limit: 0,
    };
    data::ask(&archive, Question::TakeDown(take_down));
    assert_eq!(views.map(|view| data::dump(&archive, view)), before);
}
