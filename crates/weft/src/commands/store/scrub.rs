//! `weft store scrub`: reads replicas again now and verifies their digests.
//!
//! A missing replica cannot be read. So once all volumes were read, a census finds the missing
//! replicas.

use std::io::Write;

use cluster::ConnectSettings;
use serde::Serialize;
use store::VolumeId;
use store::upkeep::{ScrubReport, census, scrub_all};

use super::pass_progress::PassProgress;
use super::session::{Session, StoreMode, with_store};
use crate::context::Context;
use crate::flag_values::bytes_per_second;
use crate::outcome::{Outcome, WrongUse};
use crate::style::clean;
use crate::units::{bytes, count, counted, duration_ms, per_second};

const EXAMPLES: &str = "\
Examples:
  weft store scrub                         every replica on every volume
  weft store scrub local/a                 one volume (weft store status names them)
  weft store scrub --rate 20M              at most 20 MiB/s of each volume

A running store does this by itself, slowly, once every 30 days. Bad replicas are marked, and
replaced by weft store repair or by the running store.
Exit code 1 if something is bad or missing, found now or known before.";

/// Flags of `weft store scrub`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Volumes to read [default: all]
    #[arg(value_name = "VOLUME")]
    names: Vec<String>,
    /// Read at most this many bytes per second from each volume
    #[arg(long, value_name = "BYTES", value_parser = bytes_per_second())]
    rate: Option<u64>,
}

/// The findings of a scrub as printed by `--json`.
#[derive(Serialize)]
struct ScrubResult {
    #[serde(flatten)]
    report: ScrubReport,
    /// Number of bad and missing replicas that were already known.
    known: u64,
    /// Number of missing replicas without an index entry; absent if not all volumes were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    absent: Option<u64>,
}

impl ScrubResult {
    fn is_clean(&self) -> bool {
        self.report.is_clean() && self.absent.unwrap_or(0) == 0
    }
}

/// Runs `weft store scrub`.
pub(super) fn run(args: &Args, place: ConnectSettings, context: &mut Context) -> anyhow::Result<Outcome> {
    with_store(place, StoreMode::Existing, async |session| {
        let volumes = volumes(session, &args.names)?;
        let known = damaged_before(session, &volumes).await;
        let pass = PassProgress::new("replicas", context);
        let topology = session.topology();
        let report = scrub_all(&topology, &volumes, args.rate, &|progress| pass.show(progress)).await;
        let absent = if volumes.is_empty() && report.volumes_failed.is_empty() {
            let counted = census(&topology, &|_| {}).await;
            Some(counted.replicas_missing.saturating_sub(counted.files_missing))
        } else {
            None
        };
        let elapsed_ms = pass.elapsed_ms();
        drop(pass);
        let found = ScrubResult {
            known: known.min(report.bad + report.missing),
            report,
            absent,
        };
        if context.json {
            context.out.json(&found)?;
        } else {
            print(&found, elapsed_ms, context)?;
        }
        Ok(if found.is_clean() {
            Outcome::Done
        } else {
            Outcome::Losses
        })
    })
}

/// Returns the number of replicas already marked as bad on these volumes, or on all.
async fn damaged_before(session: &Session, volumes: &[VolumeId]) -> u64 {
    let mut known = 0;
    for (id, volume) in &session.topology().volumes {
        if (volumes.is_empty() || volumes.contains(id))
            && let Ok(status) = volume.status().await
        {
            known += status.bad;
        }
    }
    known
}

/// Finds volumes by name. Fails if one is not in the layout.
fn volumes(session: &Session, names: &[String]) -> Result<Vec<VolumeId>, WrongUse> {
    let topology = session.topology();
    let find = |name: &String| {
        let id = VolumeId::from(name.clone());
        if topology.volumes.contains_key(&id) {
            Ok(id)
        } else {
            let known: Vec<String> = topology.volumes.keys().map(ToString::to_string).collect();
            Err(WrongUse(format!(
                "no volume {name:?}; the volumes are {}",
                known.join(", ")
            )))
        }
    };
    names.iter().map(find).collect()
}

fn print(found: &ScrubResult, elapsed_ms: u64, context: &mut Context) -> anyhow::Result<()> {
    let out = &mut context.out;
    let report = &found.report;
    let wrong = report.bad + report.missing;
    let replicas = match wrong {
        0 => format!("verified {}", counted(report.replicas, "replica", "replicas")),
        wrong => format!(
            "read {}, {} of them good",
            counted(report.replicas, "replica", "replicas"),
            count(report.replicas.saturating_sub(wrong))
        ),
    };
    writeln!(
        out,
        "{replicas}, {}, in {} ({}/s)",
        bytes(report.bytes),
        duration_ms(elapsed_ms),
        bytes(per_second(report.bytes, elapsed_ms))
    )?;
    for detail in &report.details {
        writeln!(out, "{}", clean(detail))?;
    }
    for failed in &report.volumes_failed {
        let line = out.style.bad("not read to the end:");
        writeln!(out, "{line} {}", clean(failed))?;
    }
    if found.is_clean() && found.absent.is_some() {
        writeln!(out, "nothing bad, nothing missing")?;
    } else if report.bad + report.missing + found.absent.unwrap_or(0) == 0 {
        writeln!(out, "nothing bad in the replicas read")?;
    } else {
        let missing = report.missing + found.absent.unwrap_or(0);
        let line = format!("{} bad, {} missing", count(report.bad), count(missing));
        let known = match found.known {
            0 => String::new(),
            known => format!(" ({} known before)", count(known)),
        };
        let line = out.style.bad(&line);
        writeln!(out, "{line}{known}: run weft store repair")?;
    }
    Ok(())
}
