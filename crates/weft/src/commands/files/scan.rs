//! `weft files scan`: walks directories and updates the catalogue.

use std::io::{IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::catalogue::{
    Catalogue, LastStage, Magic, Progress, ScanError, ScanReport, ScanRow, ScanSettings, is_address,
};
use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::Arc;

use super::{JsonPath, JsonUsage, create, display_path, magic_values, number, run_interruptibly};
use crate::context::Context;
use crate::flag_values::{choice, whole, whole_from};
use crate::outcome::{Outcome, WrongUse};
use crate::stage_table::print_stages;
use crate::stderr::progress_line;
use crate::stop::Stop;
use crate::units::{bytes, count, counted, duration_ms, per_second};

const EXAMPLES: &str = "\
Examples:
  weft files scan /data/crawls            a whole tree
  weft files scan /data /home             several trees
  weft files scan --partial /data/crawls/2026    part of a catalogued tree
  weft files scan /data --magic           also read files whose names do not tell their formats
  weft files scan /data --stages          with statistics of each stage
  weft files scan s3://crawls/2026/       the objects of an S3 store below a prefix
  weft files scan store://crawls          the objects of a bucket of Weft's own store

A directory within a catalogued tree is scanned as part of that tree. A stopped scan continues
where it stopped. Mount points below a directory are skipped unless --cross-devices is given.
Objects are listed page by page; s3:// takes keys, region and endpoint from AWS_ACCESS_KEY_ID,
AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL, and store:// is the store that WEFT_STORE
names.
Exit code 1: something could not be read; weft files status --faults lists it.";

/// Flags of `weft files scan`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Directories, or addresses of objects (s3://bucket/prefix/, store://bucket/prefix/)
    #[arg(value_name = "DIR", required_unless_present = "partial")]
    dirs: Vec<PathBuf>,
    /// Only this part of a tree that is already catalogued
    #[arg(long, value_name = "DIR")]
    partial: Vec<PathBuf>,
    /// Threads that list directories, and as many that stat entries [default: number of processors,
    /// at most 8 to list and 16 to stat]
    #[arg(long, value_name = "N", value_parser = whole(1_u16..=256, 4))]
    threads: Option<u16>,
    /// Approximate maximum number of entries queued between stages
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = whole_from(1_usize, 100_000), hide_short_help = true)]
    max_pending: usize,
    /// Descend into file systems mounted below the directories
    #[arg(long)]
    cross_devices: bool,
    /// Start from the beginning even if the last scan was interrupted
    #[arg(long)]
    anew: bool,
    /// Read the first bytes of files whose names do not reveal their format, or with --magic=all of
    /// all files; unchanged files are not read again
    #[arg(
        long,
        value_parser = magic_values(),
        value_name = "WHICH",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "unnamed"
    )]
    magic: Option<Magic>,
    /// Time limit for the first access to a directory, so that a hanging mount ends the command
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = whole_from(1_u32, 30), hide_short_help = true)]
    answer_within: u32,
    /// Print statistics of each stage
    #[arg(long, hide_short_help = true)]
    stages: bool,
    /// Disable all stages after this one, to find the slowest; nothing is written
    #[arg(
        long,
        value_parser = choice(STAGES),
        value_name = "STAGE",
        default_value = "apply",
        hide_short_help = true
    )]
    until: LastStage,
}

/// The stages of a scan, in order, with their names on the command line.
const STAGES: [(&str, LastStage); 5] = [
    ("read-dir", LastStage::ReadDir),
    ("stat", LastStage::Stat),
    ("lookup", LastStage::Lookup),
    ("diff", LastStage::Diff),
    ("apply", LastStage::Apply),
];

/// Runs `weft files scan`.
pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let catalogue = create(context)?;
    let mut settings = ScanSettings {
        cross_devices: args.cross_devices,
        restart: args.anew,
        magic: args.magic.unwrap_or_default(),
        answer_within: Duration::from_secs(args.answer_within.into()),
        pending_max: args.max_pending,
        last_stage: args.until,
        ..ScanSettings::default()
    };
    if let Some(threads) = args.threads.map(usize::from) {
        (settings.read_threads, settings.stat_threads) = (threads, threads);
    }
    for dir in &args.partial {
        if catalogue.locate(dir)?.is_none() && !is_in_tree(&catalogue, dir)? {
            let dir = dir.display();
            return Err(WrongUse(format!(
                "{dir} is not in a catalogued tree: scan it without --partial"
            ))
            .into());
        }
    }
    let stop = Stop::listen()?;
    let mut outcome = Outcome::Done;
    for dir in args.dirs.iter().chain(&args.partial) {
        outcome = outcome.max(scan_one(&catalogue, dir, &settings, &stop, args, context)?);
    }
    Ok(outcome)
}

/// Returns whether a directory that is not catalogued itself is inside a catalogued tree.
fn is_in_tree(catalogue: &Catalogue, dir: &Path) -> anyhow::Result<bool> {
    let address = dir.as_os_str().as_bytes();
    if is_address(address) {
        // Directories of objects come and go: a new one may be several levels below a known one.
        let trees = catalogue.tree_paths()?;
        let is_below = |tree: &Vec<u8>| {
            address
                .strip_prefix(&**tree)
                .is_some_and(|rest| rest.starts_with(b"/"))
        };
        return Ok(trees.iter().any(is_below));
    }
    let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty());
    Ok(catalogue.locate(parent.unwrap_or(Path::new(".")))?.is_some())
}

