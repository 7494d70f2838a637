//! Indexes of other tools as inputs: captures whose records are loaded later, or were loaded
//! before.

use std::io::Write;
use std::path::Path;

use access::Groups;
use archive::Archive;
use archive::question::{
    Body, CdxBody, CdxQuestion, CdxRow, Forget, JobBody, LoadRequest, MatchType, Page, Quarantine, Question,
    Record, TakeDown, TakedownSelector, UndoTakedown,
};
use export::{IndexForm, Subset};
use inputs::LoadInput;

use crate::data::{self, dump, input, load, own, request, status};

/// Returns all captures, some per answer.
fn all(archive: &Archive) -> Vec<CdxRow> {
    let mut question = CdxQuestion {
        everything: true,
        base_names: true,
        limit: 97,
        ..CdxQuestion::default()
    };
    let mut all = Vec::new();
    loop {
        let Body::Cdx(CdxBody { rows, next, .. }) = data::ask(archive, Question::Cdx(question.clone()))
        else {
            panic!("another answer");
        };
        all.extend(rows);
        let Some(next) = next else { return all };
        question.after = Some(next);
    }
}

/// Returns the fields that an index and records have in common.
fn told(rows: &[CdxRow]) -> Vec<(&str, &str, u64, &str)> {
    let told = |row: &CdxRow| -> (String, u64) { (row.timestamp.clone(), row.offset) };
    let mut sorted: Vec<&CdxRow> = rows.iter().collect();
    sorted.sort_by_key(|row| (row.url_key.clone(), told(row), row.filename.clone()));
    sorted
        .into_iter()
        .map(|row| {
            (
                row.url_key.as_str(),
                row.timestamp.as_str(),
                row.offset,
                row.filename.as_str(),
            )
        })
        .collect()
}

fn load_text(archive: &Archive, dir: &Path, name: &str, text: &str) -> JobBody {
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap();
    load_path(archive, &path)
}

fn load_path(archive: &Archive, path: &Path) -> JobBody {
    load(archive, &request_of(path))
}

fn request_of(path: &Path) -> LoadRequest {
    LoadRequest {
        inputs: vec![LoadInput {
            name: path.file_name().unwrap().to_string_lossy().into_owned(),
            path: inputs::path_text(path),
        }],
        ..LoadRequest::default()
    }
}

fn cdxj(n: u64, offset: u64) -> String {
    format!(
        "com,example)/{n} 2014012620062{n} {{\"url\": \"http://example.com/{n}\", \"mime\": \"text/html\", \"status\": \
         \"200\", \"digest\": \"DIGEST{n}\", \"length\": \"50\", \"offset\": \"{offset}\", \"filename\": \"x.warc.gz\"}}\n"
    )
}

/// The reference indexes of pywb for a file: each capture is listed once in any order of loading,
/// with the fields of the file.
#[test]
fn an_index_and_its_file_are_one_list_whatever_comes_first() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let warc = "crawls/iana.warc.gz";
    let records = own(&root.path().join("records"));
    load(&records, &request(&shared, &[warc]));
    let expected = all(&records);
    assert!(expected.iter().all(|row| !row.index_only));
    for (n, index) in ["crawls/iana.cdxj", "crawls/iana.cdx"].into_iter().enumerate() {
        let archive = own(&root.path().join(format!("index-first-{n}")));
        let job = load(&archive, &request(&shared, &[index]));
        let lines = all(&archive);
        assert!(
            lines
                .iter()
                .all(|row| row.index_only && row.filename == "iana.warc.gz")
        );
        assert_eq!((job.index_lines, job.captures), (lines.len() as u64, 0));
        let known = |row: &CdxRow| {
            let is_it = |line: &&CdxRow| (&line.url_key, line.offset) == (&row.url_key, row.offset);
            lines.iter().find(is_it).cloned()
        };
        let both: Vec<(CdxRow, CdxRow)> = expected
            .iter()
            .filter_map(|row| Some((row.clone(), known(row)?)))
            .collect();
        // Every capture here is in pywb's index too.
        assert_eq!(both.len(), expected.len(), "{index}");
        for (row, line) in &both {
            assert_eq!((&row.timestamp, &row.digest), (&line.timestamp, &line.digest));
            assert_eq!((&row.url, row.kind), (&line.url, line.kind), "{index}");
        }
        load(&archive, &request(&shared, &[warc]));
        assert_eq!(told(&all(&archive)), told(&expected), "{index}, then its file");
        assert!(all(&archive).iter().all(|row| !row.index_only));
        assert_eq!(dump(&archive, "captures"), dump(&records, "captures"));
        assert_eq!(status(&archive).captures, expected.len() as u64);
        let other = own(&root.path().join(format!("file-first-{n}")));
        load(&other, &request(&shared, &[warc]));
        load(&other, &request(&shared, &[index]));
        assert_eq!(told(&all(&other)), told(&expected), "the file, then {index}");
        for view in ["captures", "index_lines", "pages", "uris", "domains", "top"] {
            assert_eq!(dump(&archive, view), dump(&other, view), "{index}: {view}");
        }
    }
}

