//! Checks that the search index finds pages by their anchors once it is settled, even if changes
//! were deferred and it was closed in between.

use std::collections::{BTreeMap, BTreeSet};

use extract::{Capture, CaptureKind, Link, LinkScope, Page};
use index::{Batch, CaptureRow, Index, InputId, LedgerRow, Selector, TakedownRequest};
use search::{Query, SearchIndex};

use super::{FeedState, SearchProgress, catch_up, feed, settle};

const WORDS: [&str; 7] = [
    "river", "stone", "harbour", "letters", "winter", "engine", "copper",
];
const PAGES: u64 = 30;

/// A small generator, so that a printed seed replays a history.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % bound
    }
}

fn url(number: u64) -> String {
    format!("http://h{}.org/{number}", number % 4)
}

fn page(random: &mut Random, time: u64) -> Capture {
    let (number, links) = (random.below(PAGES), random.below(12));
    let is_page = random.below(8) > 0;
    let mut link = || {
        let url = url(random.below(PAGES));
        Link {
            url_key: urlkey::url_key(&url).unwrap(),
            url,
            anchor: WORDS[random.below(7) as usize].into(),
            nofollow: false,
            kind: Default::default(),
        }
    };
    let links = (0..links).map(|_| link()).collect();
    Capture {
        url_key: urlkey::url_key(&url(number)).unwrap(),
        url: url(number),
        fetch_time_ms: time as i64 * 1000,
        mime: "text/html".into(),
        status: 200,
        digest: format!("D{time}"),
        offset: time,
        length: 10,
        kind: CaptureKind::Response,
        page: is_page.then(|| Page {
            text: format!("text {time}"),
            links,
            ..Page::default()
        }),
        ..Capture::default()
    }
}

struct World {
    home: tempfile::TempDir,
    index: Index,
    search: Option<SearchIndex>,
    fed: FeedState,
    input: InputId,
    captures: Vec<Capture>,
}

impl World {
    fn new() -> World {
        let home = tempfile::tempdir().unwrap();
        let settings = index::Settings::default();
        let index = Index::open(&home.path().join("index"), Some(LinkScope::All), settings).unwrap();
        let entry = LedgerRow::pending("a.warc", "", "sha256:00", 1, "");
        let (input, _) = index.register_input(entry, None).unwrap();
        let mut world = World {
            home,
            index,
            search: None,
            fed: FeedState::at(0),
            input,
            captures: Vec::new(),
        };
        world.reopen();
        world
    }

    fn search(&self) -> &SearchIndex {
        self.search.as_ref().unwrap()
    }

    /// Opens the search index as another process would.
    fn reopen(&mut self) {
        self.search = None;
        let dir = self.home.path().join("search");
        let search = SearchIndex::open(&dir, search::Settings::default()).unwrap();
        catch_up(&search, &self.index.snapshot(), &SearchProgress::default()).unwrap();
        self.fed = FeedState::at(self.index.snapshot().epoch().0);
        self.search = Some(search);
    }

    fn epoch(&mut self, random: &mut Random) {
        let mut batch = Batch::default();
        for _ in 0..1 + random.below(3) {
            let capture = page(random, self.captures.len() as u64 + 1);
            self.captures.push(capture.clone());
            batch.captures.push((self.input, capture));
        }
        let report = self.index.apply(batch).unwrap();
        let epochs = [(report, self.index.snapshot())].into_iter();
        feed(self.search.as_ref().unwrap(), &mut self.fed, epochs).unwrap();
    }

    /// Makes an epoch that is not handed over.
    fn take_down(&mut self, random: &mut Random) {
        let url_key = urlkey::url_key(&url(random.below(PAGES))).unwrap();
        let take_down = TakedownRequest {
            selector: Selector::Url(url_key),
            who: String::new(),
            reason: String::new(),
            at_ms: 0,
        };
        let mut reread = |row: &CaptureRow| {
            let capture = self.captures.iter().find(|capture| capture.offset == row.offset);
            capture.cloned().ok_or_else(|| "not there".into())
        };
        self.index.take_down(&take_down, &mut reread, None).unwrap();
    }

    /// Each word finds exactly the pages whose anchors contain it.
    fn check(&self, what: &str) {
        let (snapshot, search) = (self.index.snapshot(), self.search());
        assert_eq!(search.covered_epoch(), snapshot.epoch().0, "{what}");
        assert_eq!(search.settled_epoch(), snapshot.epoch().0, "{what}");
        let mut said: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for key in snapshot.version_keys() {
            let (url_key, has_content) = key.unwrap();
            let (_, anchors) = snapshot.anchors(&url_key).unwrap();
            for anchor in anchors.into_iter().filter(|_| has_content) {
                said.entry(anchor.text).or_default().insert(url_key.clone());
            }
        }
        for word in WORDS {
            let query = Query {
                text: word.to_owned(),
                limit: 100,
                ..Query::default()
            };
            let found = search
                .search(&query, &access::AccessFilter::everything(), &|_| None)
                .unwrap();
            let keys: BTreeSet<String> = found.hits.into_iter().map(|hit| hit.url_key).collect();
            assert_eq!(keys, said.remove(word).unwrap_or_default(), "{what}: {word}");
        }
    }
}

#[test]
fn what_is_owed_comes_in_the_end() {
    let given = std::env::var("WEFT_TEST_SEED").ok();
    let seed = given.map_or(u64::from(std::process::id()), |seed| seed.parse().unwrap());
    println!("WEFT_TEST_SEED={seed}");
    let mut owed_often = 0;
    for history in 0..6 {
        let mut random = Random((seed << 8 | history) + 1);
        let mut world = World::new();
        for step in 0..60 {
            world.epoch(&mut random);
            owed_often += u32::from(world.fed.has_deferred());
            let what = format!("seed {seed}, history {history}, step {step}");
            match random.below(12) {
                0 => world.take_down(&mut random),
                1 => drop(world.search().flush().unwrap()),
                2 => {
                    world.reopen();
                    world.check(&what);
                }
                3 => {
                    let snapshot = world.index.snapshot();
                    settle(world.search.as_ref().unwrap(), &mut world.fed, &snapshot).unwrap();
                    world.search().flush().unwrap();
                    world.check(&what);
                }
                _ => {}
            }
        }
    }
    assert!(owed_often > 25, "{owed_often}");
}
