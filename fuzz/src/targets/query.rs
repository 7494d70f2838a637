//! The query language: any text is a query, and the normalized form of a query has the same
//! meaning.
//!
//! The first byte of an input chooses limits and facets, the rest is the query.

use std::sync::{Arc, LazyLock};

use access::AccessFilter;
use search::{Change, Document, NoteKind, Query, Results, SearchIndex, Settings, TextRequest};
use tempfile::TempDir;

use super::Target;

/// The target; the head of this file describes inputs and properties.
pub const TARGET: Target = Target {
    name: "query",
    about: "the query language, with a small index",
    run,
    seeds,
    from_file: |mut bytes| {
        bytes.insert(0, 0);
        bytes
    },
    tokens: &[
        b"title:",
        b"url:",
        b"site:",
        b"type:",
        b"lang:",
        b"year:",
        b"from:",
        b"to:",
        b"collection:",
        b"filetype:",
        b" OR ",
        b" NOT ",
        b" -",
        b"\"",
        b"*",
        b"(",
        b")",
        b"\xe2\x80\x9c",
        b"\xe2\x80\x9d",
        b"2019-2021",
        b"20190102030405",
        b"\xe4\xb8\xad\xe6\x96\x87",
        b"e-mail",
        b"\xcc\x88",
    ],
};

/// A small index, so that a step is fast.
static INDEX: LazyLock<(TempDir, SearchIndex)> = LazyLock::new(|| {
    let dir = tempfile::tempdir().expect("a folder for the index");
    let index = SearchIndex::open(dir.path(), Settings::default()).expect("an index in a new folder");
    let words = ["archive", "web", "e-mail", "Köln", "中文", "library", "archives"];
    let documents = (0..40_usize).map(|number| {
        let word = |step: usize| words[(number * step + number / 7) % words.len()];
        Change::Upsert(Box::new(Document {
            url_key: format!("org,example{})/{number}", number % 3),
            url: format!("http://example{}.org/{number}", number % 3),
            title: format!("{} {}", word(1), word(2)),
            text: format!("{} {} of {} and {}", word(3), word(5), word(1), word(4)),
            host: format!("example{}.org", number % 3),
            domain: format!("example{}.org", number % 3),
            collection: ["", "a b"][number % 2].to_owned(),
            fetch_time_ms: 1_500_000_000_000 + number as i64 * 10_000_000_000,
            mime: ["text/html", "application/xhtml+xml"][number % 2].to_owned(),
            language: ["en", "de-AT", ""][number % 3].to_owned(),
            inlink_bucket: number as u8 % 5,
            ..Document::default()
        }))
    });
    index.apply(1, documents).expect("the documents are accepted");
    index.flush().expect("the documents are indexed");
    (dir, index)
});

/// Runs the query and checks the result.
pub fn run(bytes: &[u8]) {
    let Some((choice, text)) = bytes.split_first() else {
        return;
    };
    let query = Query {
        text: String::from_utf8_lossy(text).into_owned(),
        limit: usize::from(choice & 15),
        facets: choice & 16 != 0,
        explain: choice & 32 != 0,
        ..Query::default()
    };
    let first = ask(&query);
    assert!(
        first.hits.len() <= query.limit,
        "{} hits, expected at most {}",
        first.hits.len(),
        query.limit
    );
    assert!(first.total >= first.hits.len() as u64);

    // For a query that is too long, `understood` covers only its beginning, and the words it
    // includes depend on the whole query.
    let cut = [NoteKind::QueryCut, NoteKind::WordsLeftOut, NoteKind::PartsLeftOut];
    if first.notes.iter().any(|note| cut.contains(&note.kind)) {
        return;
    }
    let again = ask(&Query {
        text: first.understood.clone(),
        ..query.clone()
    });
    assert_eq!(
        again.understood, first.understood,
        "the parsed form of {:?} is parsed differently",
        query.text
    );
    assert_eq!(
        again.total, first.total,
        "{:?} matches other pages than {:?}",
        first.understood, query.text
    );
}

fn ask(query: &Query) -> Results {
    let text_of = |sought: &TextRequest<'_>| {
        let url_key = sought.url_key;
        let text = format!("Some text of {url_key} about an archive of the web, by e-mail.");
        Some(Arc::<str>::from(text))
    };
    INDEX
        .1
        .search(query, &AccessFilter::everything(), &text_of)
        .unwrap_or_else(|error| panic!("{:?}: {error}", query.text))
}

fn seeds() -> Vec<Vec<u8>> {
    [
        "web archive",
        "\"web archive\" -mail",
        "archiv* OR library",
        "title:web url:example site:example1.org",
        "web at:2012-05 from:2010 to:2014",
        "type:text/html lang:de year:2018-2020 from:2017 to:20200102",
        "collection:\"a b\" filetype:html NOT Köln",
        "中文 e-mail",
        "",
    ]
    .iter()
    .enumerate()
    .map(|(number, text)| [&[number as u8 * 17 + 5], text.as_bytes()].concat())
    .collect()
}