#[test]
fn what_only_an_index_tells_of_is_listed_and_has_no_content() {
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("archive"));
    let job = load_text(&archive, root.path(), "x.cdxj", &(cdxj(1, 100) + &cdxj(2, 200)));
    assert_eq!((job.inputs_done, job.records, job.index_lines), (1, 2, 2));
    let asked = CdxQuestion {
        url: "http://example.com/2".into(),
        match_type: MatchType::Exact,
        ..CdxQuestion::default()
    };
    let Body::Cdx(found) = data::ask(&archive, Question::Cdx(asked)) else {
        panic!()
    };
    let row = &found.rows[0];
    assert_eq!(
        (row.offset, row.length, row.filename.as_str()),
        (200, 50, "x.warc.gz")
    );
    assert_eq!(
        (row.status, row.digest.as_str(), row.index_only),
        (200, "DIGEST2", true)
    );
    let url = || "http://example.com/2".to_owned();
    let Body::Page(page) = data::ask(&archive, Question::Page(Page { url: url() })) else {
        panic!()
    };
    assert!(page.captured && !page.is_page && page.captures[0].index_only);
    for capture in [None, Some("200,x.warc.gz".to_owned())] {
        let asked = Record {
            url: url(),
            capture,
            ..Record::default()
        };
        let error = archive.ask(Question::Record(asked)).unwrap_err();
        let told = error.to_string();
        assert!(
            told.contains("record not loaded") && told.contains("offset 200 of x.warc.gz"),
            "{told}"
        );
    }
    assert_eq!((status(&archive).captures, status(&archive).index_lines), (0, 2));
}

#[test]
fn bad_lines_are_in_quarantine_with_their_numbers() {
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("archive"));
    let text = format!(
        " CDX N b a m s k r V g\nnonsense\n\n{}@alias http://a.org/",
        cdxj(1, 100)
    );
    let job = load_text(&archive, root.path(), "x.cdx", &text);
    assert_eq!((job.records, job.index_lines, job.quarantined), (5, 1, 2));
    let Body::Quarantine(found) = data::ask(&archive, Question::Quarantine(Quarantine::default())) else {
        panic!()
    };
    let told: Vec<(u64, &str)> = found
        .rows
        .iter()
        .map(|row| (row.offset, row.detail.split(':').next().unwrap()))
        .collect();
    assert_eq!(
        told,
        [(23, "line 2"), (text.rfind('@').unwrap() as u64, "line 5")]
    );
    let none = load_text(&archive, root.path(), "none.cdxj", "\n");
    assert_eq!(none.inputs_failed, 1);
    assert!(
        none.problems[0].state.to_string().contains("no line of a CDX"),
        "{none:#?}"
    );
}

/// A cluster as written by `weft export --zipnum` and Common Crawl: only its parts are read, and
/// only if it is named.
#[test]
fn the_parts_of_a_cluster_are_inputs() {
    let root = tempfile::tempdir().unwrap();
    let cluster = root.path().join("cluster");
    std::fs::create_dir(&cluster).unwrap();
    let mut part = Vec::new();
    for n in 1..=3 {
        let mut member = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        member.write_all(cdxj(n, n * 100).as_bytes()).unwrap();
        part.extend(member.finish().unwrap());
    }
    std::fs::write(cluster.join("cdx-00000.gz"), part).unwrap();
    std::fs::write(
        cluster.join("cluster.idx"),
        "com,example)/1\tcdx-00000.gz\t0\t1\t1\n",
    )
    .unwrap();
    for (n, path) in [cluster.clone(), cluster.join("cluster.idx")]
        .into_iter()
        .enumerate()
    {
        let archive = own(&root.path().join(n.to_string()));
        let job = load_path(&archive, &path);
        assert_eq!((job.inputs, job.inputs_done, job.index_lines), (1, 1, 3));
        assert_eq!(all(&archive).len(), 3);
    }
    let archive = own(&root.path().join("around"));
    let job = load_path(&archive, root.path());
    assert_eq!(job.index_lines, 0, "a folder around it has no records");
}

