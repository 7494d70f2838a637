//! What each part of the ranking adds, measured by calling the index.
//!
//! Each row of the table uses one more part than the row before it. A known item is a page of a
//! crawl that another of its pages links to: the query is the anchor's text, and the page should
//! come first. When anchors are searched, the query's own anchor must not be among them. So anchors
//! are divided into five parts, and the queries of a part are sent to an index without the anchors
//! of this part. The last row searches all anchors: users who search with the exact words of a link
//! get these results.

use std::path::Path;

use access::AccessFilter;
use search::{Change, Document, Query, Ranking, SearchIndex, Settings};

use crate::collection::{DEPTH, Quality};
use crate::judged::Judged;
use crate::known_items::{self, Crawls, Found, PARTS, part_of};

/// A row of the table: the fields to search, and how.
struct Row {
    name: &'static str,
    title: bool,
    url: bool,
    /// Languages enable stems and function words.
    language: bool,
    near: bool,
    anchors: Anchors,
}

/// Which anchor texts of the crawls are searched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Anchors {
    None,
    /// All except the query and others of its part.
    Others,
    All,
}

const ROWS: [Row; 7] = [
    Row {
        name: "text only, words without diacritics",
        title: false,
        url: false,
        language: false,
        near: false,
        anchors: Anchors::None,
    },
    Row {
        name: "+ title, with weight three",
        title: true,
        url: false,
        language: false,
        near: false,
        anchors: Anchors::None,
    },
    Row {
        name: "+ words of the URL and host",
        title: true,
        url: true,
        language: false,
        near: false,
        anchors: Anchors::None,
    },
    Row {
        name: "+ stems and stop words by language",
        title: true,
        url: true,
        language: true,
        near: false,
        anchors: Anchors::None,
    },
    Row {
        name: "+ proximity",
        title: true,
        url: true,
        language: true,
        near: true,
        anchors: Anchors::None,
    },
    Row {
        name: "+ anchor texts of links from other pages",
        title: true,
        url: true,
        language: true,
        near: true,
        anchors: Anchors::Others,
    },
    Row {
        name: "+ the anchor of the query's link",
        title: true,
        url: true,
        language: true,
        near: true,
        anchors: Anchors::All,
    },
];

impl Row {
    /// Returns a page with the fields that this row uses.
    fn page(&self, page: &Document) -> Document {
        let kept = |keep: bool, text: &String| if keep { text.clone() } else { String::new() };
        Document {
            title: kept(self.title, &page.title),
            url: kept(self.url, &page.url),
            language: kept(self.language, &page.language),
            ..page.clone()
        }
    }

    fn ranking(&self) -> Ranking {
        Ranking {
            stems: self.language,
            near: self.near,
            anchors: self.anchors != Anchors::None,
        }
    }
}

/// Prints a row for each part of the ranking.
pub(crate) fn print(cacm: &Judged, crawls: &Crawls) -> anyhow::Result<()> {
    println!("\n| ranking | CACM MAP | CACM P30 | known items: MRR | first | in top ten |");
    println!("|---|---|---|---|---|---|");
    for row in &ROWS {
        let quality = measure(row, cacm)?;
        let found = measure_crawls(row, crawls)?;
        println!(
            "| {} | {:.4} | {:.4} | {:.3} | {:.1} % | {:.1} % |",
            row.name, quality.map, quality.p30, found.mrr, found.first, found.among_ten
        );
    }
    println!("| Anserini, BM25 (published) | 0.3123 | 0.1942 | | | |");
    Ok(())
}

fn measure(row: &Row, judged: &Judged) -> anyhow::Result<Quality> {
    let indexed = Indexed::new(row, &judged.documents)?;
    judged.measure(|text| indexed.keys(text, DEPTH, row.ranking()))
}

fn measure_crawls(row: &Row, crawls: &Crawls) -> anyhow::Result<Found> {
    let mut ranks = Vec::with_capacity(crawls.items.len());
    let parts: Vec<Option<u8>> = match row.anchors {
        Anchors::Others => (0..PARTS).map(Some).collect(),
        _ => vec![None],
    };
    for part in parts {
        let indexed = Indexed::new(row, &crawls.pages_without(part))?;
        let is_of_part = |anchor: &str| part.is_none_or(|part| part_of(anchor) == part);
        for item in crawls.items.iter().filter(|item| is_of_part(&item.query)) {
            let keys = indexed.keys(&item.query, known_items::DEPTH, row.ranking())?;
            ranks.push(keys.iter().position(|key| *key == item.wanted));
        }
    }
    Ok(Found::of(&ranks))
}

/// An index in a temporary folder.
struct Indexed {
    index: SearchIndex,
    _dir: tempfile::TempDir,
}

impl Indexed {
    fn new(row: &Row, pages: &[Document]) -> anyhow::Result<Indexed> {
        let dir = tempfile::tempdir()?;
        let index = SearchIndex::open(Path::new(dir.path()), Settings::default())?;
        let inserts = pages.iter().map(|page| Change::Insert(Box::new(row.page(page))));
        index.apply(1, inserts)?;
        index.flush()?;
        Ok(Indexed { index, _dir: dir })
    }

    /// Returns the keys of the best results.
    fn keys(&self, text: &str, limit: usize, ranking: Ranking) -> anyhow::Result<Vec<String>> {
        let query = Query {
            text: text.to_owned(),
            limit,
            ranking,
            ..Query::default()
        };
        let results = self
            .index
            .search(&query, &AccessFilter::everything(), &|_| None)?;
        Ok(results.hits.into_iter().map(|hit| hit.url_key).collect())
    }
}
