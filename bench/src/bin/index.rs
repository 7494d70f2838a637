//! The index only: synthetic captures of a WAT-like web written directly with `Index::apply`, at
//! full speed.
//!
//! `cargo run --release -p bench --bin index -- [--pages 200000] [--pages-per-epoch 5000]` prints
//! pages and links per second and the time of each step, for every tenth of the load, and then
//! bytes on disk per table. `--full` does so with 100,000 and with 10,000,000 pages (25 GB of disk,
//! an hour), and compares the rates. Generating the captures is not counted. Half of the targets
//! follow Zipf's law, half are evenly distributed over twenty times as many URLs as pages. With
//! about 13 targets per page, every second link leads to a URL never seen before, as in a new
//! crawl.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Parser;
use extract::{Capture, CaptureKind, Link, LinkScope, Page};
use index::{Batch, Index, InputId, InputProgress, InputState, LedgerRow, Settings};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Measures the index only.
#[derive(Debug, Parser)]
struct Args {
    /// Pages of the synthetic web
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    pages: u64,
    /// Pages applied in one epoch; a large load has some 25,000
    #[arg(long, value_name = "N", default_value_t = 5_000)]
    pages_per_epoch: u64,
    /// 100,000 pages, then 10,000,000, each in epochs of 25,000, and the ratio of the rates
    #[arg(long, conflicts_with_all = ["pages", "pages_per_epoch"])]
    full: bool,
    /// Folder for the index, kept [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Pages, and pages per epoch, of a full run.
const FULL_PAGES: [u64; 2] = [100_000, 10_000_000];
const FULL_PAGES_PER_EPOCH: u64 = 25_000;

/// The project's target: the rate over ten million pages, as a fraction of the rate over a hundred
/// thousand.
const AIM_OF_RATE: f64 = 0.60;

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let home = tempfile::tempdir()?;
    let dir = args.dir.unwrap_or_else(|| home.path().join("index"));
    if !args.full {
        index_web(&dir, args.pages, args.pages_per_epoch)?;
        return Ok(());
    }
    let mut rates = Vec::new();
    for pages in FULL_PAGES {
        rates.push(index_web(
            &dir.with_extension(pages.to_string()),
            pages,
            FULL_PAGES_PER_EPOCH,
        )?);
    }
    println!(
        "{} pages: {:.0} % of the rate of {} pages (aim: {:.0} %)",
        FULL_PAGES[1],
        100.0 * rates[1] / rates[0],
        FULL_PAGES[0],
        100.0 * AIM_OF_RATE
    );
    Ok(())
}

/// Indexes a web, prints the measurements, and returns the pages per second.
fn index_web(dir: &Path, pages: u64, per_epoch: u64) -> anyhow::Result<f64> {
    let index = Index::open(dir, Some(LinkScope::External), Settings::default())?;
    let (input, _) = index.register_input(ledger_entry(), None)?;
    let mut run = Run {
        index,
        input,
        web: Web::new(pages),
        indexed: 0,
        offset: 0,
    };
    println!("{pages} pages, {per_epoch} per epoch");
    let mut rates = Vec::new();
    let (mut spent, mut links) = (Duration::ZERO, 0);
    while run.indexed < pages {
        let tenth = run.index_pages((pages / 10).max(1), per_epoch)?;
        tenth.print(run.indexed);
        rates.push(tenth.pages as f64 / tenth.time.as_secs_f64());
        spent += tenth.time;
        links += tenth.links;
    }
    let rate = run.indexed as f64 / spent.as_secs_f64();
    println!(
        "total: {rate:.0} pages/s, {:.0} links/s; last tenth at {:.0} % of the first; peak memory {} MiB",
        links as f64 / spent.as_secs_f64(),
        100.0 * rates.last().unwrap_or(&0.0) / rates.first().unwrap_or(&1.0),
        bench::process::memory_bytes_max(std::process::id()).unwrap_or_default() >> 20,
    );
    print_disk(&run.index, run.indexed, links);
    print_reads(&run.index)?;
    Ok(rate)
}

fn ledger_entry() -> LedgerRow {
    LedgerRow::pending("synthetic.wat", "/dev/null", "sha256:00", 0, "")
}

