//! What replay costs: pages of three sizes, rewritten, beside the same captures as they are stored.
//!
//! `cargo run --release -p bench --bin replay -- [--seconds 5]` writes pages, loads them, and asks a real `weft serve` for each in three
//! ways: replayed, as its payload was captured (`id_`), and as its record (`/record`). The server has the first core for itself, as far
//! as there is another.
//!
//! The figure is the processor time of a request; the aim is that a page replayed takes [`AIM`] times that of its payload at most. The
//! ways are asked in turns, so that a machine that is slow for a while is slow for all of them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use bench::weft_server::{self, Server};
use clap::Parser;

mod clients;
mod pages;

use clients::{Measured, Way};
use pages::Page;

/// What replay may cost, as a multiple of the payload.
const AIM: f64 = 1.5;

/// How often each way is asked.
const TURNS: u32 = 5;

/// Measures replay.
#[derive(Debug, Parser)]
struct Args {
    /// How long to ask for each page in each way
    #[arg(long, value_name = "S", default_value_t = 5)]
    seconds: u64,
    /// Connections at once
    #[arg(long, value_name = "N", default_value_t = 4)]
    connections: usize,
    /// The program to measure [default: beside this one]
    #[arg(long, value_name = "FILE", env = "WEFT")]
    weft: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let weft = bench::program::weft(args.weft.as_ref())?;
    let dir = tempfile::tempdir()?;
    let pages = pages::all();
    let archive = load(&weft, dir.path(), &pages)?;
    weft_server::leave_first_core()?;
    let server = Server::weft(&weft, &archive, &["--replay-listen", "127.0.0.1:0"])?;
    println!(
        "{} connections, one core for the server; processor time and median latency of a request in us",
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
        "to id_",
        "to record"
    );
    let mut worst: f64 = 0.0;
    for page in &pages {
        let [replayed, payload, record] = measure(&args, &server, page)?;
        let to_payload = replayed.cpu_us() / payload.cpu_us();
        worst = worst.max(to_payload);
        println!(
            "{:<8} {:>8} {:>6} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {to_payload:>7.2} {:>9.2}",
            page.name,
            page.html.len(),
            page.links,
            replayed.cpu_us(),
            replayed.median_us(),
            payload.cpu_us(),
            payload.median_us(),
            record.cpu_us(),
            record.median_us(),
            replayed.cpu_us() / record.cpu_us()
        );
    }
    let verdict = if worst <= AIM { "met" } else { "missed" };
    println!("aim: {AIM} times the payload at most; {worst:.2} at worst: {verdict}");
    Ok(())
}

/// The page in all three ways, in turns.
fn measure(args: &Args, server: &Server, page: &Page) -> anyhow::Result<[Measured; 3]> {
    let ways = [Way::Replayed, Way::Payload, Way::Record];
    let time = Duration::from_secs(args.seconds) / TURNS;
    for way in ways {
        clients::ask(server, way, page, args.connections, time)?;
    }
    let mut measured: [Measured; 3] = Default::default();
    for _ in 0..TURNS {
        for (way, measured) in ways.into_iter().zip(&mut measured) {
            measured.add(clients::ask(server, way, page, args.connections, time)?);
        }
    }
    Ok(measured)
}

/// An archive of the pages.
fn load(weft: &Path, dir: &Path, pages: &[Page]) -> anyhow::Result<PathBuf> {
    let (file, archive) = (dir.join("pages.warc.gz"), dir.join("archive"));
    pages::write(&file, pages)?;
    let status = Command::new(weft)
        .arg("load")
        .arg(&file)
        .arg("--archive")
        .arg(&archive)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("run weft load")?;
    ensure!(status.success(), "weft load failed: {status}");
    Ok(archive)
}
