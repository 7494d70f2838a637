//! Captures posted and deleted as lines of indexes, compared with a list of the posted lines.

use std::collections::BTreeMap;

use archive::question::{
    Body, CdxBody, CdxQuestion, Check, Ledger, LedgerBody, LoadRequest, Post, PostedBody, Purge, Question,
    TakeDown, TakedownSelector, Unpost,
};
use archive::{Archive, AskError, ErrorCode};
use inputs::LoadInput;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use crate::data::{self, dump, load, open, own, request, response, status, write};

fn post(archive: &Archive, collection: &str, text: &str) -> Result<PostedBody, AskError> {
    let post = Post {
        collection: collection.to_owned(),
        text: text.to_owned(),
        skip_bad_lines: false,
        ..Post::default()
    };
    archive.ask(post).map(|answer| answer.body)
}

#[track_caller]
fn posted(archive: &Archive, collection: &str, text: &str) -> u64 {
    post(archive, collection, text).unwrap().lines
}

fn unpost(archive: &Archive, collection: &str, text: &str, skip_loaded: bool) -> PostedBody {
    let unpost = Unpost {
        collection: collection.to_owned(),
        text: text.to_owned(),
        skip_loaded,
        ..Unpost::default()
    };
    archive.ask(unpost).unwrap().body
}

/// Returns a line of 11 columns for page `n` at second `second`, in a file.
fn line(n: u64, second: u64, status: u16, file: &str) -> String {
    format!(
        "k 201401262006{second:02} http://example.com/{n} text/html {status} DIGEST{n} - - 50 {n} {file}\n"
    )
}

/// Returns the captures listed in a collection: key, time, status, offset and file.
fn listed(archive: &Archive, collection: Option<&str>) -> Vec<String> {
    let mut question = CdxQuestion {
        everything: true,
        collection: collection.map(str::to_owned),
        limit: 97,
        ..CdxQuestion::default()
    };
    let mut all = Vec::new();
    loop {
        let Body::Cdx(CdxBody { rows, next, .. }) = data::ask(archive, Question::Cdx(question.clone()))
        else {
            panic!("another answer");
        };
        all.extend(rows.into_iter().map(|row| {
            let (key, time) = (row.url_key, row.timestamp);
            format!("{key} {time} {} {} {}", row.status, row.offset, row.filename)
        }));
        let Some(next) = next else { return all };
        question.after = Some(next);
    }
}

fn ledger(archive: &Archive) -> LedgerBody {
    archive.ask(Ledger::default()).unwrap().body
}

/// The index is intact, and the segments match the ledger: loading them again adds nothing.
#[track_caller]
fn check_sound(archive: &Archive) {
    let Body::Check(check) = data::ask(archive, Question::Check(Check::default())) else {
        panic!("another answer");
    };
    assert!(check.damages.is_empty(), "{:?}", check.damages);
    let rows = ledger(archive).rows;
    let segments = rows.iter().filter(|row| row.input.starts_with("posted://"));
    let inputs = segments.map(|row| LoadInput {
        name: row.input.clone(),
        path: row.location.clone(),
    });
    let again = LoadRequest {
        inputs: inputs.collect(),
        ..LoadRequest::default()
    };
    if again.inputs.is_empty() {
        return;
    }
    let job = load(archive, &again);
    assert_eq!(
        (job.inputs_known, job.index_lines, job.inputs),
        (again.inputs.len() as u64, 0, again.inputs.len() as u64)
    );
    assert_eq!(ledger(archive).rows, rows);
    // Loaded into a separate archive, they give the same lines.
    let dir = tempfile::tempdir().unwrap();
    let other = own(dir.path());
    if status(archive).captures_taken_down == 0 {
        // Their locations do not exist there, so they are named as files.
        let mut elsewhere = again;
        for input in &mut elsewhere.inputs {
            let segment = input.name.replace("posted://", "posted/");
            input.path = archive.dir().join(segment).display().to_string();
        }
        assert_eq!(load(&other, &elsewhere).inputs_failed, 0);
        let of_segments: u64 = rows
            .iter()
            .filter(|row| row.input.starts_with("posted://"))
            .map(|row| row.index_lines)
            .sum();
        assert_eq!(status(&other).index_lines, of_segments);
    }
}

