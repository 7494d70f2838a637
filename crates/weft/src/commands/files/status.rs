//! `weft files status`: shows the catalogued trees and how fresh they are.

use std::io::Write;

use ::catalogue::{Catalogue, Freshness, Root, ScanState};

use super::times::{ago, shown_ms};
use super::watch::because;
use super::{JsonPath, JsonUsage, display_path, number, open};
use crate::context::Context;
use crate::outcome::Outcome;
use crate::table::{Column, Table};
use crate::units::{bytes, count, counted, duration_ms};

const EXAMPLES: &str = "\
Examples:
  weft files status
  weft files status --scans        every scan and its results
  weft files status --faults       what could not be read
  weft files status --recompute    recompute every sum from the entries and compare";

/// Flags of `weft files status`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// List every scan
    #[arg(long, group = "what")]
    scans: bool,
    /// List entries that could not be read in their last scan
    #[arg(long, group = "what")]
    faults: bool,
    /// Recompute every total from the entries and compare; exit code 1 on any difference
    #[arg(long, group = "what")]
    recompute: bool,
}

/// Runs `weft files status`.
pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Outcome> {
    let catalogue = open(context)?;
    match args {
        Args { scans: true, .. } => scans(&catalogue, context),
        Args { faults: true, .. } => faults(&catalogue, context),
        Args { recompute: true, .. } => recompute(&catalogue, context),
        _ => trees(&catalogue, context),
    }
}

fn trees(catalogue: &Catalogue, context: &mut Context) -> anyhow::Result<Outcome> {
    let trees = catalogue
        .trees()?
        .into_iter()
        .map(|tree| Ok((catalogue.freshness(&tree.path)?, tree)))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let begun: Vec<_> = catalogue
        .scans()?
        .into_iter()
        .filter(|(_, row)| row.state == ScanState::Begun)
        .collect();
    if context.json {
        let trees: Vec<_> = trees
            .iter()
            .map(|(fresh, tree)| json_tree(fresh.as_ref(), tree))
            .collect();
        let stopped: Vec<u64> = begun.iter().map(|(number, _)| *number).collect();
        let epoch = catalogue.epoch()?;
        context
            .out
            .json(&serde_json::json!({ "epoch": epoch, "trees": trees, "scans_not_ended": stopped }))?;
        return Ok(Outcome::Done);
    }
    if trees.is_empty() {
        writeln!(context.out, "nothing is catalogued yet: run weft files scan DIR")?;
        return Ok(Outcome::Done);
    }
    tree_table(trees.iter().map(|(_, tree)| tree)).print(&mut context.out)?;
    for (fresh, tree) in &trees {
        if let Some(fresh) = fresh {
            writeln!(
                context.out,
                "{}: {}",
                display_path(&tree.path),
                freshness_text(fresh)
            )?;
        }
    }
    for (number, row) in begun {
        let out = &mut context.out;
        let line = out.style.warn(&format!(
            "scan {number} of {} was stopped",
            display_path(&row.root)
        ));
        writeln!(out, "{line} {}: the next scan continues it", ago(row.ended_ms))?;
    }
    Ok(Outcome::Done)
}

fn tree_table<'a>(trees: impl Iterator<Item = &'a Root>) -> Table {
    let mut table = Table::new(&[
        ("tree", Column::Flexible),
        ("entries", Column::Right),
        ("directories", Column::Right),
        ("size", Column::Right),
        ("on disk", Column::Right),
        ("last full scan", Column::Left),
        ("unreadable", Column::Right),
    ]);
    for tree in trees {
        table.row([
            display_path(&tree.path),
            count(number(tree.usage.entries)),
            count(number(tree.usage.directories)),
            bytes(number(tree.usage.size_bytes)),
            bytes(number(tree.usage.disk_bytes())),
            if tree.whole_scan == 0 {
                "never".to_owned()
            } else {
                ago(tree.whole_ended_ms)
            },
            count(tree.faults),
        ]);
    }
    table
}

fn json_tree(fresh: Option<&Freshness>, tree: &Root) -> serde_json::Value {
    serde_json::json!({
        "dir": JsonPath::new(&tree.path),
        "usage": JsonUsage::new(&tree.usage),
        "whole_scan": tree.whole_scan,
        "whole_ended_ms": tree.whole_ended_ms,
        "faults": tree.faults,
        "fresh": fresh.map(json_fresh),
    })
}

