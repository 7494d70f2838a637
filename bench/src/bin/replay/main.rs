//! The cost of replay: rewritten pages, compared with the same captures as stored.
//!
//! `cargo run --release -p bench --bin replay -- [--seconds 5] [CRAWL.warc.gz ...]` writes pages of
//! three sizes, loads them and the crawls, and requests each from `weft serve` in three ways:
//! replayed, as its captured payload (`id_`), and as its record (`/record`). The server has the
//! first core for itself, if there is another.
//!
//! The result is the processor time per request; for pages of crawls, also the latency of each
//! without other requests. The target for an ordinary page is at most [`AIM`] times the time of the
//! raw record. The ways alternate, so that a machine that is slow for a while slows down all of
//! them.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use bench::weft_server::{self, Server};
use clap::Parser;

mod clients;
mod pages;

use clients::{Client, Measured, Way};
use pages::Page;

/// Maximum cost of replaying an ordinary page, as a multiple of the raw record.
const AIM: f64 = 1.5;

/// Number of turns of each way, and of requests for a single page.
const TURNS: u32 = 5;

/// Measures replay.
#[derive(Debug, Parser)]
struct Args {
    /// Crawls whose HTML pages are requested as well
    #[arg(value_name = "CRAWL")]
    crawls: Vec<PathBuf>,
    /// How long to request each page in each way
    #[arg(long, value_name = "S", default_value_t = 5)]
    seconds: u64,
    /// Concurrent connections
    #[arg(long, value_name = "N", default_value_t = 4)]
    connections: usize,
    /// The program to measure [default: next to this one]
    #[arg(long, value_name = "FILE", env = "WEFT")]
    weft: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let weft = bench::program::weft(args.weft.as_ref())?;
    let dir = tempfile::tempdir()?;
    let made = pages::made();
    let file = dir.path().join("pages.warc.gz");
    pages::write(&file, &made)?;
    let archive = dir.path().join("archive");
    run(Command::new(&weft)
        .arg("load")
        .arg(&file)
        .args(&args.crawls)
        .arg("--archive")
        .arg(&archive))?;
    let cdxj = dir.path().join("index.cdxj");
    run(Command::new(&weft)
        .arg("export")
        .arg("--cdxj")
        .arg(&cdxj)
        .arg("--archive")
        .arg(&archive))?;
    weft_server::leave_first_core()?;
    let server = Server::weft(&weft, &archive, &["--replay-listen", "127.0.0.1:0"])?;
    let replay = server.replay.context("weft serve does not replay pages")?;
    let mut crawled = pages::of_index(&cdxj, replay)?;
    crawled.retain(|page| made.iter().all(|made| made.url != page.url));
    println!(
        "{} connections, one core for the server; CPU time and median latency of a request in us",
        args.connections
    );
    println!(
        "{:<8} {:>8} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7} {:>9}",
        "page",
        "bytes",
        "links",
        "replay",
        "median",
        "id_",
        "median",
        "/record",
        "median",
        "/ id_",
        "/ record"
    );
    for page in &made {
        row(
            page.name,
            std::slice::from_ref(page),
            &measure(&args, &server, std::slice::from_ref(page))?,
        );
    }
    if !crawled.is_empty() {
        row("crawls", &crawled, &measure(&args, &server, &crawled)?);
        alone(&server, &crawled)?;
    }
    Ok(())
}

/// Prints the measurements. For several pages, bytes and links are means.
fn row(name: &str, pages: &[Page], [replayed, payload, record]: &[Measured; 3]) {
    let bytes: usize = pages.iter().map(|page| page.html.len()).sum();
    let links: usize = pages.iter().map(Page::links).sum();
    println!(
        "{name:<8} {:>8} {:>6} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>7.2} {:>9.2}",
        bytes / pages.len(),
        links / pages.len(),
        replayed.cpu_us(),
        replayed.median_us(),
        payload.cpu_us(),
        payload.median_us(),
        record.cpu_us(),
        record.median_us(),
        replayed.cpu_us() / payload.cpu_us(),
        replayed.cpu_us() / record.cpu_us()
    );
}

/// Prints how much longer the replay of each single page takes.
fn alone(server: &Server, pages: &[Page]) -> anyhow::Result<()> {
    let mut clients = Vec::new();
    for way in [Way::Replayed, Way::Payload, Way::Record] {
        clients.push(Client::open(server, way)?);
    }
    let (mut to_payload, mut to_record) = (Vec::new(), Vec::new());
    for page in pages {
        let mut latency_us = [0.0; 3];
        for (client, latency_us) in clients.iter_mut().zip(&mut latency_us) {
            *latency_us = f64::from(clients::latency_us(client, page, TURNS as usize)?);
        }
        to_payload.push(latency_us[0] / latency_us[1]);
        to_record.push(latency_us[0] / latency_us[2]);
    }
    let verdict = if quarters(&mut to_record)[1] <= AIM {
        "met"
    } else {
        "missed"
    };
    println!(
        "latency of {} pages, one at a time: lower quartile, median, upper quartile",
        pages.len()
    );
    println!(
        "  relative to /record {:.2?} (aim {AIM}: {verdict})",
        quarters(&mut to_record)
    );
    println!("  relative to id_     {:.2?}", quarters(&mut to_payload));
    Ok(())
}

/// Returns the quartiles.
fn quarters(ratios: &mut [f64]) -> [f64; 3] {
    ratios.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| ratios[ratios.len() * quarter / 4])
}

/// Measures pages in all three ways, in turns.
fn measure(args: &Args, server: &Server, pages: &[Page]) -> anyhow::Result<[Measured; 3]> {
    let ways = [Way::Replayed, Way::Payload, Way::Record];
    let time = Duration::from_secs(args.seconds) / TURNS;
    for way in ways {
        clients::ask(server, way, pages, args.connections, time)?;
    }
    let mut measured: [Measured; 3] = Default::default();
    for _ in 0..TURNS {
        for (way, measured) in ways.into_iter().zip(&mut measured) {
            measured.add(clients::ask(server, way, pages, args.connections, time)?);
        }
    }
    Ok(measured)
}

/// Runs a program to its end.
fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    let status = status.context("run weft")?;
    ensure!(status.success(), "{command:?} failed: {status}");
    Ok(())
}
