//! Ranking quality as users get it, compared with plain BM25 of the same run.
//!
//! `cargo run --release -p bench --bin relevance -- [--data ../shared/data] [--collections DIR]`
//! loads each judged collection into an archive of its own, as web pages, serves it, and asks
//! `/api/v1/search` the queries as they are written, with default settings. The same is done with
//! all crawls together, and with queries of users who know the page: the words of a link to it, its
//! title, the name of its host. `--parts` prints another table instead, of the parts of the
//! ranking.

use std::path::{Path, PathBuf};

use anyhow::ensure;
use clap::Parser;

#[path = "../../../../crates/search/src/cacm/collection.rs"]
mod collection;
mod judged;
mod known_items;
mod parts;
mod served;

use collection::{DEPTH, Quality};
use judged::{Judged, Plain};
use known_items::{Crawls, Found, Item};
use served::Served;

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
    /// Folder of more judged collections, one in each folder
    #[arg(long, value_name = "DIR", env = "WEFT_COLLECTIONS")]
    collections: Option<PathBuf>,
    /// Measure the parts of the ranking instead, without a server
    #[arg(long)]
    parts: bool,
    /// The program to measure [default: next to this one]
    #[arg(long, value_name = "FILE", env = "WEFT")]
    weft: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    if !args.data.is_dir() {
        println!("{} is missing: relevance is not measured", args.data.display());
        return Ok(());
    }
    let collections = judged::read_all(&args.data, args.collections.as_deref())?;
    let crawls = Crawls::read(&args.data.join("crawls"))?;
    ensure!(!crawls.items.is_empty(), "no crawl has links between its pages");
    if args.parts {
        return parts::print(&collections[0], &crawls);
    }
    let weft = bench::program::weft(args.weft.as_ref())?;
    print_collections(&weft, &collections)?;
    print_known_items(&weft, &crawls)
}

/// Prints a row for each collection: plain BM25, and queries as users type them.
fn print_collections(weft: &Path, collections: &[Judged]) -> anyhow::Result<()> {
    println!(
        "| collection | documents | queries | plain BM25: MAP | P30 | as typed: MAP | P30 | ratio of MAP | without a result |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for judged in collections {
        let plain = Plain::new(&judged.language, &judged.documents);
        let plain = judged.measure(|text| Ok(plain.names(text, DEPTH)))?;
        let (typed, without) = measure(weft, judged)?;
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
fn measure(weft: &Path, judged: &Judged) -> anyhow::Result<(Quality, usize)> {
    let served = Served::documents(weft, &judged.documents)?;
    let mut without = 0;
    let quality = judged.measure(|text| {
        let names = served.names(text, &judged.documents, DEPTH)?;
        without += usize::from(names.is_empty());
        Ok(names)
    })?;
    Ok((quality, without))
}

/// Prints a row for each way to ask for a page that one knows.
fn print_known_items(weft: &Path, crawls: &Crawls) -> anyhow::Result<()> {
    println!("\n{} pages of {} crawls", crawls.len(), crawls.files.len());
    println!(
        "| known items by | queries | plain BM25: MRR | first | in top ten | as typed: MRR | first | in top ten |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let served = Served::files(weft, &crawls.files)?;
    let plain = Plain::new("en", &crawls.pages_without(None));
    let (titles, hosts) = (crawls.titles(), crawls.hosts());
    for (name, items) in [
        ("the words of a link to the page", &crawls.items),
        ("the title", &titles),
        ("the name of the host", &hosts),
    ] {
        let by_bm25 = found(items, |query| Ok(plain.names(query, known_items::DEPTH)))?;
        let typed = found(items, |query| served.keys(query, known_items::DEPTH))?;
        println!(
            "| {name} | {} | {} | {} |",
            items.len(),
            cells(&by_bm25),
            cells(&typed)
        );
    }
    Ok(())
}

/// Measures how well a search finds the items.
fn found(items: &[Item], search: impl Fn(&str) -> anyhow::Result<Vec<String>>) -> anyhow::Result<Found> {
    let rank = |item: &Item| {
        let keys = search(&item.query)?;
        Ok(keys.iter().position(|key| *key == item.wanted))
    };
    let ranks: anyhow::Result<Vec<_>> = items.iter().map(rank).collect();
    Ok(Found::of(&ranks?))
}

fn cells(found: &Found) -> String {
    format!(
        "{:.3} | {:.1} % | {:.1} %",
        found.mrr, found.first, found.among_ten
    )
}
