//! Compares the index with an ordered map: they agree after any history.

use std::collections::{BTreeMap, BTreeSet};

use access::AccessFilter;
use search::{
    Anchor, Change, Document, ExpectedDocuments, Hit, Order, PastToDelete, Query, Results, SearchIndex,
    Version,
};

use crate::support::{ALL, Dice, ask, open, page, upsert};

/// The expected content of the index, by key.
#[derive(Clone, Default)]
pub(crate) struct Model {
    keys: BTreeMap<String, OfKey>,
}

#[derive(Clone, Default)]
struct OfKey {
    current: Option<Document>,
    /// By start time.
    past: BTreeMap<i64, Document>,
    /// The last bucket given.
    inlink_bucket: u8,
}

impl Model {
    pub(crate) fn new() -> Model {
        Model::default()
    }

    /// Returns the number of current documents.
    pub(crate) fn len(&self) -> usize {
        self.keys
            .values()
            .filter(|of_key| of_key.current.is_some())
            .count()
    }

    /// Returns whether the key has a page or a bucket.
    fn has_been_told_of(&self, url_key: &str) -> bool {
        let of_key = self.keys.get(url_key);
        of_key.is_some_and(|of_key| of_key.current.is_some() || of_key.inlink_bucket > 0)
    }

    fn page_keys(&self) -> Vec<String> {
        let pages = self.keys.iter().filter(|(_, of_key)| of_key.current.is_some());
        pages.map(|(url_key, _)| url_key.clone()).collect()
    }

    /// Returns the whole content, as one change per key.
    pub(crate) fn inserts(&self) -> Vec<Change> {
        let change = |(url_key, of_key): (&String, &OfKey)| {
            let current = match of_key.current.clone() {
                Some(document) => Change::Insert(Box::new(document)),
                None => Change::Bucket(url_key.clone(), of_key.inlink_bucket),
            };
            Change::Past {
                url_key: url_key.clone(),
                current: Box::new(current),
                past_to_delete: PastToDelete::Since(Vec::new()),
                put: of_key.past.values().cloned().collect(),
            }
        };
        self.keys.iter().map(change).collect()
    }

    fn held(&self) -> impl Iterator<Item = Result<ExpectedDocuments, std::convert::Infallible>> {
        self.keys.iter().map(|(url_key, of_key)| {
            Ok(ExpectedDocuments {
                url_key: url_key.clone(),
                current: of_key.current.is_some(),
                past: of_key.past.keys().copied().collect(),
            })
        })
    }
}

/// Results per page: few of those that most queries have. Each page is searched for anew.
const PAGE: usize = 31;

/// Words of the generated pages.
const WORDS: [&str; 12] = [
    "root", "zone", "name", "server", "page", "archive", "link", "text", "old", "new", "map", "key",
];

fn long_text(number: usize) -> Vec<&'static str> {
    let mut dice = Dice(number as u64 + 77);
    (0..150).map(|_| WORDS[dice.below(WORDS.len())]).collect()
}

/// Plain implementation of SimHash over shingles of three words.
fn likeness(document: &Document) -> u64 {
    let mixed = |hash: u64| {
        let hash = hash.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^ (hash >> 31)
    };
    let of_word = |word: &str| {
        word.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    };
    let mut hashes: Vec<u64> = document.text.split_whitespace().map(of_word).collect();
    while hashes.len() < 3 {
        hashes.insert(0, 0);
    }
    let shingles: BTreeSet<u64> = hashes
        .windows(3)
        .map(|words| words.iter().fold(0, |hash, word| mixed(hash ^ word)))
        .collect();
    (0..64).fold(0, |bits, bit| {
        let with_it = shingles.iter().filter(|shingle| *shingle >> bit & 1 == 1).count();
        bits | u64::from(with_it > shingles.len() / 2) << bit
    })
}

fn random_page(dice: &mut Dice, keys: usize) -> Document {
    let name = dice.below(keys);
    let words = 1 + dice.below(30);
    let mut text: Vec<&str> = (0..words).map(|_| WORDS[dice.below(WORDS.len())]).collect();
    if dice.below(3) == 0 {
        // One of three long texts, with a few words changed.
        text = long_text(name % 3);
        for _ in 0..dice.below(4) {
            let at = dice.below(text.len());
            text[at] = "changed";
        }
    }
    let domain = format!("d{}.org", name % 7);
    Document {
        inlink_bucket: dice.below(5) as u8,
        fetch_time_ms: 1_000_000_000_000 + dice.below(1000) as i64 * 1_000_000_000,
        host: format!("www.{domain}"),
        domain,
        digest: ["", "A", "B", "C", "D"][dice.below(5)].to_owned(),
        language: ["en", "de", ""][name % 3].to_owned(),
        ..page(
            &format!("{name:05}"),
            WORDS[dice.below(WORDS.len())],
            &text.join(" "),
        )
    }
}