struct Run {
    index: Index,
    input: InputId,
    web: Web,
    indexed: u64,
    offset: u64,
}

#[derive(Default)]
struct Tenth {
    pages: u64,
    links: u64,
    uris: u64,
    time: Duration,
    /// Processor time of the writing thread, and of the engine's threads.
    cpu: [Duration; 2],
    steps: Vec<(&'static str, Duration)>,
}

impl Run {
    fn index_pages(&mut self, pages: u64, per_epoch: u64) -> anyhow::Result<Tenth> {
        let mut tenth = Tenth::default();
        let engine = cpu_times()[1];
        while tenth.pages < pages {
            let captures = (0..per_epoch)
                .map(|_| (self.input, self.next_capture()))
                .collect();
            let progress = InputProgress {
                input: self.input,
                bytes_done: self.offset,
                exchange_from: 0,
                records: per_epoch,
                captures_recounted: 0,
                quarantined: Vec::new(),
                state: InputState::Loading,
                cut: None,
                digested: None,
            };
            let (begun, cpu) = (Instant::now(), cpu_times());
            let report = self.index.apply(Batch {
                captures,
                lines: Vec::new(),
                progress: vec![progress],
            })?;
            tenth.time += begun.elapsed();
            let own = cpu_times()[0].saturating_sub(cpu[0]);
            tenth.cpu[0] += own;
            tenth.pages += per_epoch;
            tenth.links += report.links_added;
            tenth.uris += report.uris_new;
            tenth.steps.resize(report.step_times.len(), ("", Duration::ZERO));
            for (sum, (step, time)) in tenth.steps.iter_mut().zip(report.step_times) {
                *sum = (step, sum.1 + time);
            }
        }
        tenth.cpu[1] = cpu_times()[1].saturating_sub(engine);
        Ok(tenth)
    }

