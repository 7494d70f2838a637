//! Searching under load: clients query `weft serve` over HTTP, first without updates and then while
//! pages are updated. The results are compared with published figures of a search engine on HBase.
//!
//! `cargo run --release -p bench --bin search -- [--pages 20000] [--seconds 10]` writes a web with
//! `weft synth --format warc`, loads all of it except the last file, serves it, and queries it with
//! 1 to 100 clients and 100 results per page. Then it loads pages one by one, while 10 clients
//! query, and measures how long it takes until each is found. Finally it queries again while a
//! `weft load --rate 10` reads the last file: re-crawls and new pages. `--archive DIR` uses an
//! existing archive, and `--updates FILE` a file to update it from. All pages that were loaded stay
//! in the archive.
//!
//! Client and server share the processors of the machine.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Parser;

mod clients;
mod dice;
mod findable;
mod hidden;
mod queries;
mod report;
mod server;
mod short;

use hidden::Hidden;
use server::Server;

/// Concurrent clients, as in the published test.
const CLIENTS: [usize; 6] = [1, 5, 10, 25, 50, 100];

/// Pages changed per second in the mixed test.
const UPDATES_PER_S: &str = "10";

/// Re-crawls of a page among 1,000 visits.
const RECRAWLS_PERMILLE: &str = "300";

/// The same in a full run, whose web is large enough.
const FULL_RECRAWLS_PERMILLE: &str = "50";

/// Visits of the web in a full run. Without re-crawls and the last file, a million documents are
/// searched.
const FULL_PAGES: u64 = 1_120_000;

/// Preferences of each kind.
const PREFERENCES: &str = "lang:en site:example.com place:example.org^40 type:html from:2024-01-01";

/// Files of the synthetic web; the last is for the updates.
const FILES: u64 = 21;

/// Measures searching.
#[derive(Debug, Parser)]
struct Args {
    /// Pages of the synthetic web
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pages: u64,
    /// A million documents, as in the published test (40 GB of disk, most of an hour)
    #[arg(long, conflicts_with = "pages")]
    full: bool,
    /// Instead of a synthetic web, this many records of 50 characters, the published test's second
    /// workload (which had 180 million)
    #[arg(long, value_name = "N", conflicts_with_all = ["pages", "full"])]
    short_records: Option<u64>,
    /// Seed of the synthetic web and of the queries
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// How long to query with each number of clients
    #[arg(long, value_name = "S", default_value_t = 10)]
    seconds: u64,
    /// Request facets too, as the web page does
    #[arg(long)]
    facets: bool,
    /// Query also as a caller who sees this percentage of the pages, by rules that hide domains
    /// from the public
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..100))]
    seen_percent: Option<u8>,
    /// Query also with preferences, which reorder the best results; empty for none
    #[arg(long, value_name = "TEXT", default_value = PREFERENCES)]
    prefer: String,
    /// An existing archive
    #[arg(long, value_name = "DIR")]
    archive: Option<PathBuf>,
    /// File to update `--archive` from; without it there is no second table
    #[arg(long, value_name = "FILE", requires = "archive")]
    updates: Option<PathBuf>,
    /// Folder for the web and the archive, kept [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The program to measure [default: next to this one]
    #[arg(long, value_name = "FILE", env = "WEFT")]
    weft: Option<PathBuf>,
}

/// The archive to query and the file to update it from.
struct Subject {
    archive: PathBuf,
    updates: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let mut args = Args::parse();
    if args.full {
        args.pages = FULL_PAGES;
    }
    let weft = bench::program::weft(args.weft.as_ref())?;
    let temporary = tempfile::tempdir()?;
    let dir = args.dir.clone().unwrap_or_else(|| temporary.path().to_path_buf());
    let subject = subject(&args, &weft, &dir)?;
    let server = Server::start(&weft, &subject.archive)?;
    let queries = queries::sample(&server, args.seed, args.facets)?;
    report::subject(&server, &queries)?;
    report::heading("without other work");
    measure(&server, &queries, args.seconds)?;
    if !args.prefer.is_empty() {
        report::heading(&format!("with preferences: {}", args.prefer));
        measure(&server, &queries.preferring(&args.prefer), args.seconds)?;
    }
    if let Some(percent) = args.seen_percent {
        measure_hidden(&server, &queries, &subject, &args, percent)?;
    }
    let findable = findable::measure(&server, &weft, &subject.archive, temporary.path(), &queries)?;
    report::findable(&findable);
    if let Some(updates) = &subject.updates {
        let load = Load::start(&weft, &subject.archive, updates)?;
        report::heading("during updates of 10 pages/s");
        measure(&server, &queries, args.seconds)?;
        load.end()?;
    }
    Ok(())
}

