//! `weft files diff`: lists changes since a time, or between the catalogue and the disk.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::catalogue::{ChangeKind, Progress, ReportedChange, ScanSettings, is_address, join_renames};

use super::times::{moment_ms, shown_ms};
use super::{JsonPath, display_path, open, run_interruptibly};
use crate::context::Context;
use crate::flag_values::whole_from;
use crate::outcome::Outcome;
use crate::stderr::progress_line;
use crate::stop::Stop;
use crate::units::{bytes, count, counted};

const EXAMPLES: &str = "\
Examples:
  weft files diff                      how disks and stores differ from the catalogue
  weft files diff --path /data/crawls  part of it
  weft files diff 7d                   changes that scans found in the last seven days
  weft files diff 2026-11-01 --sum     numbers of names and bytes

A line begins with + (new), - (removed), ~ (changed) or > (renamed or moved: the same file or
directory has another name; entries below a moved directory are not listed). Changes are kept for
400 days. The first scan of a tree records none. In a comparison with the disk or a store, a
removed directory is one line.
Exit code 1: something differs, or could not be read.";

/// Flags of `weft files diff`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Day (2026-11-01), time, or age (7d, 36h) [default: compare with the current state of the
    /// disk]
    #[arg(value_parser = moment_ms())]
    since: Option<i64>,
    /// Only this directory and everything below it [default: every tree]
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
    /// Time limit for the first access to the disk, so that a hanging mount ends the command
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = whole_from(1_u32, 30))]
    answer_within: u32,
    /// Print only number and total size
    #[arg(long)]
    sum: bool,
}

#[derive(Default)]
struct Sum {
    names: u64,
    bytes: i128,
}

/// Runs `weft files diff`.
pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let catalogue = open(context)?;
    let tops = super::du::tops(&catalogue, args.path.as_slice())?;
    let (mut changes, mut faults) = (Vec::new(), 0);
    match args.since {
        Some(since_ms) => {
            catalogue.changes_since(since_ms, |changed| changes.push(changed))?;
            changes = join_renames(changes);
            // A move into or out of the directory concerns it too.
            changes.retain(|changed| {
                let paths = [Some(&changed.path), changed.from.as_ref()];
                let is_below = |top: &[u8]| paths.into_iter().flatten().any(|path| is_at_or_below(path, top));
                args.path.is_none() || tops.iter().any(|top| is_below(&top.path))
            });
        }
        None => {
            let stop = Stop::listen()?;
            for top in tops {
                let answer_within = Duration::from_secs(args.answer_within.into());
                let (found, unread) =
                    compare_with_disk(&catalogue, &top.path, answer_within, &stop, context)?;
                changes.extend(found);
                faults += unread;
            }
            changes = join_renames(changes);
            changes.sort_by(|a, b| a.path.cmp(&b.path));
        }
    }
    let mut sums: BTreeMap<ChangeKind, Sum> = BTreeMap::new();
    for changed in &changes {
        let sum = sums.entry(changed.what).or_default();
        sum.names += 1;
        sum.bytes += i128::from(changed.size_bytes.1) - i128::from(changed.size_bytes.0);
        sum.bytes -= i128::from(changed.replaced_size_bytes.unwrap_or(0));
        if !args.sum {
            print(changed, args.since.is_some(), context)?;
        }
    }
    print_sums(&sums, args.sum, context)?;
    if faults > 0 {
        progress_line(&format!(
            "{} could not be read and were not compared: run weft files scan, then weft files status \
             --faults, to list them",
            counted(faults, "directory or name", "directories and names")
        ));
    }
    let differs = args.since.is_none() && !changes.is_empty() || faults > 0;
    Ok(if differs { Outcome::Losses } else { Outcome::Done })
}

fn is_at_or_below(path: &[u8], top: &[u8]) -> bool {
    // The root directory `/` itself ends in a slash.
    let top = top.strip_suffix(b"/").unwrap_or(top);
    let rest = path.strip_prefix(top);
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'/')))
}

