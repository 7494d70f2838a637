//! Checks that the search index finds pages by their anchors and rendered texts once it is settled,
//! even if changes were deferred, epochs waited, and it was closed in between. Also counts how often
//! pages are indexed.

use std::collections::{BTreeMap, BTreeSet};

use extract::{Capture, CaptureKind, IndexLine, Link, LinkScope, Page};
use index::{Batch, CaptureRow, Index, InputId, KeyRange, LedgerRow, Selector, Snapshot, TakedownRequest};
use search::{Query, SearchIndex};

use super::{FeedState, SearchProgress, catch_up, feed, feed_waiting};

const WORDS: [&str; 7] = [
    "river", "stone", "harbour", "letters", "winter", "engine", "copper",
];
/// Words of rendered texts only.
const RENDERED: [&str; 3] = ["lantern", "orchid", "saddle"];
const PAGES: u64 = 30;
/// Offsets of attachments begin here.
const ATTACHMENTS_AT: u64 = 1 << 20;

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
    capture(random, time, number, is_page.then_some((links, PAGES)))
}

/// A capture of a page with a number of links, each to one of the first pages; without a page if
/// these are absent.
fn capture(random: &mut Random, time: u64, number: u64, links: Option<(u64, u64)>) -> Capture {
    let mut link = |pages| {
        let url = url(random.below(pages));
        Link {
            url_key: urlkey::url_key(&url).unwrap(),
            url,
            anchor: WORDS[random.below(7) as usize].into(),
            nofollow: false,
            kind: Default::default(),
        }
    };
    let links = links.map(|(links, pages)| (0..links).map(|_| link(pages)).collect::<Vec<Link>>());
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
        page: links.map(|links| Page {
            text: format!("text {time}"),
            links,
            ..Page::default()
        }),
        ..Capture::default()
    }
}

/// Returns an attachment of a page: one to four words that a browser rendered.
fn rendered(random: &mut Random, number: u64, captures: u64) -> IndexLine {
    let (url, offset) = (url(random.below(PAGES)), ATTACHMENTS_AT + number);
    let words = (0..1 + random.below(4)).map(|_| RENDERED[random.below(3) as usize]);
    let text = words.collect::<Vec<_>>().join(" ");
    IndexLine {
        url_key: urlkey::url_key(&url).unwrap(),
        fetch_time_ms: random.below(2 * captures + 6) as i64 * 500,
        url: format!("urn:text:{url}"),
        mime: "text/plain".into(),
        status: 0,
        digest: format!("T{number}"),
        filename: String::new(),
        record_offset: offset,
        record_length: 10,
        offset,
        length: 10,
        alias_of: None,
        text: Some(text),
    }
}

struct World {
    home: tempfile::TempDir,
    index: Index,
    search: Option<SearchIndex>,
    fed: FeedState,
    input: InputId,
    captures: Vec<Capture>,
    attachments: Vec<IndexLine>,
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
            attachments: Vec::new(),
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
        let before = self.captures.len() as u64;
        let captures = 0..1 + random.below(3);
        let captures: Vec<_> = captures.map(|number| page(random, before + number + 1)).collect();
        let (attached, all) = (self.attachments.len() as u64, before + captures.len() as u64);
        let attachments = 0..random.below(3);
        let attachments = attachments
            .map(|number| rendered(random, attached + number, all))
            .collect();
        let may_wait = random.below(2) > 0;
        self.apply(captures, attachments, may_wait);
    }

    /// Makes an epoch of captures and attachments, and feeds it unless it waits.
    fn apply(&mut self, captures: Vec<Capture>, attachments: Vec<IndexLine>, may_wait: bool) {
        self.captures.extend(captures.iter().cloned());
        self.attachments.extend(attachments.iter().cloned());
        let captures = captures.into_iter().map(|capture| (self.input, capture));
        let lines = attachments.into_iter().map(|line| (self.input, line));
        let batch = Batch {
            captures: captures.collect(),
            lines: lines.collect(),
            ..Batch::default()
        };
        let report = self.index.apply(batch).unwrap();
        let epochs = [(report, self.index.snapshot())].into_iter();
        feed(self.search.as_ref().unwrap(), &mut self.fed, may_wait, epochs).unwrap();
    }

    /// Loads pages, a few in each epoch, each with links to pages of the whole load.
    fn load(&mut self, random: &mut Random, pages: std::ops::Range<u64>) {
        let (first, last) = (pages.start, pages.end);
        for begin in pages.step_by(3) {
            let numbers = begin..(begin + 3).min(last);
            let captures = numbers.map(|number| capture(random, number + 1, number, Some((6, last))));
            let captures = captures.collect();
            self.apply(captures, Vec::new(), true);
            assert_eq!(self.fed.is_waiting(), begin > first, "page {begin}");
        }
    }

    /// Ends a load.
    fn settle(&mut self) {
        let snapshot = self.index.snapshot();
        feed_waiting(self.search.as_ref().unwrap(), &mut self.fed, &snapshot).unwrap();
        self.search().compact(5).unwrap();
        self.fed.end_load();
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

    /// Returns the rendered text by which search must find a page. Looks at all captures and
    /// attachments of the key.
    fn rendered_text(&self, snapshot: &Snapshot, url_key: &str) -> Option<&str> {
        let version = snapshot
            .version(url_key)
            .unwrap()
            .filter(|version| version.is_page)?;
        let captures = snapshot.captures(KeyRange::Exact(url_key.to_owned()), None);
        let times: Vec<i64> = captures.map(|capture| capture.unwrap().fetch_time_ms).collect();
        let attachments = snapshot.attachments(url_key, usize::MAX).unwrap();
        let texts = attachments.iter().filter_map(|attachment| {
            let apart = |time_ms: &i64| attachment.fetch_time_ms.abs_diff(*time_ms);
            let line = self
                .attachments
                .iter()
                .find(|line| line.offset == attachment.offset)?;
            let apart_of_version = apart(&version.fetch_time_ms);
            let is_nearest = times.iter().map(apart).min() == Some(apart_of_version);
            is_nearest.then_some((apart_of_version, line.fetch_time_ms, line.text.as_deref()?))
        });
        // The text of a page has two words.
        texts
            .min()
            .map(|(.., text)| text)
            .filter(|text| text.split(' ').count() > 2)
    }

    /// Returns the keys of the pages that a word finds.
    fn found(&self, word: &str) -> BTreeSet<String> {
        let query = Query {
            text: word.to_owned(),
            limit: 1000,
            ..Query::default()
        };
        let found = self
            .search()
            .search(&query, &access::AccessFilter::everything(), &|_| None)
            .unwrap();
        found.hits.into_iter().map(|hit| hit.url_key).collect()
    }

    /// Each word finds exactly the pages whose anchors or rendered texts contain it.
    fn check(&self, what: &str) {
        let (snapshot, search) = (self.index.snapshot(), self.search());
        assert_eq!(search.covered_epoch(), snapshot.epoch().0, "{what}");
        assert_eq!(search.settled_epoch(), snapshot.epoch().0, "{what}");
        let mut said: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for key in snapshot.version_keys() {
            let (url_key, has_content) = key.unwrap();
            let text = self.rendered_text(&snapshot, &url_key).unwrap_or_default();
            for word in text.split_whitespace() {
                said.entry(word.to_owned()).or_default().insert(url_key.clone());
            }
            let (_, anchors) = snapshot.anchors(&url_key).unwrap();
            for anchor in anchors.into_iter().filter(|_| has_content) {
                said.entry(anchor.text).or_default().insert(url_key.clone());
            }
        }
        for word in WORDS.into_iter().chain(RENDERED) {
            let expected = said.remove(word).unwrap_or_default();
            assert_eq!(self.found(word), expected, "{what}: {word}");
        }
    }
}