/// Measures the same for callers who see a part of the pages.
fn measure_hidden(
    server: &Server,
    queries: &queries::Queries,
    subject: &Subject,
    args: &Args,
    percent: u8,
) -> anyhow::Result<()> {
    let rules = subject.archive.join("rights.toml");
    ensure!(!rules.exists(), "{} already exists", rules.display());
    let hidden = Arc::new(Hidden::choose(server, rules, f64::from(percent) / 100.0)?);
    let seen = format!("a user who sees {:.0} % of the pages", hidden.seen * 100.0);
    for (strict, how) in [(false, ""), (true, ", strict")] {
        hidden.write(strict, None)?;
        report::heading(&format!("for {seen}{how}"));
        measure(server, queries, args.seconds)?;
        report::heading(&format!("for {seen}{how}, with a rule change every second"));
        let _changing = hidden.change(strict);
        measure(server, queries, args.seconds)?;
    }
    Ok(())
}

fn measure(server: &Server, queries: &queries::Queries, seconds: u64) -> anyhow::Result<()> {
    for clients in CLIENTS {
        let measured = clients::ask(server, queries, clients, Duration::from_secs(seconds))?;
        report::row(clients, &measured);
    }
    Ok(())
}

/// Returns the given archive, or a new one of a synthetic web.
fn subject(args: &Args, weft: &Path, dir: &Path) -> anyhow::Result<Subject> {
    if let Some(archive) = &args.archive {
        return Ok(Subject {
            archive: archive.clone(),
            updates: args.updates.clone(),
        });
    }
    let (files, updates) = match args.short_records {
        Some(records) => {
            let file = dir.join(format!("short-records-{records}-{}.warc.wet", args.seed));
            short::write(&file, records, args.seed)?;
            (vec![file], None)
        }
        None => web(args, weft, dir)?,
    };
    let archive = dir.join("search-archive");
    if archive.exists() {
        std::fs::remove_dir_all(&archive).context("remove the archive of the previous run")?;
    }
    let mut load = Command::new(weft);
    load.arg("load").args(&files).arg("--archive").arg(&archive);
    run(load, "weft load")?;
    Ok(Subject { archive, updates })
}

/// Returns the files of the synthetic web, and the one for the updates.
fn web(args: &Args, weft: &Path, dir: &Path) -> anyhow::Result<(Vec<PathBuf>, Option<PathBuf>)> {
    let web = dir.join(format!("search-web-{}-{}", args.pages, args.seed));
    if !web.exists() {
        make_web(args, weft, &web)?;
    }
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(&web)? {
        files.push(entry?.path());
    }
    files.sort();
    let updates = files.pop().filter(|_| !files.is_empty());
    Ok((files, updates))
}

/// Writes the web to a temporary folder and renames it, so that an aborted run leaves no incomplete
/// web.
fn make_web(args: &Args, weft: &Path, web: &Path) -> anyhow::Result<()> {
    let draft = web.with_extension("draft");
    std::fs::create_dir_all(&draft).context("create a folder for the web")?;
    let mut synth = Command::new(weft);
    let recrawls = if args.full {
        FULL_RECRAWLS_PERMILLE
    } else {
        RECRAWLS_PERMILLE
    };
    synth.args(["synth", "--format", "warc", "--recrawls-permille", recrawls]);
    synth.args([
        "--pages",
        &args.pages.to_string(),
        "--seed",
        &args.seed.to_string(),
    ]);
    synth.args(["--files", &FILES.to_string()]);
    synth.arg(draft.join("web.warc.gz"));
    run(synth, "weft synth")?;
    std::fs::rename(&draft, web).context("move the web into place")
}

fn run(mut command: Command, name: &str) -> anyhow::Result<()> {
    let status = command
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("run {name}"))?;
    ensure!(status.success(), "{name} failed: {status}");
    Ok(())
}

/// The update that runs during the queries.
struct Load(Child);

impl Load {
    fn start(weft: &Path, archive: &Path, updates: &Path) -> anyhow::Result<Load> {
        let child = Command::new(weft)
            .arg("load")
            .arg(updates)
            .arg("--archive")
            .arg(archive)
            .args(["--rate", UPDATES_PER_S])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("start weft load")?;
        Ok(Load(child))
    }

    /// Ends the update. Prints a note if it had finished before the queries ended.
    fn end(mut self) -> anyhow::Result<()> {
        match self.0.try_wait()? {
            Some(status) if status.success() => {
                println!("(the updates ended before the queries; use more --pages)");
            }
            Some(status) => anyhow::bail!("the update failed: {status}"),
            None => {}
        }
        Ok(())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        // Like Ctrl-C: the server runs the load and would continue it if the client were killed.
        let pid = rustix::process::Pid::from_child(&self.0);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        let _ = self.0.wait();
    }
}