    fn next_capture(&mut self) -> Capture {
        self.indexed += 1;
        self.offset += 10_000;
        self.web.capture(self.indexed, self.offset)
    }
}

impl Tenth {
    fn print(&self, indexed: u64) {
        let seconds = self.time.as_secs_f64();
        let us_per_page = |time: Duration| time.as_micros() as f64 / self.pages as f64;
        let steps: Vec<String> = self
            .steps
            .iter()
            .map(|(step, time)| format!("{step} {:.0}", us_per_page(*time)))
            .collect();
        println!(
            "{indexed:>9} pages: {:>6.0} pages/s {:>7.0} links/s {:.2} new URIs per link; us per page: CPU \
             {:.0} + {:.0}; {}",
            self.pages as f64 / seconds,
            self.links as f64 / seconds,
            self.uris as f64 / self.links as f64,
            us_per_page(self.cpu[0]),
            us_per_page(self.cpu[1]),
            steps.join(", ")
        );
    }
}

/// A synthetic web, derived from numbers only.
struct Web {
    urls: u64,
    domains: u64,
    random: u64,
}

impl Web {
    fn new(pages: u64) -> Web {
        Web {
            urls: pages * 20,
            domains: (pages / 5).max(100),
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// xorshift64*.
    fn next(&mut self) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns URL number `n`. The smaller `n` is, the more popular is its domain.
    fn url(&self, n: u64) -> String {
        let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (n >> 7);
        let domain = if n < self.domains { n } else { mixed % self.domains };
        let scheme = if mixed & 1 == 0 { "http" } else { "https" };
        let www = if mixed & 6 == 0 { "" } else { "www." };
        match mixed >> 3 & 7 {
            _ if n < self.domains => format!("{scheme}://{www}site-{domain}.com/"),
            0 => format!("{scheme}://{www}site-{domain}.com/Category/Article-{n}.html"),
            1 => format!("{scheme}://{www}site-{domain}.com/index.php?topic={n}&view=all"),
            2 | 3 => format!("{scheme}://{www}site-{domain}.com/news/2014/{n}/"),
            _ => format!("{scheme}://{www}site-{domain}.com/articles/about-number-{n}"),
        }
    }

    fn target(&mut self) -> u64 {
        if self.next() & 1 == 0 {
            ((self.urls as f64).ln() * self.fraction()).exp() as u64
        } else {
            self.next() % self.urls
        }
    }

    fn link(&mut self) -> Link {
        const WORDS: [&str; 16] = [
            "home",
            "read more",
            "archive",
            "the",
            "web",
            "about us",
            "contact",
            "page",
            "news",
            "report",
            "map",
            "history of",
            "photo",
            "free",
            "a study in",
            "download",
        ];
        let target = self.target();
        let url = self.url(target);
        let words = 1 + self.next() % 3;
        let anchor: Vec<&str> = (0..words).map(|_| WORDS[(self.next() % 16) as usize]).collect();
        Link {
            url_key: urlkey::url_key(&url).unwrap_or_default(),
            url,
            anchor: anchor.join(" "),
            nofollow: self.next().is_multiple_of(20),
            kind: Default::default(),
        }
    }

    fn capture(&mut self, n: u64, offset: u64) -> Capture {
        // Pages are a twentieth of all URLs, in an order unrelated to their keys.
        let number = n * 20 - self.next() % 20 - 1;
        let url = self.url(number);
        let links = (0..6 + self.next() % 15).map(|_| self.link()).collect();
        let digest: String = (0..32)
            .map(|_| char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[(self.next() % 32) as usize]))
            .collect();
        Capture {
            url_key: urlkey::url_key(&url).unwrap_or_default(),
            fetch_time_ms: 1_400_000_000_000 + (self.next() % 1_000_000_000) as i64,
            mime: "text/html".into(),
            status: 200,
            digest,
            offset,
            length: 9_000 + self.next() % 1_000,
            kind: CaptureKind::Wat,
            page: Some(Page {
                title: format!("Title of page number {n}"),
                links,
                ..Page::default()
            }),
            url,
            ..Capture::default()
        }
    }
}

fn print_disk(index: &Index, pages: u64, links: u64) {
    let rows = index.disk_bytes();
    for (table, bytes) in &rows {
        println!(
            "{table:>12} {:>8.1} MB {:>7.0} B per page {:>6.1} B per link",
            *bytes as f64 / 1e6,
            *bytes as f64 / pages as f64,
            *bytes as f64 / links as f64
        );
    }
    let without_journal: u64 = rows.iter().filter(|(t, _)| *t != "journal").map(|(_, b)| b).sum();
    println!(
        "{:>12} {:>8.1} MB {:>7.0} B per page {:>6.1} B per link (without the journal)",
        "all",
        without_journal as f64 / 1e6,
        without_journal as f64 / pages as f64,
        without_journal as f64 / links as f64
    );
}

/// Measures common queries on the new index.
fn print_reads(index: &Index) -> anyhow::Result<()> {
    let snapshot = index.snapshot();
    let timed = |what: &str, rows: usize, begun: Instant| {
        println!(
            "{what}: {rows} rows in {:.1} ms",
            begun.elapsed().as_secs_f64() * 1e3
        );
    };
    let begun = Instant::now();
    let top = snapshot.top(None, None, 100)?;
    timed("top 100", top.len(), begun);
    let best = top.first().context("the ranking is empty")?;
    let begun = Instant::now();
    timed(
        "in-links of the first",
        snapshot.inlinks(&best.url_key, None, 100)?.len(),
        begun,
    );
    let begun = Instant::now();
    timed(
        "its domain's top 100",
        snapshot.top(Some("site-1.com"), None, 100)?.len(),
        begun,
    );
    Ok(())
}

/// Returns the processor time of this thread and of all other threads of the process, from the
/// kernel's accounting. On a busy machine it is more meaningful than wall-clock time.
fn cpu_times() -> [Duration; 2] {
    let run_time = |path: &std::path::Path| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.split_whitespace()
            .next()
            .and_then(|ns| ns.parse().ok())
            .map_or(Duration::ZERO, Duration::from_nanos)
    };
    let own = run_time("/proc/thread-self/schedstat".as_ref());
    let tasks = std::fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    let all: Duration = tasks.map(|task| run_time(&task.path().join("schedstat"))).sum();
    [own, all.saturating_sub(own)]
}
