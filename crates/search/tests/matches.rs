//! Random queries over random pages match what a plain model says, for clients who see all pages
//! and for clients who do not.
//!
//! `WEFT_TEST_QUERIES=1000` asks more queries, and `WEFT_TEST_SEED` chooses others.

use std::collections::BTreeMap;

use access::{Access, AccessFilter, AccessRule, AccessRules, Condition, Groups};
use search::{Anchor, Change, Document, NoteKind, Order, Query, SearchIndex};

use crate::match_model::{Expected, ModelPage, ModelQuery, WORDS, random_words};
use crate::support::{Dice, open, page, upsert};

const SEED: u64 = 41;

/// Queries, unless the environment says otherwise.
const QUERIES: usize = 200;

/// Queries between two changes of the pages.
const QUERIES_OF_A_ROUND: usize = 25;

/// Number of different pages.
const PAGES: usize = 24;

const HOSTS: [&str; 3] = ["aaa.org", "sub.aaa.org", "bbb.org"];
const FOLDERS: [&str; 2] = ["north", "south"];
const SITES: [&str; 4] = ["aaa.org", "bbb.org", "aaa.org/north", "org"];
const COLLECTIONS: [&str; 2] = ["open", "hidden"];

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

/// Returns a page as a document and as the model's lists of words. A key always has the same host,
/// path and word of the URL.
fn random_page(dice: &mut Dice) -> (Document, ModelPage) {
    let number = dice.below(PAGES);
    let host = HOSTS[number % HOSTS.len()];
    let word = WORDS[number % WORDS.len()];
    let path = format!("{}/{word}-p{number}", FOLDERS[number % FOLDERS.len()]);
    let url = format!("http://{host}/{path}");
    let below = &mut |bound| dice.below(bound);
    let (title, text, links) = (below(3), below(9), below(3));
    let model = ModelPage {
        key: urlkey::url_key(&url).unwrap(),
        title: random_words(below, title),
        url: vec![word.to_owned()],
        text: random_words(below, text),
        anchors: (0..links).map(|_| random_words(below, 2)).collect(),
        host: host.to_owned(),
        path,
        language: ["en", "de", ""][below(3)].to_owned(),
    };
    let anchor = |words: &Vec<String>| Anchor {
        text: words.join(" "),
        weight: 1,
    };
    let document = Document {
        url_key: model.key.clone(),
        url,
        host: host.to_owned(),
        domain: urlkey::domain_of_key(&model.key).to_string(),
        language: model.language.clone(),
        collection: COLLECTIONS[usize::from(below(4) == 0)].to_owned(),
        fetch_time_ms: 1_000_000_000_000 + below(1000) as i64 * 1_000_000_000,
        anchors: model.anchors.iter().map(anchor).collect(),
        ..page("", &model.title.join(" "), &model.text.join(" "))
    };
    (document, model)
}

/// Returns the filter of clients from whom a collection is hidden. Words are weighed among the
/// pages that they see, also if the rules are not strict.
fn without_hidden() -> AccessFilter {
    let rule = AccessRule {
        access: Access::Deny,
        condition: Condition {
            collection: Some("hidden".to_owned()),
            ..Condition::default()
        },
        ..AccessRule::default()
    };
    let rules = AccessRules {
        rules: vec![rule],
        ..AccessRules::default()
    };
    rules.filter_for(&Groups::public(), 0).unwrap()
}

type World = BTreeMap<String, (Document, ModelPage)>;

fn change(dice: &mut Dice, world: &mut World) -> Change {
    let (document, model) = random_page(dice);
    if dice.below(4) == 0 {
        world.remove(&model.key);
        return Change::Delete(model.key);
    }
    world.insert(model.key.clone(), (document.clone(), model));
    upsert(document)
}

#[track_caller]
fn check(index: &SearchIndex, sight: &AccessFilter, query: &ModelQuery, pages: &[ModelPage]) -> Expected {
    let expected = query.answer(pages);
    let ask = |order| {
        let query = Query {
            text: query.text.clone(),
            limit: 1000,
            order,
            ..Query::default()
        };
        let found = index.search(&query, sight, &|_| None).unwrap();
        let mut notes = found.notes.iter();
        let has_few_alone = notes.any(|note| note.kind == NoteKind::FewOfTheWords);
        assert_eq!(found.total, found.hits.len() as u64, "{}", query.text);
        let hits = found.hits.into_iter();
        Expected {
            has_few_alone,
            matches: hits.map(|hit| (hit.url_key, hit.missing)).collect(),
        }
    };
    for order in [Order::Relevance, Order::Newest] {
        let found = ask(order);
        if expected.matches.is_empty() {
            assert!(found.matches.is_empty(), "{}: {found:?}", query.text);
        } else {
            assert_eq!(found, expected, "{} ({order:?}): {query:?}", query.text);
        }
    }
    expected
}

#[test]
fn random_queries_match_what_the_model_says() {
    let seed = from_environment("WEFT_TEST_SEED", SEED);
    let queries = from_environment("WEFT_TEST_QUERIES", QUERIES as u64) as usize;
    println!("WEFT_TEST_SEED={seed}");
    let mut dice = Dice(seed.max(1));
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let mut world = World::new();
    let everything = AccessFilter::everything();
    let partial = without_hidden();
    let (mut relaxed, mut incomplete, mut without) = (0, 0, 0);
    for round in 0..queries.div_ceil(QUERIES_OF_A_ROUND) {
        let changes: Vec<Change> = (0..12).map(|_| change(&mut dice, &mut world)).collect();
        index.apply(round as u64 + 1, changes).unwrap();
        index.flush().unwrap();
        let all: Vec<ModelPage> = world.values().map(|(_, model)| model.clone()).collect();
        let visible = world
            .values()
            .filter(|(document, _)| document.collection != "hidden")
            .map(|(_, model)| ModelPage {
                // An anchor may be of a link on a hidden page.
                anchors: Vec::new(),
                ..model.clone()
            });
        let visible: Vec<ModelPage> = visible.collect();
        for _ in 0..QUERIES_OF_A_ROUND {
            let query = ModelQuery::random(&mut |bound| dice.below(bound), &SITES);
            let expected = check(&index, &everything, &query, &all);
            check(&index, &partial, &query, &visible);
            relaxed += usize::from(expected.has_few_alone);
            incomplete += usize::from(expected.matches.values().any(|missing| !missing.is_empty()));
            without += usize::from(expected.matches.is_empty());
        }
    }
    println!("{relaxed} with few of the words, {incomplete} with missing words, {without} without a match");
    assert!(relaxed > 0 && incomplete > 0 && without > 0 && without < queries * 3 / 4);
}
