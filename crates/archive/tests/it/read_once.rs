//! Inputs that are digested while they are read.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use archive::Archive;
use archive::question::{
    Body, InputState, JobBody, JobState, Ledger, LedgerBody, LedgerRow, LoadRequest, Question,
};
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use crate::data::{self, assert_same, dumps, load, own};

/// Pages of a crawl: more than fit into the queues of a load with epochs of one page (300).
const PAGES: usize = 500;

/// More pages than such a load has read when it is stopped.
const PART: usize = 400;

/// A folder with the archive `a`, and inputs.
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

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Writes a file that was not changed recently.
    fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).unwrap();
        set_time(&self.path(name), Duration::from_secs(3600));
    }

    /// Requests a load with small epochs, which digests as little as possible before it reads.
    fn request(&self, names: &[&str]) -> LoadRequest {
        LoadRequest {
            epoch_bytes: Some(20_000),
            ..data::request(self.root.path(), names)
        }
    }

    fn load(&self, names: &[&str]) -> JobBody {
        load(&self.archive, &self.request(names))
    }

    /// Loads, and stops after some captures.
    fn load_a_part(&self, names: &[&str]) -> JobBody {
        let slow = LoadRequest {
            rate_pages_per_s: Some(40.0),
            epoch_bytes: Some(1),
            ..self.request(names)
        };
        self.load_until_stopped(&slow)
    }

    fn load_until_stopped(&self, request: &LoadRequest) -> JobBody {
        let progress = &mut |_, job: &JobBody| job.captures < 10;
        let (_, job) = self.archive.load(request, progress).unwrap();
        assert_eq!(job.state, JobState::Cancelled);
        job
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

    /// Returns the only row, of an input that was read in part: its digest is that of its
    /// beginning.
    fn part(&self, content: &str) -> LedgerRow {
        let rows = self.ledger();
        let row = rows[0].clone();
        let (bytes, known) = row.beginning();
        assert_eq!(
            (rows.len(), &row.state, row.size),
            (1, &InputState::Loading, content.len() as u64)
        );
        assert!(
            row.captures >= 10 && row.bytes_done <= bytes && bytes < row.size,
            "{row:#?}"
        );
        assert_eq!(known, digest(&content[..bytes as usize]));
        assert_eq!(row.digest, format!("{known}/{bytes}"));
        row
    }

    /// The archive looks as if only these had ever been loaded, each completely.
    fn assert_holds_only(&self, contents: &[(&str, &str)]) {
        let fresh = Case::new();
        for (name, content) in contents {
            fresh.write(name, content);
            load(&fresh.archive, &data::request(fresh.root.path(), &[name]));
        }
        assert_same(
            &self.archive,
            &dumps(&fresh.archive),
            "digested while it was read",
        );
    }
}

fn set_time(path: &Path, ago: Duration) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - ago).unwrap();
}

fn digest(content: &str) -> String {
    format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(content)))
}

