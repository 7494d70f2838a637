//! The result does not depend on order, threads, repetition and interruption.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use archive::question::{Body, JobState, Jobs, JobsBody, LoadRequest, Question};

use crate::data::{self, assert_same, dumps, load, own};

const FILES: [&str; 8] = [
    "crawls/dupes.warc.gz",
    "crawls/iana.warc.gz",
    "crawls/etig.warc.gz",
    "crawls/blackbook.arc.gz",
    "crawls/blackbook.warc.gz",
    "crawls/govuk-2-revisits.warc.gz",
    "crawls/govuk-1.warc.gz",
    "commoncrawl/whirlwind.warc.wat.gz",
];

/// Returns the views of one undisturbed load, which is made once for all tests here.
fn undisturbed(shared: &Path) -> &'static [(&'static str, String)] {
    static DUMPS: OnceLock<Vec<(&'static str, String)>> = OnceLock::new();
    DUMPS.get_or_init(|| load_undisturbed(shared))
}

fn load_undisturbed(shared: &Path) -> Vec<(&'static str, String)> {
    let root = tempfile::tempdir().unwrap();
    let archive = own(&root.path().join("a"));
    load(&archive, &data::request(shared, &FILES));
    let dumps = dumps(&archive);
    assert!(
        dumps
            .iter()
            .all(|(view, text)| !text.is_empty() || *view == "quarantine")
    );
    dumps
}

fn check(what: &str, scenario: impl FnOnce(&Path, &Path)) {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let expected = undisturbed(&shared);
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("a");
    scenario(&shared, &dir);
    assert_same(&own(&dir), expected, what);
}

#[test]
fn any_order_any_threads_twice() {
    check("reversed, four threads, twice", |shared, dir| {
        let mut names = FILES;
        names.reverse();
        let archive = own(dir);
        for threads in [4, 1] {
            let request = LoadRequest {
                threads: Some(threads),
                ..data::request(shared, &names)
            };
            let job = load(&archive, &request);
            let known = if threads == 1 { FILES.len() as u64 } else { 0 };
            assert_eq!(job.inputs_known, known);
        }
    });
}

#[test]
fn one_load_each_through_reopened_archives() {
    check("one load each", |shared, dir| {
        for name in FILES {
            let archive = own(dir);
            load(
                &archive,
                &LoadRequest {
                    threads: Some(1),
                    ..data::request(shared, &[name])
                },
            );
        }
    });
}

#[test]
fn cancelled_again_and_again() {
    check("cancelled", |shared, dir| {
        let archive = own(dir);
        for round in 0.. {
            let request = LoadRequest {
                threads: Some(2),
                ..data::request(shared, &FILES)
            };
            // Cancel later each time, so that every round advances a little further.
            let mut looks = 0;
            let (_, job) = archive
                .load(&request, &mut |_, _| {
                    looks += 1;
                    std::thread::sleep(Duration::from_millis(5 * round));
                    looks <= round
                })
                .unwrap();
            match job.state {
                JobState::Cancelled => assert!(job.inputs_done <= FILES.len() as u64),
                JobState::Done => break,
                _ => panic!("{job:#?}"),
            }
        }
    });
}

#[test]
fn dropped_while_loading() {
    check("dropped", |shared, dir| {
        for round in 0..6 {
            let archive = own(dir);
            archive
                .ask(Question::Load(data::request(shared, &FILES)))
                .unwrap();
            std::thread::sleep(Duration::from_millis(30 * round));
        }
        let archive = own(dir);
        let job = load(&archive, &data::request(shared, &FILES));
        assert_eq!(job.inputs_loading, 0);
        match archive.ask(Question::Jobs(Jobs {})).unwrap().body {
            Body::Jobs(JobsBody { rows }) => assert_eq!(rows.len(), 1),
            other => panic!("{other:?}"),
        }
    });
}
