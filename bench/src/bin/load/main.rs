//! Loading, end to end: a synthetic web through `weft load`, compared with a 20-node cluster.
//!
//! `cargo run --release -p bench --bin load -- [--pages 100000] [--mode wat|warc|both]` writes the
//! web with `weft synth` and loads it into a new archive. It prints pages and links per second, the
//! rate of the first and the last tenth, bytes on disk, and peak memory. WAT is loaded as WebIndex
//! loaded it: only links to other domains. WARC is loaded with HTML parsed, all links, and
//! full-text search.
//!
//! `--full` loads all sizes that docs/performance.md has rows for, and
//! `--record docs/performance.md` adds the rows. It needs 45 GB of disk and half an hour.
//!
//! Generating the web is not part of the measurement.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use clap::{Parser, ValueEnum};

mod disk;
mod measured;
mod record;
mod report;

use measured::{Measured, load};

/// Measures loading.
#[derive(Debug, Parser)]
struct Args {
    /// Pages of the synthetic web
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pages: u64,
    /// What to load
    #[arg(long, value_enum, default_value_t = Mode::Both)]
    mode: Mode,
    /// WAT of 200,000, 1,000,000 and 3,000,000 pages, and WARC of 100,000
    #[arg(long, conflicts_with_all = ["pages", "mode"])]
    full: bool,
    /// Add a row for each load to the table at the end of this file
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// The program to measure [default: next to this one]
    #[arg(long, value_name = "FILE", env = "WEFT")]
    weft: Option<PathBuf>,
    /// Folder for the web and the archive, kept [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Number of files of the web
    #[arg(long, value_name = "N", default_value_t = 4)]
    files: u64,
    /// Seed of the web
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Number of re-crawls among a thousand visits
    #[arg(long, value_name = "N", default_value_t = 0)]
    recrawls_permille: u64,
    /// Passed to `weft load`
    #[arg(long, value_name = "N")]
    threads: Option<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    Wat,
    Warc,
    Both,
}

/// One of the two formats in which a web is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Wat,
    Warc,
}

/// The loads of a full run.
const FULL: [(Form, u64); 4] = [
    (Form::Wat, 200_000),
    (Form::Wat, 1_000_000),
    (Form::Wat, 3_000_000),
    (Form::Warc, 100_000),
];

impl Args {
    fn loads(&self) -> Vec<(Form, u64)> {
        let forms: &[Form] = match self.mode {
            _ if self.full => return FULL.to_vec(),
            Mode::Wat => &[Form::Wat],
            Mode::Warc => &[Form::Warc],
            Mode::Both => &[Form::Wat, Form::Warc],
        };
        forms.iter().map(|&form| (form, self.pages)).collect()
    }
}

impl Form {
    fn word(self) -> &'static str {
        match self {
            Form::Wat => "wat",
            Form::Warc => "warc",
        }
    }

    fn links(self) -> &'static str {
        match self {
            Form::Wat => "external",
            Form::Warc => "all",
        }
    }
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let weft = bench::program::weft(args.weft.as_ref())?;
    let temporary = tempfile::tempdir()?;
    let dir = args.dir.clone().unwrap_or_else(|| temporary.path().to_path_buf());
    for (form, pages) in args.loads() {
        let measured = measure(&args, &weft, &dir, form, pages)?;
        report::print(form, &measured);
        if let Some(file) = &args.record {
            record::add(file, form, &measured)?;
        }
    }
    Ok(())
}

fn measure(args: &Args, weft: &Path, dir: &Path, form: Form, pages: u64) -> anyhow::Result<Measured> {
    let folder = dir.join(format!("{}-{pages}-{}", form.word(), args.seed));
    let web = folder.join("web");
    if !web.exists() {
        make_web(args, weft, &web, form, pages)?;
    }
    let archive = folder.join("archive");
    if archive.exists() {
        std::fs::remove_dir_all(&archive).context("remove the archive of the previous run")?;
    }
    let mut command = Command::new(weft);
    command.arg("load").arg(&web).arg("--archive").arg(&archive);
    command.args(["--links", form.links(), "--json"]);
    if let Some(threads) = args.threads {
        command.args(["--threads", &threads.to_string()]);
    }
    let mut measured = load(command)?;
    measured.input_bytes = disk::bytes(&web)?;
    measured.parts = disk::parts(&archive)?;
    ensure!(
        measured.captures() == pages,
        "{} captures, expected {pages}",
        measured.captures()
    );
    if args.dir.is_none() {
        std::fs::remove_dir_all(&folder).context("remove the measured archive")?;
    }
    Ok(measured)
}

/// Writes the web to a temporary folder and renames it, so that an aborted run leaves no incomplete
/// web.
fn make_web(args: &Args, weft: &Path, web: &Path, form: Form, pages: u64) -> anyhow::Result<()> {
    let draft = web.with_extension("draft");
    std::fs::create_dir_all(&draft).context("create a folder for the web")?;
    let status = Command::new(weft)
        .args(["synth", "--format", form.word()])
        .args(["--pages", &pages.to_string(), "--seed", &args.seed.to_string()])
        .args(["--files", &args.files.to_string()])
        .args(["--recrawls-permille", &args.recrawls_permille.to_string()])
        .arg(draft.join(format!("web.{}.gz", form.word())))
        .stdout(std::process::Stdio::null())
        .status()
        .context("run weft synth")?;
    if !status.success() {
        bail!("weft synth failed: {status}");
    }
    std::fs::rename(&draft, web).context("move the web into place")
}