#[test]
fn posted_lines_are_listed_at_once_and_are_an_input() {
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("archive"));
    let text = format!(
        " CDX N b a m s k r M S V g\n{}{}",
        line(1, 24, 200, "x.warc.gz"),
        line(2, 24, 404, "x.warc.gz")
    );
    assert_eq!(posted(&archive, "news", &text), 2);
    // Nine columns, although the post before named eleven; CDXJ; a line of another scheme.
    let more = "k 20140126200625 http://example.com/3 text/html 200 D3 - 3 y.warc\n\
         k 20140126200625 {\"url\": \"http://example.com/4\", \"offset\": \"4\", \"filename\": \"y.warc\"}\n\
         k 20140126200625 dns:example.com text/dns - D - 9 y.warc\n";
    let answer = post(&archive, "news", more).unwrap();
    assert_eq!((answer.lines, answer.passed_over, answer.bad), (2, 1, 0));
    let expected = [
        "com,example)/1 20140126200624 200 1 x.warc.gz",
        "com,example)/2 20140126200624 404 2 x.warc.gz",
        "com,example)/3 20140126200625 200 3 y.warc",
        "com,example)/4 20140126200625 0 4 y.warc",
    ];
    assert_eq!(listed(&archive, Some("news")), expected);
    assert!(listed(&archive, Some("other")).is_empty());
    // The same captures are listed in another collection as well.
    posted(&archive, "other", &text);
    assert_eq!(listed(&archive, Some("other")).len(), 2);
    unpost(&archive, "other", &text, false);
    assert_eq!(listed(&archive, Some("news")), expected);
    let rows = ledger(&archive).rows;
    assert_eq!(rows.len(), 2);
    assert_eq!(
        (
            rows[0].input.as_str(),
            rows[0].collection.as_str(),
            rows[0].index_lines,
            rows[0].quarantined
        ),
        ("posted://news/000001.cdx", "news", 4, 0)
    );
    assert_eq!(status(&archive).index_lines, 4);
    check_sound(&archive);
    // Posting again adds nothing.
    assert_eq!(posted(&archive, "news", &text), 2);
    assert_eq!(ledger(&archive).rows, rows);
    drop(archive);
    assert_eq!(
        listed(&open(&root.path().join("archive")), Some("news")),
        expected
    );
}

#[test]
fn one_bad_line_refuses_the_body_unless_it_is_skipped() {
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("archive"));
    let text = format!("{}nonsense\n{}", line(1, 24, 200, "x"), line(2, 24, 200, "x"));
    let error = post(&archive, "", &text).unwrap_err();
    assert_eq!(error.code, ErrorCode::BadRequest);
    assert!(
        error.message.contains("At line 2: nonsense") && error.message.contains("expected 9, 10 or 11"),
        "{error}"
    );
    assert!(listed(&archive, None).is_empty() && ledger(&archive).rows.is_empty());
    let skipping = Post {
        text,
        skip_bad_lines: true,
        ..Post::default()
    };
    let answer = archive.ask(skipping).unwrap().body;
    assert_eq!((answer.lines, answer.bad), (2, 1));
    assert_eq!(listed(&archive, None).len(), 2);
    assert!(post(&archive, &"x".repeat(300), &line(1, 24, 200, "x")).is_err());
}

/// As in OutbackCDX, posting a capture again corrects it.
#[test]
fn a_line_of_the_same_place_and_time_is_replaced() {
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("archive"));
    posted(&archive, "a", &(line(1, 24, 200, "x") + &line(2, 24, 200, "x")));
    posted(&archive, "b", &line(3, 24, 200, "x"));
    posted(&archive, "a", &(line(1, 24, 404, "x") + &line(4, 24, 200, "x")));
    assert_eq!(
        listed(&archive, Some("a")),
        [
            "com,example)/1 20140126200624 404 1 x",
            "com,example)/2 20140126200624 200 2 x",
            "com,example)/4 20140126200624 200 4 x",
        ]
    );
    assert_eq!(status(&archive).index_lines, 4);
    check_sound(&archive);
}

#[test]
fn what_was_posted_is_deleted_and_may_come_again() {
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("archive"));
    let (one, two) = (line(1, 24, 200, "x"), line(2, 24, 200, "x"));
    posted(&archive, "a", &(one.clone() + &two));
    let deleted = unpost(&archive, "a", &one, false);
    assert_eq!((deleted.lines, deleted.stay), (1, 0));
    assert_eq!(listed(&archive, None), ["com,example)/2 20140126200624 200 2 x"]);
    check_sound(&archive);
    // As in OutbackCDX, deleting an absent line is not an error. Lines posted to another collection
    // stay.
    assert_eq!(unpost(&archive, "a", &one, false).lines, 1);
    assert_eq!(unpost(&archive, "b", &two, false).lines, 1);
    assert_eq!(listed(&archive, None).len(), 1);
    posted(&archive, "a", &one);
    assert_eq!(listed(&archive, None).len(), 2);
    assert_eq!(
        (ledger(&archive).rows.len(), status(&archive).index_lines),
        (1, 2)
    );
    check_sound(&archive);
    let bad = Unpost {
        text: "nonsense".into(),
        ..Unpost::default()
    };
    assert_eq!(archive.ask(bad).unwrap_err().code, ErrorCode::BadRequest);
}

