//! Checks that the index of images follows the pages, step by step and in random histories.

use std::collections::BTreeSet;

use super::*;
use crate::feed::tests::Random;
use extract::{Capture, CaptureKind, LinkScope, Page};
use index::{Batch, CaptureRow, Index, InputId, LedgerRow, Selector, TakedownRequest};
use search::Query;

mod matches;

fn page(path: &str, time: u64, alts: &[&str]) -> Capture {
    let image = |alt: &&str| Image {
        url: format!("http://h.org/{alt}.png"),
        alt: (*alt).to_owned(),
        caption: format!("caption of {alt}"),
        ..Image::default()
    };
    let mut page = Page {
        text: format!("text {time}"),
        images: alts.iter().map(image).collect(),
        ..Page::default()
    };
    page.store_images();
    let url = format!("http://h.org/{path}");
    Capture {
        url_key: urlkey::url_key(&url).unwrap(),
        url,
        fetch_time_ms: time as i64 * 1000,
        mime: "text/html".into(),
        status: 200,
        digest: format!("D{path}{time}"),
        offset: time,
        length: 10,
        kind: CaptureKind::Response,
        page: Some(page),
        ..Capture::default()
    }
}

struct World {
    home: tempfile::TempDir,
    index: Index,
    images: SearchIndex,
    input: InputId,
}

impl World {
    fn new() -> World {
        let home = tempfile::tempdir().unwrap();
        let settings = index::Settings::default();
        let index = Index::open(&home.path().join("index"), Some(LinkScope::All), settings).unwrap();
        let entry = LedgerRow::pending("a.warc", "", "sha256:00", 1, "");
        let (input, _) = index.register_input(entry, None).unwrap();
        let images = SearchIndex::open(&home.path().join("images"), search::Settings::default()).unwrap();
        World {
            home,
            index,
            images,
            input,
        }
    }

    fn load(&self, captures: Vec<Capture>) {
        let mut batch = Batch::default();
        batch
            .captures
            .extend(captures.into_iter().map(|capture| (self.input, capture)));
        self.index.apply(batch).unwrap();
        catch_up(&self.images, &self.index.snapshot()).unwrap();
    }

    /// Takes down the captures of a page. Other captures are read again from `captures`.
    fn take_down(&self, path: &str, captures: &[Capture]) {
        let request = TakedownRequest {
            selector: Selector::Url(urlkey::url_key(&format!("http://h.org/{path}")).unwrap()),
            who: String::new(),
            reason: String::new(),
            at_ms: 0,
        };
        let mut reread = |row: &CaptureRow| {
            let capture = captures.iter().find(|capture| capture.offset == row.offset);
            capture.cloned().ok_or_else(|| "not there".into())
        };
        self.index.take_down(&request, &mut reread, None).unwrap();
        catch_up(&self.images, &self.index.snapshot()).unwrap();
    }

    /// Returns page and address of each image that a query finds.
    fn places(&self, text: &str) -> BTreeSet<(String, String)> {
        let query = Query {
            text: text.to_owned(),
            limit: 1000,
            ..Query::default()
        };
        let sight = access::AccessFilter::everything();
        let results = self.images.search(&query, &sight, &|_| None).unwrap();
        assert_eq!(results.total, results.hits.len() as u64);
        results
            .hits
            .into_iter()
            .map(|hit| (hit.url_key, hit.url))
            .collect()
    }

    /// Returns alternative text and page of each image that a query finds.
    fn found_in(images: &SearchIndex, text: &str, near: bool) -> Vec<(String, String, u64)> {
        let query = Query {
            text: text.to_owned(),
            limit: 100,
            near,
            ..Query::default()
        };
        let sight = access::AccessFilter::everything();
        let results = images.search(&query, &sight, &|_| None).unwrap();
        let mut found: Vec<_> = results
            .hits
            .into_iter()
            .map(|hit| (hit.title, hit.url_key, hit.group.map_or(1, |group| group.of_near)))
            .collect();
        found.sort();
        found
    }

