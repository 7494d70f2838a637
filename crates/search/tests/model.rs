//! An ordered map beside the index: after any history they agree.

use std::collections::BTreeMap;

use rights::Sight;
use search::{Change, Document, Query, Results, SearchIndex};

use crate::support::{ALL, Dice, ask, open, page, upsert};

pub(crate) type Model = BTreeMap<String, Document>;

/// Words of the made-up pages.
const WORDS: [&str; 12] = [
    "root", "zone", "name", "server", "page", "archive", "link", "text", "old", "new", "map", "key",
];

fn random_page(dice: &mut Dice, keys: usize) -> Document {
    let name = dice.below(keys);
    let words = 1 + dice.below(30);
    let text: Vec<&str> = (0..words).map(|_| WORDS[dice.below(WORDS.len())]).collect();
    let domain = format!("d{}.org", name % 7);
    Document {
        inlink_bucket: dice.below(5) as u8,
        fetch_time_ms: 1_000_000_000_000 + dice.below(1000) as i64 * 1_000_000_000,
        host: format!("www.{domain}"),
        domain,
        language: ["en", "de", ""][name % 3].to_owned(),
        ..page(
            &format!("{name:05}"),
            WORDS[dice.below(WORDS.len())],
            &text.join(" "),
        )
    }
}

pub(crate) fn random_change(dice: &mut Dice, keys: usize) -> Change {
    let document = random_page(dice, keys);
    match dice.below(5) {
        0 => Change::Delete(document.url_key),
        1 => Change::Bucket(document.url_key, document.inlink_bucket),
        _ => upsert(document),
    }
}

/// The same changes, with inserts where there is no page, and buckets only where there is one.
pub(crate) fn inserting(model: &Model, changes: &[Change]) -> Vec<Change> {
    let mut model = model.clone();
    let mut inserting = Vec::new();
    for change in changes {
        match change {
            Change::Upsert(document) if !model.contains_key(&document.url_key) => {
                inserting.push(Change::Insert(document.clone()));
            }
            Change::Bucket(url_key, _) if !model.contains_key(url_key) => {}
            other => inserting.push(other.clone()),
        }
        apply_to(&mut model, std::slice::from_ref(change));
    }
    inserting
}

pub(crate) fn apply_to(model: &mut Model, changes: &[Change]) {
    for change in changes {
        match change {
            Change::Insert(document) | Change::Upsert(document) => {
                model.insert(document.url_key.clone(), (**document).clone());
            }
            Change::Delete(key) => drop(model.remove(key)),
            Change::Bucket(key, bucket) => {
                if let Some(document) = model.get_mut(key) {
                    document.inlink_bucket = *bucket;
                }
            }
        }
    }
}

/// All answers to a query, page by page, without what may differ between two runs.
fn all(index: &SearchIndex, text: &str) -> Results {
    let mut query = Query {
        text: text.to_owned(),
        limit: 7,
        facets: true,
        ..Query::default()
    };
    let mut all = index.search(&query, &Sight::everything(), &|_| None).unwrap();
    while let Some(next) = all.next.take() {
        query.after = Some(next);
        let page = index.search(&query, &Sight::everything(), &|_| None).unwrap();
        assert_eq!(page.total, all.total);
        assert!(!page.hits.is_empty());
        all.hits.extend(page.hits);
        all.next = page.next;
    }
    assert_eq!(all.hits.len() as u64, all.total, "{text}");
    all.took_ms = 0.0;
    all.epoch = 0;
    all
}

const QUERIES: [&str; 11] = [
    ALL,
    "roots",
    "archiving servers links",
    "\"servers\" OR mapped",
    "roo* title:map",
    "root",
    "root zone",
    "root zone name page",
    "\"root zone\"",
    "-root site:d3.org",
    "map OR key year:2009",
];

/// The index holds the model's documents, and answers as one filled with them in one go.
pub(crate) fn check(index: &SearchIndex, model: &Model) {
    assert_eq!(index.documents(), model.len() as u64);
    let found = all(index, ALL);
    for hit in &found.hits {
        let expected = &model[&hit.url_key];
        assert_eq!(
            (&hit.title, hit.fetch_time_ms),
            (&expected.title, expected.fetch_time_ms)
        );
    }
    let fresh_dir = tempfile::tempdir().unwrap();
    let fresh = open(fresh_dir.path());
    fresh.apply(1, model.values().cloned().map(upsert)).unwrap();
    fresh.flush().unwrap();
    for query in QUERIES {
        assert_eq!(all(index, query), all(&fresh, query), "{query}");
    }
}

#[test]
fn any_history_answers_as_its_outcome_alone() {
    for seed in [1, 2, 3, 4] {
        println!("seed {seed}");
        let mut dice = Dice(seed);
        let dir = tempfile::tempdir().unwrap();
        let mut index = open(dir.path());
        let mut model = Model::new();
        let mut epoch = 0;
        for _ in 0..60 {
            epoch += 1;
            let changes: Vec<_> = (0..dice.below(40))
                .map(|_| random_change(&mut dice, 150))
                .collect();
            // As a load does, or as one does that does not know what is there.
            match dice.below(2) {
                0 => index.apply_after(epoch - 1, epoch, inserting(&model, &changes)),
                _ => index.apply(epoch, changes.clone()),
            }
            .unwrap();
            apply_to(&mut model, &changes);
            match dice.below(6) {
                0 | 1 => {
                    assert_eq!(index.flush().unwrap(), epoch);
                    // Applied again, it changes nothing.
                    index.apply(epoch, changes).unwrap();
                }
                2 => {
                    drop(index);
                    index = open(dir.path());
                    assert_eq!(index.covered_epoch(), epoch);
                }
                _ => {}
            }
        }
        index.flush().unwrap();
        check(&index, &model);
    }
}