/// A copy under another name adds no lines. A longer index with the same beginning replaces the
/// shorter one.
#[test]
fn an_index_that_has_grown_is_read_anew() {
    let two = cdxj(1, 100) + &cdxj(2, 200);
    let three = two.clone() + &cdxj(3, 300);
    // The copy with the least name is the input of this content, so the grown file becomes another
    // input next to it.
    for (copy, inputs, index_lines) in [(None, 1, 3), (Some("y.cdxj"), 1, 3), (Some("copy.cdxj"), 2, 5)] {
        let root = tempfile::tempdir().unwrap();
        let archive = own(&root.path().join("archive"));
        load_text(&archive, root.path(), "x.cdxj", &two);
        if let Some(copy) = copy {
            let copy = load_text(&archive, root.path(), copy, &two);
            assert_eq!((copy.inputs_known, copy.index_lines), (1, 0));
        }
        load_text(&archive, root.path(), "x.cdxj", &three);
        assert_eq!(all(&archive).len(), 3, "{copy:?}");
        let status = status(&archive);
        assert_eq!(
            (status.inputs, status.index_lines),
            (inputs, index_lines),
            "{copy:?}"
        );
    }
}

#[test]
fn a_takedown_keeps_lines_out_until_it_is_undone() {
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("archive"));
    let text = cdxj(1, 100) + &cdxj(2, 200);
    load_text(&archive, root.path(), "x.cdxj", &text);
    let take_down = |takes| TakeDown {
        takes,
        who: "test".into(),
        reason: String::new(),
        dry_run: false,
        limit: 0,
    };
    let answer = data::ask(
        &archive,
        Question::TakeDown(take_down(TakedownSelector::Url("http://example.com/1".into()))),
    );
    let Body::TakenDown(body) = answer else { panic!() };
    assert_eq!(body.captures, 1);
    assert_eq!(all(&archive).len(), 1);
    // An index of the same captures with other bytes: its line is kept out, too.
    load_text(&archive, root.path(), "y.cdxj", &(cdxj(1, 100) + &cdxj(3, 300)));
    assert_eq!(all(&archive).len(), 2);
    let undo = UndoTakedown {
        id: 1,
        who: "test".into(),
    };
    data::ask(&archive, Question::UndoTakedown(undo));
    for name in ["x.cdxj", "y.cdxj"] {
        load_path(&archive, &root.path().join(name));
    }
    assert_eq!(all(&archive).len(), 3);
    assert_eq!(status(&archive).captures_taken_down, 0);
}

/// Small epochs, so that a stopped load has indexed some lines of one member. The next load continues
/// after them.
#[test]
fn a_load_that_was_stopped_goes_on() {
    let root = tempfile::tempdir().unwrap();
    let lines: String = (0..6000)
        .map(|n| {
            format!(
                "k 20140126200624 {{\"url\": \"http://example.com/{n}\", \"offset\": \"{n}\", \"filename\": \"x.warc\"}}\n"
            )
        })
        .collect();
    let path = root.path().join("x.cdxj.gz");
    let mut member = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    member.write_all(lines.as_bytes()).unwrap();
    std::fs::write(&path, member.finish().unwrap()).unwrap();
    let archive = own(&root.path().join("archive"));
    let mut request = request_of(&path);
    request.epoch_bytes = Some(64 << 10);
    let mut rounds = 0;
    loop {
        let begun = status(&archive).index_lines;
        let (_, job) = archive
            .load(&request, &mut |_, job| job.index_lines < 500)
            .unwrap();
        rounds += 1;
        if job.inputs_done + job.inputs_known > 0 {
            break;
        }
        assert!(status(&archive).index_lines >= begun && rounds < 1000);
    }
    let whole = status(&archive);
    assert_eq!((whole.index_lines, whole.records), (6000, 6000));
    assert_eq!(all(&archive).len(), 6000);
}

#[test]
fn a_cut_member_fails_and_what_is_before_it_stays() {
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("archive"));
    let path = root.path().join("x.cdx.gz");
    let mut member = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    member
        .write_all((cdxj(1, 100) + &cdxj(2, 200)).as_bytes())
        .unwrap();
    let mut bytes = member.finish().unwrap();
    let cut: Vec<u8> = bytes.iter().copied().take(40).collect();
    bytes.extend(cut);
    std::fs::write(&path, bytes).unwrap();
    let job = load_path(&archive, &path);
    assert_eq!((job.inputs_failed, job.index_lines), (1, 2));
    let reason = job.problems[0].state.to_string();
    assert!(reason.contains("behind line 2"), "{reason}");
    assert_eq!(input(root.path(), "x").name, "x");
}