    #[track_caller]
    fn check(&self, text: &str, expected: &[(&str, &str)]) {
        let owned = |(alt, path): &(&str, &str)| ((*alt).to_owned(), format!("org,h)/{path}"), 1);
        let expected: Vec<_> = expected.iter().map(owned).collect();
        assert_eq!(World::found_in(&self.images, text, false), expected, "{text}");
        // What is fed step by step is what a new index gets.
        let anew = self.home.path().join("anew");
        let index = SearchIndex::open(&anew, search::Settings::default()).unwrap();
        catch_up(&index, &self.index.snapshot()).unwrap();
        assert_eq!(World::found_in(&index, text, false), expected, "{text}, anew");
        rebuild(&index, &self.index.snapshot()).unwrap();
        assert_eq!(World::found_in(&index, text, false), expected, "{text}, rebuilt");
        drop(index);
        std::fs::remove_dir_all(anew).unwrap();
    }
}

#[test]
fn images_follow_their_pages() {
    let world = World::new();
    world.load(vec![page("a", 1, &["boat", "crane"]), page("b", 2, &["boat"])]);
    world.check("boat", &[("boat", "a"), ("boat", "b")]);
    world.check("caption", &[("boat", "a"), ("boat", "b"), ("crane", "a")]);
    // The page has other images now.
    world.load(vec![page("a", 5, &["gull"])]);
    world.check("boat", &[("boat", "b")]);
    world.check("gull", &[("gull", "a")]);
    // An older capture changes nothing.
    world.load(vec![page("a", 3, &["whale"])]);
    world.check("whale", &[]);
    world.take_down("b", &[]);
    world.check("boat", &[]);
    world.check("gull", &[("gull", "a")]);
}

/// Returns page and address of each image of a current page whose words include `word`.
fn expected(snapshot: &Snapshot, word: &str) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for key in snapshot.version_keys() {
        let (url_key, _) = key.unwrap();
        for image in snapshot.images(&url_key).unwrap() {
            let words = format!("{} {}", image.alt, words(&image));
            if words.split_whitespace().any(|found| found == word) {
                found.insert((url_key.clone(), image.url));
            }
        }
    }
    found
}

#[test]
fn random_histories_lead_to_the_images_of_the_current_pages() {
    const WORDS: [&str; 5] = ["boat", "crane", "gull", "whale", "harbour"];
    let given = std::env::var("WEFT_TEST_SEED").ok();
    let seed = given.map_or(u64::from(std::process::id()), |seed| seed.parse().unwrap());
    println!("WEFT_TEST_SEED={seed}");
    for history in 0..3 {
        let mut random = Random((seed << 8 | history) + 1);
        let world = World::new();
        let mut captures: Vec<Capture> = Vec::new();
        for step in 0..25 {
            if random.below(6) == 0 {
                let path = format!("p{}", random.below(8));
                world.take_down(&path, &captures);
            } else {
                let mut batch = Vec::new();
                for _ in 0..1 + random.below(3) {
                    let alts: Vec<&str> = (0..random.below(4))
                        .map(|_| WORDS[random.below(5) as usize])
                        .collect();
                    let path = format!("p{}", random.below(8));
                    // Captures come in any order of time.
                    let time = random.below(1000) * 1000 + captures.len() as u64 + 1;
                    let capture = page(&path, time, &alts);
                    captures.push(capture.clone());
                    batch.push(capture);
                }
                world.load(batch);
            }
            let snapshot = world.index.snapshot();
            for word in WORDS {
                let found = world.places(word);
                let what = format!("seed {seed}, history {history}, step {step}: {word}");
                assert_eq!(found, expected(&snapshot, word), "{what}");
            }
        }
    }
}

#[test]
fn an_image_of_many_pages_is_shown_once() {
    let world = World::new();
    world.load(vec![page("a", 1, &["boat", "crane"]), page("b", 2, &["boat"])]);
    let found = World::found_in(&world.images, "boat", true);
    assert_eq!(found, [("boat".to_owned(), "org,h)/a".to_owned(), 2)]);
}

#[test]
fn names_come_back() {
    for number in [0, 1, 499, u32::MAX] {
        assert_eq!(number_of(name_of(number)), number as usize);
    }
}