#[test]
fn a_cleared_index_is_empty_and_can_be_filled() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.apply(5, [upsert(page("a", "a", "a"))]).unwrap();
    index.flush().unwrap();
    index.apply(6, [upsert(page("b", "b", "b"))]).unwrap();
    index.clear().unwrap();
    assert_eq!((index.documents(), index.covered_epoch()), (0, 0));
    index.apply(1, [upsert(page("c", "c", "c"))]).unwrap();
    index.flush().unwrap();
    assert_eq!(ask(&index, ALL, 10).total, 1);
    assert_eq!(ask(&index, "c", 10).total, 1);
}

/// What inserts say is true of the state they were made for alone: an epoch that is applied to another must leave
/// one document of each key all the same.
#[test]
fn inserts_that_follow_another_epoch_are_upserts() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let insert = |text: &str| Change::Insert(Box::new(page("a", "a", text)));
    index.apply_after(0, 1, [insert("one")]).unwrap();
    index.apply_after(0, 2, [insert("two")]).unwrap();
    index.flush().unwrap();
    assert_eq!((index.documents(), ask(&index, "two", 10).total), (1, 1));
    index.apply_after(1, 3, [insert("three")]).unwrap();
    index.flush().unwrap();
    assert_eq!((index.documents(), ask(&index, "two OR three", 10).total), (1, 1));
}

/// Buckets move while documents stay; they are the same after commits, merges, and opening, and the log of them does
/// not grow for ever.
#[test]
fn buckets_move_without_their_documents() {
    let seed = 3;
    println!("seed {seed}");
    let mut dice = Dice(seed);
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    let mut model = Model::new();
    let names: Vec<String> = (0..3000).map(|number| format!("{number:05}")).collect();
    for epoch in 1..=120 {
        let mut changes = Vec::new();
        if epoch % 10 == 1 {
            let from = epoch as usize / 10 * 250;
            let pages = names[from..from + 250].iter();
            changes.extend(pages.map(|name| Change::Insert(Box::new(page(name, "root", "root zone")))));
        }
        let keys: Vec<String> = model.keys().cloned().collect();
        let moved = keys
            .into_iter()
            .map(|key| Change::Bucket(key, dice.below(30) as u8));
        changes.extend(moved);
        apply_to(&mut model, &changes);
        index.apply_after(epoch - 1, epoch, changes).unwrap();
        index.flush().unwrap();
        if epoch % 40 == 0 {
            index.wait_for_merges().unwrap();
            check(&index, &model);
            drop(index);
            index = open(dir.path());
            check(&index, &model);
        }
    }
    let logs = std::fs::read_dir(dir.path()).unwrap().map(Result::unwrap);
    let logs: Vec<_> = logs
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("buckets-"))
        .collect();
    assert_eq!(logs.len(), 1, "{logs:?}");
    let bytes = logs[0].metadata().unwrap().len();
    // 180,000 records were told, of 9 bytes each.
    assert!(bytes < 1_300_000, "the log has {bytes} bytes");
}

#[test]
fn an_epoch_can_be_found_without_a_flush() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.apply(1, [upsert(page("a", "a", "a"))]).unwrap();
    while index.covered_epoch() < 1 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(ask(&index, "a", 10).total, 1);
}

#[test]
fn deleted_documents_are_purged() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let mut dice = Dice(9);
    let mut model = Model::new();
    for epoch in 1..=200 {
        let changes: Vec<_> = (0..50).map(|_| upsert(random_page(&mut dice, 1000))).collect();
        apply_to(&mut model, &changes);
        index.apply(epoch, changes).unwrap();
        if epoch % 4 == 0 {
            index.flush().unwrap();
        }
    }
    index.wait_for_merges().unwrap();
    let live = index.documents();
    let held = index.documents_on_disk();
    assert_eq!(live, model.len() as u64);
    assert!(held as f64 <= live as f64 / 0.8, "{held} held for {live} live");
    check(&index, &model);
}

/// The story: a writer was dropped while a merge ran, and the next one opened at once. The merge then
/// named its segment and deleted the parts of it, which the next writer went on to name: opening failed,
/// or the next commit lost documents. Now a closed writer is shut out of the directory.
///
/// A second one, of the same operations: the first deletion after opening had the number of the last
/// commit, and a merge lost it, so that now and then the first document of an epoch stood there twice.
#[test]
fn closed_and_opened_at_once_while_merges_run_nothing_is_lost_or_doubled() {
    let seed = 11;
    println!("seed {seed}");
    let mut dice = Dice(seed);
    let dir = tempfile::tempdir().unwrap();
    let mut model = Model::new();
    let mut epoch = 0;
    for _ in 0..100 {
        let index = open(dir.path());
        assert_eq!(index.covered_epoch(), epoch);
        assert_eq!(index.documents(), model.len() as u64);
        // Dropping commits, and so many deletions make the commit begin a merge.
        epoch += 1;
        let changes: Vec<_> = (0..40).map(|_| random_change(&mut dice, 100)).collect();
        apply_to(&mut model, &changes);
        index.apply(epoch, changes).unwrap();
    }
    check(&open(dir.path()), &model);
}
