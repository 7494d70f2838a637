//! Scans of the objects of an in-memory bucket.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use catalogue::{
    Address, Catalogue, CatalogueError, CatalogueSettings, ChangeKind, Kind, LastStage, NO_OWNER, Object,
    Objects, ObjectsPage, Progress, ReportedChange, ScanError, ScanReport, ScanSettings, ScanState, Visit,
};
use parking_lot::Mutex;
use tempfile::TempDir;

use crate::model::Dice;

/// Size and time of the last write, by key.
type Model = BTreeMap<Vec<u8>, (u64, i64)>;

/// A failure during a listing.
enum Trouble {
    None,
    /// The store fails from the n-th page on.
    Fails(u64),
    /// The scan is stopped at the n-th page.
    Stops(u64, Progress),
}

/// A bucket.
struct Bucket {
    objects: Model,
    page_objects: usize,
    trouble: Trouble,
    pages: AtomicU64,
    listed: AtomicU64,
    is_missing: bool,
}

impl Objects for Bucket {
    fn page(&self, prefix: &[u8], after: Option<&[u8]>) -> io::Result<ObjectsPage> {
        let page = self.pages.fetch_add(1, Relaxed);
        match &self.trouble {
            Trouble::Fails(number) if page >= *number => return Err(io::Error::other("the store says 503")),
            Trouble::Stops(number, progress) if page >= *number => progress.stop(),
            _ => {}
        }
        if self.is_missing {
            return Err(io::Error::new(io::ErrorKind::NotFound, "there is no such bucket"));
        }
        let from = match after {
            Some(after) if after >= prefix => Bound::Excluded(after.to_vec()),
            _ => Bound::Included(prefix.to_vec()),
        };
        let mut found = self
            .objects
            .range((from, Bound::Unbounded))
            .take_while(|(key, _)| key.starts_with(prefix));
        let object = |(key, &(size_bytes, modified_ns)): (&Vec<u8>, &(u64, i64))| Object {
            key: key.clone(),
            size_bytes,
            modified_ns,
        };
        let objects: Vec<Object> = found.by_ref().take(self.page_objects).map(object).collect();
        self.listed.fetch_add(objects.len() as u64, Relaxed);
        let is_last = found.next().is_none();
        Ok(ObjectsPage { objects, is_last })
    }
}

/// Compared fields of an entry: size, blocks, time of the last write.
type Row = (u64, u64, i64);

/// Entries at and below an address, by path and kind.
type Rows = BTreeMap<(Vec<u8>, char), Row>;

/// Returns the expected entries below a directory of the bucket, according to the documented rules
/// for keys.
fn expected(model: &Model, dir: &str) -> Rows {
    let top = match dir {
        "" => "s3://b".to_owned(),
        dir => format!("s3://b/{dir}"),
    };
    let prefix = if dir.is_empty() {
        String::new()
    } else {
        format!("{dir}/")
    };
    let address = |key: &[u8]| [b"s3://b/", key].concat();
    let mut rows = Rows::from([((top.into_bytes(), 'd'), (0, 0, 0))]);
    for (key, &(size_bytes, modified_ns)) in model {
        if key.len() == prefix.len() || !key.starts_with(prefix.as_bytes()) {
            continue;
        }
        rows.insert(
            (address(key), 'f'),
            (size_bytes, size_bytes.div_ceil(512), modified_ns),
        );
        // A slash after another byte, with more bytes behind it, ends a directory name.
        let ends = |&at: &usize| key[at] == b'/' && key[at - 1] != b'/' && at + 1 < key.len();
        for end in (prefix.len() + 1..key.len()).filter(ends) {
            rows.insert((address(&key[..end]), 'd'), (0, 0, 0));
        }
    }
    rows
}

struct Rig {
    state: TempDir,
    catalogue: Arc<Catalogue>,
    settings: ScanSettings,
    bucket: Bucket,
}