/// Captures known from a record or a loaded index cannot be deleted by a post. The answer says so,
/// and deletes nothing unless skipping was requested.
#[test]
fn what_is_loaded_stays_and_the_answer_says_so() {
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("archive"));
    let record = response(
        "http://example.com/7",
        "2014-01-26T20:06:24Z",
        "",
        "HTTP/1.1 200 OK\r\n\r\nx",
    );
    let input = write(root.path(), "x", &record);
    let index = root.path().join("y.cdx");
    std::fs::write(&index, line(8, 24, 200, "y")).unwrap();
    let of_record = line(7, 24, 200, "x.warc").replace(" 50 7 ", " 50 0 ");
    posted(&archive, "", &(of_record.clone() + &line(9, 24, 200, "z")));
    let mut all = request(root.path(), &["y.cdx"]);
    all.inputs.push(input);
    load(&archive, &all);
    let text = of_record + &line(8, 24, 200, "y") + &line(9, 24, 200, "z");
    let refused = unpost(&archive, "", &text, false);
    assert_eq!((refused.lines, refused.stay), (0, 2));
    let why = refused.why_it_stays.unwrap();
    assert!(
        why.contains("line 1: its record is loaded, at offset 0 of x.warc"),
        "{why}"
    );
    assert_eq!(
        (listed(&archive, None).len(), status(&archive).index_lines),
        (3, 3)
    );
    let skipped = unpost(&archive, "", &text, true);
    assert_eq!((skipped.lines, skipped.stay), (1, 2));
    assert_eq!(
        (listed(&archive, None).len(), status(&archive).index_lines),
        (2, 1)
    );
    check_sound(&archive);
}

#[test]
fn takedowns_hold_for_what_is_posted_and_a_segment_that_is_taken_down_gets_no_more() {
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("archive"));
    let take_down = |takes| {
        let asked = TakeDown {
            takes,
            who: "test".into(),
            reason: String::new(),
            dry_run: false,
            limit: 0,
        };
        archive.ask(asked).unwrap().body.captures
    };
    posted(&archive, "a", &(line(1, 24, 200, "x") + &line(2, 24, 200, "x")));
    assert_eq!(take_down(TakedownSelector::Url("http://example.com/1".into())), 1);
    posted(&archive, "a", &(line(1, 24, 200, "x") + &line(1, 25, 200, "x")));
    assert_eq!(listed(&archive, None), ["com,example)/2 20140126200624 200 2 x"]);
    assert_eq!(
        take_down(TakedownSelector::Inputs(vec!["posted://a/000001.cdx".into()])),
        1
    );
    posted(&archive, "a", &line(3, 24, 200, "x"));
    assert_eq!(listed(&archive, None), ["com,example)/3 20140126200624 200 3 x"]);
    check_sound(&archive);
}

/// Lines kept out by takedowns stay in their files until a purge blanks them; others keep their
/// place.
#[test]
fn a_purge_blanks_posted_lines_that_are_kept_out() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("archive");
    let archive = own(&dir);
    let take_down = |takes| {
        let asked = TakeDown {
            takes,
            who: "test".into(),
            reason: String::new(),
            dry_run: false,
            limit: 0,
        };
        archive.ask(asked).unwrap();
    };
    posted(&archive, "a", &(line(1, 24, 200, "x") + &line(2, 24, 200, "x")));
    posted(&archive, "b", &line(3, 24, 200, "x"));
    take_down(TakedownSelector::Url("http://example.com/1".into()));
    take_down(TakedownSelector::Inputs(vec!["posted://b/000001.cdx".into()]));
    let files = || {
        ["a", "b"].map(|name| std::fs::read_to_string(dir.join(format!("posted/{name}/000001.cdx"))).unwrap())
    };
    assert!(files()[0].contains("example.com/1") && files()[1].contains("example.com/3"));
    archive.ask(Purge {}).unwrap();
    let [a, b] = files();
    assert!(!a.contains("example.com/1") && a.contains("example.com/2"), "{a}");
    assert!(!b.contains("example.com/3"), "{b}");
    assert_eq!(listed(&archive, None), ["com,example)/2 20140126200624 200 2 x"]);
    check_sound(&archive);
    drop(archive);
    let archive = own(&dir);
    posted(&archive, "a", &line(4, 24, 200, "x"));
    assert_eq!(listed(&archive, Some("a")).len(), 2);
    check_sound(&archive);
}