pub(crate) fn random_change(dice: &mut Dice, keys: usize) -> Change {
    match dice.below(3) {
        0 => random_past(dice, keys),
        _ => random_current(dice, keys),
    }
}

/// Returns a change of past versions, usually together with a change of the page.
fn random_past(dice: &mut Dice, keys: usize) -> Change {
    let current = random_current(dice, keys);
    let times = |dice: &mut Dice| -> Vec<i64> { (0..dice.below(3)).map(|_| dice.below(4) as i64).collect() };
    let url_key = current.url_key().to_owned();
    let mut put: BTreeMap<i64, Document> = BTreeMap::new();
    for time in times(dice) {
        let version = Version {
            since_ms: (time - 1) * 1_000_000_000_000,
            until_ms: Some((time + dice.below(3) as i64) * 1_000_000_000_000),
            ..Version::default()
        };
        let mut document = random_page(dice, keys);
        document.url_key.clone_from(&url_key);
        document.version = version;
        put.insert(version.since_ms, document);
    }
    Change::Past {
        url_key,
        current: Box::new(current),
        past_to_delete: match dice.below(4) {
            0 => PastToDelete::All,
            _ => PastToDelete::Since(
                times(dice)
                    .into_iter()
                    .map(|time| (time - 1) * 1_000_000_000_000)
                    .collect(),
            ),
        },
        put: put.into_values().collect(),
    }
}

fn random_current(dice: &mut Dice, keys: usize) -> Change {
    let document = random_page(dice, keys);
    match dice.below(5) {
        0 => Change::Delete(document.url_key),
        1 => Change::Bucket(document.url_key, document.inlink_bucket),
        _ => {
            let anchor = |dice: &mut Dice| Anchor {
                text: format!(
                    "{} {}",
                    WORDS[dice.below(WORDS.len())],
                    WORDS[dice.below(WORDS.len())]
                ),
                weight: 1 + dice.below(3) as u8,
            };
            let anchors = (0..dice.below(3)).map(|_| anchor(dice)).collect();
            upsert(Document { anchors, ..document })
        }
    }
}

fn inserted(model: &Model, change: &Change) -> Change {
    match change {
        Change::Upsert(document) if !model.has_been_told_of(&document.url_key) => {
            Change::Insert(document.clone())
        }
        other => other.clone(),
    }
}

/// Returns the same changes, with inserts for keys that have no page.
pub(crate) fn inserting(model: &Model, changes: &[Change]) -> Vec<Change> {
    let mut model = model.clone();
    let mut inserting = Vec::new();
    for change in changes {
        match change {
            Change::Past {
                url_key,
                current,
                past_to_delete: gone,
                put,
            } => inserting.push(Change::Past {
                url_key: url_key.clone(),
                current: Box::new(inserted(&model, current)),
                past_to_delete: gone.clone(),
                put: put.clone(),
            }),
            other => inserting.push(inserted(&model, other)),
        }
        apply_to(&mut model, std::slice::from_ref(change));
    }
    inserting
}

pub(crate) fn apply_to(model: &mut Model, changes: &[Change]) {
    for change in changes {
        match change {
            Change::Insert(document) | Change::Upsert(document) => {
                let of_key = model.keys.entry(document.url_key.clone()).or_default();
                of_key.inlink_bucket = document.inlink_bucket;
                of_key.current = Some((**document).clone());
            }
            Change::Delete(key) => {
                let of_key = model.keys.entry(key.clone()).or_default();
                (of_key.current, of_key.inlink_bucket) = (None, 0);
            }
            Change::Bucket(key, bucket) => {
                let of_key = model.keys.entry(key.clone()).or_default();
                of_key.inlink_bucket = *bucket;
                if let Some(document) = &mut of_key.current {
                    document.inlink_bucket = *bucket;
                }
            }
            Change::Past {
                url_key,
                current,
                past_to_delete: gone,
                put,
            } => {
                apply_to(model, std::slice::from_ref(current));
                let past = &mut model.keys.entry(url_key.clone()).or_default().past;
                past.retain(
                    |since_ms, _| !matches!(gone, PastToDelete::Since(times) if times.contains(since_ms)),
                );
                if *gone == PastToDelete::All {
                    past.clear();
                }
                past.extend(
                    put.iter()
                        .map(|document| (document.version.since_ms, document.clone())),
                );
            }
        }
    }
}