#[test]
fn what_is_owed_comes_in_the_end() {
    let given = std::env::var("WEFT_TEST_SEED").ok();
    let seed = given.map_or(u64::from(std::process::id()), |seed| seed.parse().unwrap());
    println!("WEFT_TEST_SEED={seed}");
    let (mut owed_often, mut waited_often) = (0, 0);
    for history in 0..6 {
        let mut random = Random((seed << 8 | history) + 1);
        let mut world = World::new();
        for step in 0..60 {
            world.epoch(&mut random);
            owed_often += u32::from(world.fed.has_deferred());
            waited_often += u32::from(world.fed.is_waiting());
            let what = format!("seed {seed}, history {history}, step {step}");
            match random.below(12) {
                0 => world.take_down(&mut random),
                1 => drop(world.search().flush().unwrap()),
                2 => {
                    world.reopen();
                    world.check(&what);
                }
                3 => {
                    world.settle();
                    world.check(&what);
                }
                _ => {}
            }
        }
    }
    assert!(
        owed_often > 10 && waited_often > 10,
        "{owed_often}, {waited_often}"
    );
}

/// The links to a page come through the whole load.
#[test]
fn a_load_indexes_each_page_once() {
    let mut random = Random(1);
    let mut world = World::new();
    let pages = 90;
    world.load(&mut random, 0..pages);
    world.settle();
    world.check("the first load");
    let (indexed, on_disk) = (
        world.search().documents_added(),
        world.search().documents_on_disk(),
    );
    assert!(indexed * 10 <= pages * 11, "{indexed} of {pages} pages");
    assert!(world.search().documents_deleted() * 20 <= on_disk, "of {on_disk}");

    // The links of the next load also change the anchors of most of these pages.
    let before = world.index.snapshot().epoch();
    world.load(&mut random, pages..2 * pages);
    world.settle();
    world.check("the second load");
    let snapshot = world.index.snapshot();
    let changed = snapshot.pages_changed_since(before).map(Result::unwrap);
    let changed: BTreeSet<String> = changed.map(|change| change.url_key().to_owned()).collect();
    let (indexed, changed) = (world.search().documents_added() - indexed, changed.len() as u64);
    assert!(indexed * 10 <= changed * 11, "{indexed} of {changed} pages");
    let on_disk = world.search().documents_on_disk();
    assert!(world.search().documents_deleted() * 20 <= on_disk, "of {on_disk}");
}

#[test]
fn pages_that_wait_are_there_after_a_crash() {
    let mut random = Random(2);
    let mut world = World::new();
    world.load(&mut random, 0..40);
    assert!(world.fed.is_far_behind());
    world.reopen();
    world.check("opened again");
    world.load(&mut random, 40..80);
    assert!(world.search().covered_epoch() < world.index.snapshot().epoch().0);
    world.reopen();
    world.check("opened twice");
    let indexed = world.search().documents_added();
    assert!(indexed <= 80, "{indexed} of 80 pages");
}

/// Regression: a search could not feed the epochs that wait, and the load went on behind them.
#[test]
fn after_a_failure_the_next_epoch_brings_what_is_missing() {
    let mut random = Random(3);
    let mut world = World::new();
    for _ in 0..4 {
        world.epoch(&mut random);
    }
    world.search().clear().unwrap();
    world.fed.fall_behind();
    let page = capture(&mut random, 50, 1, Some((3, PAGES)));
    world.apply(vec![page], Vec::new(), false);
    assert!(!world.fed.is_waiting());
    world.check("fed again");
}