/// Describes how fresh a tree is that is or was watched.
fn freshness_text(fresh: &Freshness) -> String {
    let heard = match fresh.last_event_ms {
        0 => "no event yet".to_owned(),
        at_ms => format!("last event {}", ago(at_ms)),
    };
    match (fresh.stale, fresh.is_watched) {
        (None, _) => format!("current (watched, {heard})"),
        (Some(stale), is_watched) => {
            let since = format!(
                "stale since {}: {}",
                shown_ms(stale.since_ms),
                because(stale.reason)
            );
            match (is_watched, stale.has_names) {
                (false, _) => since,
                (true, false) => format!("{since} (watched, {heard})"),
                (true, true) => format!("{since}; names have been compared since (watched, {heard})"),
            }
        }
    }
}

fn json_fresh(fresh: &Freshness) -> serde_json::Value {
    serde_json::json!({
        "is_watched": fresh.is_watched,
        "current_until_ms": fresh.current_until_ms,
        "last_event_ms": fresh.last_event_ms,
        "stale": fresh.stale,
    })
}

fn scans(catalogue: &Catalogue, context: &mut Context) -> anyhow::Result<Outcome> {
    let mut table = Table::new(&[
        ("scan", Column::Right),
        ("of", Column::Flexible),
        ("begun", Column::Left),
        ("took", Column::Right),
        ("entries", Column::Right),
        ("added", Column::Right),
        ("removed", Column::Right),
        ("changed", Column::Right),
        ("tree size", Column::Right),
    ]);
    for (scan, row) in catalogue.scans()? {
        let mut path = row.root.to_vec();
        if !row.below.is_empty() {
            path.push(b'/');
            path.extend_from_slice(&row.below);
        }
        if context.json {
            context.out.json(&serde_json::json!({
                "scan": scan,
                "dir": JsonPath::new(&path),
                "state": row.state,
                "begun_ms": row.begun_ms,
                "ended_ms": row.ended_ms,
                "spent_ms": row.spent_ms,
                "resumed": row.resumed,
                "counts": row.counts,
                "total": JsonUsage::new(&row.total),
            }))?;
            continue;
        }
        table.row([
            count(scan),
            display_path(&path),
            shown_ms(row.begun_ms),
            duration_ms(row.spent_ms),
            count(row.counts.entries),
            count(row.counts.added),
            count(row.counts.removed),
            count(row.counts.changed),
            match row.state {
                ScanState::Begun => "not finished".to_owned(),
                ScanState::Done => bytes(number(row.total.size_bytes)),
            },
        ]);
    }
    if !context.json {
        table.print(&mut context.out)?;
    }
    Ok(Outcome::Done)
}

fn faults(catalogue: &Catalogue, context: &mut Context) -> anyhow::Result<Outcome> {
    let faults = catalogue.faults()?;
    for fault in &faults {
        if context.json {
            let row = serde_json::json!({ "at": JsonPath::new(&fault.path), "error": fault.error, "scan": fault.scan });
            context.out.json(&row)?;
        } else {
            writeln!(
                context.out,
                "{}: {} (scan {})",
                display_path(&fault.path),
                fault.error,
                fault.scan
            )?;
        }
    }
    if faults.is_empty() && !context.json {
        writeln!(context.out, "no faults: everything could be read")?;
    }
    Ok(Outcome::Done)
}

fn recompute(catalogue: &Catalogue, context: &mut Context) -> anyhow::Result<Outcome> {
    let differences = catalogue.check()?;
    if context.json {
        context
            .out
            .json(&serde_json::json!({ "epoch": catalogue.epoch()?, "differences": differences }))?;
    } else if differences.is_empty() {
        writeln!(
            context.out,
            "every sum matches its entries (epoch {})",
            count(catalogue.epoch()?)
        )?;
    } else {
        for difference in &differences {
            writeln!(context.out, "{}", crate::style::clean(difference))?;
        }
        let told = counted(differences.len() as u64, "difference", "differences");
        writeln!(
            context.out,
            "{}: remove the catalogue and scan again",
            context.out.style.bad(&told)
        )?;
    }
    Ok(if differences.is_empty() {
        Outcome::Done
    } else {
        Outcome::Losses
    })
}