/// Checks that grouped results and orders by time equal a walk over the plain list.
fn check_lists(index: &SearchIndex, model: &Model) {
    let documents = || {
        let keys = model.keys.values();
        keys.flat_map(|of_key| of_key.past.values().chain(&of_key.current))
    };
    let name = |key: &str, version: Version| (key.to_owned(), version.since_ms, version.until_ms);
    let by_name: BTreeMap<_, &Document> = documents().map(|d| (name(&d.url_key, d.version), d)).collect();
    let document_of = |hit: &Hit| by_name[&name(&hit.url_key, hit.version)];
    for (text, all_versions) in [("root", false), ("root OR zone", true), (ALL, true)] {
        let query = |per_site, distinct, order| Query {
            text: text.to_owned(),
            limit: 90,
            all_versions,
            per_site,
            distinct,
            order,
            ..Query::default()
        };
        for order in [Order::Relevance, Order::Newest, Order::Oldest, Order::Url] {
            let plain = all_of(index, query(0, false, order));
            assert_eq!(plain.shown_total, plain.total);
            if order != Order::Relevance {
                let times = plain.hits.iter().map(|hit| hit.fetch_time_ms / 1000);
                assert!(match order {
                    Order::Newest => times.is_sorted_by(|a, b| a >= b),
                    Order::Url => plain.hits.is_sorted_by_key(|hit| &hit.url_key),
                    _ => times.is_sorted(),
                });
                assert_eq!(
                    plain.total,
                    all_of(index, query(0, false, Order::Relevance)).total
                );
            }
            let (mut of_site, mut of_digest) = (BTreeMap::<&str, u64>::new(), BTreeMap::<&str, u64>::new());
            for document in plain.hits.iter().map(document_of) {
                *of_site.entry(&document.domain).or_default() += 1;
                *of_digest.entry(&document.digest).or_default() += 1;
            }
            for (per_site, distinct) in [(1, false), (3, false), (0, true), (2, true)] {
                let found = all_of(index, query(per_site, distinct, order));
                let (mut sites, mut digests) = (BTreeMap::new(), BTreeSet::new());
                let expected = plain.hits.iter().filter(|hit| {
                    let document = document_of(hit);
                    if distinct && !document.digest.is_empty() && !digests.insert(&document.digest) {
                        return false;
                    }
                    let of_site: &mut usize = sites.entry(&document.domain).or_default();
                    *of_site += 1;
                    per_site == 0 || *of_site <= per_site
                });
                let expected: Vec<&Hit> = expected.collect();
                let what = format!("{text}, {order:?}, {per_site} per site, distinct {distinct}");
                let keys = |hits: &[&Hit]| -> Vec<_> {
                    hits.iter().map(|hit| name(&hit.url_key, hit.version)).collect()
                };
                let hits: Vec<&Hit> = found.hits.iter().collect();
                assert!(
                    keys(&hits) == keys(&expected),
                    "{what}: {} and {}",
                    hits.len(),
                    expected.len()
                );
                assert_eq!(found.total, plain.total, "{what}");
                for hit in hits {
                    let (document, group) = (document_of(hit), hit.group.unwrap());
                    let of_site = of_site[document.domain.as_str()];
                    assert_eq!(group.of_site, if per_site > 0 { of_site } else { 0 }, "{what}");
                    if !document.digest.is_empty() {
                        let of_digest = of_digest[document.digest.as_str()];
                        assert_eq!(group.of_digest, if distinct { of_digest } else { 0 }, "{what}");
                    }
                }
            }
        }
    }
}

