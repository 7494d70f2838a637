//! Files whose content changes while they are loaded, or between two loads.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use archive::Archive;
use archive::question::{
    Body, Forget, ForgottenBody, InputState, JobBody, JobState, Ledger, LedgerBody, LedgerRow, Question,
};

use crate::data::{self, assert_same, dumps, load, own};

/// A folder with the archive `a` and the path of the input `x.warc`.
struct Case {
    /// Before its folder, so that it is closed first.
    archive: Archive,
    root: tempfile::TempDir,
}

impl Case {
    fn new() -> Case {
        let root = tempfile::tempdir().unwrap();
        let archive = own(&root.path().join("a"));
        Case { archive, root }
    }

    fn path(&self) -> PathBuf {
        self.root.path().join("x.warc")
    }

    fn load(&self) -> JobBody {
        load(&self.archive, &data::request(self.root.path(), &["x.warc"]))
    }

    /// Loads, and calls `change` while the load waits for the rest of the file, which was cut a
    /// moment ago.
    fn load_while(&self, mut change: impl FnMut(&Path)) -> JobBody {
        let request = data::request(self.root.path(), &["x.warc"]);
        let mut changed = false;
        let progress = &mut |_, job: &JobBody| {
            if !job.waiting_for.is_empty() && !changed {
                changed = true;
                change(&self.path());
            }
            true
        };
        let (_, job) = self.archive.load(&request, progress).unwrap();
        assert!(changed, "the load waited");
        job
    }

    /// Leaves `x.warc`, with a part of `crawl`, half loaded.
    fn load_a_part(&self, crawl: &str) {
        fs::write(self.path(), &crawl[..crawl.len() - 20]).unwrap();
        // A time in the future makes the load wait long for the rest.
        set_time(&self.path(), SystemTime::now() + Duration::from_secs(3600));
        let request = data::request(self.root.path(), &["x.warc"]);
        let (_, job) = self
            .archive
            .load(&request, &mut |_, job| job.waiting_for.is_empty())
            .unwrap();
        assert_eq!((job.state, job.inputs_loading), (JobState::Cancelled, 1));
    }

    fn write_old(&self, content: &str) {
        fs::write(self.path(), content).unwrap();
        set_time(&self.path(), SystemTime::now() - Duration::from_secs(3600));
    }

    fn ledger(&self) -> Vec<LedgerRow> {
        let question = Question::Ledger(Ledger {
            state: None,
            input: None,
            after: None,
            limit: 1000,
        });
        match data::ask(&self.archive, question) {
            Body::Ledger(LedgerBody { rows, next: None }) => rows,
            other => panic!("{other:?}"),
        }
    }

    fn forget(&self, name: &str) -> Result<Body, archive::AskError> {
        let inputs = vec![name.to_owned()];
        Ok(self.archive.ask(Question::Forget(Forget { inputs }))?.body)
    }

    /// Checks that the archive looks as if `x.warc` had only ever contained `content`.
    fn assert_holds_only(&self, content: &str, what: &str) {
        let fresh = Case::new();
        fresh.write_old(content);
        fresh.load();
        assert_same(&self.archive, &dumps(&fresh.archive), what);
        let (status, expected) = (data::status(&self.archive), data::status(&fresh.archive));
        assert_eq!(status.search_documents, expected.search_documents, "{what}");
    }
}

fn set_time(path: &Path, time: SystemTime) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(time).unwrap();
}

/// Writes `content` over a file of the same size, and resets its time, as some copying programs do.
fn overwrite(path: &Path, content: &str) {
    let time = path.metadata().unwrap().modified().unwrap();
    let file = File::options().write(true).open(path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, content.as_bytes(), 0).unwrap();
    file.set_modified(time).unwrap();
}

/// Ten pages that link to `word`. Words of the same length give crawls of the same length.
fn crawl(word: &str) -> String {
    let page = |number: usize| {
        let block = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>{word}</title><a href=http://{word}.org/>x</a>"
        );
        let length = block.len();
        format!(
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:x:{number}>\r\nWARC-Date: 2020-01-01T00:00:00Z\r\n\
             WARC-Target-URI: http://a.com/{number}\r\nContent-Type: application/http\r\n\
             Content-Length: {length}\r\n\r\n{block}\r\n\r\n"
        )
    };
    (0..10).map(page).collect()
}

#[test]
fn a_file_overwritten_while_it_is_loaded_fails_and_leaves_nothing_of_it() {
    let case = Case::new();
    let [before, after] = ["alpha", "gamma"].map(crawl);
    fs::write(case.path(), &before[..before.len() - 20]).unwrap();
    // A file changed a moment ago is waited for until it is 5 s old.
    set_time(&case.path(), SystemTime::now() - Duration::from_secs(3));
    let job = case.load_while(|path| overwrite(path, &after[..after.len() - 20]));
    assert_eq!((job.inputs_done, job.inputs_failed), (0, 1), "{job:#?}");
    let rows = case.ledger();
    let row = &rows[0];
    assert_eq!((rows.len(), row.captures, row.bytes_done), (1, 0, 0), "{row:#?}");
    for words in ["its content changed while it was loaded", "load it again"] {
        assert!(
            matches!(&row.state, InputState::Failed { reason } if reason.contains(words)),
            "{row:#?}"
        );
    }
    for view in ["captures", "links", "quarantine"] {
        assert_eq!(data::dump(&case.archive, view), "", "{view}");
    }
    // The present content replaces it.
    case.write_old(&after);
    let job = case.load();
    assert_eq!((job.inputs_done, job.problems.len()), (1, 0));
    case.assert_holds_only(&after, "overwritten and loaded again");
}

