//! Documents and indexes for tests.

use std::path::Path;

use access::AccessFilter;
use search::{Change, Document, Likeness, Query, Results, SearchIndex, Settings, Version};

/// Opens an index with the least memory.
pub(crate) fn open(dir: &Path) -> SearchIndex {
    let settings = Settings {
        writer_memory_bytes: 15_000_000,
        ..Settings::default()
    };
    SearchIndex::open(dir, settings).unwrap()
}

/// A query that all pages of these tests match. An empty query has no results.
pub(crate) const ALL: &str = "-nopagehasthisword";

/// Returns a page of `example.org` with the key `org,example)/NAME`.
pub(crate) fn page(name: &str, title: &str, text: &str) -> Document {
    Document {
        url_key: format!("org,example)/{name}"),
        url: format!("http://example.org/{name}"),
        title: title.to_owned(),
        text: text.to_owned(),
        host: "example.org".to_owned(),
        domain: "example.org".to_owned(),
        collection: "first".to_owned(),
        digest: String::new(),
        text_capture: None,
        original: None,
        fetch_time_ms: 1_200_000_000_000,
        mime: "text/html".to_owned(),
        language: "en".to_owned(),
        inlink_bucket: 0,
        anchors: Vec::new(),
        version: Version::default(),
        likeness: Likeness::Text,
    }
}

pub(crate) fn upsert(document: Document) -> Change {
    Change::Upsert(Box::new(document))
}

/// Returns the first `limit` results, with no texts for snippets.
pub(crate) fn ask(index: &SearchIndex, text: &str, limit: usize) -> Results {
    let query = Query {
        text: text.to_owned(),
        limit,
        facets: true,
        ..Query::default()
    };
    index
        .search(&query, &AccessFilter::everything(), &|_| None)
        .unwrap()
}

/// Returns the last parts of the keys found, in order.
pub(crate) fn names(results: &Results) -> Vec<&str> {
    let hits = results.hits.iter();
    hits.map(|hit| hit.url_key.split_once('/').map_or("", |(_, name)| name))
        .collect()
}

/// A generator of small random numbers (xorshift), repeatable for a seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % bound
    }
}
