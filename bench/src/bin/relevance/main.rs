//! Ranking quality: judged queries as users type them, compared with plain BM25, and searches for
//! pages by the anchor texts of links to them.
//!
//! `cargo run --release -p bench --bin relevance -- [--data ../shared/data]` prints a table of
//! collections, and one of the parts of the ranking. Each row of the latter uses one more part than
//! the row before it. A known item is a page of a crawl
//! that another of its pages links to: the query is the anchor's text, and the page should come
//! first. When anchors are searched, the query's own anchor must not be among them. So anchors are
//! divided into five parts, and the queries of a part are sent to an index without the anchors of
//! this part. The last row searches all anchors: users who search with the exact words of a link
//! get these results.

use std::path::{Path, PathBuf};

use access::AccessFilter;
use anyhow::ensure;
use clap::Parser;
use search::{Change, Document, Query, Ranking, SearchIndex, Settings};

#[path = "../../../../crates/search/src/cacm/collection.rs"]
mod collection;
mod judged;
mod known_items;

use collection::{DEPTH, Quality};
use judged::{Judged, Plain};
use known_items::{Crawls, Found, PARTS, part_of};

/// Measures relevance.
#[derive(Debug, Parser)]
struct Args {
    /// Folder with `ir` and `crawls`
    #[arg(
        long,
        value_name = "DIR",
        env = "WEFT_SHARED_DATA",
        default_value = "../shared/data"
    )]
    data: PathBuf,
}

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

/// The ranking that users get.
const ALL_PARTS: Row = Row {
    name: "all parts",
    title: true,
    url: true,
    language: true,
    near: true,
    anchors: Anchors::All,
};

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

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    if !args.data.is_dir() {
        println!("{} is missing: relevance is not measured", args.data.display());
        return Ok(());
    }
    let collections = judged::read_all(&args.data)?;
    print_collections(&collections)?;
    let crawls = Crawls::read(&args.data.join("crawls"))?;
    ensure!(!crawls.items.is_empty(), "no crawl has links between its pages");
    println!(
        "\n{} known items among {} pages of {} crawls",
        crawls.items.len(),
        crawls.len(),
        crawls.files
    );
    println!("| ranking | CACM MAP | CACM P30 | known items: MRR | first | in top ten |");
    println!("|---|---|---|---|---|---|");
    for row in &ROWS {
        let quality = measure(row, &collections[0])?.0;
        let found = measure_crawls(row, &crawls)?;
        println!(
            "| {} | {:.4} | {:.4} | {:.3} | {:.1} % | {:.1} % |",
            row.name, quality.map, quality.p30, found.mrr, found.first, found.among_ten
        );
    }
    println!("| Anserini, BM25 (published) | 0.3123 | 0.1942 | | | |");
    Ok(())
}

/// Prints a row for each collection: plain BM25, and queries as users type them.
fn print_collections(collections: &[Judged]) -> anyhow::Result<()> {
    println!(
        "| collection | documents | queries | plain BM25: MAP | P30 | as typed: MAP | P30 | ratio of MAP | without a result |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for judged in collections {
        let plain = Plain::new(&judged.documents);
        let plain = judged.queries.measure(|text| plain.names(text));
        let (typed, without) = measure(&ALL_PARTS, judged)?;
        println!(
            "| {} | {} | {} | {:.4} | {:.4} | {:.4} | {:.4} | {:.3} | {without} |",
            judged.name,
            judged.documents.len(),
            judged.queries.queries(),
            plain.map,
            plain.p30,
            typed.map,
            typed.p30,
            typed.map / plain.map,
        );
    }
    Ok(())
}

/// Measures the answers to the queries of a collection, and counts those without a result.
fn measure(row: &Row, judged: &Judged) -> anyhow::Result<(Quality, usize)> {
    let indexed = Indexed::new(row, &judged.documents)?;
    let (mut without, mut failed) = (0, None);
    let quality = judged.queries.measure(|text| {
        let keys = indexed.keys(text, DEPTH, row.ranking());
        let keys = keys.unwrap_or_else(|error| {
            failed = Some(error);
            Vec::new()
        });
        without += usize::from(keys.is_empty());
        keys
    });
    match failed {
        Some(error) => Err(error),
        None => Ok((quality, without)),
    }
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
        for item in crawls.items.iter().filter(|item| is_of_part(&item.anchor)) {
            let keys = indexed.keys(&item.anchor, known_items::DEPTH, row.ranking())?;
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
