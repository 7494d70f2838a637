//! SQL: the questions of docs/sql.md over many capture rows, compared with DuckDB on the same
//! Parquet files. Also measures lookups by key in the live views, the check of all views, and the
//! size of the facts.
//!
//! `cargo run --release -p bench --bin sql -- [--pages 50000] [--copies 2]` writes a web with
//! `weft synth`, loads it, and asks the questions. To give engines many rows from an archive that
//! is loaded in minutes, the files of facts are added to their tables several times under other
//! names, so that each row is there as often. Questions are asked in turn, after an uncounted run;
//! medians are printed. Needs `weft-sql` next to `weft`, and a Python with `duckdb` and `pyarrow`
//! (`--python`).

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bench::sql_server::Server;
use clap::Parser;

mod copies;
mod duckdb;
mod questions;

use duckdb::DuckDb;

/// Counted runs of each question.
const RUNS: usize = 3;

/// Number of keys to look up.
const LOOKUPS: usize = 300;

/// Pages and copies of a full run: 20 million rows of captures.
const FULL: (u64, u64) = (1_000_000, 20);

/// Memory for rows, for either engine.
const MEMORY_BYTES: u64 = 4 << 30;

/// Measures SQL.
#[derive(Debug, Parser)]
struct Args {
    /// Pages of the synthetic web
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    pages: u64,
    /// How often each row of captures is in its table
    #[arg(long, value_name = "N", default_value_t = 2)]
    copies: u64,
    /// A million pages, 20 times each
    #[arg(long, conflicts_with_all = ["pages", "copies"])]
    full: bool,
    /// Seed of the synthetic web
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Folder for the web and the archive, kept [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// A Python with the package duckdb
    #[arg(long, value_name = "FILE", default_value = "python3")]
    python: PathBuf,
    /// The program to measure, with weft-sql next to it [default: next to this one]
    #[arg(long, value_name = "FILE", env = "WEFT")]
    weft: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let mut args = Args::parse();
    if args.full {
        (args.pages, args.copies) = FULL;
    }
    let weft = bench::program::weft(args.weft.as_ref())?;
    let weft_sql = weft.with_file_name("weft-sql");
    ensure!(
        weft_sql.exists(),
        "{} is missing; build it with: make sql",
        weft_sql.display()
    );
    let temporary = tempfile::tempdir()?;
    let dir = args.dir.clone().unwrap_or_else(|| temporary.path().to_path_buf());
    let (archive, load) = load(&args, &weft, &dir)?;
    sizes(&archive)?;
    verify(&weft_sql, &archive, load)?;
    copies::enter(&archive.join("facts/captures"), args.copies)?;

    let server = Server::start(&weft_sql, &archive, MEMORY_BYTES, |_| ())?;
    let captures = server.count("select count(*) from captures")?;
    let links = server.count("select count(*) from links")?;
    println!("\n{captures} rows of captures, {links} of links; seconds, median of {RUNS} runs\n");
    println!(
        "{:<40} {:>9} {:>9} {:>7} {:>8}",
        "question", "weft-sql", "DuckDB", "ratio", "rows"
    );
    let mut peer = DuckDb::start(&args.python, &archive)?;
    let (mut slower, mut ahead, mut asked) = (0, 0, 0);
    for question in questions::all()? {
        let is_shared = questions::is_shared(&question);
        let ours = median(RUNS, || server.rows(&question.statement))?;
        if !is_shared {
            println!(
                "{:<40} {:>9.3} {:>9} {:>7} {:>8}",
                question.title,
                ours.0.as_secs_f64(),
                "-",
                "-",
                ours.1
            );
            continue;
        }
        let theirs = median(RUNS, || peer.rows(&question.statement))?;
        ensure!(
            ours.1 == theirs.1,
            "{}: {} rows from weft-sql, {} from the peer",
            question.title,
            ours.1,
            theirs.1
        );
        let ratio = ours.0.as_secs_f64() / theirs.0.as_secs_f64();
        asked += 1;
        slower += usize::from(ratio > 1.5);
        ahead += usize::from(ratio < 1.0);
        println!(
            "{:<40} {:>9.3} {:>9.3} {:>7.2} {:>8}",
            question.title,
            ours.0.as_secs_f64(),
            theirs.0.as_secs_f64(),
            ratio,
            ours.1
        );
    }
    println!("\nof {asked} queries: {ahead} faster, {slower} more than 1.5 times slower (aim: half, none)");
    lookups(&server)
}

/// Loads the archive and returns how long that took. A web from an earlier run is reused.
fn load(args: &Args, weft: &Path, dir: &Path) -> anyhow::Result<(PathBuf, Option<Duration>)> {
    let name = format!("sql-{}-{}", args.pages, args.seed);
    let (web, archive) = (dir.join(format!("{name}.wat.gz")), dir.join(&name));
    // Its tables have the copies of the run before.
    if archive.exists() {
        std::fs::remove_dir_all(&archive).context("remove the archive of the previous run")?;
    }
    if !web.exists() {
        let draft = dir.join(format!("{name}.draft.wat.gz"));
        let mut synth = Command::new(weft);
        synth.args(["synth", "--format", "wat", "--pages", &args.pages.to_string()]);
        synth.args(["--seed", &args.seed.to_string()]).arg(&draft);
        run(&mut synth)?;
        std::fs::rename(&draft, &web)?;
    }
    let begun = Instant::now();
    run(Command::new(weft)
        .arg("load")
        .arg(&web)
        .arg("--archive")
        .arg(&archive))?;
    let took = begun.elapsed();
    println!("load of {} pages: {:.1} s", args.pages, took.as_secs_f64());
    Ok((archive, Some(took)))
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}

/// Prints the size of the facts on disk.
fn sizes(archive: &Path) -> anyhow::Result<()> {
    for table in ["captures", "links"] {
        let files = copies::files(&archive.join("facts").join(table))?;
        let bytes: u64 = files.iter().map(|file| file.size).sum();
        let rows: u64 = files.iter().map(|file| file.rows).sum();
        println!(
            "facts/{table}: {rows} rows, {:.1} bytes each",
            bytes as f64 / rows.max(1) as f64
        );
    }
    Ok(())
}

/// Checks every view against its definition.
fn verify(weft_sql: &Path, archive: &Path, load: Option<Duration>) -> anyhow::Result<()> {
    let begun = Instant::now();
    let mut command = Command::new(weft_sql);
    command
        .arg("verify")
        .arg("--archive")
        .arg(archive)
        .stdout(Stdio::null());
    let mut child = command.spawn().context("start weft-sql verify")?;
    let mut peak = 0;
    let status = loop {
        peak = peak.max(bench::process::memory_bytes_max(child.id()).unwrap_or(0));
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    ensure!(status.success(), "weft-sql verify: {status}");
    let took = begun.elapsed();
    let of_load = load.map_or(String::new(), |load| {
        format!(
            ", {:.2} of the time to load (aim: below 1)",
            took.as_secs_f64() / load.as_secs_f64()
        )
    });
    println!(
        "verify: {:.1} s{of_load}, peak {} MiB (aim: below 1,024)",
        took.as_secs_f64(),
        peak >> 20
    );
    Ok(())
}

/// Returns the median time and the number of rows of some runs, after an uncounted one.
fn median(
    runs: usize,
    mut ask: impl FnMut() -> anyhow::Result<(Duration, u64)>,
) -> anyhow::Result<(Duration, u64)> {
    ask()?;
    let mut measured = (0..runs).map(|_| ask()).collect::<Result<Vec<_>, _>>()?;
    measured.sort();
    measured.get(runs / 2).copied().context("no runs")
}

/// Measures lookups by key, one after the other.
fn lookups(server: &Server) -> anyhow::Result<()> {
    let keys = server.texts(&format!(
        "select url_key from pages order by random() limit {LOOKUPS}"
    ))?;
    for (name, statement) in [
        ("pages WHERE url_key =", "select * from pages where url_key = '"),
        (
            "inlinks WHERE target_key =",
            "select * from inlinks where target_key = '",
        ),
        (
            "captures WHERE url_surtkey =",
            "select * from captures where url_surtkey = '",
        ),
    ] {
        let ask = |key: &String| server.rows(&format!("{statement}{}'", key.replace('\'', "''")));
        let mut times = keys
            .iter()
            .map(|key| Ok(ask(key)?.0))
            .collect::<anyhow::Result<Vec<Duration>>>()?;
        times.sort();
        let at = |share: usize| {
            times
                .get(times.len() * share / 100)
                .map_or(0.0, |time| time.as_secs_f64() * 1e3)
        };
        println!(
            "{name:<30} median {:.2} ms, 95 % {:.2} ms over HTTP (aim of live look-ups: 2 ms)",
            at(50),
            at(95)
        );
    }
    Ok(())
}