/// Checks near-duplicates against comparing each result with all results shown before it.
fn check_near(index: &SearchIndex, model: &Model) {
    let name = |key: &str, version: Version| (key.to_owned(), version.since_ms, version.until_ms);
    let keys = model.keys.values();
    let documents = keys.flat_map(|of_key| of_key.past.values().chain(&of_key.current));
    let likenesses: BTreeMap<_, (u64, &str)> = documents
        .map(|d| (name(&d.url_key, d.version), (likeness(d), d.domain.as_str())))
        .collect();
    let of_hit = |hit: &Hit| likenesses[&name(&hit.url_key, hit.version)];
    let are_near = |a: u64, b: u64| (a ^ b).count_ones() <= 6;
    for (text, all_versions, per_site) in [("root", false, 0), ("root OR zone", true, 0), (ALL, true, 2)] {
        let query = |near| Query {
            text: text.to_owned(),
            limit: 400,
            all_versions,
            per_site: if near { per_site } else { 0 },
            near,
            ..Query::default()
        };
        let (plain, found) = (all_of(index, query(false)), all_of(index, query(true)));
        let (mut met, mut sites) = (Vec::<u64>::new(), BTreeMap::new());
        let expected = plain.hits.iter().filter(|hit| {
            let (likeness, domain) = of_hit(hit);
            if met.iter().any(|other| are_near(*other, likeness)) {
                return false;
            }
            met.push(likeness);
            let of_site: &mut usize = sites.entry(domain).or_default();
            *of_site += 1;
            per_site == 0 || *of_site <= per_site
        });
        let expected: Vec<_> = expected.map(|hit| name(&hit.url_key, hit.version)).collect();
        let shown = found.hits.iter().map(|hit| name(&hit.url_key, hit.version));
        assert_eq!(shown.collect::<Vec<_>>(), expected, "{text}");
        assert_eq!(found.total, plain.total, "{text}");
        for hit in found.hits.iter().take(2) {
            let (likeness, group) = (of_hit(hit).0, hit.group.unwrap());
            let near = plain
                .hits
                .iter()
                .filter(|other| are_near(of_hit(other).0, likeness));
            assert_eq!(group.of_near, near.count() as u64, "{text}");
            // Adding the filter finds exactly these.
            let like = Query {
                text: format!("{text} {}", group.like().unwrap()),
                ..query(false)
            };
            assert_eq!(all_of(index, like).total, group.of_near, "{text}");
        }
    }
}

/// Checks the versions that `at:`, `from:` and `to:` find, among all pages.
fn check_time(index: &SearchIndex, model: &Model) {
    let all_versions = || {
        let keys = model.keys.values();
        keys.flat_map(|of_key| of_key.past.values().chain(&of_key.current))
    };
    let until = |document: &Document| document.version.until_ms.unwrap_or(i64::MAX);
    for (year, end_ms) in [
        (1969, -1000),
        (1985, 504_921_599_000),
        (2001, 1_009_843_199_000),
        (2040, 2_240_524_799_000),
    ] {
        let expected =
            all_versions().filter(|document| document.version.since_ms <= end_ms && until(document) > end_ms);
        let mut expected: Vec<_> = expected.map(|d| (d.url_key.clone(), d.version)).collect();
        let found = all(index, &format!("{ALL} at:{year}"));
        let mut found: Vec<_> = found
            .hits
            .into_iter()
            .map(|hit| (hit.url_key, hit.version))
            .collect();
        found.sort_by_key(|(key, version)| (key.clone(), version.since_ms, version.until_ms));
        expected.sort_by_key(|(key, version)| (key.clone(), version.since_ms, version.until_ms));
        assert!(
            found == expected,
            "at:{year}: {} found, {} expected",
            found.len(),
            expected.len()
        );
    }
    let found = all(index, "root from:2005 to:2010 -nopagehasthisword");
    let (from_ms, to_ms) = (1_104_537_600_000, 1_293_839_999_000);
    let expected = all_versions().filter(|document| {
        let anchors = document.anchors.iter().map(|anchor| anchor.text.as_str());
        let mut texts = anchors.chain([document.title.as_str(), &document.text]);
        let has_root = texts.any(|text| text.contains("root"));
        has_root && document.fetch_time_ms >= from_ms && document.version.since_ms <= to_ms
    });
    assert_eq!(found.total, expected.count() as u64);
}

