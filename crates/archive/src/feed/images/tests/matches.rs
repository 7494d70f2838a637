//! Random queries for images match what a plain model says of the images of current pages.
//!
//! `WEFT_TEST_QUERIES=1000` asks more queries, and `WEFT_TEST_SEED` chooses others.

use super::*;
use search::NoteKind;

#[path = "../../../../../search/tests/match_model.rs"]
mod match_model;

use match_model::{Expected, ModelPage, ModelQuery, WORDS, random_words};

/// Queries, unless the environment says otherwise.
const QUERIES: u64 = 100;

/// Queries of an archive. What is taken down stays away, so each archive is short-lived.
const QUERIES_OF_AN_ARCHIVE: u64 = 100;

/// Queries between two changes of the pages.
const QUERIES_OF_A_ROUND: u64 = 20;

/// Number of different pages.
const PAGES: u64 = 10;

const SITES: [&str; 4] = ["h.org", "org", "h.org/p1", "h.org/p2"];

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

fn random_image(random: &mut Random) -> Image {
    let word = WORDS[random.below(WORDS.len() as u64) as usize];
    let mut words = |most: u64| {
        let count = random.below(most + 1) as usize;
        random_words(&mut |bound| random.below(bound as u64) as usize, count).join(" ")
    };
    let (alt, caption, heading, before) = (words(3), words(3), words(2), words(3));
    Image {
        url: format!("http://h.org/{word}-{}.png", random.below(6)),
        alt,
        caption,
        heading,
        before,
        ..Image::default()
    }
}

/// Returns a capture of a page that shows up to four images.
fn random_capture(random: &mut Random, time: u64) -> Capture {
    let mut capture = page(&format!("p{}", random.below(PAGES)), time, &[]);
    if let Some(page) = &mut capture.page {
        page.language = ["en", "de", ""][random.below(3) as usize].to_owned();
        page.images = (0..random.below(5)).map(|_| random_image(random)).collect();
        page.store_images();
    }
    capture
}

/// Returns the images of current pages, as the model's lists of words.
fn model_of(snapshot: &Snapshot) -> Vec<ModelPage> {
    let split = |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    let mut images = Vec::new();
    for key in snapshot.version_keys() {
        let (url_key, _) = key.unwrap();
        let language = snapshot.version(&url_key).unwrap().unwrap().language;
        for (number, image) in snapshot.images(&url_key).unwrap().into_iter().enumerate() {
            let name = image.url.trim_start_matches("http://h.org/");
            images.push(ModelPage {
                key: format!("{url_key} {number}"),
                title: split(&image.alt),
                url: name.split('-').take(1).map(str::to_owned).collect(),
                text: split(&words(&image)),
                anchors: Vec::new(),
                host: "h.org".to_owned(),
                path: url_key.trim_start_matches("org,h)/").to_owned(),
                language: language.clone(),
            });
        }
    }
    images
}

fn found(images: &SearchIndex, text: &str) -> Expected {
    let query = Query {
        text: text.to_owned(),
        limit: 1000,
        ..Query::default()
    };
    let sight = access::AccessFilter::everything();
    let results = images.search(&query, &sight, &|_| None).unwrap();
    assert_eq!(results.total, results.hits.len() as u64, "{text}");
    let mut notes = results.notes.iter();
    let has_few_alone = notes.any(|note| note.kind == NoteKind::FewOfTheWords);
    let hits = results.hits.into_iter();
    let name = |hit: search::Hit| (format!("{} {}", hit.url_key, hit.version.since_ms), hit.missing);
    Expected {
        has_few_alone,
        matches: hits.map(name).collect(),
    }
}

#[test]
fn random_queries_for_images_match_what_the_model_says() {
    let seed = from_environment("WEFT_TEST_SEED", 41);
    let queries = from_environment("WEFT_TEST_QUERIES", QUERIES);
    println!("WEFT_TEST_SEED={seed}");
    let mut random = Random(seed.max(1));
    let archives = queries.div_ceil(QUERIES_OF_AN_ARCHIVE);
    let matching: u64 = (0..archives).map(|_| check_archive(&mut random)).sum();
    assert!(matching > queries / 10, "{matching} of {queries} queries");
}

/// Compares the queries of one archive. Returns how many have a match.
fn check_archive(random: &mut Random) -> u64 {
    let world = World::new();
    let mut captures: Vec<Capture> = Vec::new();
    let mut matching = 0;
    for round in 0..QUERIES_OF_AN_ARCHIVE / QUERIES_OF_A_ROUND {
        let mut batch = Vec::new();
        for number in 1..=6 {
            // Captures come in any order of time.
            let time = random.below(1000) * 1000 + round * 6 + number;
            batch.push(random_capture(random, time));
        }
        captures.extend(batch.iter().cloned());
        world.load(batch);
        world.take_down(&format!("p{}", random.below(PAGES)), &captures);
        let images = model_of(&world.index.snapshot());
        for _ in 0..QUERIES_OF_A_ROUND {
            let query = ModelQuery::random(&mut |bound| random.below(bound as u64) as usize, &SITES);
            let expected = query.answer(&images);
            let found = found(&world.images, &query.text);
            assert_eq!(found.matches, expected.matches, "{query:?}");
            if !expected.matches.is_empty() {
                assert_eq!(found.has_few_alone, expected.has_few_alone, "{query:?}");
                matching += 1;
            }
        }
    }
    matching
}