/// The archive is moved, and its last segment is not indexed yet. It is indexed when the archive is
/// opened.
#[test]
fn what_is_durable_and_not_woven_comes_when_the_archive_is_opened() {
    let root = tempfile::tempdir().unwrap();
    let (dir, moved) = (root.path().join("archive"), root.path().join("moved"));
    let archive = own(&dir);
    posted(&archive, "a", &line(1, 24, 200, "x"));
    drop(archive);
    std::fs::rename(&dir, &moved).unwrap();
    let segment = moved.join("posted/a/000001.cdx");
    // Readers can read the segments too, but no files outside of them.
    let mut settings = archive::OpenSettings::default();
    settings.read_only = true;
    let reading = Archive::open(&moved, settings).unwrap();
    let size = |location: &str| reading.sources().open(location).and_then(|input| input.size());
    assert_eq!(
        size("posted://a/000001.cdx").unwrap(),
        segment.metadata().unwrap().len()
    );
    for other in [
        "posted://a/000002.cdx",
        "posted://../weft.json",
        "posted:///etc/hostname",
    ] {
        assert!(size(other).is_err(), "{other}");
    }
    drop(reading);
    let mut archive = own(&moved);
    assert_eq!(ledger(&archive).rows[0].location, "posted://a/000001.cdx");
    drop(archive);
    // The state after a process ended between the file and the index.
    let kept = std::fs::read_to_string(&segment).unwrap();
    let more = kept
        .lines()
        .last()
        .unwrap()
        .replace("example.com/1", "example.com/5");
    std::fs::write(&segment, format!("{kept}{more}\n")).unwrap();
    archive = own(&moved);
    assert_eq!(listed(&archive, None).len(), 2);
    assert_eq!(ledger(&archive).rows.len(), 1);
    unpost(&archive, "a", &line(1, 24, 200, "x"), false);
    assert_eq!(listed(&archive, None).len(), 1);
    check_sound(&archive);
}

/// A long post has its own segment, and short ones share one.
#[test]
fn many_small_posts_are_few_inputs() {
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("archive"));
    for n in 0..40 {
        posted(&archive, "a", &line(n, 24, 200, "x"));
    }
    assert_eq!(ledger(&archive).rows.len(), 1);
    let many: String = (100..7000).map(|n| line(n, 24, 200, "x")).collect();
    let epoch = archive.ask(Ledger::default()).unwrap().epoch;
    assert_eq!(posted(&archive, "a", &many), 6900);
    assert_eq!(ledger(&archive).rows.len(), 2);
    // One epoch for the ledger row, and one for all lines.
    assert!(archive.ask(Ledger::default()).unwrap().epoch <= epoch + 2);
    posted(&archive, "a", &line(50, 24, 200, "x"));
    assert_eq!(
        (ledger(&archive).rows.len(), listed(&archive, None).len()),
        (3, 6941)
    );
    assert_eq!(dump(&archive, "index_lines").lines().count(), 6941);
    check_sound(&archive);
}

#[derive(Debug, Clone)]
enum Step {
    Post(Vec<(u64, u64, u16)>),
    Unpost(Vec<(u64, u64)>),
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let of = (0..4_u64, 20..22_u64);
    let lines = proptest::collection::vec((of.clone(), prop_oneof![Just(200_u16), Just(404)]), 1..6);
    let lines = lines.prop_map(|lines| {
        lines
            .into_iter()
            .map(|((n, second), status)| (n, second, status))
            .collect()
    });
    let step = prop_oneof![
        4 => lines.prop_map(Step::Post),
        2 => proptest::collection::vec(of, 1..4).prop_map(Step::Unpost),
        1 => Just(Step::Reopen),
    ];
    proptest::collection::vec(step, 1..12)
}

/// After any sequence of posts, deletions and reopening, the list equals a map by place and time.
#[test]
fn posts_and_deletions_come_to_what_a_map_has() {
    let seed = std::env::var("WEFT_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(0x905_7ed);
    eprintln!("seed {seed} (WEFT_SEED)");
    let config = Config {
        cases: 3,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..Config::default()
    };
    let outcome = TestRunner::new(config).run(&steps(), |steps| {
        let root = tempfile::tempdir().unwrap();
        let mut archive = own(root.path());
        let mut plain = BTreeMap::new();
        for step in steps {
            match step {
                Step::Post(lines) => {
                    let text: String = lines
                        .iter()
                        .map(|(n, second, status)| line(*n, *second, *status, "x"))
                        .collect();
                    posted(&archive, "a", &text);
                    plain.extend(lines.into_iter().map(|(n, second, status)| ((n, second), status)));
                }
                Step::Unpost(lines) => {
                    let text: String = lines
                        .iter()
                        .map(|(n, second)| line(*n, *second, 200, "x"))
                        .collect();
                    unpost(&archive, "a", &text, false);
                    plain.retain(|place, _| !lines.contains(place));
                }
                Step::Reopen => {
                    drop(archive);
                    archive = own(root.path());
                }
            }
            let expected: Vec<String> = plain
                .iter()
                .map(|((n, second), status)| format!("com,example)/{n} 201401262006{second} {status} {n} x"))
                .collect();
            assert_eq!(listed(&archive, Some("a")), expected);
        }
        check_sound(&archive);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("seed {seed}: {error}");
    }
}