/// Checks the order of profiles: raises every score of a plain list and sorts it.
fn check_profiles(index: &SearchIndex, model: &Model) {
    let percent = |hit: &Hit, profile: &str| -> u64 {
        let document = model.keys[&hit.url_key].current.as_ref().unwrap();
        match profile {
            "lang:de^50" => u64::from(document.language == "de") * 50,
            "site:example.org^30 place:deep.example.org^41 type:html site:org.uk" => 30 + 20 + 20,
            "from:2010^7 to:2010-06^90 lang:xx" => {
                u64::from(hit.fetch_time_ms >= 1_262_304_000_000) * 7
                    + u64::from(hit.fetch_time_ms < 1_277_942_400_000) * 90
            }
            _ => u64::from(document.language == "en") * 1000 + u64::from(document.collection == "first"),
        }
    };
    for text in ["root", "root zone", ALL] {
        let plain = all(index, text);
        for profile in [
            "lang:de^50",
            "site:example.org^30 place:deep.example.org^41 type:html site:org.uk",
            "from:2010^7 to:2010-06^90 lang:xx",
            "lang:en^1000 collection:first^1",
        ] {
            let units = |score: f64| (score * 4096.0) as u64;
            let raised = |hit: &Hit| {
                let score = units(hit.score);
                score + score * percent(hit, profile) / 100
            };
            let (best, others) = plain.hits.split_at(plain.hits.len().min(1000));
            let best = best.iter().map(|hit| (raised(hit), hit.url_key.as_str()));
            let mut expected: Vec<(u64, &str)> = best.collect();
            expected.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
            expected.extend(others.iter().map(|hit| (units(hit.score), hit.url_key.as_str())));
            let found = all_of(
                index,
                Query {
                    text: text.to_owned(),
                    limit: PAGE,
                    profile: profile.parse().unwrap(),
                    ..Query::default()
                },
            );
            let found: Vec<(u64, &str)> = found
                .hits
                .iter()
                .map(|hit| (units(hit.score), hit.url_key.as_str()))
                .collect();
            let first = found.iter().zip(&expected).find(|(one, other)| one != other);
            assert!(found == expected, "{text}, {profile}: {first:?}");
        }
    }
}

/// Returns all results of a query, page by page, without fields that may differ between two runs.
fn all(index: &SearchIndex, text: &str) -> Results {
    all_of(
        index,
        Query {
            text: text.to_owned(),
            limit: PAGE,
            facets: true,
            ..Query::default()
        },
    )
}

fn all_of(index: &SearchIndex, query: Query) -> Results {
    let text = query.text.clone();
    let mut query = query;
    let mut all = index
        .search(&query, &AccessFilter::everything(), &|_| None)
        .unwrap();
    while let Some(next) = all.next.take() {
        query.after = Some(next);
        let page = index
            .search(&query, &AccessFilter::everything(), &|_| None)
            .unwrap();
        assert_eq!((page.total, page.shown_total), (all.total, all.shown_total));
        assert!(!page.hits.is_empty());
        all.hits.extend(page.hits);
        all.next = page.next;
    }
    assert_eq!(all.hits.len() as u64, all.shown_total, "{text}");
    all.took_ms = 0.0;
    all.epoch = 0;
    all
}