impl Rig {
    fn new(page_objects: usize) -> Rig {
        let state = tempfile::tempdir().unwrap();
        let catalogue = Catalogue::create(state.path(), &CatalogueSettings::default()).unwrap();
        Rig {
            state,
            catalogue: Arc::new(catalogue),
            settings: ScanSettings::default(),
            bucket: Bucket {
                objects: Model::new(),
                page_objects,
                trouble: Trouble::None,
                pages: AtomicU64::new(0),
                listed: AtomicU64::new(0),
                is_missing: false,
            },
        }
    }

    fn put(&mut self, key: &str, size_bytes: u64) {
        self.bucket
            .objects
            .insert(key.into(), (size_bytes, 1_700_000_000_000_000_000));
    }

    fn scan_with(&self, address: &str, progress: &Progress) -> Result<ScanReport, ScanError> {
        self.bucket.pages.store(0, Relaxed);
        self.bucket.listed.store(0, Relaxed);
        let address = Address::new(address.as_bytes(), "here").unwrap();
        self.catalogue
            .scan_objects(&address, &self.bucket, &self.settings, progress)
    }

    fn scan(&self, address: &str) -> ScanReport {
        self.scan_with(address, &Progress::default()).unwrap()
    }

    /// Closes the catalogue and opens it again.
    fn reopen(&mut self) {
        let settings = CatalogueSettings::default();
        let aside = tempfile::tempdir().unwrap();
        self.catalogue = Arc::new(Catalogue::create(aside.path(), &settings).unwrap());
        self.catalogue = Arc::new(Catalogue::open(self.state.path(), &settings).unwrap());
    }

    /// Returns what the catalogue has at and below an address.
    fn rows(&self, address: &str) -> Rows {
        let mut rows = Rows::new();
        let top = self
            .catalogue
            .locate(Path::new(address))
            .unwrap()
            .expect("it is catalogued");
        self.catalogue
            .each::<CatalogueError>(top, |found| {
                let file = &found.attributes;
                assert!(
                    file.is_object() && file.born_ns().is_none() && file.uid == NO_OWNER && file.mode == 0
                );
                let key = (found.path.clone(), file.kind.letter());
                let row = (file.size_bytes, file.blocks, file.modified_ns);
                assert!(rows.insert(key, row).is_none(), "{:?} twice", found.path);
                Ok(Visit::Descend)
            })
            .unwrap();
        rows
    }

    /// Checks that the catalogue equals the bucket below a directory and that its sums equal those
    /// of its entries.
    #[track_caller]
    fn check(&self, dir: &str) {
        let address = format!("s3://b/{dir}");
        let (expected, found) = (expected(&self.bucket.objects, dir), self.rows(&address));
        let text = |row: &(Vec<u8>, char)| (String::from_utf8_lossy(&row.0).into_owned(), row.1);
        let keys: BTreeSet<_> = expected.keys().chain(found.keys()).collect();
        let differing: Vec<_> = keys
            .into_iter()
            .filter(|key| expected.get(*key) != found.get(*key))
            .map(|key| (text(key), expected.get(key), found.get(key)))
            .take(5)
            .collect();
        assert!(
            differing.is_empty(),
            "in the bucket, in the catalogue: {differing:#?}"
        );
        self.check_sums();
        let top = self.catalogue.locate(Path::new(&address)).unwrap().unwrap();
        let usage = self.catalogue.usage(&top).unwrap();
        let files = || expected.iter().filter(|(key, _)| key.1 == 'f');
        assert_eq!(usage.entries as usize, expected.len());
        assert_eq!(usage.files() as usize, files().count());
        assert_eq!(
            usage.size_bytes as u64,
            files().map(|(_, row)| row.0).sum::<u64>()
        );
        // Each entry is found by its path; of very many, some are looked for. If an object and a
        // directory share a path, the directory is found.
        for (path, kind) in expected.keys().step_by(expected.len() / 5000 + 1) {
            let found = self.catalogue.locate_exactly(path).unwrap().unwrap();
            let is_hidden = *kind == 'f' && {
                let path = path.strip_suffix(b"/").unwrap_or(path);
                expected.contains_key(&(path.to_vec(), 'd'))
            };
            let is_dir = *kind == 'd' || is_hidden;
            assert_eq!(
                found.attributes.kind == Kind::Directory,
                is_dir,
                "{:?}",
                text(&(path.clone(), *kind))
            );
        }
    }

