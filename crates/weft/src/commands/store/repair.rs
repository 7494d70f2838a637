//! `weft store repair`: restores missing and bad replicas from good ones, and moves misplaced
//! replicas to the right volumes.

use std::io::Write;
use std::time::Duration;

use cluster::ConnectSettings;
use store::upkeep::{Census, RepairOptions, RepairReport, UpkeepSettings, census, repair_all};

use super::pass_progress::PassProgress;
use super::session::{StoreMode, with_store};
use crate::context::Context;
use crate::flag_values::bytes_per_second;
use crate::outcome::Outcome;
use crate::style::clean;
use crate::units::{bytes, count, counted, duration_ms};

const EXAMPLES: &str = "\
Examples:
  weft store repair
  weft store repair --dry-run        show what would be done
  weft store repair --rate 50M       copy at most 50 MiB/s

A running store does this by itself within minutes. Copies are made only from bytes whose digest
matches, and dropped only after the others were verified.
Exit code 1: something could not be repaired; it is named.";

/// Flags of `weft store repair`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Change nothing; report what would be done
    #[arg(long)]
    dry_run: bool,
    /// Copy at most this many bytes per second
    #[arg(long, value_name = "BYTES", value_parser = bytes_per_second(), conflicts_with = "dry_run")]
    rate: Option<u64>,
}

/// Runs `weft store repair`.
pub(super) fn run(args: &Args, place: ConnectSettings, context: &mut Context) -> anyhow::Result<Outcome> {
    with_store(place, StoreMode::Existing, async |session| {
        let pass = PassProgress::new("partitions", context);
        if args.dry_run {
            let counted = census(&session.topology(), &|progress| pass.show(progress)).await;
            drop(pass);
            return would(&counted, context);
        }
        let options = RepairOptions {
            bytes_per_s: args.rate,
            // A user who repairs manually does not want to wait for a volume to come back.
            unreachable_grace: Duration::ZERO,
            // Not shortened: a volume that was away may still hold what the tombstone deletes.
            tombstone_grace: UpkeepSettings::default().tombstone_grace,
        };
        let store = session.store();
        let report = repair_all(store.cluster(), &options, &|progress| pass.show(progress)).await;
        let elapsed_ms = pass.elapsed_ms();
        // Remove the progress line before printing.
        drop(pass);
        if context.json {
            context.out.json(&report)?;
        } else {
            print(&report, elapsed_ms, context)?;
        }
        Ok(if report.is_clean() {
            Outcome::Done
        } else {
            Outcome::Losses
        })
    })
}

/// Reports what a repair would do, from a census.
fn would(census: &Census, context: &mut Context) -> anyhow::Result<Outcome> {
    let outcome = if census.is_whole() {
        Outcome::Done
    } else {
        Outcome::Losses
    };
    if context.json {
        context.out.json(census)?;
        return Ok(outcome);
    }
    let steps = [
        (census.replicas_missing, "missing replicas to make"),
        (census.replicas_bad, "bad replicas to replace"),
        (census.replicas_surplus, "surplus copies to check"),
        (census.strays, "stray files to settle"),
        (
            census.objects_lost,
            "objects with blocks damaged in every replica, which cannot be repaired",
        ),
        (
            census.conflicts,
            "objects whose good replicas disagree, which cannot be repaired",
        ),
    ];
    for (number, what) in steps.into_iter().filter(|(number, _)| *number > 0) {
        writeln!(context.out, "{} {what}", count(number))?;
    }
    if census.is_whole() && census.replicas_surplus == 0 {
        writeln!(context.out, "nothing to do")?;
    }
    for volume in &census.volumes_unreachable {
        writeln!(context.out, "no answer: {}", clean(volume))?;
    }
    Ok(outcome)
}

fn print(report: &RepairReport, elapsed_ms: u64, context: &mut Context) -> anyhow::Result<()> {
    let out = &mut context.out;
    writeln!(
        out,
        "made {} replicas ({}), verified {}, dropped {}, settled {} strays, in {}",
        count(report.copies),
        bytes(report.copied_bytes),
        count(report.verified),
        count(report.dropped),
        count(report.strays_settled),
        duration_ms(elapsed_ms)
    )?;
    for volume in &report.rebuilt {
        writeln!(out, "rebuilt: {}", clean(volume))?;
    }
    let named = [
        ("lost:", &report.lost_bytes),
        ("failed:", &report.failed),
        ("no answer:", &report.volumes_unreachable),
    ];
    for (what, names) in named {
        for name in names {
            writeln!(out, "{} {}", out.style.bad(what), clean(name))?;
        }
    }
    if report.objects_lost + report.conflicts > 0 {
        let line = format!(
            "{} with blocks damaged in every replica, {} whose replicas disagree: the intact blocks are \
             kept and can be read by range",
            counted(report.objects_lost, "object", "objects"),
            count(report.conflicts)
        );
        let line = out.style.bad(&line);
        writeln!(out, "{line}")?;
    }
    if report.wanting > 0 {
        let line = format!("{} replicas are still missing or bad", count(report.wanting));
        let line = out.style.bad(&line);
        writeln!(
            out,
            "{line}: check the volumes (weft store status), then repair again"
        )?;
    }
    Ok(())
}