fn scan_one(
    catalogue: &Arc<Catalogue>,
    dir: &Path,
    settings: &ScanSettings,
    stop: &Stop,
    args: &Args,
    context: &mut Context,
) -> anyhow::Result<Outcome> {
    let progress = Progress::default();
    let begun = system::now();
    let shows_bar = !context.json && std::io::stderr().is_terminal();
    let bar = if shows_bar { bar() } else { ProgressBar::hidden() };
    let mut shown_at = system::now();
    let tick = || {
        let rate = per_second(progress.entries(), system::since(begun).as_millis() as u64);
        let entries = counted(progress.entries(), "entry", "entries");
        let line = format!("{entries}  {}/s  {}", count(rate), dir.display());
        if shows_bar {
            bar.set_message(line);
        } else if !context.json && system::since(shown_at) > Duration::from_secs(10) {
            shown_at = system::now();
            progress_line(&line);
        }
    };
    let result = if is_address(dir.as_os_str().as_bytes()) {
        let (address, objects) = context.remote_inputs.objects(dir)?;
        let scan = || catalogue.scan_objects(&address, &objects, settings, &progress);
        run_interruptibly(&progress, stop, scan, tick)
    } else {
        run_interruptibly(&progress, stop, || catalogue.scan(dir, settings, &progress), tick)
    };
    bar.finish_and_clear();
    let scanned = result.map_err(|error| match error.downcast_ref() {
        Some(ScanError::Stopped) => anyhow::anyhow!(
            "stopped: what was read is kept; weft files scan {} continues",
            dir.display()
        ),
        _ => error,
    })?;
    let elapsed_ms = system::since(begun).as_millis() as u64;
    print(&scanned, dir, elapsed_ms, args, context).context("print what was scanned")?;
    Ok(if scanned.row.counts.faults > 0 {
        Outcome::Losses
    } else {
        Outcome::Done
    })
}

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{elapsed_precise} {spinner} {wide_msg}");
    let bar =
        ProgressBar::new_spinner().with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

fn print(
    scanned: &ScanReport,
    dir: &Path,
    elapsed_ms: u64,
    args: &Args,
    context: &mut Context,
) -> anyhow::Result<()> {
    let stages = &scanned.stages;
    let row = &scanned.row;
    if context.json {
        context.out.json(&json(scanned, elapsed_ms))?;
        return Ok(());
    }
    if !matches!(args.until, LastStage::Apply) {
        return print_stages(stages, context);
    }
    print_counts(&scanned.row, context)?;
    let part = if row.below.is_empty() {
        String::new()
    } else {
        format!(" of {}", dir.display())
    };
    let resumed = if row.resumed > 0 {
        ", continued after a stop"
    } else {
        ""
    };
    writeln!(
        context.out,
        "scan {}{part}: {} in {} ({}/s){resumed}",
        scanned.number,
        counted(row.counts.entries, "entry", "entries"),
        duration_ms(elapsed_ms),
        count(per_second(
            stages.get(1).map_or(0, |stage| stage.done),
            elapsed_ms
        )),
    )?;
    if args.stages || context.verbose > 0 {
        writeln!(context.out)?;
        print_stages(stages, context)?;
    }
    Ok(())
}

fn json(scanned: &ScanReport, elapsed_ms: u64) -> serde_json::Value {
    let row = &scanned.row;
    let mut root = row.root.to_vec();
    if !row.below.is_empty() {
        root.push(b'/');
        root.extend_from_slice(&row.below);
    }
    serde_json::json!({
        "scan": scanned.number,
        "dir": JsonPath::new(&root),
        "counts": row.counts,
        "total": JsonUsage::new(&row.total),
        "resumed": row.resumed,
        "elapsed_ms": elapsed_ms,
        "stages": scanned.stages,
    })
}

/// Prints the totals of the tree, and what the scan changed and could not read.
fn print_counts(row: &ScanRow, context: &mut Context) -> anyhow::Result<()> {
    let out = &mut context.out;
    let total = &row.total;
    let root = display_path(&row.root);
    writeln!(
        out,
        "{}: {} ({}), {}, {} on disk",
        out.style.bold(&root),
        counted(number(total.entries), "entry", "entries"),
        counted(number(total.directories), "directory", "directories"),
        bytes(number(total.size_bytes)),
        bytes(number(total.disk_bytes())),
    )?;
    let counts = &row.counts;
    let mut line = format!(
        "{} added, {} removed, {} changed",
        count(counts.added),
        count(counts.removed),
        count(counts.changed)
    );
    if counts.vanished > 0 {
        line.push_str(&format!(", {} vanished during the scan", count(counts.vanished)));
    }
    writeln!(out, "{line}")?;
    if counts.faults > 0 {
        let line = out
            .style
            .bad(&format!("{} could not be read", count(counts.faults)));
        writeln!(out, "{line}: weft files status --faults")?;
    }
    Ok(())
}