#[test]
fn a_file_cut_short_while_it_is_loaded_fails_and_leaves_nothing_of_it() {
    let case = Case::new();
    let [before, after] = ["alpha", "gamma"].map(crawl);
    fs::write(case.path(), &before[..before.len() - 20]).unwrap();
    let job = case.load_while(|path| fs::write(path, &after[..after.len() / 2]).unwrap());
    assert_eq!((job.inputs_loading, job.inputs_failed), (0, 1), "{job:#?}");
    assert_eq!(data::dump(&case.archive, "captures"), "");
    assert!(
        case.ledger()[0].state.to_string().contains("are left"),
        "{:#?}",
        case.ledger()
    );
}

#[test]
fn a_file_renamed_while_it_is_loaded_has_not_changed() {
    let case = Case::new();
    let content = crawl("alpha");
    fs::write(case.path(), &content[..content.len() - 20]).unwrap();
    let job = case.load_while(|path| fs::rename(path, path.with_extension("away")).unwrap());
    assert_eq!((job.inputs_loading, job.inputs_failed), (1, 0), "{job:#?}");
    assert_eq!(case.ledger()[0].captures, 9);
    case.write_old(&content);
    case.load();
    case.assert_holds_only(&content, "renamed and continued");
}

#[test]
fn a_part_whose_file_was_replaced_is_told_of_and_can_be_forgotten() {
    let case = Case::new();
    let [before, after] = ["alpha", "beta"].map(crawl);
    case.load_a_part(&before);
    case.write_old(&after);
    let job = case.load();
    assert_eq!(
        (job.inputs_done, job.inputs_loading, job.inputs_failed),
        (1, 0, 0),
        "{job:#?}"
    );
    let told: Vec<_> = job
        .problems
        .iter()
        .map(|row| (&row.state, row.captures, &*row.missing))
        .collect();
    assert!(
        matches!(told[..], [(InputState::Loading, 9, missing)] if missing.starts_with("other content is at its place")),
        "{told:?}"
    );
    // Both have the same name: the one that is loaded completely stays.
    match case.forget("x.warc").unwrap() {
        Body::Forgotten(ForgottenBody { inputs, captures, .. }) => {
            assert_eq!((inputs, captures), (vec!["x.warc".to_owned()], 9))
        }
        other => panic!("{other:?}"),
    }
    case.assert_holds_only(&after, "the part forgotten");
    let error = case.forget("x.warc").unwrap_err();
    assert!(
        error
            .message
            .contains("is loaded to its end and holds 10 captures"),
        "{error}"
    );
}

#[test]
fn a_part_whose_file_is_gone_can_be_forgotten_by_its_digest() {
    let case = Case::new();
    case.load_a_part(&crawl("alpha"));
    fs::remove_file(case.path()).unwrap();
    assert_eq!(case.load().inputs_failed, 1);
    let digest = case.ledger()[0].digest.clone();
    assert!(matches!(
        case.forget(&digest),
        Ok(Body::Forgotten(ForgottenBody { captures: 9, .. }))
    ));
    assert_eq!(case.ledger().len(), 0);
    let content = crawl("gamma");
    case.write_old(&content);
    case.load();
    case.assert_holds_only(&content, "forgotten and loaded");
}

/// Regression: a file and its beginning are loaded. The beginning cannot be taken back, because a
/// capture that it replaced cannot be read again. It must stay and be continued next to the whole
/// file, but it was left unchanged whenever both were loaded together.
#[test]
fn a_beginning_that_cannot_be_taken_back_is_read_on_beside_the_whole() {
    let case = Case::new();
    let root = case.root.path();
    let whole = crawl("alpha");
    let end_of = |number: usize| whole.match_indices("WARC/1.0").nth(number).unwrap().0;
    fs::write(root.join("old.warc"), &crawl("older")[..end_of(1)]).unwrap();
    fs::write(root.join("whole.warc"), &whole).unwrap();
    fs::write(root.join("part.warc.open"), &whole[..end_of(5)]).unwrap();
    for name in ["old.warc", "whole.warc", "part.warc.open"] {
        load(&case.archive, &data::request(root, &[name]));
    }
    fs::remove_file(root.join("old.warc")).unwrap();
    fs::write(root.join("part.warc.open"), &whole[..end_of(7)]).unwrap();
    let job = load(
        &case.archive,
        &data::request(root, &["whole.warc", "part.warc.open"]),
    );
    assert_eq!((job.inputs_known, job.inputs_failed), (1, 0), "{job:#?}");
    let rows = case.ledger();
    let part = rows.iter().find(|row| row.input == "part.warc.open").unwrap();
    assert_eq!(
        (rows.len(), part.bytes_done as usize, part.captures),
        (3, end_of(7), 7),
        "{rows:#?}"
    );
}
