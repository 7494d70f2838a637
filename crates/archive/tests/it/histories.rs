//! Histories with a known answer: loaded in every order of their files, every view equals that of
//! the brute-force model.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use archive::question::{Body, LoadRequest, OptionalStage, Page, Question, SearchQuestion};
use data_encoding::HEXLOWER;
use extract::{Documents, Extracted, LinkScope, Settings};
use index::model::Model;
use index::{Batch, DumpFormat, InputProgress, InputState, LedgerRow, View};
use sha2::{Digest, Sha256};
use warc::{Entry, Reader, ReaderSettings};

use crate::data::{self, dumps, load, own};

const THREADS: usize = 4;

/// Returns the files of each history, sorted by name. Their names differ only in the digit before
/// the extension.
fn histories(shared: &Path) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut names: Vec<String> = std::fs::read_dir(shared.join("regress/histories"))
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    for name in names {
        let stem = name.strip_suffix(".warc").unwrap();
        let history = stem[..stem.len() - 1].to_owned();
        found
            .entry(history)
            .or_default()
            .push(format!("regress/histories/{name}"));
    }
    found
}

/// Returns every order of the numbers below `count`.
fn orders(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for shorter in orders(count - 1) {
        for place in 0..count {
            let mut order = shorter.clone();
            order.insert(place, count - 1);
            all.push(order);
        }
    }
    all
}

/// Returns the views of the model for these files, which are read here, one record after the other,
/// without the load pipeline.
fn model_of(files: &[(String, PathBuf)]) -> Vec<(&'static str, String)> {
    let mut model = Model::default();
    for (name, path) in files {
        let bytes = std::fs::read(path).unwrap();
        let digest = format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(&bytes)));
        let size = bytes.len() as u64;
        let input = model.register_input(LedgerRow::pending(name, "", &digest, size, ""), None);
        let mut batch = Batch::default();
        let mut records = 0;
        let mut reader = Reader::open(path, ReaderSettings::default()).unwrap();
        while let Some(entry) = reader.next_entry().unwrap() {
            let Entry::Record(record) = entry else { continue };
            records += 1;
            let settings = Settings {
                links: LinkScope::All,
                text: true,
                documents: Documents::NONE,
            };
            match extract::extract(&record, &settings) {
                Extracted::Capture(capture) => batch.captures.push((input, *capture)),
                Extracted::Attachment(attachment) => batch.lines.push((input, *attachment)),
                Extracted::Counted => {}
                Extracted::Unusable(defect) => panic!("{name}: {defect:?}"),
            }
        }
        batch.progress.push(InputProgress {
            input,
            bytes_done: size,
            exchange_from: 0,
            records,
            captures_recounted: 0,
            quarantined: Vec::new(),
            state: InputState::Done,
            cut: None,
            digested: None,
        });
        model.apply(batch);
    }
    let dump = |view: &View| {
        let mut out = Vec::new();
        model.dump(*view, DumpFormat::Tsv, &mut out).unwrap();
        (view.name(), String::from_utf8(out).unwrap())
    };
    View::ALL.iter().map(dump).collect()
}

fn request(shared: &Path, names: &[&str]) -> LoadRequest {
    LoadRequest {
        stages_off: vec![OptionalStage::Search],
        ..data::request(shared, names)
    }
}

#[track_caller]
fn assert_views(found: &[(&str, String)], expected: &[(&str, String)], what: &str) {
    for (view, expected) in expected {
        let found = found.iter().find(|(name, _)| name == view).unwrap();
        assert_eq!(found.1, *expected, "{what}: view {view}");
    }
}

/// Loads the files of one history in every order, one load each, and all in one load.
fn check(shared: &Path, history: &str, names: &[String]) {
    let files: Vec<(String, PathBuf)> = names.iter().map(|n| (n.clone(), shared.join(n))).collect();
    let expected = model_of(&files);
    let captures = &expected.iter().find(|(view, _)| *view == "captures").unwrap().1;
    assert!(!captures.is_empty(), "{history}");
    let root = tempfile::tempdir().unwrap();
    for (number, order) in orders(names.len()).iter().enumerate() {
        let archive = own(&root.path().join(number.to_string()));
        for &file in order {
            load(&archive, &request(shared, &[&names[file]]));
        }
        assert_views(
            &dumps(&archive),
            &expected,
            &format!("{history} in order {order:?}"),
        );
    }
    let together = own(&root.path().join("together"));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    load(&together, &request(shared, &names));
    assert_views(&dumps(&together), &expected, &format!("{history} in one load"));
}

#[test]
fn the_order_of_files_changes_nothing() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let histories = histories(&shared);
    if histories.is_empty() {
        println!("skipped: no regress/histories in {}", shared.display());
    }
    let histories: Vec<_> = histories.iter().collect();
    // Small archives wait for the disk most of the time, so several at once cost little more than
    // one.
    std::thread::scope(|scope| {
        for part in histories.chunks(histories.len().div_ceil(THREADS).max(1)) {
            let shared = &shared;
            scope.spawn(move || {
                part.iter()
                    .for_each(|(history, names)| check(shared, history, names))
            });
        }
    });
}

/// Regression: https at first, ten seconds later http with a redirect to it. Both have one URL key,
/// and the page disappeared from all views.
#[test]
fn a_page_stays_where_its_address_redirects_to_itself() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let name = "regress/selfredir.warc.gz";
    if !shared.join(name).exists() {
        println!("skipped: no {name} in {}", shared.display());
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let archive = own(root.path());
    load(&archive, &data::request(&shared, &[name]));
    let Body::Page(page) = data::ask(
        &archive,
        Question::Page(Page {
            url: "http://library.test/".into(),
        }),
    ) else {
        panic!()
    };
    assert!(page.is_page);
    assert_eq!((page.title.as_str(), page.status), ("National Library", 200));
    assert_eq!((page.links, page.inlinks), (1, 1));
    assert_eq!(page.fetch_time.as_deref(), Some("2024-01-01T00:00:00.000Z"));
    assert_eq!(page.last_seen.as_deref(), Some("2024-01-01T00:00:10.000Z"));
    assert_eq!(page.captures.len(), 2);
    let Body::Search(found) = data::ask(
        &archive,
        Question::Search(SearchQuestion {
            query: "zyzzogeton".into(),
            limit: 10,
            ..SearchQuestion::default()
        }),
    ) else {
        panic!()
    };
    assert_eq!(found.summary.total, 1);
    let links = data::dump(&archive, "links");
    assert!(links.contains("test,library)/\ttest,library)/a"), "{links}");
    let files = [(name.to_owned(), shared.join(name))];
    assert_views(&dumps(&archive), &model_of(&files), "selfredir");
}
