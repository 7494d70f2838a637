//! Reading WARC files, compared with FastWARC (the crate) and warcio (from the package index).
//!
//! `cargo run --release -p bench --bin read -- [--file FILE] [--megabytes 100] [--runs 7] [--work
//! DIR] [--no-python]`
//!
//! All readers read the same file, from the page cache, one after the other in each run; the median
//! run counts. There are two tasks, on gzip and plain files:
//!
//! - `headers`: every record's header is parsed and its type and target are looked up. Blocks are
//!   skipped (in gzip they are still decompressed). HTTP is not parsed.
//! - `bodies`: in addition, every block is read completely into memory.
//!
//! All readers must find the same number of records and of block bytes.

mod peers;
mod python;
mod synthetic;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail, ensure};

/// What a reader found in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Found {
    records: u64,
    /// Bytes of all blocks, counted if they are read, and declared if they are skipped.
    block_bytes: u64,
    /// Records that have both type and target, so that the lookup is not optimised away.
    with_target: u64,
}

/// The task for each record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Headers,
    Bodies,
}

impl Work {
    fn name(self) -> &'static str {
        match self {
            Work::Headers => "headers",
            Work::Bodies => "bodies",
        }
    }
}

struct Flags {
    file: Option<PathBuf>,
    megabytes: u64,
    runs: usize,
    work: Option<PathBuf>,
    python: bool,
}

fn flags() -> anyhow::Result<Flags> {
    let mut flags = Flags {
        file: None,
        megabytes: 100,
        runs: 7,
        work: None,
        python: true,
    };
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        let mut value = || args.next().with_context(|| format!("{flag} needs a value"));
        match flag.as_str() {
            "--file" => flags.file = Some(value()?.into()),
            "--megabytes" => flags.megabytes = value()?.parse()?,
            "--runs" => flags.runs = value()?.parse()?,
            "--work" => flags.work = Some(value()?.into()),
            "--no-python" => flags.python = false,
            _ => bail!("unknown flag {flag}"),
        }
    }
    ensure!(flags.runs > 0, "--runs must be at least 1");
    Ok(flags)
}

type Reads = Box<dyn Fn(&Path, Work) -> anyhow::Result<(Duration, Found)>>;

fn main() -> anyhow::Result<()> {
    let flags = flags()?;
    let temporary = tempfile::tempdir()?;
    let work = flags.work.unwrap_or_else(|| temporary.path().to_owned());
    std::fs::create_dir_all(&work)?;
    let [gzip, plain] = match flags.file {
        Some(file) => synthetic::both_forms_of(&file, &work)?,
        None => synthetic::make(&work, flags.megabytes << 20)?,
    };
    let mut readers: Vec<(&str, Reads)> = vec![
        ("weft", Box::new(peers::weft)),
        ("fastwarc", Box::new(peers::fastwarc)),
    ];
    if flags.python {
        match python::prepare(&work) {
            Ok(python) => readers.push(("warcio", Box::new(move |path, work| python.read(path, work)))),
            Err(error) => println!("warcio is not measured: {error:#}"),
        }
    }
    println!("container  work     reader      records/s      MB/s   time / weft's");
    for (container, file) in [("gzip", &gzip), ("plain", &plain)] {
        for work in [Work::Headers, Work::Bodies] {
            compare(container, file, work, &readers, flags.runs)?;
        }
    }
    println!(
        "MB/s: decompressed blocks; medians of {} runs, each with all readers in turn",
        flags.runs
    );
    Ok(())
}

fn compare(
    container: &str,
    file: &Path,
    work: Work,
    readers: &[(&str, Reads)],
    runs: usize,
) -> anyhow::Result<()> {
    let mut times = vec![Vec::new(); readers.len()];
    let mut found = None;
    for _ in 0..runs {
        for ((name, read), times) in readers.iter().zip(&mut times) {
            let (time, this) = read(file, work).with_context(|| format!("{name} reads {file:?}"))?;
            let first = *found.get_or_insert(this);
            ensure!(
                first == this,
                "{name} found {this:?} in {file:?}, {} found {first:?}",
                readers[0].0
            );
            times.push(time);
        }
    }
    let Some(found) = found else { return Ok(()) };
    let medians: Vec<f64> = times.into_iter().map(median).collect();
    for ((name, _), seconds) in readers.iter().zip(&medians) {
        println!(
            "{container:9}  {:7}  {name:9}  {:11.0}  {:8.0}   {:.2}",
            work.name(),
            found.records as f64 / seconds,
            found.block_bytes as f64 / 1e6 / seconds,
            seconds / medians[0],
        );
    }
    Ok(())
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64()
}