/// Returns the differences between a catalogued directory or address and the disk or store, and the
/// number of names that could not be read.
pub(super) fn compare_with_disk(
    catalogue: &Arc<::catalogue::Catalogue>,
    path: &[u8],
    answer_within: Duration,
    stop: &Stop,
    context: &Context,
) -> anyhow::Result<(Vec<ReportedChange>, u64)> {
    use std::os::unix::ffi::OsStrExt;
    let changes: Arc<Mutex<Vec<ReportedChange>>> = Arc::default();
    let progress = Progress::default();
    let sink = changes.clone();
    let dir = std::path::Path::new(std::ffi::OsStr::from_bytes(path));
    let each = move |changed| sink.lock().unwrap_or_else(PoisonError::into_inner).push(changed);
    let settings = ScanSettings {
        answer_within,
        ..ScanSettings::default()
    };
    let counts = if is_address(path) {
        let (address, objects) = context.remote_inputs.objects(dir)?;
        let list = || catalogue.compare_objects(&address, &objects, &settings, &progress, each);
        run_interruptibly(&progress, stop, list, || {})?
    } else {
        let walk = || catalogue.compare(dir, &settings, &progress, each);
        run_interruptibly(&progress, stop, walk, || {})?
    };
    let mut changes = changes.lock().unwrap_or_else(PoisonError::into_inner);
    Ok((std::mem::take(&mut *changes), counts.faults))
}

/// Prints a change as a line that begins with its sign, or as JSON.
pub(super) fn print(changed: &ReportedChange, shows_time: bool, context: &mut Context) -> anyhow::Result<()> {
    if context.json {
        let mut row = serde_json::json!({
            "what": changed.what,
            "at": JsonPath::new(&changed.path),
            "kind": changed.kind,
            "inode": changed.inode,
            "size_bytes_before": changed.size_bytes.0,
            "size_bytes": changed.size_bytes.1,
            "found_ms": changed.at_ms,
        });
        if let Some(from) = &changed.from {
            row["from"] = serde_json::json!(JsonPath::new(from));
        }
        if let Some(size_bytes) = changed.replaced_size_bytes {
            row["replaced_size_bytes"] = size_bytes.into();
        }
        context.out.json(&row)?;
        return Ok(());
    }
    let out = &mut context.out;
    let sign = match changed.what {
        ChangeKind::Added => "+",
        ChangeKind::Removed => "-",
        ChangeKind::Changed => "~",
        ChangeKind::Renamed => ">",
    };
    let from = match &changed.from {
        Some(from) => format!("renamed {} -> ", display_path(from)),
        None => String::new(),
    };
    let time = if shows_time {
        format!("{}  ", shown_ms(changed.at_ms))
    } else {
        String::new()
    };
    let size = match (changed.what, changed.size_bytes) {
        (ChangeKind::Changed | ChangeKind::Renamed, (before, now)) if before != now => {
            format!("{} to {}", bytes(before), bytes(now))
        }
        (ChangeKind::Removed, (before, _)) => bytes(before),
        (_, (_, now)) => bytes(now),
    };
    let size = match changed.replaced_size_bytes {
        Some(replaced) => format!("{size}, replaces another file ({})", bytes(replaced)),
        None => size,
    };
    writeln!(
        out,
        "{sign} {time}{from}{}  {}",
        display_path(&changed.path),
        out.style.dim(&size)
    )?;
    Ok(())
}

fn print_sums(sums: &BTreeMap<ChangeKind, Sum>, only: bool, context: &mut Context) -> anyhow::Result<()> {
    let sum = |what| sums.get(&what).map_or((0, 0), |sum| (sum.names, sum.bytes));
    let (added, removed, changed) = (
        sum(ChangeKind::Added),
        sum(ChangeKind::Removed),
        sum(ChangeKind::Changed),
    );
    let renamed = sum(ChangeKind::Renamed);
    if context.json {
        if only {
            let row =
                |(names, bytes): (u64, i128)| serde_json::json!({ "names": names, "bytes": bytes as i64 });
            let rows = serde_json::json!({
                "added": row(added),
                "removed": row(removed),
                "changed": row(changed),
                "renamed": row(renamed),
            });
            context.out.json(&rows)?;
        }
        return Ok(());
    }
    let row = |(names, change): (u64, i128)| {
        let sign = if change < 0 { "-" } else { "+" };
        format!(
            "{} ({sign}{})",
            count(names),
            bytes(u64::try_from(change.unsigned_abs()).unwrap_or(u64::MAX))
        )
    };
    let line = format!(
        "{} new, {} removed, {} changed, {} renamed",
        row(added),
        row(removed),
        row(changed),
        row(renamed)
    );
    writeln!(context.out, "{line}")?;
    Ok(())
}