    #[track_caller]
    fn check_sums(&self) {
        assert_eq!(self.catalogue.check().unwrap(), Vec::<String>::new());
    }

    fn trees(&self) -> Vec<String> {
        let paths = self.catalogue.tree_paths().unwrap().into_iter();
        paths.map(|path| String::from_utf8(path).unwrap()).collect()
    }
}

fn key(dice: &mut Dice) -> Vec<u8> {
    let names = [
        "a",
        "b",
        "a!",
        "a0",
        "x.warc.gz",
        "",
        "ä",
        "..",
        "\u{1}",
        "\u{10ffff}",
        "data",
    ];
    let count = 1 + dice.below(5);
    let names: Vec<&str> = (0..count).map(|_| names[dice.below(names.len())]).collect();
    match names.join("/") {
        key if key.is_empty() => b"/".to_vec(),
        key => key.into_bytes(),
    }
}

/// Puts, replaces and deletes objects at random.
fn change(model: &mut Model, dice: &mut Dice, steps: usize) {
    for _ in 0..steps {
        let any = |model: &Model, dice: &mut Dice| model.keys().nth(dice.below(model.len().max(1))).cloned();
        match dice.below(10) {
            0..=5 => {
                let row = (dice.below(100_000) as u64, dice.below(1 << 40) as i64);
                model.insert(key(dice), row);
            }
            6 => {
                if let Some(key) = any(model, dice) {
                    model.insert(key, (1, dice.below(1 << 40) as i64));
                }
            }
            7 | 8 => {
                if let Some(key) = any(model, dice) {
                    model.remove(&key);
                }
            }
            _ => {
                let prefix = key(dice);
                model.retain(|key, _| !key.starts_with(&prefix));
            }
        }
    }
    // The prefixes that are scanned separately are never empty.
    for key in ["data/kept", "data/a/kept"] {
        model.insert(key.into(), (7, 7));
    }
}

fn seeds() -> Vec<u64> {
    match std::env::var("WEFT_TEST_SEED") {
        Ok(seed) => vec![seed.parse().expect("WEFT_TEST_SEED must be a number")],
        Err(_) => (0..4).collect(),
    }
}

#[test]
fn the_catalogue_follows_a_bucket_that_changes_at_random() {
    for seed in seeds() {
        println!("seed {seed}");
        let mut dice = Dice::new(seed);
        let mut rig = Rig::new([1, 3, 50, 1000][seed as usize % 4]);
        for round in 0..8 {
            change(&mut rig.bucket.objects, &mut dice, 120);
            // First a prefix, then the whole bucket, then a prefix of the catalogued bucket.
            let dir = ["data", "data/a", "", "data/a", "", "data", "", ""][round];
            let scanned = rig.scan(&format!("s3://b/{dir}"));
            assert_eq!(scanned.row.state, ScanState::Done);
            rig.check(dir);
            if round % 3 == 2 {
                rig.reopen();
                rig.check(dir);
            }
        }
        assert_eq!(rig.trees(), ["s3://b"]);
        let again = rig.scan("s3://b").row.counts;
        assert_eq!((again.added, again.removed, again.changed), (0, 0, 0));
        assert_eq!(again.entries as usize, rig.rows("s3://b").len() - 1);
    }
}