const QUERIES: [&str; 13] = [
    ALL,
    "root from:0001",
    "name zone at:2001",
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

/// Checks that the index holds the model's documents, each once.
pub(crate) fn check_documents(index: &SearchIndex, model: &Model) {
    assert_eq!(index.documents(), model.len() as u64);
    let found = all(index, ALL);
    assert_eq!(found.total, model.len() as u64);
    for hit in &found.hits {
        let expected = model.keys[&hit.url_key].current.as_ref().unwrap();
        assert_eq!(
            (&hit.title, hit.fetch_time_ms),
            (&expected.title, expected.fetch_time_ms)
        );
    }
    assert_eq!(index.check(model.held()), Ok(Vec::new()));
}

/// Checks that the index holds the model's documents, and answers like one filled with them at
/// once.
fn check_answers(index: &SearchIndex, model: &Model) {
    check_documents(index, model);
    let fresh_dir = tempfile::tempdir().unwrap();
    let fresh = open(fresh_dir.path());
    fresh.apply_after(0, 1, model.inserts()).unwrap();
    fresh.flush().unwrap();
    for query in QUERIES {
        assert_eq!(all(index, query), all(&fresh, query), "{query}");
    }
}

/// As [`check_answers`], and checks all kinds of lists.
pub(crate) fn check(index: &SearchIndex, model: &Model) {
    check_answers(index, model);
    check_time(index, model);
    check_lists(index, model);
    check_profiles(index, model);
    check_near(index, model);
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
            // Applied by a caller who knows the state of the index, or by one who does not.
            match dice.below(2) {
                0 => index.apply_after(epoch - 1, epoch, inserting(&model, &changes)),
                _ => index.apply(epoch, changes.clone()),
            }
            .unwrap();
            apply_to(&mut model, &changes);
            match dice.below(6) {
                0 | 1 => {
                    assert_eq!(index.flush().unwrap(), epoch);
                    // Applying it again changes nothing.
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

/// After the matches that a profile reorders, the others follow, each exactly once.
#[test]
fn a_list_in_the_order_of_a_profile_goes_on_behind_its_best() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let pages = (0..2500).map(|number| Document {
        language: ["en", "de"][usize::from(number % 5 == 0)].to_owned(),
        ..page(&format!("{number:05}"), "", &"root ".repeat(1 + number % 7))
    });
    index.apply(1, pages.map(upsert)).unwrap();
    index.flush().unwrap();
    let query = |profile: &str| Query {
        text: "root".to_owned(),
        limit: 300,
        profile: profile.parse().unwrap(),
        ..Query::default()
    };
    let (plain, personal) = (all_of(&index, query("")), all_of(&index, query("lang:de^900")));
    let keys = |hits: &[Hit]| hits.iter().map(|hit| hit.url_key.clone()).collect::<Vec<_>>();
    assert_eq!(keys(&plain.hits[1000..]), keys(&personal.hits[1000..]));
    let sorted = |hits: &[Hit]| keys(hits).into_iter().collect::<BTreeSet<_>>();
    assert_eq!(sorted(&plain.hits[..1000]), sorted(&personal.hits[..1000]));
    let german = personal.hits[..1000].iter().map(|hit| hit.language == "de");
    assert!(german.clone().is_sorted_by(|a, b| a >= b) && german.filter(|is| *is).count() == 200);
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

/// Inserts are valid only for the state they were made for. If such an epoch is applied to another
/// state, the index must still have one document per key.
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

/// Buckets change while their documents stay. They are the same after commits, merges and opening,
/// and their log does not grow without bound.
#[test]
fn buckets_move_without_their_documents() {
    let seed = 3;
    println!("seed {seed}");
    let mut dice = Dice(seed);
    let dir = tempfile::tempdir().unwrap();
    let mut index = open(dir.path());
    let mut model = Model::new();
    let names: Vec<String> = (0..504).map(|number| format!("{number:05}")).collect();
    for epoch in 1..=400 {
        let mut changes = Vec::new();
        if epoch % 10 == 1 && epoch < 120 {
            let from = epoch as usize / 10 * 42;
            let pages = names[from..from + 42].iter();
            changes.extend(pages.map(|name| Change::Insert(Box::new(page(name, "root", "root zone")))));
        }
        let keys = model.page_keys();
        let moved = keys
            .into_iter()
            .map(|key| Change::Bucket(key, dice.below(30) as u8));
        changes.extend(moved);
        apply_to(&mut model, &changes);
        index.apply_after(epoch - 1, epoch, changes).unwrap();
        index.flush().unwrap();
        if epoch % 100 == 0 {
            index.wait_for_merges().unwrap();
            check_answers(&index, &model);
            drop(index);
            index = open(dir.path());
            check_answers(&index, &model);
        }
    }
    check(&index, &model);
    let logs = std::fs::read_dir(dir.path()).unwrap().map(Result::unwrap);
    let logs: Vec<_> = logs
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("buckets-"))
        .collect();
    assert_eq!(logs.len(), 1, "{logs:?}");
    let bytes = logs[0].metadata().unwrap().len();
    // 174,000 records of 9 bytes each were given.
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
    index.compact(5).unwrap();
    let (held, deleted) = (index.documents_on_disk(), index.documents_deleted());
    assert_eq!((index.documents(), held - deleted), (live, live));
    assert!(deleted * 20 <= held, "{deleted} of {held} are deleted");
    check(&index, &model);
}

/// Regression: a writer was dropped while a merge ran, and the next one was opened at once. The
/// merge then published its segment and deleted the segments it had merged, which the next writer
/// still referred to. Opening failed, or the next commit lost documents. A closed writer is now
/// shut out of the directory.
///
/// A second regression of the same operations: the first deletion after opening had the number of
/// the last commit, and a merge lost it, so that sometimes the first document of an epoch was in
/// the index twice.
#[test]
fn closed_and_opened_at_once_while_merges_run_nothing_is_lost_or_doubled() {
    let seed = 11;
    println!("seed {seed}");
    let mut dice = Dice(seed);
    let dir = tempfile::tempdir().unwrap();
    let mut model = Model::new();
    let mut epoch = 0;
    for _ in 0..60 {
        let index = open(dir.path());
        assert_eq!(index.covered_epoch(), epoch);
        assert_eq!(index.documents(), model.len() as u64);
        // Dropping the index commits, and that many deletions make the commit begin a merge.
        epoch += 1;
        let changes: Vec<_> = (0..40).map(|_| random_change(&mut dice, 100)).collect();
        apply_to(&mut model, &changes);
        index.apply(epoch, changes).unwrap();
    }
    check(&open(dir.path()), &model);
}
