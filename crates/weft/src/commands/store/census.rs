//! `weft store census`: counts every replica of every object, in both directions.

use std::io::Write;

use cluster::ConnectSettings;
use store::upkeep::{Census, census};

use super::pass_progress::PassProgress;
use super::session::{StoreMode, with_store};
use crate::context::Context;
use crate::outcome::Outcome;
use crate::style::clean;
use crate::table::{Column, Table};
use crate::units::{bytes, count, duration_ms};

const EXAMPLES: &str = "\
Examples:
  weft store census
  weft store census --json

Reads names, lengths and known digests, not contents; weft store scrub reads those.
Exit code 1 if anything is missing, bad, lost or stray, or a volume did not answer.";

/// Flags of `weft store census`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {}

/// Runs `weft store census`.
pub(super) fn run(_: &Args, place: ConnectSettings, context: &mut Context) -> anyhow::Result<Outcome> {
    with_store(place, StoreMode::Existing, async |session| {
        let pass = PassProgress::new("partitions", context);
        let counted = census(&session.topology(), &|progress| pass.show(progress)).await;
        let elapsed_ms = pass.elapsed_ms();
        drop(pass);
        if context.json {
            context.out.json(&counted)?;
        } else {
            print(&counted, elapsed_ms, context)?;
        }
        Ok(if counted.is_whole() {
            Outcome::Done
        } else {
            Outcome::Losses
        })
    })
}

fn print(census: &Census, elapsed_ms: u64, context: &mut Context) -> anyhow::Result<()> {
    print_replicas(census, context)?;
    let out = &mut context.out;
    let named = [
        ("lost", &census.lost_bytes),
        ("disagree", &census.conflicting),
        ("no answer", &census.volumes_unreachable),
    ];
    for (what, names) in named {
        for name in names {
            writeln!(out, "{} {}", out.style.bad(&format!("{what}:")), clean(name))?;
        }
    }
    writeln!(out)?;
    let mut table = Table::new(&[("volume", Column::Left), ("live replicas", Column::Right)]);
    for (volume, replicas) in &census.by_volume {
        table.row([volume.clone(), count(*replicas)]);
    }
    table.print(out)?;
    let verdict = if census.is_whole() {
        out.style.bold("whole")
    } else {
        out.style.bad("not whole")
    };
    writeln!(
        out,
        "\n{verdict}, by layout {}, counted in {}",
        census.layout,
        duration_ms(elapsed_ms)
    )?;
    Ok(())
}

/// Prints the number of objects, and one row for each thing that a replica can be.
fn print_replicas(census: &Census, context: &mut Context) -> anyhow::Result<()> {
    let out = &mut context.out;
    writeln!(
        out,
        "objects    {:>14}   {} of content, {} tombstones",
        count(census.objects),
        bytes(census.object_bytes),
        count(census.tombstones)
    )?;
    let rows = [
        ("expected", census.replicas_expected, false, "replicas by layout"),
        ("good", census.replicas_good, false, ""),
        (
            "missing",
            census.replicas_missing,
            true,
            "absent, or on a volume that did not answer",
        ),
        (
            "bad",
            census.replicas_bad,
            true,
            "present, but with a wrong digest",
        ),
        (
            "surplus",
            census.replicas_surplus,
            false,
            "good copies outside their place, or older ones",
        ),
        ("stray", census.strays, true, "files that are not replicas"),
        (
            "lost",
            census.objects_lost,
            true,
            "objects with blocks damaged in every replica",
        ),
        (
            "disagree",
            census.conflicts,
            true,
            "objects whose replicas have different digests",
        ),
    ];
    for (name, number, wanting, meaning) in rows {
        let figure = format!("{:>14}", count(number));
        let figure = if wanting && number > 0 {
            out.style.bad(&figure)
        } else {
            figure
        };
        let line = format!("{name:<10} {figure}   {}", out.style.dim(meaning));
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