#[test]
fn a_scan_that_is_stopped_or_fails_takes_nothing_out_and_goes_on() {
    for seed in seeds() {
        println!("seed {seed}");
        let mut dice = Dice::new(seed);
        let mut rig = Rig::new(7);
        change(&mut rig.bucket.objects, &mut dice, 300);
        if seed % 2 == 0 {
            rig.scan("s3://b");
        }
        for _ in 0..3 {
            change(&mut rig.bucket.objects, &mut dice, 100);
            let mut number = None;
            for attempt in 0..5 {
                let before = rig.catalogue.trees().unwrap().first().map(|_| rig.rows("s3://b"));
                let progress = Progress::default();
                let page = dice.below(12) as u64;
                rig.bucket.trouble = match attempt % 2 {
                    0 => Trouble::Fails(page),
                    _ => Trouble::Stops(page, progress.clone()),
                };
                match rig.scan_with("s3://b/", &progress) {
                    Err(ScanError::Listing { .. } | ScanError::Stopped) => {}
                    // The listing had fewer pages.
                    Ok(_) => break,
                    Err(error) => panic!("{error}"),
                }
                rig.check_sums();
                if let Some(before) = before {
                    let (now, there) = (rig.rows("s3://b"), expected(&rig.bucket.objects, ""));
                    let lost = before
                        .keys()
                        .find(|key| there.contains_key(*key) && !now.contains_key(*key));
                    assert_eq!(lost, None);
                }
                let scans = rig.catalogue.scans().unwrap();
                if let Some((last, row)) = scans.last().filter(|(_, row)| row.state == ScanState::Begun) {
                    assert_eq!(&*row.root, b"s3://b");
                    assert_eq!(*number.get_or_insert(*last), *last, "the scan is resumed");
                }
                rig.reopen();
            }
            rig.bucket.trouble = Trouble::None;
            rig.scan("s3://b");
            rig.check("");
        }
    }
}

/// Regression test: the store fails in the middle of a long listing. After that, the part already
/// read is not listed again.
#[test]
fn directories_that_were_read_are_passed_over() {
    let mut rig = Rig::new(100);
    for dir in 0..200 {
        for n in 0..30 {
            rig.put(&format!("in/{}/{dir:03}/{n}", dir / 20), n);
        }
    }
    rig.bucket.trouble = Trouble::Fails(45);
    let error = rig.scan_with("s3://b/in", &Progress::default()).unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains("cannot list s3://b/in after key in/7/149/")
            && said.contains(": the objects read so far are kept"),
        "{said}"
    );
    rig.check_sums();
    rig.bucket.trouble = Trouble::None;
    let scanned = rig.scan("s3://b/in");
    assert_eq!(scanned.row.resumed, 1);
    rig.check("in");
    let listed = rig.bucket.listed.load(Relaxed);
    // 4,500 objects were read. Each skipped directory costs one page.
    assert!(listed < 1500 + 1500, "{listed} objects were listed again");
    // The setting `anew` starts the scan from the beginning.
    rig.bucket.trouble = Trouble::Fails(45);
    rig.scan_with("s3://b/in", &Progress::default()).unwrap_err();
    rig.bucket.trouble = Trouble::None;
    rig.settings.restart = true;
    rig.scan("s3://b/in");
    assert_eq!(rig.bucket.listed.load(Relaxed), 6000);
    rig.check("in");
}

