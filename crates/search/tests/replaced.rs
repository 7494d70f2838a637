//! Tests rebuilding an index in one commit.

use std::path::Path;
use std::process::Command;

use search::{ApplyError, Change, SearchIndex};

use crate::model::{Model, apply_to, check, random_change};
use crate::support::{ALL, Dice, ask, names, open, page, upsert};

const CHILD_DIR: &str = "SEARCH_REPLACED_DIR";

/// Returns the content before (epochs up to 3) and at epoch 4.
fn models() -> (Model, Model) {
    let mut dice = Dice(11);
    let mut model = Model::new();
    let changes: Vec<Change> = (0..200).map(|_| random_change(&mut dice, 60)).collect();
    apply_to(&mut model, &changes);
    let before = model.clone();
    let changes: Vec<Change> = (0..100).map(|_| random_change(&mut dice, 60)).collect();
    apply_to(&mut model, &changes);
    (before, model)
}

/// Creates an index that holds `model`.
fn filled(dir: &Path, model: &Model) -> SearchIndex {
    let index = open(dir);
    index.apply_after(0, 1, model.inserts()).unwrap();
    index.flush().unwrap();
    index
}

fn all(model: &Model) -> impl Iterator<Item = Result<Change, ApplyError>> {
    model.inserts().into_iter().map(Ok)
}

#[test]
fn searches_see_what_was_there_until_all_is_replaced() {
    let (before, after) = models();
    let dir = tempfile::tempdir().unwrap();
    let index = filled(dir.path(), &before);
    let mut seen = Vec::new();
    let documents = all(&after).inspect(|_| seen.push((index.covered_epoch(), index.documents())));
    index.replace_all(4, documents).unwrap();
    assert_eq!(seen.len(), after.inserts().len());
    assert!(
        seen.iter().all(|seen| *seen == (1, before.len() as u64)),
        "{seen:?}"
    );
    assert_eq!(index.covered_epoch(), 4);
    check(&index, &after);
    // Again with the same epoch; then further epochs follow.
    index.replace_all(4, all(&before)).unwrap();
    check(&index, &before);
    index.apply_after(4, 5, [upsert(page("x", "x", "x"))]).unwrap();
    index.flush().unwrap();
    drop(index);
    let mut last = before;
    apply_to(&mut last, &[upsert(page("x", "x", "x"))]);
    check(&open(dir.path()), &last);
}

/// Returns the names of segment files that the commit does not refer to.
fn unnamed(dir: &Path) -> Vec<String> {
    let meta = std::fs::read_to_string(dir.join("meta.json")).unwrap();
    let meta: serde_json::Value = serde_json::from_str(&meta).unwrap();
    let segments = meta["segments"].as_array().unwrap().iter();
    let named: Vec<String> = segments
        .map(|segment| segment["segment_id"].as_str().unwrap().replace('-', ""))
        .collect();
    let files = std::fs::read_dir(dir).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names
        .filter(|name| name.len() > 32 && !named.iter().any(|segment| name.starts_with(segment)))
        .collect()
}

/// Regression: tantivy skips the files of segments in use, and nothing tried again later.
#[test]
fn after_a_purge_no_file_of_before_is_left() {
    let (before, after) = models();
    for commits in 1..8 {
        let dir = tempfile::tempdir().unwrap();
        let index = filled(dir.path(), &before);
        // Enough segments that some are merged while others have deletions.
        for epoch in 2..2 + commits {
            index
                .apply(epoch, [upsert(page(&format!("x{}", epoch % 3), "x", "x"))])
                .unwrap();
            index.flush().unwrap();
        }
        index.replace_all(50, all(&after)).unwrap();
        index.purge().unwrap();
        assert_eq!(unnamed(dir.path()), [""; 0], "after {commits} commits");
        check(&index, &after);
        // Further epochs can be applied, and the index can be opened again.
        index.apply_after(50, 51, [upsert(page("x", "x", "x"))]).unwrap();
        index.flush().unwrap();
        drop(index);
        let mut last = after.clone();
        apply_to(&mut last, &[upsert(page("x", "x", "x"))]);
        check(&open(dir.path()), &last);
    }
}

#[test]
fn what_cannot_be_read_replaces_nothing() {
    let (before, after) = models();
    let dir = tempfile::tempdir().unwrap();
    let index = filled(dir.path(), &before);
    index.apply(2, [upsert(page("x", "x", "x"))]).unwrap();
    let broken = || ApplyError {
        covered_epoch: 0,
        message: "a row is damaged".to_owned(),
    };
    let documents = all(&after).take(20).chain([Err(broken())]);
    let error = index.replace_all(4, documents).unwrap_err();
    assert_eq!(error.message, "a row is damaged");
    // Epochs applied before are kept, and further ones can be applied.
    let mut now = before;
    apply_to(&mut now, &[upsert(page("x", "x", "x"))]);
    assert_eq!(index.covered_epoch(), 2);
    check(&index, &now);
    index
        .apply(3, [Change::Delete(page("x", "", "").url_key)])
        .unwrap();
    index.flush().unwrap();
    assert!(!names(&ask(&index, ALL, 100)).contains(&"x"));
    index.replace_all(4, all(&after)).unwrap();
    check(&index, &after);
}

/// Not a test: the test below runs it in another process.
#[test]
fn child_that_replaces() {
    let Some(dir) = std::env::var_os(CHILD_DIR) else {
        return;
    };
    let index = open(Path::new(&dir));
    let (_, after) = models();
    let is_killed_midway = std::env::var_os("WEFT_CRASH_POINT").is_none();
    let documents = all(&after).enumerate().map(|(number, document)| {
        if is_killed_midway && number == 10 {
            std::process::abort();
        }
        document
    });
    index.replace_all(4, documents).unwrap();
}

#[test]
fn killed_at_any_point_all_is_replaced_or_nothing() {
    let (before, after) = models();
    let points = [
        None,
        Some("search.before_buckets"),
        Some("search.before_prepare"),
        Some("search.before_commit"),
        Some("search.after_commit"),
    ];
    for point in points {
        let dir = tempfile::tempdir().unwrap();
        drop(filled(dir.path(), &before));
        let mut child = Command::new(std::env::current_exe().unwrap());
        child
            .args(["replaced::child_that_replaces", "--exact"])
            .env(CHILD_DIR, dir.path());
        child.envs(point.map(|point| ("WEFT_CRASH_POINT", point)));
        let status = child.output().unwrap().status;
        assert_eq!(status.code(), None, "{point:?}");
        let index = open(dir.path());
        match index.covered_epoch() {
            1 => check(&index, &before),
            covered => {
                assert_eq!((covered, point), (4, Some("search.after_commit")));
                check(&index, &after);
            }
        }
        index.replace_all(4, all(&after)).unwrap();
        check(&index, &after);
    }
}