/// Pages that link to `word`, the first `common` of them to `a`.
fn crawl(word: &str, common: usize) -> String {
    let page = |number: usize| {
        let word = if number < common { "a" } else { word };
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
    (0..PAGES).map(page).collect()
}

#[test]
fn something_is_seen_before_a_file_is_digested_and_it_is_digested_once() {
    let case = Case::new();
    let content = crawl("b", 0);
    case.write("x.warc", &content);
    let mut early = None;
    let slow = LoadRequest {
        rate_pages_per_s: Some(1000.0),
        epoch_bytes: Some(1),
        ..case.request(&["x.warc"])
    };
    let (_, job) = case
        .archive
        .load(&slow, &mut |_, job| {
            if job.captures > 0 && early.is_none() {
                early = Some((job.bytes_digested, case.ledger()));
            }
            true
        })
        .unwrap();
    let (digested, rows) = early.unwrap();
    assert!(digested < job.bytes, "{digested} of {}", job.bytes);
    assert!(rows[0].beginning().0 < rows[0].size, "{rows:#?}");
    assert_eq!((job.bytes_digested, job.bytes_done), (job.bytes, job.bytes));
    assert_eq!(case.ledger()[0].digest, digest(&content));
    case.assert_holds_only(&[("x.warc", &content)]);
    assert_eq!(case.load(&["x.warc"]).inputs_known, 1);
}

#[test]
fn a_load_that_was_stopped_goes_on_with_digest_and_file() {
    for is_touched in [false, true] {
        let case = Case::new();
        let content = crawl("b", 0);
        case.write("x.warc", &content);
        case.load_a_part(&["x.warc"]);
        let row = case.part(&content);
        if is_touched {
            set_time(&case.path("x.warc"), Duration::from_secs(7200));
        }
        let job = case.load(&["x.warc"]);
        assert_eq!((job.inputs_done, job.captures), (1, PAGES as u64 - row.captures));
        assert_eq!((job.bytes_digested, job.bytes_done), (job.bytes, job.bytes));
        case.assert_holds_only(&[("x.warc", &content)]);
    }
}

#[test]
fn a_part_goes_on_under_another_name_and_longer() {
    let case = Case::new();
    let content = crawl("b", 0);
    let end = content.match_indices("WARC/1.0").nth(PART).unwrap().0;
    case.write("x.warc.open", &content[..end]);
    case.load_a_part(&["x.warc.open"]);
    case.part(&content[..end]);
    fs::remove_file(case.path("x.warc.open")).unwrap();
    case.write("x.warc", &content);
    case.load(&["x.warc"]);
    case.assert_holds_only(&[("x.warc", &content)]);
}

#[test]
fn a_part_whose_file_was_replaced_goes_on_only_where_its_beginning_is_the_same() {
    let case = Case::new();
    let [before, after] = ["b", "c"].map(|word| crawl(word, PART));
    case.write("x.warc", &before);
    case.load_a_part(&["x.warc"]);
    let row = case.part(&before);
    assert!(before[..row.beginning().0 as usize] == after[..row.beginning().0 as usize]);
    case.write("x.warc", &after);
    let job = case.load(&["x.warc"]);
    assert_eq!((job.inputs_done, job.captures), (1, PAGES as u64 - row.captures));
    case.assert_holds_only(&[("x.warc", &after)]);

    let case = Case::new();
    case.write("x.warc", &before);
    case.load_a_part(&["x.warc"]);
    let other = crawl("d", 1);
    case.write("x.warc", &other);
    assert_eq!(case.load(&["x.warc"]).inputs_done, 1);
    let missing: Vec<String> = case.ledger().into_iter().map(|row| row.missing).collect();
    assert!(
        missing.len() == 2 && missing.iter().any(|why| why.starts_with("other content")),
        "{missing:?}"
    );
}

/// Without small epochs, bytes are digested when they are read, ahead of the index.
#[test]
fn a_large_file_is_digested_ahead_of_what_is_woven() {
    let case = Case::new();
    let content = crawl("b", 0);
    let large: String = (0..20).map(|_| content.as_str()).collect();
    case.write("x.warc", &large);
    let slow = LoadRequest {
        rate_pages_per_s: Some(40.0),
        ..data::request(case.root.path(), &["x.warc"])
    };
    case.load_until_stopped(&slow);
    let row = case.part(&large);
    let job = load(&case.archive, &data::request(case.root.path(), &["x.warc"]));
    assert_eq!(job.captures, 20 * PAGES as u64 - row.captures);
    assert_eq!((job.bytes_digested, job.bytes_done), (job.bytes, job.bytes));
    assert_eq!(case.ledger()[0].digest, digest(&large));
    case.assert_holds_only(&[("x.warc", &large)]);
}

/// Copies have the same size, so both are digested before they are read.
#[test]
fn copies_are_found_in_one_load_and_in_two() {
    let case = Case::new();
    let content = crawl("b", 0);
    for name in ["x.warc", "y.warc", "z.warc"] {
        case.write(name, &content);
    }
    let job = case.load(&["x.warc", "y.warc"]);
    assert_eq!((job.inputs_done, job.inputs_known), (1, 1));
    let job = case.load(&["z.warc"]);
    assert_eq!((job.inputs_done, job.inputs_known, job.captures), (0, 1, 0));
    case.assert_holds_only(&[("x.warc", &content)]);
}

/// Files of different sizes with the same beginning are kept apart while their digests cover only
/// the beginnings.
#[test]
fn files_that_begin_alike_are_two_inputs() {
    let case = Case::new();
    let content = crawl("b", 0);
    let end = content.match_indices("WARC/1.0").nth(PART).unwrap().0;
    case.write("x.warc", &content);
    case.write("y.warc", &content[..end]);
    let job = case.load_a_part(&["x.warc", "y.warc"]);
    assert_eq!(job.inputs_known, 0);
    let job = case.load(&["x.warc", "y.warc"]);
    assert_eq!((job.inputs_done, job.inputs_failed), (2, 0), "{job:#?}");
    case.assert_holds_only(&[("x.warc", &content), ("y.warc", &content[..end])]);
}

#[test]
fn a_file_overwritten_while_it_is_digested_and_read_leaves_nothing_of_it() {
    let case = Case::new();
    let [before, after] = ["b", "c"].map(|word| crawl(word, 0));
    case.write("x.warc", &before);
    let slow = LoadRequest {
        rate_pages_per_s: Some(1000.0),
        epoch_bytes: Some(1),
        ..case.request(&["x.warc"])
    };
    let mut changed = false;
    let progress = &mut |_, job: &JobBody| {
        if job.captures > 0 && !changed {
            changed = true;
            let file = File::options().write(true).open(case.path("x.warc")).unwrap();
            std::os::unix::fs::FileExt::write_all_at(&file, after.as_bytes(), 0).unwrap();
        }
        true
    };
    let (_, job) = case.archive.load(&slow, progress).unwrap();
    assert_eq!((job.inputs_done, job.inputs_failed), (0, 1), "{job:#?}");
    let row = &case.ledger()[0];
    assert_eq!((row.captures, row.bytes_done), (0, 0), "{row:#?}");
    assert!(
        row.state
            .to_string()
            .contains("its content changed while it was loaded")
    );
    assert_eq!(data::dump(&case.archive, "captures"), "");
    case.write("x.warc", &after);
    assert_eq!(case.load(&["x.warc"]).inputs_done, 1);
    case.assert_holds_only(&[("x.warc", &after)]);
}