#[test]
fn a_directory_of_many_objects_is_sorted_aside() {
    let mut rig = Rig::new(1000);
    // A sorted run has 65,536 entries.
    for n in 0..70_000u64 {
        rig.put(&format!("many/{}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15)), 1);
    }
    rig.put("many/0/inner", 5);
    rig.put("z", 9);
    let scanned = rig.scan("s3://b");
    let stages: Vec<&str> = scanned.stages.iter().map(|stage| stage.stage.as_str()).collect();
    assert_eq!(stages, ["READ_DIR", "LOOKUP", "DIFF", "APPLY", "REMOVE_OLD"]);
    assert_eq!(scanned.stages[0].done, 70_002);
    rig.check("");
    let again = rig.scan("s3://b").row.counts;
    assert_eq!((again.added, again.removed, again.changed), (0, 0, 0));
}

#[test]
fn a_prefix_around_catalogued_ones_takes_them_in() {
    let mut rig = Rig::new(10);
    for key in ["a/b/1", "a/c/2", "d/3", "gone/4"] {
        rig.put(key, 10);
    }
    for address in ["s3://b/a/b", "s3://b/gone", "s3://b/d/"] {
        rig.scan(address);
    }
    assert_eq!(rig.trees(), ["s3://b/a/b", "s3://b/d", "s3://b/gone"]);
    rig.scan("s3://b/a");
    rig.check("a");
    assert_eq!(rig.trees(), ["s3://b/a", "s3://b/d", "s3://b/gone"]);
    // Everything missing from the listing is removed, including separate trees.
    rig.bucket.objects.remove(&b"gone/4"[..]);
    rig.scan("s3://b");
    rig.check("");
    assert_eq!(rig.trees(), ["s3://b"]);
}

#[test]
fn a_tree_is_emptied_only_if_the_listing_succeeded() {
    let mut rig = Rig::new(10);
    rig.put("a/1", 10);
    rig.put("a/b/2", 10);
    rig.put("c", 10);
    let said = |rig: &Rig, address: &str| {
        rig.scan_with(address, &Progress::default())
            .unwrap_err()
            .to_string()
    };
    assert!(said(&rig, "s3://b/typo").contains("there is no object below s3://b/typo/"));
    assert!(rig.trees().is_empty());
    rig.scan("s3://b/a");
    rig.bucket.is_missing = true;
    let missing = said(&rig, "s3://b/a/");
    assert!(
        missing.contains("cannot list s3://b/a: there is no such bucket"),
        "{missing}"
    );
    rig.bucket.is_missing = false;
    rig.check("a");
    rig.bucket.objects.retain(|key, _| !key.starts_with(b"a/"));
    let counts = rig.scan("s3://b/a").row.counts;
    assert_eq!((counts.added, counts.removed), (0, 3));
    rig.check("a");
    assert_eq!(rig.trees(), ["s3://b/a"]);
}

#[test]
fn a_bucket_of_another_store_is_another_one() {
    let mut rig = Rig::new(10);
    rig.put("a/1", 10);
    rig.put("b/2", 10);
    rig.scan("s3://b");
    let elsewhere = |rig: &Rig, address: &str| {
        let address = Address::new(address.as_bytes(), "there").unwrap();
        rig.catalogue
            .scan_objects(&address, &rig.bucket, &rig.settings, &Progress::default())
    };
    // A scan of a prefix must not replace the whole tree.
    let error = elsewhere(&rig, "s3://b/a").unwrap_err().to_string();
    assert!(error.contains("another store"), "{error}");
    rig.check("");
    rig.bucket.objects.remove(&b"b/2"[..]);
    elsewhere(&rig, "s3://b").unwrap();
    rig.check("");
}

#[test]
fn a_listing_in_another_order_is_refused() {
    /// Lists directories after the contents of others, as some stores do.
    struct Unordered(Vec<&'static str>);
    impl Objects for Unordered {
        fn page(&self, _: &[u8], _: Option<&[u8]>) -> io::Result<ObjectsPage> {
            let object = |key: &&str| Object {
                key: key.as_bytes().to_vec(),
                size_bytes: 1,
                modified_ns: 1,
            };
            Ok(ObjectsPage {
                objects: self.0.iter().map(object).collect(),
                is_last: false,
            })
        }
    }
    let rig = Rig::new(1);
    let address = Address::new(b"s3://b/a", "here").unwrap();
    for keys in [
        &["a/2", "a/1"][..],
        &["a/1", "a/1"],
        &["a/1", "b/1"],
        &["a/1"],
        &[],
    ] {
        let scanned = rig.catalogue.scan_objects(
            &address,
            &Unordered(keys.to_vec()),
            &rig.settings,
            &Progress::default(),
        );
        let error = scanned.unwrap_err();
        assert!(matches!(error, ScanError::Order { .. }), "{keys:?}: {error}");
    }
    rig.check_sums();
}

#[test]
fn what_differs_is_told_and_nothing_changed() {
    for seed in seeds() {
        let mut dice = Dice::new(seed);
        let mut rig = Rig::new(20);
        change(&mut rig.bucket.objects, &mut dice, 200);
        rig.scan("s3://b");
        let before = rig.rows("s3://b");
        change(&mut rig.bucket.objects, &mut dice, 50);
        let now = expected(&rig.bucket.objects, "");
        let epoch = rig.catalogue.epoch().unwrap();
        let told: Arc<Mutex<Vec<ReportedChange>>> = Arc::default();
        let sink = told.clone();
        let address = Address::new(b"s3://b", "here").unwrap();
        let each = move |changed| sink.lock().push(changed);
        rig.catalogue
            .compare_objects(&address, &rig.bucket, &rig.settings, &Progress::default(), each)
            .unwrap();
        let told: BTreeSet<_> = told
            .lock()
            .iter()
            .map(|changed| (changed.path.clone(), changed.kind.letter(), changed.what))
            .collect();
        let mut differing = BTreeSet::new();
        for key in before.keys().chain(now.keys()) {
            let what = match (before.get(key), now.get(key)) {
                (None, _) => ChangeKind::Added,
                (_, None) => ChangeKind::Removed,
                (before, now) if before != now => ChangeKind::Changed,
                _ => continue,
            };
            // For a removed directory, only the directory itself is reported.
            let is_below_gone = what == ChangeKind::Removed
                && before.keys().any(|(dir, kind)| {
                    let rest = key.0.strip_prefix(&**dir);
                    *kind == 'd'
                        && !now.contains_key(&(dir.clone(), 'd'))
                        && rest.is_some_and(|rest| rest.len() > 1 && rest[0] == b'/')
                });
            if !is_below_gone {
                differing.insert((key.0.clone(), key.1, what));
            }
        }
        assert!(told == differing, "{told:?}\n{differing:?}");
        assert_eq!(rig.catalogue.epoch().unwrap(), epoch);
        // A scan finds the same changes and stores them.
        rig.scan("s3://b");
        let mut kept = 0;
        rig.catalogue.changes_since(0, |_| kept += 1).unwrap();
        assert!(kept >= differing.len());
    }
}

#[test]
fn a_stage_that_is_switched_off_writes_nothing() {
    let mut rig = Rig::new(10);
    change(&mut rig.bucket.objects, &mut Dice::new(1), 200);
    for until in [
        LastStage::ReadDir,
        LastStage::Stat,
        LastStage::Lookup,
        LastStage::Diff,
    ] {
        rig.settings.last_stage = until;
        let scanned = rig.scan("s3://b");
        assert_eq!(scanned.stages[0].done, rig.bucket.objects.len() as u64);
        assert_eq!(rig.catalogue.epoch().unwrap(), 0);
        assert!(rig.trees().is_empty());
    }
}

#[test]
fn directories_and_objects_are_in_one_catalogue() {
    let mut rig = Rig::new(10);
    rig.put("a", 1);
    rig.put("a/1", 10);
    rig.put("a/", 0);
    rig.scan("s3://b");
    let tree = crate::model::Rig::new();
    crate::model::Mutator::new(&tree.path(), 3).steps(100);
    rig.catalogue
        .scan(&tree.path(), &rig.settings, &Progress::default())
        .unwrap();
    crate::model::Rig::check_beside(&rig.catalogue, &tree.path());
    rig.scan("s3://b");
    rig.check("");
    crate::model::Rig::check_beside(&rig.catalogue, &tree.path());
    // Entries directly in a directory have the same names as in paths.
    let top = rig.catalogue.locate(Path::new("s3://b/")).unwrap().unwrap();
    let children = rig
        .catalogue
        .children(&top, catalogue::ChildOrder::Size, 10)
        .unwrap();
    let names: Vec<_> = children
        .first
        .iter()
        .map(|child| (&*child.name, child.kind.letter()))
        .collect();
    assert_eq!(names, [(&b"a"[..], 'd'), (b"a", 'f'), (b"a/", 'f')]);
}
