//! `weft files watch`: keeps trees of the catalogue up to date as they change.

use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::catalogue::{Magic, Progress, ScanSettings, StaleReason, Watch, WatchEvent, WatchSettings};
use anyhow::Context as _;

use super::times::shown_ms;
use super::{CATALOGUE, JsonPath, display_path, magic_values};
use crate::context::Context;
use crate::flag_values::whole_from;
use crate::outcome::{Outcome, WrongUse};
use crate::stderr::progress_line;
use crate::stop::Stop;
use crate::units::{count, counted};

const EXAMPLES: &str = "\
Examples:
  weft files watch /data/crawls           until Ctrl-C; a new tree is scanned first
  weft files watch /data /home            several trees: only one watch per catalogue
  weft files watch /data --json           print a line of JSON for each commit
  weft files status                       how fresh each tree is; works while the watch runs

Changes are reported by the system (inotify), and are in the catalogue about a second later. Each
directory takes one of the watches that fs.inotify.max_user_watches allows. Changes made while no
watch ran are found at the start: names at once, everything else by a scan soon after
(docs/files.md).";

/// Flags of `weft files watch`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Directories, watched as whole trees
    #[arg(value_name = "DIR", required = true)]
    dirs: Vec<PathBuf>,
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
    /// Time limit for the first access to a directory; beyond it the tree counts as away
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = whole_from(1_u32, 30))]
    answer_within: u32,
    /// Maximum number of watched directories; others are scanned periodically [default: as many as
    /// the system allows]
    #[arg(long, value_name = "N", value_parser = whole_from(1_usize, 10_000))]
    max_watches: Option<usize>,
    /// Delay before scanning a tree that may have missed changes; it doubles with each scan, up to
    /// an hour
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = whole_from(0_u32, 60))]
    scan_after: u32,
}

/// Runs `weft files watch`.
pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    if context.read_only {
        return Err(WrongUse("a watch writes: run it without --read-only".to_owned()).into());
    }
    let scan_after = Duration::from_secs(args.scan_after.into());
    let defaults = WatchSettings::default();
    let settings = WatchSettings {
        watches_max: args.max_watches.unwrap_or(usize::MAX),
        scan: ScanSettings {
            magic: args.magic.unwrap_or_default(),
            answer_within: Duration::from_secs(args.answer_within.into()),
            ..defaults.scan
        },
        scan_after,
        scan_after_max: defaults.scan_after_max.max(scan_after),
        ..defaults
    };
    let stop = Stop::listen()?;
    let watch = Watch::begin(&context.archive.join(CATALOGUE), &args.dirs, settings)?;
    let progress = Progress::default();
    let told = progress.clone();
    // Never joined: the thread ends with the process if no stop is requested.
    std::thread::Builder::new()
        .name("stop".into())
        .spawn(move || {
            stop.wait();
            told.stop();
        })
        .context("start waiting for Ctrl-C")?;
    let mut printed = Ok(());
    watch.run(&progress, |note| {
        if printed.is_ok() {
            printed = print(&note, context).context("print the changes");
        }
        // If printing fails, the reader has gone: stop.
        if printed.is_err() {
            progress.stop();
        }
    })?;
    printed.map(|()| Outcome::Done)
}

fn print(note: &WatchEvent, context: &mut Context) -> anyhow::Result<()> {
    if context.json {
        context.out.json(&json(note))?;
        return Ok(context.out.flush()?);
    }
    match note {
        WatchEvent::Committed { counts } => {
            writeln!(
                context.out,
                "{}  {} added, {} removed, {} changed",
                shown_ms(system::time_ms()),
                count(counts.added),
                count(counts.removed),
                count(counts.changed)
            )?;
            context.out.flush()?;
        }
        note => note_text(note).iter().for_each(|line| progress_line(line)),
    }
    Ok(())
}

/// Formats a note of a watch, except notes of commits.
pub(crate) fn note_text(note: &WatchEvent) -> Option<String> {
    Some(match note {
        WatchEvent::Committed { .. } => return None,
        WatchEvent::Scanning { path } => format!("{}: scanning", path_text(path)),
        WatchEvent::Current { path, watched } => {
            let watched = counted(*watched as u64, "directory", "directories");
            format!("{} is current; {watched} watched", path_text(path))
        }
        WatchEvent::Stale { path, reason } => {
            format!("{}: {}", path_text(path), because(*reason))
        }
        WatchEvent::Limit { watched, error } => match error {
            None => format!(
                "only {} can be watched: raise fs.inotify.max_user_watches (or --max-watches); the others \
                 are scanned periodically",
                counted(*watched as u64, "directory", "directories")
            ),
            Some(error) => {
                format!("some directories cannot be watched ({error}); they are scanned periodically")
            }
        },
        WatchEvent::Waiting => "another process has the catalogue open; waiting to record changes".to_owned(),
    })
}

fn path_text(path: &Path) -> String {
    display_path(path.as_os_str().as_bytes())
}

/// Describes why a tree may have missed changes.
pub(super) fn because(reason: StaleReason) -> &'static str {
    match reason {
        StaleReason::Restart => "changes may have been missed while no watch ran",
        StaleReason::Overflow => "too many changes at once; some were missed",
        StaleReason::Away => {
            "the directory was missing or replaced by another (to accept that, scan it with weft files scan)"
        }
        StaleReason::Limit => "some of its directories cannot be watched",
        StaleReason::Ended => "the watch ended",
        StaleReason::Killed => "the watch was killed",
    }
}

fn json(note: &WatchEvent) -> serde_json::Value {
    let at_ms = system::time_ms();
    let dir = |path: &Path| JsonPath::new(path.as_os_str().as_bytes());
    match note {
        WatchEvent::Committed { counts } => {
            serde_json::json!({ "at_ms": at_ms, "what": "committed", "counts": counts })
        }
        WatchEvent::Scanning { path } => {
            serde_json::json!({ "at_ms": at_ms, "what": "scanning", "dir": dir(path) })
        }
        WatchEvent::Current { path, watched } => {
            serde_json::json!({ "at_ms": at_ms, "what": "current", "dir": dir(path), "watched": watched })
        }
        WatchEvent::Stale { path, reason } => {
            serde_json::json!({ "at_ms": at_ms, "what": "stale", "dir": dir(path), "reason": reason })
        }
        WatchEvent::Limit { watched, error } => {
            serde_json::json!({ "at_ms": at_ms, "what": "limit", "watched": watched, "error": error })
        }
        WatchEvent::Waiting => serde_json::json!({ "at_ms": at_ms, "what": "waiting" }),
    }
}