/// An index of records and lines contains only the records, and reports the number of lines left
/// out. The same holds for exports of records and packages.
#[test]
fn an_export_says_how_many_captures_have_no_record() {
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("archive"));
    let record = data::response(
        "http://example.com/9",
        "2014-01-26T20:06:24Z",
        "",
        "HTTP/1.1 200 OK\r\n\r\nx",
    );
    let mut request = request_of(&root.path().join("x.cdxj"));
    request.inputs.push(data::write(root.path(), "r", &record));
    let alias = "@alias http://example.com/old http://example.com/1\n";
    std::fs::write(root.path().join("x.cdxj"), cdxj(1, 100) + &cdxj(2, 200) + alias).unwrap();
    let job = load(&archive, &request);
    assert_eq!((job.captures, job.index_lines, job.quarantined), (1, 3, 0));
    assert_eq!(all(&archive).len(), 3, "an alias is no capture");
    let whole = Subset::Part {
        url_prefix: None,
        collection: None,
    };
    let mut out = Vec::new();
    let index = export::write_index(&archive, &whole, IndexForm::Cdxj, &mut out, &mut |_| true).unwrap();
    assert_eq!((index.results, index.index_only, index.left_out.len()), (1, 2, 0));
    assert!(!String::from_utf8(out).unwrap().contains("com,example)/1 "));
    let warc = export::write_warc(&archive, &whole, false, &mut Vec::new(), &mut |_| true).unwrap();
    assert_eq!((warc.results, warc.index_only), (1, 2));
    let file = std::fs::File::create(root.path().join("x.wacz")).unwrap();
    let wacz = export::write_wacz(&archive, &whole, false, file, &mut |_| true).unwrap();
    assert_eq!((wacz.results, wacz.index_only), (1, 2));
}

/// Lines of URLs and collections hidden from a client are hidden too, and so is a line of a capture
/// whose record is hidden.
#[test]
fn rights_hold_for_lines() {
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("archive"));
    let mut request = request_of(&root.path().join("x.cdxj"));
    std::fs::write(root.path().join("x.cdxj"), cdxj(1, 100) + &cdxj(2, 200)).unwrap();
    load(&archive, &request);
    request = request_of(&root.path().join("y.cdxj"));
    request.collection = Some("closed".into());
    std::fs::write(root.path().join("y.cdxj"), cdxj(3, 300)).unwrap();
    load(&archive, &request);
    let rules = "[[rule]]\naccess = \"deny\"\nurl = \"com,example)/2\"\nexcept = [\"staff\"]\n\n\
         [[rule]]\naccess = \"deny\"\ncollection = \"closed\"\nexcept = [\"staff\"]\n";
    std::fs::write(archive.rights_path(), rules).unwrap();
    let seen = |groups: Groups| -> Vec<String> {
        all(&archive.seen_by(groups))
            .into_iter()
            .map(|row| row.url_key)
            .collect()
    };
    assert_eq!(seen(Groups::public()), ["com,example)/1"]);
    assert_eq!(seen(["staff"].into_iter().collect()).len(), 3);
    assert_eq!(all(&archive).len(), 3);
}

/// Takedowns of an index by name, of a prefix and of a time. An index without lines is removed from
/// the ledger.
#[test]
fn lines_are_taken_down_and_forgotten() {
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("archive"));
    load_text(&archive, root.path(), "x.cdxj", &(cdxj(1, 100) + &cdxj(2, 200)));
    load_text(
        &archive,
        root.path(),
        "y.cdxj",
        &(cdxj(3, 300) + "@alias http://example.com/old http://example.com/3\n"),
    );
    load_text(&archive, root.path(), "empty.cdx", " CDX N b a m s k r M S V g\n");
    let take_down = |takes: TakedownSelector, dry_run: bool| {
        let asked = TakeDown {
            takes,
            who: "test".into(),
            reason: String::new(),
            dry_run,
            limit: 0,
        };
        let Body::TakenDown(body) = data::ask(&archive, Question::TakeDown(asked)) else {
            panic!("another answer");
        };
        body.captures
    };
    let old = TakedownSelector::Before("2014-01-26T20:06:22Z".into());
    assert_eq!((take_down(old.clone(), true), take_down(old, false)), (1, 1));
    let of_y = TakedownSelector::Inputs(vec!["y.cdxj".into()]);
    // The alias is removed with it, but is not counted as a capture.
    assert_eq!((take_down(of_y.clone(), true), take_down(of_y, false)), (1, 1));
    assert_eq!((all(&archive).len(), status(&archive).index_lines), (1, 1));
    take_down(TakedownSelector::Prefix("http://example.com/".into()), false);
    assert!(all(&archive).is_empty());
    let forget = Forget {
        inputs: vec!["empty.cdx".into()],
    };
    data::ask(&archive, Question::Forget(forget));
    assert_eq!(status(&archive).inputs, 2);
}
