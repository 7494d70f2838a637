//! How many near-duplicates are found: texts of real pages in which some words are replaced.

use archive::Archive;
use archive::question::{LoadRequest, Page, SearchOrder, SearchQuestion};
use inputs::LoadInput;

use crate::data::{self, load, own, request};

/// Minimum number of words of a text. Shorter ones have too little to compare.
const WORDS_MIN: usize = 100;

/// For each text, copies in which about one of this many words is replaced.
const ONE_OF: [usize; 5] = [400, 200, 100, 50, 20];

fn search(archive: &Archive, query: &str, near: bool) -> archive::question::SearchBody {
    let question = SearchQuestion {
        query: query.to_owned(),
        limit: 1000,
        near,
        order: SearchOrder::Url,
        ..SearchQuestion::default()
    };
    archive.ask(question).unwrap().body
}

/// Returns the beginnings of the texts of all pages that are different and long enough.
fn texts(archive: &Archive) -> Vec<Vec<String>> {
    let mut texts: Vec<Vec<String>> = Vec::new();
    for hit in search(archive, "-nopagehasthisword", true).hits {
        let page = archive.ask(Page { url: hit.url }).unwrap().body;
        let words: Vec<String> = page
            .text_preview
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        if words.len() >= WORDS_MIN && !texts.contains(&words) {
            texts.push(words);
        }
    }
    texts
}

/// Returns a record of a page with this text.
fn record(url: &str, words: &[String]) -> Vec<u8> {
    let body = format!("<html><body><p>{}</p></body></html>", words.join(" "));
    let http = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    data::response(url, "2014-03-11T10:00:00Z", "", &http).into_bytes()
}

/// Replaces every `one_of`th word, and at least one.
fn changed(words: &[String], one_of: usize) -> Vec<String> {
    let mut changed = words.to_vec();
    let (step, first) = (one_of.min(words.len()), one_of.min(words.len()) / 2);
    for (number, at) in (first..words.len()).step_by(step).enumerate() {
        changed[at] = format!("planted{number}");
    }
    changed
}

/// The figures of docs/search.md.
#[test]
fn planted_near_duplicates_are_found_and_other_pages_are_not() {
    let Some(shared) = test_env::shared_data() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let real = own(&root.path().join("real"));
    let names = [
        "crawls/iana.warc.gz",
        "crawls/govuk-1.warc.gz",
        "crawls/etig.warc.gz",
    ];
    load(&real, &request(&shared, &names));
    let texts = texts(&real);
    assert!(texts.len() >= 30, "{} texts", texts.len());

    let mut bytes = Vec::new();
    for (number, words) in texts.iter().enumerate() {
        bytes.extend(record(&format!("http://t{number}.example/"), words));
        for one_of in ONE_OF {
            let url = format!("http://t{number}.example/{one_of}");
            bytes.extend(record(&url, &changed(words, one_of)));
        }
    }
    let path = root.path().join("planted.warc");
    std::fs::write(&path, bytes).unwrap();
    let planted = own(&root.path().join("planted"));
    load(
        &planted,
        &LoadRequest {
            inputs: vec![LoadInput {
                name: "planted.warc".into(),
                path: inputs::path_text(&path),
            }],
            ..LoadRequest::default()
        },
    );
    let mut found = [0; ONE_OF.len()];
    let (mut others, mut pairs) = (0, 0);
    for number in 0..texts.len() {
        let of_text = search(&planted, &format!("site:t{number}.example"), true);
        // In address order the text itself comes first, and represents its near-duplicates.
        let first = &of_text.hits[0];
        assert_eq!(first.url, format!("http://t{number}.example/"));
        let like = search(&planted, first.like.as_deref().unwrap(), false);
        for hit in like.hits {
            if hit.domain != first.domain {
                others += 1;
            }
            for (index, one_of) in ONE_OF.iter().enumerate() {
                found[index] += usize::from(hit.url == format!("{}{one_of}", first.url));
            }
        }
        pairs += (texts.len() - 1) * (ONE_OF.len() + 1);
    }
    let recall = found.map(|found| found as f64 / texts.len() as f64);
    println!(
        "{} texts; found of those with one word changed of {ONE_OF:?}: {recall:.2?}",
        texts.len()
    );
    println!("{others} of {pairs} pairs of different texts are near, too");
    assert!(recall[0] > 0.95 && recall[1] > 0.9, "{recall:?}");
    assert!(recall[2] > 0.7, "{recall:?}");
    assert!(recall[4] < 0.2, "{recall:?}");
    // Real pages of one site with nearly the same text are found too.
    assert!((others as f64) < pairs as f64 * 0.01, "{others} of {pairs}");
}
